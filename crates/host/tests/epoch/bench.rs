//! Arrays for these tests, and checks of them.

use crate::raid::harness::Harness;
use crate::raid::model::same;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::DriveId;
use tailcut_host::array::{Array, ArrayConfig, LayoutKind};
use tailcut_host::{Bytes, Request};

/// Number of drives, token groups and copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub drives: u32,
    pub groups: u32,
    pub copies: u32,
}

/// A shape with two copies.
pub(super) const fn pairs(drives: u32, groups: u32) -> Shape {
    Shape { drives, groups, copies: 2 }
}

/// A shape with three copies.
pub(super) const fn triples(drives: u32, groups: u32) -> Shape {
    Shape { drives, groups, copies: 3 }
}

/// The shape that most tests use.
pub(super) const FOUR: Shape = pairs(4, 2);

pub(super) const SHAPES: [Shape; 10] = [
    pairs(2, 2),
    pairs(3, 2),
    FOUR,
    pairs(5, 2),
    pairs(4, 3),
    pairs(7, 4),
    triples(3, 3),
    triples(6, 3),
    triples(4, 4),
    Shape { drives: 4, groups: 4, copies: 4 },
];

pub(super) fn config(Shape { drives, groups, copies }: Shape) -> ArrayConfig {
    let layout = LayoutKind::Epochs;
    let mut config =
        ArrayConfig { drives, layout, groups, depth: 64, drive_depth: 8, ..ArrayConfig::default() };
    config.epoch.copies = copies;
    config.epoch.chunk = CHUNK * 4096;
    config.epoch.cache = 24 * 4096;
    config.epoch.delay = Nanos::micros(300);
    config.epoch.deadline = Nanos::millis(20);
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config
}

/// Seeds of a random test: `TAILCUT_CASES` multiplies their number, `TAILCUT_SEED` shifts them.
pub(super) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("TAILCUT_SEED").unwrap_or(0) * 1_000_000;
    first..first + count * number("TAILCUT_CASES").unwrap_or(1)
}

/// First data block of each drive, behind the superblock and the descriptors.
pub(super) const DATA: u64 = 2 + 18;

/// Chunk size in blocks.
const CHUNK: u64 = 4;

/// Reports a heavy request to a drive that does not hold the token.
pub(super) fn without_token(
    array: &Array<Bytes>,
    drive: DriveId,
    request: &Request<Bytes>,
) -> Option<String> {
    let is_heavy = request.op == Op::Flush || request.op != Op::Read && request.block >= 2;
    let has_token = array.epochs().is_some_and(|epochs| epochs.holders().contains(&drive));
    (is_heavy && !has_token && array.is_ready())
        .then(|| format!("{} of {} on drive {drive} without the token", request.op, request.block))
}

/// A new array with an observer.
pub(super) fn harness(config: &ArrayConfig, seed: u64) -> Harness {
    let mut harness = Harness::new(config, seed);
    harness.watch = Some(without_token);
    harness
}

/// Once the array is idle, all copies of every block are equal.
pub(super) fn check_copies(harness: &mut Harness, copies: u32) {
    check_copies_without(harness, copies, &[]);
}

/// Compares the copies on the remaining drives, excluding `lost`.
pub(super) fn check_copies_without(harness: &mut Harness, copies: u32, lost: &[usize]) {
    let (drives, copies) = (harness.drives.len(), u64::from(copies));
    let rows = (harness.data_end() - DATA) / (copies * CHUNK);
    let first = |index| DATA + index / CHUNK * copies * CHUNK + index % CHUNK;
    let is_closed = drives.is_multiple_of(2) || harness.config.groups > 2;
    for drive in (0..drives).filter(|&drive| is_closed || drive + 1 < drives) {
        for block in (0..rows * CHUNK).map(first) {
            let places = (0..copies).map(|copy| ((drive + copy as usize) % drives, block + copy * CHUNK));
            let mut there = places.filter(|(drive, _)| !lost.contains(drive));
            let Some((one, at)) = there.next() else { continue };
            for (other, at_other) in there {
                if !same(&harness.drives[one].get(at), &harness.drives[other].get(at_other)) {
                    harness.wrong.push(format!("block {at} of drive {one} and its copy on {other} differ"));
                }
            }
        }
    }
}

/// All violations, including requests sent without the token.
pub(super) fn wrong(mut harness: Harness) -> Vec<String> {
    harness.wrong.append(&mut harness.seen);
    harness.wrong.truncate(5);
    harness.wrong
}
