//! Beyond Shin, section 5.6: parity in place of a second copy, a bound for the wait of a write, and the same
//! inside one SSD (`beyond_epochs_sets`).
//!
//! The load, the drives and the modes are those of figure 5.4. Whatever the scheme, drives are filled to the
//! same share: what that leaves for the host is the first row of each case. A case is a [`Case`]; another one
//! is another line in [`cases`].

use super::interval::Interval;
use super::shin::{self, FILLED, Mode, bandwidth, run};
use super::{Options, Row, Study, beyond_epochs_sets};
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::log::LogConfig;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};

/// Space against bandwidth against tail.
pub(crate) struct BeyondEpochs;

/// Readers of 4 KiB.
const READERS: u32 = 8;

/// Percentiles of reads.
const PERCENTILES: [f64; 5] = [50.0, 99.0, 99.9, 99.99, 99.9999];

/// The percentile that is reported with its interval, and as a ratio to a case's readers alone.
const LAST: f64 = 99.99;

/// Victims of a log with tokens: what is read, what is moved and what is trimmed waits for a round each.
const VICTIMS: u32 = 64;

/// Reads of collection for each drive of a log with tokens: those of a round.
const DEPTH: u32 = 1024;

/// How the second place of a block is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// Two copies, in two token groups.
    Copies,
    /// Parity in a log, each drive a token group.
    Parity,
}

/// A policy for heavy work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heavy {
    /// Nothing: a log without tokens.
    Mixed,
    /// As in one of Shin's modes.
    In(Mode),
    /// There is none: readers alone.
    Absent,
}

/// A case to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    scheme: Scheme,
    drives: u32,
    heavy: Heavy,
    /// None for the default.
    deadline: Option<Nanos>,
}

/// The deadlines beside the default of 200 ms.
const DEADLINES: [Nanos; 2] = [Nanos::millis(50), Nanos::secs(1)];

/// The schemes and the drives that they are tried on: 2 copies, 3+1, 7+1.
const SHAPES: [(Scheme, u32); 4] =
    [(Scheme::Copies, 4), (Scheme::Copies, 8), (Scheme::Parity, 4), (Scheme::Parity, 8)];

/// All cases, in the order of their rows.
fn cases(options: &Options) -> Vec<Case> {
    let case = |(scheme, drives), heavy| Case { scheme, drives, heavy, deadline: None };
    let mut cases = Vec::new();
    for shape in SHAPES {
        if shape.0 == Scheme::Parity {
            cases.push(case(shape, Heavy::Mixed));
        }
        cases.extend([Mode::Epoch, Mode::Control].map(|mode| case(shape, Heavy::In(mode))));
        cases.push(case(shape, Heavy::Absent));
    }
    for deadline in DEADLINES {
        let kept = |shape| Case { deadline: Some(deadline), ..case(shape, Heavy::In(Mode::Control)) };
        cases.extend(SHAPES.map(kept));
    }
    cases.retain(|case| !options.quick || case.is_quick());
    cases
}

impl Case {
    /// True for a part of the quick form: logs are prepared by writing them, which takes most of the time.
    fn is_quick(self) -> bool {
        let is_small = self.drives == 4 && self.heavy != Heavy::In(Mode::Epoch);
        is_small
            && (self.deadline.is_none()
                || self.scheme == Scheme::Copies && self.deadline == Some(DEADLINES[0]))
    }

    fn shape(self) -> String {
        match self.scheme {
            Scheme::Copies => format!("2 copies, {} drives", self.drives),
            Scheme::Parity => format!("{}+1", self.drives - 1),
        }
    }

