//! Rebuilds the index from flash while the engine serves.
//!
//! Segments are processed from the newest to the oldest, and each from its end to its beginning. The first
//! record of a key met is therefore the valid one: it enters the index if the key is not there, and any
//! further record is skipped. Writes during recovery are newer than all of them and need no other rule.
//! Until recovery is complete, a separate table holds the keys that are *gone*: keys whose newest record is a
//! tombstone, and keys written during recovery and deleted or evicted since.
//!
//! A key that is neither in the index nor gone is *unknown*: recovery may still find a record of it. A blind
//! write to an unknown key also writes a tombstone for any older record, which would otherwise reappear after
//! a power loss; a read of one waits ([`Engine::fetch`]). No segment is reused before recovery is complete.
//!
//! A segment with a damaged summary is searched for its records ([`super::search`]). Where durable data is no
//! valid record any more, a newer version of any key may be lost, or a tombstone: every record in this
//! segment and older ones is in doubt. A cache drops these records; a store returns an error for them
//! ([`Superblock::doubted`](super::log::format::Superblock::doubted)).
//!
//! The memory for this is bounded by the data on flash: each key that is gone has a tombstone there.

mod reading;

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::fetch::FetchRequest;
use super::hash::KeyHash;
use super::index::{Entry as Known, Index};
use super::log::format::{End, Entry, Foot, Head, entry_in, is_summary, summary};
use super::log::{Log, SegmentId, WriteNumber, run_of};
use super::place::{FrontUnit, Place};
use super::search::{Search, Searched};
use super::settings::Keep;
use super::versions::Versions;
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use crate::mutation::{Invariant, holds};
use std::collections::VecDeque;
use tailcut_base::Status;
use tailcut_base::cast::{to_u32, to_usize};

/// The progress of a recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    /// Segments whose summaries have not been requested, oldest first.
    left: Vec<UsedSegment>,
    /// Segments being read, newest first; the first one is processed.
    reading: VecDeque<Reading>,
    /// Keys that are gone: no older record of them is valid.
    gone: Index,
    /// Reads of unknown keys that wait.
    asking: VecDeque<(KeyHash, FetchRequest)>,
    /// Last write of a summary for a segment that had none. No segment is reused before it has completed,
    /// since it could be that one.
    sealed: WriteNumber,
    /// Number of segments to recover.
    all: u32,
    /// Segments of the same run with smaller sequences were durable.
    durable_below: u64,
    /// Blocks that could not be read, and reads that failed for another reason than the medium.
    failures: u32,
    /// The unreadable block at which recovery gave up, after more than [`MOST_FAILURES`] failures: unknown
    /// keys stay unknown.
    unreadable: Option<u64>,
}

/// A used segment found by the opening.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedSegment {
    pub number: SegmentId,
    pub sequence: u64,
    /// None if the segment has no valid foot.
    pub foot: Option<Foot>,
    /// The segment was open when the store stopped; see [`Head::is_cut`].
    pub is_cut: bool,
    /// The segment was durable when the store stopped.
    pub is_durable: bool,
    /// See [`OpenEnd::durable`](super::log::format::OpenEnd::durable); 0 if its last block does not record
    /// it.
    pub durable_blocks: u32,
}

impl UsedSegment {
    /// The head to replace a damaged one.
    pub(super) fn head(&self) -> End {
        End::Head(Head { sequence: self.sequence, durable: 0, is_cut: self.is_cut })
    }
}

/// A segment of which the summary is being read, or all blocks if it has none.
#[derive(Debug)]
struct Reading {
    found: UsedSegment,
    /// The blocks read, up to the end of the segment.
    blocks: Vec<Bytes>,
    /// Reads in flight.
    under_way: u32,
    /// Number of summary entries still to process; None until the summary is read and verified.
    left: Option<usize>,
    /// Tombstones among the processed entries.
    tombstones: u32,
    /// The copy being read; None for any.
    copy: Option<u8>,
    /// Earlier reads of the segment, one per copy.
    versions: Versions,
    /// Blocks of the segment that the drive could not read; they count as damaged.
    unreadable: Vec<usize>,
}

