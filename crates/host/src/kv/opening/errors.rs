//! Reasons why a store is not opened or created.

use crate::kv::log::format::{NotOurs, Part};

/// Why there is no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// The disk holds something else.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// There is a store already.
    #[error("there is a key-value store on it already: open that one, or erase its first two blocks")]
    Taken,
    /// It is not the part of a store that should be there.
    #[error(
        "part {} of {} of a key-value store is where part {} of {} should be: the disk is not as it was when the store was made",
        there.number + 1, there.of, wanted.number + 1, wanted.of
    )]
    OtherPart {
        /// What is there.
        there: Part,
        /// What should be there.
        wanted: Part,
    },
    /// The disk does not suit the settings.
    #[error("{0}")]
    Unsuitable(String),
    /// The disk takes no writes.
    #[error(
        "block {0} cannot be written: the drive is full or takes no writes; if it is a sparse file, make room on its file system"
    )]
    Full(u64),
    /// The disk has failed.
    #[error("block {0} cannot be read or written")]
    Disk(u64),
}
