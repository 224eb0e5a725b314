//! SWAN, figure 4: layouts on eight drives, and on three, six and nine.

use super::swan::{Shape, mean, rounds, run, variation};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_host::array::LayoutKind;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::sizing::Costs;

/// Bandwidth of random writes.
pub(crate) struct Bandwidth;

const RAID0: Shape = Shape::flat(LayoutKind::Raid0, 8);
const LOG: Shape = Shape::flat(LayoutKind::LogRaid0, 8);
const SWAN: Shape = Shape::grouped(LayoutKind::Swan0, 4, 2);

/// Drives of an R-group in figure 4 (b).
const EACH: [u32; 3] = [1, 2, 3];

fn log_of(each: u32) -> Shape {
    Shape::flat(LayoutKind::LogRaid0, 3 * each)
}

fn swan_of(each: u32) -> Shape {
    Shape::grouped(LayoutKind::Swan0, 3, each)
}

impl Study for Bandwidth {
    fn id(&self) -> &'static str {
        "swan-4"
    }

    fn title(&self) -> &'static str {
        "Random writes of 8 KiB: RAID0, Log-RAID0 and SWAN0 on eight aged drives; Log-RAID0 and SWAN0 on 3, \
            6, 9"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 5.1, figure 4"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let eight = [RAID0, LOG, SWAN].into_iter();
        let more = EACH.into_iter().flat_map(|each| [log_of(each), swan_of(each)]);
        let seconds = if options.quick { 10 } else { 60 };
        eight.chain(more).map(|shape| run(shape.id(), shape.random_writes(options, seconds))).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mb_per_s = |shape: Shape| mean(&rounds(find(done, &shape.id())));
        let bandwidth = |shape: Shape| {
            Row::new(shape.name(), "bandwidth", "B/s", mb_per_s(shape) * 1e6).limit(bound(shape))
        };
        let flat = |shape: Shape| {
            let seconds = rounds(find(done, &shape.id()));
            Row::new(shape.name(), "variation of seconds", "share", variation(&seconds))
        };
        let mut rows = vec![
            bandwidth(RAID0).note(IN_PLACE),
            bandwidth(LOG).note(LOG_RAID),
            bandwidth(SWAN).note("The paper's figure is that of figure 6: see swan-5."),
            Row::new(SWAN.name(), "bandwidth / RAID0", "x", mb_per_s(SWAN) / mb_per_s(RAID0)),
            Row::new(SWAN.name(), "bandwidth / Log-RAID0", "x", mb_per_s(SWAN) / mb_per_s(LOG))
                .note(LOG_RAID),
            flat(RAID0),
            flat(LOG),
            flat(SWAN),
        ];
        for each in EACH {
            rows.extend([bandwidth(log_of(each)).note(LOG_RAID), bandwidth(swan_of(each))]);
        }
        let growth = |of: fn(u32) -> Shape| mb_per_s(of(3)) / mb_per_s(of(1));
        rows.push(Row::new("Log-RAID0", "nine drives / three", "x", growth(log_of)).note(LOG_RAID));
        rows.push(Row::new("SWAN0", "nine drives / three", "x", growth(swan_of)));
        let order = |shapes: [Shape; 3]| {
            let names = shapes.map(Shape::name);
            Row::order(&rows, "bandwidth", &names.each_ref().map(String::as_str))
        };
        let [one, two, three] = EACH;
        let orders = [
            order([SWAN, LOG, RAID0]).explain(LOG_RAID),
            order([one, two, three].map(log_of)).explain(LOG_RAID),
            order([three, two, one].map(swan_of)).explain(NO_CAUSE),
        ];
        rows.extend(orders);
        rows
    }
}

/// The sequential bandwidth of the drives that are written to: all of them, or those of the front end.
fn bound(shape: Shape) -> f64 {
    let written = f64::from(shape.drives / shape.groups);
    written * Costs::of(&super::swan::drive(), 256).write_rate()
}

const IN_PLACE: &str = "\
Eight times what one of these drives takes under random writes (139 MB/s; the paper measures 140 on its \
own). The paper's RAID0 is the slowest of the three, without a figure; eight times its 140 MB/s are more \
than its SWAN0.";

const LOG_RAID: &str = "\
In the paper Log-RAID0 on eight drives stays below SWAN0 on two at a time, and falls with more drives. Its \
drives take 140 MB/s each before anything is collected, under SWAN 400: its Log-RAID is bound by its host, \
not by its drives, in a way that the paper does not give. Ours is bound by its drives: it shares all of them \
between writes and collection, which costs half of their bandwidth and leaves more than a quarter of them. \
What remains of the paper's finding is the swing and the tail (see swan-5).";
