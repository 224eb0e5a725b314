//! Finds the used segments by their ends, and searches those with two damaged ends.

use super::{AT_A_TIME, Endless, Job, Judgement, Opening, Repair, Reread};
use crate::block::Bytes;
use crate::kv::damage::{Damage, DamageKind};
use crate::kv::jobs::Haste;
use crate::kv::log::SegmentId;
use crate::kv::log::format::{End, EndOf, Foot, Head, NotOurs, OpenEnd, summary_blocks};
use crate::kv::record::Salt;
use crate::kv::recovery::UsedSegment;
use crate::kv::search::latest_sequence;
use crate::mutation::{Invariant, holds};
use tailcut_base::cast::to_u32;

impl Opening {
    /// Reads the ends of segments, some at a time.
    pub(super) fn read_heads(&mut self) {
        let Some(superblock) = self.superblock else { return };
        while self.reading < AT_A_TIME && self.next_head < superblock.segments {
            let number = SegmentId::new(self.next_head);
            self.next_head += 1;
            self.reading += 1;
            let block = number.first_block(superblock.segment_blocks);
            self.jobs.read(Job::First(number, Reread::default()), Haste::Urgent, block, 1, Vec::new());
        }
        if self.reading > 0 {
            return;
        }
        self.judge_blank();
        if !self.read_whole(self.jobs.most_blocks()) {
            let later = self.durable + 1..;
            // The records in their summaries may have been in flight.
            self.found.range_mut(later).for_each(|(_, found)| (found.foot, found.is_durable) = (None, false));
            self.begin_run();
        }
    }

    /// Segments are first used in the order of their numbers. So zeros before a segment that was used, and
    /// that was durable with all before it, are damage, and so are those before the last one that the
    /// superblock knows to be used. If the latest segment is missing, it may be the first of the others.
    fn judge_blank(&mut self) {
        let used = self.found.range(..=self.durable).map(|(_, found)| found.number).max();
        let last = used.unwrap_or_default().max(self.last_free);
        let any = self.found.values().map(|found| found.number).max().unwrap_or_default();
        let blank = std::mem::take(&mut self.blank);
        let known = self.superblock.map_or(0, |superblock| superblock.used);
        if self.is_latest_missing() && self.suspect.is_none() {
            self.suspect = blank.iter().copied().filter(|&number| number > last).min();
            self.endless.extend(self.suspect.map(|number| Endless { number, may_be_new: true }));
        }
        for number in blank.into_iter().filter(|&number| self.suspect != Some(number)) {
            match number < last || number.get() <= known {
                true => self.endless.push(Endless { number, may_be_new: false }),
                // It was in use when a power loss cut off its first write: it is free, and undamaged if the
                // segments used after it are durable.
                false if number < any => {
                    self.repairs.push(Repair { number, first: Bytes::ZEROS, freed: 0 });
                }
                false => {}
            }
        }
        self.endless.iter_mut().for_each(|endless| endless.may_be_new &= endless.number > last);
    }

    /// The sequence of the latest segment on the disk, used or free.
    pub(super) fn latest(&self) -> u64 {
        self.found.last_key_value().map_or(0, |(&sequence, _)| sequence).max(self.freed)
    }

    /// True if a segment that was durable when the superblock was written has neither end any more.
    pub(super) fn is_latest_missing(&self) -> bool {
        let superblock = self.superblock.filter(|superblock| self.is_believed(superblock.durable));
        superblock.is_some_and(|superblock| superblock.durable > self.latest())
    }

    fn note_free(&mut self, number: SegmentId, sequence: u64) {
        // A damaged segment that was never used has no sequence.
        if sequence > 0 {
            self.last_free = self.last_free.max(number);
            self.freed = self.freed.max(sequence);
        }
    }

    fn end_of(&self, number: SegmentId) -> EndOf {
        EndOf { store: self.superblock.map_or(0, |superblock| superblock.store), number }
    }

    fn is_believed(&self, sequence: u64) -> bool {
        self.superblock.is_some_and(|superblock| sequence > superblock.flushed)
    }

    /// A read of the first block of a segment has completed; `block` is None if it failed.
    pub(super) fn note_first(&mut self, number: SegmentId, reread: Reread, block: Option<Bytes>) {
        let of = self.end_of(number);
        let place = number.first_block(self.settings.segment_blocks);
        let end_in = |block: Option<&Bytes>| block.map_or(End::Damaged, |block| End::first(block, of));
        let block = match self.choose(place, reread, block, |block| Judgement::of(end_in(block))) {
            Ok(block) => block,
            Err(reread) => {
                let mirror = reread.mirror();
                let job = Job::First(number, reread);
                return self.jobs.read_copy(job, Haste::Urgent, place, 1, (Vec::new(), mirror));
            }
        };
        let end = end_in(block.as_ref());
        let head = match end {
            End::Head(head) if self.is_believed(head.sequence) => {
                self.durable = self.durable.max(head.durable.min(head.sequence));
                Some(Ok(head))
            }
            End::Free(sequence) => {
                self.note_free(number, sequence);
                None
            }
            End::Blank | End::Damaged if holds(Invariant::DamagedHeadsAreNotFree) => Some(Err(block)),
            _ => None,
        };
        if let Some(head) = head {
            let last = number.end_block(self.settings.segment_blocks) - 1;
            let job = Job::Last(number, head, Reread::default());
            return self.jobs.read(job, Haste::Urgent, last, 1, Vec::new());
        }
        self.reading -= 1;
        self.read_heads();
    }

