//! A test, from its first step to its last.

use crate::cell::Cell;
use crate::figures::Figures;
use crate::plan;
use crate::points::Point;
use crate::record::{Averages, Convergence, Ending, Record, Track};
use crate::settings::Settings;
use crate::stage::{Rounds, Stage, Work};
use crate::test::Test;
use tailcut_base::Nanos;
use tailcut_base::cast::to_u64;
use tailcut_base::histogram::LatencyHistogram;

/// A test. Call [`Procedure::next`] for the next step, execute it, and pass its outcome to
/// [`Procedure::told`], until there is no further step.
///
/// # Examples
/// ```
/// use tailcut_pts::{Form, Outcome, Procedure, Settings, Step, Test};
///
/// let capacity = 1 << 30;
/// let mut test = Procedure::new(Test::Latency, Settings::quick(Form::Enterprise, capacity));
/// assert_eq!(test.next(), Some(Step::Purge));
/// test.told(Outcome::Done);
/// // The precondition writes twice the capacity.
/// let Some(Step::Load(load)) = test.next() else { panic!("a load follows the purge") };
/// assert_eq!(load.bytes, 2 * capacity);
/// ```
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The test that is carried out.
    pub test: Test,
    /// Device class, capacity and length of the test.
    pub settings: Settings,
    stages: Vec<Stage>,
    records: Vec<Record>,
    convergences: Vec<Convergence>,
    at: Place,
    spent: Nanos,
}

/// Position in the test.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    stage: usize,
    /// Round, or number in a series.
    round: u32,
    /// Load of a round; None during the writes before it.
    cell: Option<usize>,
    /// In a series, the rest after a load.
    is_resting: bool,
    /// Bytes written in the current stage.
    written: u64,
    /// Time spent on loads and rests of the current stage.
    spent: Nanos,
}

/// The next step of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Purge the drive: restore the state in which nothing was ever written.
    Purge,
    /// Leave the drive idle.
    Rest(Nanos),
    /// Apply this load to the drive.
    Load(Stretch),
}

/// A load for a limited time or amount, whichever is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The mix, sizes, order and concurrency of the I/Os.
    pub cell: Cell,
    /// Time after which the load ends, if it has not ended before.
    pub time: Nanos,
    /// Number of bytes transferred after which the load ends, if it has not ended before.
    pub bytes: u64,
    /// The histogram of response times is required in addition to the figures.
    pub keeps_latency: bool,
}

/// Outcome of a step.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A purge or a rest is complete.
    Done,
    /// Result of a load.
    Measured {
        /// Its figures.
        figures: Figures,
        /// Histogram of its response times, if required.
        latency: Option<LatencyHistogram>,
    },
}

impl Procedure {
    /// A test that has not started.
    ///
    /// # Panics
    /// If the time of a minute, the rounds or the capacity of `settings` are zero.
    pub fn new(test: Test, settings: Settings) -> Procedure {
        assert!(settings.minute > Nanos::ZERO && settings.rounds > 0 && settings.capacity > 0);
        let stages = plan::stages(test, &settings);
        let mut procedure = Procedure {
            test,
            settings,
            stages,
            records: Vec::new(),
            convergences: Vec::new(),
            at: Place::default(),
            spent: Nanos::ZERO,
        };
        procedure.enter();
        procedure
    }

    /// The next step, unchanged until [`Procedure::told`] is called. None when the test is over.
    #[expect(clippy::missing_panics_doc, reason = "rounds without a first load begin with a cell")]
    pub fn next(&self) -> Option<Step> {
        let load = |cell, time| Step::Load(Stretch { cell, time, bytes: u64::MAX, keeps_latency: false });
        Some(match &self.stages.get(self.at.stage)?.work {
            Work::Purge => Step::Purge,
            Work::Write { cell, bytes } => {
                let time = ENDLESS;
                Step::Load(Stretch { cell: *cell, time, bytes: *bytes, keeps_latency: false })
            }
            Work::Rounds(rounds) => match (self.at.cell, rounds.before) {
                (Some(place), _) => load(rounds.cells[place], rounds.each),
                (None, before) => {
                    let (cell, time) = before.expect("else a round begins with its first load");
                    load(cell, time)
                }
            },
            Work::Series { rest, .. } if self.at.is_resting => Step::Rest(*rest),
            Work::Series { cell, each, .. } => load(*cell, *each),
            Work::Histogram { cell, time } => {
                Step::Load(Stretch { cell: *cell, time: *time, bytes: u64::MAX, keeps_latency: true })
            }
            Work::Points { .. } => unreachable!("stages took its place when it was entered"),
        })
    }

