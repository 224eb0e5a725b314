//! Measures of a stream of requests that stand beside a row of Sprinkler's table 1 (Jung and
//! Kandemir, HPCA 2014): how many reads and writes, how much, how random, and how well their
//! pages fit together into flash transactions.

mod chip_layout;
mod locality;

pub use chip_layout::{ChipId, ChipLayout, PagePlace};
pub use locality::{Locality, LocalityMeter};

use crate::{Request, Source};
use serde::Serialize;
use tailcut_base::{Op, SECTOR_BYTES};

/// The measures of a stream. Trims and flushes count nowhere, as in the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Characterization {
    /// Number, bytes and randomness of the reads.
    pub reads: KindCensus,
    /// Number, bytes and randomness of the writes.
    pub writes: KindCensus,
    /// How well the pages of reads and of writes fit into transactions.
    pub locality: Locality,
}

/// The measures of the reads, or of the writes, of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindCensus {
    /// Number of requests of this kind.
    pub requests: u64,
    /// Bytes that the requests of this kind read or wrote.
    pub bytes: u64,
    /// Those that do not start at the byte where the last one of their kind on their disk ended;
    /// the first of a disk is one of them.
    pub random: u64,
}

impl KindCensus {
    /// The mean size in bytes; 0 when there is no request.
    pub fn mean_bytes(&self) -> f64 {
        ratio(self.bytes, self.requests)
    }

    /// The share of random requests, 0 … 1: table 1's randomness.
    pub fn random_share(&self) -> f64 {
        ratio(self.random, self.requests)
    }
}

impl Characterization {
    /// The characterization of requests to one device.
    pub fn of(requests: impl IntoIterator<Item = Request>) -> Characterization {
        let mut meter = CensusMeter::new(&[0]);
        for request in requests {
            meter.count(
                request.op,
                0,
                request.sector * SECTOR_BYTES,
                u64::from(request.sectors) * SECTOR_BYTES,
            );
        }
        meter.finish()
    }

    /// The characterization of the next `count` requests of a source.
    pub fn of_source(source: &mut dyn Source, count: usize) -> Characterization {
        Characterization::of(std::iter::from_fn(|| source.next()).take(count))
    }

    /// The share of reads among reads and writes, 0 … 1.
    pub fn read_share(&self) -> f64 {
        ratio(self.reads.requests, self.reads.requests + self.writes.requests)
    }
}

/// Takes a [`Characterization`], one request at a time. Allocates nothing per request.
#[derive(Clone, Debug)]
pub struct CensusMeter {
    reads: KindCensus,
    writes: KindCensus,
    disks: Vec<Disk>,
    layout: ChipLayout,
    /// Reads and writes do not share transactions.
    locality: [LocalityMeter; 2],
}

/// Where the requests to a disk are.
#[derive(Clone, Copy, Debug)]
struct Disk {
    /// Its first page on the drive that transactions are counted on.
    first_page: u64,
    /// Where its last read and its last write ended, in bytes.
    ends: [u64; 2],
}

impl CensusMeter {
    /// A meter for disks of these sizes in bytes; the size of the last one does not matter. They
    /// lie one behind the other, each from the first chip on, on the layout that transactions are
    /// counted on: that of the paper's drive, [`ChipLayout::sprinkler`].
    pub fn new(disks: &[u64]) -> CensusMeter {
        let layout = ChipLayout::sprinkler();
        let stripe = layout.stripe_pages();
        let mut first_page = 0u64;
        let place = |&bytes: &u64| {
            let pages = bytes.div_ceil(layout.page_bytes()).div_ceil(stripe).saturating_mul(stripe);
            // Only a hostile trace wraps around here; its disks may then coincide.
            let next = first_page.wrapping_add(pages);
            Disk { first_page: std::mem::replace(&mut first_page, next), ends: [NOWHERE; 2] }
        };
        CensusMeter {
            reads: KindCensus::default(),
            writes: KindCensus::default(),
            disks: disks.iter().map(place).collect(),
            locality: [(); 2].map(|()| LocalityMeter::new(&layout)),
            layout,
        }
    }

    /// Counts a request for `len` bytes from byte `offset` of a disk, by its place in the list that
    /// the meter was made for. Ignored unless it reads or writes at least one byte.
    pub fn count(&mut self, op: Op, disk: usize, offset: u64, len: u64) {
        let (kind, at) = match op {
            Op::Read => (&mut self.reads, 0),
            Op::Write => (&mut self.writes, 1),
            Op::Trim | Op::Flush => return,
        };
        if len == 0 {
            return;
        }
        let disk = &mut self.disks[disk];
        let end = offset + len;
        kind.requests += 1;
        kind.bytes += len;
        kind.random += u64::from(std::mem::replace(&mut disk.ends[at], end) != offset);
        let page_bytes = self.layout.page_bytes();
        for page in offset / page_bytes..=(end - 1) / page_bytes {
            self.locality[at].count(self.layout.place_of(disk.first_page.wrapping_add(page)));
        }
    }

    /// What was counted. The windows that are open are counted as they are.
    pub fn finish(self) -> Characterization {
        let [reads, writes] = self.locality.map(LocalityMeter::finish);
        Characterization { reads: self.reads, writes: self.writes, locality: reads + writes }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// No request begins there: it would have to end beyond the last byte.
const NOWHERE: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn characterization(requests: &[(Op, usize, u64, u64)]) -> Characterization {
        let mut meter = CensusMeter::new(&[1 << 20, 0]);
        requests.iter().for_each(|&(op, disk, offset, len)| meter.count(op, disk, offset, len));
        meter.finish()
    }

    #[test]
    fn a_request_is_sequential_where_the_last_of_its_kind_on_its_disk_ended() {
        let (read, write) = (Op::Read, Op::Write);
        let characterization = characterization(&[
            (read, 0, 0, 4096),
            (write, 0, 4096, 512), // Behind a read: random.
            (read, 1, 4096, 4096), // Another disk: random.
            (read, 0, 4096, 1024),
            (write, 0, 4608, 512),
            (Op::Trim, 0, 0, 1 << 20),
            (read, 0, 4096, 1024), // The same again: random.
        ]);
        assert_eq!(characterization.reads, KindCensus { requests: 4, bytes: 10_240, random: 3 });
        assert_eq!(characterization.writes, KindCensus { requests: 2, bytes: 1024, random: 1 });
        assert_eq!(
            (characterization.reads.mean_bytes(), characterization.reads.random_share()),
            (2560.0, 0.75)
        );
        assert_eq!(characterization.read_share(), 4.0 / 6.0);
        assert_eq!(characterization.locality.pages, 2 + 2 + 1 + 1 + 2, "every touched page counts each time");
    }

    #[test]
    fn reads_and_writes_do_not_share_planes() {
        let plane = 128 * 2048;
        let reads = [(Op::Read, 0, 0, 2048), (Op::Read, 0, plane, 2048)];
        assert_eq!(characterization(&reads).locality.plane_shared, 2);
        let mixed = [(Op::Read, 0, 0, 2048), (Op::Write, 0, plane, 2048)];
        assert_eq!(
            characterization(&mixed).locality,
            Locality { pages: 2, transactions: 2, plane_shared: 0 }
        );
    }
}
