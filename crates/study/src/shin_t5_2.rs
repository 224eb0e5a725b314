//! Shin, table 5.2: gets and sets of a key-value server that keeps its items on four SSDs.
//!
//! The paper's memcached keeps its items in the engine, and YCSB asks it over a network. Here it is run
//! twice: the whole, with our server in place of memcached (`served`); and the storage alone, where gets read
//! a block of 4 KiB of the array, sets write one, and server and network take no time.

use super::served::{self, Gets, figures};
use super::shin::{MODES, Mode, prepared_as_told, run};
use super::{Options, Row, Study};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_workload::address_config::Distribution;

/// Gets and sets in the three modes.
pub(crate) struct StoredItems;

/// Requests at a time. The paper names no number of clients; operations per second times latency in its table
/// are some forty in EPCH and GCCTRL and more in MIX (Little's law).
const CLIENTS: u32 = 64;

/// Threads of memcached 1.4.17 unless told otherwise (`-t`), on the four cores of section 5.4.1.
const THREADS: u32 = 4;

/// A mix of YCSB (Cooper et al., SoCC 2010, table 2); the paper does not name the one that it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    A,
    B,
}

const MIXES: [Mix; 2] = [Mix::A, Mix::B];

impl Mix {
    fn name(self) -> &'static str {
        match self {
            Mix::A => "YCSB-A",
            Mix::B => "YCSB-B",
        }
    }

    fn gets(self) -> Gets {
        match self {
            Mix::A => Gets(50),
            Mix::B => Gets(95),
        }
    }
}

/// The paper's percentiles.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Operations per second, and latencies at [`PERCENTILES`], in µs.
fn printed(mode: Mode) -> (f64, [f64; 4]) {
    match mode {
        Mode::Mix => (51_362.0, [696.0, 3578.0, 4420.0, 30_090.0]),
        Mode::Epoch => (66_661.0, [451.0, 791.0, 1059.0, 9514.0]),
        Mode::Control => (76_917.0, [437.0, 779.0, 1099.0, 6548.0]),
    }
}

fn label(mode: Mode, mix: Mix) -> String {
    format!("{}/{}", mode.name(), mix.name())
}

impl Study for StoredItems {
    fn id(&self) -> &'static str {
        "shin-t5.2"
    }

    fn title(&self) -> &'static str {
        "Key-value server on four SATA drives, and its storage alone: gets and sets in the three modes"
    }

    fn source(&self) -> &'static str {
        "Shin, dissertation, Seoul National University, 2017, section 5.4.3, table 5.2"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let of = |mode: Mode| {
            MIXES.into_iter().flat_map(move |mix| {
                let whole = run(whole(&label(mode, mix)), with_server(options, mode, mix));
                [whole, run(label(mode, mix), storage(options, mode, mix))]
            })
        };
        MODES.into_iter().flat_map(of).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let whole = |mode: Mode| MIXES.into_iter().flat_map(move |mix| rows_of_whole(done, mode, mix));
        let of = |mode: Mode| MIXES.into_iter().flat_map(move |mix| rows_of(done, mode, mix));
        let server: Vec<Row> = MODES.into_iter().flat_map(whole).collect();
        let orders = orders(&server);
        server.into_iter().chain(orders).chain(MODES.into_iter().flat_map(of)).collect()
    }
}

/// The main reading: see `docs/decisions/how-we-read-epochs.md`.
const MAIN_MIX: Mix = Mix::A;

const ALONE: &str = "the storage alone";

/// The table's order of the modes: most operations and shortest latencies under GCCTRL, except at 95 %.
fn orders(rows: &[Row]) -> Vec<Row> {
    let case = |mode: Mode| format!("{}, {}, with server", mode.name(), MAIN_MIX.name());
    let [mix, epoch, control] = MODES.map(case);
    let mut orders = vec![Row::order(rows, "operations", &[&control, &epoch, &mix]).explain(SERVER)];
    for percentile in PERCENTILES {
        let quantity = format!("latency, {percentile} %");
        let cases: [&str; 3] =
            if percentile == 95.0 { [&mix, &control, &epoch] } else { [&mix, &epoch, &control] };
        let order = Row::resolved_order(rows, &quantity, &cases, LatencyHistogram::ERROR_BOUND);
        orders.push(order.explain(SERVER));
    }
    orders
}

/// The label of the run with the server.
fn whole(label: &str) -> String {
    format!("{label}/server")
}

fn with_server(options: &Options, mode: Mode, mix: Mix) -> Scenario {
    let seconds = if options.quick { 2 } else { 20 };
    let mut scenario = served::closed(options, mode, mix.gets(), CLIENTS, seconds);
    scenario.kv.threads = THREADS;
    prepared_as_told(scenario)
}

