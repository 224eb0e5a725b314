//! What a drive is put under: one of the tests that published measurements have.

use super::{Amplification, Measurement, Mix, RandomWrites, TestError, TestRun};
use std::fmt;
use tailcut_ssd::config::SsdConfig;

/// A test of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Random writes at a given rate.
    RandomWrites(RandomWrites),
    /// A mix of reads and writes at a given depth.
    Mix(Mix),
    /// Writes until write amplification is steady.
    Amplification(Amplification),
}

impl Load {
    /// Runs the test on a drive like `device`. `is_over` is polled a few times per million requests; true
    /// stops the run.
    ///
    /// # Errors
    /// The configuration does not fit the test, the run fails, the drive becomes read-only, or `is_over`
    /// stops the test; see [`TestError`].
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        match self {
            Load::RandomWrites(load) => load.run(device, test, is_over),
            Load::Mix(load) => load.run(device, test, is_over),
            Load::Amplification(load) => load.run(device, test, is_over),
        }
    }
}

/// Its parameters as a file of points has them: `70000`, `50 16` (reads in per cent, depth), `uniform 100`
/// (fill in per cent).
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::RandomWrites(load) => write!(f, "{}", load.offered.0),
            Load::Mix(load) => write!(f, "{} {}", load.reads_percent, load.depth),
            Load::Amplification(load) => write!(f, "{} {}", load.pattern, load.fill_percent),
        }
    }
}
