//! What can go wrong, and what helps.

use super::operation::Operation;
use crate::any::BuildError;
use crate::file::FileError;
use crate::kv::CannotFind;
use std::io;

/// Why there is no store. Nothing was written then, unless a drive has failed in the middle of it.
#[derive(Debug, thiserror::Error)]
pub enum CannotOpen {
    /// Options that do not fit together.
    #[error("{0}")]
    Options(String),
    /// A file or block device cannot be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drives, or the array of them.
    #[error(transparent)]
    Drive(#[from] BuildError),
    /// There is something else than a store, and nobody has said that it may be overwritten.
    #[error(
        "there is no key-value store on {0}, and it is not empty: give another drive, or open with `create`, and all that it holds is lost"
    )]
    NotEmpty(String),
    /// What is on the drive.
    #[error(transparent)]
    Store(CannotFind),
    /// An invariant did not hold: a bug.
    #[error("a bug in tailcut, please report it: {0}")]
    Bug(String),
    /// The system has no thread or descriptor left.
    #[error("the system refuses a thread or a descriptor: {0}")]
    System(#[from] io::Error),
}

/// Why an operation was not carried out. Nothing has changed, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such key can be.
    #[error("a key has 1 to 250 bytes, and this one has {0}")]
    Key(usize),
    /// Longer than the store was opened for.
    #[error(
        "an item of {bytes} bytes, key and header included, is too large: open the store with `most_item` of at least as many"
    )]
    TooLarge {
        /// What it would take.
        bytes: u64,
    },
    /// Nothing may be given up, and there is no room.
    #[error(
        "the store is full: delete items, give it larger drives, or open it as a cache, which gives up what nobody asks for"
    )]
    Full,
    /// All room of the queue is taken by operations under way, and by completions that nobody has taken.
    #[error("the queue is full: take completions, or make a queue with more room")]
    Busy,
    /// The drive has failed to read it, or what it has read is not what was written. Whether there is an item
    /// is not known.
    #[error("the item cannot be read: the drive has failed, or has changed what was written")]
    Unreadable,
    /// The drive takes no writes any more. What was changed last may be lost at the end.
    #[error(
        "the drive has failed, and nothing more can be made durable: close the store and replace the drive"
    )]
    DriveFailed,
    /// There is no such drive below the store, by its number from 0.
    #[error("the store has no drive {0}: they count from 0, and there is none where all is in memory")]
    NoDrive(usize),
    /// A call that steers, while the array does it itself.
    #[error(
        "the array steers its drives by itself: ask them, but leave that to it, or open with array.epoch.mode = epoch and no turns"
    )]
    Steered,
    /// An invariant did not hold, and the store's thread has ended with it. What was changed last may be
    /// lost.
    #[error(
        "a bug in tailcut has ended the store, please report what its thread has said on standard error: open it again"
    )]
    Bug,
    /// The store was closed, or its thread has ended.
    #[error("the store is closed: open it again")]
    Closed,
}

/// An operation that was not taken, to be submitted again: [`Error::Busy`] or [`Error::Closed`].
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotTaken {
    /// Why.
    pub why: Error,
    /// It.
    pub operation: Operation,
}
