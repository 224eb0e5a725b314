//! Shin, figures 5.4 and 5.5: latencies of reads beside writers.

use super::interval::Interval;
use super::shin::{MODES, Mode, bandwidth, run};
use super::{Measured, Options, Row, Run, Study, find};
use tailcut_base::Op;

/// The tail of reads in the three modes.
pub struct ReadTail;

/// Readers.
const READERS: u32 = 8;

/// Percentiles of figure 5.5, and beyond.
const PERCENTILES: [f64; 8] = [50.0, 90.0, 99.0, 99.7, 99.9, 99.99, 99.999, LAST];

const LAST: f64 = 99.9999;

/// The run without a writer.
const ALONE: &str = "GCCTRL/no-writer";

impl Study for ReadTail {
    fn id(&self) -> &'static str {
        "shin-5.4"
    }

    fn title(&self) -> &'static str {
        "Latency of 8 random 4 KiB readers beside 4 random 1 MiB writers on four SATA drives: mixed, in epochs, with GC control"
    }

    fn source(&self) -> &'static str {
        "Shin, dissertation, Seoul National University, 2017, section 5.4.2, figures 5.4 and 5.5"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let seconds = if options.quick { 4 } else { 200 };
        let mixed = |mode: Mode| run(mode.name().to_string(), mode.mixed(options, READERS, seconds));
        let alone = run(ALONE.to_string(), Mode::Control.readers(options, READERS, seconds));
        MODES.into_iter().map(mixed).chain([alone]).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let alone = find(done, ALONE);
        let mut rows: Vec<Row> =
            MODES.into_iter().flat_map(|mode| rows_of(mode, find(done, mode.name()))).collect();
        rows.extend(tail("GCCTRL without a writer", alone, None));
        rows.push(against(find(done, Mode::Control.name()), alone));
        rows
    }
}

fn rows_of(mode: Mode, measured: &Measured) -> Vec<Row> {
    let case = mode.name();
    let rate = |quantity: &str, op| Row::new(case, quantity, "B/s", bandwidth(measured, op));
    let mut rows = tail(case, measured, Some(mode));
    let total = Row::new(case, "bandwidth, reads and writes", "B/s", measured.bandwidth());
    rows.push(if mode == Mode::Mix { total } else { total.note(TWICE) });
    rows.extend([
        rate("read bandwidth", Op::Read),
        rate("write bandwidth", Op::Write),
        Row::new(case, "highest write latency", "s", measured.writes.max().as_secs_f64()),
    ]);
    if let Some(epochs) = &measured.epochs {
        let count = |quantity: &str, count: u64| Row::new(case, quantity, "1", count as f64);
        rows.push(count("copies later than the deadline", epochs.late).note(SINCE));
        rows.push(count("times a drive did not come to rest", epochs.restless).note(SINCE));
    }
    rows
}

/// Percentiles, the highest latency and the interval of the last percentile.
fn tail(case: &str, measured: &Measured, mode: Option<Mode>) -> Vec<Row> {
    let row = |quantity: String, ns: Option<f64>| Row::new(case, quantity, "s", ns.map(|ns| ns / 1e9));
    let latency = |percentile: f64| {
        let paper = mode.filter(|_| percentile == LAST).map(printed);
        let row = row(format!("read latency, {percentile} %"), Some(measured.read_percentile_ns(percentile)));
        row.paper(paper).explain(mode.map_or("", why))
    };
    let mut rows: Vec<Row> = PERCENTILES.map(latency).to_vec();
    let highest = mode.filter(|&mode| mode == Mode::Epoch).map(|_| HIGHEST_EPOCH);
    rows.push(
        row("read latency, highest".into(), Some(measured.reads.max().0 as f64))
            .paper(highest)
            .explain(SHORT),
    );
    let Interval { from, to } = Interval::of(&measured.reads, LAST);
    let bound = |latency: Option<tailcut_base::Nanos>| latency.map(|latency| latency.0 as f64);
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

fn against(mixed: &Measured, alone: &Measured) -> Row {
    let ratio = mixed.read_percentile_ns(LAST) / alone.read_percentile_ns(LAST);
    Row::new("GCCTRL / no writer", format!("read latency, {LAST} %"), "x", ratio).limit(1.0)
}

fn why(mode: Mode) -> &'static str {
    match mode {
        Mode::Mix => MIX,
        Mode::Epoch => EPOCH,
        Mode::Control => CONTROL,
    }
}

const MIX: &str = "\
The slowest reads wait in the host: all 32 tags of a drive are taken by writes that wait for room in its buffer, while its planes collect. How \
long that takes depends on how full the paper's drives were, which it does not say.";

const EPOCH: &str = "\
These reads wait for an erase that goes on, or begins, after the token has passed: 4 ms here, the time of SWAN's section 3.5. Chips serve \
reads first, so that a read meets one erase and hardly more. The paper does not say what its drives' erases take.";

const CONTROL: &str = "\
Reads wait for other reads of the same chip, or for an erase where a drive had not come to rest when the token passed (counted below). A read takes 132 us \
on an idle drive; the paper's drives are not described.";

const SHORT: &str = "\
Chips serve reads first here, and no program or copy of a page comes between: the longest wait is an erase, of 4 ms.";

const SINCE: &str = "Since the beginning, before the measurement.";

const TWICE: &str = "Every write goes to two drives, whose bandwidth counts once here.";
