//! SWAN, figures 8 to 11 and table 4: YCSB over a log-structured merge store on nine drives.
//!
//! The paper keeps the map in battery-backed memory and flushes no drive (section 4.1). Here batteries are in
//! the drives (`buffer.capacitor`), so that nothing has to be flushed either; YCSB-A runs over both logs once
//! more on drives whose caches are volatile.

use super::swan::{Shape, run};
use super::{Basis, Options, Row, Study, row};
use tailcut_base::config::Choice;
use tailcut_host::array::LayoutKind;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::report::OperationReport;
use tailcut_workload::LsmConfig;
use tailcut_workload::lsm::Mix;

/// Throughput and latencies of YCSB.
pub(crate) struct Ycsb;

const RAID4: Shape = Shape::flat(LayoutKind::Raid4, 9);
const RAID5: Shape = Shape::flat(LayoutKind::Raid5, 9);
const LOG: Shape = Shape::flat(LayoutKind::LogRaid4, 9);
const SWAN: Shape = Shape::grouped(LayoutKind::Swan4, 3, 3);
const SHAPES: [Shape; 4] = [RAID4, RAID5, LOG, SWAN];

/// Arrays that flush volatile caches for work of their own.
const LOGS: [Shape; 2] = [LOG, SWAN];

const READINGS: [Reading; 2] = [Reading::Defaults, Reading::Busy];

const MIXES: [Mix; 5] = [Mix::Load, Mix::YcsbA, Mix::YcsbB, Mix::YcsbC, Mix::YcsbD];

/// Memory of the paper's server, nearly all of which is its page cache.
const SERVER_MEMORY: u64 = 64 << 30;

/// Threads that compact: YCSB's binding of RocksDB asks for twice the cores; the paper's server has eight.
const COMPACTIONS: u32 = 16;

/// The released data of the work, in ms: 99.9 and 99.99 % of YCSB-A's reads and updates, in the order of
/// [`SHAPES`].
const READS_A: [[f64; 2]; 4] = [[24.0, 85.0], [64.0, 143.0], [32.0, 313.0], [21.0, 54.0]];
const UPDATES_A: [[f64; 2]; 4] = [[1050.0, 4375.0], [776.0, 2322.0], [69.0, 581.0], [47.0, 535.0]];

/// What the paper does not name: YCSB's clients and the host's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// The defaults of YCSB (one client thread) and of RocksDB (reads and writes through the page cache).
    Defaults,
    /// As many clients as keep nine drives busy, and direct I/O.
    Busy,
}

impl Reading {
    fn name(self) -> &'static str {
        match self {
            Reading::Defaults => row::MAIN,
            Reading::Busy => "64 clients, direct I/O",
        }
    }

    fn mixes(self) -> &'static [Mix] {
        match self {
            Reading::Defaults => &MIXES,
            Reading::Busy => &[Mix::Load, Mix::YcsbA],
        }
    }

    /// The case of a row of this reading.
    fn case(self, shape: Shape) -> String {
        match self {
            Reading::Defaults => shape.name(),
            Reading::Busy => format!("{}, {}", shape.name(), self.name()),
        }
    }

    fn label(self, shape: Shape, mix: Mix) -> String {
        let of = format!("{}/{}", shape.id(), mix.name());
        if self == Reading::Busy { format!("{of}/64-clients") } else { of }
    }

    fn store(self, options: &Options, shape: Shape, mix: Mix) -> LsmConfig {
        let keys = if options.quick { 400_000 } else { 4_000_000 };
        let (clients, page_cache) = match self {
            Reading::Defaults => (1, SERVER_MEMORY),
            Reading::Busy => (64, 0),
        };
        // YCSB's load has just left the store there.
        let loaded_last = self == Reading::Defaults && mix != Mix::Load && !shape.layout.is_in_place();
        let compactions = COMPACTIONS;
        let operations = keys / 2;
        LsmConfig { keys, operations, clients, compactions, page_cache, loaded_last, ..LsmConfig::of(mix) }
    }
}

fn volatile(shape: Shape) -> String {
    format!("{}/ycsb-a/volatile-caches", shape.id())
}

