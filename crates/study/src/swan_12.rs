//! SWAN, figure 12: latencies of reads and writes on drives that are written in place, and in segments.

use super::swan::{Shape, run};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::LayoutKind;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::report::Point;
use tailcut_sim::world::Limits;
use tailcut_ssd::config::Protocol;

/// Latencies under RAID0 and SWAN0 on six drives.
pub(crate) struct Inside;

const SHAPES: [Shape; 2] = [Shape::flat(LayoutKind::Raid0, 6), Shape::grouped(LayoutKind::Swan0, 3, 2)];

/// Requests per second: below what either array can do.
const RATE: u64 = 20_000;

impl Study for Inside {
    fn id(&self) -> &'static str {
        "swan-12"
    }

    fn title(&self) -> &'static str {
        "Random reads and writes on six drives of 100 and 500 µs: latency where drives are written in place \
            or in segments"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 5.4, figure 12"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let runs = |fuller: bool| SHAPES.map(|shape| inside(options, shape, fuller));
        [false, true].into_iter().flat_map(runs).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows: Vec<Row> =
            SHAPES.into_iter().flat_map(|shape| of_array(shape.name(), find(done, &shape.id()))).collect();
        let [in_place, swan] = SHAPES.map(Shape::name);
        rows.extend(compared(&rows, &in_place, &swan));
        let order = Row::order(&rows, COPIES, &[&in_place, &swan]).explain(NO_CAUSE);
        rows.push(order);
        let [in_place, swan] = SHAPES.map(|shape| format!("{}, {FULLER}", shape.name()));
        for (shape, case) in SHAPES.into_iter().zip([&in_place, &swan]) {
            let of_array = of_array(case.clone(), find(done, &(shape.id() + FULLER_SUFFIX))).into_iter();
            rows.extend(of_array.filter(|row| is_read(row) || row.quantity == COPIES));
        }
        let compared = compared(&rows, &in_place, &swan).into_iter().filter(is_read);
        rows.extend(compared.map(|row| row.of_reading(FULLER)));
        rows
    }
}

/// Random reads and writes on an array. An array that is `fuller` holds as much again of data that is not
/// touched as to be at 80 %.
fn inside(options: &Options, shape: Shape, fuller: bool) -> Run {
    let seconds = if options.quick { 6 } else { 60 };
    let mut scenario = shape.random_writes(options, seconds);
    scenario.run = Limits { round: Nanos::ZERO, ..scenario.run };
    // Open-channel SSDs are NVMe devices: trims and flushes are queued.
    scenario.device.queue.protocol = Protocol::Nvme;
    let workload = &mut scenario.workload;
    workload.read = 500_000;
    workload.read_size = "8KiB".into();
    workload.pace = tailcut_workload::config::PaceKind::Open;
    (workload.rate, workload.depth) = (RATE, 4096);
    if fuller {
        scenario.precondition.fill = FULLER_FILL;
    }
    run(shape.id() + if fuller { FULLER_SUFFIX } else { "" }, scenario)
}

/// Latencies of reads and writes, and what the drives copied.
fn of_array(case: String, measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for (op, name) in [(Op::Read, "read"), (Op::Write, "write")] {
        let Some(kind) = measured.kind(op) else { continue };
        let row =
            |quantity: String, ns: Option<f64>| Row::new(case.clone(), quantity, "s", ns.map(|ns| ns / 1e9));
        rows.push(row(format!("{name} latency, mean"), Some(kind.latency.mean_ns)));
        let points = kind.latency.points.iter().filter(|point| point.percentile >= 90.0);
        let measured = |point: &Point| (!point.beyond).then_some(point.ns as f64);
        rows.extend(points.map(|p| row(format!("{name} latency, {} %", p.percentile), measured(p))));
    }
    let copied: u64 = measured.drives.iter().map(|drive| drive.counts.programmed_gc).sum();
    let written: u64 = measured.drives.iter().map(|drive| drive.counts.host_pages_written).sum();
    let copies = copied as f64 / written.max(1) as f64;
    rows.push(Row::new(case, COPIES, "x", copies).note(NOTE));
    rows
}

/// The latencies of one of these cases over those of the other.
fn compared(rows: &[Row], in_place: &str, swan: &str) -> Vec<Row> {
    let latencies = rows.iter().filter(|row| row.case == in_place && row.quantity != COPIES);
    let compared = latencies.map(|of| {
        let other = rows.iter().find(|row| row.case == swan && row.quantity == of.quantity);
        let ratio = other.and_then(|row| row.measured).zip(of.measured).map(|(ours, theirs)| ours / theirs);
        let is_mean = of.quantity.ends_with("mean");
        Row::new("SWAN0 / RAID0", &*of.quantity, "x", ratio)
            .at_most(1.0)
            .resolved(if is_mean { 0.0 } else { 2.0 * LatencyHistogram::ERROR_BOUND })
            .explain(FRONT)
    });
    compared.collect()
}

fn is_read(row: &Row) -> bool {
    row.quantity.starts_with("read")
}

/// The share of the host's space that holds data in fuller arrays, in parts per million.
const FULLER_FILL: u32 = 800_000;
const FULLER: &str = "80 % full";
const FULLER_SUFFIX: &str = "/80-percent-full";

const COPIES: &str = "pages copied inside for each written";

const NOTE: &str = "\
The paper shows curves without figures: SWAN0's are shorter throughout, because drives copy fewer pages \
inside. It replays traces of the array on one drive; here the array itself runs, and latencies are those at \
its top.";

const FRONT: &str = "\
SWAN's writes all go to two drives at a time, where reads wait for programs, and what RAID0's drives copy \
decides how many of its reads wait for collection: at 60 % of data 0.42 pages for each that is written. At \
80 % they copy 1.4, and SWAN's reads are shorter at 99 % as well, 0.53 times ('80 % full'); so they are \
with 32 requests at a time (0.56), where its writes are longer, and where drives collect while idle (0.40, \
quick form). Half the rate brings 1.05 in place of 1.36, 80 % of reads 1.06, and suspended programs 1.77 \
(quick form).";
