//! A client's protocol session: bytes in, bytes out.
//!
//! Replies leave in the order of their commands, while items are read from flash in any order: a client that
//! requests a hundred items waits about as long as for one. A command that changes an item waits only for
//! that item, and later commands wait for it; so the commands of a client take effect in order.
//!
//! ```text
//! bytes ──► clients ── commands ──► session ── requests ──► shard ── finds, changes ──► engine ──► disk
//! bytes ◄── clients ◄── replies, in order ── session ◄── at once, or later ── shard ◄── items, points ──┘
//! ```
//!
//! - [`clients`]: the clients of one thread;
//! - [`shard`]: one engine with its pending requests. Items are divided among the shards;
//! - [`latency`]: latency of commands;
//! - [`send_queue`]: a client's send queue;
//! - `pool`: memory accounting of clients;
//! - [`service`]: clients with one shard, for one thread.

mod about;
mod carry_out;
pub mod clients;
pub mod latency;
mod operation;
mod pool;
mod prefetch;
pub mod prefixes;
mod replies;
mod room;
pub mod send_queue;
pub mod service;
pub mod shard;
pub mod shard_request;
mod statistics;

pub use clients::Clients;
pub use pool::Holding;
pub use service::Service;
pub use shard::{Permissions, ServiceSettings, Shard};
pub use shard_request::Shards;
pub use statistics::{Statistics, Sums};

use crate::wire::memcached::receiver::Step;
use crate::wire::memcached::{
    Command, Expiry, FlushAll, Key, Reason, Receiver, Refusal, Stats, StoreMode, meta, reply,
};
use about::ServerProperties;
use carry_out::counted_bytes;
use latency::{Kind, Stopwatch};
use operation::{Answer, KeptKey, Operation, Store};
use pool::{Room, SMALL_VALUE};
use prefetch::Prefetch;
use prefixes::PrefixCounters;
use send_queue::{MOST_PART, SendQueue, Texts};
use shard_request::{Progress, Requester, ShardRequest};
use std::collections::VecDeque;
use tailcut_base::Time;

/// A client's session.
#[derive(Debug, Default)]
struct Session {
    receiver: Receiver,
    /// Replies ready to be sent.
    out: SendQueue,
    /// Pending replies, in order.
    waiting: VecDeque<Waiting>,
    /// Reply number of the first pending one.
    first: u64,
    /// Memory of pending replies in bytes, without the `behind` of the last.
    set_aside: usize,
    /// The command whose data are being received; `key` is its key.
    storing: Option<Store>,
    key: KeptKey,
    data: Vec<u8>,
    /// No further command is executed before all pending replies are complete.
    is_blocked: bool,
    /// The next command needs more memory than a small one.
    needs_memory: bool,
    /// The next command could not be executed because another thread was using its shard, or because other
    /// clients have used up the ration of this iteration.
    has_yielded: bool,
    /// No further command is accepted; the session ends when all replies are complete.
    closing: Option<Reason>,
    /// Upper bound of the memory of pending requests, in bytes.
    awaited: u64,
    /// Length in bytes of the value being received.
    incoming: usize,
    /// Memory charged to the session in bytes; `since` is when it became nonzero.
    charged: usize,
    since: Time,
    /// The client has disconnected, but replies are pending.
    is_gone: bool,
}

/// A pending reply.
#[derive(Debug)]
struct Waiting {
    what: ReplyState,
    /// The reply, once it is known.
    reply: Vec<u8>,
    /// Replies to the commands behind it.
    behind: Vec<u8>,
}

#[derive(Debug)]
enum ReplyState {
    /// A reply of this shard of at most `bytes` bytes, to a command of this kind received at `since`.
    Reply { shard: u32, bytes: u64, kind: Kind, since: Time },
    /// The replies before it.
    Others,
    /// The replies before it; then all items are invalidated.
    Flush(FlushAll),
    /// Replies of `left` shards, of at most `bytes` bytes.
    All { left: u32, bytes: u64, then: GatheredReply },
}

/// The reply once all shards have answered.
#[derive(Debug)]
enum GatheredReply {
    /// With why it was refused, if it was.
    Flushed {
        noreply: bool,
        refused: Option<&'static str>,
    },
    Reset,
    Told {
        stats: Stats,
        sums: Box<Sums>,
    },
    DetailSet,
    Prefixes(Box<PrefixCounters>),
}

