//! An engine, and what is asked of it: requests that are done at once, and those that wait for the disk.

use super::carry_out::{AROUND_VALUE, Outcome, Work};
use super::latency::Source;
use super::operation::Operation;
use super::pool::LEAST_COMMANDS;
use super::shard_request::{Content, Kept, Progress, Reply, Requester, ShardRequest, Shards};
use super::statistics::{Statistics, Sums};
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::kv::{Engine, Fetched, Keep, Refused};
use crate::wire::memcached::Key;
use std::collections::VecDeque;
use tailcut_base::ids::Slab;
use tailcut_base::{Time, id};

/// What clients may, and what is promised to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The most bytes of an item, as memcached counts them (`-I`).
    pub most_item: u64,
    /// What is changed is durable when it is answered.
    pub is_durable: bool,
    /// Bytes of memory for all clients: their replies, values that have come in part, and operations that
    /// wait. Each thread has an equal share, and at least room for four commands with the largest values.
    pub client_memory: u64,
    /// The number of the process, for `stats`.
    pub process: u32,
}

impl ServiceSettings {
    /// Bytes of memory that one command can take at the most: its value, or its reply behind others.
    pub fn most_command(&self) -> u64 {
        self.most_item + AROUND_COMMAND
    }

    /// Bytes of memory that the clients of `threads` threads can take together.
    pub fn most_client_memory(&self, threads: u32) -> u64 {
        self.client_memory.max(u64::from(threads) * LEAST_COMMANDS as u64 * self.most_command())
    }
}

id! {
    /// A pending shard request.
    struct ShardRequestId;
}

/// An engine with the requests that are under way.
#[derive(Debug)]
pub struct Shard {
    engine: Engine,
    settings: ServiceSettings,
    /// Requests that wait for flash or for the log; their ids are the tickets of fetches.
    pending: Slab<ShardRequestId, UnderWay>,
    /// Those that wait for a disk that is behind.
    stuck: Vec<ShardRequestId>,
    /// What is done, and not on its way to be durable.
    unsynced: Vec<ShardRequestId>,
    /// What is on its way, with the point up to which the log has to be durable; points do not decrease.
    syncing: VecDeque<(u64, ShardRequestId)>,
    replies: VecDeque<Reply>,
    statistics: Statistics,
    scratch: Vec<u8>,
    /// Memory for requests that wait.
    #[expect(clippy::vec_box, reason = "they come in boxes and go on in them")]
    spare: Vec<Box<Kept>>,
    unix: u64,
    flush_at: Option<u64>,
    has_moved: bool,
    is_touched: bool,
}

/// A request that has not been answered.
#[derive(Debug)]
struct UnderWay {
    requester: Requester,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// For an item on flash.
    Item(Box<Kept>),
    /// For a disk that is behind.
    Disk(Box<Kept>),
    /// It is done, and this is the answer when it is durable.
    Durable(Vec<u8>, Source),
}

impl Shard {
    /// Over an engine.
    pub fn new(engine: Engine, settings: ServiceSettings) -> Shard {
        Shard {
            engine,
            settings,
            pending: Slab::new(),
            stuck: Vec::new(),
            unsynced: Vec::new(),
            syncing: VecDeque::new(),
            replies: VecDeque::new(),
            statistics: Statistics::default(),
            scratch: Vec::new(),
            spare: Vec::new(),
            unix: 0,
            flush_at: None,
            has_moved: false,
            is_touched: false,
        }
    }

