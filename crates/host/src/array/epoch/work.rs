//! Looking after some blocks: they are read from both drives, or the one that has them, compared, and put
//! right. Meanwhile they stand in the cache. So what the host writes counts, and nothing else writes them.

use super::cache::{CopyId, Held};
use super::geometry::Place;
use super::planted::{Rule, holds};
use super::waiting::Who;
use super::{Asked, Epochs};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::Urgency;
use crate::array::reads::{Around, Done, Wanted};
use std::ops::Range;
use tailcut_base::{Class, Status, Time};

/// Why blocks are looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A read has met something wrong.
    Repair,
    /// They are compared, as everything is: the walk.
    Scrub(u32),
    /// They are copied to a drive: the walk, and the drive.
    Fill(u32, usize),
}

/// Blocks that are looked after.
#[derive(Debug)]
pub struct Work<B> {
    purpose: Purpose,
    /// Blocks of the host.
    first: u64,
    blocks: usize,
    /// Their entries.
    entries: Vec<u32>,
    /// What the drives have, as far as it is intact.
    found: [Vec<Option<B>>; 2],
    /// Copies that have been asked for.
    is_asked: [bool; 2],
    pending: u32,
}

impl<B: Block> Epochs<B> {
    /// Looks after some blocks of the host that lie together, at most as many as a drive takes at once.
    pub(super) fn look_after(&mut self, now: Time, core: &mut Core<B>, purpose: Purpose, run: Range<u64>) {
        let id = self.free_works.pop().unwrap_or_else(|| {
            let (entries, found) = (Vec::new(), [Vec::new(), Vec::new()]);
            let is_asked = [false; 2];
            self.works.push(Work { purpose, first: 0, blocks: 0, entries, found, is_asked, pending: 0 });
            (self.works.len() - 1) as u32
        });
        let work = &mut self.works[id as usize];
        (work.purpose, work.first, work.blocks) = (purpose, run.start, (run.end - run.start) as usize);
        (work.pending, work.is_asked) = (1, [false; 2]);
        for found in &mut work.found {
            found.clear();
            found.resize(work.blocks, None);
        }
        work.entries.clear();
        for block in run.clone() {
            let entry = self.cache.enter(block);
            self.cache.get_mut(entry).holds += 1;
            work.entries.push(entry);
        }
        for copy in 0..2 {
            let place = self.shape.places(run.start)[copy];
            let is_target = matches!(purpose, Purpose::Fill(_, drive) if drive == place.drive);
            let blocks = (run.end - run.start) as u32;
            if !is_target && core.drives.serves(place.drive, place.block, blocks) {
                self.works[id as usize].is_asked[copy] = true;
                self.read_copy(now, core, id, place, blocks);
            }
        }
        self.work_part_done(now, core, id);
    }

