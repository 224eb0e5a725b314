//! What all threads of a server share: the shards, and a mailbox for each thread.
//!
//! A shard is used by one thread at a time, and no thread waits for another: whoever finds a shard taken
//! looks again for about as long as a few commands take, and then *leaves* there what is to be done. Whoever
//! has a shard does what was left there before anything of its own, and looks for it once more after it has
//! let go of it. So what one thread leaves is done in its order, by whoever comes next, and a thread that
//! lost its processor in the middle of a command holds up what is in that shard, but no client that asks for
//! something else.
//!
//! The other way, a thread for each shard and messages between them, wakes another thread for most commands,
//! and waking costs ten times as much as a command.

mod guard;
mod handle;
mod place;
mod planted;

pub use handle::ShardHandle;

use super::admin::Told;
use super::events::{Event, Events};
use crate::ctl::{AdminRequest, Health};
use crate::serve::mailbox::Mailbox;
use place::Place;
pub use place::Recovery;
use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tailcut_base::Time;
use tailcut_host::kv::hash::part_of;
use tailcut_host::kv::session::clients::Tally;
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::kv::session::shard_request::Reply;
use tailcut_host::kv::session::{Shard, Sums};
use tailcut_host::{Bytes, Request};

/// What threads share.
#[derive(Debug)]
pub struct Common {
    places: Box<[Place]>,
    seed: u64,
    threads: Box<[Thread]>,
    /// Connections at the moment.
    pub connections: AtomicUsize,
    /// Threads that have nothing more to ask for.
    pub finished: AtomicUsize,
    /// How long commands took, as far as threads have told.
    latencies: Mutex<Latencies>,
    /// Who is told what happens.
    events: Events,
    /// How often threads were asked whether they go on.
    beats: AtomicU64,
    /// What `stats` tells of the drive.
    health: Mutex<Vec<u8>>,
    /// Panics that were survived.
    panics: AtomicU64,
    /// Which shards are known to have failed.
    failed: Mutex<Vec<u32>>,
}

/// What threads know of another.
#[derive(Debug)]
struct Thread {
    mailbox: Mailbox<Message>,
    /// Clients that are there, those that have ever come, the bytes that they have sent, and those of memory
    /// that they hold and have held at the most.
    tally: [AtomicU64; 5],
    /// How often it has said that it goes on.
    beats: AtomicU64,
}

/// A message from one worker thread to another.
#[derive(Debug)]
pub enum Message {
    /// Serve this connection.
    Connection(OwnedFd),
    /// Replies to the thread's clients.
    Replies(Vec<Reply>),
    /// Requests of shards to the drive, with the shard; for the thread that owns the drive.
    Requests(Vec<(u32, Request<Bytes>)>),
    /// An administrative request about the drive; for the thread that owns it.
    AdminRequest(AdminRequest),
    /// Report the thread's counters.
    Report(Sender<Told>),
    /// This shard has failed and does not reply any more.
    ShardFailed(u32),
    /// Confirm that the thread is alive.
    Beat,
    /// Shards may have work: recompute when the next is due.
    Poll,
    /// Stop serving.
    Stop,
}

impl Common {
    /// For so many threads. Fails when the system has no descriptors left.
    pub fn new(shards: Vec<Shard>, threads: u32, events: Events) -> io::Result<Common> {
        let seed = shards.first().expect("there is a shard").engine().seed();
        let thread =
            |_| Ok(Thread { mailbox: Mailbox::new()?, tally: Default::default(), beats: AtomicU64::new(0) });
        let threads: io::Result<_> = (0..threads).map(thread).collect();
        Ok(Common {
            places: shards.into_iter().map(Place::new).collect(),
            seed,
            threads: threads?,
            connections: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            latencies: Mutex::default(),
            events,
            beats: AtomicU64::new(0),
            health: Mutex::default(),
            panics: AtomicU64::new(0),
            failed: Mutex::default(),
        })
    }

    /// Number of shards.
    pub fn shards(&self) -> u32 {
        self.places.len() as u32
    }

    /// Number of threads.
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Who has the item with this key.
    #[inline]
    fn home(&self, key: &[u8]) -> u32 {
        part_of(self.seed, key, self.shards())
    }

    /// Where a thread is told something.
    pub fn mailbox(&self, thread: u32) -> &Mailbox<Message> {
        &self.threads[thread as usize].mailbox
    }

    /// Tells a thread something.
    pub fn post(&self, thread: u32, message: Message) {
        self.mailbox(thread).post(message);
    }

    /// When a shard wants to go on by itself.
    pub fn next_event(&self) -> Time {
        self.places.iter().map(Place::next_event).min().unwrap_or(Time::NEVER)
    }

