//! The descriptor slots of a drive: which are in use, and by which copies.

use super::cache::CopyId;
use super::descriptor::ENTRIES_MOST;
use tailcut_base::cast::{to_u32, to_usize};

/// The descriptor slots at the start of a drive. Each is in use while a copy is *listed* there: until both
/// copies of the block durably agree, or it is listed again on the drive.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Number of copies that rely on each slot.
    live: Vec<u32>,
    /// Copies listed in each slot.
    listed: Vec<Vec<CopyId>>,
    free: Vec<u32>,
}

/// Slots that a ring needs so that one is always available when at most `blocks` are listed: all entries
/// merged fit in half of the room.
pub fn slots_for(blocks: u64) -> u64 {
    2 * blocks.div_ceil(ENTRIES_MOST as u64) + SPARE
}

/// Largest number of blocks that may be listed in `slots` slots.
pub fn blocks_for(slots: u64) -> u64 {
    slots.saturating_sub(SPARE) / 2 * ENTRIES_MOST as u64
}

/// Slots for descriptors in flight, and for blocks handled without a write of the host.
const SPARE: u64 = 16;

impl Ring {
    /// An empty ring of `slots` slots.
    pub fn new(slots: u64) -> Ring {
        let slots = to_usize(slots);
        Ring {
            live: vec![0; slots],
            listed: vec![Vec::new(); slots],
            free: (0..to_u32(slots)).rev().collect(),
        }
    }

    /// Drops all listings.
    pub fn clear(&mut self) {
        *self = Ring::new(self.live.len() as u64);
    }

    /// A slot for new entries; None if slots must be merged first.
    pub fn take(&mut self) -> Option<u32> {
        if self.free.len() > 1 { self.free.pop() } else { None }
    }

    /// The last slot, for a merge; `merged` gets the slots whose entries fit in it.
    pub fn take_merging(&mut self, merged: &mut Vec<u32>) -> Option<u32> {
        let slot = self.free.pop()?;
        let mut used: Vec<u32> =
            (0..to_u32(self.live.len())).filter(|&slot| self.live[slot as usize] > 0).collect();
        used.sort_unstable_by_key(|&slot| (self.live[slot as usize], slot));
        let mut room = to_u32(ENTRIES_MOST);
        for slot in used {
            let Some(left) = room.checked_sub(self.live[slot as usize]) else { break };
            room = left;
            merged.push(slot);
        }
        Some(slot)
    }

    /// Copies listed in a slot, including some that no longer rely on it.
    pub fn listed(&self, slot: u32) -> &[CopyId] {
        &self.listed[slot as usize]
    }

    /// Lists a copy in a slot.
    pub fn list(&mut self, slot: u32, copy: CopyId) {
        self.live[slot as usize] += 1;
        self.listed[slot as usize].push(copy);
    }

    /// A copy no longer relies on a slot.
    pub fn release(&mut self, slot: u32) {
        self.live[slot as usize] -= 1;
        if self.live[slot as usize] == 0 {
            self.give_back(slot);
        }
    }

    /// Returns a slot without live entries.
    pub fn give_back(&mut self, slot: u32) {
        assert_eq!(self.live[slot as usize], 0, "nothing is listed there");
        self.listed[slot as usize].clear();
        self.free.push(slot);
    }

    /// A slot in which nothing came to be listed.
    pub fn give_back_if_unused(&mut self, slot: u32) {
        if self.live[slot as usize] == 0 {
            self.give_back(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_slot_to_be_had() {
        let blocks = 400;
        let mut ring = Ring::new(slots_for(blocks));
        let mut listed: Vec<u32> = Vec::new();
        for round in 0..2000u32 {
            // Each descriptor lists a few copies, and the oldest lists are released.
            let slot = ring.take().unwrap_or_else(|| {
                let mut merged = Vec::new();
                let target = ring.take_merging(&mut merged).expect("one is kept for this");
                assert!(merged.len() > 1, "merging gains something");
                for from in merged {
                    for old in listed.iter_mut().filter(|slot| **slot == from) {
                        *old = target;
                        ring.list(target, CopyId(0));
                        ring.release(from);
                    }
                }
                ring.take().expect("merging has made room")
            });
            for _ in 0..1 + round % 7 {
                ring.list(slot, CopyId(0));
                listed.push(slot);
            }
            while listed.len() > blocks as usize {
                let oldest = listed.remove((round as usize * 31) % listed.len());
                ring.release(oldest);
            }
        }
    }
}
