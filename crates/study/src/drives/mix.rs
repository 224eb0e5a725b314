//! A mix of random reads and writes at a given depth.

use super::{Measurement, TestError, TestRun};
use tailcut_ssd::config::SsdConfig;
use tailcut_workload::{Recipe, Source, Synthetic};

/// The client of Doekemeijer et al., CLUSTER 2023: fio with random requests of 4 KiB over the whole drive, a
/// fixed number of them in flight, each of which is followed by the next after what the client costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Reads per hundred requests, 0 to 100.
    pub reads_percent: u32,
    /// Requests in flight, at least 1.
    pub depth: u32,
}

impl Mix {
    /// Runs the mix on a drive like `device`; latencies are of all requests. `is_over` is polled a few times
    /// per million requests; true stops the run.
    ///
    /// # Errors
    /// The configuration does not fit the test, the run fails, the drive becomes read-only, or `is_over`
    /// stops the test; see [`TestError`].
    ///
    /// # Panics
    /// If the mix has a depth of 0 or more than 100 % reads.
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        let threads = |sectors| {
            let recipe = Recipe {
                read_ppm: self.reads_percent * 10_000,
                depth: self.depth,
                think: test.client_cost + test.client_jitter,
                ..Recipe::new(sectors)
            };
            let thread = Synthetic::new("mix", &recipe, test.seed).expect("a drive has room for 4 KiB");
            vec![Box::new(thread) as Box<dyn Source>]
        };
        test.run(device, threads, 1, is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_ssd::Preset;

    #[test]
    fn a_mix_has_its_share_of_reads_and_its_depth() {
        let test = TestRun { warm_up: Nanos::millis(200), measured: Nanos::secs(1), ..TestRun::default() };
        let load = Mix { reads_percent: 90, depth: 4 };
        let found = load.run(&Preset::G.config(), &test, &|| false).expect("a run");
        let rate = found.reads_per_s + found.writes_per_s;
        assert!((found.reads_per_s / rate - 0.9).abs() < 0.02, "{found:?}");
        assert_eq!(found.reads.requests as f64, found.reads_per_s, "all requests are measured");
        let only_reads = Mix { reads_percent: 100, depth: 1 }.run(&Preset::G.config(), &test, &|| false);
        let only_reads = only_reads.expect("a run");
        assert_eq!((only_reads.writes.requests, only_reads.write_amplification), (0, None));
    }
}