    fn heavy(self) -> &'static str {
        match self.heavy {
            Heavy::Mixed => "no tokens",
            Heavy::In(mode) => mode.name(),
            Heavy::Absent => "no writer",
        }
    }

    fn name(self) -> String {
        let deadline = self.deadline.map_or(String::new(), |deadline| format!(", deadline {deadline}"));
        format!("{}, {}{deadline}", self.shape(), self.heavy())
    }

    fn label(self) -> String {
        self.name().replace(", ", "/").replace(' ', "-")
    }

    fn array(self) -> ArrayConfig {
        let (layout, groups) = match self.scheme {
            Scheme::Copies => (LayoutKind::Epochs, 2),
            Scheme::Parity => (LayoutKind::LogRaid5, 1),
        };
        let mut array = ArrayConfig { drives: self.drives, layout, groups, ..ArrayConfig::default() };
        array.log.tokens = self.scheme == Scheme::Parity && self.heavy != Heavy::Mixed;
        if array.log.tokens {
            (array.log.collect_victims, array.log.collect_depth) = (VICTIMS, DEPTH);
        }
        let is_controlled = matches!(self.heavy, Heavy::In(Mode::Control) | Heavy::Absent);
        array.epoch.mode = if is_controlled { EpochMode::GcControl } else { EpochMode::Epoch };
        array.epoch.deadline = self.deadline.unwrap_or(array.epoch.deadline);
        array
    }

    /// The share of what the host sees that holds data, so that drives are equally full.
    fn fill(self) -> u32 {
        let spare = if self.scheme == Scheme::Parity { LogConfig::default().spare } else { 0 };
        (u64::from(FILLED) * 1_000_000 / u64::from(1_000_000 - spare)) as u32
    }

    fn scenario(self, options: &Options) -> Scenario {
        let seconds = if options.quick { 2 } else { 60 };
        let readers = shin::readers(options, self.array(), self.fill(), READERS, seconds);
        if self.heavy == Heavy::Absent { readers } else { shin::beside_writers(readers) }
    }

    fn rows(self, measured: &Measured, alone: &Measured) -> Vec<Row> {
        let case = self.name();
        let row = |quantity: &str, unit, value: f64| Row::new(&*case, quantity, unit, value);
        if self.deadline.is_some() {
            return self.waits(measured);
        }
        let mut rows = vec![
            row("usable share of the drives' space", "share", measured.usable),
            row("bandwidth, reads and writes", "B/s", measured.bandwidth()),
            row("write bandwidth", "B/s", bandwidth(measured, Op::Write)),
        ];
        rows.extend(self.tail(measured));
        if self.heavy != Heavy::Absent {
            let (quantity, ratio) = ("/ without writers", measured.read_percentile_over(alone, LAST));
            let quantity = format!("read latency, {LAST} %, {quantity}");
            rows.push(Row::new(self.name(), quantity, "x", ratio).limit(1.0));
            rows.extend(self.waits(measured));
        }
        if let Some(log) = measured.log.as_ref().filter(|_| self.heavy != Heavy::Absent) {
            let moved = log.moved_blocks as f64 / log.host_blocks.max(1) as f64;
            rows.push(row("blocks moved for each that the host wrote", "x", moved).note(SINCE));
        }
        rows
    }

    /// Percentiles of reads, the highest, and the interval of one.
    fn tail(self, measured: &Measured) -> Vec<Row> {
        let row =
            |quantity: String, ns: Option<f64>| Row::new(self.name(), quantity, "s", ns.map(|ns| ns / 1e9));
        let latency = |percentile: f64| {
            let row = row(format!("read latency, {percentile} %"), measured.read_percentile_ns(percentile));
            if percentile == 50.0 { row.note(self.why()) } else { row }
        };
        let mut rows: Vec<Row> = PERCENTILES.map(latency).to_vec();
        rows.push(row("read latency, highest".into(), Some(measured.reads.max().0 as f64)));
        let Interval { from, to } = Interval::of(&measured.reads, LAST);
        let bound = |latency: Option<Nanos>| latency.map(|latency| latency.0 as f64);
        let count = format!("of {} reads, taken as independent", measured.reads.count());
        rows.push(row(format!("{LAST} %: 95 % interval from"), bound(from)).note(count.clone()));
        rows.push(row(format!("{LAST} %: 95 % interval to"), bound(to)).note(count));
        rows
    }

    /// What writes wait for, and whether that keeps to the deadline.
    fn waits(self, measured: &Measured) -> Vec<Row> {
        let case = self.name();
        let row = |quantity: &str, unit, value: f64| Row::new(&*case, quantity, unit, value);
        let mut rows = vec![row("write latency, highest", "s", measured.writes.max().as_secs_f64())];
        if self.deadline.is_some() {
            rows.push(row("write bandwidth", "B/s", bandwidth(measured, Op::Write)));
            let last = measured.read_percentile(LAST);
            rows.push(Row::new(&*case, format!("read latency, {LAST} %"), "s", last));
        }
        let Some(epochs) = &measured.epochs else { return rows };
        let longest = row("longest wait of a block for the token", "s", epochs.longest_wait.as_secs_f64());
        rows.push(longest.limit(self.array().epoch.deadline.as_secs_f64()).note(SINCE));
        let late = epochs.late as f64 / epochs.written.max(1) as f64;
        rows.push(row("blocks later than the deadline", "share", late).note(SINCE));
        let met = epochs.met as f64;
        rows.push(row("reads that met the token", "1", met).note(SINCE));
        rows
    }

    fn why(self) -> &'static str {
        match (self.scheme, self.heavy) {
            (_, Heavy::Absent) => ALONE,
            (Scheme::Copies, _) => COPIES,
            (Scheme::Parity, Heavy::Mixed) => MIXED,
            (Scheme::Parity, _) => PARITY,
        }
    }
}

impl Study for BeyondEpochs {
    fn id(&self) -> &'static str {
        "beyond-epochs"
    }

    fn title(&self) -> &'static str {
        "Epochs with 2 copies, 3+1 and 7+1, with deadlines, and inside one SSD: space, bandwidth, tail; 8 \
            readers beside 4 writers"
    }

    fn source(&self) -> &'static str {
        "Beyond Shin, dissertation, 2017, section 5.6: less than two copies, bounded write latency, one SSD"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let arrays = cases(options).into_iter().map(|case| run(case.label(), case.scenario(options)));
        arrays.chain(beyond_epochs_sets::runs(options)).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let rows = |case: Case| {
            let alone = Case { heavy: Heavy::Absent, deadline: None, ..case };
            case.rows(find(done, &case.label()), find(done, &alone.label()))
        };
        cases(options).into_iter().flat_map(rows).chain(beyond_epochs_sets::rows(done)).collect()
    }
}

const ALONE: &str = "The limit: the same array with nobody who writes.";

const COPIES: &str = "\
Of a read whose first copy is on a drive with the token the other copy is read: always one drive answers.";

const MIXED: &str = "Any drive is written at any time, and reads wait behind that.";

const PARITY: &str = "\
A read of the drive with the token is the exclusive or of all others: it takes as many reads as there are \
other drives, and as long as the slowest of them.";

const SINCE: &str = "Since the beginning, before the measurement.";