fn storage(options: &Options, mode: Mode, mix: Mix) -> Scenario {
    let seconds = if options.quick { 3 } else { 60 };
    let mut scenario = prepared_as_told(mode.readers(options, CLIENTS, seconds));
    scenario.workload.read = mix.gets().ppm();
    scenario.workload.addresses.distribution = Distribution::ZipfianYcsb;
    scenario
}

fn rows_of_whole(done: &[Measured], mode: Mode, mix: Mix) -> Vec<Row> {
    let measured = find(done, &whole(&label(mode, mix)));
    let case = format!("{}, {}, with server", mode.name(), mix.name());
    let (per_second, latencies) = printed(mode);
    let mut all = measured.reads.clone();
    all.merge(&measured.writes);
    let operations = Row::new(&*case, "operations", "1/s", measured.iops());
    let mut claims = vec![operations.paper(per_second).explain(SERVER)];
    for (percentile, paper) in PERCENTILES.into_iter().zip(latencies) {
        let row = row(&case, "latency", &all, percentile);
        claims.push(row.paper(paper / 1e6).explain(SERVER));
    }
    let read = |row: Row| if mix == MAIN_MIX { row } else { row.of_reading(mix.name()) };
    let mut rows: Vec<Row> = claims.into_iter().map(read).collect();
    let server = figures(measured);
    for percentile in [50.0, 99.0, 99.9] {
        rows.push(row(&case, "get from flash", &server.from_flash, percentile));
        rows.push(row(&case, "of that, storage", &server.flash, percentile));
        rows.push(row(&case, "set", &server.sets, percentile));
    }
    let hits = server.from_flash.count() + server.from_memory.count();
    let share = server.from_flash.count() as f64 / hits.max(1) as f64;
    rows.push(Row::new(&*case, "gets answered from flash", "share", share));
    rows.push(Row::new(&*case, "time of the server's threads", "share", server.thread).limit(1.0));
    rows.push(Row::new(&*case, "time of the wires to clients", "share", server.wire_out).limit(1.0));
    let copied = server.engine.copied as f64 / server.engine.written.max(1) as f64;
    rows.push(Row::new(&*case, "bytes of the log copied for each that was written", "x", copied));
    rows
}

fn rows_of(done: &[Measured], mode: Mode, mix: Mix) -> Vec<Row> {
    let measured = find(done, &label(mode, mix));
    let case = format!("{}, {}", mode.name(), mix.name());
    let (per_second, latencies) = printed(mode);
    let mut all = measured.reads.clone();
    all.merge(&measured.writes);
    let operations = Row::new(&*case, "operations", "1/s", measured.iops());
    let mut rows = vec![operations.paper(per_second).of_reading(ALONE).explain(STORAGE)];
    for (percentile, paper) in PERCENTILES.into_iter().zip(latencies) {
        let row = row(&case, "latency", &all, percentile);
        rows.push(row.paper(paper / 1e6).of_reading(ALONE).explain(STORAGE));
    }
    for percentile in [99.0, 99.9, 99.99] {
        rows.push(row(&case, "get latency", &measured.reads, percentile));
        rows.push(row(&case, "set latency", &measured.writes, percentile));
    }
    rows
}

fn row(case: &str, what: &str, of: &LatencyHistogram, percentile: f64) -> Row {
    Row::new(
        case,
        format!("{what}, {percentile} %"),
        "s",
        of.resolved_percentile(percentile).map(|latency| latency.as_secs_f64()),
    )
}

const SERVER: &str = "\
The paper does not tell its items, its clients, its mix or its memory. Where our rates are higher its \
storage was slower: its engine overwrites items in place, ours appends them to a log, which drives collect \
with little effort. Written in place by the storage alone, full drives take 90,000 operations a second in \
MIX, 34,000 in EPCH and 22,000 in GCCTRL, which write each block twice. The medians are multiples of the 50 \
µs between two interrupts of the clients' network cards. With one thread instead of four, EPCH and GCCTRL \
had 113,000 and 112,000 operations a second, and medians of 1.00 and 1.04 times the paper's: the queue \
before that thread. The paper's 99 % are far above what its storage alone has at 99.9999 % (520 µs); it \
names concurrency, limited parallelism of CPUs, the network and shared interrupts. What locks of the engine \
cost is not modelled.";

const STORAGE: &str = "\
The paper's figures are of whole operations: they hold memcached, Linux and a network of four times 1 Gbit/s \
beside the storage, which is all that is modelled here, and its table leaves open which mix of YCSB was run \
and by how many clients. Sets end in the engine's cache (EPCH, GCCTRL) or in the buffers of the drives \
(MIX).";
