//! Broken promises.

use std::fmt;

/// A promise that was broken, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise was broken.
    pub kind: ViolationKind,
    /// What was observed, and what would have been allowed, in words.
    pub message: String,
}

tailcut_base::choice! {
    /// Promises.
    pub enum ViolationKind {
        /// A read returned what nobody wrote, or two versions in one block.
        Invented = "a value that nobody wrote",
        /// A read returned what was written to another block.
        Misplaced = "the value of another block",
        /// A read returned what had been overwritten before it began.
        Stale = "a stale value",
        /// What was acknowledged and durable is not there any more.
        Lost = "durable data lost",
        /// What was trimmed is there again.
        Resurrected = "trimmed data came back",
        /// A request was answered with an error although no fault allows one.
        Error = "an error without a cause",
        /// Something that must end does not.
        Stuck = "no progress",
        /// It is not whole again after everything was repaired.
        NotRepaired = "not repaired",
        /// Copies of a block differ, or a parity does not belong to its data, although nothing was damaged.
        Inconsistent = "copies or parities that do not fit",
        /// It could not be opened.
        NotOpened = "not opened",
        /// It was opened from drives that are not the array any more.
        NotRefused = "not refused",
        /// An assertion of the code itself failed.
        Panic = "panic",
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}
