//! What a client wants of the items, and who gets the answer.

use super::clients::Tally;
use super::latency::Source;
use super::operation::{KeptKey, Operation};
use super::statistics::Sums;
use crate::wire::memcached::Key;

/// Who asks: so an answer that comes later finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Among all that share the shards.
    pub group: u32,
    /// Which of its clients.
    pub client: u32,
    /// Which of the client's answers.
    pub number: u64,
}

/// Something to be done by a shard.
#[derive(Clone, Copy, Debug)]
pub enum ShardRequest<'a> {
    /// With an item.
    Item {
        /// Its key.
        key: Key<'a>,
        /// What is to be done.
        operation: &'a Operation,
        /// The data that came with it.
        data: &'a [u8],
    },
    /// All items are to be forgotten, at this moment of Unix time in seconds, or at once if that has passed.
    Flush(u64),
    /// What was counted is to be forgotten.
    Reset,
    /// What was counted is to be told.
    Tell,
}

impl ShardRequest<'_> {
    /// The client's next command need not wait for it.
    pub fn only_looks(&self) -> bool {
        match self {
            ShardRequest::Item { operation, .. } => operation.only_looks(),
            _ => false,
        }
    }

    /// A copy for later.
    pub fn keep(&self) -> OwnedShardRequest {
        match *self {
            ShardRequest::Item { key, operation, data } => {
                OwnedShardRequest::Item(Box::new(Kept::new(key, operation, data)))
            }
            ShardRequest::Flush(moment) => OwnedShardRequest::Flush(moment),
            ShardRequest::Reset => OwnedShardRequest::Reset,
            ShardRequest::Tell => OwnedShardRequest::Tell,
        }
    }
}

/// A request that owns its data, to be executed later.
#[derive(Debug)]
pub enum OwnedShardRequest {
    /// See [`ShardRequest::Item`].
    Item(Box<Kept>),
    /// See [`ShardRequest::Flush`].
    Flush(u64),
    /// See [`ShardRequest::Reset`].
    Reset,
    /// See [`ShardRequest::Tell`].
    Tell,
}

impl OwnedShardRequest {
    /// As it was.
    pub fn request(&self) -> ShardRequest<'_> {
        match self {
            OwnedShardRequest::Item(kept) => kept.request(),
            OwnedShardRequest::Flush(moment) => ShardRequest::Flush(*moment),
            OwnedShardRequest::Reset => ShardRequest::Reset,
            OwnedShardRequest::Tell => ShardRequest::Tell,
        }
    }
}

/// What is to be done with an item, later.
#[derive(Debug)]
pub struct Kept {
    key: KeptKey,
    operation: Operation,
    data: Vec<u8>,
}

impl Kept {
    /// A copy.
    pub fn new(key: Key<'_>, operation: &Operation, data: &[u8]) -> Kept {
        let mut kept = Kept { key: KeptKey::default(), operation: *operation, data: Vec::new() };
        kept.set(key, operation, data);
        kept
    }

    /// Something else, in the same memory.
    pub fn set(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) {
        self.key.set(key);
        self.operation = *operation;
        self.data.clear();
        self.data.extend_from_slice(data);
    }

    /// The item's key.
    pub fn key(&self) -> Key<'_> {
        self.key.key()
    }

    /// What is to be done with it.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The data that came with that.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Only its memory is kept on, without that of the data.
    pub fn clear(&mut self) {
        self.data = Vec::new();
    }

    fn request(&self) -> ShardRequest<'_> {
        ShardRequest::Item { key: self.key(), operation: &self.operation, data: &self.data }
    }
}

/// The immediate outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is done, and the answer is where it was wanted. An item was found there; for anything else it means
    /// nothing.
    Done(Source),
    /// The answer comes as a [`Reply`].
    Later {
        /// Something else may come between: the client's next command has to wait for it.
        is_open: bool,
        /// Bytes that are under way for it, as far as it is known. In 32 bits, so that all of this is
        /// returned in a register: a copy of what was only just written to memory waits for everything that
        /// was written before.
        bytes: u32,
    },
    /// The shard has failed, and nothing is done any more there.
    Failed,
    /// It waits for its shard, which another thread uses; the answer comes as a [`Reply`]. If it does more
    /// than look, it is open.
    Deferred,
}

/// An answer that has come later.
#[derive(Debug)]
pub struct Reply {
    /// Whom it is for.
    pub requester: Requester,
    /// What it is.
    pub content: Content,
}

/// What an answer is.
#[derive(Debug)]
pub enum Content {
    /// What the client is told, of an item that was found there.
    Text(Vec<u8>, Source),
    /// What was counted.
    Sums(Box<Sums>),
    /// The disk has failed, and nothing was done.
    Refused,
    /// The disk has no room at the moment, and what was done is not durable: it may be undone by a crash.
    /// `is_silent` if the client wants no answer.
    NotDurable {
        /// The client wants no answer.
        is_silent: bool,
    },
    /// The disk has failed, and what was done can not be made durable.
    Failed,
}

/// The shards, as sessions reach them. Items are divided among them by their keys.
pub trait Shards {
    /// How many there are.
    fn count(&self) -> u32;

    /// Who has the item with this key.
    fn home(&self, key: Key<'_>) -> u32;

    /// What is told of clients elsewhere that share the shards.
    fn elsewhere(&self) -> Tally {
        Tally::default()
    }

    /// Appends what `stats` tells of the disk, in its lines.
    fn tell_of_disk(&self, _out: &mut Vec<u8>) {}

    /// These keys are likely to be asked for next; see [`Engine::prefetch`](crate::kv::Engine::prefetch).
    fn prefetch(&mut self, _keys: &[&[u8]]) {}

    /// Executes a request on its shard. The answer is appended to `out`, or comes later. Requests of one
    /// requester about one item are done in their order, unless [`Progress::Later`] says that it is open.
    fn carry_out(
        &mut self,
        shard: u32,
        requester: Requester,
        request: ShardRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Progress;
}
