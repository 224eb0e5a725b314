//! Shared parts of the studies of PAReset (Lee, Seoul National University, 2018): its drive, its
//! combinations, and their comparison.

use super::{Options, Row};
use tailcut_base::{Class, Nanos, Op};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run};
use tailcut_sim::report::{KindReport, class_kind};
use tailcut_sim::world::Limits;
use tailcut_ssd::config::{Classes, Handling};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;
use tailcut_workload::lsm::LsmConfig;

/// A combination of table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Name of the combination in the thesis.
    pub name: &'static str,
    /// Name of the combination in labels of runs.
    pub label: &'static str,
    /// What a read does to a program that it meets.
    pub program: Handling,
    /// What a read does to an erase that it meets.
    pub erase: Handling,
}

/// The combinations of table 1, in its order.
pub const COMBINATIONS: [Combination; 5] = {
    use Handling::{None, Reset, Suspend};
    [
        Combination { name: "SOS", label: "sos", program: None, erase: None },
        Combination { name: "W-S & E-S", label: "ws-es", program: Suspend, erase: Suspend },
        Combination { name: "W-S & E-R", label: "ws-er", program: Suspend, erase: Reset },
        Combination { name: "W-R & E-S", label: "wr-es", program: Reset, erase: Suspend },
        Combination { name: "W-R & E-R", label: "wr-er", program: Reset, erase: Reset },
    ]
};

/// What every combination is compared with.
pub const SOS: Combination = COMBINATIONS[0];
/// Suspending programs and erases.
pub const SUSPEND: Combination = COMBINATIONS[1];
/// Suspending programs, resetting erases.
pub const RESET_ERASES: Combination = COMBINATIONS[2];
/// Resetting programs, suspending erases.
pub const RESET_PROGRAMS: Combination = COMBINATIONS[3];
/// Resetting both.
pub const RESET: Combination = COMBINATIONS[4];

/// No bound on how often an operation is reset: the thesis names none.
pub const UNBOUNDED: u32 = 255;

impl Combination {
    /// The drive of the thesis under this combination, for reads that are all equal.
    pub fn drive(&self) -> SsdConfig {
        let mut device = Preset::PaReset.config();
        device.preempt.program = self.program;
        device.preempt.erase = self.erase;
        device.preempt.resets = UNBOUNDED;
        device.schedule.classes = Classes::Equal;
        device
    }
}

/// The share of the drive that the thesis' fio file of 8 GB takes up, in parts per million.
const FILE: u32 = 500_000;

/// The thesis' fio job (section 3.1): random reads and writes of 4 KiB, half and half, in a file of 8 GB
/// on the drive of 16 GB, 8 at a time, 8 GB in all; the drive has been in use for long. The short form
/// ends after an eighth of that.
///
/// "The queue depth is 8, so that delays by queueing inside of the SSD are small": so the requests in the
/// drive are bounded by the queue depth, and a write is over when it is on flash. Behind a write buffer of
/// the drive's own, thousands of programs would queue (the rows 'buffered' show that).
pub fn fio(options: &Options, label: String, device: SsdConfig) -> Run {
    let mut device = device;
    device.buffer.size = 0;
    let requests = (8 << 30) / 4096 / if options.quick { 8 } else { 1 };
    let workload = SyntheticConfig {
        read: 500_000,
        region_share: FILE,
        pace: PaceKind::Closed,
        depth: 8,
        ..SyntheticConfig::default()
    };
    let scenario = Scenario {
        seed: options.seed,
        content: false,
        device,
        precondition: Precondition { state: PreparedState::Steady, fill: FILE },
        run: Limits { requests, ..Limits::NONE },
        workload,
        ..Scenario::default()
    };
    Run { label, scenario }
}

