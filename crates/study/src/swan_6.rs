//! SWAN, section 6: which drives each layout needs.

use super::swan::{Shape, mean, rounds, run};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_host::array::LayoutKind;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::{MappingLevel, Order};

/// Simpler drives under each layout.
pub(crate) struct SimplerDrives;

const SHAPES: [Shape; 3] = [
    Shape::flat(LayoutKind::Raid0, 8),
    Shape::flat(LayoutKind::LogRaid0, 8),
    Shape::grouped(LayoutKind::Swan0, 4, 2),
];

/// The kind of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drives {
    /// Map by page, 28 % spare.
    Spared,
    /// Map by page, 7 % spare.
    Page,
    /// Map by block, 7 % spare, with the buffer of the others.
    Block,
    /// Map by block, 7 % spare, with a buffer that holds a block for each plane.
    Buffered,
}

const DRIVES: [Drives; 4] = [Drives::Spared, Drives::Page, Drives::Block, Drives::Buffered];

/// The drives of the quick form.
const QUICK: [Drives; 2] = [Drives::Spared, Drives::Buffered];

impl Drives {
    /// The drives of a form of the study.
    fn of(options: &Options) -> &'static [Drives] {
        if options.quick { &QUICK } else { &DRIVES }
    }

    fn name(self) -> &'static str {
        match self {
            Drives::Spared => "page-level, 28 % spare",
            Drives::Page => "page-level, 7 % spare",
            Drives::Block => "block-level, 7 % spare",
            Drives::Buffered => "block-level, 7 % spare, 28 MiB buffer",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Drives::Spared => "page-28",
            Drives::Page => "page-7",
            Drives::Block => "block-7",
            Drives::Buffered => "block-7-buffered",
        }
    }

    fn change(self, device: &mut SsdConfig) {
        // The paper's host flushes nothing. So that ours need not, all of these drives have capacitors.
        device.buffer.capacitor = true;
        match self {
            Drives::Spared => device.ftl.spare = 280_000,
            Drives::Page => {}
            Drives::Block => map_by_block(device),
            Drives::Buffered => {
                map_by_block(device);
                device.buffer.size = u64::from(device.geometry.plane_count()) * block_bytes(device);
            }
        }
    }
}

/// Maps by block; a stripe is the two planes of a die, whose programs go together.
fn map_by_block(device: &mut SsdConfig) {
    device.ftl.mapping = MappingLevel::Block;
    device.ftl.stripe = device.geometry.planes;
    device.ftl.order = Order::Pcwd;
    device.wear.levelling = false;
}

fn block_bytes(device: &SsdConfig) -> u64 {
    u64::from(device.geometry.pages) * device.geometry.page_bytes
}

fn label(shape: Shape, drives: Drives) -> String {
    format!("{}/{}", shape.id(), drives.id())
}

/// The claim of section 6 about simpler drives under SWAN: that they suffice, "without compromising
/// performance".
fn claim(shape: Shape, drives: Drives) -> Option<f64> {
    (shape.layout == LayoutKind::Swan0 && drives != Drives::Spared).then_some(1.0)
}

/// Why drives that map by block fall short of that.
fn note(drives: Drives) -> Option<String> {
    match drives {
        Drives::Spared | Drives::Page => None,
        Drives::Block => Some(format!("{ONE_DIE} {SMALL_BUFFER}")),
        Drives::Buffered => Some(format!("{ONE_DIE} {COLLECTION}")),
    }
}

impl Study for SimplerDrives {
    fn id(&self) -> &'static str {
        "swan-6"
    }

    fn title(&self) -> &'static str {
        "Random writes of 8 KiB on drives with less spare space and coarser maps, under each layout"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 6 (memory is its only figure)"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let of = |shape: Shape| {
            Drives::of(options).iter().map(move |&drives| {
                let mut scenario = shape.random_writes(options, if options.quick { 3 } else { 10 });
                drives.change(&mut scenario.device);
                run(label(shape, drives), scenario)
            })
        };
        SHAPES.into_iter().flat_map(of).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for shape in SHAPES {
            let mb_per_s = |drives| mean(&rounds(find(done, &label(shape, drives))));
            for &drives in Drives::of(options) {
                let case = format!("{}, {}", shape.name(), drives.name());
                rows.push(Row::new(&*case, "bandwidth", "B/s", mb_per_s(drives) * 1e6));
                let ratio = mb_per_s(drives) / mb_per_s(Drives::Spared);
                let row = Row::new(case, "bandwidth / page-level, 28 % spare", "x", ratio);
                let row = row.paper(claim(shape, drives));
                rows.push(match note(drives) {
                    Some(note) => row.explain(note),
                    None => row.explain(NO_CAUSE),
                });
            }
        }
        let device = super::swan::drive();
        let blocks_per_tb = 1e12 / block_bytes(&device) as f64;
        let memory = Row::new("block-level", "map of a drive of 1 TB", "B", blocks_per_tb * ENTRY);
        let memory = memory.paper(8e6).basis(Basis::Input, "compared with the product of two sizes");
        rows.push(memory.explain(MEMORY));
        rows
    }
}

/// Bytes of an entry of the drive's map.
const ENTRY: f64 = 4.0;

const MEMORY: &str = "\
An entry of 4 bytes for each erase block of 512 KiB. The paper gives 8 MB for 1 TB and neither the size of \
its blocks nor of its entries.";

const ONE_DIE: &str = "\
A segment of 1 MiB is two erase blocks: it lies on the two planes of one die, which write 15 and read 55 \
MB/s. The paper does not say how its block-level FTL puts the dies of a drive to work at once.";

const SMALL_BUFFER: &str = "\
A buffer of 2 MiB holds what is written in order to two or three dies of 28, and no more than these write.";

const COLLECTION: &str = "\
A buffer that holds a block for each plane lets all dies write (394 MB/s in order, as by page). But what \
collection reads of a victim comes from one die of each drive, and a few victims are under way at a time; so \
the front end waits for free rows.";
