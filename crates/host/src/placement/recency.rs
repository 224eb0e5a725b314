//! How long ago each part of a device was last written, in bounded memory.

use tailcut_base::cast::{low_u32, to_usize};
use tailcut_base::device::BLOCK_SECTORS;

/// The last write of every region of a device. Regions are blocks of 4 KiB, or longer on devices with more
/// than [`REGIONS_MAX`] blocks.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    sectors: u64,
    /// Binary logarithm of the sectors of a region.
    region: u32,
    /// For each region, [`Recency::clock`] of its last write; 0 before the first.
    last: Vec<u32>,
    /// Sectors written so far.
    written: u64,
}

impl Recency {
    /// A device of `sectors` sectors that nothing was written to.
    pub(super) fn new(sectors: u64) -> Recency {
        let least = sectors.div_ceil(REGIONS_MAX).max(BLOCK_SECTORS);
        let region = least.next_power_of_two().ilog2();
        let regions = to_usize(sectors.div_ceil(1 << region));
        Recency { sectors, region, last: vec![0; regions], written: 0 }
    }

    /// Sectors of the device.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Time in units of [`TICK_SECTORS`] written, never 0. It wraps after 16 TiB; a region that was left
    /// alone for as long seems young once.
    fn clock(&self) -> u32 {
        low_u32(self.written / TICK_SECTORS).max(1)
    }

    /// About how many sectors have been written to the device since the data at `sector`, which a write of
    /// `count` sectors replaces; None if it was never written. A write of a part of a region replaces the
    /// rest of it as often.
    pub(super) fn age(&self, sector: u64, count: u32) -> Option<u64> {
        let last = self.last.get(to_usize(sector >> self.region)).copied().filter(|&last| last > 0)?;
        let ticks = u64::from(self.clock().wrapping_sub(last));
        let parts = (1 << self.region) / u64::from(count).max(1);
        Some(ticks * TICK_SECTORS * parts.max(1))
    }

    /// `count` sectors were written at `sector`.
    pub(super) fn record(&mut self, sector: u64, count: u32) {
        self.written += u64::from(count);
        let (clock, last) = (self.clock(), (sector + u64::from(count)).saturating_sub(1));
        let regions = to_usize(sector >> self.region)..to_usize((last >> self.region) + 1);
        let end = regions.end.min(self.last.len());
        self.last[regions.start.min(end)..end].fill(clock);
    }
}

/// The most regions: 16 MiB of memory.
const REGIONS_MAX: u64 = 1 << 22;
/// Sectors in a tick of the clock.
const TICK_SECTORS: u64 = BLOCK_SECTORS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_what_was_written_since() {
        let mut recency = Recency::new(1 << 20);
        assert_eq!(recency.age(0, 8), None);
        recency.record(0, 8);
        recency.record(4096, 80);
        recency.record(8192, 8);
        assert_eq!((recency.age(0, 8), recency.age(8, 8), recency.age(8192, 8)), (Some(88), None, Some(0)));
        // The end of the device, and what lies behind it.
        recency.record((1 << 20) - 8, 64);
        assert_eq!((recency.age((1 << 20) - 8, 8), recency.age(1 << 30, 8)), (Some(0), None));
    }

    #[test]
    fn a_large_device_takes_no_more_memory() {
        let mut recency = Recency::new(1 << 40);
        assert_eq!((recency.last.len(), recency.region), (1 << 22, 18));
        recency.record(0, 8);
        recency.record(1 << 30, 8);
        // One of 32,768 blocks of the region was written since.
        assert_eq!(recency.age(64, 8), Some(8 << 15));
    }
}
