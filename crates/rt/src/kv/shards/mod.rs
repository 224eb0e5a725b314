//! State that all threads of a server share: the shards, and a mailbox per thread.
//!
//! One thread at a time uses a shard, and no thread blocks on another: a thread that finds a shard taken
//! retries for about as long as a few commands take, and then *defers* its operation to the shard. The holder
//! of a shard executes deferred operations before its own, and checks for more after it has released the
//! shard. So the operations that one thread defers are executed in order by the next holder. A thread that is
//! preempted in the middle of a command delays requests to that shard, but to no other.
//!
//! The alternative, a thread per shard with messages between them, wakes another thread for most commands,
//! and a wakeup costs ten times as much as a command.

mod fault_injection;
mod guard;
mod handle;
mod place;

pub(super) use handle::ShardHandle;

use super::admin::ThreadReport;
use super::connections::Connections;
use super::events::{Event, Events};
use super::throttle::Peer;
use crate::ctl::{AdminRequest, Health};
use crate::reactor::Mailbox;
use place::Place;
pub(super) use place::Recovery;
use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut_base::Time;
use tailcut_host::kv::session::clients::{SocketCounters, Tally};
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::kv::session::shard_request::{Division, Reply};
use tailcut_host::kv::session::{Shard, Sums};
use tailcut_host::wire::memcached::Users;
use tailcut_host::{Bytes, Request};

/// State that all threads share.
#[derive(Debug)]
pub(super) struct Common {
    places: Box<[Place]>,
    division: Division,
    threads: Box<[Thread]>,
    /// Number of open connections.
    pub connections: AtomicUsize,
    /// The open connections.
    open: Connections,
    /// A client has asked the server to stop.
    pub is_asked_to_stop: AtomicBool,
    /// Number of threads that will submit no more requests.
    pub finished: AtomicUsize,
    /// Command latencies, as far as threads have reported them.
    latencies: Mutex<Latencies>,
    /// The sink for events.
    events: Events,
    /// Number of heartbeats requested from each thread.
    beats: AtomicU64,
    /// The drive's part of the `stats` reply.
    health: Mutex<Vec<u8>>,
    /// Number of panics caught.
    panics: AtomicU64,
    /// Shards whose failure has been reported.
    failed: Mutex<Vec<u32>>,
}

/// State of one thread that others can access.
#[derive(Debug)]
struct Thread {
    mailbox: Arc<Mailbox<Message>>,
    /// Its client counters, see [`numbers_of`].
    tally: [AtomicU64; TALLY_NUMBERS],
    /// Number of heartbeats confirmed.
    beats: AtomicU64,
}

/// A message from one worker thread to another.
#[derive(Debug)]
pub(super) enum Message {
    /// Serve this connection: its socket, and the client where the socket does not show it, behind TLS.
    Connection(OwnedFd, Option<Peer>),
    /// Replies to the thread's clients.
    Replies(Vec<Reply>),
    /// Requests of shards to the drive, with the shard; for the thread that owns the drive.
    Requests(Vec<(u32, Request<Bytes>)>),
    /// An administrative request about the drive; for the thread that owns it.
    AdminRequest(AdminRequest),
    /// Report the thread's counters.
    Report(Sender<ThreadReport>),
    /// This shard has failed and does not reply any more.
    ShardFailed(u32),
    /// Confirm that the thread is alive.
    Beat,
    /// Shards may have work: recompute when the next is due.
    Poll,
    /// Accounts for clients that log in from now on.
    Users(Users),
}