/// The thesis' load on RocksDB (section 5.1): "several streams of random reads and one of random writes",
/// two million of each, on a store that fills four fifths of the drive. The thesis' billion keys are more
/// than its drive can hold; ours are as many as fit, and memtables, files and levels are in proportion. The
/// short form ends after a tenth.
///
/// `cached` selects how much of the host's memory is in front of the drive: see [`Cached`].
pub fn rocksdb(options: &Options, label: String, device: SsdConfig, cached: Cached) -> Run {
    let part = if options.quick { 10 } else { 1 };
    let (gets, get_time) = match cached {
        Cached::Nothing => (GETS, Nanos::micros(5)),
        Cached::Most => (GETS / UNCACHED, GET_TIME),
    };
    let lsm = LsmConfig {
        enabled: true,
        gets: gets / part,
        puts: PUTS / part,
        get_time,
        region_share: STORE,
        ..LsmConfig::default()
    };
    let scenario = Scenario {
        seed: options.seed,
        content: false,
        device,
        precondition: Precondition { state: PreparedState::Steady, fill: STORE },
        run: Limits::NONE,
        lsm,
        ..Scenario::default()
    };
    Run { label, scenario }
}

/// How many of the gets come to the drive. The thesis leaves this open; RocksDB reads through the page
/// cache of the host by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// All of them do: direct reads.
    Nothing,
    /// One in twenty does, the others find their block in the page cache; they spread over the time that
    /// the compactions of two million puts take.
    Most,
}

/// Gets and puts of the thesis' load.
const GETS: u64 = 2_000_000;
const PUTS: u64 = 2_000_000;
/// One of this many gets comes to the drive when most blocks are cached.
const UNCACHED: u64 = 20;
/// The time of a thread between such gets: a hundred thousand of them by four threads take 200 s, about as
/// long as the drive needs for the compactions.
const GET_TIME: Nanos = Nanos::millis(8);
/// The share of the drive that the store fills, in parts per million.
const STORE: u32 = 800_000;

/// The urgent reads: those of class 1, where a load has several classes.
///
/// # Panics
/// If the run had neither reads of class 1 nor any others.
pub fn reads(measured: &Measured) -> &KindReport {
    let name = class_kind(Class::new(1).expect("there is a class 1"));
    let urgent = measured.report.kinds.iter().find(|kind| kind.kind == name);
    urgent.or_else(|| measured.kind(Op::Read)).expect("there were reads")
}

/// The mean latency of the reads in ns.
pub fn mean(measured: &Measured) -> f64 {
    reads(measured).latency.mean_ns
}

/// A percentile of the reads' latency in ns; `None` if there were too few reads to resolve it.
pub fn percentile(measured: &Measured, percentile: f64) -> Option<f64> {
    let point = reads(measured).latency.points.iter().find(|point| point.percentile == percentile)?;
    point.resolved.then_some(point.ns as f64)
}

/// Erases that have worn blocks, for each byte that the host wrote.
pub fn wear(measured: &Measured) -> f64 {
    measured.figures.worn() as f64 / measured.figures.counts.host_pages_written as f64
}

/// The percentile that the thesis calls the tail (its abstract), and its row.
pub const TAIL_PERCENTILE: f64 = 99.99;
/// The name of its row.
pub const TAIL: &str = "read latency, 99.99 %";

/// Mean, tail and life of one combination.
pub fn rows_of(case: &str, measured: &Measured) -> Vec<Row> {
    let bare = reads(measured).latency.bare_ns / 1e9;
    let row =
        |quantity: &str, ns: Option<f64>| Row::new(case, quantity, "s", ns.map(|ns| ns / 1e9)).limit(bare);
    let life = &measured.report.drive.lifetime;
    vec![
        row("read latency, mean", Some(mean(measured))),
        row("read latency, 99 %", percentile(measured, 99.0)),
        row("read latency, 99.9 %", percentile(measured, 99.9)),
        row(TAIL, percentile(measured, TAIL_PERCENTILE)),
        Row::new(case, "writes of a lifetime", "B", life.bytes_written).limit(life.bytes_written_most),
    ]
}
