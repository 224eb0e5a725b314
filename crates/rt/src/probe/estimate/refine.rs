//! Finds channels and chips by search: their utilization depends on how requests collide, which no formula
//! captures.

use super::{Estimate, Provenance};
use crate::probe::Unwatched;
use crate::probe::bench::Load;
use crate::probe::check;
use crate::probe::measured::Measured;
use crate::probe::plan::MeasurementLimits;
use tailcut_base::Nanos;

/// Factors to try, relative to the formulas: of the number of channels, and of the total number of chips.
const CHANNELS: [f64; 4] = [1.0, 1.5, 2.0, 3.0];
const CHIPS: [f64; 3] = [1.0, 1.3, 1.7];

/// Effort per candidate: rates are accurate to a few percent.
const EFFORT: MeasurementLimits = MeasurementLimits {
    point: Nanos::secs(1),
    ios: 1000,
    bytes: 32 << 20,
    fill: Nanos::ZERO,
    fill_bytes: 0,
    overwrite: Nanos::ZERO,
    unsteady: 0,
};

/// Maximum number of 4 KiB blocks of a candidate drive.
const MOST_BLOCKS: u64 = 1 << 18;

impl Estimate {
    /// Simulates the reads of candidate drives with more channels and chips, and keeps the one whose rates
    /// are nearest to the measured ones (the least sum of squared logarithms of their ratios). The formulas
    /// assume that channels and chips are always busy where they limit the drive, and so find too few.
    pub(super) fn refine(&mut self, measured: &Measured) {
        let (channels, units) = (f64::from(self.config.geometry.channels), self.unit_count());
        let ways = CHANNELS.iter().flat_map(|&c| CHIPS.iter().map(move |&u| (channels * c, units * u)));
        let mut tried: Vec<Estimate> = Vec::new();
        for (channels, units) in ways {
            let way = self.divided(channels, units);
            if !tried.iter().any(|other| other.config.geometry == way.config.geometry) {
                tried.push(way);
            }
        }
        let count = tried.len();
        let off = |way: &Estimate| distance(way, measured);
        let nearest = tried.into_iter().map(|way| (off(&way), way)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, nearest)) = nearest else { return };
        let found = &nearest.config.geometry;
        (self.config.geometry.channels, self.config.geometry.chips) = (found.channels, found.chips);
        let before = self.origins.iter().find(|origin| origin.key == "geometry.chips");
        let why = before.map_or(String::new(), |origin| origin.why.clone());
        self.is(
            "geometry.channels",
            Provenance::Derived,
            format!("of {count} ways to divide the drive, all simulated, the one whose reads came nearest"),
        );
        self.is(
            "geometry.chips",
            Provenance::Derived,
            format!("the same, beginning at {units:.0} in all, {why}"),
        );
    }

    /// The drive with other numbers of channels and chips, and just enough capacity to try it.
    fn divided(&self, channels: f64, units: f64) -> Estimate {
        let mut way = self.clone();
        let channels = channels.round().clamp(1.0, 256.0);
        way.config.geometry.channels = channels as u32;
        way.config.geometry.chips = (units / channels).round().clamp(1.0, 256.0) as u32;
        way.capacity(self.blocks.min(MOST_BLOCKS));
        way
    }
}

fn distance(way: &Estimate, measured: &Measured) -> f64 {
    let simulated = check::reads(way, EFFORT, &Unwatched);
    let of = |probe: &Measured| -> Vec<(Load, f64)> {
        let all = probe.reads.iter().chain(&probe.large_reads).chain(&probe.sequential_read);
        all.map(|tally| (tally.load, tally.unhurt_rate())).filter(|(_, rate)| *rate > 0.0).collect()
    };
    let (measured, simulated) = (of(measured), of(&simulated));
    let same = |load: Load| simulated.iter().find(|other| other.0 == load).map(|other| other.1);
    let ratios = measured.iter().filter_map(|&(load, rate)| Some(same(load)? / rate));
    ratios.map(|ratio| ratio.ln().powi(2)).sum()
}
