//! Whatever happens inside a drive, a read returns the last data written.

use crate::drives;
use crate::naive::Pair;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use tailcut_base::control::{Control, GcThresholds, Windows};
use tailcut_base::plm::{Config as Warnings, Window};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, Time};
use tailcut_ssd::{Counters, SsdConfig};

/// One operation as raw numbers, which a [`Load`] interprets: so every step fits every drive, and a failing
/// list stays meaningful while it is being shrunk.
#[derive(Clone, Copy, Debug)]
struct Step {
    choice: u16,
    place: u16,
    length: u8,
    gap: u8,
}

fn step() -> impl Strategy<Value = Step> {
    (any::<u16>(), any::<u16>(), any::<u8>(), any::<u8>()).prop_map(|(choice, place, length, gap)| Step {
        choice,
        place,
        length,
        gap,
    })
}

/// The mix, sizes and spacing of a case's operations.
#[derive(Debug)]
struct Load {
    /// Weights of reads, whole-page writes, partial writes, trims and flushes.
    weights: [u64; 5],
    fua: bool,
    /// Number of pages in use: with only a few, pages are overwritten while still in flight.
    pages: u64,
    /// The largest request, in pages.
    largest: u64,
    /// The longest gap between two operations, in ns.
    gap: u64,
    /// Collection windows, in effect from the first operation on.
    windows: Option<Windows>,
    /// The host uses the control interface.
    controls: bool,
}

impl Load {
    fn random(seed: u64, pages: u64) -> Load {
        let mut r = Stream::new(seed, "test.load");
        let mut weight = |most: u64| r.below(2) * (1 + r.below(most));
        let mut weights = [weight(4), 1 + weight(8), weight(4), weight(2), weight(2)];
        weights[0] += u64::from(weights[0] == 0);
        Load {
            weights,
            fua: r.below(2) == 1,
            pages: [pages, pages, 3.min(pages)][r.below(3) as usize],
            largest: [1, 1, 4, 9][r.below(4) as usize],
            gap: [0, 20_000, 400_000, 3_000_000][r.below(4) as usize],
            windows: windows(seed),
            controls: false,
        }
    }

    fn apply(&self, step: Step, pair: &mut Pair) {
        let set = u32::from(step.length) % pair.sets().count();
        // Occasionally sets a drive's windows again or removes them.
        if self.windows.is_some() && step.choice % 32 == 31 {
            pair.set_windows(set, self.windows.filter(|_| step.gap.is_multiple_of(2)));
        }
        if self.controls && (step.choice / 64).is_multiple_of(4) {
            pair.control(set, call(step, pair.now));
        }
        let page = pair.sectors() / pair.pages();
        pair.pass(Nanos(self.gap * u64::from(step.gap) / 255));
        let mut rest = u64::from(step.choice) % self.weights.iter().sum::<u64>();
        let kind = self.weights.iter().position(|&w| {
            let here = rest < w;
            rest = rest.saturating_sub(w);
            here
        });
        let first = u64::from(step.place) % self.pages;
        let room = pair.pages_from(first).min(self.pages - first);
        let pages = (1 + u64::from(step.length) % self.largest).min(room);
        let (sector, sectors) = (first * page, (pages * page) as u32);
        let stream = step.length % 4;
        let fua = self.fua && step.gap.is_multiple_of(3);
        // Within the same pages, but between arbitrary sectors.
        let cut = u64::from(step.choice / 64) % u64::from(sectors);
        let kept = (u64::from(step.length) % (u64::from(sectors) - cut) + 1) as u32;
        match kind.expect("the weights add up") {
            0 if step.gap.is_multiple_of(2) => pair.submit(Op::Read, sector, sectors, false, stream),
            0 => pair.submit(Op::Read, sector + cut, kept, false, stream),
            1 => pair.submit(Op::Write, sector, sectors, fua, stream),
            2 => pair.submit(Op::Write, sector + cut, kept, fua, stream),
            3 if step.gap.is_multiple_of(2) => pair.submit(Op::Trim, sector, sectors, false, 0),
            3 => pair.submit(Op::Trim, sector + cut, kept, false, 0),
            _ => pair.submit(Op::Flush, sector, 0, false, 0),
        }
    }
}

/// A call of the control interface, mostly a query whether the drive is ready for reads.
fn call(step: Step, now: Time) -> Control {
    let place = u32::from(step.place);
    match step.place % 16 {
        0..7 => Control::IsReadyForRead,
        7..9 => Control::RunGc { until: now + Nanos(u64::from(step.place / 16) * 2000) },
        9 => Control::RunGc { until: Time::NEVER },
        10 => Control::IsGcRunning,
        11 => {
            let low = 1 + place / 16 % 4;
            Control::SetThresholds(GcThresholds { low, high: low + place / 64 % 3 })
        }
        12 => Control::SetPredictableLatency { is_enabled: place / 16 % 4 > 0, config: Warnings::default() },
        13 => Control::SelectWindow(Window::Deterministic),
        14 => Control::SelectWindow(Window::NonDeterministic),
        _ => Control::PredictableLatencyLog,
    }
}

