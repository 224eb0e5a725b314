//! Beyond Shin, section 5.5.4 ("unbounded write latency"): how long writes take when more of them are
//! offered.

use super::shin::{Mode, bandwidth, run, writers};
use super::{Options, Row, Study};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_workload::{BesideConfig, SyntheticConfig};

/// Latency of writes by offered load.
pub(crate) struct WriteLoad;

/// Offered loads, in per cent of what the array takes from writers that are never idle.
const LOADS: [u64; 8] = [10, 30, 50, 70, 90, 100, 120, 150];

/// The loads of the quick form.
const QUICK: [u64; 4] = [10, 50, 90, 150];

/// Readers of 4 KiB beside the writers.
const READERS: u32 = 8;

/// Bytes of a write: small enough that what is offered is spread out.
const WRITE: u64 = 64 << 10;

/// Writes in flight: beyond them the host holds its own writes back. 2 MiB, half of what the four writers of
/// 1 MiB have.
const DEPTH: u32 = 32;

const SATURATED: &str = "saturated";

fn loads(options: &Options) -> &'static [u64] {
    if options.quick { &QUICK } else { &LOADS }
}

fn scenario(options: &Options, source: SyntheticConfig) -> Scenario {
    let seconds = if options.quick { 2 } else { 30 };
    let scenario = Mode::Control.readers(options, READERS, seconds);
    let beside = BesideConfig { enabled: true, source };
    Scenario { beside, ..scenario }
}

fn small_writers() -> SyntheticConfig {
    SyntheticConfig { write_size: "64KiB".into(), depth: DEPTH, ..writers() }
}

fn label(load: u64) -> String {
    format!("load/{load}")
}

/// As many writers as may have a write in flight, each of which pauses after its own: together they offer
/// `rate` writes per second if these are answered at once, and what is answered later they offer later. In an
/// open loop what is offered beyond what the array takes would wait ever longer, whatever the array does.
fn offering(rate: f64) -> SyntheticConfig {
    let think = Nanos((f64::from(DEPTH) / rate.max(1.0) * 1e9) as u64);
    SyntheticConfig { think, ..small_writers() }
}

impl Study for WriteLoad {
    fn id(&self) -> &'static str {
        "epoch-writes"
    }

    fn title(&self) -> &'static str {
        "Latency of writes of 64 KiB against the offered load, beside 8 readers, with GC control"
    }

    fn source(&self) -> &'static str {
        "Beyond Shin, dissertation, 2017, section 5.5.4, which leaves write latency unbounded"
    }

    fn later_runs(&self) -> Option<&'static str> {
        Some("loads are shares of what writers that are never idle write")
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if done.is_empty() {
            return vec![run(SATURATED.to_string(), scenario(options, small_writers()))];
        }
        if done.len() > 1 {
            return Vec::new();
        }
        let most = bandwidth(find(done, SATURATED), Op::Write) / WRITE as f64;
        let at = |&load: &u64| run(label(load), scenario(options, offering(most * load as f64 / 100.0)));
        loads(options).iter().map(at).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = rows_of("as fast as it goes", find(done, SATURATED));
        for &load in loads(options) {
            rows.extend(rows_of(&format!("{load} % offered"), find(done, &label(load))));
        }
        rows
    }
}

fn rows_of(case: &str, measured: &Measured) -> Vec<Row> {
    let seconds = |latency: Nanos| latency.as_secs_f64();
    let row = |quantity: &str, unit, value: f64| Row::new(case, quantity, unit, value);
    let resolved = |of: &LatencyHistogram, percentile| of.resolved_percentile(percentile).map(seconds);
    let mut rows = vec![
        row("write bandwidth", "B/s", bandwidth(measured, Op::Write)),
        Row::new(case, "write latency, 99.9 %", "s", resolved(&measured.writes, 99.9)),
        row("write latency, highest", "s", seconds(measured.writes.max())),
        Row::new(case, "read latency, 99.99 %", "s", resolved(&measured.reads, 99.99)),
    ];
    if let Some(epochs) = &measured.epochs {
        rows.push(row("longest wait of a copy for the token", "s", seconds(epochs.longest_wait)).note(SINCE));
        rows.push(row("copies later than the deadline", "1", epochs.late as f64).note(SINCE));
    }
    rows
}

const SINCE: &str = "Since the beginning, before the measurement.";
