//! Write amplification in steady state, by pattern and fill.

use super::{Measurement, TestError, TestRun};
use crate::workload::address::Place;
use crate::workload::{Pattern, Recipe, Source, Synthetic};
use tailcut_base::choice;
use tailcut_ssd::config::SsdConfig;

choice! {
    /// Where writes of 4 KiB go, for write amplification.
    pub enum WritePattern {
        /// Every page equally likely.
        Uniform = "uniform",
        /// Zipf over scattered pages, exponent 0.99.
        Zipf = "zipf",
        /// One page after another, over and over.
        Sequential = "sequential",
        /// 80 % of the writes to 20 % of the pages.
        HotCold = "hot-cold" | "80-20",
    }
}

/// Writes of 4 KiB at a depth of 128 to a share of the drive that is full of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amplification {
    /// Where the writes go.
    pub pattern: WritePattern,
    /// The share of the drive, from its beginning, that holds data and is written, in per cent.
    pub fill_percent: f64,
}

impl Amplification {
    /// Lets the writes run on a drive like `device` until the measurement of `test` is over. A pattern other than the
    /// uniform one, for which drives are prepared, needs a warm-up of a few times the drive's size.
    ///
    /// # Errors
    /// See [`TestError`].
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        let fill_ppm = (self.fill_percent * 10_000.0).round() as u32;
        let threads = |sectors: u64| {
            let region = (sectors * u64::from(fill_ppm) / 1_000_000 / PAGE_SECTORS).max(1) * PAGE_SECTORS;
            let mut recipe = Recipe { read_ppm: 0, depth: DEPTH, ..Recipe::new(region) };
            recipe.write.pattern = self.pattern.addresses();
            let thread = Synthetic::new("writes", &recipe, test.seed).expect("a drive has room for 4 KiB");
            vec![Box::new(thread) as Box<dyn Source>]
        };
        TestRun { fill_ppm, ..*test }.run(device, threads, 1, is_over)
    }
}

impl WritePattern {
    fn addresses(self) -> Pattern {
        match self {
            WritePattern::Uniform => Pattern::Uniform,
            WritePattern::Zipf => Pattern::Zipf { theta: 0.99, place: Place::Scattered },
            WritePattern::Sequential => Pattern::Sequential,
            WritePattern::HotCold => Pattern::HotCold { space_ppm: 200_000, access_ppm: 800_000 },
        }
    }
}

/// Sectors of 4 KiB.
const PAGE_SECTORS: u64 = 8;
/// SSD-iq prepares its drives at this depth.
const DEPTH: u32 = 128;
