//! The workloads, at a share of what the array sustains.

use super::way::{Arrangement, FILLED, THREADS};
use crate::Options;
use crate::array_loads::{Load, loads};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::measured::Measured;
use tailcut_sim::world::Limits;
use tailcut_workload::config::{ArrivalKind, PaceKind};
use tailcut_workload::{BesideConfig, LsmConfig, SyntheticConfig};

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Work {
    /// 4 KiB at random places, seven reads for three writes.
    Mixed,
    /// Readers of a log-structured merge store beside its writer.
    Lsm,
    /// A recorded trace, or a published workload where there is none.
    Recorded(Load),
    /// Gets and sets of a key-value store, 30 to 1 (Shin 2017, section 5.1: Facebook's workloads), in bursts.
    /// Popular items are in its memory: flash is read for the others, at random.
    Bursts,
}

/// The share of what the array sustains.
const SHARE: f64 = 0.7;

/// Until the drives collect as much as is written, and drives that collect on the host's command have the
/// free blocks that they need.
const RAMP: Nanos = Nanos::secs(15);

/// For how long it is measured what the array sustains: collection comes in waves, some seconds apart.
const WAVES: Nanos = Nanos::secs(30);

/// Requests at a time that keep the array busy; and writes at a time beside reads, so that those which wait
/// for room take no reader's thread.
const SATURATED: u32 = 256;

/// Share of the reads of [`Work::Mixed`] and [`Work::Bursts`].
const READS: f64 = 0.7;
const GETS: f64 = 30.0 / 31.0;

/// Records of the store: those of SWAN's studies (`swan-8`).
const KEYS: u64 = 4_000_000;

/// Bursts of 10 ms, with as long a pause.
const BURST: Nanos = Nanos::millis(10);

/// Reads that are measured: enough for 99.99 %, and in the full form for 99.9999 %.
fn measured_reads(options: &Options) -> f64 {
    if options.quick { 800_000.0 } else { 3_000_000.0 }
}

/// All workloads.
pub(super) fn works(options: &Options) -> Vec<Work> {
    let mut works = vec![Work::Mixed];
    if options.quick {
        return works;
    }
    works.push(Work::Lsm);
    works.extend(loads(options).into_iter().next().map(Work::Recorded));
    works.push(Work::Bursts);
    works
}

impl Work {
    /// Its name in rows and labels.
    pub(super) fn name(&self) -> String {
        match self {
            Work::Mixed => "mixed-random".into(),
            Work::Lsm => "lsm-store".into(),
            Work::Recorded(load) => load.name(),
            Work::Bursts => "bursty-kv".into(),
        }
    }

    /// As much as the array takes.
    pub(super) fn saturate(&self, options: &Options, scenario: &mut Scenario, way: Arrangement) {
        let class = u32::from(way.read_class().number());
        scenario.run = Limits { ramp: RAMP, duration: RAMP + WAVES, ..Limits::NONE };
        match self {
            Work::Mixed => scenario.workload = SyntheticConfig { read_class: class, ..closed(READS) },
            Work::Bursts => scenario.workload = SyntheticConfig { read_class: class, ..closed(GETS) },
            Work::Lsm => self.store(scenario, class, 0),
            Work::Recorded(load) => {
                load.saturate(options, scenario);
                scenario.workload.read_class = class;
            }
        }
    }

    /// A store whose writer puts at this rate, or as it can.
    fn store(&self, scenario: &mut Scenario, get_class: u32, put_rate: u64) {
        let (gets, puts) = (KEYS / 4, KEYS / 2);
        let store = LsmConfig { enabled: true, region_share: FILLED, keys: KEYS, ..LsmConfig::default() };
        scenario.lsm = LsmConfig { gets, puts, get_class, put_rate, ..store };
        scenario.run = Limits::NONE;
    }

    /// The rate, per second, of the quantity that [`Work::carry`] sets.
    pub(super) fn sustained(&self, saturated: &Measured) -> f64 {
        match self {
            Work::Lsm => saturated.report.store.as_ref().map_or(0.0, |store| store.puts_per_s),
            _ => saturated.iops(),
        }
    }

    /// True when its reads are not of one size, so that they are held against their own.
    pub(super) fn has_sizes(&self) -> bool {
        matches!(self, Work::Recorded(_))
    }

    /// A share of what was sustained: reads and writes come by clocks of their own, or as they were recorded.
    pub(super) fn carry(&self, options: &Options, scenario: &mut Scenario, way: Arrangement, sustained: f64) {
        let rate = sustained * SHARE;
        let (reads, class) = (measured_reads(options), u32::from(way.read_class().number()));
        let by_the_clock = |scenario: &mut Scenario, share: f64, base: SyntheticConfig, on: f64| {
            let seconds = reads / (rate * share * on);
            scenario.run =
                Limits { ramp: RAMP, duration: RAMP + Nanos((seconds * 1e9) as u64), ..Limits::NONE };
            let of = |read: bool, share: f64| SyntheticConfig {
                read: if read { 1_000_000 } else { 0 },
                read_class: class,
                pace: PaceKind::Open,
                rate: ((rate * share) as u64).max(1),
                depth: if read { THREADS - SATURATED } else { SATURATED },
                ..base.clone()
            };
            scenario.workload = of(true, share);
            scenario.beside = BesideConfig { enabled: true, source: of(false, 1.0 - share) };
        };
        match self {
            Work::Mixed => by_the_clock(scenario, READS, uniform(), 1.0),
            Work::Bursts => {
                let base = SyntheticConfig {
                    arrivals: ArrivalKind::Bursts,
                    burst_time: BURST,
                    idle: BURST,
                    ..uniform()
                };
                by_the_clock(scenario, GETS, base, 0.5);
            }
            Work::Lsm => self.store(scenario, class, (rate as u64).max(1)),
            Work::Recorded(load) => {
                load.carry(options, scenario, rate);
                scenario.workload.read_class = class;
            }
        }
    }

    /// One read at a time, and nothing else; of a recorded trace one request at a time, whose writes no read
    /// meets.
    pub(super) fn alone(&self, options: &Options, scenario: &mut Scenario, way: Arrangement) {
        if let Work::Recorded(load) = self {
            load.saturate(options, scenario);
            (scenario.trace.depth, scenario.datacenter.depth) = (1, 1);
            scenario.workload.read_class = u32::from(way.read_class().number());
            return;
        }
        scenario.run = Limits { ramp: Nanos::millis(10), requests: 20_000, ..Limits::NONE };
        scenario.workload = SyntheticConfig { depth: 1, ..closed(1.0) };
        scenario.workload.read_class = u32::from(way.read_class().number());
    }
}

fn uniform() -> SyntheticConfig {
    SyntheticConfig { region_share: FILLED, ..SyntheticConfig::default() }
}

fn closed(reads: f64) -> SyntheticConfig {
    let read = (reads * 1e6) as u32;
    SyntheticConfig { read, pace: PaceKind::Closed, depth: SATURATED, ..uniform() }
}
