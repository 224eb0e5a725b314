//! Scrub and repair of some blocks: they are read from all drives that have them, compared, and corrected.
//! Meanwhile they are held in the cache, so that writes of the host take precedence and nothing else writes
//! them.

use super::cache::{CachedContent, CopyId, EntryId};
use super::geometry::Place;
use super::mutation::{Invariant, holds};
use super::waiting::WaitReason;
use super::walk::WalkId;
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::Priority;
use crate::array::raid::MismatchPlace;
use crate::array::reads::{BlockRead, MOST_COPIES, ReadResult, ReconstructWhen, SealAge};
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::{Class, Status, Time, id};

id! {
    /// Blocks being processed.
    pub struct WorkId;
}

/// Why blocks are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkPurpose {
    /// A read has found an error.
    Repair,
    /// Scrub: the pass.
    Scrub(WalkId),
    /// Rebuild: the pass, and the drive they are copied to.
    Fill(WalkId, DriveId),
}

/// Blocks being processed.
#[derive(Debug)]
pub(super) struct Work<B> {
    purpose: WorkPurpose,
    /// First block of the host.
    first: u64,
    blocks: usize,
    /// Their cache entries.
    entries: Vec<EntryId>,
    /// Intact content read from the drives, by copy.
    found: [Vec<Option<B>>; MOST_COPIES],
    /// Copies requested.
    is_asked: [bool; MOST_COPIES],
    /// By copy, the version in which each block was durable when its read was issued; 0 if a write of it was
    /// in flight or queued.
    versions: [Vec<u64>; MOST_COPIES],
    pending: u32,
}

impl<B> Work<B> {
    fn new(purpose: WorkPurpose) -> Work<B> {
        Work {
            purpose,
            first: 0,
            blocks: 0,
            entries: Vec::new(),
            found: Default::default(),
            is_asked: [false; MOST_COPIES],
            versions: Default::default(),
            pending: 0,
        }
    }
}

impl<B: Block> Epochs<B> {
    /// Starts processing contiguous blocks of the host, at most as many as fit in a drive request.
    pub(super) fn look_after(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        purpose: WorkPurpose,
        run: Range<u64>,
    ) {
        let id = self.works.allocate(|| Work::new(purpose));
        let work = &mut self.works[id];
        (work.purpose, work.first, work.blocks) = (purpose, run.start, to_usize(run.end - run.start));
        (work.pending, work.is_asked) = (1, [false; MOST_COPIES]);
        for found in &mut work.found {
            found.clear();
            found.resize(work.blocks, None);
        }
        for versions in &mut work.versions {
            versions.clear();
            versions.resize(work.blocks, 0);
        }
        work.entries.clear();
        for block in run.clone() {
            let entry = self.cache.enter(block);
            self.cache.get_mut(entry).holds += 1;
            work.entries.push(entry);
        }
        for (copy, &place) in self.shape.places(run.start).iter().enumerate() {
            let is_target = matches!(purpose, WorkPurpose::Fill(_, drive) if drive == place.drive);
            let blocks = to_u32(run.end - run.start);
            if !is_target && core.drives.serves(place.drive, place.block..place.block + u64::from(blocks)) {
                self.works[id].is_asked[copy] = true;
                self.read_copy(now, core, id, place, blocks);
            }
        }
        self.work_part_done(now, core, id);
    }

