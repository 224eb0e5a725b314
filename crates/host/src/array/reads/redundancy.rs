//! What stands in for blocks that cannot be read, or not now.

use crate::array::config::ArrayConfig;

/// What stands in for blocks that cannot be read, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// Nothing.
    None,
    /// The blocks at the same address on the other members of an R-group of so many drives.
    Parity(usize),
    /// Their copies.
    Copies(Copies),
}

/// Two copies of each block, chunk by chunk in turn: what lies in the first, third … chunk of a drive has its copy
/// on the next drive, one chunk further on; what lies in those between has it on the drive before (chained
/// declustering: Hsiao and DeWitt, ICDE 1990). So an array that is filled from its beginning fills its drives from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Drives, the last of which is followed by the first.
    pub drives: usize,
    /// The first block with a copy.
    pub first: u64,
    /// Blocks of a chunk.
    pub chunk: u64,
}

impl Redundancy {
    /// That of an array. Where copies are is for its layout to say: see [`Reads::set_copies`](super::Reads::set_copies).
    pub fn of(config: &ArrayConfig) -> Redundancy {
        if config.layout.has_parity() { Redundancy::Parity(config.width()) } else { Redundancy::None }
    }

    /// How many drives stand in for one.
    pub(super) fn others(&self) -> usize {
        match self {
            Redundancy::None => 0,
            Redundancy::Parity(width) => width - 1,
            Redundancy::Copies(_) => 1,
        }
    }

    /// One of those that stand in for `block` of `drive`: a drive, and the block there.
    pub(super) fn other(&self, drive: usize, block: u64, index: usize) -> (usize, u64) {
        match self {
            Redundancy::None => (drive, block),
            Redundancy::Parity(width) => {
                let (group, member) = (drive / width * width, drive % width);
                (group + index + usize::from(index >= member), block)
            }
            Redundancy::Copies(copies) => copies.other(drive, block),
        }
    }
}

impl Copies {
    /// Where the other copy of a block is.
    #[inline]
    pub fn other(&self, drive: usize, block: u64) -> (usize, u64) {
        let next = if drive + 1 == self.drives { 0 } else { drive + 1 };
        let before = if drive == 0 { self.drives - 1 } else { drive - 1 };
        match self.is_second(block) {
            false => (next, block + self.chunk),
            true => (before, block - self.chunk),
        }
    }

    /// True when the first copy of a block that has one here is on the drive before.
    #[inline]
    pub fn is_second(&self, block: u64) -> bool {
        (block - self.first) / self.chunk % 2 == 1
    }
}
