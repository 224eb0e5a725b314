//! Shin, figures 5.4 and 5.5: latencies of reads beside writers.

use super::interval::Interval;
use super::shin::{self, FILLED, MODES, Mode, ONE_AT_A_TIME, bandwidth, prepared_as_told, run};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::token_scheduling::EpochFigures;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};

/// The tail of reads in the three modes.
pub(crate) struct ReadTail;

/// Readers.
const READERS: u32 = 8;

/// Percentiles of figure 5.5, and beyond.
const PERCENTILES: [f64; 8] = [50.0, 90.0, 99.0, 99.7, 99.9, 99.99, 99.999, LAST];

const LAST: f64 = 99.9999;

/// The run without a writer.
const ALONE: &str = "GCCTRL/no-writer";

/// What any scheme that reads around half of the drives can come to: the same readers on two drives with one
/// copy, without a writer.
const HALF: &str = "half-the-drives/no-writer";

/// One drive at a time has the token.
const FOUR_GROUPS: &str = "GCCTRL/4-groups";

fn half_the_drives(options: &Options, seconds: u64) -> Scenario {
    let array = ArrayConfig { drives: 2, layout: LayoutKind::Raid0, groups: 1, ..ArrayConfig::default() };
    shin::prepared_as_told(shin::readers(options, array, FILLED, READERS, seconds))
}

impl Study for ReadTail {
    fn id(&self) -> &'static str {
        "shin-5.4"
    }

    fn title(&self) -> &'static str {
        "Latency of 8 random 4 KiB readers beside 4 random 1 MiB writers on four SATA drives: mixed, in \
            epochs, with GC control"
    }

    fn source(&self) -> &'static str {
        "Shin, dissertation, Seoul National University, 2017, section 5.4.2, figures 5.4 and 5.5"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let seconds = if options.quick { 4 } else { 200 };
        let mixed = |mode: Mode| {
            run(mode.name().to_string(), prepared_as_told(mode.mixed(options, READERS, seconds)))
        };
        let alone =
            run(ALONE.to_string(), prepared_as_told(Mode::Control.readers(options, READERS, seconds)));
        let half = run(HALF.to_string(), half_the_drives(options, seconds));
        let four =
            run(FOUR_GROUPS.to_string(), prepared_as_told(shin::one_at_a_time(options, READERS, seconds)));
        MODES.into_iter().map(mixed).chain([alone, half, four]).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let alone = find(done, ALONE);
        let mut rows: Vec<Row> =
            MODES.into_iter().flat_map(|mode| rows_of(mode, find(done, mode.name()))).collect();
        rows.extend(tail("GCCTRL without a writer", alone, None));
        let half = find(done, HALF);
        rows.extend(tail("two drives, one copy, no writer", half, None));
        let four = find(done, FOUR_GROUPS);
        rows.extend(rows_in(ONE_AT_A_TIME, None, four));
        let control = find(done, Mode::Control.name());
        rows.push(against("GCCTRL / no writer", control, alone).note(HALVES));
        rows.push(against("GCCTRL / two drives without a writer", control, half));
        rows.push(against("GCCTRL, 4 groups / no writer", four, alone));
        rows.extend(between_modes(done, &rows));
        rows
    }
}

fn rows_of(mode: Mode, measured: &Measured) -> Vec<Row> {
    rows_in(mode.name(), Some(mode), measured)
}

/// The rows of a case, with the paper's figures of a mode.
fn rows_in(case: &str, mode: Option<Mode>, measured: &Measured) -> Vec<Row> {
    let rate = |quantity: &str, op| Row::new(case, quantity, "B/s", bandwidth(measured, op));
    let mut rows = tail(case, measured, mode);
    let total = Row::new(case, "bandwidth, reads and writes", "B/s", measured.bandwidth());
    rows.push(if mode == Some(Mode::Mix) { total } else { total.note(TWICE) });
    rows.extend([
        rate("read bandwidth", Op::Read),
        rate("write bandwidth", Op::Write),
        Row::new(case, "highest write latency", "s", measured.writes.max().as_secs_f64()),
    ]);
    if let Some(epochs) = &measured.epochs {
        let count = |quantity: &str, count: u64| Row::new(case, quantity, "1", count as f64);
        rows.push(count("copies later than the deadline", epochs.late).note(SINCE));
        rows.push(count("times a drive did not come to rest", epochs.restless).note(SINCE));
        let share = |time: Nanos| time.0 as f64 / with_token(epochs).0.max(1) as f64;
        let (times, note) = (&epochs.times, SINCE);
        let stage = |what: &str, time: Nanos| {
            Row::new(case, format!("time with the token: {what}"), "share", share(time))
        };
        rows.extend([
            stage("writing and flushing", times.writing + times.flushing).note(note),
            stage("collecting", times.collecting).note(note),
            stage("reads from before, coming to rest", times.draining + times.settling).note(note),
            stage("waiting for others of the group", epochs.waiting).note(note),
        ]);
    }
    rows
}

/// How long drives had the token, all together.
fn with_token(epochs: &EpochFigures) -> Nanos {
    let times = &epochs.times;
    times.draining + times.writing + times.flushing + times.collecting + times.settling + epochs.waiting
}

