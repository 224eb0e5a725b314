//! The map from blocks of the host to places: 5 bytes per block (SWAN, section 4.1).

use super::geometry::Place;
use tailcut_base::cast::to_usize;
use tailcut_base::table::Table;

/// Length of an entry in bytes.
pub(super) const ENTRY_BYTES: usize = 5;

/// A raw entry: 0 if absent, otherwise its number plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Raw(u64);

impl Raw {
    /// An entry with this raw value, below 2^40.
    pub(super) const fn new(raw: u64) -> Raw {
        Raw(raw)
    }

    /// The raw value.
    pub(super) const fn get(self) -> u64 {
        self.0
    }
}

/// A table of 40-bit numbers, initially absent.
#[derive(Clone, Debug)]
pub(super) struct Map {
    bytes: Table<u8>,
}

impl Map {
    /// A map with `entries` entries.
    pub(super) fn new(entries: u64) -> Map {
        Map { bytes: Table::dense(to_usize(entries) * ENTRY_BYTES) }
    }

    /// The raw entry.
    #[inline]
    pub(super) fn raw(&self, at: u64) -> Raw {
        let at = to_usize(at) * ENTRY_BYTES;
        let entry: &[u8; ENTRY_BYTES] = self.bytes[at..at + ENTRY_BYTES].try_into().expect("5 bytes");
        Raw(unpack(entry))
    }

    /// Sets the raw entry.
    #[inline]
    pub(super) fn set_raw(&mut self, at: u64, raw: Raw) {
        let at = to_usize(at) * ENTRY_BYTES;
        self.bytes[at..at + ENTRY_BYTES].copy_from_slice(&pack(raw.0));
    }

    /// Place of block `at`.
    #[inline]
    pub(super) fn get(&self, at: u64) -> Option<Place> {
        self.raw(at).0.checked_sub(1).map(Place)
    }

    /// Sets the place of block `at`. Returns the previous place.
    #[inline]
    pub(super) fn replace(&mut self, at: u64, place: Option<Place>) -> Option<Place> {
        let old = self.get(at);
        self.set_raw(at, Raw(place.map_or(0, |place| place.0 + 1)));
        old
    }
}

/// Encodes a number below 2^40 in 5 bytes.
#[inline]
pub(super) fn pack(number: u64) -> [u8; ENTRY_BYTES] {
    assert!(number >> 40 == 0, "an entry has 40 bits");
    let bytes = number.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

/// Decodes a number from 5 bytes.
#[inline]
pub(super) fn unpack(bytes: &[u8; ENTRY_BYTES]) -> u64 {
    u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_do_not_touch_each_other() {
        let mut map = Map::new(3);
        let largest = Place((1 << 40) - 2);
        assert_eq!(map.replace(1, Some(largest)), None);
        assert_eq!((map.get(0), map.get(1), map.get(2)), (None, Some(largest), None));
        assert_eq!(map.replace(1, None), Some(largest));
        assert_eq!(map.get(1), None);
    }
}
