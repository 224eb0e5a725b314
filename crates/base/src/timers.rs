//! The event queue of a state machine: one pending time per slot, the earliest found in one step.
//!
//! A machine knows all of its possible events in advance (one per die, channel, link or timer), so events
//! need no allocation and no payload: the slot determines the action. Winner trees keep the earliest slot at
//! their roots; setting a slot costs one comparison per level. The first two slots are stored beside the
//! trees, and the slots that are set most often can have a small tree of their own, so that they do not pay
//! for the many that are set less often. Simultaneous events are served in slot order, which makes the order
//! total.

use crate::cast::to_usize;
use crate::time::Time;

/// A fixed set of slots, each with at most one pending time.
///
/// # Examples
/// ```
/// use tailcut_base::Time;
/// use tailcut_base::timers::Timers;
///
/// let mut timers = Timers::new(4);
/// timers.set(3, Time(200));
/// timers.set(1, Time(200));
/// assert_eq!(timers.first(), Some((Time(200), 1)));
/// timers.clear(1);
/// assert_eq!(timers.first(), Some((Time(200), 3)));
/// ```
#[derive(Clone, Debug)]
pub struct Timers {
    /// The keys of the first slots. A key is the time shifted left by `slot_bits`, plus the slot.
    beside: [u64; BESIDE],
    /// The tree of the slots up to `small_end`.
    small: Tree,
    small_end: usize,
    /// The tree of all other slots.
    large: Tree,
    slots: usize,
    slot_bits: u32,
}

/// A pending time that has come, as [`Timers::due`] found it.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    key: u64,
    slot: usize,
    at: Time,
}

impl Due {
    /// Number of the slot whose time has come.
    #[inline]
    pub fn slot(self) -> usize {
        self.slot
    }

    /// The time for which the slot was set: not later than the `until` of [`Timers::due`].
    #[inline]
    pub fn at(self) -> Time {
        self.at
    }
}

/// Number of slots stored beside the trees.
pub const BESIDE: usize = 2;

const IDLE: u64 = u64::MAX;

impl Timers {
    /// Timers with `slots` slots, none of which has a pending time.
    pub fn new(slots: usize) -> Timers {
        Timers::with_small_tree(BESIDE, slots)
    }

    /// `slots` slots, all idle; those up to `small_end` have a tree of their own.
    pub fn with_small_tree(small_end: usize, slots: usize) -> Timers {
        Timers {
            beside: [IDLE; BESIDE],
            small: Tree::new(small_end.saturating_sub(BESIDE)),
            small_end,
            large: Tree::new(slots.saturating_sub(small_end)),
            slots,
            slot_bits: slots.max(2).next_power_of_two().trailing_zeros(),
        }
    }

    /// Timers with the same pending times and one slot more, which is idle.
    pub fn with_one_more(&self) -> Timers {
        let mut wider = Timers::with_small_tree(self.small_end, self.slots + 1);
        for slot in (0..self.slots).filter(|&slot| self.is_set(slot)) {
            wider.set(slot, Time(self.pending(slot) >> self.slot_bits));
        }
        wider
    }

    /// Number of slots, pending or idle; they are numbered from 0.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The latest time that these timers can hold: 2^(64 - log2(slots)) ns, which is 52 days for 4096 slots.
    pub fn horizon(&self) -> Time {
        Time((IDLE >> self.slot_bits) - 1)
    }

    /// Sets the time of `slot`, replacing a pending one.
    ///
    /// # Panics
    /// If `at` is later than [`Timers::horizon`].
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time) {
        assert!(at.0 < IDLE >> self.slot_bits, "moment beyond the horizon of the timers");
        self.put(slot, self.key(slot, at));
    }

    /// Sets the time of `slot`; [`Time::NEVER`] makes it idle.
    #[inline]
    pub fn set_or_clear(&mut self, slot: usize, at: Time) {
        if at == Time::NEVER {
            self.clear(slot);
        } else {
            self.set(slot, at);
        }
    }

    /// Removes the pending time of `slot`, if there is one.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        self.put(slot, IDLE);
    }

    /// The earliest pending time, if it is not after `until`, and its slot.
    #[inline]
    pub fn due(&self, until: Time) -> Option<Due> {
        let key = self.earliest();
        let at = Time(key >> self.slot_bits);
        if at > until || key == IDLE {
            return None;
        }
        Some(Due { key, slot: to_usize(key & ((1 << self.slot_bits) - 1)), at })
    }

    /// Makes the slot of an event idle that has been served, unless it was set to another time meanwhile.
    #[inline]
    pub fn expire(&mut self, due: Due) {
        if self.pending(due.slot) == due.key {
            self.put(due.slot, IDLE);
        }
    }

    /// True if `slot` has a pending time.
    #[inline]
    pub fn is_set(&self, slot: usize) -> bool {
        self.pending(slot) != IDLE
    }

    /// The earliest pending time and its slot, or `None` if all slots are idle.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let key = self.earliest();
        (key != IDLE).then(|| (Time(key >> self.slot_bits), to_usize(key & ((1 << self.slot_bits) - 1))))
    }

    /// The earliest time, or [`Time::NEVER`].
    #[inline]
    pub fn next(&self) -> Time {
        self.first().map_or(Time::NEVER, |(at, _)| at)
    }

    /// How far the earliest slot leads: the last time at which it still comes before all other slots. Events
    /// of it up to then need not be set one by one.
    #[inline]
    pub fn lead(&self, earliest: usize) -> Time {
        let beside = (0..BESIDE).filter(|&slot| slot != earliest).map(|slot| self.beside[slot]);
        let small = if (BESIDE..self.small_end).contains(&earliest) {
            self.small.others(earliest - BESIDE)
        } else {
            self.small.least
        };
        let large = if earliest >= self.small_end.max(BESIDE) {
            self.large.others(earliest - self.small_end)
        } else {
            self.large.least
        };
        let others = beside.fold(small.min(large), u64::min);
        Time(others.saturating_sub(1 + earliest as u64) >> self.slot_bits)
    }

    #[inline]
    fn earliest(&self) -> u64 {
        let trees = self.small.least.min(self.large.least);
        self.beside.iter().fold(trees, |least, &key| least.min(key))
    }

    #[inline]
    fn key(&self, slot: usize, at: Time) -> u64 {
        (at.0 << self.slot_bits) | slot as u64
    }

    #[inline]
    fn pending(&self, slot: usize) -> u64 {
        if slot < BESIDE {
            self.beside[slot]
        } else if slot < self.small_end {
            self.small.leaf(slot - BESIDE)
        } else {
            self.large.leaf(slot - self.small_end)
        }
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, key: u64) {
        if slot < BESIDE {
            self.beside[slot] = key;
        } else if slot < self.small_end {
            self.small.update(slot - BESIDE, key);
        } else {
            self.large.update(slot - self.small_end, key);
        }
    }
}

