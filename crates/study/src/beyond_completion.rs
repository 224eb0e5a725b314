//! Beyond Shin: every strategy, and the hybrid, from idle to saturation, on drives of three speeds.
//!
//! The *price* of a read is its mean latency plus the time of hardware threads that it took from others: a
//! microsecond of waiting and a microsecond of a core weigh the same. Where threads of the background
//! compute, what is taken from others is their work; where the cores are saturated, latency and time per read
//! are both inverse to the reads per second, and so is their sum. So one figure orders strategies by latency
//! and background at low load, and by throughput at high load.

use super::shin_host::{beside, direct, emulated_apart, run, sata};
use super::{Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::path::Background;
use tailcut_ssd::Preset;
use tailcut_ssd::config::SsdConfig;

/// Strategies against load.
pub(crate) struct Completion;

const HYBRID: &str = "hybrid";

/// The others, each for itself.
const FIXED: [&str; 10] = [
    "scsi",
    "nvme",
    "nonblocking",
    "lazy",
    "coop",
    "poll",
    "coop-poll",
    "spin",
    "precomplete",
    "lazy+precomplete",
];

/// The drives that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drives {
    Sata,
    Nvme,
    Fast,
}

const DRIVES: [(Drives, &str); 3] = [(Drives::Sata, "sata"), (Drives::Nvme, "nvme"), (Drives::Fast, "z-ssd")];

/// A load: how many threads read, how long each pauses, and whether others compute beside.
struct Load {
    name: &'static str,
    threads: u32,
    think: Nanos,
    is_beside: bool,
    is_quick: bool,
}

const fn load(name: &'static str, threads: u32, think: Nanos) -> Load {
    Load { name, threads, think, is_beside: false, is_quick: false }
}

const LOADS: [Load; 10] = [
    Load { is_quick: true, ..load("idle", 1, Nanos::micros(500)) },
    load("1", 1, Nanos::ZERO),
    load("4", 4, Nanos::ZERO),
    Load { is_quick: true, ..load("8", 8, Nanos::ZERO) },
    load("16", 16, Nanos::ZERO),
    load("32", 32, Nanos::ZERO),
    load("64", 64, Nanos::ZERO),
    Load { is_quick: true, ..load("128", 128, Nanos::ZERO) },
    Load { is_beside: true, is_quick: true, ..load("1+cpu", 1, Nanos::ZERO) },
    Load { is_beside: true, ..load("8+cpu", 8, Nanos::ZERO) },
];

impl Study for Completion {
    fn id(&self) -> &'static str {
        "beyond-completion"
    }

    fn title(&self) -> &'static str {
        "every way to wait for a read, from idle to saturation, and one that changes between them"
    }

    fn source(&self) -> &'static str {
        "beyond Shin 2017, sections 3.3.3 and 3.4, which leave a hybrid to future work"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        cells(options).flat_map(|(drives, load)| runs(options, drives, load)).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows: Vec<Row> = cells(options).flat_map(|(drives, load)| rows(done, drives, load)).collect();
        rows.extend(FIXED.map(|strategy| ahead(options, done, strategy)));
        rows
    }
}

