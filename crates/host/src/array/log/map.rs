//! Where each block of the host is: 5 bytes for each (SWAN, section 4.1).

use super::geometry::Place;
use tailcut_base::table::Table;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 5;

/// An entry as it is stored: 0 if it is absent, otherwise one more than its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Raw(u64);

impl Raw {
    /// The entry with this stored form, below 2^40.
    pub const fn new(raw: u64) -> Raw {
        Raw(raw)
    }

    /// The stored form.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A table of numbers of 40 bits, all of them absent at first.
#[derive(Clone, Debug)]
pub struct Map {
    bytes: Table<u8>,
}

impl Map {
    /// A map with `entries` entries.
    pub fn new(entries: u64) -> Map {
        Map { bytes: Table::dense(entries as usize * ENTRY_BYTES) }
    }

    /// The entry as it is stored.
    #[inline]
    pub fn raw(&self, at: u64) -> Raw {
        let at = at as usize * ENTRY_BYTES;
        let entry: &[u8; ENTRY_BYTES] = self.bytes[at..at + ENTRY_BYTES].try_into().expect("5 bytes");
        Raw(unpack(entry))
    }

    /// Sets the entry as it is stored.
    #[inline]
    pub fn set_raw(&mut self, at: u64, raw: Raw) {
        let at = at as usize * ENTRY_BYTES;
        self.bytes[at..at + ENTRY_BYTES].copy_from_slice(&pack(raw.0));
    }

    /// Where block `at` is.
    #[inline]
    pub fn get(&self, at: u64) -> Option<Place> {
        self.raw(at).0.checked_sub(1).map(Place)
    }

    /// Says where block `at` is from now on, and returns where it was.
    #[inline]
    pub fn replace(&mut self, at: u64, place: Option<Place>) -> Option<Place> {
        let old = self.get(at);
        self.set_raw(at, Raw(place.map_or(0, |place| place.0 + 1)));
        old
    }
}

/// A number below 2^40 as 5 bytes.
#[inline]
pub fn pack(number: u64) -> [u8; ENTRY_BYTES] {
    assert!(number >> 40 == 0, "an entry has 40 bits");
    let bytes = number.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

/// 5 bytes as a number.
#[inline]
pub fn unpack(bytes: &[u8; ENTRY_BYTES]) -> u64 {
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
