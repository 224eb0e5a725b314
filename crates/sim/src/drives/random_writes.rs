//! Random writes at a given rate, as SSD-iq measures drives.

use super::{Measurement, TestError, TestRun};
use crate::workload::{ArrivalPlan, Recipe, Source, Synthetic};
use tailcut_ssd::config::SsdConfig;

/// Requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestRate(pub u64);

/// The client of Haas et al., "SSD-iq", PVLDB 18 (2025): seven threads on a drive that is full and in steady state.
///
/// The first thread is the one whose latencies count: 10,000 requests a second at a constant pace, half of them reads.
/// The other six share the offered rate less 5,000, with exponential intervals; 99 % of their requests are writes. All
/// requests are of 4 KiB at uniformly random places of the whole drive. Each thread has a submission queue of its own and
/// at most 64 requests in flight: a request that comes due at that limit is issued when one of them completes, so that
/// threads that a drive cannot follow are a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomWrites {
    /// The offered rate, above 5,000: the writes of all threads together and 1 % more. The whole is 5,000 more, the
    /// reads of the first thread.
    pub offered: RequestRate,
}

impl RandomWrites {
    /// Runs the test on a drive like `device`. `is_over` is asked now and then whether to give up.
    ///
    /// # Errors
    /// See [`TestError`].
    pub fn run(
        &self,
        device: &SsdConfig,
        test: &TestRun,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        test.run(device, |sectors| self.threads(sectors, test.seed), MEASURED_THREADS, is_over)
    }

    /// Reads and writes per second of all threads on a drive that keeps up.
    pub fn demand(&self) -> (f64, f64) {
        let of_others = self.offered.0.saturating_sub(FIRST_RATE / 2) as f64;
        let others_read = f64::from(OTHERS_READ_PPM) / 1e6;
        let half = FIRST_RATE as f64 / 2.0;
        (half + of_others * others_read, half + of_others * (1.0 - others_read))
    }

    /// The threads on a drive of so many sectors.
    fn threads(&self, sectors: u64, seed: u64) -> Vec<Box<dyn Source>> {
        let first = Recipe {
            read_ppm: FIRST_READ_PPM,
            depth: DEPTH,
            arrivals: ArrivalPlan::Uniform { rate: FIRST_RATE },
            ..Recipe::new(sectors)
        };
        let of_others = self.offered.0.saturating_sub(FIRST_RATE / 2);
        let other = |number: u64| Recipe {
            read_ppm: OTHERS_READ_PPM,
            arrivals: ArrivalPlan::Poisson { rate: share(of_others, number) },
            ..first.clone()
        };
        let others = (0..OTHERS).filter(|&number| share(of_others, number) > 0).map(other);
        let recipes = std::iter::once(first.clone()).chain(others);
        let threads = (0..).zip(recipes).map(|(number, recipe): (u32, Recipe)| {
            let thread = Synthetic::new(&format!("thread {number}"), &recipe, seed);
            Box::new(thread.expect("a drive has room for 4 KiB")) as Box<dyn Source>
        });
        threads.collect()
    }
}

/// What the thread of that number takes of a rate: whole requests per second that add up to it.
fn share(rate: u64, number: u64) -> u64 {
    rate / OTHERS + u64::from(number < rate % OTHERS)
}

/// Requests per second of the first thread.
const FIRST_RATE: u64 = 10_000;
const FIRST_READ_PPM: u32 = 500_000;
/// Threads beside the first.
const OTHERS: u64 = 6;
const OTHERS_READ_PPM: u32 = 10_000;
/// The most requests that a thread has in flight.
const DEPTH: u32 = 64;
/// Threads whose latencies are measured: the first.
const MEASURED_THREADS: u32 = 1;