impl Common {
    /// State for `threads` threads.
    ///
    /// # Errors
    /// If the system is out of descriptors.
    pub(super) fn new(
        shards: Vec<Shard>,
        threads: u32,
        open: Connections,
        events: Events,
    ) -> io::Result<Common> {
        let seed = shards.first().expect("there is a shard").engine().seed();
        let division = Division::new(seed, shards.len() as u32);
        let thread = |_| {
            Ok(Thread {
                mailbox: Arc::new(Mailbox::new()?),
                tally: Default::default(),
                beats: AtomicU64::new(0),
            })
        };
        let threads: io::Result<_> = (0..threads).map(thread).collect();
        Ok(Common {
            places: shards.into_iter().map(Place::new).collect(),
            division,
            threads: threads?,
            connections: AtomicUsize::new(0),
            open,
            is_asked_to_stop: AtomicBool::new(false),
            finished: AtomicUsize::new(0),
            latencies: Mutex::default(),
            events,
            beats: AtomicU64::new(0),
            health: Mutex::default(),
            panics: AtomicU64::new(0),
            failed: Mutex::default(),
        })
    }

    /// The open connections.
    pub(super) fn open_connections(&self) -> &Connections {
        &self.open
    }

    /// Number of shards.
    pub(super) fn shards(&self) -> u32 {
        self.places.len() as u32
    }

    /// Number of threads.
    pub(super) fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// How keys are divided among the shards.
    pub(super) fn division(&self) -> Division {
        self.division
    }

    /// The mailbox of a thread.
    pub(super) fn mailbox(&self, thread: u32) -> &Arc<Mailbox<Message>> {
        &self.threads[thread as usize].mailbox
    }

    /// Sends a message to a thread.
    pub(super) fn post(&self, thread: u32, message: Message) {
        self.mailbox(thread).post(message);
    }

    /// The earliest time at which a shard has work due.
    pub(super) fn next_event(&self) -> Time {
        self.places.iter().map(Place::next_event).min().unwrap_or(Time::NEVER)
    }