/// The environment of a session: shards, clock, buffers.
struct Ways<'a, S> {
    shards: &'a mut S,
    about: ServerProperties,
    watch: &'a mut Stopwatch,
    /// Identifies the session among all that share the shards, together with `client`.
    group: u32,
    client: u32,
    /// Buffers for pending replies.
    texts: &'a mut Texts,
    /// Memory that other clients leave to this one.
    room: Room,
    /// The ration of this iteration is used up.
    is_rationed: bool,
    /// Only small commands have room.
    is_short: bool,
}

impl<S> Ways<'_, S> {
    /// Longest value in bytes that the next command may store.
    fn most_stored(&self) -> u64 {
        if self.is_short { SMALL_VALUE } else { u64::MAX }
    }
}

impl Session {
    /// True if no reply is pending.
    pub fn is_answered(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Executes the commands in `input` and advances past them.
    pub fn receive<S: Shards>(&mut self, input: &mut &[u8], ways: &mut Ways<'_, S>) {
        let mut receiver = std::mem::take(&mut self.receiver);
        // Data in one piece are not copied.
        let mut whole: &[u8] = &[];
        let mut prefetch = Prefetch::new();
        self.has_yielded = false;
        // The state before a command that may turn out not to be permitted.
        let mut unread = None;
        loop {
            let replies = self.reply_memory();
            let held = self.memory_beside(replies);
            ways.is_short = !self.has_room(ways.room, held);
            if !self.is_ready_with(replies) || ways.is_short && !self.has_small_room(ways.room, held) {
                break;
            }
            if ways.is_short || ways.is_rationed {
                unread = Some(receiver.clone());
            }
            prefetch.scan(input, &receiver, ways.shards);
            self.begin_answer(ways);
            let front = *input;
            match receiver.next(input) {
                Step::More => break,
                Step::Command(command) => match self.command(&command, ways) {
                    Next::Any => self.needs_memory = false,
                    Next::RefuseData => receiver.refuse(),
                    Next::FailLine => receiver.fail_line(),
                    Next::Unread { is_taken } => {
                        self.has_yielded = is_taken || !ways.is_short;
                        self.needs_memory = !self.has_yielded;
                        *input = front;
                        receiver = unread.expect("only a restricted command stays unread");
                        break;
                    }
                },
                Step::Data(data) if self.data.is_empty() && whole.is_empty() => whole = &front[..data.len()],
                Step::Data(data) => {
                    self.collect(std::mem::take(&mut whole));
                    self.collect(data);
                }
                Step::End { is_sound } => self.end_store(std::mem::take(&mut whole), is_sound, ways),
                Step::Refused(refusal) => self.tail().extend_from_slice(refusal.line()),
                Step::Close(reason) => {
                    self.closing = Some(reason);
                    break;
                }
            }
        }
        self.collect(whole);
        self.receiver = receiver;
    }

    /// Appends a piece of the value being received.
    fn collect(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.data.reserve_exact(self.incoming.saturating_sub(self.data.len()));
            self.data.extend_from_slice(piece);
        }
    }

    /// Makes room for a reply.
    fn begin_answer<S>(&mut self, ways: &mut Ways<'_, S>) {
        match self.waiting.back() {
            None => self.out.begin_part(ways.texts),
            Some(last) if last.behind.len() >= MOST_PART => self.wait(ReplyState::Others, ways),
            Some(_) => {}
        }
    }

    /// Buffer for the next reply.
    fn tail(&mut self) -> &mut Vec<u8> {
        match self.waiting.back_mut() {
            Some(waiting) => &mut waiting.behind,
            None => self.out.tail(),
        }
    }

