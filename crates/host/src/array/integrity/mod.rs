//! Checksums of blocks that are overwritten where they are, on drives without protection information.
//!
//! As the bitmap mode of Linux's dm-integrity does it. In memory there is a CRC-32C of each block, set when a
//! write of it is sent to its drive; every read is compared with it. At the end of the drive (`area`) stand
//! the checksums of each *region* of 1008 blocks, and *marks* (`codec`) that say whether they can be relied
//! on. A write into a region that is clean waits until the mark that it is dirty is durable (`regions`);
//! those behind it go at once. A region that has had no write for a while comes to rest: its checksums are
//! written, the drive is flushed, which makes them and the blocks durable, and then the mark is taken back.
//!
//! After a power cut the checksums of clean regions are known again (`loading`). Those of dirty ones are not:
//! whatever is there is accepted, until it is written or a scrub has compared it with the rest of its stripe.
//! So a checksum never says of a right block that it is wrong, and nothing is written twice.
//!
//! The machine knows no drives: what they are to be asked it hands to [`Drives`](super::drives::Drives),
//! through which all their writes go.
//!
//! Assumptions: a layout neither reads a block that is being written nor writes one twice at a time; a drive
//! returns zeros for blocks that it was told to trim; a block of marks that it has acknowledged is there.

mod area;
mod codec;
mod loading;
mod regions;

pub use area::{Area, RegionId};

use crate::Block;
use crate::array::drives::{Answered, Ask, Urgency};
use crate::array::reads::Checksums;
use crate::array::{DriveId, MemberId};
use crate::planted::{Rule, holds};
use codec::Owner;
use loading::Loading;
use regions::Regions;
use std::ops::Range;
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// What a drive is to be asked for.
pub(super) type Wish<B> = (DriveId, Urgency, Ask<B>);

/// Regions of a drive that are about the most to be dirty at a time: 16 GiB.
const MOST_DIRTY: usize = 4096;

/// How long a region has had no write when it comes to rest although an array is about to be closed.
const HASTE: Nanos = Nanos::millis(1);

/// The checksums of all drives of an array.
#[derive(Debug)]
pub struct Integrity<B> {
    area: Area,
    /// Blocks that have checksums: what the layout uses for data and parity.
    covered: Range<u64>,
    /// How long a region has had no write when it comes to rest.
    idle: Nanos,
    sums: Checksums,
    /// The checksum of a block of zeros.
    zeros: u32,
    members: IdVec<DriveId, Member>,
    wishes: Vec<Wish<B>>,
    marked: u64,
    cleaned: u64,
    damaged: u64,
    /// Nobody will write any more.
    is_ending: bool,
}

/// A drive.
#[derive(Debug)]
struct Member {
    regions: Regions,
    loading: Option<Loading>,
    /// Checksums that are being written, then the flush behind them.
    pending: u32,
    has_failed: bool,
    is_there: bool,
    has_cache: bool,
    /// Counts the drives and losses of this place: answers of an earlier life mean nothing.
    life: u32,
}

impl<B: Block> Integrity<B> {
    /// Nothing is known of any block. `ids` are the members of `array`.
    pub fn new(array: u128, ids: &IdVec<DriveId, MemberId>, area: Area, idle: Nanos) -> Integrity<B> {
        let member = |&id: &MemberId| Member {
            regions: Regions::new(Owner::new(array, id), &area, MOST_DIRTY),
            loading: None,
            pending: 0,
            has_failed: false,
            is_there: true,
            has_cache: true,
            life: 0,
        };
        Integrity {
            covered: area.start()..area.start(),
            sums: Checksums::new(ids.len(), area.start()),
            zeros: B::default().checksum(),
            members: ids.iter().map(member).collect(),
            wishes: Vec::new(),
            marked: 0,
            cleaned: 0,
            damaged: 0,
            is_ending: false,
            area,
            idle,
        }
    }

    /// Blocks from `first` on have checksums; those before it carry their own.
    pub fn cover(&mut self, first: u64) {
        self.covered.start = first;
    }

    /// Blocks of marks and of checksums that could not be read or were damaged when the array was opened:
    /// what they said is unknown.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Blocks of marks that were written.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Regions that have come to rest.
    pub fn cleaned(&self) -> u64 {
        self.cleaned
    }

    /// Regions of a drive with checksums that would be unknown after a power cut now.
    pub fn dirty(&self, drive: DriveId) -> usize {
        self.members[drive].regions.dirty()
    }