    /// A read of the last block of a segment has completed; `block` is None if it failed.
    pub(super) fn note_last(
        &mut self,
        number: SegmentId,
        head: Result<Head, Option<Bytes>>,
        reread: Reread,
        block: Option<Bytes>,
    ) {
        let of = self.end_of(number);
        let place = number.end_block(self.settings.segment_blocks) - 1;
        let all = u64::from(self.settings.segment_blocks);
        let end_in = |block: Option<&Bytes>| block.map_or(End::Damaged, |block| End::last(block, of));
        let block = match self.choose(place, reread, block, |block| Judgement::of(end_in(block))) {
            Ok(block) => block,
            Err(reread) => {
                let mirror = reread.mirror();
                let job = Job::Last(number, head, reread);
                return self.jobs.read_copy(job, Haste::Urgent, place, 1, (Vec::new(), mirror));
            }
        };
        let last = end_in(block.as_ref());
        let foot_of = |sequence| match last {
            End::Foot(foot) if foot.sequence == sequence => {
                Some(foot).filter(|foot| summary_blocks(foot.entries as usize) < all)
            }
            _ => None,
        };
        let durable_blocks = |sequence| match last {
            End::Open(open) if open.sequence == sequence => open.durable,
            _ => 0,
        };
        let is_empty = |first: &Option<Bytes>| {
            first.as_ref().is_some_and(|first| first.as_slice()[..End::BYTES] == [0; End::BYTES])
        };
        match (head, last) {
            (Ok(Head { sequence, is_cut, .. }), _) => {
                let (foot, durable_blocks) = (foot_of(sequence), durable_blocks(sequence));
                let is_durable = true;
                self.note_used(UsedSegment { number, sequence, foot, is_cut, is_durable, durable_blocks });
            }
            (Err(first), End::Open(OpenEnd { sequence, .. }) | End::Foot(Foot { sequence, .. })) => {
                if self.is_believed(sequence) {
                    let (foot, durable_blocks) = (foot_of(sequence), durable_blocks(sequence));
                    let (is_cut, is_durable) = (false, true);
                    self.note_used(UsedSegment {
                        number,
                        sequence,
                        foot,
                        is_cut,
                        is_durable,
                        durable_blocks,
                    });
                    // The head of the last segment may have been in flight when the power was lost.
                    self.lost_heads.push((number, sequence, is_empty(&first)));
                    self.repairs.extend(first.map(|first| Repair { number, first, freed: 0 }));
                }
            }
            (Err(first), End::Blank) if is_empty(&first) => self.blank.push(number),
            (Err(_), End::Blank) => self.endless.push(Endless { number, may_be_new: true }),
            (Err(_), End::Free(sequence)) => {
                self.note_free(number, sequence);
                self.note_damage(number, DamageKind::Head);
                self.repairs.push(Repair { number, first: Bytes::ZEROS, freed: sequence });
            }
            (Err(first), _) => {
                let may_be_new = is_empty(&first);
                self.endless.push(Endless { number, may_be_new });
            }
        }
        self.reading -= 1;
        self.read_heads();
    }

    fn note_used(&mut self, found: UsedSegment) {
        if self.found.insert(found.sequence, found).is_some() {
            self.fail(NotOurs::Wrong("two segments say that they are the same").into());
        }
    }

    pub(super) fn note_damage(&mut self, number: SegmentId, what: DamageKind) {
        let block = number.first_block(self.settings.segment_blocks);
        self.damages.push(Damage { block, what });
    }

    /// Continues to read segments with two damaged ends; false if there are none.
    pub(super) fn read_whole(&mut self, most: u32) -> bool {
        let Some(endless) = self.endless.last() else { return false };
        let (all, have) = (self.settings.segment_blocks, to_u32(self.blocks.len()));
        let count = (all - have).min(most);
        let block = endless.number.first_block(all) + u64::from(have);
        self.jobs.read(Job::Whole(count), Haste::Urgent, block, count, Vec::new());
        true
    }

    pub(super) fn note_whole(&mut self, mut data: Vec<Bytes>) {
        let Some(superblock) = self.superblock else { return };
        self.blocks.append(&mut data);
        if self.blocks.len() < self.settings.segment_blocks as usize {
            self.read_whole(self.jobs.most_blocks());
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let Some(Endless { number, may_be_new }) = self.endless.pop() else { return };
        let salt = Salt::of(superblock.store, number);
        let sequence = latest_sequence(&blocks, salt, superblock.run);
        if sequence.is_some() || !may_be_new {
            self.note_damage(number, DamageKind::Ends(self.settings.keep.into()));
        }
        // What a cache drops and what was flushed leaves a free segment.
        self.repairs.push(Repair { number, first: Bytes::ZEROS, freed: sequence.unwrap_or(0) });
        match sequence {
            Some(sequence) => {
                self.doubted = self.doubted.max(sequence);
                if self.is_believed(sequence) && !self.found.contains_key(&sequence) {
                    let (foot, is_cut, is_durable, durable_blocks) = (None, false, true, 0);
                    self.note_used(UsedSegment {
                        number,
                        sequence,
                        foot,
                        is_cut,
                        is_durable,
                        durable_blocks,
                    });
                }
            }
            None => self.is_all_doubted |= !may_be_new,
        }
        self.read_heads();
    }
}
