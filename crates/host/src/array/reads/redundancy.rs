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

/// Two copies of each block: what lies on a drive from `first` on has its copy on the next drive, `half`
/// blocks further on; what lies another `half` further on has it on the drive before (chained
/// declustering: Hsiao and DeWitt, ICDE 1990).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Drives, the last of which is followed by the first.
    pub drives: usize,
    /// The first block with a copy.
    pub first: u64,
    /// Blocks of a drive that have their copy on the next one.
    pub half: u64,
}

impl Redundancy {
    /// That of an array. Where copies are is for its layout to say: see [`Reads::set_copies`].
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
        if block < self.first + self.half {
            let next = if drive + 1 == self.drives { 0 } else { drive + 1 };
            (next, block + self.half)
        } else {
            let before = if drive == 0 { self.drives - 1 } else { drive - 1 };
            (before, block - self.half)
        }
    }
}
