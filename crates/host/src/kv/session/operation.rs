//! Operations on one item.

use crate::wire::memcached::{Delta, Expiry, Key, MetaFlags, StoreMode};

/// A command on one item, without its key.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `get`, `gets`, `gat`, `gats`.
    Get {
        /// Return the CAS value as well.
        with_cas: bool,
        /// New expiry time; None to keep it.
        exptime: Option<i64>,
    },
    /// `mg`.
    MetaGet(MetaFlags),
    /// `set` and its variants, `ms`.
    Store(Store),
    /// `incr`, `decr`.
    Count {
        /// What to add or subtract.
        delta: Delta,
        /// Suppress the reply.
        noreply: bool,
    },
    /// `ma`.
    MetaCount {
        /// Its flags.
        flags: MetaFlags,
        /// What to add or subtract.
        delta: Delta,
    },
    /// `touch`.
    Touch {
        /// New expiry time.
        exptime: i64,
        /// Suppress the reply.
        noreply: bool,
    },
    /// `delete`.
    Delete {
        /// Suppress the reply.
        noreply: bool,
    },
    /// `md`.
    MetaDelete(MetaFlags),
    /// `me`.
    MetaDebug,
    /// A storage command whose data exceed the size limit.
    TooLarge {
        /// The current item is outdated and must be removed.
        replaces: bool,
        /// Form of the reply.
        answer: Answer,
    },
    /// A storage command whose data lack the terminator; gives the form of the reply.
    Unsound(Answer),
}

/// A storage command, without its data.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Storage mode: its effect on an existing and on a missing item.
    pub mode: StoreMode,
    /// The client's flags: 32 bits that are stored with the item and not interpreted.
    pub client_flags: u32,
    /// When the stored item expires.
    pub expiry: Expiry,
    /// Expiry time of the item that an append or prepend creates if it is missing; None if that fails.
    pub autovivify: Option<Expiry>,
    /// CAS value that the item must have; 0 for any.
    pub cas: u64,
    /// CAS value to set; None for a new one.
    pub new_cas: Option<u64>,
    /// The client stores an older version, to be marked as stale.
    pub invalidates: bool,
    /// The key was sent in base64.
    pub has_base64_key: bool,
    /// The form of the reply: a line as for `set`, or letters and flags as for `ms`.
    pub answer: Answer,
}

/// Form of the reply to a storage command.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// A line, as for `set`.
    Classic {
        /// Suppress the reply.
        noreply: bool,
    },
    /// Two letters and flags, as for `ms`.
    Meta(MetaFlags),
}

impl Operation {
    /// True if the client suppresses all replies, including errors.
    pub fn is_silent(&self) -> bool {
        match self {
            Operation::Store(Store { answer, .. })
            | Operation::TooLarge { answer, .. }
            | Operation::Unsound(answer) => {
                matches!(answer, Answer::Classic { noreply: true })
            }
            Operation::Count { noreply, .. }
            | Operation::Touch { noreply, .. }
            | Operation::Delete { noreply } => *noreply,
            _ => false,
        }
    }

    /// Upper bound of the memory of a pending operation in bytes: its data of `data_bytes`, and the value
    /// that it may return, part of an item of at most `most_item` bytes.
    pub fn most_memory(&self, data_bytes: usize, most_item: u64) -> u32 {
        let returned = if self.returns_value() { most_item } else { 0 };
        u32::try_from(data_bytes as u64 + returned).unwrap_or(u32::MAX)
    }

    /// True if the reply may contain the item's value.
    pub fn returns_value(&self) -> bool {
        match self {
            Operation::Get { .. } => true,
            Operation::MetaGet(flags) => flags.wants_value(),
            _ => false,
        }
    }

    /// True if the operation changes nothing, not even an expiry time: the next command need not wait for it.
    pub fn only_looks(&self) -> bool {
        match self {
            Operation::Get { exptime, .. } => exptime.is_none(),
            Operation::MetaGet(flags) => {
                flags.exptime.is_none() && flags.autovivify.is_none() && flags.recache.is_none()
            }
            Operation::MetaDebug => true,
            _ => false,
        }
    }

    /// True if the operation always changes more than an expiry time.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            Operation::Store(_)
                | Operation::Count { .. }
                | Operation::MetaCount { .. }
                | Operation::Touch { .. }
                | Operation::Delete { .. }
                | Operation::MetaDelete(_)
                | Operation::TooLarge { .. }
        )
    }

    /// True if, in a cache, the operation need not wait for recovery to find its key: a miss is correct, and
    /// so is a blind delete.
    pub fn may_miss(&self) -> bool {
        self.only_looks() || matches!(self, Operation::Delete { .. } | Operation::MetaDelete(_))
    }
}

/// A key in a reusable buffer.
#[derive(Debug, Default)]
pub(super) struct KeptKey {
    bytes: Vec<u8>,
}

impl KeptKey {
    /// Replaces the key.
    pub(super) fn set(&mut self, key: Key<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(key.as_bytes());
    }

    /// The current key.
    pub(super) fn key(&self) -> Key<'_> {
        Key::new(&self.bytes).expect("it was one")
    }
}

/// Encodes an expiry time as stored: seconds of Unix time, 0 for never.
pub(super) fn to_seconds(expiry: Expiry) -> u32 {
    match expiry {
        Expiry::Never => 0,
        Expiry::Past => 1,
        // Later times are clamped to the last representable one, in 2106.
        Expiry::At(moment) => u32::try_from(moment).unwrap_or(u32::MAX).max(1),
    }
}

/// Decodes a stored expiry time, in seconds of Unix time, 0 for never.
pub(super) fn to_expiry(seconds: u32) -> Expiry {
    match seconds {
        0 => Expiry::Never,
        1 => Expiry::Past,
        seconds => Expiry::At(u64::from(seconds)),
    }
}
