//! Random writes at a given rate, as SSD-iq measures drives.

use super::{Measurement, TestError, TestRun};
use tailcut_ssd::config::SsdConfig;
use tailcut_workload::{ArrivalPlan, Recipe, Source, Synthetic};

/// Requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestRate(pub u64);

/// The client of Haas et al., "SSD-iq", PVLDB 18 (2025): seven threads on a drive that is full and in steady
/// state.
///
/// The first thread is the one whose latencies count: 10,000 requests a second at a constant pace, half of
/// them reads. The other six share the offered rate less 5,000, with exponential intervals; 99 % of their
/// requests are writes. All requests are of 4 KiB at uniformly random places of the whole drive. Each thread
/// has a submission queue of its own and at most 64 requests in flight: a request that comes due at that
/// limit is issued when one of them completes, so that threads that a drive cannot follow are a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomWrites {
    /// The offered rate, above 5,000: the writes of all threads together and 1 % more. The whole is 5,000
    /// more, the reads of the first thread.
    pub offered: RequestRate,
}

impl RandomWrites {
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
        test.run(device, |sectors| self.threads(sectors, test), MEASURED_THREADS, is_over)
    }

    /// Reads and writes per second of all threads on a drive that keeps up.
    pub fn demand(&self) -> (f64, f64) {
        let of_others = self.offered.0.saturating_sub(FIRST_RATE / 2) as f64;
        let others_read = f64::from(OTHERS_READ_PPM) / 1e6;
        let half = FIRST_RATE as f64 / 2.0;
        (half + of_others * others_read, half + of_others * (1.0 - others_read))
    }

    /// The threads on a drive of `sectors`.
    fn threads(&self, sectors: u64, test: &TestRun) -> Vec<Box<dyn Source>> {
        let first = Recipe {
            read_ppm: FIRST_READ_PPM,
            depth: DEPTH,
            arrivals: ArrivalPlan::Uniform { rate: FIRST_RATE },
            ..Recipe::new(sectors)
        };
        let rates = shares(RequestRate(self.offered.0.saturating_sub(FIRST_RATE / 2)));
        let other = |rate| Recipe {
            read_ppm: OTHERS_READ_PPM,
            arrivals: ArrivalPlan::Poisson { rate },
            ..first.clone()
        };
        let others = rates.filter(|&rate| rate > 0).map(other);
        let recipes = std::iter::once(first.clone()).chain(others);
        let threads = (0..).zip(recipes).map(|(number, recipe): (u32, Recipe)| {
            let thread = Synthetic::new(&format!("thread {number}"), &recipe, test.seed);
            Box::new(thread.expect("a drive has room for 4 KiB")) as Box<dyn Source>
        });
        threads.collect()
    }
}

/// What each of the other threads takes of a rate: whole requests per second that add up to it.
fn shares(rate: RequestRate) -> impl Iterator<Item = u64> {
    (0..OTHERS).map(move |number| rate.0 / OTHERS + u64::from(number < rate.0 % OTHERS))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::MEDIAN;
    use tailcut_base::config::Choice;
    use tailcut_base::{Nanos, Op};
    use tailcut_sim::keys::{self, KeyValue};
    use tailcut_ssd::Preset;

    fn client(offered: u64) -> RandomWrites {
        RandomWrites { offered: RequestRate(offered) }
    }

    /// A small drive whose flash takes so long for a program.
    fn drive(program: &str) -> SsdConfig {
        let mut device = Preset::G.config();
        let values = [("timing.program", program), ("timing.read", "5us"), ("timing.erase", "100us")];
        keys::set(&mut device, &values.map(|(key, text)| (key, KeyValue::Text(text)))).expect("keys");
        device
    }

    fn brief(seed: u64) -> TestRun {
        TestRun { warm_up: Nanos::millis(200), measured: Nanos::secs(1), seed, ..TestRun::default() }
    }

    #[test]
    fn threads_share_the_rate_as_published() {
        let mut threads = client(40_000).threads(1 << 20, &TestRun::default());
        assert_eq!(threads.len(), 7);
        let counts: Vec<[u32; 2]> = threads
            .iter_mut()
            .map(|thread| {
                assert_eq!(thread.pace(), tailcut_workload::Pace::Open { depth: 64 });
                let mut counts = [0; 2];
                while let Some(request) = thread.next().filter(|request| request.due.0 < 4_000_000_000) {
                    assert_eq!((request.sectors, request.sector % 8), (8, 0));
                    counts[request.op.index()] += 1;
                }
                counts
            })
            .collect();
        let [reads, writes] = [Op::Read, Op::Write].map(Op::index);
        let near = |count: u32, want: f64| (f64::from(count) / want - 1.0).abs() < 0.05;
        assert!(near(counts[0][reads], 20_000.0) && near(counts[0][writes], 20_000.0), "{counts:?}");
        let others = |op: usize| counts[1..].iter().map(|counts| counts[op]).sum::<u32>();
        assert!(near(others(writes), 4.0 * 35_000.0 * 0.99), "{counts:?}");
        assert!((0.8..1.2).contains(&(f64::from(others(reads)) / (4.0 * 350.0))), "{counts:?}");
    }

    #[test]
    fn the_rate_is_shared_without_a_rest() {
        for rate in [1, 5, 6, 7, 65_000] {
            assert_eq!(shares(RequestRate(rate)).sum::<u64>(), rate);
        }
    }

    #[test]
    fn a_drive_that_keeps_up_reaches_the_demand_and_the_same_seed_the_same_figures() {
        let run = |seed| client(10_000).run(&drive("40us"), &brief(seed), &|| false).expect("a run");
        let found = run(1);
        let (reads, writes) = client(10_000).demand();
        assert_eq!((reads, writes), (5_050.0, 9_950.0));
        assert!((found.reads_per_s / reads - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.writes_per_s / writes - 1.0).abs() < 0.03, "{found:?}");
        // Only the first thread's: half of 10,000 a second.
        assert!((4_800..5_200).contains(&found.reads.requests), "{found:?}");
        assert!(found.reads.micros[MEDIAN] > 11.0, "cells and client take 11 µs: {found:?}");
        assert!(found.write_amplification.is_some_and(|amplification| amplification > 1.0));
        assert_eq!(found, run(1));
        assert_ne!(found, run(2));
    }

    #[test]
    fn a_saturated_drive_is_measured_from_issue_and_not_from_a_time_that_recedes() {
        let found = client(200_000).run(&drive("2ms"), &brief(1), &|| false).expect("a run");
        let (_, demand) = client(200_000).demand();
        assert!(found.writes_per_s < demand / 4.0, "{found:?}");
        // By Little's law the first thread's 64 requests in flight bound its mean latency, and more so its
        // median, though its schedule is behind by a good part of the run.
        let seconds = 1.0;
        let rate = (found.reads.requests + found.writes.requests) as f64 / seconds;
        assert!(found.writes.micros[MEDIAN] <= 2.0 * 64.0 / rate * 1e6, "{found:?}");
        assert!(found.writes.micros[MEDIAN] > 1_000.0, "{found:?}");
    }

    #[test]
    fn a_test_ends_when_its_caller_is_over() {
        let ended = client(10_000).run(&drive("40us"), &brief(1), &|| true);
        assert!(matches!(ended, Err(crate::drives::TestError::Interrupted)));
    }
}
