//! Handling of the completions of reads.

use super::read::{Direct, Read, ReadId};
use super::wanted::ask;
use super::{ReadResult, Reads, ReconstructWhen};
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Drives, Owner};
use tailcut_base::ids::Id;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<B: Block> Reads<B> {
    pub(super) fn drive_answered(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        id: ReadId,
        answer: &mut Answered<B>,
    ) {
        let has_copies = self.has_copies();
        let wanted = self.reads[id].wanted;
        let is_intact = answer.status == Status::Success && self.is_intact(drives, &wanted, answer);
        let read = &mut self.reads[id];
        assert_eq!(read.direct, Direct::Pending);
        read.direct = Direct::Useless;
        if read.is_done {
            return;
        }
        if !read.is_around || has_copies {
            read.account(now, answer);
        }
        if is_intact {
            return self.report(now, drives, id, Status::Success, std::mem::take(&mut answer.data));
        }
        let status = answer.status;
        let has_raced = drives.has_raced(now, answer);
        if status == Status::Contended {
            read.direct = Direct::Contended(answer.busy_for);
            read.copies.direct_is_free_at(now + answer.busy_for);
        }
        self.count_failure(id, wanted.drive, status, has_raced);
        if self.reads[id].is_around {
            // The other parts are in flight, have failed, or were declined.
            if self.reads[id].pending == 0 {
                if has_copies {
                    self.ask_next_copy(now, drives, id);
                } else {
                    self.all_answered(now, drives, id);
                }
            }
        } else if self.can_go_around(&wanted) {
            self.go_around(now, drives, id);
        } else {
            self.lose(now, drives, id);
        }
    }

    pub(super) fn count_failure(&mut self, id: ReadId, drive: DriveId, status: Status, has_raced: bool) {
        let read = &mut self.reads[id];
        read.repair |= matches!(status, Status::Success | Status::MediaError);
        match status {
            Status::Contended => self.counts.contended += 1,
            // The data may be an earlier version; then it is no longer needed.
            Status::Success if has_raced => {}
            Status::Success => {
                self.counts.corrupt += 1;
                self.faults_mut(drive).corrupt += 1;
            }
            _ => {
                self.counts.degraded += 1;
                self.faults_mut(drive).errors += 1;
            }
        }
    }

    pub(super) fn member_answered(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        id: ReadId,
        answer: &Answered<B>,
    ) {
        let wanted = self.reads[id].wanted;
        let is_intact = answer.status == Status::Success && self.is_intact(drives, &wanted, answer);
        let read = &mut self.reads[id];
        read.pending -= 1;
        if read.is_done {
            return;
        }
        match answer.status {
            Status::Success if is_intact => {
                for (sum, block) in read.sum.iter_mut().zip(&answer.data) {
                    sum.xor(block);
                }
            }
            Status::Contended => {
                read.refused |= 1 << (answer.drive.index() % 64);
                read.longest = read.longest.max(answer.busy_for);
            }
            _ => read.is_broken = true,
        }
        if self.reads[id].pending == 0 {
            self.all_answered(now, drives, id);
        }
    }

    /// All other members have completed.
    pub(super) fn all_answered(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let read = &self.reads[id];
        let is_complete = !read.is_broken && read.refused == 0;
        let is_wrong = is_complete && !self.accept(drives, read.wanted.drive, read.wanted.block, &read.sum);
        let read = &mut self.reads[id];
        read.spans.add(Cause::Reconstruction, now.since(read.mark));
        read.mark = now;
        // The reconstruction fails its checksum: a block of another member is wrong, and it is unknown which.
        read.is_broken |= is_wrong;
        if !read.is_broken && read.refused == 0 {
            let data = std::mem::take(&mut read.sum);
            return self.report(now, drives, id, Status::Success, data);
        }
        let (direct, refused, longest) = (read.direct, read.refused, read.longest);
        match direct {
            Direct::Pending => {}
            Direct::Useless if read.is_broken => self.lose_or_restart(now, drives, id),
            // Wait for the drive that is free first (IODA, section 3.2.2: busy remaining time).
            Direct::Contended(busy) if read.is_broken || busy <= longest => {
                self.ask_drive(now, drives, id, false);
            }
            Direct::Unasked => self.ask_drive(now, drives, id, false),
            Direct::Contended(_) | Direct::Useless => self.ask_refused(now, drives, id, refused),
        }
    }

    /// Repeats the reads that were declined, without fail-fast.
    fn ask_refused(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId, refused: u64) {
        let wanted = self.reads[id].wanted;
        let read = self.read_mut(id);
        (read.refused, read.longest) = (0, Nanos::ZERO);
        for (member, block) in self.others(&wanted) {
            if refused & (1 << (member.index() % 64)) != 0 {
                self.read_mut(id).pending += 1;
                let owner = Owner::Read { read: id, part: member };
                drives.ask(now, member, wanted.urgency, owner, ask(&wanted, block, false));
            }
        }
    }

    /// The data cannot be read, or not in this way.
    #[cold]
    pub(super) fn lose(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let Read { wanted, direct, .. } = &self.reads[id];
        let status = match direct {
            Direct::Contended(_) if wanted.around == ReconstructWhen::Told => Status::Contended,
            _ => Status::MediaError,
        };
        self.counts.lost += u64::from(!matches!(
            wanted.around,
            ReconstructWhen::Later | ReconstructWhen::Told | ReconstructWhen::Always
        ));
        self.report(now, drives, id, status, Vec::new());
    }

    pub(super) fn report(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        id: ReadId,
        status: Status,
        mut data: Vec<B>,
    ) {
        let read = &mut self.reads[id];
        read.spans.add(Cause::Reconstruction, now.since(read.mark));
        read.mark = now;
        read.is_done = true;
        let sum = std::mem::take(&mut read.sum);
        let (wanted, reconstructed, damaged) = (read.wanted, read.is_around, read.repair);
        let busy_for = match read.direct {
            Direct::Contended(busy_for) => busy_for,
            _ => Nanos::ZERO,
        };
        // Made in its place, unlike one that is pushed: the spans are copied once.
        self.done.extend(std::slice::from_ref(&read.spans).iter().map(|&spans| ReadResult {
            wanted,
            status,
            data: std::mem::take(&mut data),
            busy_for,
            spans,
            reconstructed,
            damaged,
        }));
        drives.recycle(sum);
    }
}
