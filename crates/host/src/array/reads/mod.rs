//! Reads of stored blocks, and their reconstruction without the drive that they are on.
//!
//! The substitute for a block is given by [`Redundancy`]: with parity, a stripe is the same block address on
//! each member of an R-group, and a block is the exclusive or of the stripe's other blocks; with
//! copies, it is another copy (`copies`). One machine serves reads for users, collection, rebuilding and
//! scrubbing, and one place decides when a read avoids a drive: because it is missing, slow, corrupt, or
//! busy.

mod answers;
mod check;
mod checksums;
mod copies;
mod counts;
mod read;
mod redundancy;
mod seal;
mod wanted;

pub use checksums::Checksums;
pub use counts::{DriveFaults, ReadCounts};
pub use read::ReadId;
pub use redundancy::{Copies, MOST_COPIES, Redundancy};
pub use seal::{SealAge, seal_of};
use tailcut_base::cast::to_u8;
pub use wanted::{BlockRead, ReadResult, ReconstructWhen};

use super::drives::{Answered, Drives, Owner};
use crate::Block;
use crate::array::DriveId;
use crate::mutation::{Invariant, holds};
use copies::Others;
use read::{Direct, Read};
use std::collections::VecDeque;
use tailcut_base::ids::{IdVec, Pool};
use tailcut_base::{Nanos, Spans, Time};
use wanted::{ask, is_intact};

/// All reads of an array.
#[derive(Debug)]
pub struct Reads<B> {
    reads: Pool<ReadId, Read<B>>,
    redundancy: Redundancy,
    /// Time after which a read is reconstructed; never if zero.
    patience: Nanos,
    /// When reads in flight become late: time, read, life. In order of time.
    deadlines: VecDeque<(Time, ReadId, u32)>,
    counts: ReadCounts,
    /// Faults by drive, up to the highest drive with any.
    faults: IdVec<DriveId, DriveFaults>,
    done: Vec<ReadResult<B>>,
    /// Checksums of blocks, if the layout keeps them here.
    checksums: Option<Box<Checksums>>,
}

impl<B: Block> Reads<B> {
    /// Reads with this redundancy. A read that a drive does not complete within `patience` avoids it (never
    /// if zero).
    ///
    /// # Panics
    /// If a block of `redundancy` has 64 substitutes or more.
    pub fn new(redundancy: Redundancy, patience: Nanos) -> Reads<B> {
        assert!(redundancy.others() < 64, "the members of a group fit a word");
        Reads {
            reads: Pool::new(),
            redundancy,
            patience,
            deadlines: VecDeque::new(),
            counts: ReadCounts::default(),
            faults: IdVec::new(),
            done: Vec::new(),
            checksums: None,
        }
    }

    /// Sets the placement of copies.
    pub fn set_copies(&mut self, copies: Copies) {
        self.redundancy = Redundancy::Copies(copies);
    }

    /// Number of ways to read a block that do not share a drive.
    pub fn copies(&self) -> u8 {
        match self.redundancy {
            Redundancy::None => 1,
            Redundancy::Parity(_) => 2,
            Redundancy::Copies(copies) => to_u8(copies.count),
        }
    }

    /// Verifies data from drives against checksums from now on; all are unknown at first.
    pub fn keep_checksums(&mut self, drives: usize, blocks: u64) {
        self.checksums = Some(Box::new(Checksums::new(drives, blocks)));
    }

    /// The checksums of stored blocks, if they are kept.
    #[inline]
    pub fn checksums(&mut self) -> Option<&mut Checksums> {
        self.checksums.as_deref_mut()
    }

    /// True if `data` may be the blocks of a drive from `block` on: no known checksum contradicts it.
    fn accept(&self, drives: &Drives<B>, drive: DriveId, block: u64, data: &[B]) -> bool {
        if !holds(Invariant::ChecksumsAreCompared) {
            return true;
        }
        let Some(checksums) = &self.checksums else { return drives.accept(drive, block, data) };
        data.iter().zip(block..).all(|(content, block)| checksums.accept(drive, block, content))
    }

    /// True if a drive has returned the data that was written.
    fn is_intact(&self, drives: &Drives<B>, wanted: &BlockRead, answer: &Answered<B>) -> bool {
        is_intact(wanted, answer) && self.accept(drives, answer.drive, answer.block, &answer.data)
    }

