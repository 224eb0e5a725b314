//! A load on a drive: mix, placement, and concurrency of I/Os.

use tailcut_base::cast::to_u32;
use tailcut_base::device::BLOCK_SECTORS;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, SECTOR_BYTES};

/// A load on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Percentage of reads, 0 to 100; the others are writes.
    pub reads: u8,
    /// Maximum number of concurrent I/Os; at least 1.
    pub depth: u32,
    /// Size of the I/Os, or the mix of their sizes.
    pub sizes: Sizes,
    /// Whether I/Os go to random or to consecutive places.
    pub order: Order,
    /// Time between the starts of two I/Os; zero for as fast as the depth permits.
    pub gap: Nanos,
}

/// Sizes of I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// A single size in sectors of 512 bytes, at least 1.
    One(u32),
    /// A mix of sizes: percentage of I/Os, and size in sectors.
    Mixed(&'static [(u8, u32)]),
}

/// Placement of the next I/O. Regions are counted in blocks of 4 KiB, at which I/Os begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Anywhere in the region; with a single size, aligned to it.
    Random,
    /// Sequential from the first block of the region, repeatedly.
    Sequential,
    /// Sequential from the end of the previous load of this kind.
    Onward,
    /// Random within consecutive zones: percentage of I/Os, and percentage of the region.
    Zones(&'static [(u8, u8)]),
}

impl Load {
    /// Random reads, or writes, of one block of 4 KiB, `depth` at a time.
    pub fn random(op: Op, depth: u32) -> Load {
        let reads = if op == Op::Read { 100 } else { 0 };
        Load {
            reads,
            depth,
            sizes: Sizes::One(to_u32(BLOCK_SECTORS)),
            order: Order::Random,
            gap: Nanos::ZERO,
        }
    }

    /// This load with I/Os of `blocks` blocks of 4 KiB each.
    pub fn of_blocks(self, blocks: u32) -> Load {
        Load { sizes: Sizes::One(blocks * to_u32(BLOCK_SECTORS)), ..self }
    }

    /// True if the load includes writes.
    pub fn has_writes(&self) -> bool {
        self.reads < 100
    }

    /// Draws the operation of the next I/O. A load without a choice draws no random number.
    pub fn draw_op(&self, random: &mut Stream) -> Op {
        match self.reads {
            0 => Op::Write,
            100 => Op::Read,
            reads if random.below(100) < u64::from(reads) => Op::Read,
            _ => Op::Write,
        }
    }
}

impl Sizes {
    /// Draws the size of the next I/O in sectors. Sizes without a choice draw no random number.
    pub fn draw(self, random: &mut Stream) -> u32 {
        match self {
            Sizes::One(sectors) => sectors,
            Sizes::Mixed(sizes) => weighted(sizes.iter().copied(), random),
        }
    }

    /// Size of the longest I/O in bytes.
    ///
    /// # Panics
    /// If the load mixes no sizes at all.
    pub fn most_bytes(self) -> u64 {
        let sectors = match self {
            Sizes::One(sectors) => sectors,
            Sizes::Mixed(sizes) => sizes.iter().map(|&(_, sectors)| sectors).max().expect("there are some"),
        };
        u64::from(sectors) * SECTOR_BYTES
    }
}

/// Draws the first block of an I/O in the zones of a region of `region` blocks. The I/O may reach beyond its
/// zone, and at the end beyond the region.
pub fn zoned(zones: &[(u8, u8)], region: u64, random: &mut Stream) -> u64 {
    let mut begins = 0;
    let with_begins = zones.iter().map(|&(share, width)| {
        let zone = (begins, u64::from(width));
        begins += u64::from(width);
        (share, zone)
    });
    let (begin, width) = weighted(with_begins, random);
    // Rounded down: a zone of a small region may be shorter by a block than its share.
    let (first, end) = (region * begin / 100, region * (begin + width) / 100);
    first + random.below((end - first).max(1))
}

/// Draws one of several values, each with its percentage.
fn weighted<T>(of: impl Iterator<Item = (u8, T)>, random: &mut Stream) -> T {
    let mut left = random.below(100);
    for (share, value) in of {
        if left < u64::from(share) {
            return value;
        }
        left -= u64::from(share);
    }
    unreachable!("shares add up to a hundred")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn share(count: usize) -> f64 {
        count as f64 / f64::from(DRAWS)
    }

    #[test]
    fn a_mix_has_its_shares() {
        let mut random = Stream::new(1, "load");
        let load = Load { reads: 65, ..Load::random(Op::Read, 1) };
        let reads = (0..DRAWS).filter(|_| load.draw_op(&mut random) == Op::Read).count();
        assert!((share(reads) - 0.65).abs() < 0.01, "{reads}");
        let sizes = Sizes::Mixed(&[(10, 1), (90, 8)]);
        let small = (0..DRAWS).filter(|_| sizes.draw(&mut random) == 1).count();
        assert!((share(small) - 0.1).abs() < 0.01 && sizes.most_bytes() == 4096, "{small}");
    }

    #[test]
    fn what_has_no_choice_draws_nothing() {
        let (mut random, mut same) = (Stream::new(1, "load"), Stream::new(1, "load"));
        for op in [Op::Read, Op::Write] {
            assert_eq!(Load::random(op, 1).draw_op(&mut random), op);
        }
        assert_eq!(Sizes::One(9).draw(&mut random), 9);
        assert_eq!(random.bits(), same.bits());
    }

    #[test]
    fn zones_have_their_shares_and_stay_within_the_region() {
        let (zones, mut random) = ([(50, 5), (30, 15), (20, 80)], Stream::new(1, "load"));
        let places: Vec<u64> = (0..DRAWS).map(|_| zoned(&zones, 1000, &mut random)).collect();
        let within = |from: u64, to: u64| share(places.iter().filter(|&&at| at >= from && at < to).count());
        assert!((within(0, 50) - 0.5).abs() < 0.01);
        assert!((within(50, 200) - 0.3).abs() < 0.01);
        assert!((within(200, 1000) - 0.2).abs() < 0.01);
        assert!(places.iter().all(|&at| at < 1000));
        assert_eq!(zoned(&zones, 1, &mut random), 0, "the smallest region");
    }
}
