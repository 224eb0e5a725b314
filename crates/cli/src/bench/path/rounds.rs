//! Rounds: every form once after the other, again and again.

use super::form::{Form, Goal, Quantity};
use super::interval::Interval;
use super::others::LoadBaseline;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_path::{FixedDrive, Length, Outcome, Rest};
use tailcut_rt::placement;

/// The forms to measure, and where.
#[derive(Clone, Debug)]
pub(super) struct RoundSetup {
    /// The forms to measure, in the order in which each round measures them.
    pub forms: Vec<Form>,
    /// Numbers of threads, in ascending order.
    pub threads: Vec<u32>,
    /// Numbers of the cores on which threads issue requests and wait.
    pub waiting: Vec<usize>,
    /// Number of the core that the device runs on.
    pub device: usize,
    /// Time that the device takes for each request.
    pub latency: Nanos,
    /// Length of one measurement.
    pub length: Nanos,
    /// Whether the threads run before those of other programs, at real-time priority.
    pub is_real_time: bool,
}

/// A measurement that was not disturbed.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The result of the measurement.
    pub outcome: Outcome,
    /// How late the device was.
    pub late: LatencyHistogram,
}

/// The measurements of one form with one number of threads.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Index of the form in the setup's list.
    pub form: usize,
    /// Number of threads that issue requests.
    pub threads: u32,
    /// The samples by round; none for a round that was disturbed.
    pub samples: Vec<Option<Sample>>,
    /// What others took of the cores in the median of all rounds.
    pub loads: Vec<f64>,
}

/// A measurement counts when others took less than this share of its cores: the system reports hundredths
/// of a second, so a smaller share can hardly be distinguished from nothing.
const DISTURBED: f64 = 0.05;

/// Before a measurement counts, threads are made and memory is touched.
const RAMP: Nanos = Nanos::millis(20);

impl RoundSetup {
    /// A cell for each form and number of threads that it is measured with.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let most = *self.threads.last().expect("there are threads");
        let all =
            self.threads.iter().flat_map(|&threads| (0..self.forms.len()).map(move |form| (threads, form)));
        all.filter(|&(threads, form)| self.forms[form].is_for(threads, most))
            .map(|(threads, form)| Cell { form, threads, samples: Vec::new(), loads: Vec::new() })
            .collect()
    }

    /// Measures a cell once more.
    pub(super) fn measure(&self, cell: &mut Cell) {
        let rest = if self.waiting.contains(&self.device) { Rest::Sleep(Nanos::ZERO) } else { Rest::Spin };
        let harness =
            self.forms[cell.form].harness(cell.threads, &self.waiting, self.device, rest, self.is_real_time);
        let drive = FixedDrive::new(self.latency, Form::depth(&self.waiting));
        if self.is_real_time {
            // Half of the time is left to other processes.
            placement::sleep(RAMP + self.length);
        }
        let since = LoadBaseline::now(&self.cores_that_matter(&self.forms[cell.form]));
        let (outcome, drive) = harness.run(drive, Length::Time { ramp: RAMP, measured: self.length });
        let others = since.and_then(|since| since.share());
        let counts = others.is_none_or(|share| share < DISTURBED) && outcome.latency.count() > 0;
        cell.loads.extend(others);
        cell.samples.push(counts.then(|| Sample { outcome, late: drive.late().clone() }));
    }

    /// Cores on which no other process should run. Real-time threads leave their core to other processes only
    /// while they sleep, so only cores with a thread that never sleeps matter: there the kernel reserves 5 %
    /// of the time for other processes.
    fn cores_that_matter(&self, form: &Form) -> Vec<usize> {
        let sleeps = self.is_real_time && form.sleeps();
        let mut cores = if sleeps { Vec::new() } else { self.waiting.clone() };
        cores.push(self.device);
        cores.dedup();
        cores
    }
}

impl Sample {
    /// A figure of it, in ns or per second.
    pub(super) fn figure(&self, quantity: Quantity) -> f64 {
        let Outcome { elapsed, latency, usage, .. } = &self.outcome;
        match quantity {
            Quantity::Latency => latency.mean(),
            Quantity::Cpu => self.per_request(usage.cpu.0),
            Quantity::Rate => latency.count() as f64 / elapsed.as_secs_f64(),
        }
    }

    /// A sum, per request.
    pub(super) fn per_request(&self, sum: u64) -> f64 {
        sum as f64 / self.outcome.latency.count() as f64
    }
}

impl Cell {
    /// Measurements that count.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().flatten()
    }

    /// A figure of all that count.
    pub(super) fn interval(&self, figure: impl Fn(&Sample) -> f64) -> Option<Interval> {
        Interval::of(self.kept().map(figure).collect())
    }

    /// All latencies of what counts.
    pub(super) fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.kept().for_each(|sample| all.merge(&sample.outcome.latency));
        all
    }

    /// How late the device was in what counts.
    pub(super) fn late(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.kept().for_each(|sample| all.merge(&sample.late));
        all
    }

    /// Its figure over that of another, of rounds in which both count.
    pub(super) fn over(&self, other: &Cell, quantity: Quantity) -> Option<Interval> {
        let pairs = self.samples.iter().zip(&other.samples);
        let both = pairs.filter_map(|(mine, theirs)| mine.as_ref().zip(theirs.as_ref()));
        Interval::of(both.map(|(mine, theirs)| mine.figure(quantity) / theirs.figure(quantity)).collect())
    }
}

impl Goal {
    /// The comparisons that it asks for: number of threads, and the ratio.
    pub(super) fn ratios(&self, ground: &RoundSetup, cells: &[Cell]) -> Vec<(u32, Option<Interval>)> {
        let find = |name: &str, threads: u32| {
            cells.iter().find(|cell| cell.threads == threads && ground.forms[cell.form].to_string() == name)
        };
        let threads = ground.threads.iter().filter(|&&threads| (self.from..=self.to).contains(&threads));
        let pairs = threads.filter_map(|&threads| {
            let (form, against) = (find(self.form, threads)?, find(self.against, threads)?);
            Some((threads, form.over(against, self.quantity)))
        });
        pairs.collect()
    }

    /// Whether a ratio reaches it.
    pub(super) fn is_reached(&self, ratio: f64) -> bool {
        if self.ratio < 1.0 { ratio <= self.ratio } else { ratio >= self.ratio }
    }
}
