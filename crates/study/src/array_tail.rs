//! Beyond SWAN: an array of which no read waits for garbage collection.
//!
//! Four drives of 8 channels × 8 LUNs form a RAID5 with chunks of 4 KiB, nearly full and in steady state.
//! Read latencies are compared with those of the same array whose garbage collection takes no time: a ratio
//! of 1 means that collection is not felt.

use super::array_loads::{Load, loads};
use super::{Basis, Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_host::array::{ArrayConfig, LayoutKind, ReadPolicy};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::config::FailFast;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};

/// Reads of arrays that collect, against the same array without collection.
pub(crate) struct ArrayTail;

/// How an array treats its drives' garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// It takes no time: what all others are compared with.
    Ideal,
    /// Drives collect when they have to, and reads wait.
    Plain,
    /// Drives collect in turn; reads wait.
    Windows,
    /// Drives collect in turn; reads for the one whose turn it is are reconstructed.
    Steered,
    /// Reads that meet collection are reconstructed.
    FailFast,
    /// Both (IODA).
    Ioda,
    /// Both, and reads that meet a program of the host's own data are also reconstructed.
    Ours,
}

const POLICIES: [Policy; 7] = [
    Policy::Ideal,
    Policy::Plain,
    Policy::Windows,
    Policy::Steered,
    Policy::FailFast,
    Policy::Ioda,
    Policy::Ours,
];

/// The policies of the quick form.
const QUICK: [Policy; 4] = [Policy::Ideal, Policy::Plain, Policy::Ioda, Policy::Ours];

fn policies(options: &Options) -> impl Iterator<Item = Policy> + Clone + use<> {
    let all: &[Policy] = if options.quick { &QUICK } else { &POLICIES };
    all.iter().copied()
}

/// The policies that collect.
fn collecting(options: &Options) -> impl Iterator<Item = Policy> + Clone + use<> {
    policies(options).filter(|&policy| policy != Policy::Ideal)
}

/// Drives of the array.
const DRIVES: u32 = 4;

/// How long each drive's turn is: ten times as long as the longest operations of its chips, for which it
/// stops before its end, so that this costs a tenth of it. What is written in four turns then needs less than
/// half a block of each plane; the thresholds of collection leave four.
const TURN: Nanos = Nanos::millis(25);

/// The percentiles that are compared, with IODA's figures for itself and for plain RAID5.
const PERCENTILES: [(f64, &str, Option<f64>, Option<f64>); 5] = [
    (95.0, "read p95", Some(1.27), Some(10.3)),
    (99.0, "read p99", Some(1.22), Some(10.4)),
    (99.9, "read p99.9", Some(1.13), Some(4.4)),
    (99.99, "read p99.99", Some(1.19), Some(2.4)),
    (99.9999, "read p99.9999", None, None),
];

/// The share of the saturated plain array's throughput at which the busiest hundredth of a trace comes.
const CARRIED: f64 = 0.5;

impl Policy {
    fn name(self) -> &'static str {
        match self {
            Policy::Ideal => "no GC",
            Policy::Plain => "plain",
            Policy::Windows => "windows",
            Policy::Steered => "windows, reads steered around",
            Policy::FailFast => "fail-fast",
            Policy::Ioda => "fail-fast + windows (IODA)",
            Policy::Ours => "fail-fast on programs too + windows (ours)",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Policy::Ideal => "no-gc",
            Policy::Plain => "plain",
            Policy::Windows => "windows",
            Policy::Steered => "steered",
            Policy::FailFast => "fail-fast",
            Policy::Ioda => "ioda",
            Policy::Ours => "ours",
        }
    }

    fn scenario(self, options: &Options) -> Scenario {
        let mut device = Preset::Femu.config();
        device.gc.ideal = self == Policy::Ideal;
        let mut array = ArrayConfig { drives: DRIVES, layout: LayoutKind::Raid5, ..ArrayConfig::default() };
        array.raid.chunk = 4096;
        if matches!(self, Policy::Windows | Policy::Steered | Policy::Ioda | Policy::Ours) {
            array.turns = TURN;
            array.turn_pause = device.timing.erase + device.timing.program[0];
        }
        array.reads = match self {
            Policy::Steered => ReadPolicy::AroundCollection,
            Policy::FailFast | Policy::Ioda | Policy::Ours => ReadPolicy::FailFast,
            _ => ReadPolicy::Direct,
        };
        if self == Policy::Ours {
            device.schedule.fail_fast = FailFast::Writes;
        }
        let precondition = Precondition { state: PreparedState::Steady, fill: 1_000_000 };
        Scenario { seed: options.seed, content: false, device, array, precondition, ..Scenario::default() }
    }

    fn saturated(self, options: &Options, load: &Load) -> Run {
        let mut scenario = self.scenario(options);
        load.saturate(options, &mut scenario);
        Run { label: label("saturated", load, self), scenario }
    }

    fn carried(self, options: &Options, load: &Load, rate: f64) -> Run {
        let mut scenario = self.scenario(options);
        load.carry(options, &mut scenario, rate);
        Run { label: label("carried", load, self), scenario }
    }
}

