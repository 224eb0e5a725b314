//! How long a drive lasts under the load of a run.

use serde::{Deserialize, Serialize};
use tailcut_ssd::{Figures, SsdConfig};

/// The lifetime of a drive that goes on as it was measured, with its wear level: it ends when its blocks
/// have seen the program and erase cycles that they are rated for (`device.timing.endurance`), counting
/// erases that were reset. Nothing is known of it where nothing was erased.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Erases that have worn blocks: those completed and those reset.
    pub worn: u64,
    /// Bytes that the host writes over it.
    pub bytes_written: Option<f64>,
    /// What that would be without write amplification and without resets: the limit.
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
        let g = &config.geometry;
        let cycles = g.block_count() as f64 * f64::from(config.timing.endurance);
        let worn = figures.worn();
        let written = figures.counts.host_pages_written as f64 * g.page_bytes as f64;
        let times = (worn > 0).then(|| cycles / worn as f64);
        let bytes_written = times.map(|times| times * written).filter(|bytes| *bytes > 0.0);
        Lifetime {
            worn,
            bytes_written,
            bytes_written_most: cycles * f64::from(g.pages) * g.page_bytes as f64,
            drive_writes_per_day: bytes_written.map(|bytes| bytes / capacity as f64 / DAYS),
            years: times.map(|times| times * seconds / YEAR_S),
        }
    }
}
