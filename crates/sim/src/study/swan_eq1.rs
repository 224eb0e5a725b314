//! SWAN, equation 1: how many R-groups it takes, and whether that many do.

use super::swan::{Shape, drive, mean, rounds, run};
use super::{Measured, Options, Row, Run, Study, find};
use crate::sizing::{Costs, fill_beside, groups, groups_at};
use tailcut_host::array::LayoutKind;
use tailcut_host::array::log::LogConfig;

/// The sizing model against its own example and against simulation.
pub struct Sizes;

/// Groups of one drive: equation 1 does not depend on how many there are.
const GROUPS: [u32; 4] = [2, 3, 4, 5];

/// Shares of the space that hold data, in per cent.
const FILLS: [u32; 4] = [40, 50, 60, 70];

/// A front end is interfered with when it writes less than this share of its bound.
const UNDISTURBED: f64 = 0.95;

fn shape(groups: u32) -> Shape {
    Shape::grouped(LayoutKind::Swan0, groups, 1)
}

fn label(groups: u32, fill: u32) -> String {
    format!("{groups}R/{fill}")
}

fn cells(options: &Options) -> Vec<(u32, u32)> {
    let all = FILLS.into_iter().flat_map(|fill| GROUPS.map(|groups| (groups, fill)));
    all.filter(|&(groups, fill)| !options.quick || (groups + fill / 10).is_multiple_of(2)).collect()
}

impl Study for Sizes {
    fn id(&self) -> &'static str {
        "swan-eq1"
    }

    fn title(&self) -> &'static str {
        "The least number of R-groups by equation 1, and what the front end reaches with so many"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 3.5, equation 1"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let cell = |(groups, fill): (u32, u32)| {
            let seconds = if options.quick { 8 } else { 40 };
            let mut scenario = shape(groups).random_writes(options, seconds);
            // Equation 1 knows no flushes, and the paper's host sends none: drives with capacitors need none.
            scenario.device.buffer.capacitor = true;
            // Of the space for data the host sees four fifths.
            let share = (u64::from(fill) * 10_000 * 1_000_000
                / u64::from(1_000_000 - scenario.array.log.spare)) as u32;
            scenario.precondition.fill = share;
            scenario.workload.region_share = share;
            run(label(groups, fill), scenario)
        };
        cells(options).into_iter().map(cell).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let example = groups_at(&Costs::PAPER, 0.33);
        let mut rows = vec![
            Row::new(
                "the paper's example, u = 0.33",
                "N without the erase term",
                "ratio",
                example.without_erase,
            )
            .paper(1.89),
            Row::new("the paper's example, u = 0.33", "N by equation 1", "ratio", example.equation)
                .paper(1.89)
                .explain(EXAMPLE),
        ];
        let costs = Costs::of(&drive(), 256);
        let bound = costs.write_rate();
        let free = f64::from(LogConfig::default().collect_below) / 1e6;
        let mut broken = 0;
        for (count, fill) in cells(options) {
            let reached = mean(&rounds(find(done, &label(count, fill)))) * 1e6 / bound;
            let model = groups(&costs, fill_beside(f64::from(fill) / 100.0, free));
            let enough = model.are_enough(count, AT_A_TIME);
            broken += u32::from(enough && reached < UNDISTURBED);
            let case = format!("{fill} % full, {count} groups");
            rows.push(Row::new(&*case, "N by equation 1", "ratio", model.equation));
            rows.push(
                Row::new(&*case, "groups that have to collect at a time", "ratio", model.collecting)
                    .limit(1.0),
            );
            if let Some(log) = &find(done, &label(count, fill)).log {
                let row = Row::new(&*case, "valid share of victims", "share", log.victim_utilisation());
                rows.push(row.limit(model.utilisation).note(VICTIMS));
            }
            let word = if enough { "the model says: enough" } else { "the model says: too few" };
            rows.push(
                Row::new(case, "front end's bandwidth / bound", "share", reached).limit(1.0).note(word),
            );
        }
        let all = "all cells where the model says: enough";
        rows.push(Row::new(all, "front end disturbed", "cells", f64::from(broken)));
        rows
    }
}

/// Groups that collect at a time, in the paper's figure 6 and here.
const AT_A_TIME: u32 = 1;

const VICTIMS: &str = "\
The limit is u of u_d = (u - 1) / ln u, with u_d the share that is full of what is not kept erased ahead of writes.";

const EXAMPLE: &str = "\
With the paper's own figures (4 ms to erase a segment of 256 blocks of 15.6 us and 19.5 us, u = 0.33) equation 1 gives 3.08. The 1.89 \
that it prints is what remains without the erase term.";