type Cell = ((Drives, &'static str), &'static Load);

fn cells(options: &Options) -> impl Iterator<Item = Cell> {
    let quick = options.quick;
    let loads = move || LOADS.iter().filter(move |load| load.is_quick || !quick);
    DRIVES.into_iter().flat_map(move |drives| loads().map(move |load| (drives, load)))
}

fn label((_, drives): (Drives, &str), load: &Load, strategy: &str) -> String {
    format!("{drives}/{}/{strategy}", load.name)
}

fn runs(options: &Options, drives: (Drives, &'static str), load: &'static Load) -> Vec<Run> {
    let one =
        |&strategy: &&str| run(label(drives, load, strategy), scenario(options, drives.0, load, strategy));
    FIXED.iter().chain(&[HYBRID]).map(one).collect()
}

fn scenario(options: &Options, drives: Drives, load: &Load, strategy: &str) -> Scenario {
    let mut scenario = match drives {
        Drives::Sata => sata(options, strategy, super::shin_host::DRIVES, 512),
        Drives::Nvme => direct(options, emulated_apart(), strategy, load.threads),
        Drives::Fast => direct(options, fast(), strategy, load.threads),
    };
    scenario.host.threads = load.threads;
    scenario.workload.depth = load.threads;
    scenario.workload.think = load.think;
    // The window is found by feedback; it begins where chapter 4 has it.
    scenario.host.window_feedback = true;
    if load.is_beside {
        scenario = beside(scenario, Background::Cpu);
        scenario.host.background_threads = 8;
        // A thread that has slept goes before others, until it has used up what it is ahead by.
        scenario.run.ramp = Nanos::millis(200);
    }
    scenario.run.duration = scenario.run.ramp + Nanos::millis(if options.quick { 40 } else { 300 });
    scenario
}

/// `z-ssd` with few blocks, since it is only read.
fn fast() -> SsdConfig {
    let mut drive = Preset::Zssd.config();
    drive.geometry.blocks = 16;
    drive.geometry.pages = 16;
    drive.ftl.spare = 600_000;
    drive
}

/// How long a read takes its thread, by Little's law, in s. The mean over those that have ended would leave
/// out threads that starve.
fn latency(measured: &Measured, load: &Load) -> f64 {
    f64::from(load.threads) / measured.iops() - load.think.as_secs_f64()
}

/// See the head of this file, in s.
fn price(measured: &Measured, load: &Load) -> f64 {
    let host = measured.host.as_ref().expect("there is a host");
    latency(measured, load) + host.per_request_ns(measured.requests()) / 1e9
}

fn rows(done: &[Measured], drives: (Drives, &'static str), load: &Load) -> Vec<Row> {
    let of = |strategy: &str| find(done, &label(drives, load, strategy));
    let mut rows = Vec::new();
    for strategy in FIXED.iter().chain(&[HYBRID]) {
        let case = format!("{}, {}: {strategy}", drives.1, load.name);
        rows.extend(figures(of(strategy), load, &case));
    }
    let prices = FIXED.map(|strategy| price(of(strategy), load));
    let least = prices.iter().copied().fold(f64::INFINITY, f64::min);
    let best = FIXED[prices.iter().position(|&price| price == least).expect("it is one of them")];
    let case = format!("{}, {}: best fixed ({best}) / hybrid", drives.1, load.name);
    rows.push(Row::new(case, "price", "x", least / price(of(HYBRID), load)).limit(0.97));
    rows
}

/// By how much the hybrid is ahead of another where it is ahead most.
fn ahead(options: &Options, done: &[Measured], strategy: &str) -> Row {
    let ratio = |(drives, load): Cell| {
        let of = |strategy: &str| price(find(done, &label(drives, load, strategy)), load);
        of(strategy) / of(HYBRID)
    };
    let most = cells(options).map(ratio).fold(0.0, f64::max);
    Row::new(format!("{strategy} / hybrid, where it is most"), "price", "x", most)
}

fn figures(measured: &Measured, load: &Load, case: &str) -> [Row; 6] {
    let host = measured.host.as_ref().expect("there is a host");
    let background = host.background_requests as f64 / host.elapsed.as_secs_f64();
    [
        Row::new(case, "reads", "1/s", measured.iops()),
        Row::new(case, "mean latency", "s", latency(measured, load)),
        Row::new(case, "99.9th percentile", "s", measured.read_percentile(99.9)),
        Row::new(
            case,
            "time of hardware threads per read",
            "s",
            host.per_request_ns(measured.requests()) / 1e9,
        ),
        Row::new(case, "background", "1/s", background),
        Row::new(case, "price", "s", price(measured, load)),
    ]
}