    /// Counters of all reads, by how they were served.
    pub fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    /// Faults of reads of a drive, including earlier drives in its place.
    pub fn faults(&self, drive: DriveId) -> DriveFaults {
        self.faults.get(drive).copied().unwrap_or_default()
    }

    /// Counts blocks that are rewritten after errors or wrong data.
    pub fn note_repaired(&mut self, blocks: u64) {
        self.counts.repaired += blocks;
    }

    /// Counts a read whose data its reader, which has checksums of its own, has found to be wrong.
    pub fn note_wrong(&mut self, drive: DriveId) {
        self.counts.corrupt += 1;
        self.faults_mut(drive).corrupt += 1;
    }

    fn faults_mut(&mut self, drive: DriveId) -> &mut DriveFaults {
        self.faults.extend_to(drive, DriveFaults::default());
        &mut self.faults[drive]
    }

    /// Reads without a result yet.
    pub fn in_flight(&self) -> usize {
        self.reads.len()
    }

    /// Starts a read, from its drive or from the other members of the group; its result comes from
    /// [`Reads::done`].
    pub fn begin(&mut self, now: Time, drives: &mut Drives<B>, wanted: BlockRead) {
        self.counts.begun += 1;
        let id = self.open(now, wanted);
        self.start(now, drives, id);
        self.drain(id);
    }

    /// Reads from the drive, or from its substitutes.
    fn start(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let wanted = self.reads[id].wanted;
        let can_go_around = self.can_go_around(&wanted);
        self.read_mut(id).changes = drives.changes();
        if wanted.around == ReconstructWhen::Always {
            self.read_mut(id).direct = Direct::Useless;
            return self.go_around(now, drives, id);
        }
        if !drives.serves(wanted.drive, wanted.range_from(wanted.block)) {
            self.read_mut(id).direct = Direct::Useless;
            if can_go_around {
                self.counts.degraded += 1;
                return self.go_around(now, drives, id);
            }
            return self.lose(now, drives, id);
        }
        let is_taken = wanted.around == ReconstructWhen::Now
            || !matches!(wanted.around, ReconstructWhen::WhenWrong | ReconstructWhen::InTurn)
                && drives.is_taken(wanted.drive);
        if can_go_around && is_taken && self.others_serve(drives, &wanted) {
            self.counts.steered += 1;
            return self.go_around(now, drives, id);
        }
        let fail_fast = wanted.around == ReconstructWhen::Told
            || can_go_around && wanted.around == ReconstructWhen::WhenContended;
        self.ask_drive(now, drives, id, fail_fast);
        let is_patient = matches!(wanted.around, ReconstructWhen::WhenWrong | ReconstructWhen::InTurn);
        if can_go_around && !is_patient && self.patience > Nanos::ZERO {
            self.deadlines.push_back((now + self.patience, id, self.reads[id].life));
        }
    }

    fn can_go_around(&self, wanted: &BlockRead) -> bool {
        self.redundancy != Redundancy::None
            && !matches!(
                wanted.around,
                ReconstructWhen::Never | ReconstructWhen::Later | ReconstructWhen::Told
            )
    }

    /// True if the substitutes can serve: all of them, or one in the case of copies.
    fn others_serve(&self, drives: &Drives<B>, wanted: &BlockRead) -> bool {
        let serves = |place: (DriveId, u64)| can_serve(drives, wanted, place);
        if self.has_copies() { self.others(wanted).any(serves) } else { self.others(wanted).all(serves) }
    }

    /// The substitutes for a range: drive, and first block there.
    fn others(&self, wanted: &BlockRead) -> impl Iterator<Item = (DriveId, u64)> + use<B> {
        let (redundancy, drive, block) = (self.redundancy, wanted.drive, wanted.block);
        (0..redundancy.others()).map(move |index| redundancy.other(drive, block, index))
    }

    fn open(&mut self, now: Time, wanted: BlockRead) -> ReadId {
        let id = self.reads.allocate(|| Read {
            wanted,
            mark: now,
            spans: Spans::new(),
            direct: Direct::Unasked,
            pending: 0,
            sum: Vec::new(),
            is_broken: false,
            refused: 0,
            longest: Nanos::ZERO,
            is_around: false,
            copies: Others::UNASKED,
            is_done: false,
            repair: false,
            changes: 0,
            life: 0,
        });
        let read = &mut self.reads[id];
        (read.wanted, read.mark, read.spans) = (wanted, now, Spans::new());
        (read.direct, read.pending, read.refused) = (Direct::Unasked, 0, 0);
        (read.is_broken, read.is_around, read.is_done, read.repair) = (false, false, false, false);
        (read.longest, read.copies) = (Nanos::ZERO, Others::UNASKED);
        read.life = read.life.wrapping_add(1);
        id
    }

