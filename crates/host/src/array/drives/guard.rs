//! Checksums of drives whose layout writes in place: a write waits here until its regions are marked dirty.

use super::gate::NO_EPOCH;
use super::{Answered, Drives, Owner, Presence, Priority, Waiting};
use crate::Block;
use crate::array::integrity::Integrity;
use crate::array::{DriveId, MemberId};
use tailcut_base::{Op, Time};

impl<B: Block> Drives<B> {
    /// Keeps checksums of all data written from now on.
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

    /// The checksums of a layout that writes in place, if it keeps any.
    pub fn integrity(&self) -> Option<&Integrity<B>> {
        self.integrity.as_deref()
    }

    /// True if `data` may be the blocks of a drive from `block` on: no known checksum contradicts it.
    #[inline]
    pub fn accept(&self, drive: DriveId, block: u64, data: &[B]) -> bool {
        self.integrity.as_ref().is_none_or(|integrity| integrity.accept(drive, block, data))
    }

    /// Sets the unknown checksum of a block whose content was verified against its stripe or its copies; see
    /// [`Integrity`].
    pub(in crate::array) fn adopt(&mut self, now: Time, drive: DriveId, block: u64, content: &B) {
        if let Some(integrity) = &mut self.integrity {
            integrity.adopt(now, drive, block, content);
            self.grant(now);
        }
    }

    /// Starts with blank drives: the array is being created.
    pub(in crate::array) fn begin_checksums(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.begin(now);
            self.grant(now);
        }
    }

    /// Starts loading marks and checksums from all present drives: the array is being opened.
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

    /// True once marks and checksums are loaded.
    pub(in crate::array) fn has_checksums(&self) -> bool {
        self.integrity.as_ref().is_none_or(|integrity| integrity.is_loaded())
    }

    /// Starts with a blank drive in the place of a replaced one, under its new member identity.
    pub(in crate::array) fn renew_checksums(&mut self, now: Time, drive: DriveId, id: MemberId) {
        if let Some(integrity) = &mut self.integrity {
            integrity.set_cache(drive, self.members[drive].disk.volatile_cache);
            integrity.renew(now, drive, id);
            self.grant(now);
        }
    }

    /// When regions may have been idle long enough to be cleaned.
    pub(in crate::array) fn next_rest(&self) -> Time {
        self.integrity.as_ref().map_or(Time::NEVER, |integrity| integrity.next_event())
    }

    /// True if a write to a region of the blocks read was in flight during the read: the drive may have
    /// returned an earlier version.
    #[cold]
    pub(in crate::array) fn has_raced(&self, now: Time, answer: &Answered<B>) -> bool {
        let since = Time(now.0.saturating_sub(answer.spans.total().0));
        let Some(integrity) = &self.integrity else { return false };
        integrity.were_written(answer.drive, answer.range(), since)
    }

    /// Stops cleaning the regions of a drive whose flush has failed: later flushes do not prove that its
    /// blocks and checksums are durable.
    pub(in crate::array) fn stop_cleaning(&mut self, drive: DriveId) {
        if let Some(integrity) = &mut self.integrity {
            integrity.stop_cleaning(drive);
        }
    }

    /// Forgets the checksums of a drive that is about to be rebuilt from its first block: the reconstructed
    /// blocks may differ from what it holds.
    pub(in crate::array) fn forget_checksums(&mut self, drive: DriveId) {
        if let Some(integrity) = &mut self.integrity {
            integrity.forget_checksums(drive);
        }
    }

    /// Prepares the checksums for an orderly shutdown of the array.
    pub(in crate::array) fn end_checksums(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.end(now);
        }
    }

    /// Cleans idle regions, and sends the requests for that.
    pub(in crate::array) fn rest(&mut self, now: Time) {
        if let Some(integrity) = &mut self.integrity {
            integrity.advance(now);
            self.grant(now);
        }
    }

    /// Sends a request to a drive, or holds a write until its regions are durably marked dirty.
    #[inline(never)]
    pub(super) fn ask_guarded(&mut self, now: Time, drive: DriveId, urgency: Priority, waiting: Waiting<B>) {
        let integrity = self.integrity.as_mut().expect("checksums are kept");
        let is_write = matches!(waiting.ask.op, Op::Write | Op::Trim);
        let is_there = self.members[drive].presence != Presence::Missing;
        if is_write && is_there && !integrity.admit(now, drive, &waiting.ask) {
            self.members[drive].unmarked.push_back((urgency, waiting));
            return self.grant(now);
        }
        self.ask_at_gate(now, drive, urgency, waiting);
    }

    /// A write has completed.
    pub(super) fn note_written(&mut self, now: Time, answer: &Answered<B>) {
        let is_write = matches!(answer.op, Op::Write | Op::Trim);
        let is_own = matches!(answer.owner, Owner::Integrity(_));
        if let Some(integrity) = self.integrity.as_mut().filter(|_| is_write && !is_own) {
            integrity.ended(now, answer);
        }
    }

    /// Handles the answer to a request of the checksum machine.
    pub(in crate::array) fn checksums_answered(&mut self, now: Time, life: u32, answer: &Answered<B>) {
        let Some(integrity) = &mut self.integrity else { return };
        let drive = answer.drive;
        if integrity.life(drive) == life {
            if integrity.answered(now, answer) {
                while let Some((_, waiting)) = self.members[drive].unmarked.pop_front() {
                    self.answer(drive, waiting, answer.status);
                }
            } else if answer.op == Op::Write {
                self.send_marked(now, drive);
            }
        }
        self.grant(now);
    }

    /// Sends the writes whose marks have been written; the others keep waiting.
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

    /// Drops the checksums of a lost drive, and fails the writes that waited for its marks.
    pub(super) fn lose_checksums(&mut self, drive: DriveId) {
        let Some(integrity) = &mut self.integrity else { return };
        integrity.lost(drive);
        while let Some((_, waiting)) = self.members[drive].unmarked.pop_front() {
            self.bounce(drive, waiting);
        }
    }

    /// Sends the requests of the checksum machine.
    fn grant(&mut self, now: Time) {
        while let Some((drive, urgency, ask)) = self.integrity.as_mut().and_then(|integrity| integrity.wish())
        {
            let life = self.integrity.as_ref().expect("checksums are kept").life(drive);
            let owner = Owner::Integrity(life);
            let waiting =
                Waiting { since: now, is_heavy: false, epoch: NO_EPOCH, owner, ask, is_retry: false };
            self.ask_now(now, drive, urgency, waiting);
        }
    }
}
