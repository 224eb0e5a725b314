//! The descriptors of a drive: which of their places are in use, and by which copies.

use super::cache::CopyId;
use super::descriptor::ENTRIES_MOST;

/// The places for descriptors at the start of a drive. Each is in use while a copy is *listed* there:
/// until both copies of the block agree for good, or it is listed again on the drive.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Copies that count on each slot.
    live: Vec<u32>,
    /// What has been listed in each.
    listed: Vec<Vec<CopyId>>,
    free: Vec<u32>,
}

/// Slots that a ring needs, so that there is always one to be had when at most `blocks` are listed: at most
/// half of the room is needed when all slots are merged.
pub fn slots_for(blocks: u64) -> u64 {
    2 * blocks.div_ceil(ENTRIES_MOST as u64) + SPARE
}

/// The most blocks that may be listed in so many slots.
pub fn blocks_for(slots: u64) -> u64 {
    slots.saturating_sub(SPARE) / 2 * ENTRIES_MOST as u64
}

/// For descriptors on their way, and for blocks that are looked after without a write of the host.
const SPARE: u64 = 16;

impl Ring {
    /// An empty ring of so many slots.
    pub fn new(slots: u64) -> Ring {
        let slots = slots as usize;
        Ring {
            live: vec![0; slots],
            listed: vec![Vec::new(); slots],
            free: (0..slots as u32).rev().collect(),
        }
    }

    /// Nothing is listed any more.
    pub fn clear(&mut self) {
        *self = Ring::new(self.live.len() as u64);
    }

    /// A slot for new entries; none when slots must be merged first.
    pub fn take(&mut self) -> Option<u32> {
        if self.free.len() > 1 { self.free.pop() } else { None }
    }

    /// The last slot, for entries of others that are merged; and those others, whose entries fit in it.
    pub fn take_merging(&mut self, merged: &mut Vec<u32>) -> Option<u32> {
        let slot = self.free.pop()?;
        let mut used: Vec<u32> =
            (0..self.live.len() as u32).filter(|&slot| self.live[slot as usize] > 0).collect();
        used.sort_unstable_by_key(|&slot| (self.live[slot as usize], slot));
        let mut room = ENTRIES_MOST as u32;
        for slot in used {
            let Some(left) = room.checked_sub(self.live[slot as usize]) else { break };
            room = left;
            merged.push(slot);
        }
        Some(slot)
    }

    /// What has been listed in a slot, some of it maybe not any more.
    pub fn listed(&self, slot: u32) -> &[CopyId] {
        &self.listed[slot as usize]
    }

    /// A copy is listed in a slot from now on.
    pub fn list(&mut self, slot: u32, copy: CopyId) {
        self.live[slot as usize] += 1;
        self.listed[slot as usize].push(copy);
    }

    /// A copy does not count on a slot any more.
    pub fn release(&mut self, slot: u32) {
        self.live[slot as usize] -= 1;
        if self.live[slot as usize] == 0 {
            self.give_back(slot);
        }
    }

    /// A slot that was taken for nothing.
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
            // Every descriptor lists a few copies, and those listed longest ago are released.
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
