//! Loads the checksums when an array is opened: the marks of each drive, then the checksums of its clean
//! regions.

use super::area::RegionId;
use super::{Integrity, Wish};
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Ask, Priority};
use crate::placement::WriteKind;
use std::ops::Range;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::Id;
use tailcut_base::{Class, Op, Status, Time};

/// Progress of one drive.
#[derive(Debug)]
pub(super) struct Loading {
    /// Reads in flight.
    pending: u32,
    /// The first region whose checksums have not been requested.
    next: RegionId,
    /// Maximum blocks of one read.
    most: u32,
}

/// Concurrent requests on each drive, and the largest number of blocks of one.
const AT_ONCE: u32 = 4;
const MOST: u32 = 64;

impl<B: Block> Integrity<B> {
    /// Starts reading the marks of a drive that accepts at most `most` blocks per request.
    pub(in crate::array) fn begin_loading(&mut self, drive: DriveId, most: u32) {
        let pending = to_u32(self.area.marks());
        let loading = Loading { pending, next: RegionId::new(0), most: most.min(MOST) };
        self.members[drive].loading = Some(loading);
        for mark in super::area::MarkId::first(self.area.marks()) {
            self.wishes.push(read(drive, one(self.area.mark_at(mark))));
        }
    }

    /// Handles the answer to a read of marks or checksums.
    pub(super) fn loaded(&mut self, now: Time, answer: &Answered<B>) {
        let drive = answer.drive;
        let is_good = answer.status == Status::Success;
        let Some(loading) = &mut self.members[drive].loading else { return };
        loading.pending -= 1;
        if let Some(mark) = self.area.mark_in(answer.block) {
            let block = answer.data.first().filter(|_| is_good).and_then(|block| block.decode());
            let regions = &mut self.members[drive].regions;
            let owner = regions.owner();
            let marks = block.and_then(|block| owner.marks_of(mark, block));
            self.damaged += u64::from(marks.is_none());
            regions.restore(now, &self.area, mark, marks);
        } else if !is_good && answer.blocks > 1 {
            // One unreadable block must not fail its neighbours.
            loading.pending += answer.blocks;
            for block in answer.range() {
                self.wishes.push(read(drive, one(block)));
            }
        } else {
            for (at, block) in answer.range().enumerate() {
                let region = self.area.sums_in(block).expect("checksums were read");
                self.take_sums(now, drive, region, answer.data.get(at).filter(|_| is_good));
            }
        }
        self.load_more(now, drive);
    }

    /// Restores the checksums of a clean region. If the block is damaged, they stay unknown and the region
    /// becomes dirty, so that they are written again.
    fn take_sums(&mut self, now: Time, drive: DriveId, region: RegionId, block: Option<&B>) {
        let regions = &mut self.members[drive].regions;
        let (owner, first) = (regions.owner(), self.area.first_of(region));
        let Some(generation) = regions.clean(region) else { return };
        let block = block.and_then(|block| block.decode());
        match block.and_then(|block| owner.sums_of(region, generation, block)) {
            Some(sums) => self.sums.restore(drive, first, sums),
            None => {
                self.damaged += 1;
                regions.touch(now, self.idle, region);
            }
        }
    }

    fn load_more(&mut self, now: Time, drive: DriveId) {
        let member = &mut self.members[drive];
        let Some(loading) = &mut member.loading else { return };
        if loading.next.index() == 0 && loading.pending > 0 {
            return;
        }
        let end = self.area.regions();
        while loading.pending < AT_ONCE
            && let Some(first) = member.regions.next_clean(loading.next)
        {
            let blocks = loading.most.min(to_u32(end - first.index()));
            loading.next = RegionId::at(first.index() + blocks as usize);
            loading.pending += 1;
            let block = self.area.sums_at(first);
            self.wishes.push(read(drive, block..block + u64::from(blocks)));
        }
        if loading.pending == 0 {
            self.begin_serving(now, drive);
        }
    }
}

fn one(block: u64) -> Range<u64> {
    block..block + 1
}

fn read<B>(drive: DriveId, range: Range<u64>) -> Wish<B> {
    let (op, class, data) = (Op::Read, Class::DEFAULT, Vec::new());
    let (block, blocks) = (range.start, to_u32(range.end - range.start));
    (
        drive,
        Priority::Read,
        Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data },
    )
}
