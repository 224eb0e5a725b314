//! The disk requests of each step of a reclaim.

use super::super::flash::{Flash, Job};
use super::super::jobs::Haste;
use super::super::log::WriteNumber;
use super::super::log::format::{End, summary_blocks};
use super::super::log::format::{Entry, is_summary};
use super::super::settings::Keep;
use super::{DEAD, FULL_SHARE, OLDEST_EVERY, Part, Reclaim, Run, Step, entries_in};
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, Mirror};
use crate::mutation::{Invariant, holds};
use crate::pool::Pool;
use std::ops::Range;
use tailcut_base::cast::to_u32;

impl Flash {
    /// True if another segment should be reclaimed while `under_way` are.
    #[inline]
    pub(super) fn wants_victim(&self, under_way: usize) -> bool {
        self.log.wants_victim(under_way)
            && !self.log.has_failed()
            && !self.log.is_full()
            && !self.reclaims.is_stuck
    }

    /// Chooses a victim if free segments are short; false if there is none.
    pub(super) fn begin(&mut self, slot: usize, keep: Keep, unix: u32) -> bool {
        let under_way = self.reclaims.under_way();
        if !self.wants_victim(under_way) {
            return false;
        }
        let taken = self.reclaims.taken;
        let victim = match keep {
            // A segment without live records costs no item.
            Keep::WhatIsUsed => {
                self.log.expired(unix).or_else(|| self.log.emptiest_below(DEAD)).or_else(|| self.log.oldest())
            }
            Keep::Everything => self.log.emptiest_below(FULL_SHARE).map(|emptiest| {
                // Tombstones are needed while older segments exist, so the oldest is chosen from time to
                // time.
                let is_turn = taken.is_multiple_of(OLDEST_EVERY) && self.log.has_tombstones();
                self.log.oldest().filter(|_| is_turn).unwrap_or(emptiest)
            }),
        };
        let Some(victim) = victim else { return false };
        self.reclaims.taken += 1;
        let rooms = self.reclaims.rooms;
        self.log.set_victim(victim, true);
        let budget = u64::from(self.log.segment_blocks()) * BLOCK_BYTES / 2;
        let reclaim = &mut self.reclaims[slot];
        *reclaim = Reclaim {
            step: Step::Ends,
            victim,
            rooms,
            budget,
            entries: std::mem::take(&mut reclaim.entries),
            chosen: std::mem::take(&mut reclaim.chosen),
            summary: std::mem::take(&mut reclaim.summary),
            ..Reclaim::default()
        };
        reclaim.entries.clear();
        reclaim.summary.clear();
        self.log.note_victims(under_way + 1);
        let first = self.log.first_block(victim);
        let last = first + u64::from(self.log.segment_blocks()) - 1;
        self.read(slot, Part::First, first, 1, Vec::new());
        self.read(slot, Part::Foot, last, 1, Vec::new());
        true
    }

    /// Ends a reclaim.
    pub(super) fn end(&mut self, slot: usize) {
        self.reclaims[slot].step = Step::Idle;
        self.log.note_victims(self.reclaims.under_way());
    }

    /// All records to keep are copied; false if some could not be.
    pub(super) fn end_copying(&mut self, slot: usize, pool: &mut Pool) -> bool {
        if self.reclaims[slot].is_aborted {
            // Copies that found the disk full do not show that the store lacks space: another reclaim follows
            // once there is room.
            let was_full = self.log.is_full() || self.reclaims[slot].rooms != self.reclaims.rooms;
            self.reclaims.is_stuck |= !was_full;
            self.log.set_victim(self.reclaims[slot].victim, false);
            self.end(slot);
            return false;
        }
        if self.reclaims[slot].is_unreadable {
            self.set_aside(slot);
            return false;
        }
        let point = if holds(Invariant::CopiesAreDurable) { self.log.sync(pool) } else { WriteNumber::NONE };
        self.wanted = self.wanted.max(point);
        self.reclaims[slot].step = Step::Settling(point);
        true
    }

    fn read(&mut self, slot: usize, part: Part, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.reclaims[slot].under_way += 1;
        let mirror = self.reclaims[slot].copy.map_or(Mirror::Any, Mirror::Only);
        self.jobs.read_copy(Job::Reclaim(slot, part), Haste::Later, block, blocks, (list, mirror));
    }

    pub(super) fn read_summary(&mut self, slot: usize) {
        let foot = self.reclaims[slot]
            .foot
            .filter(|foot| foot.sequence == self.log.sequence(self.reclaims[slot].victim));
        self.reclaims[slot].foot = foot;
        let blocks = u64::from(self.log.segment_blocks());
        let Some(foot) = foot.filter(|foot| summary_blocks(foot.entries as usize) < blocks) else {
            return self.read_whole(slot);
        };
        self.reclaims[slot].step = Step::Summary;
        let end = self.log.first_block(self.reclaims[slot].victim) + blocks;
        let first = end - summary_blocks(foot.entries as usize);
        self.read_summary_from(slot, first..end);
    }

