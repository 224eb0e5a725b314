//! Write amplification in steady state, by pattern and fill.

use super::{Measurement, TestError, TestRun};
use tailcut_base::{Nanos, choice};
use tailcut_ssd::config::SsdConfig;
use tailcut_workload::address::Place;
use tailcut_workload::{Pace, Pattern, Recipe, Request, Source, Synthetic};

choice! {
    /// Where writes of 4 KiB go, for write amplification.
    pub enum WritePattern {
        /// Every page equally likely.
        Uniform = "uniform",
        /// Zipf over scattered pages, exponent 0.99.
        Zipf = "zipf" | "zipfian",
        /// One page after another, over and over.
        Sequential = "sequential" | "seq",
        /// 80 % of the writes to 20 % of the pages.
        HotCold = "hot-cold" | "80-20" | "80/20",
    }
}

/// Writes of 4 KiB, 128 in flight, to a share of the drive that is full of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amplification {
    /// The pattern by which writes choose their places.
    pub pattern: WritePattern,
    /// The share of the drive, from its beginning, that holds data and is written, in per cent.
    pub fill_percent: f64,
}

impl Amplification {
    /// Writes the region of a drive like `device` over until amplification is steady, then half of it again,
    /// and measures the latter. A drive is prepared as after uniform random writes, so that these need half a
    /// pass to become steady, and other patterns two. Of `test` only seed and client matter: time does not
    /// end this test.
    ///
    /// # Errors
    /// The configuration does not fit the test, the run fails, the drive becomes read-only, or `is_over`
    /// stops the test; see [`TestError`].
    #[expect(clippy::missing_panics_doc, reason = "the recipe is valid for any drive with room for 4 KiB")]
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        let fill_ppm = (self.fill_percent * 10_000.0).round() as u32;
        let threads = |sectors: u64| {
            let pages = (sectors * u64::from(fill_ppm) / 1_000_000 / PAGE_SECTORS).max(1);
            let half = (pages / 2).max(1);
            let settling = if self.pattern == WritePattern::Uniform { half } else { 2 * pages };
            let writes = |name: &str, requests| {
                let mut recipe = Recipe {
                    read_ppm: 0,
                    depth: DEPTH,
                    requests: Some(requests),
                    ..Recipe::new(pages * PAGE_SECTORS)
                };
                recipe.write.pattern = self.pattern.addresses();
                Synthetic::new(name, &recipe, test.seed).expect("a drive has room for 4 KiB")
            };
            let settling = Box::new(Settling(writes("settling", settling))) as Box<dyn Source>;
            vec![Box::new(writes("writes", half)), settling]
        };
        let endless = TestRun { fill_ppm, warm_up: Nanos::ZERO, measured: Nanos::ZERO, ..*test };
        endless.run(device, threads, 1, is_over)
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

/// Writes that come before the measurement.
struct Settling(Synthetic);

impl Source for Settling {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn pace(&self) -> Pace {
        self.0.pace()
    }
    fn next(&mut self) -> Option<Request> {
        self.0.next()
    }
    fn len_hint(&self) -> Option<u64> {
        self.0.len_hint()
    }
    fn prepares(&self) -> bool {
        true
    }
}

/// Sectors of 4 KiB.
const PAGE_SECTORS: u64 = 8;
/// SSD-iq prepares its drives at this depth.
const DEPTH: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    #[test]
    fn amplification_falls_with_fill_and_is_one_in_order() {
        let run = |pattern, fill_percent| {
            let load = Amplification { pattern, fill_percent };
            let found = load.run(&Preset::G.config(), &TestRun::default(), &|| false).expect("a run");
            found.write_amplification.expect("there are writes")
        };
        let [full, half] = [100.0, 50.0].map(|fill| run(WritePattern::Uniform, fill));
        assert!(full > half && half >= 1.0, "{full} {half}");
        let in_order = run(WritePattern::Sequential, 100.0);
        assert!((1.0..1.1).contains(&in_order), "{in_order}");
    }
}
