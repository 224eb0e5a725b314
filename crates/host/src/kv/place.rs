//! The location of an item.

use tailcut_base::cast::{low_u8, low_u32};
use tailcut_base::id;

id! {
    /// A record of the front: its offset from the start of the memory, in units of [`UNIT`] bytes.
    pub struct FrontUnit;
}

/// The location of an item, in memory or on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The item is in memory, in the front.
    Front {
        /// Its record.
        unit: FrontUnit,
    },
    /// The item is on flash, in the log.
    Log {
        /// Offset from the start of the disk, in units of [`UNIT`] bytes; below 2^38, so a disk has at most 4
        /// TiB.
        unit: u64,
        /// Blocks to read for the whole record, at most [`MOST_PAGES`]: the first block of a longer record
        /// gives its length.
        pages: u8,
    },
}

/// Alignment of items in bytes.
pub const UNIT: u64 = 16;

/// Largest number of blocks in a place; longer records are read in two steps.
pub(super) const MOST_PAGES: u8 = 7;

impl Place {
    /// Length of an encoded place in bits.
    pub const BITS: u32 = 42;

    /// Encodes the place as a nonzero number.
    #[inline]
    pub fn encode(self) -> u64 {
        match self {
            Place::Front { unit } => u64::from(unit.get()) | 1 << 41,
            Place::Log { unit, pages } => {
                debug_assert!((1..=MOST_PAGES).contains(&pages) && unit < 1 << 38);
                unit | u64::from(pages) << 38
            }
        }
    }

    /// Decodes a place from a number that [`Place::encode`] returned.
    #[inline]
    pub fn decode(bits: u64) -> Place {
        match bits >> 41 & 1 {
            1 => Place::Front { unit: FrontUnit::new(low_u32(bits)) },
            _ => Place::Log { unit: bits & ((1 << 38) - 1), pages: low_u8(bits >> 38) & MOST_PAGES },
        }
    }
}