    fn read_copy(&mut self, now: Time, core: &mut Core<B>, id: u32, place: Place, blocks: u32) {
        let Place { drive, block } = place;
        let (class, urgency, around) = (Class::DEFAULT, Urgency::Background, Around::Later);
        let token = Asked::Work(id).pack();
        let wanted = Wanted { drive, block, blocks, age: 0, unwritten: true, class, urgency, around, token };
        self.works[id as usize].pending += 1;
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// A drive has answered what it has of some blocks.
    pub(super) fn work_read(&mut self, now: Time, core: &mut Core<B>, id: u32, mut done: Done<B>) {
        let place = Place { drive: done.wanted.drive, block: done.wanted.block };
        let (block, copy) = self.shape.host_block(place).expect("it holds data");
        let first = (block - self.works[id as usize].first) as usize;
        if done.status == Status::Success {
            let found = self.works[id as usize].found[copy][first..].iter_mut();
            found.zip(done.data.drain(..)).for_each(|(found, content)| *found = Some(content));
        } else if done.wanted.blocks > 1 {
            for block in place.block..place.block + u64::from(done.wanted.blocks) {
                self.read_copy(now, core, id, Place { block, ..place }, 1);
            }
        }
        core.drives.recycle(done.data);
        self.work_part_done(now, core, id);
    }

    fn work_part_done(&mut self, now: Time, core: &mut Core<B>, id: u32) {
        let work = &mut self.works[id as usize];
        work.pending -= 1;
        if work.pending > 0 {
            return;
        }
        let (first, blocks, purpose) = (work.first, work.blocks, work.purpose);
        for index in 0..blocks {
            match purpose {
                Purpose::Fill(_, drive) => self.fill(now, core, id, index, drive),
                Purpose::Repair | Purpose::Scrub(_) => self.compare(now, core, id, index),
            }
            let entry = self.works[id as usize].entries[index];
            self.cache.get_mut(entry).holds -= 1;
            self.leave_if_done(now, core, entry);
        }
        // It ends when what it has changed is durable.
        let waiter = self.waiter(Who::Work(id));
        for place in self.shape.places(first) {
            self.wait_for(now, waiter, place.drive);
        }
        self.pass(now, core, waiter);
    }

    /// Copies a block to a drive that is being filled.
    fn fill(&mut self, now: Time, core: &mut Core<B>, id: u32, index: usize, drive: usize) {
        let work = &mut self.works[id as usize];
        let (entry, block) = (work.entries[index], work.first + index as u64);
        let places = self.shape.places(block);
        let target = usize::from(places[1].drive == drive);
        let good = 1 - target;
        if self.cache.get(entry).held == Held::Unknown || !holds(Rule::FillInCache) {
            let found = work.found[good][index].take();
            if found.is_none() && !core.drives.is_in_sync(places[good].drive) {
                // There is nothing left to fill it from: the walk ends in vain.
                return;
            }
            self.report.not_rebuilt += u64::from(found.is_none());
            self.put_right(entry, good, found);
        }
        if !self.cache.get(entry).copies[target].is_queued {
            self.queue(now, core, CopyId::new(entry, target));
        }
    }

    /// The content of an entry is known now, and one copy of it is right.
    fn put_right(&mut self, entry: u32, good: usize, found: Option<B>) {
        let held = match found {
            Some(content) if content == B::default() => Held::Zeros,
            Some(content) => Held::Data(content),
            None => Held::Lost,
        };
        let sum = held.checksum();
        self.cache.change(entry, held);
        let version = self.cache.get(entry).version;
        self.cache.copy(CopyId::new(entry, good)).durable = super::descriptor::Mark { version, sum };
    }

    /// Compares the copies of a block that nobody has written meanwhile.
    fn compare(&mut self, now: Time, core: &mut Core<B>, id: u32, index: usize) {
        let work = &mut self.works[id as usize];
        let (entry, is_scrub) = (work.entries[index], work.purpose != Purpose::Repair);
        let is_asked = work.is_asked;
        let places = self.shape.places(work.first + index as u64);
        if self.cache.get(entry).held != Held::Unknown {
            return;
        }
        let [one, other] = work.found.each_mut().map(|found| found[index].take());
        let serves = |copy: usize| is_asked[copy] && core.drives.is_in_sync(places[copy].drive);
        let (good, content) = match (one, other) {
            (Some(one), Some(other)) if is_same(&one, &other) => return,
            (Some(one), Some(_)) => {
                self.report.parity_mismatches += 1;
                (0, one)
            }
            (Some(one), None) if serves(1) => (0, one),
            (None, Some(other)) if serves(0) => (1, other),
            (None, None) => {
                let lost = u64::from(serves(0)) + u64::from(serves(1));
                (self.report.corrupt_blocks, self.report.unrepairable) =
                    (self.report.corrupt_blocks + lost, self.report.unrepairable + lost);
                return;
            }
            _ => return,
        };
        if is_scrub {
            self.report.corrupt_blocks += 1;
            self.report.repaired += 1;
        } else {
            self.report.repaired_on_read += 1;
        }
        self.put_right(entry, good, Some(content));
        self.queue(now, core, CopyId::new(entry, 1 - good));
    }

    /// What was done about some blocks is durable.
    pub(super) fn end_work(&mut self, now: Time, core: &mut Core<B>, id: u32) {
        let Work { purpose, first, blocks, .. } = self.works[id as usize];
        self.free_works.push(id);
        match purpose {
            Purpose::Repair => {}
            Purpose::Scrub(walk) | Purpose::Fill(walk, _) => {
                self.unit_done(now, core, walk, first, blocks as u64)
            }
        }
    }
}

/// True when two copies have the same content, whatever their seals.
pub(super) fn is_same<B: Block>(one: &B, other: &B) -> bool {
    match (one.decode(), other.decode()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}