    /// Accepts the outcome of the current step.
    ///
    /// # Panics
    /// If the test is over, or `outcome` is not one of the current step: [`Outcome::Measured`] for a load,
    /// [`Outcome::Done`] otherwise.
    pub fn told(&mut self, outcome: Outcome) {
        match (self.next(), outcome) {
            (Some(Step::Purge), Outcome::Done) => self.advance(),
            (Some(Step::Rest(rest)), Outcome::Done) => {
                self.spend(rest);
                self.at.is_resting = false;
                self.count();
            }
            (Some(Step::Load(stretch)), Outcome::Measured { figures, latency }) => {
                self.note(&stretch, figures, latency);
                self.after_load(figures);
            }
            (step, outcome) => panic!("{outcome:?} is no outcome of {step:?}"),
        }
    }

    fn note(&mut self, stretch: &Stretch, figures: Figures, latency: Option<LatencyHistogram>) {
        let Place { stage, round, cell: place, .. } = self.at;
        let latency = latency.filter(|_| stretch.keeps_latency);
        self.records.push(Record { stage, round, place, cell: stretch.cell, figures, latency });
        self.spend(figures.took);
        let writes = u64::from(100 - stretch.cell.reads);
        self.at.written += to_u64(u128::from(figures.bytes) * u128::from(writes) / 100);
    }

    fn spend(&mut self, time: Nanos) {
        self.at.spent += time;
        self.spent += time;
    }

    fn after_load(&mut self, figures: Figures) {
        match &self.stages[self.at.stage].work {
            Work::Series { rest, .. } if *rest > Nanos::ZERO => self.at.is_resting = true,
            Work::Series { .. } => self.count(),
            Work::Rounds(rounds) => {
                let rounds = rounds.clone();
                self.after_cell(&rounds, figures);
            }
            _ => self.advance(),
        }
    }

    /// Advances a series by one.
    fn count(&mut self) {
        let Work::Series { count, .. } = self.stages[self.at.stage].work else {
            unreachable!("it is a series")
        };
        self.at.round += 1;
        if self.at.round == count {
            self.advance();
        }
    }

    fn after_cell(&mut self, rounds: &Rounds, figures: Figures) {
        if let Some(place) = self.at.cell {
            let convergence = self.convergences.last_mut().expect("rounds have one");
            for (track, &(tracked, metric)) in convergence.tracks.iter_mut().zip(&rounds.tracked) {
                if tracked == place {
                    track.values.push(figures.metric(metric));
                }
            }
        }
        let next = self.at.cell.map_or(0, |place| place + 1);
        let is_round_over = next == rounds.cells.len();
        match self.ending(rounds, is_round_over) {
            Some(ending) => {
                self.convergences.last_mut().expect("rounds have one").ending = Some(ending);
                self.advance();
            }
            None if is_round_over => {
                self.at.round += 1;
                self.at.cell = first_cell(rounds);
            }
            None => self.at.cell = Some(next),
        }
    }

    fn ending(&self, rounds: &Rounds, is_round_over: bool) -> Option<Ending> {
        let (at, limits) = (&self.at, &rounds.limits);
        let convergence = self.convergences.last().expect("rounds have one");
        let may_be_judged = is_round_over && at.written >= limits.least;
        if may_be_judged && convergence.is_steady() {
            return Some(Ending::Steady);
        }
        if at.written >= limits.bytes {
            return Some(Ending::Bytes);
        }
        if at.spent >= limits.time {
            return Some(Ending::Time);
        }
        (may_be_judged && at.round + 1 >= limits.rounds).then_some(Ending::Rounds)
    }