    /// Sums of the counters of all shards. It blocks on shards in use, so threads that serve must not call
    /// it.
    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for shard in 0..self.shards() {
            let _ = self.with(shard, |shard| sums.add(&shard.sums()));
        }
        sums
    }

    /// Recovery state of the shard that is furthest behind; a failed recovery counts as furthest.
    pub(super) fn recovery(&self) -> Recovery {
        self.places.iter().map(Place::recovery).max().unwrap_or(Recovery::Over)
    }

    /// The shard and the block of it that cannot be read, so that recovery has failed.
    pub(super) fn unreadable(&self) -> Option<(u32, u64)> {
        (0..self.shards())
            .find_map(|shard| Some((shard, self.with(shard, |shard| shard.engine().unreadable())??)))
    }

    /// Runs `work` on a shard as soon as no other thread uses it; `None` if the shard has failed. Blocks
    /// until then: only for callers that may wait.
    pub(super) fn with<R>(&self, shard: u32, work: impl FnOnce(&mut Shard) -> R) -> Option<R> {
        let place = &self.places[shard as usize];
        let result = place.wait_for().map(|mut shard| work(&mut shard));
        if place.has_left() {
            // The next holder executes it; the message makes the first thread the next holder.
            self.post(0, Message::Poll);
        }
        result
    }

    /// Command latencies, as far as threads have reported them.
    pub(super) fn latencies(&self) -> MutexGuard<'_, Latencies> {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports an event to the event sink.
    pub(super) fn log(&self, event: Event) {
        self.events.log(event);
    }

    /// Reports changes of the drive's health to the event sink.
    pub(super) fn tell_change(&self, before: &Health, now: &Health) {
        self.events.tell_change(before, now);
    }

    /// True if a shard has failed.
    pub(super) fn has_failed(&self, shard: u32) -> bool {
        self.places[shard as usize].has_failed()
    }

    /// Number of shards that have failed.
    pub(super) fn failed_shards(&self) -> u64 {
        self.places.iter().filter(|place| place.has_failed()).count() as u64
    }

    /// Number of panics caught.
    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Records a panic that a thread has caught: reports it to the event sink, and reports shards that failed
    /// with it to the sink and to all threads.
    pub(super) fn note_panic(&self, panic: &(dyn Any + Send)) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.log(Event::Panicked(said.unwrap_or("without a message").into()));
        let mut known = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        for shard in 0..self.shards() {
            if self.has_failed(shard) && !known.contains(&shard) {
                known.push(shard);
                self.log(Event::ShardFailed { shard, of: self.shards() });
                (0..self.threads()).for_each(|thread| self.post(thread, Message::ShardFailed(shard)));
            }
        }
    }

    /// True if all threads have confirmed the previous heartbeat; then the next one is requested. For a
    /// single caller.
    pub(super) fn beat(&self) -> bool {
        let asked = self.beats.load(Ordering::Relaxed);
        let go_on = self.threads.iter().all(|thread| thread.beats.load(Ordering::Relaxed) == asked);
        if go_on {
            self.beats.store(asked + 1, Ordering::Relaxed);
            (0..self.threads()).for_each(|thread| self.post(thread, Message::Beat));
        }
        go_on
    }

    /// Confirms that a thread is alive.
    pub(super) fn note_beat(&self, thread: u32) {
        self.threads[thread as usize].beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the drive's part of the `stats` reply, as protocol lines.
    pub(super) fn set_health(&self, lines: Vec<u8>) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Appends the drive's part of the `stats` reply.
    fn tell_health(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.health.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts threads that could not be started as finished.
    pub(super) fn abandon(&self, threads: usize) {
        self.finished.fetch_add(threads, Ordering::SeqCst);
    }

    /// Publishes the client counters of a thread.
    pub(super) fn tally(&self, thread: u32, tally: &Tally) {
        let places = &self.threads[thread as usize].tally;
        places.iter().zip(numbers_of(tally)).for_each(|(place, count)| place.store(count, Ordering::Relaxed));
    }

    /// Sum of the client counters of all threads.
    pub(super) fn tallied(&self) -> Tally {
        self.tallied_but_of(u32::MAX)
    }

    /// Sum of the client counters of all threads but one.
    fn tallied_but_of(&self, thread: u32) -> Tally {
        let mut sum = Tally::default();
        let others = (0..).zip(&self.threads).filter(|&(other, _)| other != thread);
        for told in others.map(|(_, other)| &other.tally) {
            sum.add(&tally_of(told.each_ref().map(|count| count.load(Ordering::Relaxed))));
        }
        sum
    }

    /// Counts a new connection, unless `most` are open; returns whether it was counted.
    pub(super) fn let_in(&self, most: usize) -> bool {
        // Only one thread accepts, so the count can fall in between, but not rise.
        let has_room = self.connections.load(Ordering::Relaxed) < most;
        if has_room {
            self.connections.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// Counts a closed connection.
    pub(super) fn let_out(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counters of a tally that differ from thread to thread, as numbers that threads can share.
fn numbers_of(tally: &Tally) -> [u64; TALLY_NUMBERS] {
    let &Tally { clients, connections, client_memory, most_client_memory, sockets, .. } = tally;
    let SocketCounters {
        received,
        sent,
        most_connections,
        rejected,
        idle,
        logins,
        wrong_logins,
        accept_pauses,
        yields,
    } = sockets;
    [
        clients,
        connections,
        client_memory,
        most_client_memory,
        received,
        sent,
        most_connections,
        rejected,
        idle,
        logins,
        wrong_logins,
        accept_pauses,
        yields,
    ]
}

/// The tally of these numbers.
fn tally_of(numbers: [u64; TALLY_NUMBERS]) -> Tally {
    let [clients, connections, client_memory, most_client_memory, sockets @ ..] = numbers;
    let [received, sent, most_connections, rejected, idle, logins, wrong_logins, accept_pauses, yields] =
        sockets;
    let sockets = SocketCounters {
        received,
        sent,
        most_connections,
        rejected,
        idle,
        logins,
        wrong_logins,
        accept_pauses,
        yields,
    };
    Tally { clients, connections, client_memory, most_client_memory, sockets, ..Tally::default() }
}

const TALLY_NUMBERS: usize = 13;
