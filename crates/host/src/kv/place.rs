//! Where an item is.

/// In memory or on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the front: so many units of [`UNIT`] bytes from its beginning.
    Front {
        /// Number of units.
        unit: u32,
    },
    /// In the log: so many units from the beginning of the disk.
    Log {
        /// Number of units; below 2^38, so a disk has at most 4 TiB.
        unit: u64,
        /// Blocks that have to be read to have all of it, and at most [`MOST_PAGES`]: if it is longer, its
        /// first block says how long.
        pages: u8,
    },
}

/// Items begin at multiples of so many bytes.
pub const UNIT: u64 = 16;

/// Longer ones are read in two steps.
pub const MOST_PAGES: u8 = 7;

impl Place {
    /// Bits of an encoded place.
    pub const BITS: u32 = 42;

    /// As a number that is not zero.
    #[inline]
    pub fn encode(self) -> u64 {
        match self {
            Place::Front { unit } => u64::from(unit) | 1 << 41,
            Place::Log { unit, pages } => {
                debug_assert!((1..=MOST_PAGES).contains(&pages) && unit < 1 << 38);
                unit | u64::from(pages) << 38
            }
        }
    }

    /// The place that was encoded so.
    #[inline]
    pub fn decode(bits: u64) -> Place {
        match bits >> 41 & 1 {
            1 => Place::Front { unit: bits as u32 },
            _ => Place::Log { unit: bits & ((1 << 38) - 1), pages: (bits >> 38) as u8 & MOST_PAGES },
        }
    }
}
