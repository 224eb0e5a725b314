//! A mix of random reads and writes at a given depth.

use super::{Measurement, TestError, TestRun};
use crate::workload::{Recipe, Source, Synthetic};
use tailcut_ssd::config::SsdConfig;

/// The client of Doekemeijer et al., CLUSTER 2023: fio with random requests of 4 KiB over the whole drive, a fixed number of
/// them in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Reads per hundred requests, 0 to 100.
    pub reads_percent: u32,
    /// Requests in flight, at least 1.
    pub depth: u32,
}

impl Mix {
    /// Runs the mix on a drive like `device`; latencies are those of all requests. `is_over` is asked now and then
    /// whether to give up.
    ///
    /// # Errors
    /// See [`TestError`].
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        let threads = |sectors| {
            let recipe =
                Recipe { read_ppm: self.reads_percent * 10_000, depth: self.depth, ..Recipe::new(sectors) };
            let thread = Synthetic::new("mix", &recipe, test.seed).expect("a drive has room for 4 KiB");
            vec![Box::new(thread) as Box<dyn Source>]
        };
        test.run(device, threads, 1, is_over)
    }
}