impl Study for Ycsb {
    fn id(&self) -> &'static str {
        "swan-8"
    }

    fn title(&self) -> &'static str {
        "YCSB load and A to D over a store on nine drives: RAID4, RAID5, Log-RAID4, SWAN4 of 3R-3SSD"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 5.3, figures 8 to 11, table 4; tails: the work's \
            released data"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let scenario = |reading: Reading, shape: Shape, mix: Mix| {
            let mut scenario = shape.store(options, reading.store(options, shape, mix));
            scenario.device.buffer.capacitor = true;
            // "SSD-level GC continues even further" beside reads alone (section 5.3).
            scenario.device.gc.background = reading == Reading::Defaults;
            scenario
        };
        let of = |reading: Reading, mix: Mix| {
            SHAPES.map(|shape| run(reading.label(shape, mix), scenario(reading, shape, mix)))
        };
        let flushed = LOGS.map(|shape| {
            let mut scenario = scenario(Reading::Defaults, shape, Mix::YcsbA);
            scenario.device.buffer.capacitor = false;
            run(volatile(shape), scenario)
        });
        let all =
            READINGS.into_iter().flat_map(|reading| reading.mixes().iter().map(move |&mix| (reading, mix)));
        all.flat_map(|(reading, mix)| of(reading, mix)).chain(flushed).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for reading in READINGS {
            for &mix in reading.mixes() {
                rows.extend(throughput(done, reading, mix));
            }
        }
        for mix in MIXES.into_iter().filter(|&mix| mix != Mix::Load) {
            rows.extend(latencies(done, mix));
        }
        for shape in LOGS {
            rows.extend(shape_latencies(
                &volatile_name(shape),
                Mix::YcsbA,
                None,
                find(done, &volatile(shape)),
            ));
        }
        rows.extend(table_4(find(done, &Reading::Defaults.label(SWAN, Mix::YcsbA))));
        let front = |state: &str| format!("{}, {state}", SWAN.name());
        let states = ["collecting back end", "front end", "idle back end"].map(front);
        let slowest =
            Row::order(&rows, TABLE_LATENCY, &states.each_ref().map(String::as_str)).explain(TABLE_4);
        rows.push(slowest);
        for reading in READINGS {
            rows.extend(reading.mixes().iter().flat_map(|&mix| against_the_best(done, reading, mix)));
        }
        rows
    }
}

fn operations(measured: &Measured) -> &[OperationReport] {
    measured.report.store.as_ref().map_or(&[], |store| &store.operations)
}

fn per_second(done: &[Measured], reading: Reading, shape: Shape, mix: Mix) -> f64 {
    let measured = find(done, &reading.label(shape, mix));
    operations(measured).iter().map(|operation| operation.per_s).sum()
}

fn throughput(done: &[Measured], reading: Reading, mix: Mix) -> Vec<Row> {
    let per_second = |shape: Shape| per_second(done, reading, shape, mix);
    let quantity = format!("{mix}, operations");
    let mut rows: Vec<Row> =
        SHAPES.map(|shape| Row::new(reading.case(shape), &*quantity, "1/s", per_second(shape))).to_vec();
    let ratio = |of: Shape| per_second(SWAN) / per_second(of);
    let is_load = mix == Mix::Load;
    let row = |of: Shape, name: &str| {
        Row::new(reading.case(SWAN), format!("{quantity} / {name}"), "x", ratio(of))
            .of_reading(reading.name())
    };
    rows.push(row(RAID4, "RAID4").at_least(is_load.then_some(4.0)).explain(LOAD));
    rows.push(row(RAID5, "RAID5").at_least(is_load.then_some(4.0)).explain(LOAD));
    rows.push(row(LOG, "Log-RAID4").paper(is_load.then_some(1.17)).effect().explain(LOAD));
    rows
}

fn latencies(done: &[Measured], mix: Mix) -> Vec<Row> {
    let of = |(index, shape): (usize, Shape)| {
        let paper = (mix == Mix::YcsbA).then_some(index);
        shape_latencies(&shape.name(), mix, paper, find(done, &Reading::Defaults.label(shape, mix)))
    };
    SHAPES.into_iter().enumerate().flat_map(of).collect()
}

fn volatile_name(shape: Shape) -> String {
    format!("{}, volatile caches", shape.name())
}

/// The latencies of one run; `paper` is the place of its shape in the released data, if it is there.
fn shape_latencies(name: &str, mix: Mix, paper: Option<usize>, measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in operations(measured) {
        let paper =
            paper.map(|index| if operation.kind == "read" { READS_A[index] } else { UPDATES_A[index] });
        let curve = &operation.latency;
        let row = |quantity: &str, ns: f64| {
            Row::new(name, format!("{mix}, {} latency, {quantity}", operation.kind), "s", ns / 1e9)
        };
        rows.push(row("mean", curve.mean_ns));
        let at = |percentile: f64| curve.points.iter().find(|p| p.percentile == percentile);
        for (place, percentile) in [99.9, 99.99].into_iter().enumerate() {
            let Some(point) = at(percentile) else { continue };
            let row = row(&format!("{percentile} %"), point.ns as f64);
            let row = row.paper(paper.map(|paper| paper[place] / 1e3));
            let row = row.basis(Basis::Derived, "from the released data, not printed");
            rows.push(row.of_reading("the released data").explain(TAILS));
        }
    }
    rows
}

