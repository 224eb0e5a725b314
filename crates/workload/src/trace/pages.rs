//! Which 4 KiB pages a load touches, and how often again.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::Serialize;
use tailcut_base::random::mix64;

/// The pages (4 KiB) that reads and writes touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Distinct pages of 4 KiB that a read or a write touched.
    pub pages: u64,
    /// Distinct pages of 4 KiB that a read touched.
    pub read_pages: u64,
    /// Distinct pages of 4 KiB that a write touched.
    pub written_pages: u64,
    /// Touches: pages of all requests, counted each time.
    pub touches: u64,
    /// Pages of all reads, counted each time.
    pub page_reads: u64,
    /// Pages of all writes, counted each time.
    page_writes: u64,
    /// Touches of a page that had been touched before.
    reuses: u64,
    /// Writes of a page that had been written before.
    pub overwrites: u64,
    /// Reads of a page that the trace had written before.
    pub reads_of_written: u64,
    /// One page in this many was followed; 1 when all were, and all figures are exact. Otherwise they are
    /// estimates from a sample of at least two million pages, chosen by a hash of their address
    /// (Waldspurger et al., "SHARDS", FAST 2015).
    pub sampling: u64,
}

impl Footprint {
    /// The size of a page in bytes.
    pub const PAGE_BYTES: u64 = 4096;

    /// How often a written page was written on average.
    pub fn writes_per_written_page(&self) -> f64 {
        share(self.page_writes, self.written_pages)
    }

    /// The share of page writes that overwrote what the trace had written before, 0 … 1.
    pub fn overwrite_share(&self) -> f64 {
        share(self.overwrites, self.page_writes)
    }

    /// The share of touches that came to a page touched before, 0 … 1.
    pub fn reuse_share(&self) -> f64 {
        share(self.reuses, self.touches)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Follows pages in bounded memory: about 140 MB at most.
pub(super) struct PageMeter {
    seen: HashMap<u64, Page, FixedState>,
    most: usize,
    /// A page is followed when that many low bits of its hash are zero.
    sample_bits: u32,
    footprint: Footprint,
    /// Distinct pages in each window of time.
    windows: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Page {
    read: bool,
    written: bool,
    /// The last window that it was touched in, from 1; 0 for none.
    window: u8,
}

impl PageMeter {
    /// The most pages that are followed one by one.
    pub(super) const MOST: usize = 1 << 22;

    pub(super) fn new(windows: u8, most: usize) -> PageMeter {
        PageMeter {
            seen: HashMap::with_hasher(FixedState::default()),
            most,
            sample_bits: 0,
            footprint: Footprint::default(),
            windows: vec![0; usize::from(windows)],
        }
    }

    /// Counts a read or write of pages `first ..= last` (in one numbering for all disks) in
    /// window `window` of time.
    pub(super) fn touch(&mut self, first: u64, last: u64, is_read: bool, window: u8) {
        for page in first..=last {
            if self.sample_bits == 0 || self.is_sampled(page) {
                self.touch_page(page, is_read, window);
            }
        }
    }

    pub(super) fn footprint(&self) -> Footprint {
        Footprint { sampling: 1 << self.sample_bits, ..self.footprint }
    }

    /// Distinct pages of each window.
    pub(super) fn windows(&self) -> &[u64] {
        &self.windows
    }

    fn is_sampled(&self, page: u64) -> bool {
        mix64(page).trailing_zeros() >= self.sample_bits
    }

    fn touch_page(&mut self, number: u64, is_read: bool, window: u8) {
        let weight = 1 << self.sample_bits;
        let count = |condition: bool| if condition { weight } else { 0 };
        let page = self.seen.entry(number).or_default();
        let f = &mut self.footprint;
        let is_new = !page.read && !page.written;
        f.touches += weight;
        f.pages += count(is_new);
        f.reuses += count(!is_new);
        f.page_reads += count(is_read);
        f.page_writes += count(!is_read);
        f.read_pages += count(is_read && !page.read);
        f.written_pages += count(!is_read && !page.written);
        f.overwrites += count(!is_read && page.written);
        f.reads_of_written += count(is_read && page.written);
        page.read |= is_read;
        page.written |= !is_read;
        if page.window != window + 1 {
            page.window = window + 1;
            self.windows[usize::from(window)] += weight;
        }
        if is_new && self.seen.len() > self.most {
            self.thin_out();
        }
    }

    /// Continues with half of the pages, each counting twice as much from now on.
    #[cold]
    fn thin_out(&mut self) {
        self.sample_bits += 1;
        let bits = self.sample_bits;
        self.seen.retain(|&page, _| mix64(page).trailing_zeros() >= bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    #[test]
    fn overwrites_and_reuse_are_counted_by_page() {
        let mut meter = PageMeter::new(2, 100);
        meter.touch(0, 3, false, 0);
        meter.touch(2, 5, false, 0);
        meter.touch(5, 6, true, 1);
        let f = meter.footprint();
        assert_eq!((f.pages, f.written_pages, f.read_pages), (7, 6, 2));
        assert_eq!((f.page_writes, f.overwrites, f.reads_of_written), (8, 2, 1));
        assert_eq!((f.touches, f.reuses, f.sampling), (10, 3, 1));
        assert_eq!(meter.windows(), [6, 2]);
    }

    #[test]
    fn a_sample_comes_close_to_the_whole() {
        let mut random = Stream::new(1, "pages");
        let (mut whole, mut sample) = (PageMeter::new(1, usize::MAX), PageMeter::new(1, 5_000));
        for _ in 0..200_000 {
            let (page, is_read) = (random.below(60_000), random.chance_ppm(500_000));
            whole.touch(page, page, is_read, 0);
            sample.touch(page, page, is_read, 0);
        }
        let (whole, sample) = (whole.footprint(), sample.footprint());
        assert!(sample.sampling >= 8);
        for (exact, estimate) in [
            (whole.pages, sample.pages),
            (whole.written_pages, sample.written_pages),
            (whole.touches, sample.touches),
            (whole.overwrites, sample.overwrites),
        ] {
            let error = (estimate as f64 - exact as f64).abs() / exact as f64;
            assert!(error < 0.1, "{exact} estimated as {estimate}");
        }
    }
}
