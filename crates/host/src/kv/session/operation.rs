//! What a client wants of one item.

use crate::wire::memcached::{Direction, Expiry, Key, MetaFlags, StoreMode};

/// A command about one item, without its key.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `get`, `gets`, `gat`, `gats`.
    Get {
        /// The CAS value is wanted, too.
        with_cas: bool,
        /// When the item is to expire from now on.
        exptime: Option<i64>,
    },
    /// `mg`.
    MetaGet(MetaFlags),
    /// `set` and its kin, `ms`.
    Store(Store),
    /// `incr`, `decr`.
    Count {
        /// Up or down.
        direction: Direction,
        /// By how much.
        delta: u64,
        /// No answer is wanted.
        noreply: bool,
    },
    /// `ma`.
    MetaCount {
        /// Its flags.
        flags: MetaFlags,
        /// Up or down.
        direction: Direction,
        /// By how much.
        delta: u64,
    },
    /// `touch`.
    Touch {
        /// When the item is to expire from now on.
        exptime: i64,
        /// No answer is wanted.
        noreply: bool,
    },
    /// `delete`.
    Delete {
        /// No answer is wanted.
        noreply: bool,
    },
    /// `md`.
    MetaDelete(MetaFlags),
    /// `me`.
    MetaDebug,
    /// A store whose data are too long to be taken.
    TooLarge {
        /// What was there is out of date.
        replaces: bool,
        /// How it is answered.
        answer: Answer,
    },
    /// A store whose data did not end where they should; this is how it is answered.
    Unsound(Answer),
}

/// What is to be stored, but for its data.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// What becomes of an item that is there, and of one that is not.
    pub mode: StoreMode,
    /// The client's flags.
    pub client_flags: u32,
    /// When it is to expire.
    pub expiry: Expiry,
    /// The CAS value that the item must have to be joined with; 0 is any.
    pub cas: u64,
    /// The CAS value that it is to get.
    pub new_cas: Option<u64>,
    /// An older version is stored, as stale.
    pub invalidates: bool,
    /// Its key came in base64.
    pub has_base64_key: bool,
    /// How it is answered.
    pub answer: Answer,
}

/// How storing is answered.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// In a line.
    Classic {
        /// Or not.
        noreply: bool,
    },
    /// In two letters and flags.
    Meta(MetaFlags),
}

impl Operation {
    /// No answer is wanted, not even of an error.
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

    /// Bytes of memory that it can take at the most while it waits, with the `data` that came with it and the
    /// value that it may return, which is part of an item of at most `most_item` bytes.
    pub fn most_memory(&self, data: &[u8], most_item: u64) -> u32 {
        let returned = match self {
            Operation::Get { .. } => most_item,
            Operation::MetaGet(flags) if flags.wants_value() => most_item,
            _ => 0,
        };
        u32::try_from(data.len() as u64 + returned).unwrap_or(u32::MAX)
    }

    /// Nothing is changed but when the item expires: the next command need not wait for it.
    pub fn only_looks(&self) -> bool {
        match self {
            Operation::Get { exptime, .. } => exptime.is_none(),
            Operation::MetaGet(flags) => {
                flags.exptime.is_none() && flags.vivify.is_none() && flags.recache.is_none()
            }
            Operation::MetaDebug => true,
            _ => false,
        }
    }

    /// It always changes more than when an item expires.
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

    /// In a cache it need not wait for what was not found yet: a miss is right, and so is deleting it
    /// whatever it is.
    pub fn may_miss(&self) -> bool {
        self.only_looks() || matches!(self, Operation::Delete { .. } | Operation::MetaDelete(_))
    }
}

/// A key, kept in memory that is used again.
#[derive(Debug, Default)]
pub struct KeptKey {
    bytes: Vec<u8>,
}

impl KeptKey {
    /// Another key.
    pub fn set(&mut self, key: Key<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(key.as_bytes());
    }

    /// The key that was set.
    pub fn key(&self) -> Key<'_> {
        Key::new(&self.bytes).expect("it was one")
    }
}

/// When an item expires, as it is kept: seconds of Unix time, 0 for never.
pub fn to_seconds(expiry: Expiry) -> u32 {
    match expiry {
        Expiry::Never => 0,
        Expiry::Past => 1,
        // What would be later than 2106 ends then.
        Expiry::At(moment) => u32::try_from(moment).unwrap_or(u32::MAX).max(1),
    }
}

/// And back.
pub fn to_expiry(seconds: u32) -> Expiry {
    match seconds {
        0 => Expiry::Never,
        1 => Expiry::Past,
        seconds => Expiry::At(u64::from(seconds)),
    }
}
