//! Plausibility checks of a superblock.
//!
//! A superblock with a valid checksum may still be wrong: written by a buggy program or by hand. Later
//! computations rely on these checks.

use super::config::{ArrayConfig, LayoutKind};
use super::integrity::Area;
use super::log;
use super::raid::{INTENT_BLOCKS, JOURNAL_LEAST, WriteHole};
use super::reads::MOST_COPIES;
use super::superblock::{CHECKSUMS, MemberSuperblock, SUPERBLOCK_BLOCKS};
use crate::disk::BLOCK_BYTES;
use tailcut_base::cast::to_u32;
use tailcut_base::config::Choice;

/// Upper bound of the generation: the versions of copies have it in their upper half.
const GENERATION_MAX: u64 = 1 << 31;

/// Largest number of blocks of a drive: 8 PiB.
const DRIVE_BLOCKS_MAX: u64 = 1 << 41;

/// The first impossible value in a superblock, if any.
pub(super) fn impossible(superblock: &MemberSuperblock) -> Option<String> {
    if superblock.generation >= GENERATION_MAX {
        return Some(format!("it has been changed {} times", superblock.generation));
    }
    if !(SUPERBLOCK_BLOCKS + 1..=DRIVE_BLOCKS_MAX).contains(&superblock.drive_blocks) {
        return Some(format!("it uses {} blocks of each drive", superblock.drive_blocks));
    }
    let (drives, groups) = (to_u32(superblock.presence.len()), superblock.groups);
    if drives == 0 || groups == 0 || groups > drives {
        return Some(format!("it has {drives} drives in {groups} R-groups"));
    }
    let config = ArrayConfig { drives, groups, layout: superblock.layout, ..ArrayConfig::default() };
    if superblock.layout.is_mirrored() {
        impossible_copies(superblock)
    } else if !drives.is_multiple_of(groups)
        || config.width() > 64
        || config.width() < least_width(superblock.layout)
    {
        Some(format!("it has {drives} drives in {groups} R-groups of layout {}", superblock.layout))
    } else if superblock.layout.is_in_place() {
        impossible_in_place(superblock, config.width() as u64)
    } else {
        impossible_log(superblock, config)
    }
}

fn least_width(layout: LayoutKind) -> usize {
    if layout.has_parity() { 3 } else { 1 }
}

fn impossible_copies(superblock: &MemberSuperblock) -> Option<String> {
    let [chunk, slots, copies, ..] = superblock.shape;
    let copies = if copies == 0 { 2 } else { copies };
    let room = room(superblock);
    let is_possible = (2..=MOST_COPIES as u64).contains(&copies)
        && copies <= u64::from(superblock.groups)
        && superblock.shape[CHECKSUMS] <= 1
        && (1..room).contains(&slots)
        && (1..=room).contains(&chunk)
        && chunk * copies <= room - slots;
    (!is_possible).then(|| format!("{copies} copies in chunks of {chunk} blocks behind {slots} descriptors"))
}

fn impossible_in_place(superblock: &MemberSuperblock, width: u64) -> Option<String> {
    let [chunk, reserved, hole, ..] = superblock.shape;
    let Some(&write_hole) = usize::try_from(hole).ok().and_then(|hole| WriteHole::all().get(hole)) else {
        return Some(format!("its write hole is closed in way number {hole}"));
    };
    let least = match write_hole {
        _ if !superblock.layout.is_redundant() => 0,
        WriteHole::Journal => JOURNAL_LEAST + 2 * width,
        WriteHole::Resync => INTENT_BLOCKS,
    };
    let room = room(superblock);
    let is_possible = superblock.shape[CHECKSUMS] <= 1
        && (least..room).contains(&reserved)
        && (1..=room - reserved).contains(&chunk);
    (!is_possible).then(|| format!("chunks of {chunk} blocks behind {reserved} blocks of journal or bitmap"))
}

/// Number of blocks on each drive that are left to a layout that writes in place.
fn room(superblock: &MemberSuperblock) -> u64 {
    let area = superblock.has_checksums_in_place().then(|| Area::of(superblock.drive_blocks));
    area.map_or(superblock.drive_blocks, |area| area.start()).saturating_sub(SUPERBLOCK_BLOCKS)
}

fn impossible_log(superblock: &MemberSuperblock, mut config: ArrayConfig) -> Option<String> {
    let [segment, spare, ..] = superblock.shape;
    let blocks = segment / BLOCK_BYTES;
    let is_possible =
        segment.is_multiple_of(BLOCK_BYTES) && (8..=1 << 16).contains(&blocks) && spare < 1_000_000;
    if is_possible {
        config.log.keep(superblock.shape);
        if log::fits(&config, superblock.drive_blocks) {
            return None;
        }
    }
    Some(format!("segments of {segment} bytes with {spare} millionths to spare"))
}
