//! Plausibility checks of a superblock.
//!
//! A superblock with a valid checksum may still be wrong: written by a buggy program or by hand. Later
//! computations rely on these checks.

use super::config::{ArrayConfig, LayoutKind};
use super::integrity::Area;
use super::log;
use super::raid::{INTENT_BLOCKS, JOURNAL_LEAST, WriteHole};
use super::reads::MOST_COPIES;
use super::record::{CHECKSUMS, RECORD_BLOCKS, Record};
use crate::disk::BLOCK_BYTES;
use tailcut_base::config::Choice;

/// Upper bound of the generation: the versions of copies have it in their upper half.
const GENERATION_MAX: u64 = 1 << 31;

/// Largest number of blocks of a drive: 8 PiB.
const DRIVE_BLOCKS_MAX: u64 = 1 << 41;

/// The first impossible value in a superblock, if any.
pub fn impossible(record: &Record) -> Option<String> {
    if record.generation >= GENERATION_MAX {
        return Some(format!("it has been changed {} times", record.generation));
    }
    if !(RECORD_BLOCKS + 1..=DRIVE_BLOCKS_MAX).contains(&record.drive_blocks) {
        return Some(format!("it uses {} blocks of each drive", record.drive_blocks));
    }
    let (drives, groups) = (record.presence.len() as u32, record.groups);
    if drives == 0 || groups == 0 || groups > drives {
        return Some(format!("it has {drives} drives in {groups} R-groups"));
    }
    let config = ArrayConfig { drives, groups, layout: record.layout, ..ArrayConfig::default() };
    if record.layout.is_mirrored() {
        impossible_copies(record)
    } else if !drives.is_multiple_of(groups)
        || config.width() > 64
        || config.width() < least_width(record.layout)
    {
        Some(format!("it has {drives} drives in {groups} R-groups of layout {}", record.layout))
    } else if record.layout.is_in_place() {
        impossible_in_place(record, config.width() as u64)
    } else {
        impossible_log(record, config)
    }
}

fn least_width(layout: LayoutKind) -> usize {
    if layout.has_parity() { 3 } else { 1 }
}

fn impossible_copies(record: &Record) -> Option<String> {
    let [chunk, slots, copies, ..] = record.shape;
    let copies = if copies == 0 { 2 } else { copies };
    let room = room(record);
    let is_possible = (2..=MOST_COPIES as u64).contains(&copies)
        && copies <= u64::from(record.groups)
        && record.shape[CHECKSUMS] <= 1
        && (1..room).contains(&slots)
        && (1..=room).contains(&chunk)
        && chunk * copies <= room - slots;
    (!is_possible).then(|| format!("{copies} copies in chunks of {chunk} blocks behind {slots} descriptors"))
}

fn impossible_in_place(record: &Record, width: u64) -> Option<String> {
    let [chunk, reserved, hole, ..] = record.shape;
    let Some(&write_hole) = usize::try_from(hole).ok().and_then(|hole| WriteHole::all().get(hole)) else {
        return Some(format!("its write hole is closed in way number {hole}"));
    };
    let least = match write_hole {
        _ if !record.layout.is_redundant() => 0,
        WriteHole::Journal => JOURNAL_LEAST + 2 * width,
        WriteHole::Resync => INTENT_BLOCKS,
    };
    let room = room(record);
    let is_possible = record.shape[CHECKSUMS] <= 1
        && (least..room).contains(&reserved)
        && (1..=room - reserved).contains(&chunk);
    (!is_possible).then(|| format!("chunks of {chunk} blocks behind {reserved} blocks of journal or bitmap"))
}

/// Number of blocks on each drive that are left to a layout that writes in place.
fn room(record: &Record) -> u64 {
    let area = record.has_checksums_in_place().then(|| Area::of(record.drive_blocks));
    area.map_or(record.drive_blocks, |area| area.start()).saturating_sub(RECORD_BLOCKS)
}

fn impossible_log(record: &Record, mut config: ArrayConfig) -> Option<String> {
    let [segment, spare, ..] = record.shape;
    let blocks = segment / BLOCK_BYTES;
    let is_possible =
        segment.is_multiple_of(BLOCK_BYTES) && (8..=1 << 16).contains(&blocks) && spare < 1_000_000;
    if is_possible {
        config.log.keep(record.shape);
        if log::fits(&config, record.drive_blocks) {
            return None;
        }
    }
    Some(format!("segments of {segment} bytes with {spare} millionths to spare"))
}
