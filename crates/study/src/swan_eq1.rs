//! SWAN, equation 1: how many R-groups it takes, and whether that many do.

use super::swan::{Shape, drive, mean, rounds, run};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_host::array::LayoutKind;
use tailcut_host::array::log::LogConfig;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::sizing::{BLOCK, Costs, Raid, Sizing, fill_beside, groups, groups_at, utilisation};

/// The sizing model against its own example and against simulation.
pub(crate) struct Sizes;

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
    if options.quick {
        return QUICK.to_vec();
    }
    FILLS.into_iter().flat_map(|fill| GROUPS.map(|groups| (groups, fill))).collect()
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
        let mut rows = arithmetic();
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
            let word = if enough { "by the model: enough" } else { "by the model: too few" };
            let row = Row::new(case, "front end's bandwidth / bound", "share", reached).limit(1.0).note(word);
            rows.push(match (count, fill) {
                TWO_GROUPS => row
                    .at_least(UNDISTURBED)
                    .basis(Basis::Derived, "what 'sustain the full bandwidth' is taken to mean")
                    .explain(NO_CAUSE),
                _ => row,
            });
        }
        let all = "all cells where by the model: enough";
        rows.push(Row::new(all, "front end disturbed", "cells", f64::from(broken)));
        rows
    }
}

/// The cell that, by the paper, sustains the full bandwidth: two R-groups at 60 %.
const TWO_GROUPS: (u32, u32) = (2, 60);

/// The cells of the quick form: groups that are enough by the model, and the cell of the claim. Most of the
/// time of a run is the preparation of its drives.
const QUICK: [(u32, u32); 2] = [(2, 40), TWO_GROUPS];

/// What the paper computes from its own figures, by our formulas.
fn arithmetic() -> Vec<Row> {
    let row = |case: &str, quantity: &str, unit, ours: f64| Row::new(case, quantity, unit, ours);
    let follows = |row: Row| row.basis(Basis::Input, "computed from other figures that it gives");
    let example = groups_at(&Costs::PAPER, 0.33);
    let case = "the paper's example, u = 0.33";
    // The paper counts the drive for parity among those that saturate the network: as RAID0.
    let costs = Costs { write_ns: XTREMIO, sustained_ns: XTREMIO, ..Costs::PAPER };
    let drives = |raid: Raid| Sizing::new(10_000_000_000, raid, 0.6, costs).group_drives();
    let each = drives(Raid::Zero);
    let segment = LogConfig::default().segment as f64;
    vec![
        follows(row(case, "N without the erase term", "ratio", example.without_erase).paper(1.89)),
        follows(row(case, "N by equation 1", "ratio", example.equation).paper(1.89)).explain(EXAMPLE),
        follows(row("60 % full", "u by u_d = (u - 1) / ln u", "ratio", utilisation(0.6)).paper(0.33)),
        follows(row("70 % full", "u by u_d = (u - 1) / ln u", "ratio", utilisation(0.7)).at_most(0.5)),
        follows(row("XtremIO, 10 GB/s", "drives of an R-group", "1", each as f64).paper(4.0)),
        row(
            "XtremIO, 10 GB/s",
            "drives of an R-group, parity beside the data",
            "1",
            drives(Raid::Four) as f64,
        ),
        follows(
            row(
                "XtremIO, 18 drives",
                "R-groups behind the front end",
                "1",
                (XTREMIO_DRIVES / each - 1) as f64,
            )
            .paper(3.0),
        ),
        follows(row("XtremIO, 18 drives", "spare drives", "1", (XTREMIO_DRIVES % each) as f64).paper(2.0)),
        follows(row("metadata", "map of a block", "share", MAP_ENTRY / BLOCK as f64).paper(0.0012)),
        follows(row("metadata", "summary of a segment", "share", BLOCK as f64 / segment).paper(0.0039)),
    ]
}

/// ns that a block of 4 KiB takes on a drive of 2.5 GB/s.
const XTREMIO: f64 = 4096.0 / 2.5;

/// Drives of the smallest XtremIO.
const XTREMIO_DRIVES: u64 = 18;

/// Bytes of an entry of the map, as `array/log/map.rs` packs it.
const MAP_ENTRY: f64 = 5.0;

/// Groups that collect at a time, in the paper's figure 6 and here.
const AT_A_TIME: u32 = 1;

const VICTIMS: &str = "\
The limit is u of u_d = (u - 1) / ln u, with u_d the share that is full of what is not kept erased ahead of \
writes.";

const EXAMPLE: &str = "\
With the paper's own figures (4 ms to erase a segment of 256 blocks of 15.6 µs and 19.5 µs, u = 0.33) \
equation 1 gives 3.08. The 1.89 that it prints is what remains without the erase term.";