    fn advance(&mut self) {
        self.at = Place { stage: self.at.stage + 1, ..Place::default() };
        self.enter();
    }

    /// Prepares for the current stage.
    fn enter(&mut self) {
        let Some(stage) = self.stages.get(self.at.stage) else { return };
        match &stage.work {
            Work::Rounds(rounds) => {
                let track = |&(place, metric): &(usize, _)| Track {
                    cell: rounds.cells[place],
                    metric,
                    values: Vec::new(),
                };
                let tracks = rounds.tracked.iter().map(track).collect();
                self.at.cell = first_cell(rounds);
                self.convergences.push(Convergence { stage: self.at.stage, tracks, ending: None });
            }
            &Work::Points { settle, each, time } => {
                let stages = self.points(settle, each, time);
                self.stages.splice(self.at.stage..=self.at.stage, stages);
            }
            _ => {}
        }
    }

    /// The stages for three loads of the last round of the previous stage.
    fn points(&self, settle: u32, each: Nanos, time: Nanos) -> Vec<Stage> {
        let stage = self.at.stage - 1;
        let last = self.records.last().map_or(0, |record| record.round);
        let is_of_it =
            |record: &&Record| record.stage == stage && record.round == last && record.place.is_some();
        let round: Vec<(Cell, Figures)> =
            self.records.iter().filter(is_of_it).map(|record| (record.cell, record.figures)).collect();
        let of = |point: Point| {
            let cell = point.choose(&round)?;
            let writes = Cell { reads: 0, ..cell };
            let work = Work::Series { cell: writes, each, count: settle, rest: Nanos::ZERO };
            let before = Stage { name: format!("before {}", point.name()), work };
            Some([before, Stage { name: point.name().into(), work: Work::Histogram { cell, time } }])
        };
        Point::ALL.into_iter().filter_map(of).flatten().collect()
    }

    /// The stages of the test; those of selected loads are added once these are known.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Index of the current stage, from 0, and its round or number in a series.
    pub fn position(&self) -> (usize, u32) {
        (self.at.stage, self.at.round)
    }

    /// True if no step is left.
    pub fn is_finished(&self) -> bool {
        self.at.stage >= self.stages.len()
    }

    /// All outcomes so far, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Convergence of each stage with rounds, in order.
    pub fn convergences(&self) -> &[Convergence] {
        &self.convergences
    }

    /// The records of a stage.
    pub fn of_stage(&self, stage: usize) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.stage == stage)
    }

    /// The figures of a load over the measurement window of a stage with rounds; None if it was not measured
    /// there.
    pub fn averages(&self, convergence: &Convergence, place: usize) -> Option<Averages> {
        let window = convergence.window();
        let is_of_it = |record: &&Record| record.place == Some(place) && window.contains(&record.round);
        Averages::of(self.of_stage(convergence.stage).filter(is_of_it).map(|record| &record.figures))
    }

    /// Time spent on loads and rests so far.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// Upper bound of the remaining time, without writes for preconditioning, whose duration is unknown.
    pub fn left(&self) -> Nanos {
        let later = self.stages.iter().skip(self.at.stage + 1).map(|stage| stage.work.time());
        let later: Nanos = later.fold(Nanos::ZERO, |sum, time| sum + time);
        let present = self.stages.get(self.at.stage).map_or(Nanos::ZERO, |stage| stage.work.time());
        later + Nanos(present.0.saturating_sub(self.at.spent.0))
    }
}

/// Time limit of loads that end otherwise: ten years.
const ENDLESS: Nanos = Nanos::secs(315_360_000);

/// Start of a round: None, before its first load, if there are writes before it.
fn first_cell(rounds: &Rounds) -> Option<usize> {
    rounds.before.is_none().then_some(0)
}
