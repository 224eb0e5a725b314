//! The map of a drive: where each logical page is.

use crate::flash::{Geometry, LogicalPage, PhysicalPage};
use crate::request::EntryId;
use tailcut_base::cast::{low_u32, to_u32, to_usize};
use tailcut_base::ids::Id;
use tailcut_base::table::Table;

/// Where a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: it reads as zeros.
    Unmapped,
    /// The newest version is in this physical page.
    Flash(PhysicalPage),
    /// Its newest version is in this entry of the DRAM buffer.
    Buffer(EntryId),
}

impl Location {
    /// Zero for [`Location::Unmapped`], otherwise the number of the page plus one, or that of the entry,
    /// above a bit that tells which.
    #[inline(always)]
    fn decode(word: u64) -> Location {
        match (word, word >> 1) {
            (0, _) => Location::Unmapped,
            (w, entry) if w & 1 != 0 => Location::Buffer(EntryId::new(to_u32(entry))),
            (_, number) => Location::Flash(PhysicalPage::new(number - 1)),
        }
    }

    #[inline(always)]
    fn encode(self) -> u64 {
        match self {
            Location::Unmapped => 0,
            Location::Flash(physical) => (physical.get() + 1) << 1,
            Location::Buffer(entry) => u64::from(entry.get()) << 1 | 1,
        }
    }
}

/// An entry for each logical page: of 32 bits on a drive below 2^31 - 1 pages, otherwise of 64.
#[derive(Debug)]
pub(super) struct Map {
    words: Table<u32>,
    len: u64,
    is_wide: bool,
}

impl Map {
    /// The map of `logical` pages on a drive of this geometry; no page is anywhere.
    pub(super) fn new(logical: u64, geometry: &Geometry) -> Map {
        let is_wide = is_wide(geometry);
        Map { words: Table::new(to_usize(logical) << u32::from(is_wide)), len: logical, is_wide }
    }

    pub(super) fn request_huge_pages(&self) {
        self.words.request_huge_pages();
    }

    /// How many logical pages there are.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    #[inline(always)]
    pub(super) fn get(&self, logical: LogicalPage) -> Location {
        if self.is_wide {
            return self.get_wide(logical);
        }
        Location::decode(u64::from(self.words.at(logical.index())))
    }

    // Out of line, so that what every lookup of a usual drive goes through stays small.
    #[cold]
    fn get_wide(&self, logical: LogicalPage) -> Location {
        let at = logical.index() * 2;
        Location::decode(u64::from(self.words.at(at)) | u64::from(self.words.at(at + 1)) << 32)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, logical: LogicalPage, location: Location) {
        if self.is_wide {
            return self.set_wide(logical, location);
        }
        self.words.set(logical.index(), to_u32(location.encode()));
    }

    #[cold]
    fn set_wide(&mut self, logical: LogicalPage, location: Location) {
        let (at, word) = (logical.index() * 2, location.encode());
        self.words.set(at, low_u32(word));
        self.words.set(at + 1, to_u32(word >> 32));
    }

    /// A part of the entry, to warm the cache.
    #[inline(always)]
    pub(super) fn touch(&self, logical: LogicalPage) -> u32 {
        self.words.at(logical.index() << u32::from(self.is_wide))
    }
}

/// True where the number of a page and a bit do not fit in 32 bits.
fn is_wide(geometry: &Geometry) -> bool {
    geometry.page_count() >= (1 << 31) - 1
}

/// Bytes of the map for each logical page.
pub(crate) fn bytes_per_page(geometry: &Geometry) -> u64 {
    if is_wide(geometry) { 8 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    #[test]
    fn an_entry_keeps_what_was_set_in_both_widths() {
        // 2^31 - 2 pages, and more.
        for (blocks, is_wide) in [(1_073_741_823, false), (1 << 31, true)] {
            let mut geometry = Preset::M.config().geometry;
            (geometry.channels, geometry.chips, geometry.dies, geometry.planes) = (1, 1, 1, 1);
            (geometry.blocks, geometry.pages) = (blocks, 2);
            let mut map = Map::new(1 << 10, &geometry);
            assert_eq!((map.is_wide, bytes_per_page(&geometry)), (is_wide, if is_wide { 8 } else { 4 }));
            let locations = [
                Location::Flash(PhysicalPage::new(0)),
                Location::Flash(PhysicalPage::new(geometry.page_count() - 1)),
                Location::Buffer(EntryId::new(0)),
                Location::Buffer(EntryId::new((1 << 31) - 1)),
                Location::Unmapped,
            ];
            let pages = [0, 1, 2, 3, (1 << 10) - 1].map(LogicalPage::new);
            pages.iter().zip(locations).for_each(|(&page, location)| map.set(page, location));
            for (page, location) in pages.into_iter().zip(locations) {
                assert_eq!(map.get(page), location);
            }
            assert_eq!(map.get(LogicalPage::new(4)), Location::Unmapped);
        }
    }
}