    /// Where on each drive checksums are kept.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// A new array: nothing on its drives counts.
    pub(super) fn begin(&mut self, now: Time) {
        for drive in self.members.ids() {
            self.members[drive].regions.begin_blank(&self.area);
            self.begin_serving(now, drive);
        }
    }

    fn begin_serving(&mut self, now: Time, drive: DriveId) {
        self.members[drive].loading = None;
        self.members[drive].regions.look_at(now + self.idle);
        self.mark(drive);
    }

    /// Nobody will write any more: regions come to rest without waiting.
    pub(super) fn end(&mut self, now: Time) {
        if std::mem::replace(&mut self.is_ending, true) {
            return;
        }
        self.idle = self.idle.min(HASTE);
        for member in self.members.iter_mut() {
            member.regions.look_at(now);
        }
    }

    /// True when the checksums of all blocks are on the drives.
    pub fn is_at_rest(&self) -> bool {
        self.members.iter().all(|member| !member.is_there || member.regions.is_at_rest())
    }

    /// True if one of these blocks, or one near them, has been written since then or is being written: a read
    /// from that time may have met another version.
    pub(super) fn were_written(&self, drive: DriveId, block: u64, blocks: u32, since: Time) -> bool {
        let covered = self.covered(block, blocks);
        self.members[drive].regions.were_written(since, self.area.regions_of(&covered))
    }

    /// True when all that the drives have to say of their regions is known.
    pub(super) fn is_loaded(&self) -> bool {
        self.members.iter().all(|member| !member.is_there || member.loading.is_none())
    }

    /// What a drive says of its cache.
    pub(super) fn set_cache(&mut self, drive: DriveId, has_cache: bool) {
        self.members[drive].has_cache = has_cache;
    }

    /// A drive is gone.
    pub(super) fn lost(&mut self, drive: DriveId) {
        let owner = self.members[drive].regions.owner();
        self.forget(drive, owner);
        self.members[drive].is_there = false;
        self.wishes.retain(|&(other, ..)| other != drive);
    }

    fn forget(&mut self, drive: DriveId, owner: Owner) {
        let member = &mut self.members[drive];
        member.regions = Regions::new(owner, &self.area, MOST_DIRTY);
        (member.pending, member.has_failed, member.loading) = (0, false, None);
        member.life = member.life.wrapping_add(1);
        self.sums.forget_all(drive);
    }

    /// Another one has its place, under a new identity. Nothing on it counts.
    pub(super) fn renew(&mut self, now: Time, drive: DriveId, id: MemberId) {
        let owner = self.members[drive].regions.owner().renewed(id);
        self.forget(drive, owner);
        self.members[drive].is_there = true;
        self.members[drive].regions.begin_blank(&self.area);
        self.begin_serving(now, drive);
    }

    /// Which life a drive is in.
    pub(super) fn life(&self, drive: DriveId) -> u32 {
        self.members[drive].life
    }

    fn covered(&self, block: u64, blocks: u32) -> Range<u64> {
        let (first, end) = (block.max(self.covered.start), block + u64::from(blocks));
        first..end.min(self.covered.end).max(first)
    }

