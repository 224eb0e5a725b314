//! Replacement drives: erased before they join an array.
//!
//! The content of a drive that was a member before looks like content of the array: journals, descriptors and
//! segments identify the array, not the member. So none of it may be left when the drive is rebuilt.

use super::ServedArray;
use crate::drive::{Answers, Drive};
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::array::{DriveId, MemberId, TooSmall};
use tailcut_host::{Bytes, Mirror, Request};

/// A drive that is being erased.
#[derive(Debug)]
pub(super) struct Joining<D> {
    pub(super) member: usize,
    pub(super) drive: D,
    id: MemberId,
    /// Blocks that are erased.
    done: u64,
    /// The next block to erase.
    next: u64,
}

impl<D: Drive> Joining<D> {
    fn erase_more(&mut self, now: Time, end: u64) {
        let (block, blocks) = (self.next, (end - self.next).min(ERASED_AT_ONCE));
        self.next += blocks;
        let (class, blocks, data) = (Class::DEFAULT, blocks as u32, Vec::new());
        let request: Request<Bytes> = Request {
            id: 0,
            op: Op::Trim,
            fua: false,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        self.drive.submit(now, request);
    }
}

impl<D: Drive> ServedArray<D> {
    /// Replaces a missing drive by another with any content: it is erased, and then rebuilt.
    ///
    /// # Errors
    /// If the drive is too small: it is returned, and nothing has changed.
    ///
    /// # Panics
    /// If the array has no slot `member`, or it is not free.
    pub fn erase_and_replace(
        &mut self,
        now: Time,
        member: usize,
        drive: D,
        id: MemberId,
    ) -> Result<(), (TooSmall, D)> {
        assert_eq!(self.is_free(member), Ok(true), "a drive that serves is not replaced");
        if let Err(why) = self.array.fits(&drive.disk()) {
            return Err((why, drive));
        }
        // As for other drives: one that cannot be watched is polled whenever another drive signals.
        let _ = self.listen(member, &drive);
        self.not_erased = None;
        let mut joining = Joining { member, drive, id, done: 0, next: 0 };
        joining.erase_more(now, self.array.core().usable().end);
        self.joining.push(joining);
        Ok(())
    }

    /// The slots whose new drives are being erased, before they are rebuilt, with the progress in parts per
    /// million.
    pub fn erasing(&self) -> impl Iterator<Item = (usize, u32)> {
        let end = self.array.core().usable().end.max(1);
        let progress = move |done: u64| (u128::from(done.min(end)) * 1_000_000 / u128::from(end)) as u32;
        self.joining.iter().map(move |joining| (joining.member, progress(joining.done)))
    }

    /// Advances the erasure of drives; true if there was anything to do.
    pub(super) fn join(&mut self, now: Time) -> bool {
        let (mut has_moved, end) = (false, self.array.core().usable().end);
        for place in (0..self.joining.len()).rev() {
            let joining = &mut self.joining[place];
            let mut answers = Answers::default();
            joining.drive.poll(now, &mut answers);
            let Some(response) = answers.responses.pop() else { continue };
            has_moved = true;
            joining.done = joining.next;
            if response.status == Status::Success && joining.next < end {
                joining.erase_more(now, end);
                continue;
            }
            let Joining { member, drive, id, .. } = self.joining.swap_remove(place);
            if response.status != Status::Success {
                self.not_erased = Some((member, response.status));
                continue;
            }
            self.stale.retain(|stale| stale.member.index() != member);
            self.array.replace(now, DriveId::at(member), drive.disk(), id).expect("it is as large as it was");
            self.drives[member] = Some(drive);
        }
        has_moved
    }
}

/// Blocks per erase request: 1 GiB.
const ERASED_AT_ONCE: u64 = 1 << 18;
