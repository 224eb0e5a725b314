//! What the disk is asked for, step by step, to make a segment free.

use super::super::flash::{Flash, Job};
use super::super::jobs::Haste;
use super::super::log::format::{Head, summary_blocks};
use super::super::settings::Keep;
use super::{FULL_SHARE, OLDEST_EVERY, Part, Reclaim, Run, Step, entries_in};
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;

impl Flash {
    /// Chooses a victim, if room is needed; false if there is none.
    pub(super) fn begin(&mut self, slot: usize, keep: Keep) -> bool {
        let under_way = self.reclaims.under_way();
        if !self.log.wants_victim(under_way) || self.log.has_failed() || self.reclaims.is_stuck {
            return false;
        }
        let taken = self.reclaims.taken;
        let victim = match keep {
            Keep::WhatIsUsed => self.log.oldest(),
            Keep::Everything => self.log.emptiest_below(FULL_SHARE).map(|emptiest| {
                // Tombstones are needed as long as there is something older: now and then that goes on.
                let is_turn = taken.is_multiple_of(OLDEST_EVERY) && self.log.has_tombstones();
                self.log.oldest().filter(|_| is_turn).unwrap_or(emptiest)
            }),
        };
        let Some(victim) = victim else { return false };
        self.reclaims.taken += 1;
        self.log.set_victim(victim, true);
        let budget = u64::from(self.log.segment_blocks()) * BLOCK_BYTES / 2;
        let reclaim = &mut self.reclaims[slot];
        *reclaim = Reclaim {
            step: Step::Ends,
            victim,
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

    /// A victim is done with.
    pub(super) fn end(&mut self, slot: usize) {
        self.reclaims[slot].step = Step::Idle;
        self.log.note_victims(self.reclaims.under_way());
    }

    /// All records are copied that are to be kept; false if that could not be done.
    pub(super) fn end_copying(&mut self, slot: usize) -> bool {
        if self.reclaims[slot].is_aborted {
            self.reclaims.is_stuck = true;
            self.log.set_victim(self.reclaims[slot].victim, false);
            self.end(slot);
            return false;
        }
        let point = self.log.sync();
        self.wanted = self.wanted.max(point);
        self.reclaims[slot].step = Step::Settling(point);
        true
    }

    fn read(&mut self, slot: usize, part: Part, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.reclaims[slot].under_way += 1;
        self.jobs.read(Job::Reclaim(slot, part), Haste::Later, block, blocks, list);
    }

    pub(super) fn read_summary(&mut self, slot: usize) {
        let foot = self.reclaims[slot]
            .foot
            .filter(|foot| foot.sequence == self.log.sequence(self.reclaims[slot].victim));
        self.reclaims[slot].foot = foot;
        let Some(foot) = foot else { return self.erase(slot) };
        self.reclaims[slot].step = Step::Summary;
        let end = self.log.first_block(self.reclaims[slot].victim) + u64::from(self.log.segment_blocks());
        let first = end - summary_blocks(foot.entries as usize);
        self.read_summary_from(slot, first, end);
    }

    /// One piece after the other, as they are needed in order.
    fn read_summary_from(&mut self, slot: usize, first: u64, end: u64) {
        let count = (end - first).min(u64::from(self.jobs.most_blocks()));
        self.read(slot, Part::Summary, first, count as u32, Vec::new());
    }

    pub(super) fn take_summary(&mut self, slot: usize, damaged: &mut u64) {
        let Some(foot) = self.reclaims[slot].foot else { return self.erase(slot) };
        let (have, needed) =
            (self.reclaims[slot].summary.len() as u64, summary_blocks(foot.entries as usize));
        if (1..needed).contains(&have) {
            let end = self.log.first_block(self.reclaims[slot].victim) + u64::from(self.log.segment_blocks());
            return self.read_summary_from(slot, end - needed + have, end);
        }
        self.reclaims[slot].entries = entries_in(&self.reclaims[slot].summary, &foot);
        if self.reclaims[slot].entries.len() != foot.entries as usize {
            *damaged += 1;
            self.reclaims[slot].foot = None;
            return self.erase(slot);
        }
        let entries = self.reclaims[slot].entries.len();
        self.reclaims[slot].chosen.clear();
        self.reclaims[slot].chosen.resize(entries, false);
        self.reclaims[slot].step = Step::Copying;
    }

    /// Reads what is missing of a run.
    pub(super) fn read_run(&mut self, slot: usize, run: Run) {
        let (have, needed) = (run.blocks.len() as u64, run.within.end - run.within.start);
        let count = (needed - have).min(u64::from(self.jobs.most_blocks())) as u32;
        let block = self.log.first_block(self.reclaims[slot].victim) + run.within.start + have;
        self.jobs.read(Job::Reclaim(slot, Part::Run(run)), Haste::Later, block, count, Vec::new());
    }

    pub(super) fn erase(&mut self, slot: usize) {
        self.reclaims[slot].step = Step::Erasing;
        let mut first = std::mem::take(&mut self.reclaims[slot].first);
        first.as_mut_slice()[..Head::BYTES].fill(0);
        self.reclaims[slot].under_way += 1;
        let block = self.log.first_block(self.reclaims[slot].victim);
        self.jobs.write(Job::Reclaim(slot, Part::Erased), Haste::Later, block, vec![first]);
    }

    pub(super) fn make_erased_durable(&mut self, slot: usize) {
        if !self.log.has_volatile_cache() {
            self.reclaims[slot].step = Step::Leaving;
            return;
        }
        self.reclaims[slot].step = Step::Flushing;
        self.reclaims[slot].under_way += 1;
        self.jobs.flush(Job::Reclaim(slot, Part::Flushed), Haste::Later);
    }
}