/// SWAN4 against the best of the other arrays: the claims of section 5.3 about figures 8, 9 and 10.
fn against_the_best(done: &[Measured], reading: Reading, mix: Mix) -> Vec<Row> {
    let others = SHAPES.into_iter().filter(|&shape| shape != SWAN);
    let row = |quantity: String, ratio: f64| {
        Row::new(reading.case(SWAN), quantity, "x", ratio).of_reading(reading.name())
    };
    let per_second = |shape: Shape| per_second(done, reading, shape, mix);
    let best = others.clone().map(per_second).fold(0.0, f64::max);
    let served = row(format!("{mix}, operations / the best of the others"), per_second(SWAN) / best);
    let mut rows = match mix {
        Mix::Load => return Vec::new(),
        Mix::YcsbA => vec![served.at_least(1.0).explain(LOAD)],
        _ => vec![
            served
                .at_least(1.0 / SIMILAR)
                .basis(Basis::Derived, "'slightly better or similar', runs differ by 6 %")
                .explain(LOAD),
        ],
    };
    let reads = |shape: Shape| {
        let measured = find(done, &reading.label(shape, mix));
        let found = operations(measured).iter().find(|operation| operation.kind == "read");
        &found.expect("this mix reads").latency
    };
    let least = |of: &dyn Fn(Shape) -> f64| others.clone().map(of).fold(f64::INFINITY, f64::min);
    let mean = |shape| reads(shape).mean_ns;
    rows.push(
        row(format!("{mix}, mean read latency / the best of the others"), mean(SWAN) / least(&mean))
            .at_most(SIMILAR)
            .basis(Basis::Derived, "'similar to or better', runs differ by 6 %")
            .explain(TAILS),
    );
    for percentile in [99.9, 99.99] {
        let at = |shape: Shape| {
            let point = reads(shape).points.iter().find(|point| point.percentile == percentile);
            point.expect("a percentile of reports").ns as f64
        };
        let quantity = format!("{mix}, read latency, {percentile} % / the best of the others");
        rows.push(row(quantity, at(SWAN) / least(&at)).at_most(1.0).explain(TAILS));
    }
    rows
}

/// Figures that differ by less are similar: "all results are within 6 % of each other" (section 5.1).
const SIMILAR: f64 = 1.06;

const TABLE_LATENCY: &str = "read latency, mean";

/// Reads by the state of the R-group that they go to.
fn table_4(measured: &Measured) -> Vec<Row> {
    let Some(log) = &measured.log else { return Vec::new() };
    let states = [
        ("front end", log.reads_front, 40.0, 98e-6),
        ("idle back end", log.reads_idle, 52.0, 88e-6),
        ("collecting back end", log.reads_collecting, 8.0, 103e-6),
    ];
    let all: u64 = states.iter().map(|(_, reads, ..)| reads.reads).sum();
    let mut rows = Vec::new();
    for (state, reads, share, latency) in states {
        let case = format!("{}, {state}", SWAN.name());
        let measured = reads.reads as f64 / all.max(1) as f64;
        rows.push(
            Row::new(&*case, "share of reads", "share", measured).paper(share / 100.0).explain(TABLE_4),
        );
        let mean = (reads.reads > 0).then(|| reads.time.0 as f64 / reads.reads as f64 / 1e9);
        rows.push(Row::new(case, TABLE_LATENCY, "s", mean).paper(latency).explain(TABLE_4));
    }
    rows
}

const LOAD: &str = "\
What a store gains from an array depends on how much of its time it waits for it: clients, compaction \
threads and their processor time are assumptions (docs/model.md), the paper names none. One client puts as \
fast as its thread can, and only RAID4 slows the compactions below it down for long: its drive for parity \
is written with every stripe that they do not fill.";

const TAILS: &str = "\
The paper's store has 64 GB on drives of 120 GB and ran for hours; ours keeps its proportions on drives of \
3.5 GiB. Its tails hold what a file system and Linux add, which the model does not have. SWAN's reads have \
shorter tails here than those of RAID4 and RAID5 at 99.99 %, as drives of these collect, and longer ones \
than those of Log-RAID4: a store writes in large pieces and deletes whole files, so a log has little to \
collect and spreads its writes over nine drives; SWAN writes to three of them, and a third of the reads \
wait there for each other, for programs and for erases of 4 ms. With 64 clients its front end is busy, and \
it loses to RAID4 and RAID5 as well. Where caches are volatile, logs flush them behind what they collect; \
over AHCI a flush has the drive to itself until its buffer is empty (cause: queue drain).";

const TABLE_4: &str = "\
Where a read goes depends on how long ago its block was written, and so on caches above the array and on \
the turns' length against the keys' heat. Latencies are those at the top of the array, and most of the \
reads here are those of compactions, of up to 128 KiB; a store's own read of two pages takes 0.13 ms on an \
idle array.";
