//! SWAN, figure 12: latencies of reads and writes on drives that are written in place, and in segments.

use super::swan::{Shape, run};
use super::{NO_CAUSE, Options, Row, Study};
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
        SHAPES
            .map(|shape| {
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
                run(shape.id(), scenario)
            })
            .to_vec()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for shape in SHAPES {
            let measured = find(done, &shape.id());
            for (op, name) in [(Op::Read, "read"), (Op::Write, "write")] {
                let Some(kind) = measured.kind(op) else { continue };
                let row = |quantity: String, ns: Option<f64>| {
                    Row::new(shape.name(), quantity, "s", ns.map(|ns| ns / 1e9))
                };
                rows.push(row(format!("{name} latency, mean"), Some(kind.latency.mean_ns)));
                let points = kind.latency.points.iter().filter(|point| point.percentile >= 90.0);
                let measured = |point: &Point| (!point.beyond).then_some(point.ns as f64);
                rows.extend(points.map(|p| row(format!("{name} latency, {} %", p.percentile), measured(p))));
            }
            let copied: u64 = measured.drives.iter().map(|drive| drive.counts.programmed_gc).sum();
            let written: u64 = measured.drives.iter().map(|drive| drive.counts.host_pages_written).sum();
            let copies = copied as f64 / written.max(1) as f64;
            rows.push(Row::new(shape.name(), COPIES, "x", copies).note(NOTE));
        }
        let [in_place, swan] = SHAPES;
        let compared: Vec<Row> = rows.iter().filter(|row| row.case == in_place.name()).cloned().collect();
        for of in compared.iter().filter(|row| row.quantity != COPIES) {
            let other = rows.iter().find(|row| row.case == swan.name() && row.quantity == of.quantity);
            let ratio =
                other.and_then(|row| row.measured).zip(of.measured).map(|(ours, theirs)| ours / theirs);
            let row = Row::new("SWAN0 / RAID0", &*of.quantity, "x", ratio);
            rows.push(row.at_most(1.0).explain(NO_CAUSE));
        }
        let order = Row::order(&rows, COPIES, &[&in_place.name(), &swan.name()]).explain(NO_CAUSE);
        rows.push(order);
        rows
    }
}

const COPIES: &str = "pages copied inside for each written";

const NOTE: &str = "\
The paper shows curves without figures: SWAN0's are shorter throughout, because drives copy fewer pages \
inside. It replays traces of the array on one drive; here the array itself runs, and latencies are those at \
its top.";