/// Collection windows in half of the cases: rare or frequent, short or endless.
fn windows(seed: u64) -> Option<Windows> {
    let mut r = Stream::new(seed, "test.windows");
    let period = Nanos([90_000, 700_000, 5_000_000][r.below(3) as usize]);
    let length = Nanos((period.0 * [1, 4, 8, 16][r.below(4) as usize] / 16).max(1));
    let from = Time(r.below(2) * r.below(3_000_000));
    (r.below(2) == 1).then_some(Windows { from, period, length })
}

/// Random lists of operations, each on its own drive. To run more or different cases:
/// `TAILCUT_CASES=10000 TAILCUT_SEED=7 cargo test -p tailcut-ssd`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swarm {
    /// Selects the random stream.
    pub name: &'static str,
    pub cases: u32,
    /// Maximum number of operations per case.
    pub length: usize,
    /// At least half of the operations are reads, and time passes between operations.
    pub reads: bool,
    /// The host uses the control interface.
    pub controls: bool,
}

impl Swarm {
    /// Runs all cases; on failure, shrinks the list of operations and panics.
    pub(crate) fn run(self, tune: impl Fn(&mut SsdConfig, u64)) {
        if let Some(failure) = self.search(2000, tune, |_| ()) {
            panic!("{failure}");
        }
    }

    /// As [`Swarm::run`], but returns the failure instead of shrinking and panicking.
    pub(crate) fn fails(self, tune: impl Fn(&mut SsdConfig, u64)) -> Option<String> {
        self.search(0, tune, |_| ())
    }

    /// As [`Swarm::run`], and returns the counters of each drive.
    pub(crate) fn counts(self, tune: impl Fn(&mut SsdConfig, u64)) -> Vec<Counters> {
        let counts = RefCell::new(Vec::new());
        if let Some(failure) = self.search(2000, tune, |each| counts.borrow_mut().push(each)) {
            panic!("{failure}");
        }
        counts.into_inner()
    }

    fn load(self, seed: u64, pages: u64) -> Load {
        let mut load = Load::random(seed, pages);
        load.controls = self.controls;
        if self.reads {
            load.weights[0] = load.weights.iter().skip(1).sum();
            load.gap = [3_000, 50_000, 400_000][(seed % 3) as usize];
        }
        load
    }

    fn search(
        self,
        shrink: u32,
        tune: impl Fn(&mut SsdConfig, u64),
        end: impl Fn(Counters),
    ) -> Option<String> {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
        let cases = number("TAILCUT_CASES").unwrap_or(self.cases);
        let mut seed = [0; 32];
        for (byte, chosen) in seed.iter_mut().zip(self.name.bytes()) {
            *byte = chosen;
        }
        seed[28..].copy_from_slice(&number("TAILCUT_SEED").unwrap_or(0).to_le_bytes());
        let config =
            Config { cases, failure_persistence: None, max_shrink_iters: shrink, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let strategy = (any::<u64>(), vec(step(), 1..self.length));
        let tuned = |seed: u64| {
            let mut drive = drives::random(seed);
            tune(&mut drive, seed);
            drive
        };
        let result = runner.run(&strategy, |(seed, steps)| {
            let mut pair = Pair::new(&tuned(seed), seed);
            let load = self.load(seed, pair.pages());
            for set in 0..pair.sets().count() {
                if load.windows.is_some() {
                    pair.set_windows(set, load.windows);
                }
            }
            for step in steps {
                load.apply(step, &mut pair);
            }
            for set in 0..pair.sets().count() {
                if load.controls {
                    pair.wait_for_quiet(set);
                }
            }
            end(pair.finish().counts());
            Ok(())
        });
        result.err().map(|error| {
            let seed = match &error {
                proptest::test_runner::TestError::Fail(_, (seed, _)) => *seed,
                proptest::test_runner::TestError::Abort(_) => 0,
            };
            format!("{error}\nof {:?}\nunder {:?}", tuned(seed), self.load(seed, 100))
        })
    }
}

#[test]
fn a_random_drive_returns_what_was_written_last() {
    Swarm { name: "content", cases: 2000, length: 300, reads: false, controls: false }.run(|_, _| {});
}

#[test]
fn a_drive_that_is_steered_returns_what_was_written_last() {
    Swarm { name: "steered", cases: 1000, length: 300, reads: false, controls: true }.run(|_, _| {});
}

#[test]
fn a_drive_that_wears_out_returns_what_was_written_last() {
    Swarm { name: "faults", cases: 1000, length: 500, reads: false, controls: false }.run(|drive, _| {
        drive.faults.program_fail = 0.05;
        drive.faults.erase_fail = 0.05;
    });
}