    /// Reads the summary in order, one request at a time.
    fn read_summary_from(&mut self, slot: usize, blocks: Range<u64>) {
        let first = blocks.start;
        let count = (blocks.end - first).min(u64::from(self.jobs.most_blocks()));
        self.read(slot, Part::Summary, first, to_u32(count), Vec::new());
    }

    pub(super) fn take_summary(&mut self, slot: usize) {
        let Some(foot) = self.reclaims[slot].foot else { return self.read_whole(slot) };
        let (have, needed) =
            (self.reclaims[slot].summary.len() as u64, summary_blocks(foot.entries as usize));
        if (1..needed).contains(&have) && self.reclaims[slot].failures == 0 {
            let end = self.log.first_block(self.reclaims[slot].victim) + u64::from(self.log.segment_blocks());
            return self.read_summary_from(slot, end - needed + have..end);
        }
        if !is_summary(&self.reclaims[slot].summary, &foot, self.log.segment_blocks()) {
            return self.read_whole(slot);
        }
        let entries = entries_in(&self.reclaims[slot].summary, &foot);
        self.begin_copying(slot, entries);
    }

    /// All records of a victim are known.
    pub(super) fn begin_copying(&mut self, slot: usize, entries: Vec<Entry>) {
        let reclaim = &mut self.reclaims[slot];
        reclaim.chosen.clear();
        reclaim.chosen.resize(entries.len(), false);
        reclaim.entries = entries;
        reclaim.failures = 0;
        reclaim.step = Step::Copying;
    }

    /// Reads all of a victim, because its summary is damaged or unreadable.
    fn read_whole(&mut self, slot: usize) {
        let reclaim = &mut self.reclaims[slot];
        reclaim.foot = None;
        reclaim.failures = 0;
        reclaim.step = Step::Whole;
        reclaim.summary.clear();
        self.read_on_whole(slot);
    }

    /// Some blocks of a victim are damaged: reads all of it from the next copy. False if no copy is left.
    pub(super) fn read_next_copy(&mut self, slot: usize) -> bool {
        let copies = self.jobs.copies();
        let Reclaim { copy, versions, summary, failures, .. } = &mut self.reclaims[slot];
        let next = copy.map_or(0, |copy| copy + 1);
        if next >= copies || !holds(Invariant::OtherCopiesAreRead) {
            return false;
        }
        versions.add(*copy, summary, &[]);
        summary.clear();
        (*copy, *failures) = (Some(next), 0);
        self.read_on_whole(slot);
        true
    }

    /// Falls back to a copy that was read completely; false if there is none.
    pub(super) fn take_version(&mut self, slot: usize) -> bool {
        let all = self.log.segment_blocks() as usize;
        let Reclaim { versions, summary, .. } = &mut self.reclaims[slot];
        versions.first_of(all).map(|blocks| *summary = blocks).is_some()
    }

    /// Reads the next blocks of the whole victim; false if all are read.
    pub(super) fn read_on_whole(&mut self, slot: usize) -> bool {
        let (have, all) = (to_u32(self.reclaims[slot].summary.len()), self.log.segment_blocks());
        let count = (all - have).min(self.jobs.most_blocks());
        if count > 0 {
            let block = self.log.first_block(self.reclaims[slot].victim) + u64::from(have);
            self.read(slot, Part::Summary, block, count, Vec::new());
        }
        count > 0
    }

    /// Aborts the reclaim of an unreadable victim. It keeps its records and is never selected again.
    pub(super) fn set_aside(&mut self, slot: usize) {
        self.end(slot);
    }

    /// Reads the missing blocks of a run.
    pub(super) fn read_run(&mut self, slot: usize, run: Run) {
        let (have, needed) = (run.blocks.len() as u64, run.within.end - run.within.start);
        let count = to_u32((needed - have).min(u64::from(self.jobs.most_blocks())));
        let block = self.log.first_block(self.reclaims[slot].victim) + run.within.start + have;
        let list = (Vec::new(), run.copy.map_or(Mirror::Any, Mirror::Only));
        self.jobs.read_copy(Job::Reclaim(slot, Part::Run(run)), Haste::Later, block, count, list);
    }

    /// Erases both ends of a victim, whose copies are durable.
    pub(super) fn erase(&mut self, slot: usize) {
        let victim = self.reclaims[slot].victim;
        let mut first = std::mem::take(&mut self.reclaims[slot].first);
        let (end, of) = (End::Free(self.log.sequence(victim)), self.log.end_of(victim));
        first.as_mut_slice()[..End::BYTES].copy_from_slice(&end.encode(of));
        let block = self.log.first_block(victim);
        let last = block + u64::from(self.log.segment_blocks()) - 1;
        for (block, content) in [(block, first), (last, end.last_block(of))] {
            self.wanted = self.log.count_write();
            self.write(self.wanted, block, vec![content]);
        }
        self.reclaims[slot].step = Step::Erasing(self.wanted);
    }
}
