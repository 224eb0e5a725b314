//! SWAN, section 6: which drives each layout needs.

use super::swan::{Shape, mean, rounds, run};
use super::{Measured, Options, Row, Run, Study, find};
use tailcut_host::array::LayoutKind;
use tailcut_ssd::SsdConfig;
use tailcut_ssd::controller::ftl::MappingLevel;

/// Simpler drives under each layout.
pub struct SimplerDrives;

const SHAPES: [Shape; 3] = [
    Shape::flat(LayoutKind::Raid0, 8),
    Shape::flat(LayoutKind::LogRaid0, 8),
    Shape::grouped(LayoutKind::Swan0, 4, 2),
];

/// What the drives are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drives {
    /// Map by page, 28 % spare.
    Spared,
    /// Map by page, 7 % spare.
    Page,
    /// Map by block, 7 % spare.
    Block,
}

const DRIVES: [Drives; 3] = [Drives::Spared, Drives::Page, Drives::Block];

impl Drives {
    fn name(self) -> &'static str {
        match self {
            Drives::Spared => "page-level, 28 % spare",
            Drives::Page => "page-level, 7 % spare",
            Drives::Block => "block-level, 7 % spare",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Drives::Spared => "page-28",
            Drives::Page => "page-7",
            Drives::Block => "block-7",
        }
    }

    fn change(self, device: &mut SsdConfig) {
        match self {
            Drives::Spared => device.ftl.spare = 280_000,
            Drives::Page => {}
            Drives::Block => {
                device.ftl.mapping = MappingLevel::Block;
                device.wear.levelling = false;
            }
        }
    }
}

fn label(shape: Shape, drives: Drives) -> String {
    format!("{}/{}", shape.id(), drives.id())
}

impl Study for SimplerDrives {
    fn id(&self) -> &'static str {
        "swan-6"
    }

    fn title(&self) -> &'static str {
        "Random writes of 8 KiB on drives with less spare space and coarser maps, under each layout"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 6 (no figures but memory)"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let of = |shape: Shape| {
            DRIVES.map(|drives| {
                let mut scenario = shape.random_writes(options, if options.quick { 5 } else { 30 });
                drives.change(&mut scenario.device);
                run(label(shape, drives), scenario)
            })
        };
        SHAPES.into_iter().flat_map(of).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for shape in SHAPES {
            let mb_per_s = |drives| mean(&rounds(find(done, &label(shape, drives))));
            for drives in DRIVES {
                let case = format!("{}, {}", shape.name(), drives.name());
                rows.push(Row::new(&*case, "bandwidth", "B/s", mb_per_s(drives) * 1e6));
                let ratio = mb_per_s(drives) / mb_per_s(Drives::Spared);
                rows.push(Row::new(case, "bandwidth / page-level, 28 % spare", "x", ratio));
            }
        }
        let device = super::swan::drive();
        let blocks_per_tb = 1e12 / (f64::from(device.geometry.pages) * 4096.0);
        let memory = Row::new("block-level", "map of a drive of 1 TB", "B", blocks_per_tb * ENTRY);
        rows.push(memory.paper(8e6).explain(MEMORY));
        rows
    }
}

/// Bytes of an entry of the drive's map.
const ENTRY: f64 = 4.0;

const MEMORY: &str = "\
An entry of 4 bytes for each erase block of 512 KiB. The paper gives 8 MB for 1 TB and neither the size of its blocks nor of its entries.";
