//! Updates of blocks: first in the cache, then on one drive after the other.

use super::Epochs;
use super::cache::{CopyId, EntryId};
use super::geometry::Place;
use super::mutation::{Invariant, holds};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::Presence;
use crate::array::token_scheduling::Stage;
use tailcut_base::Time;

impl<B: Block> Epochs<B> {
    /// Queues a write of a copy, if its drive is present.
    pub(super) fn queue(&mut self, now: Time, core: &Core<B>, copy: CopyId) {
        let place = self.shape.places(self.cache.get(copy.entry()).block)[copy.copy()];
        let presence = core.drives.presence(place.drive);
        let takes = presence == Presence::InSync
            || presence == Presence::Rebuilding && holds(Invariant::WriteWhileRebuilding);
        let state = self.cache.copy(copy);
        if state.is_queued {
            self.figures.superseded += 1;
        } else if takes {
            state.is_queued = true;
            self.cache.soil(copy.entry());
            self.lines[place.drive].push(now, copy);
            self.turn.expect(now + self.delay);
        }
    }

    /// Removes a block from the cache if it is durable on all its drives and not held.
    pub(super) fn leave_if_done(&mut self, now: Time, core: &Core<B>, id: EntryId) {
        let entry = self.cache.get(id);
        if entry.is_untouched() {
            if entry.holds == 0 && entry.readers == 0 {
                self.cache.leave(id);
            }
            return;
        }
        if entry.copies.iter().any(|copy| copy.is_queued || copy.sent != 0) {
            return;
        }
        let places = self.shape.places(entry.block);
        let is_there = |place: &Place| core.drives.is_present(place.drive);
        let copies = || entry.copies.iter().zip(places.iter()).filter(|(_, place)| is_there(place));
        let mut versions = copies().map(|(copy, _)| copy.durable.version);
        let one = versions.next();
        if !versions.all(|other| Some(other) == one) {
            return self.catch_up(now, core, id);
        }
        if !places.iter().all(is_there) && !core.is_recorded() && holds(Invariant::RecordFirst) {
            // After a power loss now, the missing drive would count as in sync: the copies must be compared.
            self.unrecorded.push(id);
            self.cache.get_mut(id).holds += 1;
            return;
        }
        let version = entry.version;
        let has_all = copies().all(|(copy, _)| copy.durable.version == version);
        let is_wanted = entry.holds > 0 || entry.readers > 0;
        for (copy, place) in places.iter().enumerate() {
            if let Some(listing) = self.cache.copy(CopyId::new(id, copy)).listing.take() {
                self.lines[place.drive].ring.release(listing.slot);
            }
        }
        self.cache.clean(id);
        if has_all && !is_wanted {
            self.cache.leave(id);
        }
    }

    /// The superblock is written: listings that were kept for a missing drive may be dropped.
    pub(super) fn forget_unrecorded(&mut self, now: Time, core: &Core<B>) {
        let mut unrecorded = std::mem::take(&mut self.unrecorded);
        for id in unrecorded.drain(..) {
            self.cache.get_mut(id).holds -= 1;
            self.leave_if_done(now, core, id);
        }
        unrecorded.append(&mut self.unrecorded);
        self.unrecorded = unrecorded;
    }

    /// Queues every copy of a block that is not in its latest version.
    fn catch_up(&mut self, now: Time, core: &Core<B>, id: EntryId) {
        for copy in (0..self.shape.copies.count).map(|copy| CopyId::new(id, copy)) {
            if self.cache.copy(copy).durable.version != self.cache.get(id).version {
                self.queue(now, core, copy);
            }
        }
    }

    /// A drive has failed: drops its dirty list and releases the requests that wait for it.
    pub(super) fn lose(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let line = &mut self.lines[drive];
        line.life += 1;
        line.calls.forget();
        line.clear(|copy| self.cache.copy(copy).is_queued = false);
        line.ring.clear();
        (line.is_merging, line.is_held) = (false, false);
        line.settle();
        let is_writing = line.progress.stage() == Stage::Writing;
        let written = if is_writing { std::mem::take(&mut line.written) } else { Vec::new() };
        for done in written {
            // Its slot is gone: nothing may release it when the copy leaves the cache.
            self.cache.copy(done.copy).listing = None;
            self.undo(now, core, done.copy);
        }
        for id in self.cache.ids() {
            if !self.cache.is_in(id) {
                continue;
            }
            let places = self.shape.places(self.cache.get(id).block);
            if let Some(copy) = places.iter().position(|place| place.drive == drive) {
                let state = self.cache.copy(CopyId::new(id, copy));
                (state.durable, state.listing) = (Default::default(), None);
                self.leave_if_done(now, core, id);
            }
        }
        self.release_waiting(now, core, drive);
        match self.lines[drive].progress.stage() {
            Stage::Draining | Stage::Collecting | Stage::Settling => self.line_done(now, core, drive),
            Stage::Writing => self.write_on(now, core, drive),
            Stage::Rest | Stage::Flushing => {}
        }
        self.refuse_if_failed(now, core);
    }
}
