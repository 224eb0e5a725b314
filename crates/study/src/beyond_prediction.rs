//! Beyond Shin: what a host gains when the drive reports hits in its memory and a buffer without room,
//! which the dissertation leaves to future work (section 4.3.1).
//!
//! The drive is that of figures 4.5 and 4.6 with a read cache, reading ahead and a small write buffer. It
//! knows a command for what it is [`FIRMWARE`] after it was sent, in all runs.

use super::shin_host::{beside, direct, run};
use super::{Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::cpu::Spent;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::path::Background;
use tailcut_ssd::{CacheConfig, Preset, Service};
use tailcut_workload::address_config::Distribution;
use tailcut_workload::config::{ArrivalKind, PaceKind};

/// Predictors of hits and of room, against waiting without them.
pub(crate) struct Predictors;

/// From a command to the moment at which the host can read the drive's prediction about it: a register's
/// round trip over PCIe, twice (pcie-bench: about 0.5 µs; Neugebauer et al., SIGCOMM 2018). Looking up a
/// page is taken to be free.
const FIRMWARE: Nanos = Nanos::micros(1);

/// The cache: a sixteenth of the drive.
const CACHE: u64 = 32 << 20;

/// Pages ahead of a stream: one for each chip.
const AHEAD: u32 = 32;

/// Pages of the write buffer: two for each chip.
const BUFFER_PAGES: u64 = 64;

/// A load, and how hosts may wait for it: without predictors, then with them.
struct Case {
    name: &'static str,
    threads: u32,
    strategies: &'static [&'static str],
    change: fn(&mut Scenario),
}

const READS: [&str; 5] =
    ["nonblocking", "nonblocking+hit-spin", "precomplete", "precomplete+hit-spin", "spin"];

const WRITES: [&str; 5] = [
    "nonblocking",
    "nonblocking+buffer-spin",
    "nonblocking+buffer-spin+room-notice",
    "spin",
    "spin+room-notice",
];

const CASES: [Case; 4] = [
    Case { name: "sequential-1", threads: 1, strategies: &READS, change: sequential },
    Case { name: "sequential-4", threads: 4, strategies: &READS, change: sequential },
    Case { name: "hot-spot-8", threads: 8, strategies: &READS, change: hot_spot },
    Case { name: "write-bursts-64", threads: 64, strategies: &WRITES, change: write_bursts },
];

const BESIDE: [(&str, Background); 2] = [("nothing", Background::None), ("cpu", Background::Cpu)];

fn sequential(scenario: &mut Scenario) {
    scenario.workload.addresses.distribution = Distribution::Sequential;
}

/// Four reads in five go to a twentieth of the drive, which the cache holds.
fn hot_spot(scenario: &mut Scenario) {
    scenario.workload.addresses.distribution = Distribution::HotCold;
    (scenario.workload.addresses.hot_space, scenario.workload.addresses.hot_access) = (50_000, 800_000);
}

/// Bursts of four times what the buffer holds, each into a buffer that has had time to get empty.
fn write_bursts(scenario: &mut Scenario) {
    let workload = &mut scenario.workload;
    (workload.read, workload.write_size) = (0, "4KiB".into());
    (workload.pace, workload.arrivals) = (PaceKind::Open, ArrivalKind::Bursts);
    (workload.rate, workload.burst_requests) = (1_000_000, 4 * BUFFER_PAGES);
    workload.idle = Nanos::millis(20);
}

fn scenario(options: &Options, case: &Case, strategy: &str, background: Background) -> Scenario {
    let mut device = Preset::ShinEmulated.config();
    device.queue.firmware = FIRMWARE;
    device.cache = CacheConfig { size: CACHE, ahead: AHEAD, ..CacheConfig::OFF };
    device.buffer.size = BUFFER_PAGES * device.geometry.page_bytes;
    let mut scenario = beside(direct(options, device, strategy, case.threads), background);
    (case.change)(&mut scenario);
    scenario
}

impl Study for Predictors {
    fn id(&self) -> &'static str {
        "beyond-prediction"
    }

    fn title(&self) -> &'static str {
        "drives that say whether memory has a page and whether the buffer has room: latency, CPU, error"
    }

    fn source(&self) -> &'static str {
        "beyond Shin 2017, section 4.3.1: read cache hits, read prefetching hits, full buffers"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for (case, (name, background)) in cases() {
            for strategy in case.strategies {
                let label = format!("{}/{name}/{strategy}", case.name);
                runs.push(run(label, scenario(options, case, strategy, background)));
            }
        }
        runs
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (case, (name, _)) in cases() {
            let of = |strategy: &str| find(done, &format!("{}/{name}/{strategy}", case.name));
            for strategy in case.strategies {
                rows.extend(rows_of(&format!("{}, beside {name}, {strategy}", case.name), of(strategy)));
            }
        }
        rows
    }
}

fn cases() -> impl Iterator<Item = (&'static Case, (&'static str, Background))> {
    CASES.iter().flat_map(|case| BESIDE.iter().map(move |beside| (case, *beside)))
}

fn rows_of(case: &str, measured: &Measured) -> Vec<Row> {
    let host = measured.host.as_ref().expect("there is a host");
    let requests = measured.requests();
    let per_request = |on: Spent| host.time.of(on).0 as f64 / requests.max(1) as f64 / 1e9;
    let background = host.background_requests as f64 / host.elapsed.as_secs_f64();
    let mut rows = vec![
        Row::new(case, "mean latency", "s", measured.mean_latency_ns() / 1e9),
        Row::new(case, "99 % latency", "s", measured.percentile_ns(99.0) as f64 / 1e9),
        Row::new(case, "CPU per request", "s", host.per_request_ns(requests) / 1e9),
        Row::new(case, "spinning per request", "s", per_request(Spent::Spin)),
    ];
    if background > 0.0 {
        rows.push(Row::new(case, "background", "1/s", background));
    }
    let cache = measured.report.drive.cache.expect("the drive has one");
    if cache.hits + cache.met > 0 {
        rows.push(Row::new(case, "pages from the cache", "share", cache.hit_rate));
        rows.push(Row::new(case, "pages met on their way into it", "share", cache.met_rate));
    }
    let predicted = host.predictions.iter().flat_map(|all| Service::ALL.into_iter().zip(all));
    for (of, figures) in predicted.filter(|(of, figures)| is_shown(*of) && figures.count > 0) {
        let note = format!("{} predictions, mean {:.1} µs", figures.count, figures.mean / 1e3);
        let row = Row::new(case, format!("error, {}", of.label()), "s", figures.error / 1e9);
        rows.push(row.limit(0.0).note(note));
    }
    rows
}

/// The predictors that the dissertation does not have.
fn is_shown(of: Service) -> bool {
    matches!(of, Service::Memory | Service::Ahead | Service::Room)
}