/// Percentiles, the highest latency and the interval of the last percentile.
fn tail(case: &str, measured: &Measured, mode: Option<Mode>) -> Vec<Row> {
    let row = |quantity: String, ns: Option<f64>| Row::new(case, quantity, "s", ns.map(|ns| ns / 1e9));
    let latency = |percentile: f64| {
        let paper = mode.filter(|_| percentile == LAST).map(printed);
        let row = row(format!("read latency, {percentile} %"), measured.read_percentile_ns(percentile));
        // "Over 19ms."
        let row = if mode == Some(Mode::Mix) { row.at_least(paper) } else { row.paper(paper) };
        row.explain(mode.map_or("", why))
    };
    let mut rows: Vec<Row> = PERCENTILES.map(latency).to_vec();
    let highest = mode.filter(|&mode| mode == Mode::Epoch).map(|_| HIGHEST_EPOCH);
    rows.push(
        row("read latency, highest".into(), Some(measured.reads.max().0 as f64))
            .paper(highest)
            .basis(Basis::Derived, "the middle of \"8ms-9ms\"")
            .explain(SHORT),
    );
    let Interval { from, to } = Interval::of(&measured.reads, LAST);
    let bound = |latency: Option<Nanos>| latency.map(|latency| latency.0 as f64);
    let count = format!("of {} reads, taken as independent", measured.reads.count());
    rows.push(row(format!("{LAST} %: 95 % interval from"), bound(from)).note(count.clone()));
    rows.push(row(format!("{LAST} %: 95 % interval to"), bound(to)).note(match to {
        Some(_) => count,
        None => format!("{count}: too few for an upper bound"),
    }));
    rows
}

/// The 99.9999th percentile, in seconds.
fn printed(mode: Mode) -> f64 {
    match mode {
        Mode::Mix => 19e-3,
        Mode::Epoch => 2204e-6,
        Mode::Control => 520e-6,
    }
}

/// Spikes of EPCH are "as high as 8ms-9ms".
const HIGHEST_EPOCH: f64 = 8.5e-3;

fn against(case: &str, mixed: &Measured, alone: &Measured) -> Row {
    let ratio = mixed.read_percentile_over(alone, LAST);
    Row::new(case, format!("read latency, {LAST} %"), "x", ratio).limit(1.0)
}

/// The modes against each other: 38 times and 4.2 times, and where EPCH begins to fall behind.
fn between_modes(done: &[Measured], rows: &[Row]) -> Vec<Row> {
    let of = |mode: Mode| find(done, mode.name());
    let ratio = |case: &str, mode, percentile| {
        let ratio = of(mode).read_percentile_over(of(Mode::Control), percentile);
        Row::new(case, format!("read latency, {percentile} %"), "x", ratio)
    };
    let [mix, epoch, control] = MODES.map(Mode::name);
    let order = |percentile: f64, cases: &[&str]| {
        let quantity = format!("read latency, {percentile} %");
        Row::resolved_order(rows, &quantity, cases, LatencyHistogram::ERROR_BOUND)
    };
    vec![
        ratio("MIX / GCCTRL", Mode::Mix, LAST).paper(38.0).explain(MIX),
        ratio("EPCH / GCCTRL", Mode::Epoch, LAST).paper(4.2).explain(EPOCH),
        order(LAST, &[mix, epoch, control]).explain(NO_CAUSE),
        ratio("EPCH / GCCTRL", Mode::Epoch, 99.0)
            .paper(1.0)
            .basis(Basis::Derived, "none: the tails part 'above the 99.7th percentile'")
            .explain(BACKGROUND),
        order(99.9, &[epoch, control]).explain(NO_CAUSE),
    ]
}

fn why(mode: Mode) -> &'static str {
    match mode {
        Mode::Mix => MIX,
        Mode::Epoch => EPOCH,
        Mode::Control => CONTROL,
    }
}

const MIX: &str = "\
The slowest reads wait in the host: all 32 tags of a drive are taken by writes that wait for room in its \
buffer, while its planes collect. How long that takes depends on how full the drives are: here all of their \
capacity holds data (section 5.4.1), 7 % is spare, and each page written moves some eight others. The \
dissertation gives neither the spare space nor how long its drives had been written to. Drives with 60 % of \
data, in the steady state of random writes, made it 35 ms.";

const EPOCH: &str = "\
These reads wait for an erase that is under way, or begins, after the token has passed: 4 ms here, the time \
of SWAN's section 3.5. Chips serve reads first, so that a read meets one erase and hardly more. The paper \
does not say what its drives' erases take.";

const CONTROL: &str = "\
Reads wait for other reads of the same chip: the same readers on two drives without a writer, below, are \
hardly better. Or for an erase where a drive had not come to rest when the token passed (counted below). A \
read takes 132 µs on an idle drive; the paper's drives are not described.";

const BACKGROUND: &str = "\
The drives of EPCH collect while they are idle, up to four erased blocks in each plane, and are always \
behind that, since they are full. If they collect only when a write finds too few (device.gc.background = \
false), collection stays within the epochs: 268 µs at 99 % and 1.02 times GCCTRL, in full at commit \
ebafed46. When the dissertation's drives collect it does not say, beyond 'uncontrollable'.";

const SHORT: &str = "\
Chips serve reads first here, and no program or copy of a page comes between: the longest wait is an erase, \
of 4 ms.";

const HALVES: &str = "\
Readers alone choose between two copies on four drives; beside writers who are never idle half of the drives \
have the token, and no read has a choice. The next row compares with what two drives can do.";

const SINCE: &str = "Since the beginning, before the measurement.";

const TWICE: &str = "\
Every write goes to two drives and counts once here, and a drive has the token for half of the time, with \
two groups. A page takes 0.28 ms of a die to write with its neighbour in the other plane, and 0.65 ms for \
each page that collection moves, some eight on drives that are full. Figure 5.6 shows read bandwidth.";