/// A winner tree: leaves in the upper half, the least key at index 1.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<u64>,
    leaves: usize,
    /// The least key, which is read more often than it changes.
    least: u64,
}

impl Tree {
    fn new(slots: usize) -> Tree {
        let leaves = slots.max(2).next_power_of_two();
        Tree { nodes: vec![IDLE; 2 * leaves], leaves, least: IDLE }
    }

    #[inline]
    fn leaf(&self, slot: usize) -> u64 {
        self.nodes[self.leaves + slot]
    }

    /// The least key of all other slots.
    #[inline]
    fn others(&self, slot: usize) -> u64 {
        let mut node = self.leaves + slot;
        let nodes = &self.nodes[..2 * self.leaves];
        let mut least = IDLE;
        while node > 1 {
            least = least.min(nodes[node ^ 1]);
            node >>= 1;
        }
        least
    }

    /// Always walks to the root: an early exit where nothing changes would save a few steps and cost a
    /// mispredicted branch.
    #[inline(always)]
    fn update(&mut self, slot: usize, key: u64) {
        let mut node = self.leaves + slot;
        let nodes = &mut self.nodes[..2 * self.leaves];
        nodes[node] = key;
        let mut winner = key;
        while node > 1 {
            winner = winner.min(nodes[node ^ 1]);
            node >>= 1;
            nodes[node] = winner;
        }
        self.least = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn serves_by_time_then_slot_like_a_sorted_list() {
        let mut random = Stream::new(1, "timers");
        for small_end in [2, 5, 20, 37] {
            check(&mut random, Timers::with_small_tree(small_end, 37));
        }
    }

    fn check(random: &mut Stream, mut timers: Timers) {
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
            if let Some((_, first)) = expected {
                let others = model.iter().enumerate().filter(|&(slot, _)| slot != first);
                let next = others.filter_map(|(slot, at)| at.map(|at| (Time(at), slot))).min();
                let lead = timers.lead(first);
                assert!(next.is_none_or(|next| (lead, first) < next && next < (Time(lead.0 + 1), first)));
                assert!(next.is_some() || lead >= timers.horizon());
            }
        }
    }

    #[test]
    fn a_served_slot_becomes_idle_unless_it_was_set_again() {
        let mut timers = Timers::with_small_tree(4, 8);
        for slot in [1, 2, 6] {
            timers.set(slot, Time(10));
            assert!(timers.due(Time(9)).is_none(), "{slot} is due at 10");
            let due = timers.due(Time(10)).expect("it is due");
            assert_eq!((due.slot(), due.at()), (slot, Time(10)));
            timers.set(slot, Time(12));
            timers.expire(due);
            assert_eq!(timers.first(), Some((Time(12), slot)), "set again");
            timers.expire(timers.due(Time::NEVER).expect("it is due"));
            assert!(timers.first().is_none() && timers.due(Time::NEVER).is_none(), "idle");
        }
    }

    #[test]
    fn one_slot_more_changes_no_moment() {
        let mut timers = Timers::with_small_tree(4, 8);
        for slot in [0, 3, 7] {
            timers.set(slot, Time(10 + slot as u64));
        }
        let mut wider = timers.with_one_more();
        assert_eq!(wider.slots(), 9);
        wider.set(8, Time(9));
        let mut served = Vec::new();
        while let Some((at, slot)) = wider.first() {
            served.push((at.0, slot));
            wider.clear(slot);
        }
        assert_eq!(served, [(9, 8), (10, 0), (13, 3), (17, 7)]);
    }

    #[test]
    #[should_panic(expected = "beyond the horizon")]
    fn a_moment_that_does_not_fit_is_a_bug() {
        Timers::new(4096).set(0, Time(1 << 53));
    }
}
