//! Requests to a shard and their replies.

use super::latency::Source;
use super::operation::{KeptKey, Operation};
use super::prefixes::PrefixCounters;
use super::statistics::Sums;
use crate::kv::hash::part_of;
use crate::wire::memcached::Key;

/// Address of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Number of the thread among those that share the shards.
    pub group: u32,
    /// The client, by its identifier on that thread.
    pub client: u32,
    /// Number of the reply among those of the client, in the order of its commands.
    pub number: u64,
}

/// How keys are divided among shards: each belongs to one.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    seed: u64,
    shards: u32,
}

impl Division {
    /// All keys belong to one shard.
    pub const WHOLE: Division = Division { seed: 0, shards: 1 };

    /// Keys are divided by a hash with this seed.
    pub fn new(seed: u64, shards: u32) -> Division {
        Division { seed, shards }
    }

    /// Number of shards that the keys are divided between.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The shard that owns this key.
    #[inline]
    pub fn home(&self, key: &[u8]) -> u32 {
        part_of(self.seed, key, self.shards)
    }
}

/// A request to a shard.
#[derive(Clone, Copy, Debug)]
pub enum ShardRequest<'a> {
    /// An operation on one item.
    Item {
        /// Its key.
        key: Key<'a>,
        /// The operation.
        operation: &'a Operation,
        /// Its payload, empty for operations without one.
        data: &'a [u8],
    },
    /// An operation on one item that returns at most a small value. If the item's is longer, or may be,
    /// nothing is executed ([`Progress::TooLong`]).
    SmallItem {
        /// Its key.
        key: Key<'a>,
        /// The operation.
        operation: &'a Operation,
        /// Its payload, empty for operations without one.
        data: &'a [u8],
    },
    /// Invalidate all items at this time, in seconds of Unix time; at once if it has passed.
    Flush(u64),
    /// Limit the shard's memory for items to this many bytes (`cache_memlimit`).
    LimitMemory(u64),
    /// Reset the shard's counters of client commands (`stats reset`).
    Reset,
    /// Return the shard's counters.
    Tell,
    /// Enable or disable counters by key prefix.
    Detail(bool),
    /// Return the counters by key prefix.
    TellPrefixes,
}

impl ShardRequest<'_> {
    /// True if the client's next command need not wait for this request.
    pub fn only_looks(&self) -> bool {
        match self {
            ShardRequest::Item { operation, .. } | ShardRequest::SmallItem { operation, .. } => {
                operation.only_looks()
            }
            _ => false,
        }
    }

    /// False for a request whose reply may not return values of any length: it is not kept for later, when
    /// nothing would limit the length.
    pub fn can_be_deferred(&self) -> bool {
        match self {
            ShardRequest::SmallItem { operation, .. } => !operation.returns_value(),
            _ => true,
        }
    }

    /// An owned copy of the request, without a limit on the value that its reply returns.
    pub fn keep(&self) -> OwnedShardRequest {
        match *self {
            ShardRequest::Item { key, operation, data }
            | ShardRequest::SmallItem { key, operation, data } => {
                OwnedShardRequest::Item(Box::new(OwnedRequest::new(key, operation, data)))
            }
            ShardRequest::Flush(moment) => OwnedShardRequest::Flush(moment),
            ShardRequest::LimitMemory(bytes) => OwnedShardRequest::LimitMemory(bytes),
            ShardRequest::Reset => OwnedShardRequest::Reset,
            ShardRequest::Tell => OwnedShardRequest::Tell,
            ShardRequest::Detail(is_on) => OwnedShardRequest::Detail(is_on),
            ShardRequest::TellPrefixes => OwnedShardRequest::TellPrefixes,
        }
    }
}

/// A request that owns its data, to be executed later.
#[derive(Debug)]
pub enum OwnedShardRequest {
    /// See [`ShardRequest::Item`].
    Item(Box<OwnedRequest>),
    /// See [`ShardRequest::Flush`].
    Flush(u64),
    /// See [`ShardRequest::LimitMemory`].
    LimitMemory(u64),
    /// See [`ShardRequest::Reset`].
    Reset,
    /// See [`ShardRequest::Tell`].
    Tell,
    /// See [`ShardRequest::Detail`].
    Detail(bool),
    /// See [`ShardRequest::TellPrefixes`].
    TellPrefixes,
}

