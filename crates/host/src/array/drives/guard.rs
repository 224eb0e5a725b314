//! Checksums before a drive whose layout writes in place: a write waits here for the marks of its regions.

use super::gate::NO_EPOCH;
use super::{Answered, Drives, Owner, Presence, Urgency, Waiting};
use crate::Block;
use crate::array::integrity::Integrity;
use crate::array::{DriveId, MemberId};
use tailcut_base::{Op, Time};

impl<B: Block> Drives<B> {
    /// Keeps checksums of what is written from now on.
    pub(in crate::array) fn keep_checksums(&mut self, mut integrity: Integrity<B>) {
        for drive in self.ids() {
            integrity.set_cache(drive, self.disk(drive).volatile_cache);
        }
        self.integrity = Some(Box::new(integrity));
    }

    /// Blocks from `first` on have checksums, if they are kept.
    pub(in crate::array) fn cover(&mut self, first: u64) {
        if let Some(integrity) = &mut self.integrity {
            integrity.cover(first);
        }
    }

    /// What is known of checksums, where the layout writes in place and keeps some.
    pub fn integrity(&self) -> Option<&Integrity<B>> {
        self.integrity.as_deref()
    }

    /// True if these are the blocks of a drive from `block` on, as far as is known.
    #[inline]
    pub fn accept(&self, drive: DriveId, block: u64, data: &[B]) -> bool {
        self.integrity.as_ref().is_none_or(|integrity| integrity.accept(drive, block, data))
    }

    /// Somebody has compared a block with what its stripe or its copies say: see [`Integrity`].
    pub(in crate::array) fn adopt(&mut self, now: Time, drive: DriveId, block: u64, content: &B) {
        if let Some(integrity) = &mut self.integrity {
            integrity.adopt(now, drive, block, content);
            self.grant(now);
        }
    }

    /// The array is new: nothing on its drives counts.
    pub(in crate::array) fn begin_checksums(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.begin(now);
            self.grant(now);
        }
    }

    /// The array is opened: reads what drives know of their blocks.
    pub(in crate::array) fn load_checksums(&mut self, now: Time) {
        let most = self.most_blocks;
        let Some(integrity) = &mut self.integrity else { return };
        for (drive, member) in self.members.iter_enumerated() {
            if member.presence != Presence::Missing {
                integrity.begin_loading(drive, most);
            }
        }
        self.grant(now);
    }

    /// True when what drives know of their blocks has been read.
    pub(in crate::array) fn has_checksums(&self) -> bool {
        self.integrity.as_ref().is_none_or(|integrity| integrity.is_loaded())
    }

    /// Another drive has a place, as this member.
    pub(in crate::array) fn renew_checksums(&mut self, now: Time, drive: DriveId, id: MemberId) {
        if let Some(integrity) = &mut self.integrity {
            integrity.set_cache(drive, self.members[drive].disk.volatile_cache);
            integrity.renew(now, drive, id);
            self.grant(now);
        }
    }

    /// When regions may have come to rest.
    pub(in crate::array) fn next_rest(&self) -> Time {
        self.integrity.as_ref().map_or(Time::NEVER, |integrity| integrity.next_event())
    }

    /// True if a drive has answered a read of blocks that were written meanwhile, or others near them.
    #[cold]
    pub(in crate::array) fn has_raced(&self, now: Time, answer: &Answered<B>) -> bool {
        let since = Time(now.0.saturating_sub(answer.spans.total().0));
        let Some(integrity) = &self.integrity else { return false };
        integrity.were_written(answer.drive, answer.block, answer.blocks, since)
    }

    /// Nobody will write any more.
    pub(in crate::array) fn end_checksums(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.end(now);
        }
    }

    /// Regions that nobody writes come to rest.
    pub(in crate::array) fn rest(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.advance(now);
            self.grant(now);
        }
    }

    /// Asks a drive, or holds a write until the marks of its regions are durable.
    pub(super) fn ask_guarded(&mut self, now: Time, drive: DriveId, urgency: Urgency, waiting: Waiting<B>) {
        let integrity = self.integrity.as_mut().expect("checksums are kept");
        let is_write = matches!(waiting.ask.op, Op::Write | Op::Trim);
        let is_there = self.members[drive].presence != Presence::Missing;
        if is_write && is_there && !integrity.admit(now, drive, &waiting.ask) {
            self.members[drive].unmarked.push_back((urgency, waiting));
            return self.grant(now);
        }
        self.ask_at_gate(now, drive, urgency, waiting);
    }

    /// A write has been answered.
    pub(super) fn note_written(&mut self, now: Time, answer: &Answered<B>) {
        let is_write = matches!(answer.op, Op::Write | Op::Trim);
        let is_own = matches!(answer.owner, Owner::Integrity(_));
        if let Some(integrity) = self.integrity.as_mut().filter(|_| is_write && !is_own) {
            integrity.ended(now, answer);
        }
    }

    /// A drive has answered what was asked for the sake of checksums.
    pub(in crate::array) fn checksums_answered(&mut self, now: Time, life: u32, answer: Answered<B>) {
        let Some(integrity) = &mut self.integrity else { return };
        let drive = answer.drive;
        if integrity.life(drive) == life {
            if integrity.answered(now, &answer) {
                while let Some((_, waiting)) = self.members[drive].unmarked.pop_front() {
                    self.answer(drive, waiting, answer.status);
                }
            } else if answer.op == Op::Write {
                self.send_marked(now, drive);
            }
        }
        self.recycle(answer.data);
        self.grant(now);
    }

    /// Marks have been written: sends what has waited for no others.
    fn send_marked(&mut self, now: Time, drive: DriveId) {
        for _ in 0..self.members[drive].unmarked.len() {
            let Some((urgency, waiting)) = self.members[drive].unmarked.pop_front() else { return };
            let integrity = self.integrity.as_mut().expect("checksums are kept");
            if integrity.admit(now, drive, &waiting.ask) {
                self.ask_now(now, drive, urgency, waiting);
            } else {
                self.members[drive].unmarked.push_back((urgency, waiting));
            }
        }
    }

    /// A drive is gone, and with it what waited for its marks.
    pub(super) fn lose_checksums(&mut self, drive: DriveId) {
        let Some(integrity) = &mut self.integrity else { return };
        integrity.lost(drive);
        while let Some((_, waiting)) = self.members[drive].unmarked.pop_front() {
            self.bounce(drive, waiting);
        }
    }

    /// Asks for what checksums need.
    fn grant(&mut self, now: Time) {
        while let Some((drive, urgency, ask)) = self.integrity.as_mut().and_then(|integrity| integrity.wish())
        {
            let life = self.integrity.as_ref().expect("checksums are kept").life(drive);
            let owner = Owner::Integrity(life);
            let waiting = Waiting { since: now, is_heavy: false, epoch: NO_EPOCH, owner, ask };
            self.ask_now(now, drive, urgency, waiting);
        }
    }
}