    /// True when a write or trim can be sent: then it counts as sent, and its checksums as those of its
    /// blocks. Otherwise it is to be offered again when marks have been written.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, drive: DriveId, ask: &Ask<B>) -> bool {
        let covered = self.covered(ask.block, ask.blocks);
        if covered.is_empty() {
            return true;
        }
        let (regions, idle) = (self.area.regions_of(&covered), self.idle);
        if !self.members[drive].regions.admit(now, idle, regions) {
            self.mark(drive);
            return false;
        }
        if ask.op == Op::Trim {
            covered.for_each(|block| self.sums.set(drive, block, self.zeros));
        } else {
            let skipped = (covered.start - ask.block) as usize;
            for (content, block) in ask.data[skipped..].iter().zip(covered) {
                // What was never sealed is no data: it stands for something lost, and no read takes it.
                let sum = content.guard().unwrap_or_else(|| !content.checksum());
                self.sums.set(drive, block, sum);
            }
        }
        true
    }

    /// A write or trim that was admitted has been answered. If it has failed, nobody knows what is there.
    #[inline]
    pub(super) fn ended(&mut self, now: Time, answer: &Answered<B>) {
        let (drive, covered) = (answer.drive, self.covered(answer.block, answer.blocks));
        if covered.is_empty() || !self.members[drive].is_there {
            return;
        }
        self.members[drive].regions.ended(now, self.area.regions_of(&covered));
        if answer.status != Status::Success {
            self.sums.forget(drive, covered.start, (covered.end - covered.start) as u32);
        }
    }

    /// True if these are the blocks of a drive from `block` on, as far as their checksums are known.
    #[inline]
    pub fn accept(&self, drive: DriveId, block: u64, data: &[B]) -> bool {
        data.iter().zip(block..).all(|(content, block)| self.sums.accept(drive, block, content))
    }

    /// Somebody has compared a block that nobody is writing with the rest of its stripe, or with its copies:
    /// its checksum is known now, if it was not.
    pub(super) fn adopt(&mut self, now: Time, drive: DriveId, block: u64, content: &B) {
        if !self.covered.contains(&block) || self.sums.knows(drive, block) || !self.members[drive].is_there {
            return;
        }
        self.sums.set(drive, block, content.checksum());
        for region in self.area.regions_of(&(block..block + 1)) {
            self.members[drive].regions.touch(now, self.idle, region);
        }
        self.mark(drive);
    }

    /// Writes the next block of marks of a drive, if one is behind.
    fn mark(&mut self, drive: DriveId) {
        let member = &mut self.members[drive];
        if member.loading.is_some() || !member.is_there {
            return;
        }
        let Some(mark) = member.regions.next_mark(&self.area) else { return };
        let block = member.regions.owner().marks(mark, member.regions.marks(&self.area, mark));
        self.marked += 1;
        self.write(drive, Urgency::Read, self.area.mark_at(mark), true, &block);
    }

    fn write(&mut self, drive: DriveId, urgency: Urgency, block: u64, fua: bool, bytes: &[u8]) {
        let (op, class, data) = (Op::Write, Class::DEFAULT, vec![B::encode(bytes)]);
        self.wishes.push((drive, urgency, Ask { op, fua, fail_fast: false, class, block, blocks: 1, data }));
    }

    /// When regions may have come to rest.
    pub(super) fn next_event(&self) -> Time {
        self.members.iter().map(|member| member.regions.due()).fold(Time::NEVER, Time::min)
    }

    /// Regions that have had no write for long enough come to rest.
    pub(super) fn advance(&mut self, now: Time) {
        for drive in self.members.ids() {
            if self.members[drive].regions.due() <= now {
                self.clean(now, drive);
            }
        }
    }

    fn clean(&mut self, now: Time, drive: DriveId) {
        let member = &mut self.members[drive];
        let regions: Vec<RegionId> = member.regions.begin_cleaning(now, self.idle).to_vec();
        if regions.is_empty() {
            return;
        }
        member.pending = regions.len() as u32;
        member.has_failed = false;
        for region in regions {
            let Member { regions, .. } = &self.members[drive];
            let first = self.area.first_of(region);
            let sums = self.sums.dump(drive, first..first + codec::SUMS as u64);
            let block = regions.owner().sums(region, regions.generation(region), sums);
            self.write(drive, Urgency::Background, self.area.sums_at(region), false, &block);
        }
    }

    /// A drive has answered what it was asked for here. True when marks could not be written: what waits for
    /// them fails.
    pub(super) fn answered(&mut self, now: Time, answer: &Answered<B>) -> bool {
        let (drive, is_good) = (answer.drive, answer.status == Status::Success);
        if answer.op == Op::Read {
            self.loaded(now, answer);
        } else if answer.op == Op::Write && self.area.mark_in(answer.block).is_some() {
            self.members[drive].regions.marked(is_good);
            if is_good {
                self.mark(drive);
            }
            return !is_good;
        } else {
            self.part_cleaned(now, drive, answer.op, is_good);
        }
        false
    }

    /// Checksums of a region have been written, or the drive has been flushed.
    fn part_cleaned(&mut self, now: Time, drive: DriveId, op: Op, is_good: bool) {
        let member = &mut self.members[drive];
        member.pending -= 1;
        member.has_failed |= !is_good;
        if member.pending > 0 {
            return;
        }
        let needs_flush = op == Op::Write && member.has_cache && holds(Rule::DataBeforeClean);
        if needs_flush && !member.has_failed {
            member.pending = 1;
            let (class, data) = (Class::DEFAULT, Vec::new());
            let ask = Ask { op: Op::Flush, fua: false, fail_fast: false, class, block: 0, blocks: 0, data };
            return self.wishes.push((drive, Urgency::Background, ask));
        }
        let is_good = !member.has_failed;
        self.cleaned += member.regions.cleaned(now, self.idle, &self.area, is_good);
        self.mark(drive);
    }

    /// What a drive is to be asked for next.
    pub(super) fn wish(&mut self) -> Option<Wish<B>> {
        self.wishes.pop()
    }
}