impl OwnedShardRequest {
    /// The request as a shard receives it, borrowing key and payload.
    pub fn request(&self) -> ShardRequest<'_> {
        match self {
            OwnedShardRequest::Item(kept) => kept.request(),
            OwnedShardRequest::Flush(moment) => ShardRequest::Flush(*moment),
            OwnedShardRequest::LimitMemory(bytes) => ShardRequest::LimitMemory(*bytes),
            OwnedShardRequest::Reset => ShardRequest::Reset,
            OwnedShardRequest::Tell => ShardRequest::Tell,
            OwnedShardRequest::Detail(is_on) => ShardRequest::Detail(*is_on),
            OwnedShardRequest::TellPrefixes => ShardRequest::TellPrefixes,
        }
    }
}

/// An owned item operation, to be executed later.
#[derive(Debug)]
pub struct OwnedRequest {
    key: KeptKey,
    operation: Operation,
    data: Vec<u8>,
}

impl OwnedRequest {
    /// An owned copy of an operation.
    pub fn new(key: Key<'_>, operation: &Operation, data: &[u8]) -> OwnedRequest {
        let mut kept = OwnedRequest { key: KeptKey::default(), operation: *operation, data: Vec::new() };
        kept.set(key, operation, data);
        kept
    }

    /// Replaces the operation, reusing the memory.
    pub fn set(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) {
        self.key.set(key);
        self.operation = *operation;
        self.data.clear();
        self.data.extend_from_slice(data);
    }

    /// The key of the item that the operation is on.
    pub fn key(&self) -> Key<'_> {
        self.key.key()
    }

    /// The operation on the item, without key and payload.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The payload of the operation, such as the value to store; empty for operations without one.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Releases the memory of the payload; the rest is kept for reuse.
    pub fn clear(&mut self) {
        self.data = Vec::new();
    }

    fn request(&self) -> ShardRequest<'_> {
        let (key, operation, data) = (self.key(), &self.operation, &self.data[..]);
        ShardRequest::Item { key, operation, data }
    }
}

/// The immediate outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Executed; the reply is written. The source is meaningful for item operations only.
    Done(Source),
    /// The reply follows as a [`Reply`].
    Later {
        /// The order of later commands is not guaranteed: the client's next command must wait.
        is_open: bool,
        /// Upper bound of the memory of the pending request in bytes, as far as known. In 32 bits, so that
        /// the whole value is returned in a register: a copy of a value just written to memory would stall
        /// until earlier stores complete.
        bytes: u32,
    },
    /// The shard has failed and executes nothing any more.
    Failed,
    /// Not executed: the reply might return a longer value than the request permits.
    TooLong,
    /// Not executed: another thread is using the shard, and the request
    /// [cannot be deferred](ShardRequest::can_be_deferred).
    Taken,
    /// The request waits for its shard, which another thread is using; the reply follows as a [`Reply`]. The
    /// client's next command must wait unless the request only reads and the shard has recovered: a read of
    /// an item that recovery has not found yet would return a later change.
    Deferred {
        /// Recovery of the shard is not complete.
        is_recovering: bool,
    },
}

/// A deferred reply of a shard to a request.
#[derive(Debug)]
pub struct Reply {
    /// The connection and the slot in its reply queue that the reply is for.
    pub requester: Requester,
    /// The text for the client, counters, or why the request failed.
    pub content: Content,
}

/// Content of a deferred reply.
#[derive(Debug)]
pub enum Content {
    /// The text for the client, and the source of the item.
    Text(Vec<u8>, Source),
    /// The counters of the shard.
    Sums(Box<Sums>),
    /// The shard's counters by key prefix.
    Prefixes(Box<PrefixCounters>),
    /// The disk takes no writes; the request was not executed.
    Refused {
        /// The reason for the client.
        why: &'static str,
    },
    /// The disk is out of space, and the change is not durable: a crash may undo it.
    NotDurable {
        /// The client suppresses the reply.
        is_silent: bool,
    },
    /// The disk has failed, and the executed change cannot be made durable.
    Failed,
}