/// A range of blocks being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    sequence: u64,
    /// First block on the disk.
    pub block: u64,
    blocks: u32,
    /// The copy to read; None for any.
    copy: Option<u8>,
    /// Requests or recovery itself wait for it.
    is_urgent: bool,
    /// Number of attempts.
    tries: u8,
}

impl Recovery {
    /// Starts from the used segments in ascending order of their sequences. The table of gone keys has the
    /// precision of an index of 2^`bits` partitions.
    pub(super) fn new(found: Vec<UsedSegment>, bits: u32) -> Recovery {
        Recovery {
            all: to_u32(found.len()),
            left: found,
            reading: VecDeque::new(),
            gone: Index::new(bits),
            asking: VecDeque::new(),
            sealed: WriteNumber::NONE,
            durable_below: 0,
            failures: 0,
            unreadable: None,
        }
    }

    /// All segments with sequences above this one are recovered; 0 if recovery is complete.
    fn unread(&self) -> u64 {
        let first = self.reading.front().map(|reading| reading.found.sequence);
        first.or_else(|| self.left.last().map(|found| found.sequence)).unwrap_or(0)
    }

    fn is_gone(&self, hash: KeyHash) -> bool {
        self.gone.items() > 0 && self.gone.find(hash).is_some()
    }

    /// True if all of a segment was durable: a later segment of the same run states that it was, and writes
    /// become durable in order.
    fn is_durable(&self, found: &UsedSegment) -> bool {
        let is_same_run = run_of(found.sequence) == run_of(self.durable_below);
        found.is_durable || is_same_run && found.sequence < self.durable_below
    }

    fn find(&mut self, sequence: u64) -> Option<&mut Reading> {
        self.reading.iter_mut().find(|reading| reading.found.sequence == sequence)
    }

    fn can_go_on(&self, log: &Log) -> bool {
        let is_read = self.reading.front().is_some_and(|reading| reading.under_way == 0);
        let is_settled = self.unread() == 0 || self.unreadable.is_some();
        is_read || is_settled && !self.asking.is_empty() || self.is_finished(log)
    }

    fn is_finished(&self, log: &Log) -> bool {
        let is_sealed = log.settled() >= self.sealed || log.has_failed();
        self.unread() == 0 && self.asking.is_empty() && is_sealed
    }
}

impl Engine {
    /// Advances recovery by at most `most` records. True if it can continue at once, without a completion
    /// from the disk. Call it repeatedly, and after every completion, until [`Engine::recovered`] returns
    /// None.
    pub fn recover(&mut self, most: usize) -> bool {
        self.recover_above(0, most)
    }

    /// Advances recovery by at most `most` records, in segments with sequences above `sequence` only.
    pub(super) fn recover_above(&mut self, sequence: u64, most: usize) -> bool {
        if self.is_ready() {
            self.take_in(most);
        }
        self.look_again(most);
        self.read_ahead(sequence);
        let Some(flash) = &mut self.flash else { return false };
        if self.recovery.take_if(|recovery| recovery.is_finished(&flash.log)).is_some() {
            flash.log.note_all_recovered();
        }
        self.can_recover()
    }

    /// True if [`Engine::recover`] can make progress without a completion from the disk.
    pub fn can_recover(&self) -> bool {
        let flash = self.flash.as_ref();
        self.recovery.as_ref().zip(flash).is_some_and(|(recovery, flash)| recovery.can_go_on(&flash.log))
    }

    /// Segments recovered and segments in total; None once recovery is complete.
    pub fn recovered(&self) -> Option<(u32, u32)> {
        let recovery = self.recovery.as_ref()?;
        let unknown = to_u32(recovery.left.len() + recovery.reading.len());
        Some((recovery.all - unknown, recovery.all))
    }

