//! Checksums of blocks that are overwritten in place, on drives without protection information.
//!
//! Works as the bitmap mode of Linux's dm-integrity. Memory holds a checksum per block, set when a write of
//! the block is sent to its drive and compared with every read. The end of the drive (`area`) holds the
//! checksums of each *region* of 1008 blocks and a *mark* per region (`codec`): the version of its valid
//! checksums, or 0 while the region is dirty. The first write into a clean region waits until its mark is
//! durably dirty (`regions`); later writes are sent at once. A region without writes for a while is cleaned:
//! its checksums are written, the drive is flushed, which makes them and the blocks durable, and the mark is
//! set to clean.
//!
//! After a power loss the checksums of clean regions are restored (`loading`). Blocks of dirty regions have
//! unknown checksums: their content is accepted until the block is written, or a scrub has compared it with
//! the rest of its stripe. So a correct block never fails its checksum, and no block is written twice.
//!
//! The machine issues no requests itself: it returns them to [`Drives`](super::drives::Drives), which all
//! writes to members pass through.
//!
//! Assumptions: a layout has at most one write of a block in flight; trimmed blocks read as zeros; an
//! acknowledged write of marks is not lost.

mod area;
mod codec;
mod loading;
mod regions;

use crate::placement::WriteKind;
pub use area::{Area, RegionId};
use tailcut_base::cast::{to_u32, to_usize};

use crate::Block;
use crate::array::drives::{Answered, Ask, Priority};
use crate::array::reads::Checksums;
use crate::array::{DriveId, MemberId};
use crate::mutation::{Invariant, holds};
use codec::Owner;
use loading::Loading;
use regions::Regions;
use std::ops::Range;
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// A request to a drive, with its urgency.
pub(super) type Wish<B> = (DriveId, Priority, Ask<B>);

/// Maximum dirty regions per drive before the oldest are cleaned early: 4096, or 16 GiB.
const MOST_DIRTY: usize = 4096;

/// Idle time before a region is cleaned while the array closes.
const HASTE: Nanos = Nanos::millis(1);

/// The checksums of all drives of an array.
#[derive(Debug)]
pub struct Integrity<B> {
    area: Area,
    /// Blocks with checksums: those that the layout uses for data and parity.
    covered: Range<u64>,
    /// Idle time before a region is cleaned.
    idle: Nanos,
    sums: Checksums,
    /// The checksum of a block of zeros.
    zeros: u32,
    members: IdVec<DriveId, Member>,
    wishes: Vec<Wish<B>>,
    marked: u64,
    cleaned: u64,
    damaged: u64,
    /// The array is closing: no further writes are expected.
    is_ending: bool,
}

/// State of a drive.
#[derive(Debug)]
struct Member {
    regions: Regions,
    loading: Option<Loading>,
    /// Outstanding writes of checksums, then the flush behind them.
    pending: u32,
    has_failed: bool,
    is_there: bool,
    has_cache: bool,
    /// Counts the drives and losses of this place: completions from an earlier life are ignored.
    life: u32,
}

impl<B: Block> Integrity<B> {
    /// All checksums unknown. `ids` are the members of `array`.
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

    /// Blocks from `first` on get checksums; earlier ones contain their own.
    pub fn cover(&mut self, first: u64) {
        self.covered.start = first;
    }

    /// Number of blocks of marks and checksums that were unreadable or damaged when the array was opened:
    /// their content is unknown.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Number of writes of blocks of marks.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Regions cleaned since the array was opened.
    pub fn cleaned(&self) -> u64 {
        self.cleaned
    }

    /// Number of regions of a drive whose checksums would be unknown after a power loss now.
    pub fn dirty(&self, drive: DriveId) -> usize {
        self.members[drive].regions.dirty()
    }

    /// The checksum area of each drive.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// Starts a new array: ignores any previous content of the drives.
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

    /// Prepares for an orderly shutdown: regions are cleaned after 1 ms without a write.
    pub(super) fn end(&mut self, now: Time) {
        if std::mem::replace(&mut self.is_ending, true) {
            return;
        }
        self.idle = self.idle.min(HASTE);
        for member in self.members.iter_mut() {
            member.regions.look_at(now);
        }
    }

    /// True if the checksums of all blocks are on the drives.
    pub fn is_at_rest(&self) -> bool {
        self.members.iter().all(|member| !member.is_there || member.regions.is_at_rest())
    }

    /// True if one of these blocks, or one near them, has been written since `since` or is being written: a
    /// read from that time may have returned another version.
    pub(super) fn were_written(&self, drive: DriveId, blocks: Range<u64>, since: Time) -> bool {
        let covered = self.covered(blocks);
        self.members[drive].regions.were_written(since, self.area.regions_of(&covered))
    }

    /// True if the marks and checksums of all present drives are loaded.
    pub(super) fn is_loaded(&self) -> bool {
        self.members.iter().all(|member| !member.is_there || member.loading.is_none())
    }

    /// Sets whether a drive has a volatile cache, which is flushed before its regions become clean.
    pub(super) fn set_cache(&mut self, drive: DriveId, has_cache: bool) {
        self.members[drive].has_cache = has_cache;
    }

    /// Stops cleaning the regions of a drive whose flush has failed.
    pub(super) fn stop_cleaning(&mut self, drive: DriveId) {
        self.members[drive].regions.stop();
    }

    /// A drive has failed or was removed.
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

