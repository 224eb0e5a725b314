//! SWAN, figures 5, 6 and 7: bandwidth over time, writes and reads by drive, and the fill of victims.

use super::swan::{Shape, mean, rounds, run, variation};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::log::LogConfig;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::sizing::{fill_beside, utilisation};

/// Collection of a log and of separated groups.
pub(crate) struct Collection;

const LOG: Shape = Shape::flat(LayoutKind::LogRaid0, 8);
const SWAN: Shape = Shape::grouped(LayoutKind::Swan0, 4, 2);

impl Study for Collection {
    fn id(&self) -> &'static str {
        "swan-5"
    }

    fn title(&self) -> &'static str {
        "Random writes of 8 KiB over time: how flat, on which drives, and what is valid in the segments \
            collected"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, sections 5.1 and 5.2, figures 5, 6 and 7"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let seconds = if options.quick { 15 } else { 120 };
        [LOG, SWAN].map(|shape| run(shape.id(), shape.random_writes(options, seconds))).to_vec()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let of = |shape: Shape| rows_of(shape, find(done, &shape.id()));
        let mut rows: Vec<Row> = [LOG, SWAN].into_iter().flat_map(of).collect();
        let steadier = Row::order(&rows, "variation of seconds", &[&LOG.name(), &SWAN.name()]);
        rows.push(steadier.explain(NO_CAUSE));
        rows
    }
}

fn rows_of(shape: Shape, measured: &Measured) -> Vec<Row> {
    let case = shape.name();
    let seconds = rounds(measured);
    let mean = mean(&seconds);
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let row = |quantity: &str, unit, measured: f64| Row::new(&*case, quantity, unit, measured);
    let writes = measured.kind(Op::Write);
    let latency = |percentile: f64| {
        let points = &writes?.latency.points;
        points.iter().find(|point| point.percentile == percentile).map(|point| point.ns as f64 / 1e9)
    };
    let is_swan = shape.groups > 1;
    let mut rows = vec![
        row("bandwidth", "B/s", mean * 1e6).paper(is_swan.then_some(800e6)).explain(NO_CAUSE),
        row("variation of seconds", "share", variation(&seconds)),
        row("slowest second / mean", "x", least / mean),
        Row::new(&*case, "write latency, 99 %", "s", latency(99.0)),
        Row::new(&*case, "write latency, 99.9 %", "s", latency(99.9)),
        row("drives' write amplification", "x", drives_amplification(measured)),
    ];
    let Some(log) = &measured.log else { return rows };
    let moved = log.moved_blocks as f64 / log.host_blocks.max(1) as f64;
    let free = f64::from(LogConfig::default().collect_below) / 1e6;
    let model = utilisation(fill_beside(f64::from(FILLED) / 1e6, free));
    rows.extend([
        row("valid share of victims", "share", log.victim_utilisation())
            .at_most(is_swan.then_some(0.5))
            .limit(model)
            .note(VICTIMS),
        row("blocks moved for each that the host wrote", "x", moved),
        row("rotations of the front end", "1", log.rotations as f64),
        row("requests held back", "share", log.throttled as f64 / log.host_blocks.max(1) as f64),
    ]);
    rows
}

/// Share of the space that holds data, in parts per million.
const FILLED: u32 = 600_000;

/// Pages programmed for each that the array wrote, over all drives.
fn drives_amplification(measured: &Measured) -> f64 {
    let written: u64 = measured.drives.iter().map(|drive| drive.counts.host_pages_written).sum();
    let moved: u64 = measured.drives.iter().map(|drive| drive.counts.programmed_gc).sum();
    1.0 + moved as f64 / written.max(1) as f64
}

const VICTIMS: &str = "\
The limit is u of u_d = (u - 1) / ln u, for victims in the order in which they were written, with u_d the \
share that is full of what is not kept erased ahead of writes. The paper's figure 7 begins at 0 and \
converges; it prints no figure.";