    /// A block that cannot be read and without which recovery cannot continue. Reopening the store may help.
    pub fn unreadable(&self) -> Option<u64> {
        self.recovery.as_ref()?.unreadable
    }

    /// True if a segment with a sequence above this one is not recovered yet.
    pub(super) fn has_unread_above(&self, sequence: u64) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.unread() > sequence)
    }

    /// True if the key is not in the index and recovery may still find a record of it.
    pub(super) fn is_unknown(&self, hash: KeyHash) -> bool {
        let may_be_found = |recovery: &Recovery| recovery.unread() > 0 && !recovery.is_gone(hash);
        self.recovery.as_ref().is_some_and(may_be_found) && self.index.find(hash).is_none()
    }

    /// Removes a key from the index; older records of it stay invalid.
    pub(super) fn forget(&mut self, hash: KeyHash) {
        if let Some(entry) = self.index.remove(hash) {
            self.discard(entry);
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.gone.set(hash, GONE);
        }
    }

    /// Writes a tombstone for an unknown key. The caller has made sure that there is room.
    pub(super) fn write_tombstone_of_unknown(&mut self, hash: KeyHash) {
        let Some(recovery) = &self.recovery else { return };
        self.write_tombstone(hash, recovery.unread());
    }

    /// Ends recovery: everything written so far is invalid.
    pub(super) fn end_search(&mut self) {
        let Some(recovery) = &mut self.recovery else { return };
        recovery.left.clear();
        recovery.reading.clear();
        recovery.gone.clear();
    }

    /// Queues a read of an unknown key.
    pub(super) fn ask_later(&mut self, hash: KeyHash, asking: FetchRequest) {
        match &mut self.recovery {
            Some(recovery) if recovery.unreadable.is_none() => recovery.asking.push_back((hash, asking)),
            _ => self.give_up_asking(asking),
        }
    }

    /// Retries up to `most` waiting reads; those whose keys are known by now proceed.
    fn look_again(&mut self, most: usize) {
        let count = self.recovery.as_ref().map_or(0, |recovery| recovery.asking.len().min(most));
        for _ in 0..count {
            let Some(recovery) = &mut self.recovery else { return };
            let Some((hash, asking)) = recovery.asking.pop_front() else { return };
            match self.is_unknown(hash) {
                true => self.ask_later(hash, asking),
                false => self.fetch_for(hash, asking),
            }
        }
    }

    /// Reads summaries some segments ahead of the one being processed.
    fn read_ahead(&mut self, sequence: u64) {
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return };
        while recovery.reading.len() < AHEAD && recovery.unreadable.is_none() {
            let Some(found) = recovery.left.pop_if(|found| found.sequence > sequence) else { return };
            recovery.reading.push_back(flash.begin_reading(found, self.pool.list(), None));
        }
    }

    /// A recovery read has completed.
    pub(super) fn note_stretch(&mut self, stretch: Stretch, status: Status, mut data: Vec<Bytes>) {
        let is_good = status == Status::Success;
        self.figures.failed_reads += u64::from(!is_good);
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return };
        // A named copy does not exist while its drive is missing.
        let most_tries = if stretch.copy.is_some() { 1 } else { MOST_TRIES };
        let is_given_up = stretch.blocks == 1 && stretch.tries >= most_tries && status == Status::MediaError;
        if !is_good && (stretch.copy.is_none() || status != Status::MediaError) {
            recovery.failures += u32::from(is_given_up || status != Status::MediaError);
            if recovery.failures > MOST_FAILURES {
                recovery.unreadable = Some(stretch.block);
                return;
            }
        }
        let Some(reading) = recovery.find(stretch.sequence) else { return self.pool.recycle(data) };
        if !is_good && !is_given_up {
            reading.under_way += flash.read_apart(stretch, data) - 1;
            return;
        }
        let segment_blocks = u64::from(flash.log.segment_blocks());
        let end = flash.log.end_block(reading.found.number);
        let first = to_usize(stretch.block - (end - reading.blocks.len() as u64));
        if is_given_up {
            reading.unreadable.push(to_usize(stretch.block % segment_blocks));
        }
        let places = reading.blocks[first..].iter_mut();
        places.zip(data.drain(..)).for_each(|(to, from)| *to = from);
        reading.under_way -= 1;
        self.pool.recycle(data);
    }

    /// True if the summary of the first segment is read and verified.
    fn is_ready(&mut self) -> bool {
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return false };
        let Some(reading) = recovery.reading.front_mut().filter(|reading| reading.under_way == 0) else {
            return false;
        };
        if reading.left.is_some() {
            return true;
        }
        let found = reading.found;
        let segment_blocks = flash.log.segment_blocks();
        match found.foot {
            Some(foot) if is_summary(&reading.blocks, &foot, segment_blocks) => {
                reading.left = Some(foot.entries as usize);
                if let Some(copy) = reading.copy {
                    let block = flash.first_summary_block(&found);
                    flash.repair_copies(found.number, copy, block, &reading.blocks);
                    self.damages.add(Damage { block, what: DamageKind::Copy });
                }
            }
            Some(_) => {
                // The summary is damaged: try the next copy, and after the last one search the segment for
                // its records.
                let list = std::mem::take(&mut reading.blocks);
                let next = reading.copy.map_or(0, |copy| copy + 1);
                *reading = match next < flash.jobs.copies() {
                    true => flash.begin_reading(found, list, Some(next)),
                    false => flash.begin_reading(UsedSegment { foot: None, ..found }, list, None),
                };
            }
            None => self.search_first(),
        }
        let reading = self.recovery.as_ref().and_then(|recovery| recovery.reading.front());
        reading.is_some_and(|reading| reading.left.is_some())
    }

    /// Searches the first segment for records: it has no summary, or none that is valid.
    fn search_first(&mut self) {
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return };
        let Some(found) = recovery.reading.front().map(|reading| reading.found) else { return };
        let UsedSegment { number, sequence, is_cut, durable_blocks, .. } = found;
        let is_durable = recovery.is_durable(&found) && !is_cut;
        let Some(reading) = recovery.reading.front_mut() else { return };
        let salt = flash.log.salt(number);
        let durable_blocks = if is_durable { Search::ALL } else { durable_blocks };
        let search = Search { seed: self.seed, salt, sequence, durable_blocks };
        let right = reading.combine(&search);
        let searched = search.search(&reading.blocks, &reading.unreadable);
        let Searched { entries, buried, has_durable, hole, is_torn } = searched;
        let next = reading.copy.map_or(0, |copy| copy + 1);
        let is_bad = hole.is_some() || is_torn;
        if is_bad && next < flash.jobs.copies() && holds(Invariant::OtherCopiesAreRead) {
            if reading.copy.is_none() {
                reading.versions.add(None, &reading.blocks, &reading.unreadable);
            }
            let (list, versions) = (self.pool.list(), std::mem::take(&mut reading.versions));
            *reading = Reading { versions, ..flash.begin_reading(found, list, Some(next)) };
            return;
        }
        let block = flash.log.first_block(number);
        for at in right {
            let bytes = &reading.blocks[at];
            if let Some(copy) = reading.versions.copy_with(at, bytes) {
                let block = block + at as u64;
                flash.repair_copies(number, copy, block, std::slice::from_ref(bytes));
                self.damages.add(Damage { block, what: DamageKind::Copy });
            }
        }
        let is_damaged = found.is_durable || !reading.unreadable.is_empty();
        if is_damaged {
            self.figures.damaged_segments += 1;
            self.damages.add(Damage { block, what: DamageKind::Summary });
        }
        if let Some(at) = hole {
            self.figures.damaged_segments += u64::from(!is_damaged);
            let block = block + at as u64 / BLOCK_BYTES;
            self.damages.add(Damage { block, what: DamageKind::Hole(self.settings.keep.into()) });
            flash.has_dirty_superblock = true;
            if self.settings.keep == Keep::WhatIsUsed {
                return self.forget_unread();
            }
            flash.superblock.doubted = flash.superblock.doubted.max(sequence);
        }
        let has_hole = sequence <= flash.superblock.doubted;
        let foot = Foot { sequence, entries: 0, checksum: 0, buried, has_hole };
        let of = flash.log.end_of(number);
        let mut first = std::mem::take(&mut reading.blocks[0]);
        let head = End::Head(Head { sequence, durable: 0, is_cut: !is_durable });
        first.as_mut_slice()[..End::BYTES].copy_from_slice(&head.encode(of));
        reading.blocks = summary(&entries, foot, of);
        reading.found.foot = Some(Foot { entries: to_u32(entries.len()), ..foot });
        reading.left = Some(entries.len());
        self.figures.repaired += u64::from(is_damaged);
        flash.write_block(block, first);
        recovery.sealed = flash.write_summary(number, &reading.blocks);
        if has_durable {
            recovery.durable_below = recovery.durable_below.max(sequence);
        }
    }

    /// Drops all unprocessed records and permanently invalidates the segments that were not recovered.
    fn forget_unread(&mut self) {
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return };
        let unread =
            recovery.reading.iter().map(|reading| reading.found).chain(recovery.left.iter().copied());
        for found in unread {
            flash.superblock.flushed = flash.superblock.flushed.max(found.sequence);
            flash.log.note_recovered(found.number, (0, 0), 0);
        }
        flash.log.disbelieve(flash.superblock.flushed);
        self.end_search();
    }

    /// Processes at most `most` records of the first segment, newest first.
    fn take_in(&mut self, most: usize) {
        let (Some(recovery), Some(flash)) = (&mut self.recovery, &mut self.flash) else { return };
        let Recovery { reading: segments, gone, .. } = recovery;
        let Some(reading) = segments.front_mut() else { return };
        let (Some(left), number) = (reading.left, reading.found.number) else { return };
        let (blocks, segment_blocks) = (&reading.blocks, flash.log.segment_blocks());
        let first = left.saturating_sub(most);
        for at in (first..left).rev() {
            if let Some(soon) = at.checked_sub(SOON) {
                self.index.prefetch(Entry::hash_in(entry_in(blocks, soon)));
            }
            let entry = Entry::decode(entry_in(blocks, at));
            let is_gone = gone.items() > 0 && gone.find(entry.hash).is_some();
            if entry.is_tombstone {
                reading.tombstones += 1;
                if !is_gone && self.index.find(entry.hash).is_none() {
                    gone.set(entry.hash, GONE);
                }
                continue;
            }
            flash.log.note_expiry(number, entry.expires);
            let place = number.place_of(segment_blocks, entry.range());
            let Place::Log { unit, .. } = place else { continue };
            if !is_gone && self.index.enter(entry.hash, Known { place, heat: 0 }) {
                flash.log.note_valid(unit);
            }
        }
        reading.left = Some(first);
        if let (0, Some(foot)) = (first, reading.found.foot) {
            flash.log.note_recovered(number, (foot.entries, reading.tombstones), foot.buried);
            let known = segments.pop_front();
            known.into_iter().for_each(|reading| self.pool.recycle(reading.blocks));
        }
    }
}

/// Entry of a gone key; only its presence matters.
const GONE: Known = Known { place: Place::Front { unit: FrontUnit::new(0) }, heat: 0 };
/// Summary entries prefetched ahead of processing.
const SOON: usize = 8;
/// Segments whose summaries are read concurrently.
const AHEAD: usize = 4;
/// Read attempts before a block counts as damaged.
const MOST_TRIES: u8 = 3;
/// Most damaged blocks and other failed reads: with more, the fault is in the drive or its connection, and
/// the data may be intact.
const MOST_FAILURES: u32 = 16;
