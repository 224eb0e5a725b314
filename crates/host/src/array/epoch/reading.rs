//! Host reads: from the cache, or from a copy whose drive does not have the token.

use super::geometry::Place;
use super::mutation::{Invariant, holds};
use super::work::WorkPurpose;
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::Priority;
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen, SealAge};
use crate::array::requests::RequestSlot;
use crate::disk::Mirror;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::{Class, Spans, Status, Time};

impl<B: Block> Epochs<B> {
    /// Executes a host read.
    pub(super) fn read(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get(slot);
        let mut rest = request.block..request.block + u64::from(request.blocks);
        core.requests.expect(slot, 1);
        while !rest.is_empty() {
            let run = self.shape.run(rest.clone());
            rest.start = run.end;
            self.read_run(now, core, slot, run, self.most as u64);
        }
        core.part_done(now, slot, Status::Success, &Spans::new());
    }

    /// Reads contiguous blocks: cached ones from the cache, the rest in requests of at most `most` blocks.
    fn read_run(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot, run: Range<u64>, most: u64) {
        let mut first = run.start;
        for block in run.clone() {
            if self.read_cached(core, slot, block) {
                self.read_stored(now, core, slot, first..block);
                first = block + 1;
            } else if block + 1 - first == most {
                self.read_stored(now, core, slot, first..block + 1);
                first = block + 1;
            }
        }
        self.read_stored(now, core, slot, first..run.end);
    }

    fn read_cached(&mut self, core: &mut Core<B>, slot: RequestSlot, block: u64) -> bool {
        let known = self.cache.find(block).and_then(|id| self.cache.get(id).held.known());
        let Some(content) = known.filter(|_| holds(Invariant::ReadFromCache)) else { return false };
        let request = core.requests.get_mut(slot);
        let index = to_usize(block - request.block);
        request.data[index] = content;
        self.figures.from_cache += 1;
        true
    }

    fn read_stored(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        let blocks = to_u32(run.end - run.start);
        // Concurrent writes must not be visible: they were submitted later.
        for block in run.clone() {
            let id = self.cache.enter(block);
            self.cache.get_mut(id).readers += 1;
        }
        let class = core.requests.get(slot).class;
        let mirror = core.requests.get(slot).mirror;
        let Place { drive, block } = match mirror.copy() {
            Some(copy) => self.shape.places(run.start)[copy],
            None => self.choose(core, class, run.start, blocks),
        };
        let around = if mirror == Mirror::Any { core.around(now, drive) } else { ReconstructWhen::Later };
        let token = match core.drives.is_at_work(drive) {
            true => RequestPurpose::Met(slot).pack(),
            false => {
                self.lines[drive].reads += 1;
                RequestPurpose::Read(slot).pack()
            }
        };
        let urgency = Priority::Read;
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
        core.requests.expect(slot, 1);
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// Chooses the copy to read: an available one whose drive is not at work (token), with the
    /// shortest queue. Reads for garbage collection are heavy work that no request waits
    /// for: they go to a drive with the token, so as not to delay the requests for which the other drives are
    /// kept free.
    fn choose(&mut self, core: &Core<B>, class: Class, block: u64, blocks: u32) -> Place {
        let places = self.shape.places(block);
        let serves =
            |place: &Place| core.drives.serves(place.drive, place.block..place.block + u64::from(blocks));
        let any_serves = places.iter().any(serves);
        let can_be_read = |place: &Place| !any_serves || serves(place);
        // Among equal drives, copies take turns.
        let turn = to_usize(block / self.shape.chunk) % places.len();
        let place_in_turn = |copy: usize| (copy + places.len() - turn) % places.len();
        let is_wanted_busy = class == COLLECTION;
        let rank = |&(copy, place): &(usize, &Place)| {
            let is_avoided = core.drives.is_at_work(place.drive) != is_wanted_busy;
            (is_avoided, core.drives.load(place.drive), place_in_turn(copy))
        };
        let readable = || places.iter().enumerate().filter(|(_, place)| can_be_read(place));
        let (_, &chosen) = readable().min_by_key(rank).expect("there are copies");
        let is_busy = core.drives.is_at_work(chosen.drive);
        let has_choice = readable().any(|(_, place)| core.drives.is_at_work(place.drive) != is_busy);
        self.figures.diverted += u64::from(has_choice && !is_wanted_busy);
        self.figures.met += u64::from(is_busy && !(has_choice && is_wanted_busy));
        chosen
    }

    /// A part of a read has completed, successfully or not.
    pub(super) fn part_read(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        slot: RequestSlot,
        done: &ReadResult<B>,
    ) {
        let place = Place { drive: done.wanted.drive, block: done.wanted.block };
        let (first, _) = self.shape.host_block(place).expect("it holds data");
        let run = first..first + u64::from(done.wanted.blocks);
        let mut status = done.status;
        if status == Status::Success {
            let request = core.requests.get_mut(slot);
            let at = to_usize(first - request.block);
            request.data[at..at + done.data.len()].clone_from_slice(&done.data);
            if core.requests.get(slot).repairs_with(at.., &done.data) && self.is_serving() {
                self.restore(now, core, done.wanted.drive, first, &done.data);
            }
        } else if done.wanted.blocks > 1 {
            // One unreadable block must not fail its neighbours.
            status = Status::Success;
            run.clone().for_each(|block| self.read_stored(now, core, slot, block..block + 1));
        }
        if done.damaged && self.is_serving() {
            self.look_after(now, core, WorkPurpose::Repair, run.clone());
        }
        core.part_done(now, slot, status, &done.spans);
        run.for_each(|block| self.read_ended(now, core, block));
    }

    /// A read of the content on drives has ended; it may be overwritten now.
    fn read_ended(&mut self, now: Time, core: &mut Core<B>, block: u64) {
        let id = self.cache.enter(block);
        let entry = self.cache.get_mut(id);
        entry.readers -= 1;
        if entry.readers > 0 {
            return;
        }
        for &Place { drive, .. } in self.shape.places(block).iter() {
            if std::mem::take(&mut self.lines[drive].is_held) {
                self.write_on(now, core, drive);
            }
        }
        self.leave_if_done(now, core, id);
    }
}

/// Class of reads for garbage collection.
const COLLECTION: Class = match Class::new(5) {
    Some(class) => class,
    None => panic!("classes are 1 to 5"),
};
