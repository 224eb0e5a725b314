//! Errors of a store, and their remedies.

use super::operation::Operation;
use crate::any::BuildError;
use crate::file::FileError;
use crate::kv::CannotFind;
use std::io;

/// Why a store cannot be opened. Nothing was written then, unless a drive failed during creation.
#[derive(Debug, thiserror::Error)]
pub enum CannotOpen {
    /// The options are inconsistent.
    #[error("{0}")]
    Options(String),
    /// A file or block device cannot be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// A drive, or the array over the drives, cannot be made or opened.
    #[error(transparent)]
    Drive(#[from] BuildError),
    /// The drive holds other data, and permission to overwrite it was not given.
    #[error(
        "there is no key-value store on {0}, and it is not empty: give another drive, or open with `create`, \
            and all that it holds is lost"
    )]
    NotEmpty(String),
    /// The store on the drive cannot be opened.
    #[error(transparent)]
    Store(CannotFind),
    /// An invariant did not hold: a bug.
    #[error("a bug in tailcut, please report it: {0}")]
    Bug(String),
    /// The system is out of threads or descriptors.
    #[error("the system refuses a thread or a descriptor: {0}")]
    System(#[from] io::Error),
}

/// Why an operation was not executed. Nothing has changed, unless the variant says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The key is empty or too long.
    #[error("a key has 1 to 250 bytes, and this one has {0}")]
    Key(usize),
    /// The item is larger than the store was opened for.
    #[error(
        "an item of {bytes} bytes, key and header included, is too large: open the store with `most_item` of \
            at least as many"
    )]
    TooLarge {
        /// Size of the item, in bytes.
        bytes: u64,
    },
    /// The store is full, and it may not evict items.
    #[error(
        "the store is full: delete items, give it larger drives, or open it as a cache, which gives up what \
            nobody asks for"
    )]
    Full,
    /// The queue is full with operations in flight and completions that have not been taken.
    #[error("the queue is full: take completions, or make a queue with more room")]
    Busy,
    /// The drive failed to read the item, or returned corrupt data. It is unknown whether the item exists.
    #[error("the item cannot be read: the drive has failed, or has changed what was written")]
    Unreadable,
    /// The drive accepts no more writes. The latest changes may be lost when the store closes.
    #[error(
        "the drive has failed, and nothing more can be made durable: close the store and replace the drive"
    )]
    DriveFailed,
    /// The store has no drive with this number; numbers begin at 0.
    #[error("the store has no drive {0}: they count from 0, and there is none where all is in memory")]
    NoDrive(usize),
    /// A call that steers a drive while the array steers its drives itself.
    #[error(
        "the array steers its drives by itself: ask them, but leave that to it, or open with \
            array.epoch.mode = epoch and no turns"
    )]
    Steered,
    /// An invariant did not hold, and the store's thread has ended. The latest changes may be lost.
    #[error(
        "a bug in tailcut has ended the store, please report what its thread has said on standard error: \
            open it again"
    )]
    Bug,
    /// The store was closed, or its thread has ended.
    #[error("the store is closed: open it again")]
    Closed,
}

/// An operation that was not accepted and can be submitted again: [`Error::Busy`] or [`Error::Closed`].
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotTaken {
    /// Why the operation was not accepted: [`Error::Busy`] or [`Error::Closed`].
    pub why: Error,
    /// The operation with its key and value, to be submitted again.
    pub operation: Operation,
}
