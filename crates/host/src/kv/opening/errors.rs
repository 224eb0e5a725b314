//! Reasons for a failure to open or create a store.

use crate::kv::log::format::{NotOurs, Part};

/// Why a store cannot be opened or created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// The disk holds other data.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// The disk holds a store already.
    #[error("there is a key-value store on it already: open that one, or erase its first two blocks")]
    Taken,
    /// The disk holds another part of a store than expected.
    #[error(
        "part {} of {} of a key-value store is where part {} of {} should be: the disk is not as it was when \
            the store was made",
        there.number + 1, there.of, wanted.number + 1, wanted.of
    )]
    OtherPart {
        /// The part on the disk.
        there: Part,
        /// The expected part.
        wanted: Part,
    },
    /// A store would be opened as a cache.
    #[error(
        "it is a store, whose items a cache would evict: open it as one (-M), or with --force as a cache"
    )]
    KeepsAll,
    /// The disk does not fit the settings; the text gives the reason.
    #[error("{0}")]
    Unsuitable(String),
    /// The disk accepts no writes; the first block of the failed request.
    #[error(
        "block {0} cannot be written: the drive is full or takes no writes; if it is a sparse file, make \
            room on its file system"
    )]
    Full(u64),
    /// The disk has failed; the first block of the failed request.
    #[error("block {0} cannot be read or written")]
    Disk(u64),
}
