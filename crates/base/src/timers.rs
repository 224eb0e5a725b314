//! The event queue of a machine: one pending moment per slot, the earliest found in one step.
//!
//! A machine knows in advance everything that can happen to it (one thing per die, channel, link
//! or timer), so its events need no allocation and no payload: the slot says what to do. A
//! winner tree keeps the earliest slot at its root; setting a slot costs one comparison per level.
//! The first few slots stand beside the tree: they are compared directly, which is cheaper for
//! those that are set with almost every event. Moments that coincide are served in the order of
//! their slots, which makes the order total.

use crate::time::Time;

/// A fixed set of slots, each with at most one pending moment.
#[derive(Clone, Debug)]
pub struct Timers {
    /// The tree: leaves in the upper half, the winner at index 1. A key is the moment shifted
    /// left by `slot_bits`, plus the slot.
    tree: Vec<u64>,
    leaves: usize,
    slot_bits: u32,
    /// The keys of the first slots.
    beside: [u64; BESIDE],
}

/// How many slots stand beside the tree.
pub const BESIDE: usize = 2;

const IDLE: u64 = u64::MAX;

impl Timers {
    /// `slots` slots, all idle.
    pub fn new(slots: usize) -> Timers {
        let leaves = slots.max(2).next_power_of_two();
        Timers {
            tree: vec![IDLE; 2 * leaves],
            leaves,
            slot_bits: leaves.trailing_zeros(),
            beside: [IDLE; BESIDE],
        }
    }

    /// The latest moment that these timers can hold: 2^(64 - log2(slots)) ns, which is 52 days
    /// for 4096 slots.
    pub fn horizon(&self) -> Time {
        Time((IDLE >> self.slot_bits) - 1)
    }

    /// Sets the moment of `slot`, in place of the one that it had.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time) {
        assert!(at.0 < IDLE >> self.slot_bits, "moment beyond the horizon of the timers");
        self.put(slot, self.key(slot, at));
    }

    /// Makes `slot` idle.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        self.put(slot, IDLE);
    }

    /// Makes `slot` idle if its moment is still `at`: the end of serving an event whose slot may
    /// have been set anew.
    #[inline]
    pub fn expire(&mut self, slot: usize, at: Time) {
        if self.pending(slot) == self.key(slot, at) {
            self.put(slot, IDLE);
        }
    }

    /// True when `slot` has a pending moment.
    #[inline]
    pub fn is_set(&self, slot: usize) -> bool {
        self.pending(slot) != IDLE
    }

    /// The earliest moment and its slot.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let key = self.earliest();
        (key != IDLE).then(|| (Time(key >> self.slot_bits), (key & ((1 << self.slot_bits) - 1)) as usize))
    }

    /// The earliest moment, or [`Time::NEVER`].
    #[inline]
    pub fn next(&self) -> Time {
        self.first().map_or(Time::NEVER, |(at, _)| at)
    }

    #[inline]
    fn earliest(&self) -> u64 {
        self.beside.iter().fold(self.tree[1], |least, &key| least.min(key))
    }

    #[inline]
    fn key(&self, slot: usize, at: Time) -> u64 {
        (at.0 << self.slot_bits) | slot as u64
    }

    #[inline]
    fn pending(&self, slot: usize) -> u64 {
        if slot < BESIDE { self.beside[slot] } else { self.tree[self.leaves + slot] }
    }

    #[inline]
    fn put(&mut self, slot: usize, key: u64) {
        if slot < BESIDE {
            self.beside[slot] = key;
        } else {
            self.update(slot, key);
        }
    }

    /// Walks to the root in any case: leaving early where nothing changes would save a few steps
    /// and cost a mispredicted branch.
    #[inline]
    fn update(&mut self, slot: usize, key: u64) {
        let mut node = self.leaves + slot;
        let tree = &mut self.tree[..2 * self.leaves];
        tree[node] = key;
        let mut winner = key;
        while node > 1 {
            winner = winner.min(tree[node ^ 1]);
            node >>= 1;
            tree[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn serves_by_time_then_slot_like_a_sorted_list() {
        let mut random = Stream::new(1, "timers");
        let mut timers = Timers::new(37);
        let mut model: Vec<Option<u64>> = vec![None; 37];
        for _ in 0..20_000 {
            let slot = random.below(37) as usize;
            if random.chance_ppm(300_000) {
                timers.clear(slot);
                model[slot] = None;
            } else {
                let at = random.below(50);
                timers.set(slot, Time(at));
                model[slot] = Some(at);
            }
            let expected = model.iter().enumerate().filter_map(|(s, t)| t.map(|t| (Time(t), s))).min();
            assert_eq!(timers.first(), expected);
        }
    }

    #[test]
    #[should_panic(expected = "beyond the horizon")]
    fn a_moment_that_does_not_fit_is_a_bug() {
        Timers::new(4096).set(0, Time(1 << 53));
    }
}
