//! A test of one simulated drive: threads, their window, and what is measured of them.

use super::Latencies;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Device, Nanos, Op, SECTOR_BYTES, Spans, Status, Time};
use tailcut_sim::ending::{RunFailed, run_to_end_observed};
use tailcut_sim::scenario::{InputError, Scenario};
use tailcut_sim::world::{Finished, Limits, Observer, Progress, World};
use tailcut_ssd::Precondition;
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::Source;

/// How long a test runs, and what its client costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// Time at the start that does not count: the drive's steady state is constructed, and its queues and
    /// debts of collection still have to settle.
    pub warm_up: Nanos,
    /// Length of the measurement that follows; zero for one that ends with the last request of its threads.
    pub measured: Nanos,
    /// Seed of all random streams of client and drive.
    pub seed: u64,
    /// What the client adds to every latency: system call, kernel and its own code. SSD-iq's client costs
    /// some 5 µs to 8 µs.
    pub client_cost: Nanos,
    /// What it adds beside that at random, exponentially distributed with this mean: caches, interrupts. The
    /// writes of idle drives, which wait for nothing, are so distributed in SSD-iq's rows.
    pub client_jitter: Nanos,
    /// Share of the drive that holds data before the test, in parts per million.
    pub fill_ppm: u32,
}

impl Default for TestRun {
    /// Two seconds to settle, one minute measured on a drive that is full, as SSD-iq's drives were.
    fn default() -> TestRun {
        TestRun {
            warm_up: Nanos::secs(2),
            measured: Nanos::secs(60),
            seed: 1,
            client_cost: Nanos::micros(6),
            client_jitter: Nanos::micros(1),
            fill_ppm: 1_000_000,
        }
    }
}

/// What a test has measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Reads of the threads whose latencies are measured.
    pub reads: Latencies,
    /// Writes of the threads whose latencies are measured.
    pub writes: Latencies,
    /// Reads of all threads that completed within the measurement, per second.
    pub reads_per_s: f64,
    /// Writes of all threads that completed within the measurement, per second.
    pub writes_per_s: f64,
    /// Bytes programmed in flash ÷ bytes written by the host, both within the measurement; `None` without
    /// writes. Pages that wait in the drive's buffer at either end are not counted exactly.
    pub write_amplification: Option<f64>,
    /// Requests that the whole test took, with those of the warm-up: what it cost to simulate.
    pub simulated: u64,
}

/// Why a test has no result.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The drive's configuration does not fit the test.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The run went wrong.
    #[error(transparent)]
    Failed(#[from] RunFailed),
    /// The drive stopped to take writes.
    #[error("the drive became read-only: {0}")]
    ReadOnly(String),
    /// The caller stopped the test.
    #[error("interrupted")]
    Interrupted,
}

impl TestRun {
    /// Lets `threads` work on a drive like `device`, which is prepared as after endless uniform random
    /// writes. Latencies are those of the first `measured_threads` threads, counted from the moment at which
    /// the thread issues the request and not from an earlier one at which it was due: a thread whose requests
    /// in flight are at their limit issues none. `threads` is given the number of sectors of the drive.
    /// `is_over` is polled a few times per million requests; true stops the run.
    ///
    /// # Errors
    /// The configuration does not fit the test, the run fails, the drive becomes read-only, or `is_over`
    /// stops the test; see [`TestError`].
    pub fn run(
        &self,
        device: &SsdConfig,
        threads: impl FnOnce(u64) -> Vec<Box<dyn Source>>,
        measured_threads: u32,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Measurement, TestError> {
        let scenario = Scenario {
            seed: self.seed,
            content: false,
            device: device.clone(),
            precondition: Precondition { state: PreparedState::Steady, fill: self.fill_ppm },
            ..Scenario::default()
        };
        let (ssd, checker) = scenario.prepare(())?;
        let threads = threads(ssd.identify().sectors);
        // Without an end of its own, a test ends with its threads.
        let duration = if self.measured > Nanos::ZERO { self.warm_up + self.measured } else { Nanos::ZERO };
        let limits = Limits { ramp: self.warm_up, duration, ..Limits::NONE };
        let mut meter = Meter::new(measured_threads, self);
        let mut world = World::new(ssd, checker, threads, limits);
        let mut watch =
            |_: &Progress| if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let ending = run_to_end_observed(&mut world, scenario.horizon(), &mut watch, &mut meter)?;
        if ending.cut_short {
            return Err(TestError::Interrupted);
        }
        if let Some(why) = world.device.read_only() {
            return Err(TestError::ReadOnly(why.to_string()));
        }
        let counts = &ending.figures()[0].counts;
        let pages = counts.programmed_user + counts.programmed_gc + counts.pages_spoiled;
        let programmed = pages * device.geometry.page_bytes;
        let found = meter.measurement(world.now(), programmed);
        Ok(Measurement { simulated: world.completed(), ..found })
    }
}

/// Measures some threads of a test, and counts the requests of all.
struct Meter {
    measured_threads: u32,
    client_cost: Nanos,
    client_jitter: Nanos,
    stream: Stream,
    length: Nanos,
    from: Time,
    until: Time,
    /// Of the measured threads, by [`Op`].
    latencies: [LatencyHistogram; 2],
    /// Of all threads, by [`Op`]: requests that completed within the measurement.
    completed: [u64; 2],
    /// Bytes of writes that completed from the start of the measurement to the end of the run, as the drive
    /// counts what it programs.
    written: u64,
}

impl Meter {
    fn new(measured_threads: u32, test: &TestRun) -> Meter {
        Meter {
            measured_threads,
            client_cost: test.client_cost,
            client_jitter: test.client_jitter,
            stream: Stream::new(test.seed, "client"),
            length: test.measured,
            from: Time::NEVER,
            until: Time::NEVER,
            latencies: Default::default(),
            completed: [0; 2],
            written: 0,
        }
    }

    fn measurement(&self, end: Time, programmed: u64) -> Measurement {
        let [reads, writes] = [Op::Read, Op::Write].map(Op::index);
        let seconds = self.until.min(end).since(self.from).as_secs_f64().max(f64::MIN_POSITIVE);
        Measurement {
            reads: Latencies::of(&self.latencies[reads]),
            writes: Latencies::of(&self.latencies[writes]),
            reads_per_s: self.completed[reads] as f64 / seconds,
            writes_per_s: self.completed[writes] as f64 / seconds,
            write_amplification: (self.written > 0).then(|| programmed as f64 / self.written as f64),
            simulated: 0,
        }
    }
}

impl<D> Observer<D> for Meter {
    fn begin(&mut self, _: &D, now: Time) {
        self.from = now;
        self.until = if self.length > Nanos::ZERO { now + self.length } else { Time::NEVER };
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        let index = request.op.index();
        if request.completed < self.from || index > 1 || request.status != Status::Success {
            return;
        }
        if request.op == Op::Write {
            self.written += u64::from(request.sectors) * SECTOR_BYTES;
        }
        if request.completed >= self.until {
            return;
        }
        self.completed[index] += 1;
        if request.source < self.measured_threads {
            let waited_in_thread = request.spans.of(Cause::HostQueue);
            let client = self.client_cost + self.stream.exponential(self.client_jitter);
            self.latencies[index].record(request.latency.saturating_sub(waited_in_thread) + client);
        }
    }
}