    /// The data could not be read from the drives as they were when the read started. If the state of drives
    /// has changed since, the read restarts: the drive missing then may have been rebuilt, and the one that
    /// has failed since may be the only one missing now. Each restart requires such a change, so reads
    /// terminate.
    pub(super) fn lose_or_restart(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        let read = &mut self.reads[id];
        let wanted = read.wanted;
        if read.changes == drives.changes() || !self.can_go_around(&wanted) {
            return self.lose(now, drives, id);
        }
        let read = self.read_mut(id);
        assert!(read.pending == 0 && read.direct != Direct::Pending, "all who were asked have answered");
        drives.recycle(std::mem::take(&mut read.sum));
        (read.direct, read.copies) = (Direct::Unasked, Others::UNASKED);
        (read.is_broken, read.is_around) = (false, false);
        (read.refused, read.longest) = (0, Nanos::ZERO);
        self.start(now, drives, id);
    }

    fn read_mut(&mut self, id: ReadId) -> &mut Read<B> {
        &mut self.reads[id]
    }

    fn ask_drive(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId, fail_fast: bool) {
        let read = self.read_mut(id);
        read.direct = Direct::Pending;
        let wanted = read.wanted;
        let (owner, ask) =
            (Owner::Read { read: id, part: wanted.drive }, ask(&wanted, wanted.block, fail_fast));
        if wanted.around == ReconstructWhen::InTurn {
            drives.ask_in_turn(now, wanted.drive, wanted.urgency, owner, ask);
        } else {
            drives.ask(now, wanted.drive, wanted.urgency, owner, ask);
        }
    }

    /// Reads the other members, or another copy.
    fn go_around(&mut self, now: Time, drives: &mut Drives<B>, id: ReadId) {
        if self.has_copies() {
            return self.ask_next_copy(now, drives, id);
        }
        let wanted = self.reads[id].wanted;
        let mut sum = drives.memory();
        sum.clear();
        sum.resize(wanted.blocks as usize, B::default());
        let others = self.others(&wanted);
        let others_serve = self.others_serve(drives, &wanted);
        let read = self.read_mut(id);
        read.is_around = true;
        read.sum = sum;
        read.pending = 0;
        if !others_serve {
            read.is_broken = true;
            return self.all_answered(now, drives, id);
        }
        // If the drive itself is useless there is no fallback: the others must serve.
        let fail_fast = wanted.around == ReconstructWhen::WhenContended && read.direct != Direct::Useless;
        for (member, block) in others {
            self.read_mut(id).pending += 1;
            let owner = Owner::Read { read: id, part: member };
            drives.ask(now, member, wanted.urgency, owner, ask(&wanted, block, fail_fast));
        }
    }

    /// A part of a read has completed; takes its data if they are the result of the read.
    pub fn answered(&mut self, now: Time, drives: &mut Drives<B>, answer: &mut Answered<B>) {
        let Owner::Read { read: id, part } = answer.owner else {
            unreachable!("only parts of reads come here")
        };
        if self.reads[id].wanted.drive == part {
            self.drive_answered(now, drives, id, answer);
        } else if self.has_copies() {
            self.copy_answered(now, drives, id, answer);
        } else {
            self.member_answered(now, drives, id, answer);
        }
        self.drain(id);
    }

    /// Releases a read without outstanding parts.
    fn drain(&mut self, id: ReadId) {
        let read = &mut self.reads[id];
        if read.is_done && read.pending == 0 && read.direct != Direct::Pending {
            read.life = read.life.wrapping_add(1);
            self.reads.release(id);
        }
    }

    /// The results that have not been taken, the oldest first.
    pub fn done(&mut self) -> &mut Vec<ReadResult<B>> {
        &mut self.done
    }

    /// When the next read becomes late.
    pub fn next_event(&self) -> Time {
        self.deadlines.front().map_or(Time::NEVER, |&(at, ..)| at)
    }

    /// Reconstructs reads that are late; the first result counts.
    pub fn advance(&mut self, now: Time, drives: &mut Drives<B>) {
        while let Some(&(at, id, life)) = self.deadlines.front() {
            if at > now {
                return;
            }
            self.deadlines.pop_front();
            let read = &self.reads[id];
            if read.life == life && !read.is_done && !read.is_around && read.direct == Direct::Pending {
                self.counts.hedged += 1;
                let drive = read.wanted.drive;
                self.faults_mut(drive).slow += 1;
                self.go_around(now, drives, id);
            }
        }
    }
}