    fn read_copy(&mut self, now: Time, core: &mut Core<B>, id: WorkId, place: Place, blocks: u32) {
        let Place { drive, block } = place;
        let (class, urgency, around) = (Class::DEFAULT, Priority::Background, ReconstructWhen::Later);
        let token = RequestPurpose::Work(id).pack();
        let wanted = BlockRead {
            drive,
            block,
            blocks,
            age: SealAge::IN_PLACE,
            unwritten: true,
            class,
            urgency,
            around,
            token,
        };
        let (block, copy) = self.shape.host_block(place).expect("it holds data");
        let work = &mut self.works[id];
        let first = to_usize(block - work.first);
        for index in first..first + blocks as usize {
            let cached = self.cache.get(work.entries[index]);
            work.versions[copy][index] = if cached.is_current(copy) { cached.version } else { 0 };
        }
        work.pending += 1;
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// The read of some blocks from a drive has completed.
    pub(super) fn work_read(&mut self, now: Time, core: &mut Core<B>, id: WorkId, done: &mut ReadResult<B>) {
        let place = Place { drive: done.wanted.drive, block: done.wanted.block };
        let (block, copy) = self.shape.host_block(place).expect("it holds data");
        let first = to_usize(block - self.works[id].first);
        if done.status == Status::Success {
            let found = self.works[id].found[copy][first..].iter_mut();
            found.zip(done.data.drain(..)).for_each(|(found, content)| *found = Some(content));
        } else if done.wanted.blocks > 1 {
            for block in place.block..place.block + u64::from(done.wanted.blocks) {
                self.read_copy(now, core, id, Place { block, ..place }, 1);
            }
        }
        self.work_part_done(now, core, id);
    }

    fn work_part_done(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        let work = &mut self.works[id];
        work.pending -= 1;
        if work.pending > 0 {
            return;
        }
        let (first, blocks, purpose) = (work.first, work.blocks, work.purpose);
        for index in 0..blocks {
            match purpose {
                WorkPurpose::Fill(_, drive) => self.fill(now, core, id, index, drive),
                WorkPurpose::Repair | WorkPurpose::Scrub(_) => self.compare(now, core, id, index),
            }
            let entry = self.works[id].entries[index];
            self.cache.get_mut(entry).holds -= 1;
            self.leave_if_done(now, core, entry);
        }
        // It ends when its changes are durable.
        let waiter = self.waiter(WaitReason::Work(id));
        for place in self.shape.places(first).iter() {
            self.wait_for(now, waiter, place.drive);
        }
        self.pass(now, core, waiter);
    }

    /// Copies a block to a drive being rebuilt.
    fn fill(&mut self, now: Time, core: &mut Core<B>, id: WorkId, index: usize, drive: DriveId) {
        let work = &mut self.works[id];
        let (entry, block) = (work.entries[index], work.first + index as u64);
        let places = self.shape.places(block);
        let target = places.iter().position(|place| place.drive == drive).expect("it has a copy");
        if self.cache.get(entry).held == CachedContent::Unknown || !holds(Invariant::FillInCache) {
            let is_source = |&copy: &usize| {
                copy != target && places.get(copy).is_some_and(|place| core.drives.is_in_sync(place.drive))
            };
            let good = (0..places.len()).find(|&copy| copy != target && work.found[copy][index].is_some());
            if good.is_none() && !(0..places.len()).any(|copy| is_source(&copy)) {
                // There is no copy left to rebuild from: the pass fails.
                return;
            }
            self.report.not_rebuilt += u64::from(good.is_none());
            let found = std::array::from_fn(|copy| work.found[copy][index].take());
            // If no copy is intact, it is lost everywhere.
            let is_lost = good.is_none();
            self.put_right(entry, good, found, |copy| is_lost && is_source(&copy));
        }
        if !self.cache.get(entry).copies[target].is_queued {
            self.queue(now, core, CopyId::new(entry, target));
        }
    }

    /// Sets the content of an entry: that of copy `good`, or lost. Copies with another content are rewritten,
    /// except those that are `spared`.
    fn put_right(
        &mut self,
        entry: EntryId,
        good: Option<usize>,
        found: [Option<B>; MOST_COPIES],
        spared: impl Fn(usize) -> bool,
    ) {
        let right = good.and_then(|good| found[good].as_ref());
        let is_same_as_right =
            |copy: &Option<B>| right.zip(copy.as_ref()).is_some_and(|(right, there)| right.is_same(there));
        let is_right: [bool; MOST_COPIES] =
            std::array::from_fn(|copy| is_same_as_right(&found[copy]) || spared(copy));
        let held = match right {
            Some(content) if *content == B::default() => CachedContent::Zeros,
            Some(content) => CachedContent::Data(content.clone()),
            None => CachedContent::Lost,
        };
        let sum = held.checksum();
        self.cache.change(entry, held);
        let version = self.cache.get(entry).version;
        for copy in (0..MOST_COPIES).filter(|&copy| is_right[copy]) {
            self.cache.copy(CopyId::new(entry, copy)).durable = super::descriptor::Mark { version, sum };
        }
    }

    /// Compares the copies of a block that has not been written meanwhile. The majority counts.
    fn compare(&mut self, now: Time, core: &mut Core<B>, id: WorkId, index: usize) {
        let work = &mut self.works[id];
        let (entry, is_scrub) = (work.entries[index], work.purpose != WorkPurpose::Repair);
        let is_asked = work.is_asked;
        let places = self.shape.places(work.first + index as u64);
        let found: [Option<B>; MOST_COPIES] = std::array::from_fn(|copy| work.found[copy][index].take());
        let serves = |copy: usize| is_asked[copy] && core.drives.is_in_sync(places[copy].drive);
        if self.cache.get(entry).held != CachedContent::Unknown {
            // Copies still to be written become right anyway; durable ones do not. A read that overlapped a
            // write shows nothing: its checksum may be that of the other version.
            let cached = self.cache.get(entry);
            let was_current = |copy: usize| work.versions[copy][index] == cached.version;
            let is_lost = |&copy: &usize| {
                serves(copy) && found[copy].is_none() && cached.is_current(copy) && was_current(copy)
            };
            let lost: Vec<usize> = (0..places.len()).filter(is_lost).collect();
            for copy in lost {
                self.count_repairs(core, is_scrub, 1);
                self.queue(now, core, CopyId::new(entry, copy));
            }
            return;
        }
        let Some(good) = most_say(&found) else {
            let lost = (0..places.len()).filter(|&copy| serves(copy)).count() as u64;
            self.report.corrupt_blocks += lost;
            self.report.unrepairable += lost;
            return;
        };
        let content = found[good].as_ref();
        let says_something_else = |copy: usize| {
            found[copy].as_ref().is_some_and(|there| !content.is_some_and(|c| c.is_same(there)))
        };
        let is_wrong = |&copy: &usize| says_something_else(copy) || found[copy].is_none() && serves(copy);
        let wrong: Vec<usize> = (0..places.len()).filter(is_wrong).collect();
        let is_compared = found.iter().flatten().count() > 1;
        if is_scrub {
            let is_short = !is_compared && (0..places.len()).any(|copy| !serves(copy));
            self.report.compared += u64::from(is_compared);
            self.report.not_compared += u64::from(is_short);
        }
        if wrong.is_empty() {
            // All copies that were read are equal: set their checksums, if unknown.
            let agreeing = found.iter().zip(places.iter()).filter(|_| is_compared);
            for (content, place) in agreeing {
                content.iter().for_each(|content| core.drives.adopt(now, place.drive, place.block, content));
            }
            return;
        }
        if let Some(&copy) = wrong.iter().find(|&&copy| found[copy].is_some()) {
            self.report.parity_mismatches += 1;
            let (member, block) = (places[copy].drive, places[copy].block);
            self.report.mismatch_places.add(MismatchPlace { member, block });
        }
        if is_undecided(&found, good) {
            // A reader with checksums can still find the right copy.
            return;
        }
        self.count_repairs(core, is_scrub, wrong.len() as u64);
        self.put_right(entry, Some(good), found, |_| false);
        for copy in wrong {
            self.queue(now, core, CopyId::new(entry, copy));
        }
    }

    /// Counts copies that are rewritten because they are damaged.
    fn count_repairs(&mut self, core: &mut Core<B>, is_scrub: bool, copies: u64) {
        core.reads.note_repaired(copies);
        if is_scrub {
            self.report.corrupt_blocks += copies;
            self.report.repaired += copies;
        }
    }

    /// The reader knows that the copies on `drive`, which it has just read, are right: overwrites the others.
    /// Blocks that the host has written meanwhile are written everywhere anyway.
    pub(super) fn restore(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: DriveId,
        first: u64,
        content: &[B],
    ) {
        for (block, content) in (first..).zip(content) {
            let entry = self.cache.enter(block);
            if self.cache.get(entry).held != CachedContent::Unknown {
                continue;
            }
            let places = self.shape.places(block);
            let good = places.iter().position(|place| place.drive == drive).expect("it was read there");
            let mut found = std::array::from_fn(|_| None);
            found[good] = Some(content.clone());
            self.put_right(entry, Some(good), found, |_| false);
            for copy in (0..places.len()).filter(|&copy| copy != good) {
                if core.drives.is_present(places[copy].drive) {
                    core.reads.note_repaired(1);
                    // Of more copies, the reader knows only that one of them was wrong.
                    if places.len() == 2 {
                        core.reads.note_wrong(places[copy].drive);
                    }
                }
                self.queue(now, core, CopyId::new(entry, copy));
            }
        }
    }

    /// All changes to some blocks are durable.
    pub(super) fn end_work(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        let Work { purpose, first, blocks, .. } = self.works[id];
        self.works.release(id);
        match purpose {
            WorkPurpose::Repair => {}
            WorkPurpose::Scrub(walk) | WorkPurpose::Fill(walk, _) => {
                self.unit_done(now, core, walk, first..first + blocks as u64)
            }
        }
    }
}

/// True if as many copies differ from `good` as agree with it, and their drives have no protection
/// information: it is unknown which are right.
fn is_undecided<B: Block>(found: &[Option<B>], good: usize) -> bool {
    let votes = |content: &B| found.iter().flatten().filter(|there| there.is_same(content)).count();
    let Some(content) = &found[good] else { return false };
    let others = || found.iter().flatten().filter(|there| !there.is_same(content));
    others().any(|other| votes(other) == votes(content))
        && found.iter().flatten().any(|there| !there.has_seal())
}

/// The copy with the most common content, the first of several; None if none was read.
fn most_say<B: Block>(found: &[Option<B>]) -> Option<usize> {
    let votes = |copy: &usize| {
        let content = found[*copy].as_ref();
        let agree = found.iter().flatten().filter(|there| content.is_some_and(|c| c.is_same(there)));
        std::cmp::Reverse(agree.count())
    };
    (0..found.len()).filter(|&copy| found[copy].is_some()).min_by_key(votes)
}
