//! A client's protocol session: bytes in, bytes out.
//!
//! Replies leave in the order of their commands, while items are read from flash in any order: a client that
//! requests a hundred items waits about as long as for one. A command that changes an item waits only for
//! that item, and later commands wait for it; so the commands of a client take effect in order.
//!
//! ```text
//! bytes ──► clients ── commands ──► dispatch ── effects ──► owner ── requests ──► shard ── finds, changes ──► engine
//! bytes ◄── clients ◄── replies, in order ── dispatch ◄── progress ── owner ◄── at once, or later ── shard ◄── items ─┘
//! ```
//!
//! A session makes no calls to shards. A dispatch returns shard requests as effects ([`dispatch::Effect`]);
//! its owner executes each of them, immediately or later, and reports the progress.
//!
//! - [`clients`]: the clients of one thread;
//! - [`dispatch`]: one client's commands, and their effects;
//! - [`shard`]: one engine with its pending requests. Items are divided among the shards;
//! - [`hand_over`]: operations and replies between threads that share shards;
//! - [`latency`]: latency of commands;
//! - [`send_queue`]: a client's send queue;
//! - `pool`: memory accounting of clients;
//! - [`service`]: clients with one shard, for one thread.

mod about;
mod carry_out;
pub mod clients;
mod commands;
pub mod dispatch;
pub mod hand_over;
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
pub use dispatch::{Dispatch, Effect};
pub use pool::Holding;
pub use service::Service;
pub use shard::{Permissions, ServiceSettings, Shard};
pub use statistics::{Statistics, Sums};

use crate::wire::memcached::{FlushAll, Reason, Stats};
use clients::Tally;
use dispatch::ServerNews;
use latency::{Kind, Stopwatch};
use operation::{KeptKey, Operation, Store};
use pool::{Pool, Room, SMALL_VALUE};
use prefixes::PrefixCounters;
use send_queue::{MOST_PART, SendQueue, Texts};
use shard_request::{Division, ShardRequest};
use std::collections::VecDeque;
use tailcut_base::Time;

/// A client's session.
#[derive(Debug, Default)]
struct Session {
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
    /// Whether every shard could take the memory limit.
    MemoryLimited {
        noreply: bool,
        was_set: bool,
    },
    Reset,
    /// With what the server has to tell, once it was asked.
    Told {
        stats: Stats,
        sums: Box<Sums>,
        news: Option<Box<ServerNews>>,
    },
    DetailSet,
    Prefixes(Box<PrefixCounters>),
}

/// What the sessions of a thread have in common.
#[derive(Debug)]
struct Group {
    /// Number of the thread among those that share the shards.
    number: u32,
    settings: ServiceSettings,
    permissions: Permissions,
    division: Division,
    vacant: Vec<u32>,
    /// For each client slot, the first reply number of its next client: late replies to a closed client match
    /// no current one.
    numbers: Vec<u64>,
    /// Buffers for pending replies.
    texts: Texts,
    pool: Pool,
    /// Bytes of replies until only small commands are executed in this iteration.
    ration: usize,
    unix: u64,
    tally: Tally,
    watch: Stopwatch,
}

/// The environment of a session during a dispatch.
#[derive(Debug)]
struct Ways<'c> {
    group: &'c mut Group,
    /// Identifies the session among those of its thread.
    client: u32,
    /// Memory that other clients leave to this one.
    room: Room,
    /// The ration of this iteration is used up.
    is_rationed: bool,
    /// Only small commands have room.
    is_short: bool,
    /// What is asked of all before anything else happens.
    all: Option<ForAll>,
    /// The operation under way.
    operation: Option<Operation>,
}

/// What is asked of all.
#[derive(Clone, Copy, Debug)]
enum ForAll {
    /// This request, of all shards from `next` on; for the pending reply with this number.
    Shards { request: ShardRequest<'static>, number: u64, next: u32 },
    /// The news of the server.
    Server,
    /// Nothing: all have been asked.
    Asked,
}

impl Ways<'_> {
    /// Longest value in bytes that the next command may store.
    fn most_stored(&self) -> u64 {
        if self.is_short { SMALL_VALUE } else { u64::MAX }
    }
}

impl Session {
    /// True if no reply is pending.
    pub(crate) fn is_answered(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Appends a piece of the value being received.
    fn collect(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.data.reserve_exact(self.incoming.saturating_sub(self.data.len()));
            self.data.extend_from_slice(piece);
        }
    }

    /// Makes room for a reply.
    fn begin_answer(&mut self, texts: &mut Texts) {
        match self.waiting.back() {
            None => self.out.begin_part(texts),
            Some(last) if last.behind.len() >= MOST_PART => self.wait(ReplyState::Others, texts),
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
}

/// Version reported to clients: that of the memcached release whose protocol is implemented, by which clients
/// choose features, followed by ours. libmemcached rejects a version that begins with 0.
pub const VERSION: &str = concat!("1.6.45-tailcut-", env!("CARGO_PKG_VERSION"));
/// Memory of a pending operation in bytes, without data and values.
const AROUND_OPERATION: u64 = 512;
/// Largest data buffer in bytes that a client keeps between its turns.
const MOST_KEPT: usize = 4 << 10;