/// True if this drive can serve the range, from this block on. Since the read started, a drive with a smaller
/// maximum request may have replaced another.
fn can_serve<B>(drives: &Drives<B>, wanted: &BlockRead, (drive, block): (DriveId, u64)) -> bool {
    drives.serves(drive, wanted.range_from(block)) && wanted.blocks <= drives.disk(drive).most_blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::drives::{Presence, Priority};
    use crate::{Bytes, Disk, Request, Response};
    use tailcut_base::{Class, Status};

    /// Three drives, one of them a substitute for another, and a read of block 5 of the first.
    struct Bench {
        drives: Drives<Bytes>,
        reads: Reads<Bytes>,
        now: Time,
    }

    impl Bench {
        fn new() -> Bench {
            let disk =
                Disk { blocks: 100, depth: 8, most_blocks: 8, volatile_cache: false, copies: 1, handles: 1 };
            let drives = Drives::new(&vec![disk; 3], 8);
            Bench { drives, reads: Reads::new(Redundancy::Parity(3), Nanos::ZERO), now: Time::ZERO }
        }

        fn begin(&mut self) {
            let wanted = BlockRead {
                drive: DriveId::new(0),
                block: 5,
                blocks: 1,
                age: SealAge::IN_PLACE,
                unwritten: false,
                class: Class::DEFAULT,
                urgency: Priority::Read,
                around: ReconstructWhen::AtNeed,
                token: 0,
            };
            self.reads.begin(self.now, &mut self.drives, wanted);
        }

        fn sent(&mut self) -> Vec<(u32, Request<Bytes>)> {
            self.drives.sent().drain(..).map(|(drive, request)| (drive.get(), request)).collect()
        }

        fn answer(&mut self, drive: u32, request: &Request<Bytes>, status: Status) {
            let drive = DriveId::new(drive);
            let mut content = Bytes::encode(&[7]);
            content.seal(seal_of(drive, request.block, SealAge::IN_PLACE));
            let data = if status == Status::Success { vec![content] } else { Vec::new() };
            let response =
                Response { id: request.id, status, data, busy_for: Nanos::ZERO, spans: Spans::new() };
            let mut answered = self.drives.answered(self.now, drive, response);
            self.reads.answered(self.now, &mut self.drives, &mut answered);
        }

        fn lose(&mut self, drive: u32) {
            self.drives.set_presence(DriveId::new(drive), Presence::Missing);
        }
    }

    /// A missing drive is rebuilt while a read avoids it; then another drive fails. Only one drive is missing
    /// at any time, so the read succeeds.
    #[test]
    fn a_read_outlives_the_rebuilding_of_its_drive_and_the_loss_of_another() {
        let mut bench = Bench::new();
        bench.lose(0);
        bench.begin();
        let sent = bench.sent();
        assert_eq!(sent.iter().map(|(drive, _)| *drive).collect::<Vec<_>>(), [1, 2]);
        bench.answer(1, &sent[0].1, Status::Success);
        bench.drives.set_presence(DriveId::new(0), Presence::InSync);
        bench.lose(2);
        bench.answer(2, &sent[1].1, Status::Gone);
        assert!(bench.reads.done().is_empty(), "the first drive has the block again");
        let sent = bench.sent();
        assert_eq!((sent.len(), sent[0].0), (1, 0));
        bench.answer(0, &sent[0].1, Status::Success);
        let done = bench.reads.done().pop().expect("it has been read");
        assert_eq!((done.status, done.data[0].as_slice()[0]), (Status::Success, 7));
        assert_eq!(bench.reads.in_flight(), 0);
    }

    /// Without a change of drive states, the read fails at once.
    #[test]
    fn a_read_without_two_drives_fails() {
        let mut bench = Bench::new();
        bench.lose(0);
        bench.begin();
        let sent = bench.sent();
        bench.answer(1, &sent[0].1, Status::Success);
        bench.lose(2);
        bench.answer(2, &sent[1].1, Status::Gone);
        assert_eq!(bench.reads.done().pop().expect("it has ended").status, Status::MediaError);
        assert_eq!((bench.reads.in_flight(), bench.sent().len()), (0, 0));
    }
}