    /// What was counted. It waits for shards that are in use, so it is not for threads that serve.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for shard in 0..self.shards() {
            let _ = self.with(shard, |shard| sums.add(&shard.sums()));
        }
        sums
    }

    /// How far the shard is that is least far with finding what is on the drive, or cannot find it.
    pub fn recovery(&self) -> Recovery {
        self.places.iter().map(Place::recovery).max().unwrap_or(Recovery::Over)
    }

    /// Which block of which shard cannot be read, so that what is on the drive cannot be found.
    pub fn unreadable(&self) -> Option<(u32, u64)> {
        (0..self.shards())
            .find_map(|shard| Some((shard, self.with(shard, |shard| shard.engine().unreadable())??)))
    }

    /// Uses a shard, when nobody else does, unless it has failed: only for who may wait.
    pub fn with<R>(&self, shard: u32, work: impl FnOnce(&mut Shard) -> R) -> Option<R> {
        let place = &self.places[shard as usize];
        let result = place.wait_for().map(|mut shard| work(&mut shard));
        if place.has_left() {
            // Who comes next does it, and the first thread comes when it is told.
            self.post(0, Message::Poll);
        }
        result
    }

    /// How long commands took, as far as threads have told.
    pub fn latencies(&self) -> MutexGuard<'_, Latencies> {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever wants to know what happens.
    pub fn tell(&self, event: Event) {
        self.events.tell(event);
    }

    /// The same for what has changed with the drive.
    pub fn tell_change(&self, before: &Health, now: &Health) {
        self.events.tell_change(before, now);
    }

    /// True if a shard has failed.
    pub fn has_failed(&self, shard: u32) -> bool {
        self.places[shard as usize].has_failed()
    }

    /// How many have.
    pub fn failed_shards(&self) -> u64 {
        self.places.iter().filter(|place| place.has_failed()).count() as u64
    }

    /// Panics that were survived.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// A thread has survived a panic: whoever wants to know is told, and all threads of shards that have
    /// failed with it.
    pub fn note_panic(&self, panic: &(dyn Any + Send)) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.tell(Event::Panicked(said.unwrap_or("without a message").into()));
        let mut known = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        for shard in 0..self.shards() {
            if self.has_failed(shard) && !known.contains(&shard) {
                known.push(shard);
                self.tell(Event::ShardFailed { shard, of: self.shards() });
                (0..self.threads()).for_each(|thread| self.post(thread, Message::ShardFailed(shard)));
            }
        }
    }

    /// True if all threads have said that they go on since they were asked; then they are asked again. For
    /// one caller.
    pub fn beat(&self) -> bool {
        let asked = self.beats.load(Ordering::Relaxed);
        let go_on = self.threads.iter().all(|thread| thread.beats.load(Ordering::Relaxed) == asked);
        if go_on {
            self.beats.store(asked + 1, Ordering::Relaxed);
            (0..self.threads()).for_each(|thread| self.post(thread, Message::Beat));
        }
        go_on
    }

    /// A thread goes on.
    pub fn note_beat(&self, thread: u32) {
        self.threads[thread as usize].beats.fetch_add(1, Ordering::Relaxed);
    }

    /// What `stats` is to tell of the drive, in its lines.
    pub fn set_health(&self, lines: Vec<u8>) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Appends that.
    fn tell_health(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.health.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// So many threads will not ask for anything, as they could not be started.
    pub fn give_up(&self, threads: usize) {
        self.finished.fetch_add(threads, Ordering::SeqCst);
    }

    /// What a thread tells of its clients.
    pub fn tally(&self, thread: u32, tally: &Tally) {
        let told = [
            tally.clients,
            tally.connections,
            tally.bytes_read,
            tally.client_memory,
            tally.most_client_memory,
        ];
        let places = &self.threads[thread as usize].tally;
        places.iter().zip(told).for_each(|(place, count)| place.store(count, Ordering::Relaxed));
    }

    /// What all threads tell of their clients.
    pub fn tallied(&self) -> Tally {
        self.tallied_but_of(u32::MAX)
    }

    /// What the other threads tell of theirs.
    fn tallied_but_of(&self, thread: u32) -> Tally {
        let mut sum = Tally::default();
        let others = (0..).zip(&self.threads).filter(|&(other, _)| other != thread);
        for told in others.map(|(_, other)| &other.tally) {
            let [clients, connections, bytes_read, held, most] =
                told.each_ref().map(|count| count.load(Ordering::Relaxed));
            sum.clients += clients;
            sum.connections += connections;
            sum.bytes_read += bytes_read;
            sum.client_memory += held;
            sum.most_client_memory += most;
        }
        sum
    }

    /// Counts one connection more, unless there are `most` already.
    pub fn let_in(&self, most: usize) -> bool {
        // Only one thread lets in, so it can become less in between, but not more.
        let has_room = self.connections.load(Ordering::Relaxed) < most;
        if has_room {
            self.connections.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// Counts one less.
    pub fn let_out(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
