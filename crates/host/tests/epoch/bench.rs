//! Arrays for these tests, and what they look at.

use crate::model::same;
use crate::rig::Rig;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::{Array, ArrayConfig, LayoutKind};
use tailcut_host::{Bytes, Request};

pub fn config(drives: u32, groups: u32) -> ArrayConfig {
    let layout = LayoutKind::Epochs;
    let mut config =
        ArrayConfig { drives, layout, groups, depth: 64, drive_depth: 8, ..ArrayConfig::default() };
    config.epoch.chunk = CHUNK * 4096;
    config.epoch.cache = 24 * 4096;
    config.epoch.delay = Nanos::micros(300);
    config.epoch.deadline = Nanos::millis(20);
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config
}

/// Drives and groups.
pub const SHAPES: [(u32, u32); 6] = [(2, 2), (3, 2), (4, 2), (5, 2), (4, 3), (7, 4)];

/// How many seeds a random test takes: `TAILCUT_CASES` multiplies them, `TAILCUT_SEED` moves them.
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("TAILCUT_SEED").unwrap_or(0) * 1_000_000;
    first..first + count * number("TAILCUT_CASES").unwrap_or(1)
}

/// Where data begins on each drive: behind the record and the descriptors.
pub const DATA: u64 = 2 + 18;

/// Blocks of a chunk.
const CHUNK: u64 = 4;

/// A heavy request to a drive without the token.
pub fn without_token(array: &Array<Bytes>, drive: usize, request: &Request<Bytes>) -> Option<String> {
    let is_heavy = request.op == Op::Flush || request.op != Op::Read && request.block >= 2;
    let has_token = array.epochs().is_some_and(|epochs| epochs.holders().contains(&drive));
    (is_heavy && !has_token && array.is_ready())
        .then(|| format!("{} of {} on drive {drive} without the token", request.op, request.block))
}

/// A new array that is watched.
pub fn rig(config: &ArrayConfig, seed: u64) -> Rig {
    let mut rig = Rig::new(config, seed);
    rig.watch = Some(without_token);
    rig
}

/// At rest both copies of every block are the same.
pub fn check_copies(rig: &mut Rig) {
    let drives = rig.drives.len();
    let rows = (rig.drives[0].disk.blocks - DATA) / (2 * CHUNK);
    let first = |index| DATA + index / CHUNK * 2 * CHUNK + index % CHUNK;
    for drive in 0..drives {
        for block in (0..rows * CHUNK).map(first) {
            let next = (drive + 1) % drives;
            let is_pair = drives.is_multiple_of(2) || rig.config.groups > 2 || next != 0;
            let (one, other) = (rig.drives[drive].get(block), rig.drives[next].get(block + CHUNK));
            if is_pair && !same(&one, &other) {
                rig.wrong.push(format!("block {block} of drive {drive} and its copy on {next} differ"));
            }
        }
    }
}

/// What is wrong, with what was sent without the token.
pub fn wrong(mut rig: Rig) -> Vec<String> {
    rig.wrong.append(&mut rig.seen);
    rig.wrong.truncate(5);
    rig.wrong
}
