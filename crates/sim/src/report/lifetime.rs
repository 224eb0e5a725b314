//! How long a drive lasts under the load of a run.

use serde::{Deserialize, Serialize};
use tailcut_ssd::{Figures, SsdConfig};

/// The lifetime of a drive under the measured load, with its wear level: it ends when its blocks have seen
/// the program and erase cycles that they are rated for (`device.timing.endurance`), counting erases that
/// were reset. Each block that is filled will have to be erased: a drive that begins with erased blocks
/// erases fewer than it fills at first, and is charged for those that it fills. Unknown where nothing was
/// erased.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Erases that have worn blocks: those completed and those reset.
    pub worn: u64,
    /// Bytes that the host writes over it.
    pub bytes_written: Option<f64>,
    /// What that would be without write amplification and without resets, if the buffer saved no more
    /// programs than it did: the limit.
    pub bytes_written_most: f64,
    /// Writes of the drive's capacity per day, over five years (JESD218's usual term).
    pub drive_writes_per_day: Option<f64>,
    /// Its length in years at the measured rate.
    pub years: Option<f64>,
}

const DAYS: f64 = 365.0 * 5.0;
const YEAR_S: f64 = 365.25 * 86_400.0;

impl Lifetime {
    /// What `figures`, measured over `seconds`, mean for a drive of `capacity` bytes.
    pub(super) fn new(config: &SsdConfig, figures: &Figures, capacity: u64, seconds: f64) -> Lifetime {
        let (g, counts) = (&config.geometry, &figures.counts);
        let cycles = g.block_count() as f64 * f64::from(config.timing.endurance);
        let worn = figures.worn();
        // Pages of the host that a program has taken or will take: all but those that were replaced in the
        // buffer.
        let host_pages = counts.host_pages_written;
        let stored = host_pages.saturating_sub(figures.buffer_write_hits).max(counts.programmed_user);
        let filled = (stored + counts.programmed_gc) as f64 / f64::from(g.pages);
        let charged = (counts.erases as f64).max(filled) + (worn - counts.erases) as f64;
        let times = (worn > 0).then(|| cycles / charged);
        let page_bytes = g.page_bytes as f64;
        let written = host_pages as f64 * page_bytes;
        let bytes_written = times.map(|times| times * written).filter(|bytes| *bytes > 0.0);
        let spared = if stored > 0 { host_pages as f64 / stored as f64 } else { 1.0 };
        Lifetime {
            worn,
            bytes_written,
            bytes_written_most: cycles * f64::from(g.pages) * page_bytes * spared.max(1.0),
            drive_writes_per_day: bytes_written.map(|bytes| bytes / capacity as f64 / DAYS),
            years: times.map(|times| times * seconds / YEAR_S),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    fn life(erases: u64, blocks_filled: u64, write_hits: u64) -> Lifetime {
        let config = Preset::G.config();
        let mut figures = Figures { buffer_write_hits: write_hits, ..Figures::default() };
        let programmed = blocks_filled * u64::from(config.geometry.pages);
        let counts = &mut figures.counts;
        (counts.erases, counts.programmed_user) = (erases, programmed);
        counts.host_pages_written = programmed + write_hits;
        Lifetime::new(&config, &figures, 1 << 30, 1.0)
    }

    #[test]
    fn erased_blocks_that_are_used_up_do_not_lengthen_a_life() {
        let steady = life(100, 100, 0);
        assert_eq!(steady.bytes_written, Some(steady.bytes_written_most));
        assert_eq!(life(3, 100, 0), Lifetime { worn: 3, ..steady }, "97 blocks have to be erased later");
        assert!(life(120, 100, 0).years < steady.years);
        assert_eq!(life(0, 100, 0).years, None);
    }

    #[test]
    fn writes_that_the_buffer_absorbs_wear_nothing() {
        let (without, with) = (life(100, 100, 0), life(100, 100, 6400));
        assert_eq!(with.bytes_written, without.bytes_written.map(|bytes| bytes * 2.0));
        assert_eq!(with.bytes_written, Some(with.bytes_written_most));
    }
}