    /// What time it is: by the clock of the process, and in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        self.engine.tick(now, unix.min(u64::from(u32::MAX)) as u32);
        self.unix = unix;
        if self.flush_at.is_some_and(|moment| moment <= unix) {
            self.flush_at = None;
            // It was answered when it was asked for. A store whose disk has failed meanwhile keeps what it
            // has.
            let _ = self.engine.flush_all();
            self.is_touched = true;
        }
    }

    /// The next request for the disk. What has to be durable is on its way with those that come.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.sync();
        let reclaimed = self.engine.figures().reclaimed;
        let request = self.engine.next_request();
        // A segment came free without another answer of the disk: there may never be one, so those who wait
        // for room go on now.
        self.has_moved |= self.engine.figures().reclaimed > reclaimed;
        self.is_touched = request.is_some();
        request
    }

    /// True if something has happened since the disk was last asked what it wants, so that there may be a
    /// request.
    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// There may be something to be asked of the disk, as its time has come.
    pub fn touch(&mut self) {
        self.is_touched = true;
    }

    fn sync(&mut self) {
        if self.unsynced.is_empty() {
            return;
        }
        let point = self.engine.sync();
        self.syncing.extend(self.unsynced.drain(..).map(|id| (point, id)));
        // Without flash, or with a disk that has failed, there is nothing to wait for.
        self.has_moved |= self.engine.durable() >= point || self.engine.has_failed();
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        self.has_moved = true;
        self.is_touched = true;
        self.engine.respond(response);
    }

    /// Goes on with finding what is on flash, a little, while the engine serves; see [`Engine::recover`].
    pub fn recover(&mut self) {
        if self.engine.recovered().is_none() {
            return;
        }
        self.engine.recover(RECOVERED_AT_A_TIME);
        self.is_touched = true;
        // Room may be made from now on.
        self.has_moved |= self.engine.recovered().is_none();
    }

    /// Goes on with what was fetched, made durable, or waited for the disk.
    pub fn turn(&mut self) {
        while let Some(fetched) = self.engine.next_fetched() {
            self.note_fetched(&fetched);
            self.engine.give_back(fetched);
        }
        if !std::mem::take(&mut self.has_moved) {
            return;
        }
        for id in std::mem::take(&mut self.stuck) {
            let UnderWay { requester, stage: Stage::Disk(kept) } = self.pending.remove(id) else {
                panic!("whoever is stuck waits for the disk")
            };
            self.try_again(requester, kept, None);
        }
        self.note_durable();
    }

    /// The next answer that has come later.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// When it wants to go on by itself.
    pub fn next_event(&self) -> Time {
        let is_due = self.is_touched || self.has_moved;
        if is_due { Time::ZERO } else { self.engine.next_event() }
    }

    /// What was counted.
    pub fn sums(&self) -> Sums {
        Sums::new(self.statistics, &self.engine)
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for who ends the service: [`Engine::sync`] and [`Engine::is_idle`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Executes a request; see [`Shards::carry_out`].
    pub fn receive(
        &mut self,
        requester: Requester,
        request: ShardRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Progress {
        match request {
            ShardRequest::Item { key, operation, data } => {
                self.receive_item(requester, (key, operation, data), out)
            }
            ShardRequest::Flush(moment) => {
                if self.flush(moment).is_err() {
                    self.replies.push_back(Reply { requester, content: Content::Refused });
                    return LATER;
                }
                self.promise(requester, Vec::new(), Source::Memory)
            }
            ShardRequest::Reset => {
                self.statistics = Statistics::default();
                Progress::Done(Source::Memory)
            }
            ShardRequest::Tell => {
                let content = Content::Sums(Box::new(self.sums()));
                self.replies.push_back(Reply { requester, content });
                LATER
            }
        }
    }

    #[inline]
    fn receive_item(
        &mut self,
        requester: Requester,
        (key, operation, data): (Key<'_>, &Operation, &[u8]),
        out: &mut Vec<u8>,
    ) -> Progress {
        let before = out.len();
        let changes = !operation.only_looks();
        self.is_touched |= changes;
        match self.work(operation, None, out).carry_out(key, operation, data) {
            Outcome::Done(source) if changes && self.settings.is_durable => {
                self.promise(requester, out.split_off(before), source)
            }
            Outcome::Done(source) => Progress::Done(source),
            Outcome::OnFlash { counts, is_unknown } => {
                let kept = self.keep(key, operation, data);
                let bytes = self.fetch(requester, kept, counts).saturating_add(data.len() as u32);
                // What is unknown is what it is when it is found: nothing behind may change it before.
                Progress::Later { is_open: is_unknown || changes, bytes }
            }
            Outcome::Busy => {
                let kept = self.keep(key, operation, data);
                self.wait_for_disk(requester, kept);
                Progress::Later { is_open: true, bytes: operation.most_memory(data, self.settings.most_item) }
            }
        }
    }

    fn flush(&mut self, moment: u64) -> Result<(), Refused> {
        self.statistics.cmd_flush += 1;
        if self.settings.is_durable && self.engine.is_full() {
            return Err(Refused::Full);
        }
        if moment > self.unix && !self.engine.is_frozen() {
            self.flush_at = Some(moment);
            return Ok(());
        }
        self.flush_at = None;
        self.is_touched = true;
        self.engine.flush_all()
    }

    /// Something is done: it is answered when it is durable, if that is promised.
    fn promise(&mut self, requester: Requester, text: Vec<u8>, source: Source) -> Progress {
        if !self.settings.is_durable {
            debug_assert!(text.is_empty(), "the answer is where it was wanted");
            return Progress::Done(source);
        }
        let bytes = text.capacity() as u32;
        self.unsynced.push(self.pending.insert(UnderWay { requester, stage: Stage::Durable(text, source) }));
        Progress::Later { is_open: false, bytes }
    }

    /// Returns how many bytes are under way.
    fn fetch(&mut self, requester: Requester, kept: Box<Kept>, counts: bool) -> u32 {
        self.is_touched = true;
        let id = self.pending.insert(UnderWay { requester, stage: Stage::Item(kept) });
        let UnderWay { stage: Stage::Item(kept), .. } = &self.pending[id] else {
            unreachable!("it was put there")
        };
        u32::try_from(self.engine.fetch(kept.key().as_bytes(), id.get(), counts)).unwrap_or(u32::MAX)
    }

    /// An item has come.
    fn note_fetched(&mut self, fetched: &Fetched) {
        let id = ShardRequestId::new(fetched.ticket);
        let UnderWay { requester, stage: Stage::Item(kept) } = self.pending.remove(id) else {
            panic!("an item comes for who waits for it")
        };
        // Who has only looked gets what there was, whatever has changed since.
        let is_usable =
            kept.operation().only_looks() && fetched.was_read() || self.engine.is_current(fetched);
        self.try_again(requester, kept, is_usable.then_some(fetched));
    }

    /// Once more, with the item that was missing if it has come.
    fn try_again(&mut self, requester: Requester, mut kept: Box<Kept>, fetched: Option<&Fetched>) {
        let changes = !kept.operation().only_looks();
        self.is_touched |= changes;
        let mut text = Vec::with_capacity(fetched.map_or(0, Fetched::bytes) + AROUND_VALUE);
        match self.work(kept.operation(), fetched, &mut text).carry_out(
            kept.key(),
            kept.operation(),
            kept.data(),
        ) {
            Outcome::Busy => return self.wait_for_disk(requester, kept),
            Outcome::OnFlash { counts, .. } => {
                self.fetch(requester, kept, counts);
                return;
            }
            Outcome::Done(source) if changes && self.settings.is_durable => {
                self.promise(requester, text, source);
            }
            Outcome::Done(source) => {
                self.replies.push_back(Reply { requester, content: Content::Text(text, source) });
            }
        }
        if self.spare.len() < MOST_SPARE {
            kept.clear();
            self.spare.push(kept);
        }
    }

    fn keep(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) -> Box<Kept> {
        match self.spare.pop() {
            Some(mut kept) => {
                kept.set(key, operation, data);
                kept
            }
            None => Box::new(Kept::new(key, operation, data)),
        }
    }

    fn wait_for_disk(&mut self, requester: Requester, kept: Box<Kept>) {
        self.stuck.push(self.pending.insert(UnderWay { requester, stage: Stage::Disk(kept) }));
        // An item that has left memory to make room for itself waits for nothing: with a disk that is idle
        // nobody would try again.
        self.has_moved |= self.engine.is_idle();
    }

    /// Answers what has become durable.
    fn note_durable(&mut self) {
        let (durable, has_failed) = (self.engine.durable(), self.engine.has_failed());
        let is_full = self.engine.is_full();
        while let Some(&(point, id)) = self.syncing.front() {
            if point > durable && !has_failed {
                return;
            }
            self.syncing.pop_front();
            let UnderWay { requester, stage: Stage::Durable(text, source) } = self.pending.remove(id) else {
                panic!("what is to be durable is done")
            };
            let content = match point > durable {
                true if is_full => Content::NotDurable { is_silent: text.is_empty() },
                true => Content::Failed,
                false => Content::Text(text, source),
            };
            self.replies.push_back(Reply { requester, content });
        }
    }

    fn work<'a>(
        &'a mut self,
        operation: &Operation,
        fetched: Option<&'a Fetched>,
        out: &'a mut Vec<u8>,
    ) -> Work<'a> {
        let Shard { engine, statistics, scratch, unix, settings, .. } = self;
        let (unix, most_item) = (*unix, settings.most_item);
        let may_miss = operation.may_miss() && engine.settings().keep == Keep::WhatIsUsed;
        let (is_durable, source) = (settings.is_durable, Source::Memory);
        Work { engine, statistics, out, scratch, unix, most_item, may_miss, is_durable, fetched, source }
    }
}

/// An answer that comes when it is known, and that nobody behind has to wait for.
const LATER: Progress = Progress::Later { is_open: false, bytes: 0 };
/// Bytes that a command can take beside a value: the part of the answers that its own stands behind, lines
/// and keys.
const AROUND_COMMAND: u64 = 40 << 10;
/// Records of a step of recovery: some ten microseconds.
const RECOVERED_AT_A_TIME: usize = 256;
/// Requests whose memory is kept.
const MOST_SPARE: usize = 256;

/// Alone, it has all items.
impl Shards for Shard {
    fn count(&self) -> u32 {
        1
    }

    fn home(&self, _: Key<'_>) -> u32 {
        0
    }

    fn prefetch(&mut self, keys: &[&[u8]]) {
        self.engine.prefetch(keys.iter().copied());
    }

    #[inline]
    fn carry_out(
        &mut self,
        _: u32,
        requester: Requester,
        request: ShardRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Progress {
        self.receive(requester, request, out)
    }
}