fn label(kind: &str, load: &Load, policy: Policy) -> String {
    format!("{kind}/{}/{}", load.name(), policy.id())
}

impl Study for ArrayTail {
    fn id(&self) -> &'static str {
        "beyond-array-tail"
    }

    fn title(&self) -> &'static str {
        "Reads of an array that collects garbage, against the same array without collection"
    }

    fn source(&self) -> &'static str {
        "Li et al., IODA, SOSP 2021 (percentiles as ratios); Kim et al., SWAN, ATC 2019, section 3.3, future \
            work"
    }

    fn later_runs(&self) -> Option<&'static str> {
        Some(
            "latencies are compared where a trace's busiest hundredth takes half of what the plain array can \
                do",
        )
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        let loads = loads(options);
        let first = loads.len() * collecting(options).count();
        if done.is_empty() {
            let saturated = |load| collecting(options).map(move |policy| policy.saturated(options, load));
            return loads.iter().flat_map(saturated).collect();
        }
        if done.len() > first {
            return Vec::new();
        }
        let carried = |load| {
            let rate = find(done, &label("saturated", load, Policy::Plain)).iops() * CARRIED;
            policies(options).map(move |policy| policy.carried(options, load, rate))
        };
        loads.iter().flat_map(carried).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let loads = loads(options);
        let mut rows = Vec::new();
        for policy in collecting(options) {
            rows.extend(PERCENTILES.map(|percentile| ratio(&loads, done, policy, percentile)));
            rows.push(write_bandwidth(&loads, done, policy));
        }
        for load in &loads {
            rows.extend(policies(options).flat_map(|policy| latencies(load, done, policy)));
            rows.extend(collecting(options).map(|policy| saturated(load, done, policy)));
        }
        rows
    }
}

/// The geometric mean over the loads of a percentile against that of the array without collection.
fn ratio(
    loads: &[Load],
    done: &[Measured],
    policy: Policy,
    (percentile, quantity, ioda, plain): (f64, &str, Option<f64>, Option<f64>),
) -> Row {
    let of = |load: &Load, policy| find(done, &label("carried", load, policy));
    let ratio = |load| of(load, policy).read_percentile_over(of(load, Policy::Ideal), percentile);
    let ratios: Option<Vec<f64>> = loads.iter().map(ratio).collect();
    let paper = match policy {
        Policy::Ioda => ioda,
        Policy::Plain => plain,
        _ => None,
    };
    Row::new(policy.name(), quantity, "ratio", ratios.and_then(|ratios| geometric_mean(ratios.into_iter())))
        .paper(paper)
        .basis(Basis::Derived, "of other traces than these")
        .explain(LOAD)
}

/// Bytes per second of the saturated array, against the plain one: the same requests, so the same share of
/// them is written.
fn write_bandwidth(loads: &[Load], done: &[Measured], policy: Policy) -> Row {
    let ratios = loads.iter().map(|load| against_plain(load, done, policy));
    Row::new(policy.name(), "write bandwidth, saturated, / plain", "ratio", geometric_mean(ratios))
}

fn against_plain(load: &Load, done: &[Measured], policy: Policy) -> f64 {
    let of = |policy| find(done, &label("saturated", load, policy)).bandwidth();
    of(policy) / of(Policy::Plain)
}

fn saturated(load: &Load, done: &[Measured], policy: Policy) -> Row {
    let case = format!("{}, {}", load.name(), policy.name());
    Row::new(case, "write bandwidth, saturated, / plain", "x", against_plain(load, done, policy))
}

fn latencies(load: &Load, done: &[Measured], policy: Policy) -> [Row; 5] {
    let measured = find(done, &label("carried", load, policy));
    let case = format!("{}, {}", load.name(), policy.name());
    PERCENTILES.map(|(percentile, quantity, ..)| {
        Row::new(&*case, quantity, "µs", measured.read_percentile_ns(percentile).map(|ns| ns / 1e3))
    })
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

const LOAD: &str = "\
IODA's figures are of other traces, played at rates that it does not give: how much of the time a drive \
collects decides how often a read meets it. Here the busiest hundredth of each trace takes half of what the \
plain array can carry.";
