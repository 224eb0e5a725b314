//! Blocks change, first in the cache, then on one drive after the other.

use super::Epochs;
use super::cache::{CopyId, Held};
use super::line::Stage;
use super::planted::{Rule, holds};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::Presence;
use tailcut_base::Time;

impl<B: Block> Epochs<B> {
    /// A block has a new content; what waits to be written of it is that from now on.
    pub(super) fn update(&mut self, now: Time, core: &Core<B>, block: u64, held: Held<B>) {
        let id = self.cache.enter(block);
        self.cache.change(id, held);
        for copy in 0..2 {
            self.queue(now, core, CopyId::new(id, copy));
        }
        self.leave_if_done(core, id);
    }

    /// A copy is to be written, if its drive is there.
    pub(super) fn queue(&mut self, now: Time, core: &Core<B>, copy: CopyId) {
        let place = self.shape.places(self.cache.get(copy.entry()).block)[copy.copy()];
        let presence = core.drives.presence(place.drive);
        let takes = presence == Presence::InSync
            || presence == Presence::Rebuilding && holds(Rule::WriteWhileRebuilding);
        let state = self.cache.copy(copy);
        if state.is_queued {
            self.figures.superseded += 1;
        } else if takes {
            state.is_queued = true;
            self.lines[place.drive].push(now, copy);
            self.turn.expect(now + self.delay);
        }
    }

    /// A block leaves the cache when both drives have it for good.
    pub(super) fn leave_if_done(&mut self, core: &Core<B>, id: u32) {
        let entry = self.cache.get(id);
        if entry.holds > 0 {
            return;
        }
        let places = self.shape.places(entry.block);
        for (copy, place) in entry.copies.iter().zip(places) {
            let is_done = copy.durable.version == entry.version || !core.drives.is_present(place.drive);
            if copy.is_queued || copy.sent != 0 || !is_done {
                return;
            }
        }
        for (copy, place) in entry.copies.iter().zip(places) {
            if let Some(listing) = copy.listing {
                self.lines[place.drive].ring.release(listing.slot);
            }
        }
        self.cache.leave(id);
    }

    /// A drive is lost: nothing is written to it any more, and nobody waits for it.
    pub(super) fn lose(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
        let line = &mut self.lines[drive];
        line.life += 1;
        line.clear(|copy| self.cache.copy(copy).is_queued = false);
        line.ring.clear();
        line.is_merging = false;
        line.settle();
        let is_writing = line.stage == Stage::Writing;
        let written = if is_writing { std::mem::take(&mut line.written) } else { Vec::new() };
        for done in written {
            self.take_back(now, core, done.copy);
        }
        for id in self.cache.ids() {
            if !self.cache.is_in(id) {
                continue;
            }
            let places = self.shape.places(self.cache.get(id).block);
            if let Some(copy) = places.iter().position(|place| place.drive == drive) {
                let state = self.cache.copy(CopyId::new(id, copy));
                (state.durable, state.listing) = (Default::default(), None);
                self.leave_if_done(core, id);
            }
        }
        self.release_waiting(now, core, drive);
        match self.lines[drive].stage {
            Stage::Room | Stage::Settling => self.line_done(now, core, drive),
            Stage::Writing => self.write_on(now, core, drive),
            Stage::Rest | Stage::Flushing => {}
        }
        self.refuse_if_failed(now, core);
    }
}
