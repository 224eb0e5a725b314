//! Reads with copies: one copy after the other is tried until one has the data or none is left.
//!
//! The next copy is the untried one whose drive is not working with the token and, of these, the one with the
//! least load. If all drives decline, the one that is free first must serve the read (IODA, SOSP 2021,
//! section 3.2.2: busy remaining time). A single drive serves the read in the end, so its time is attributed
//! as exactly as if it had gone there first.

use super::read::{Direct, Read, ReadId};
use super::wanted::ask;
use super::{MOST_COPIES, Reads, ReconstructWhen, Redundancy, can_serve};
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Drives, Owner};
use tailcut_base::{Cause, Status, Time};

/// Results of the other copies of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// Copies tried, one bit each.
    asked: u8,
    /// When drives that declined are free; the last entry is the drive tried first.
    free_at: [Time; MOST_COPIES],
}

/// Index of the drive tried first.
const DIRECT: usize = MOST_COPIES - 1;

impl Others {
    /// No copy has been tried.
    pub(super) const UNASKED: Others = Others { asked: 0, free_at: [Time::NEVER; MOST_COPIES] };

    /// The drive tried first has declined, and is free at `at`.
    pub(super) fn direct_is_free_at(&mut self, at: Time) {
        self.free_at[DIRECT] = at;
    }

    /// Takes the drive that is free first; it is not tried again.
    fn take_first(&mut self) -> Option<usize> {
        let first = (0..MOST_COPIES).rev().min_by_key(|&index| self.free_at[index])?;
        let at = std::mem::replace(&mut self.free_at[first], Time::NEVER);
        (at != Time::NEVER).then_some(first)
    }

    fn any_refuses(&self) -> bool {
        self.free_at.iter().any(|&at| at != Time::NEVER)
    }
}

impl<B> Read<B> {
    /// Attributes the time up to a completion as the drive reports it, unless its report covers more than
    /// that time.
    pub(super) fn account(&mut self, now: Time, answer: &Answered<B>) {
        let (passed, known) = (now.since(self.mark), answer.spans.total());
        if known <= passed {
            self.spans.extend(&answer.spans);
            self.spans.add(Cause::ArrayQueue, passed.saturating_sub(known));
        } else {
            self.spans.add(Cause::Reconstruction, passed);
        }
        self.mark = now;
    }
}

impl<B: Block> Reads<B> {
    /// True if blocks have copies.
    pub(super) fn has_copies(&self) -> bool {
        matches!(self.redundancy, Redundancy::Copies(_))
    }

    /// Continues a read that the drive tried first does not serve, or not in time.
    pub(super) fn ask_next_copy(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let read = &mut self.reads[id];
        let wanted = read.wanted;
        if !read.is_around {
            read.is_around = true;
            read.spans.add(Cause::Reconstruction, now.since(read.mark));
            read.mark = now;
        }
        let asked = read.copies.asked;
        let can_be_asked = |&(index, (drive, block)): &(usize, (DriveId, u64))| {
            asked & (1 << index) == 0 && can_serve(drives, &wanted, (drive, block))
        };
        let left = || self.others(&wanted).enumerate().filter(can_be_asked);
        let rank = |&(index, (drive, _)): &(usize, (DriveId, u64))| {
            (drives.is_at_work(drive), drives.load(drive), index)
        };
        let Some((index, _)) = left().min_by_key(rank) else {
            return self.ask_whoever_is_free_first(now, drives, id);
        };
        let has_others = left().count() > 1;
        let read = self.read_mut(id);
        read.copies.asked |= 1 << index;
        // Another drive is left that can be made to serve.
        let has_choice = has_others
            || read.copies.any_refuses()
            || matches!(read.direct, Direct::Unasked | Direct::Pending);
        let fail_fast = wanted.around == ReconstructWhen::WhenContended && has_choice;
        self.ask_copy(now, drives, id, index, fail_fast);
    }

    fn ask_copy(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId, index: usize, fail_fast: bool) {
        let wanted = self.reads[id].wanted;
        let (drive, block) = self.redundancy.other(wanted.drive, wanted.block, index);
        self.read_mut(id).pending += 1;
        let owner = Owner::Read { read: id, part: drive };
        drives.ask(now, drive, wanted.urgency, owner, ask(&wanted, block, fail_fast));
    }

    /// All copies have been tried without success: repeats the read where it is free first.
    fn ask_whoever_is_free_first(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let read = self.read_mut(id);
        let first = read.copies.take_first();
        match (read.direct, first) {
            (Direct::Pending, None) => {}
            (Direct::Unasked, _) => self.ask_drive(now, drives, id, false),
            (_, Some(DIRECT)) => self.ask_drive(now, drives, id, false),
            (_, Some(index)) => self.ask_copy(now, drives, id, index, false),
            (_, None) => self.lose_or_restart(now, drives, id),
        }
    }

    /// The read of another copy has completed.
    pub(super) fn copy_answered(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        id: ReadId,
        answer: &mut Answered<B>,
    ) {
        let read = self.read_mut(id);
        read.pending -= 1;
        if read.is_done {
            return;
        }
        read.account(now, answer);
        let wanted = read.wanted;
        if answer.status == Status::Success && self.is_intact(drives, &wanted, answer) {
            return self.report(now, drives, id, Status::Success, std::mem::take(&mut answer.data));
        }
        if answer.status == Status::Contended {
            let is_this = |(drive, _): (DriveId, u64)| drive == answer.drive;
            let index = self.others(&wanted).position(is_this).expect("it has a copy");
            self.read_mut(id).copies.free_at[index] = now + answer.busy_for;
        } else {
            let has_raced = drives.has_raced(now, answer);
            self.count_failure(id, answer.drive, answer.status, has_raced);
        }
        self.ask_next_copy(now, drives, id);
    }
}
