//! Faults by name.

use std::fmt;

tailcut_base::choice! {
    /// What goes wrong with a drive. What each does, and what is within the declared model, stands at
    /// the top of [`drive`](super::drive).
    pub enum FaultKind {
        /// The drive answers nothing but "gone" from now on.
        Kill = "kill",
        /// As `kill`, until the power comes back: then it is there again with what it had.
        Pull = "pull",
        /// The next commands take longer.
        Slow = "slow",
        /// The next writes of superblocks take longer.
        SlowSuperblock = "slow-superblock",
        /// One bit of a stored block changes; its seal does not.
        Flip = "flip",
        /// A stored block cannot be read until it is written again.
        Unreadable = "unreadable",
        /// The next writes fail, and leave anything behind that they might have.
        FailWrite = "fail-write",
        /// Writes fail from now on; what is stored can be read.
        ReadOnly = "read-only",
        /// A block of the next write lands in the place of another.
        Misdirect = "misdirect",
        /// The next flush fails once, and some of what it had to make durable never will be.
        FailFlush = "fail-flush",
        /// As `flip`, on this drive and on another one of its group: more than the layout can make up for, if
        /// both strike one stripe.
        Twin = "twin",
        /// With the next power the drive has more blocks.
        Grow = "grow",
        /// With the next power the drive has fewer blocks, until an array was refused because of that.
        Shrink = "shrink",
        /// With the next power the drive that was replaced is back in its place with its old content, and its
        /// successor is not there.
        Return = "return",
        /// The next power finds some of the drives, the one after it only the others, and the one after that
        /// all.
        Halves = "halves",
        /// A stored block becomes something else: bytes that nobody wrote, zeros, or what is in another
        /// block.
        Corrupt = "corrupt",
        /// As `corrupt`: one of the two superblocks of a store, the same one whenever this happens in a run.
        CorruptSuperblock = "corrupt-superblock",
        /// Some of the next writes find no room, on this drive or on all of them, whose file system is one.
        Full = "full",
    }
}

/// A fault of a drive, with what it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens to the drive, or to its data.
    pub kind: FaultKind,
    /// Number of the drive, by its place in the array.
    pub drive: u32,
    /// Of `slow`, `slow-superblock`, `fail-write` and `full`: how many commands; an even number of `full` is
    /// that of each drive. Of the others that strike a block: which, by its rank among those that are stored,
    /// modulo their number. Of `return`: which of the drives that were in this place, modulo their number. Of
    /// `halves`: the lowest bit is the part that is kept if both were written; the others say how many of the
    /// drives that hold the copies of a block are in the first part.
    pub pick: u32,
    /// Factor by which `slow` and `slow-superblock` lengthen commands; of no meaning for other faults.
    pub factor: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.drive)?;
        match self.kind {
            FaultKind::Kill | FaultKind::Pull | FaultKind::ReadOnly | FaultKind::FailFlush => Ok(()),
            FaultKind::Slow | FaultKind::SlowSuperblock => write!(f, " {} x{}", self.pick, self.factor),
            _ => write!(f, " {}", self.pick),
        }
    }
}
