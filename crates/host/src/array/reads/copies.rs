//! Reads where there are copies: one copy after the other is asked, until one has the data or none is left.
//!
//! Which copy is next: of those that have not been asked the one whose drive does nothing with the token, and
//! of these the one with the least to do. When all would rather not serve, whoever is free first must (IODA,
//! SOSP 2021, section 3.2.2: busy remaining time). A read is served by one drive alone, so what it waited for
//! is known as exactly as if it had gone there first.

use super::read::{Direct, Read};
use super::wanted::ask;
use super::{Around, MOST_COPIES, Reads, Redundancy, can_serve};
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Drives, Owner};
use tailcut_base::{Cause, Status, Time};

/// What the other copies of a read have said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// Those that have been asked, one bit each.
    asked: u8,
    /// When those are free that would rather not have served; the last is the drive that was asked first.
    free_at: [Time; MOST_COPIES],
}

/// The place of the drive that was asked first.
const DIRECT: usize = MOST_COPIES - 1;

impl Others {
    /// Nobody has been asked.
    pub(super) const UNASKED: Others = Others { asked: 0, free_at: [Time::NEVER; MOST_COPIES] };

    /// The drive that was asked first would rather not have served, and is free then.
    pub(super) fn direct_is_free_at(&mut self, at: Time) {
        self.free_at[DIRECT] = at;
    }

    /// Whoever is free first, who is not asked again.
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
    /// Accounts for the time up to an answer: what the drive says, if the answer belongs to no more than that
    /// time.
    pub(super) fn account(&mut self, now: Time, answer: &Answered<B>) {
        let passed = now.since(self.mark);
        if answer.spans.total() <= passed {
            self.spans.extend(&answer.spans);
            self.spans.add(Cause::ArrayQueue, passed.saturating_sub(answer.spans.total()));
        } else {
            self.spans.add(Cause::Reconstruction, passed);
        }
        self.mark = now;
    }
}

impl<B: Block> Reads<B> {
    /// True where there are copies.
    pub(super) fn has_copies(&self) -> bool {
        matches!(self.redundancy, Redundancy::Copies(_))
    }

    /// Goes on with a read that is not served by the drive which was asked first, or not in time.
    pub(super) fn ask_next_copy(&mut self, now: Time, drives: &mut Drives<B>, slot: u32) {
        let read = &mut self.slots[slot as usize];
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
            return self.ask_whoever_is_free_first(now, drives, slot);
        };
        let has_others = left().count() > 1;
        let read = self.read_mut(slot);
        read.copies.asked |= 1 << index;
        // Somebody else is left who can be made to serve.
        let has_choice = has_others
            || read.copies.any_refuses()
            || matches!(read.direct, Direct::Unasked | Direct::Pending);
        let fail_fast = wanted.around == Around::WhenContended && has_choice;
        self.ask_copy(now, drives, slot, index, fail_fast);
    }

    fn ask_copy(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, index: usize, fail_fast: bool) {
        let wanted = self.slots[slot as usize].wanted;
        let (drive, block) = self.redundancy.other(wanted.drive, wanted.block, index);
        self.read_mut(slot).pending += 1;
        let owner = Owner::Read { read: slot, part: drive };
        drives.ask(now, drive, wanted.urgency, owner, ask(&wanted, block, fail_fast));
    }

    /// All have been asked, and none has served.
    fn ask_whoever_is_free_first(&mut self, now: Time, drives: &mut Drives<B>, slot: u32) {
        let read = self.read_mut(slot);
        let first = read.copies.take_first();
        match (read.direct, first) {
            (Direct::Pending, None) => {}
            (Direct::Unasked, _) => self.ask_drive(now, drives, slot, false),
            (_, Some(DIRECT)) => self.ask_drive(now, drives, slot, false),
            (_, Some(index)) => self.ask_copy(now, drives, slot, index, false),
            (_, None) => self.lose_or_restart(now, drives, slot),
        }
    }

    /// The drive of another copy has answered.
    pub(super) fn copy_answered(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        slot: u32,
        answer: Answered<B>,
    ) {
        let read = self.read_mut(slot);
        read.pending -= 1;
        if read.is_done {
            return drives.recycle(answer.data);
        }
        read.account(now, &answer);
        let wanted = read.wanted;
        if answer.status == Status::Success && self.is_intact(drives, &wanted, &answer) {
            return self.tell(now, drives, slot, Status::Success, answer.data);
        }
        if answer.status == Status::Contended {
            let is_this = |(drive, _): (DriveId, u64)| drive == answer.drive;
            let index = self.others(&wanted).position(is_this).expect("it has a copy");
            self.read_mut(slot).copies.free_at[index] = now + answer.busy_for;
        } else {
            let has_raced = drives.has_raced(now, &answer);
            self.count_failure(slot, answer.drive, answer.status, has_raced);
        }
        drives.recycle(answer.data);
        self.ask_next_copy(now, drives, slot);
    }
}