    /// Drops the checksums of a drive that is about to be rebuilt from its first block.
    pub(super) fn forget_checksums(&mut self, drive: DriveId) {
        self.sums.forget_all(drive);
    }

    /// A drive has been replaced, under a new identity. Its previous content is ignored.
    pub(super) fn renew(&mut self, now: Time, drive: DriveId, id: MemberId) {
        let owner = self.members[drive].regions.owner().renewed(id);
        self.forget(drive, owner);
        self.members[drive].is_there = true;
        self.members[drive].regions.begin_blank(&self.area);
        self.begin_serving(now, drive);
    }

    /// Number of losses and replacements at a drive's place; answers of an earlier one are ignored.
    pub(super) fn life(&self, drive: DriveId) -> u32 {
        self.members[drive].life
    }

    fn covered(&self, blocks: Range<u64>) -> Range<u64> {
        let first = blocks.start.max(self.covered.start);
        first..blocks.end.min(self.covered.end).max(first)
    }

    /// True if a write or trim can be sent: it then counts as sent, and its checksums as those of its blocks.
    /// Otherwise offer it again once marks have been written.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, drive: DriveId, ask: &Ask<B>) -> bool {
        let covered = self.covered(ask.range());
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
            let skipped = to_usize(covered.start - ask.block);
            for (content, block) in ask.data[skipped..].iter().zip(covered) {
                // Unsealed content stands for a lost block: its checksum never matches, so that reads fail.
                let sum = content.guard().unwrap_or_else(|| !content.checksum());
                self.sums.set(drive, block, sum);
            }
        }
        true
    }

    /// Completes an admitted write or trim. After a failure the checksums of its blocks are unknown.
    #[inline]
    pub(super) fn ended(&mut self, now: Time, answer: &Answered<B>) {
        let (drive, covered) = (answer.drive, self.covered(answer.range()));
        if covered.is_empty() || !self.members[drive].is_there {
            return;
        }
        self.members[drive].regions.ended(now, self.area.regions_of(&covered));
        if answer.status != Status::Success {
            self.sums.forget(drive, covered.start, to_u32(covered.end - covered.start));
        }
    }

    /// True if `data` may be the blocks of a drive from `block` on: no known checksum contradicts it.
    #[inline]
    pub fn accept(&self, drive: DriveId, block: u64, data: &[B]) -> bool {
        data.iter().zip(block..).all(|(content, block)| self.sums.accept(drive, block, content))
    }

    /// Sets the unknown checksum of a block whose content was verified against its stripe or its copies, with
    /// no write of it in flight.
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

    /// Writes the next outdated block of marks of a drive, if any.
    fn mark(&mut self, drive: DriveId) {
        let member = &mut self.members[drive];
        if member.loading.is_some() || !member.is_there {
            return;
        }
        let Some(mark) = member.regions.next_mark(&self.area) else { return };
        let block = member.regions.owner().marks(mark, member.regions.marks(&self.area, mark));
        self.marked += 1;
        self.write(drive, Priority::Read, self.area.mark_at(mark), true, &block);
    }

    fn write(&mut self, drive: DriveId, urgency: Priority, block: u64, fua: bool, bytes: &[u8]) {
        let (op, class, data) = (Op::Write, Class::DEFAULT, vec![B::encode(bytes)]);
        self.wishes.push((
            drive,
            urgency,
            Ask { op, fua, fail_fast: false, class, kind: WriteKind::Metadata, block, blocks: 1, data },
        ));
    }

    /// When regions may have been idle long enough to be cleaned.
    pub(super) fn next_event(&self) -> Time {
        self.members.iter().map(|member| member.regions.due()).fold(Time::NEVER, Time::min)
    }

    /// Cleans regions that have been idle long enough.
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
        member.pending = to_u32(regions.len());
        member.has_failed = false;
        for region in regions {
            let Member { regions, .. } = &self.members[drive];
            let first = self.area.first_of(region);
            let sums = self.sums.dump(drive, first..first + codec::SUMS as u64);
            let block = regions.owner().sums(region, regions.generation(region), sums);
            self.write(drive, Priority::Background, self.area.sums_at(region), false, &block);
        }
    }

    /// A request of this machine has completed. True if marks could not be written: the writes that wait for
    /// them fail.
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

    /// A write of a region's checksums, or the flush of the drive, has completed.
    fn part_cleaned(&mut self, now: Time, drive: DriveId, op: Op, is_good: bool) {
        let member = &mut self.members[drive];
        member.pending -= 1;
        member.has_failed |= !is_good;
        if member.pending > 0 {
            return;
        }
        let needs_flush = op == Op::Write && member.has_cache && holds(Invariant::DataBeforeClean);
        if needs_flush && !member.has_failed {
            member.pending = 1;
            let (class, data) = (Class::DEFAULT, Vec::new());
            let ask = Ask {
                op: Op::Flush,
                fua: false,
                fail_fast: false,
                class,
                kind: WriteKind::Data,
                block: 0,
                blocks: 0,
                data,
            };
            return self.wishes.push((drive, Priority::Background, ask));
        }
        let is_good = !member.has_failed;
        self.cleaned += member.regions.cleaned(now, self.idle, &self.area, is_good);
        self.mark(drive);
    }

    /// Takes the next request to a drive.
    pub(super) fn wish(&mut self) -> Option<Wish<B>> {
        self.wishes.pop()
    }
}
