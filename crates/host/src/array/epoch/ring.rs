//! The descriptor slots of a drive: which are in use, and by which copies.

use super::cache::CopyId;
use super::descriptor::{ENTRIES_MOST, SlotId};
use crate::check::ensure;
use std::collections::BTreeMap;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::Pool;

/// The descriptor slots at the start of a drive. Each is in use while a copy is *listed* there: until both
/// copies of the block durably agree, or it is listed again on the drive.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    slots: Pool<SlotId, Slot>,
    /// Number of slots on the drive.
    size: usize,
}

/// A descriptor slot.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Number of copies that rely on it.
    live: u32,
    /// Copies listed in it.
    listed: Vec<CopyId>,
}

/// Slots that a ring needs so that one is always available when at most `blocks` are listed: all entries
/// merged fit in half of the room.
pub(super) fn slots_for(blocks: u64) -> u64 {
    2 * blocks.div_ceil(ENTRIES_MOST as u64) + SPARE
}

/// Largest number of blocks that may be listed in `slots` slots.
pub(super) fn blocks_for(slots: u64) -> u64 {
    slots.saturating_sub(SPARE) / 2 * ENTRIES_MOST as u64
}

/// Slots for descriptors in flight, and for blocks handled without a write of the host.
const SPARE: u64 = 16;

impl Ring {
    /// An empty ring of `slots` slots.
    pub(super) fn new(slots: u64) -> Ring {
        Ring { slots: Pool::new(), size: to_usize(slots) }
    }

    /// Drops all listings.
    pub(super) fn clear(&mut self) {
        *self = Ring::new(self.size as u64);
    }

    fn free(&self) -> usize {
        self.size - self.slots.len()
    }

    /// A slot for new entries; None if slots must be merged first.
    pub(super) fn take(&mut self) -> Option<SlotId> {
        (self.free() > 1).then(|| self.slots.allocate(Slot::default))
    }

    /// The last slot, for a merge; `merged` gets the slots whose entries fit in it.
    pub(super) fn take_merging(&mut self, merged: &mut Vec<SlotId>) -> Option<SlotId> {
        if self.free() == 0 {
            return None;
        }
        let slot = self.slots.allocate(Slot::default);
        let live = |slot: SlotId| self.slots[slot].live;
        let mut used: Vec<SlotId> = self.slots.ids().filter(|&slot| live(slot) > 0).collect();
        used.sort_unstable_by_key(|&slot| (live(slot), slot));
        let mut room = to_u32(ENTRIES_MOST);
        for slot in used {
            let Some(left) = room.checked_sub(live(slot)) else { break };
            room = left;
            merged.push(slot);
        }
        Some(slot)
    }

    /// Copies listed in a slot, including some that no longer rely on it.
    pub(super) fn listed(&self, slot: SlotId) -> &[CopyId] {
        &self.slots[slot].listed
    }

    /// Lists a copy in a slot.
    pub(super) fn list(&mut self, slot: SlotId, copy: CopyId) {
        let slot = &mut self.slots[slot];
        slot.live += 1;
        slot.listed.push(copy);
    }

    /// A copy no longer relies on a slot.
    pub(super) fn release(&mut self, slot: SlotId) {
        self.slots[slot].live -= 1;
        self.give_back_if_unused(slot);
    }

    /// Returns a slot without live entries.
    pub(super) fn give_back(&mut self, slot: SlotId) {
        assert_eq!(self.slots[slot].live, 0, "nothing is listed there");
        self.slots[slot].listed.clear();
        self.slots.release(slot);
    }

    /// A slot in which nothing came to be listed.
    pub(super) fn give_back_if_unused(&mut self, slot: SlotId) {
        if self.slots[slot].live == 0 {
            self.give_back(slot);
        }
    }
}

impl Ring {
    /// Each slot in use is relied on by as many copies as it counts, or is being written; `live` has the
    /// number of copies for each slot with any.
    pub(super) fn check(&self, live: &BTreeMap<SlotId, u32>) -> Result<(), String> {
        for (slot, used) in self.slots.allocated() {
            let copies = live.get(&slot).copied().unwrap_or(0);
            ensure!(used.live == copies, "slot {slot} counts {} copies of {copies}", used.live);
        }
        let is_used = |slot: &SlotId| self.slots.allocated().any(|(used, _)| used == *slot);
        let lost = live.keys().find(|slot| !is_used(slot));
        ensure!(lost.is_none(), "copies rely on slot {lost:?}, which is free");
        ensure!(self.slots.len() <= self.size, "{} slots of {} are in use", self.slots.len(), self.size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::EntryId;
    use super::*;

    #[test]
    fn there_is_always_a_slot_to_be_had() {
        let (blocks, copy) = (400, CopyId::new(EntryId::new(0), 0));
        let mut ring = Ring::new(slots_for(blocks));
        let mut listed: Vec<SlotId> = Vec::new();
        for round in 0..2000u32 {
            // Each descriptor lists a few copies, and the oldest lists are released.
            let slot = ring.take().unwrap_or_else(|| {
                let mut merged = Vec::new();
                let target = ring.take_merging(&mut merged).expect("one is kept for this");
                assert!(merged.len() > 1, "merging gains something");
                for from in merged {
                    for old in listed.iter_mut().filter(|slot| **slot == from) {
                        *old = target;
                        ring.list(target, copy);
                        ring.release(from);
                    }
                }
                ring.take().expect("merging has made room")
            });
            for _ in 0..1 + round % 7 {
                ring.list(slot, copy);
                listed.push(slot);
            }
            while listed.len() > blocks as usize {
                let oldest = listed.remove((round as usize * 31) % listed.len());
                ring.release(oldest);
            }
        }
    }
}