    fn command<S: Shards>(&mut self, command: &Command<'_>, ways: &mut Ways<'_, S>) -> Next {
        match *command {
            Command::Get(get) => {
                let operation = Operation::Get { with_cas: get.with_cas, exptime: get.exptime };
                return self.carry_out(get.key, &operation, &[], ways);
            }
            Command::GetEnd => reply::end(self.tail()),
            Command::Store(header) => {
                let store = Store {
                    mode: header.mode,
                    client_flags: header.client_flags,
                    expiry: Expiry::new(ways.about.unix, header.exptime),
                    autovivify: None,
                    cas: 0,
                    new_cas: None,
                    invalidates: false,
                    has_base64_key: false,
                    answer: Answer::Classic { noreply: header.noreply },
                };
                let replaces = header.mode == StoreMode::Set;
                return self.begin_store(header.key, store, header.length, replaces, ways);
            }
            Command::MetaStore(header) => {
                let flags = header.flags;
                let expiry = |exptime| Expiry::new(ways.about.unix, exptime);
                let store = Store {
                    mode: header.mode,
                    client_flags: flags.client_flags,
                    expiry: flags.exptime.map_or(Expiry::Never, expiry),
                    autovivify: flags.autovivify.map(expiry),
                    cas: flags.cas.unwrap_or(0),
                    new_cas: flags.new_cas,
                    invalidates: flags.invalidates(),
                    has_base64_key: flags.has_base64_key(),
                    answer: Answer::Meta(flags),
                };
                return self.begin_store(header.key, store, header.length, true, ways);
            }
            Command::Count(count) => {
                let operation = Operation::Count { delta: count.delta, noreply: count.noreply };
                return self.operation(count.key, operation, ways);
            }
            Command::Touch(touch) => {
                let (exptime, noreply) = (touch.exptime, touch.noreply);
                return self.operation(touch.key, Operation::Touch { exptime, noreply }, ways);
            }
            Command::Delete(delete) => {
                return self.operation(delete.key, Operation::Delete { noreply: delete.noreply }, ways);
            }
            Command::MetaGet(get) => return self.operation(get.key, Operation::MetaGet(get.flags), ways),
            Command::MetaDelete(delete) => {
                return self.operation(delete.key, Operation::MetaDelete(delete.flags), ways);
            }
            Command::MetaCount(count) => {
                let operation = Operation::MetaCount { flags: count.flags, delta: count.delta };
                return self.operation(count.key, operation, ways);
            }
            Command::MetaDebug(debug) => return self.operation(debug.key, Operation::MetaDebug, ways),
            Command::MetaNoop => meta::noop(self.tail()),
            Command::FlushAll(flush) if !ways.about.permissions.flush_all => {
                self.answer_error(Refusal::FlushAll, flush.noreply);
            }
            Command::FlushAll(flush) => {
                self.is_blocked = true;
                self.wait(ReplyState::Flush(flush), ways);
                self.advance(ways);
            }
            Command::Verbosity(verbosity) => reply::ok(self.tail(), verbosity.noreply),
            Command::Shutdown(shutdown) if !ways.about.permissions.shutdown => {
                self.answer_error(Refusal::Shutdown, shutdown.noreply);
            }
            Command::Shutdown(shutdown) if !shutdown.is_valid => {
                self.answer_error(Refusal::ShutdownMode, shutdown.noreply);
            }
            Command::Shutdown(_) => self.closing = Some(Reason::Shutdown),
            Command::Version => reply::version(self.tail(), VERSION),
            // The memory limit is fixed at startup.
            Command::MemoryLimit(limit) => reply::memory_limit(self.tail(), false, limit.noreply),
            Command::Stats(_) if ways.is_short => return Next::Unread { is_taken: false },
            Command::Stats(Stats::Reset) => self.ask_all(&ShardRequest::Reset, GatheredReply::Reset, ways),
            Command::Stats(Stats::Detail(is_on)) => {
                self.ask_all(&ShardRequest::Detail(is_on), GatheredReply::DetailSet, ways);
            }
            Command::Stats(Stats::DetailDump) => {
                let prefixes = GatheredReply::Prefixes(Box::default());
                self.ask_all(&ShardRequest::TellPrefixes, prefixes, ways);
            }
            Command::Stats(stats) => {
                let sums = Box::default();
                self.ask_all(&ShardRequest::Tell, GatheredReply::Told { stats, sums }, ways);
            }
        }
        Next::Any
    }

    fn answer_error(&mut self, refusal: Refusal, noreply: bool) {
        if !noreply {
            self.tail().extend_from_slice(refusal.line());
        }
    }

    /// Executes an operation without data.
    fn operation<S: Shards>(&mut self, key: Key<'_>, operation: Operation, ways: &mut Ways<'_, S>) -> Next {
        match self.carry_out(key, &operation, &[], ways) {
            Next::FailLine => self.refuse(&operation),
            next => return next,
        }
        Next::Any
    }

    /// Replies that the shard has failed.
    #[cold]
    fn refuse(&mut self, operation: &Operation) {
        if !operation.is_silent() {
            self.tail().extend_from_slice(Refusal::ShardFailed.line());
        }
    }

