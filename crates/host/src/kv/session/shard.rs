//! An engine with its requests: executed at once, or pending on the disk.

use super::carry_out::{AROUND_VALUE, Attempt, Outcome, Work, why_not_written};
use super::dispatch::{Dispatch, Effect};
use super::latency::Source;
use super::operation::Operation;
use super::pool::{LEAST_COMMANDS, SMALL_RESERVE, SMALL_VALUE};
use super::prefixes::PrefixCounters;
use super::shard_request::{Content, OwnedRequest, Progress, Reply, Requester, ShardRequest};
use super::statistics::{Statistics, Sums};
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::kv::{Engine, Fetched, Keep, Refused, WriteNumber};
use crate::wire::memcached::Key;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::Slab;
use tailcut_base::{Time, id};

/// Limits and guarantees of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Largest item in bytes, as memcached counts them (`-I`).
    pub most_item: u64,
    /// Whether changes are durable before they are acknowledged.
    pub is_durable: bool,
    /// Memory for all clients in bytes: replies, partially received values, and pending operations. Each
    /// thread has an equal share, and at least room for four commands with the largest values and 1 MiB for
    /// small ones.
    pub client_memory: u64,
    /// Process ID of the server, which `stats` shows.
    pub process: u32,
}

/// Commands and features that memcached's options enable or disable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Whether `flush_all` is executed (not with `-F`).
    pub flush_all: bool,
    /// Whether items show CAS values other than 0 (not with `-C`).
    pub cas: bool,
    /// Whether `shutdown` is executed (`-A`).
    pub shutdown: bool,
}

impl Default for Permissions {
    fn default() -> Permissions {
        Permissions { flush_all: true, cas: true, shutdown: false }
    }
}

impl ServiceSettings {
    /// Largest memory of a command in bytes: its value, or its reply behind others.
    pub fn most_command(&self) -> u64 {
        self.most_item + AROUND_COMMAND
    }

    /// Largest memory of all clients of `threads` threads, in bytes.
    pub fn most_client_memory(&self, threads: u32) -> u64 {
        let of_thread = LEAST_COMMANDS as u64 * self.most_command() + SMALL_RESERVE as u64;
        self.client_memory.max(u64::from(threads) * of_thread)
    }
}

id! {
    /// A pending shard request.
    struct ShardRequestId;
}

/// An engine with its pending requests.
#[derive(Debug)]
pub struct Shard {
    engine: Engine,
    settings: ServiceSettings,
    permissions: Permissions,
    /// Requests that wait for flash or for the log; their ids are the tickets of fetches.
    pending: Slab<ShardRequestId, UnderWay>,
    /// Requests that wait because the disk is behind.
    stuck: Vec<ShardRequestId>,
    /// Executed requests whose changes are not being synced yet.
    unsynced: Vec<ShardRequestId>,
    /// Requests whose changes are being synced, with the log position that must be durable, in ascending
    /// order.
    syncing: VecDeque<(WriteNumber, ShardRequestId)>,
    replies: VecDeque<Reply>,
    statistics: Statistics,
    prefixes: PrefixCounters,
    /// Counters by key prefix are enabled.
    counts_prefixes: bool,
    scratch: Vec<u8>,
    /// Spare memory for pending requests.
    #[expect(clippy::vec_box, reason = "they come in boxes and go on in them")]
    spare: Vec<Box<OwnedRequest>>,
    unix: u64,
    flush_at: Option<u64>,
    has_moved: bool,
    is_touched: bool,
}

/// A pending request.
#[derive(Debug)]
struct UnderWay {
    requester: Requester,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Waits for an item on flash.
    Item(Box<OwnedRequest>),
    /// Waits because the disk is behind.
    Disk(Box<OwnedRequest>),
    /// Executed; this reply is sent once the change is durable.
    Durable(Vec<u8>, Source),
}

impl Shard {
    /// A shard for an engine.
    pub fn new(engine: Engine, settings: ServiceSettings) -> Shard {
        Shard {
            engine,
            settings,
            permissions: Permissions::default(),
            pending: Slab::new(),
            stuck: Vec::new(),
            unsynced: Vec::new(),
            syncing: VecDeque::new(),
            replies: VecDeque::new(),
            statistics: Statistics::default(),
            prefixes: PrefixCounters::default(),
            counts_prefixes: false,
            scratch: Vec::new(),
            spare: Vec::new(),
            unix: 0,
            flush_at: None,
            has_moved: false,
            is_touched: false,
        }
    }

    /// Sets what clients may do.
    pub fn with_permissions(self, permissions: Permissions) -> Shard {
        Shard { permissions, ..self }
    }

