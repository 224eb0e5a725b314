//! Where a scrub has found mismatches.

use crate::array::DriveId;

/// The places of the first few mismatches of a scrub, in the order of discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MismatchPlaces {
    first: [Option<MismatchPlace>; PLACES],
}

/// The place of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MismatchPlace {
    /// The member with the parity block, or with a copy that differs.
    pub member: DriveId,
    /// Number of the block on the member, in blocks of 4 KiB.
    pub block: u64,
}

/// Number of places kept.
const PLACES: usize = 4;

impl MismatchPlaces {
    /// Adds a place, unless enough are known.
    pub fn add(&mut self, place: MismatchPlace) {
        if let Some(free) = self.first.iter_mut().find(|known| known.is_none()) {
            *free = Some(place);
        }
    }

    /// The places kept, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = MismatchPlace> {
        self.first.into_iter().flatten()
    }
}