    /// Executes an operation. Returns [`Next::FailLine`] if the shard has failed, without a reply.
    fn carry_out<S: Shards>(
        &mut self,
        key: Key<'_>,
        operation: &Operation,
        data: &[u8],
        ways: &mut Ways<'_, S>,
    ) -> Next {
        let (shard, requester) = (ways.shards.home(key), self.next_requester(ways));
        let request = if ways.is_short || ways.is_rationed {
            ShardRequest::SmallItem { key, operation, data }
        } else {
            ShardRequest::Item { key, operation, data }
        };
        let kind = Kind::of(operation);
        match ways.shards.carry_out(shard, requester, request, self.tail()) {
            Progress::Done(source) => ways.watch.note(kind, source),
            Progress::Later { is_open, bytes } => self.wait_for_reply(shard, is_open, bytes, kind, ways),
            Progress::Deferred => {
                let bytes = operation.most_memory(data, ways.about.settings.most_item);
                self.wait_for_reply(shard, !operation.only_looks(), bytes, kind, ways);
            }
            Progress::Failed => return Next::FailLine,
            Progress::TooLong => return Next::Unread { is_taken: false },
            Progress::Taken => return Next::Unread { is_taken: true },
        }
        Next::Any
    }

    fn wait_for_reply<S>(
        &mut self,
        shard: u32,
        is_open: bool,
        bytes: u32,
        kind: Kind,
        ways: &mut Ways<'_, S>,
    ) {
        self.is_blocked |= is_open;
        let (bytes, since) = (u64::from(bytes) + AROUND_OPERATION, ways.watch.received());
        self.awaited += bytes;
        self.wait(ReplyState::Reply { shard, bytes, kind, since }, ways);
    }

    /// Address of a deferred reply to the next request.
    fn next_requester<S>(&self, ways: &Ways<'_, S>) -> Requester {
        Requester { group: ways.group, client: ways.client, number: self.first + self.waiting.len() as u64 }
    }

    fn begin_store<S: Shards>(
        &mut self,
        key: Key<'_>,
        store: Store,
        length: u32,
        replaces: bool,
        ways: &mut Ways<'_, S>,
    ) -> Next {
        if counted_bytes(key, store.client_flags, u64::from(length)) <= ways.about.settings.most_item {
            if u64::from(length) > ways.most_stored() {
                return Next::Unread { is_taken: false };
            }
            self.data.clear();
            self.incoming = length as usize;
            self.storing = Some(store);
            self.key.set(key);
            return Next::Any;
        }
        let _ = self.operation(key, Operation::TooLarge { replaces, answer: store.answer }, ways);
        Next::RefuseData
    }

    /// Executes a storage command whose data are complete: in one piece, or as collected.
    fn end_store<S: Shards>(&mut self, whole: &[u8], is_sound: bool, ways: &mut Ways<'_, S>) {
        let store = self.storing.take().expect("data follow a command");
        let operation = if is_sound { Operation::Store(store) } else { Operation::Unsound(store.answer) };
        let mut collected = std::mem::take(&mut self.data);
        let data = if whole.is_empty() { &collected[..] } else { whole };
        self.incoming = 0;
        let kept = std::mem::take(&mut self.key);
        if let Next::FailLine = self.carry_out(kept.key(), &operation, data, ways) {
            self.refuse(&operation);
        }
        self.key = kept;
        if collected.capacity() <= MOST_KEPT {
            collected.clear();
            self.data = collected;
        }
    }
}

/// Treatment of the input behind a command.
enum Next {
    /// A further command.
    Any,
    /// Data to be discarded.
    RefuseData,
    /// The rest of a line of keys, which is answered with an error.
    FailLine,
    /// The command once more: it is not small, or the shard `is_taken` by another thread and the command cannot
    /// be deferred to it.
    Unread {
        /// Retry it soon.
        is_taken: bool,
    },
}

/// Sends a request to all shards. Returns the number of deferred replies and their largest memory in bytes.
fn ask_all<S: Shards>(
    request: &ShardRequest<'_>,
    requester: Requester,
    ways: &mut Ways<'_, S>,
) -> (u32, u64) {
    let mut nothing = Vec::new();
    let mut left = 0;
    for shard in 0..ways.shards.count() {
        let progress = ways.shards.carry_out(shard, requester, *request, &mut nothing);
        left += u32::from(matches!(progress, Progress::Later { .. } | Progress::Deferred));
    }
    (left, u64::from(left + 1) * size_of::<Sums>() as u64 + AROUND_OPERATION)
}

/// Version reported to clients: that of the memcached release whose protocol is implemented, by which clients
/// choose features, followed by ours. libmemcached rejects a version that begins with 0.
const VERSION: &str = concat!("1.6.45-tailcut-", env!("CARGO_PKG_VERSION"));
/// Memory of a pending operation in bytes, without data and values.
const AROUND_OPERATION: u64 = 512;
/// Largest data buffer in bytes that a client keeps between commands.
const MOST_KEPT: usize = 4 << 10;