    /// Sets the time: on the process's clock, and in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        self.engine.tick(now, to_u32(unix.min(u64::from(u32::MAX))));
        self.unix = unix;
        if self.flush_at.is_some_and(|moment| moment <= unix) {
            self.flush_at = None;
            // The command was acknowledged when it arrived. A store whose disk has failed since keeps its
            // items.
            let _ = self.engine.flush_all();
            self.is_touched = true;
        }
    }

    /// The next request for the disk. Includes the writes that make acknowledged changes durable.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.sync();
        let reclaimed = self.engine.figures().reclaimed;
        let request = self.engine.next_request();
        // A segment was freed without a completion from the disk. There may never be one, so requests that
        // wait for space continue now.
        self.has_moved |= self.engine.figures().reclaimed > reclaimed;
        self.is_touched = request.is_some();
        request
    }

    /// True if the state has changed since the last [`Shard::next_request`], so that there may be another
    /// request.
    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// A timer has expired: there may be a request for the disk.
    pub fn touch(&mut self) {
        self.is_touched = true;
    }

    fn sync(&mut self) {
        if self.unsynced.is_empty() {
            return;
        }
        let point = self.engine.sync();
        self.syncing.extend(self.unsynced.drain(..).map(|id| (point, id)));
        // Without flash, or on a failed disk, there is nothing to wait for.
        self.has_moved |= self.engine.durable() >= point || self.engine.has_failed();
    }

    /// Handles a completion from the disk.
    pub fn respond(&mut self, response: Response<Bytes>) {
        self.is_touched = true;
        self.has_moved |= self.engine.respond(response);
    }

    /// Advances recovery by a small step while the engine serves; see [`Engine::recover`].
    pub fn recover(&mut self) {
        if self.engine.recovered().is_none() {
            return;
        }
        self.engine.recover(RECOVERED_AT_A_TIME);
        self.is_touched = true;
        // Segments can be reclaimed from now on.
        self.has_moved |= self.engine.recovered().is_none();
    }

    /// Continues requests that were waiting for a fetch, durability, or the disk.
    #[expect(clippy::missing_panics_doc, reason = "only requests that wait for the disk are listed as stuck")]
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

    /// Takes the oldest deferred reply that has not been taken; `None` if there is none.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// When the shard must be called again; [`Time::NEVER`] if no timer is set.
    pub fn next_event(&self) -> Time {
        let is_due = self.is_touched || self.has_moved;
        if is_due { Time::ZERO } else { self.engine.next_event() }
    }

    /// The shard's counters of client commands, engine and tiers, and its use of memory and flash.
    pub fn sums(&self) -> Sums {
        Sums::new(self.statistics, &self.engine)
    }

    /// The storage engine of the shard.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for shutdown: [`Engine::sync`] and [`Engine::is_idle`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Carries out the effects of a dispatch where this is the only shard. Returns the rest of the input.
    pub fn serve<'i>(&mut self, mut dispatch: Dispatch<'_, 'i>) -> &'i [u8] {
        while let Some(effect) = dispatch.next_effect() {
            match effect {
                Effect::Request { requester, request, out, .. } => {
                    let progress = self.receive(requester, request, out);
                    dispatch.note(progress);
                }
                Effect::Prefetch(keys) => self.engine.prefetch(keys.iter().copied()),
                Effect::Tell(_) => {}
            }
        }
        dispatch.rest()
    }

    /// Executes a request. The reply is appended to `out`, or follows later.
    pub fn receive(
        &mut self,
        requester: Requester,
        request: ShardRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Progress {
        match request {
            ShardRequest::SmallItem { key, operation, .. }
                if operation.returns_value() && self.engine.most_value(key.as_bytes()) > SMALL_VALUE =>
            {
                Progress::TooLong
            }
            ShardRequest::Item { key, operation, data }
            | ShardRequest::SmallItem { key, operation, data } => {
                self.receive_item(requester, (key, operation, data), out)
            }
            ShardRequest::Flush(moment) => {
                if self.flush(moment).is_err() {
                    return self.refuse(requester, why_not_written(&self.engine));
                }
                self.promise(requester, Vec::new(), Source::Memory)
            }
            ShardRequest::LimitMemory(bytes) if self.engine.set_memory_limit(bytes) => {
                Progress::Done(Source::Memory)
            }
            ShardRequest::LimitMemory(_) => self.refuse(requester, "the memory limit is out of bounds"),
            ShardRequest::Reset => {
                self.statistics = Statistics::default();
                self.prefixes = PrefixCounters::default();
                Progress::Done(Source::Memory)
            }
            ShardRequest::Detail(is_on) => {
                self.counts_prefixes = is_on;
                Progress::Done(Source::Memory)
            }
            ShardRequest::TellPrefixes => {
                let content = Content::Prefixes(Box::new(self.prefixes.clone()));
                self.replies.push_back(Reply { requester, content });
                LATER
            }
            ShardRequest::Tell => {
                let content = Content::Sums(Box::new(self.sums()));
                self.replies.push_back(Reply { requester, content });
                LATER
            }
        }
    }

    fn refuse(&mut self, requester: Requester, why: &'static str) -> Progress {
        self.replies.push_back(Reply { requester, content: Content::Refused { why } });
        LATER
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
                let bytes = self.fetch(requester, kept, counts).saturating_add(to_u32(data.len()));
                // An unknown item must be read as recovery finds it: no later command may change it before.
                Progress::Later { is_open: is_unknown || changes, bytes }
            }
            Outcome::Busy => {
                let kept = self.keep(key, operation, data);
                self.wait_for_disk(requester, kept);
                Progress::Later {
                    is_open: true,
                    bytes: operation.most_memory(data.len(), self.settings.most_item),
                }
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
        (self.flush_at, self.is_touched) = (None, true);
        self.engine.flush_all()
    }

    /// Replies to an executed change: at once, or once it is durable if that is guaranteed.
    fn promise(&mut self, requester: Requester, text: Vec<u8>, source: Source) -> Progress {
        if !self.settings.is_durable {
            debug_assert!(text.is_empty(), "the answer is where it was wanted");
            return Progress::Done(source);
        }
        let bytes = to_u32(text.capacity());
        self.unsynced.push(self.pending.insert(UnderWay { requester, stage: Stage::Durable(text, source) }));
        Progress::Later { is_open: false, bytes }
    }

    /// Starts a fetch. Returns an upper bound of its memory in bytes.
    fn fetch(&mut self, requester: Requester, kept: Box<OwnedRequest>, counts: bool) -> u32 {
        self.is_touched = true;
        let id = self.pending.insert(UnderWay { requester, stage: Stage::Item(kept) });
        let UnderWay { stage: Stage::Item(kept), .. } = &self.pending[id] else {
            unreachable!("it was put there")
        };
        u32::try_from(self.engine.fetch(kept.key().as_bytes(), id.get(), counts)).unwrap_or(u32::MAX)
    }

    /// A fetch has completed.
    fn note_fetched(&mut self, fetched: &Fetched) {
        let id = ShardRequestId::new(fetched.ticket);
        let UnderWay { requester, stage: Stage::Item(kept) } = self.pending.remove(id) else {
            panic!("an item comes for who waits for it")
        };
        // A read returns the item as fetched, even if it has changed since.
        let is_usable =
            kept.operation().only_looks() && fetched.was_read() || self.engine.is_current(fetched);
        self.try_again(requester, kept, is_usable.then_some(fetched));
    }

    /// Retries an operation, with the fetched item if it is current.
    fn try_again(&mut self, requester: Requester, mut kept: Box<OwnedRequest>, fetched: Option<&Fetched>) {
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

    fn keep(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) -> Box<OwnedRequest> {
        match self.spare.pop() {
            Some(mut kept) => {
                kept.set(key, operation, data);
                kept
            }
            None => Box::new(OwnedRequest::new(key, operation, data)),
        }
    }

    fn wait_for_disk(&mut self, requester: Requester, kept: Box<OwnedRequest>) {
        self.stuck.push(self.pending.insert(UnderWay { requester, stage: Stage::Disk(kept) }));
    }

    /// Replies to requests whose changes have become durable.
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
        let Shard { engine, statistics, prefixes, scratch, unix, settings, permissions, .. } = self;
        let prefixes = self.counts_prefixes.then_some(prefixes);
        let (unix, most_item, shows_cas) = (*unix, settings.most_item, permissions.cas);
        let may_miss = operation.may_miss() && engine.settings().keep == Keep::WhatIsUsed;
        let is_durable = settings.is_durable;
        Work {
            engine,
            statistics,
            prefixes,
            out,
            scratch,
            unix,
            most_item,
            shows_cas,
            may_miss,
            is_durable,
            fetched,
            attempt: Attempt::NEW,
        }
    }
}

/// A deferred reply that later commands need not wait for.
const LATER: Progress = Progress::Later { is_open: false, bytes: 0 };
/// Memory of a command in bytes, without its value: the part of replies that its own is appended to, lines
/// and keys.
const AROUND_COMMAND: u64 = 40 << 10;
/// Records per step of recovery: some ten microseconds.
const RECOVERED_AT_A_TIME: usize = 256;
/// Spare request buffers kept.
const MOST_SPARE: usize = 256;
