//! Admission of writes: at once while there is room, throttled to the speed of the drives when there is
//! little. The content of a write is in the cache and visible from its submission on; what waits is its place
//! in the dirty lists of the drives, and its acknowledgement.
//!
//! The paper leaves open what happens if updates come faster than they can be written (section 5.5.4).
//! Here, the dirty list of a drive is bounded by what the drive can write in one epoch, so that a copy waits
//! for at most one round of the token. From half of the room on, writes are admitted one by one, with pauses
//! that grow with the lists: at three quarters as fast as the drives write, and slower beyond. So a host that
//! writes too fast is slowed down evenly, and never stopped for an epoch.

use super::Epochs;
use super::cache::{CachedContent, CopyId};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::requests::RequestSlot;
use std::collections::VecDeque;
use tailcut_base::cast::to_usize;
use tailcut_base::{Cause, Nanos, Op, Spans, Status, Time};

/// Writes and trims on their way into the cache.
#[derive(Debug)]
pub(super) struct Admission {
    queue: VecDeque<RequestSlot>,
    /// Blocks of the first request that are admitted.
    done: u32,
    /// When the next request may be admitted, as far as the pace is concerned.
    next: Time,
    /// When there was last no room.
    stopped: Time,
    /// Largest number of blocks in the cache.
    most: usize,
}

impl Admission {
    /// Admission to a cache of at most `most` blocks.
    pub(super) fn new(most: usize) -> Admission {
        Admission { queue: VecDeque::new(), done: 0, next: Time::ZERO, stopped: Time::ZERO, most }
    }

    /// True if a request waits.
    pub(super) fn is_waiting(&self) -> bool {
        !self.queue.is_empty()
    }
}

impl<B: Block> Epochs<B> {
    /// Queues a write or trim of the host.
    pub(super) fn write(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        core.requests.expect(slot, 1);
        self.admission.queue.push_back(slot);
        self.show(core, slot);
        self.admit(now, core);
        if self.admission.queue.back() == Some(&slot) {
            self.figures.throttled += 1;
            self.turn.expect(now);
        }
    }

    /// When the next write may be admitted.
    pub(super) fn next_admission(&self) -> Time {
        let is_paced = self.admission.is_waiting() && self.admission.next > self.admission.stopped;
        if is_paced { self.admission.next } else { Time::NEVER }
    }

    /// Admits requests as far as there is room.
    pub(super) fn admit(&mut self, now: Time, core: &mut Core<B>) {
        self.refuse_if_failed(now, core);
        while let Some(&slot) = self.admission.queue.front() {
            if now < self.admission.next {
                return;
            }
            if !self.admit_blocks(now, core, slot) {
                self.admission.stopped = now;
                return;
            }
            self.admission.queue.pop_front();
            let blocks = std::mem::take(&mut self.admission.done);
            self.pause(now, core.requests.get(slot).block, blocks);
            core.requests.account_cause(now, slot, Cause::BufferFull);
            self.acknowledge(now, core, slot);
        }
    }

    /// Makes the content of a write visible.
    fn show(&mut self, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get_mut(slot);
        let is_trim = request.op == Op::Trim;
        for index in 0..u64::from(request.blocks) {
            let id = self.cache.enter(request.block + index);
            let held = match is_trim {
                true => CachedContent::Zeros,
                false => CachedContent::Data(std::mem::take(&mut request.data[to_usize(index)])),
            };
            self.cache.change(id, held);
            self.cache.place_by(id, request.handle());
            self.cache.get_mut(id).holds += 1;
        }
    }

    /// Admits the blocks of a request; false if there is no room for one.
    fn admit_blocks(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) -> bool {
        let request = core.requests.get(slot);
        let (first, blocks) = (request.block, request.blocks);
        while self.admission.done < blocks {
            let block = first + u64::from(self.admission.done);
            if !self.has_room(core, block) {
                return false;
            }
            self.admit_block(now, core, block);
            self.admission.done += 1;
        }
        true
    }

    /// Adds the copies of a block to the dirty lists of their drives.
    fn admit_block(&mut self, now: Time, core: &Core<B>, block: u64) {
        let id = self.cache.enter(block);
        for copy in 0..self.shape.copies.count {
            self.queue(now, core, CopyId::new(id, copy));
        }
        self.cache.get_mut(id).holds -= 1;
        self.leave_if_done(now, core, id);
    }

    /// True if a block can be admitted; a dirty block always can.
    fn has_room(&self, core: &Core<B>, block: u64) -> bool {
        if self.cache.is_dirty(block) {
            return true;
        }
        let is_free = |drive: DriveId| {
            let line = &self.lines[drive];
            !core.drives.is_present(drive) || line.len() < line.pace.room(self.share)
        };
        let places = self.shape.places(block);
        self.cache.dirty() < self.admission.most && places.iter().all(|place| is_free(place.drive))
    }

    /// Sets the pause of the next write after one of `blocks` blocks.
    fn pause(&mut self, now: Time, block: u64, blocks: u32) {
        let share = |used: usize, room: usize| used as u64 * SCALE / room.max(1) as u64;
        let line = |drive: DriveId| share(self.lines[drive].len(), self.lines[drive].pace.room(self.share));
        let places = self.shape.places(block);
        let lines = places.iter().map(|place| line(place.drive));
        let used = lines.fold(share(self.cache.dirty(), self.admission.most), u64::max);
        let excess = used.min(SCALE).saturating_sub(SCALE / 2);
        let pause = Nanos(self.turn.interval().0 * u64::from(blocks) * excess / (SCALE / 4));
        self.admission.next = now + pause.min(self.share);
    }

    fn acknowledge(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get(slot);
        if !request.fua {
            return core.part_done(now, slot, Status::Success, &Spans::new());
        }
        let blocks = request.block..request.block + u64::from(request.blocks);
        let id = self.waiter(super::waiting::WaitReason::Host(slot));
        for block in blocks {
            for place in self.shape.places(block).iter() {
                self.wait_for(now, id, place.drive);
            }
        }
        self.pass(now, core, id);
    }

    /// Fails all writes if every copy of some block is lost.
    pub(super) fn refuse_if_failed(&mut self, now: Time, core: &mut Core<B>) {
        if !self.has_failed {
            return;
        }
        while let Some(slot) = self.admission.queue.pop_front() {
            let request = core.requests.get(slot);
            let (first, blocks) = (request.block, u64::from(request.blocks));
            let done = u64::from(std::mem::take(&mut self.admission.done));
            (first + done..first + blocks).for_each(|block| self.admit_block(now, core, block));
            core.part_done(now, slot, Status::MediaError, &Spans::new());
        }
    }
}

/// Shares of the room are in this fraction.
const SCALE: u64 = 1024;
