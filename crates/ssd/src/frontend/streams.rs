//! Detects reads that continue earlier ones, and the pages that follow them.

use crate::config::CacheConfig;
use crate::flash::LogicalPage;
use std::ops::Range;
use tailcut_base::cast::to_usize;

/// Reads in sequence before a read that make it part of a stream: one random read that begins where another
/// has ended is chance, two in sequence are not.
const RUN: u32 = 2;

/// A row of reads, each of which began where the one before it had ended.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The sector behind the last of them; the place of a row follows from it.
    end: u64,
    /// How many there have been, without the first.
    length: u32,
    /// The page up to which it has been read ahead.
    ahead: u64,
}

/// Remembers where reads have ended. Two rows whose ends have one place displace each other.
#[derive(Debug)]
pub(crate) struct Streams {
    rows: Vec<Option<Row>>,
    sectors_shift: u32,
    ahead: u32,
}

impl Streams {
    /// Tracks as many rows as the cache wants, in pages of `page_sectors` sectors, and reads as far ahead of
    /// each.
    pub(crate) fn new(config: &CacheConfig, page_sectors: u32) -> Streams {
        let CacheConfig { streams, ahead, .. } = *config;
        let rows = if ahead == 0 { 0 } else { streams.next_power_of_two().max(2) as usize };
        Streams { rows: vec![None; rows], sectors_shift: page_sectors.trailing_zeros(), ahead }
    }

    /// True when anything is read ahead.
    #[inline]
    pub(crate) fn are_followed(&self) -> bool {
        self.ahead > 0
    }

    /// A read of `sectors` from `sector` on. The pages that should be read ahead of it; empty when it follows
    /// no row.
    pub(crate) fn read(&mut self, sector: u64, sectors: u32) -> Range<u64> {
        let place = self.place_of(sector);
        let before = self.rows[place].filter(|row| row.end == sector);
        let end = sector + u64::from(sectors);
        // The page that the read ends in belongs to it.
        let next = end.div_ceil(1 << self.sectors_shift);
        let mut row = Row { end, length: 0, ahead: next };
        let mut wanted = next..next;
        if let Some(before) = before {
            self.rows[place] = None;
            row.length = before.length.saturating_add(1);
            row.ahead = before.ahead.max(next);
            if row.length >= RUN {
                wanted = row.ahead..next + u64::from(self.ahead);
                row.ahead = row.ahead.max(wanted.end);
            }
        }
        let place = self.place_of(end);
        self.rows[place] = Some(row);
        wanted
    }

    /// Of the pages that should be read ahead of the row that ends at `end`, those from `page` on had no
    /// room.
    pub(crate) fn stopped(&mut self, end: u64, page: LogicalPage) {
        let place = self.place_of(end);
        if let Some(row) = self.rows[place].as_mut().filter(|row| row.end == end) {
            row.ahead = row.ahead.min(page.get());
        }
    }

    /// Multiplicative hashing (Knuth, volume 3, section 6.4) with the golden ratio.
    fn place_of(&self, sector: u64) -> usize {
        to_usize(sector.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.rows.len().ilog2()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams_ahead(ahead: u32) -> Streams {
        Streams::new(&CacheConfig { streams: 64, ahead, ..CacheConfig::OFF }, 8)
    }

    #[test]
    fn the_third_read_in_a_row_makes_a_stream() {
        let mut streams = streams_ahead(4);
        assert!(streams.read(80, 8).is_empty());
        assert!(streams.read(88, 8).is_empty());
        assert_eq!(streams.read(96, 8), 13..17);
        assert_eq!(streams.read(104, 8), 17..18, "one page further");
        assert_eq!(streams.read(112, 24), 18..21);
        assert!(streams.read(500, 8).is_empty(), "something else");
        assert_eq!(streams.read(136, 8), 21..22, "does not disturb it");
    }

    #[test]
    fn reads_of_a_part_of_a_page_are_a_stream_of_pages() {
        let mut streams = streams_ahead(2);
        let wanted: Vec<Range<u64>> = (0..6).map(|at| streams.read(at * 2, 2)).collect();
        assert_eq!(wanted[2], 1..3);
        assert!(wanted[3].is_empty());
        assert_eq!(wanted[4], 3..4, "the next page has begun");
    }

    #[test]
    fn what_had_no_room_is_wanted_again() {
        let mut streams = streams_ahead(4);
        for at in 0..2 {
            streams.read(at * 8, 8);
        }
        assert_eq!(streams.read(16, 8), 3..7);
        streams.stopped(24, LogicalPage::new(4));
        assert_eq!(streams.read(24, 8), 4..8);
    }
}
