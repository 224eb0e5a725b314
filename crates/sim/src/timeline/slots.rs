//! Equal slots of time: as many as there is room for, as fine as that allows.

use tailcut_base::{Nanos, Time};

/// The counters of a slot.
pub trait Slot: Default {
    /// Adds what was counted in the slot that follows.
    fn merge(&mut self, later: &Self);
}

/// The most slots. When they are used up, each two become one: at the end there are more than half as many,
/// unless the run was shorter than that many of the first width.
pub const MOST: usize = 512;

/// The width of the first slots.
pub const FIRST_WIDTH: Nanos = Nanos(4_000);

/// Slots of equal width from an origin on. Memory: [`MOST`] times what is counted in one. Sums over all slots
/// are exact: nothing is left out and nothing is counted twice.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    origin: Time,
    width: Nanos,
    slots: Vec<T>,
    /// The end of the last slot.
    end: Time,
}

impl<T: Slot> Slots<T> {
    /// No slots yet, the first of which will begin at `origin`.
    pub fn new(origin: Time) -> Slots<T> {
        Slots { origin, width: FIRST_WIDTH, slots: Vec::new(), end: origin }
    }

    /// When the first slot begins.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// How long a slot is.
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// When the last slot ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// All slots from the beginning on, in order.
    pub fn all(&self) -> &[T] {
        &self.slots
    }

    /// The slot of `now`. Moments must not fall back behind the slot of the one before.
    ///
    /// # Panics
    /// If `now` is before the origin.
    #[inline]
    pub fn at(&mut self, now: Time) -> &mut T {
        if now >= self.end {
            self.extend(now);
        }
        debug_assert!(now.0 + self.width.0 >= self.end.0, "time goes forward");
        self.slots.last_mut().expect("the moment lies in it")
    }

    /// Adds slots until the last holds `now`.
    #[cold]
    fn extend(&mut self, now: Time) {
        while now.since(self.origin).0 / self.width.0 >= MOST as u64 {
            self.halve();
        }
        while self.end <= now {
            self.slots.push(T::default());
            self.end += self.width;
        }
    }

    /// Makes one slot of each two.
    fn halve(&mut self) {
        self.width = self.width * 2;
        for pair in 0..self.slots.len().div_ceil(2) {
            let (before, after) = self.slots.split_at_mut(2 * pair + 1);
            let first = &mut before[2 * pair];
            if let Some(second) = after.first() {
                first.merge(second);
            }
            self.slots.swap(pair, 2 * pair);
        }
        self.slots.truncate(self.slots.len().div_ceil(2));
        self.end = self.origin + self.width * self.slots.len() as u64;
    }

    /// Gives them the width of others, which have the same origin and are at least as wide, and as many.
    ///
    /// # Panics
    /// If the origins or widths do not fit, or `others` has fewer slots.
    pub fn match_with<U: Slot>(&mut self, others: &Slots<U>) {
        while self.width < others.width {
            self.halve();
        }
        assert_eq!(
            (self.origin, self.width),
            (others.origin, others.width),
            "one is a multiple of the other"
        );
        assert!(self.slots.len() <= others.slots.len(), "what is matched with went on for longer");
        self.slots.resize_with(others.slots.len(), T::default);
        self.end = others.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The recorded times.
    #[derive(Default, Debug, PartialEq)]
    struct Seen(Vec<u64>);

    impl Slot for Seen {
        fn merge(&mut self, later: &Seen) {
            self.0.extend(&later.0);
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_in_the_slot_that_holds_it(
            origin in 0u64..1 << 40,
            steps in prop::collection::vec(0u64..40_000_000, 1..800),
        ) {
            let mut slots = Slots::<Seen>::new(Time(origin));
            let mut moments = Vec::new();
            let mut now = origin;
            for step in steps {
                // Many short steps, few long ones.
                now += step >> (step % 24);
                slots.at(Time(now)).0.push(now);
                moments.push(now);
            }
            prop_assert!(slots.all().len() <= MOST);
            prop_assert!(slots.width() == FIRST_WIDTH || slots.all().len() > MOST / 2);
            for (index, slot) in (0..).zip(slots.all()) {
                let from = origin + slots.width().0 * index;
                prop_assert!(slot.0.iter().all(|&at| at >= from && at < from + slots.width().0));
            }
            let all: Vec<u64> = slots.all().iter().flat_map(|slot| slot.0.clone()).collect();
            prop_assert_eq!(all, moments);
            prop_assert_eq!(slots.end(), slots.origin() + slots.width() * slots.all().len() as u64);
        }
    }

    #[test]
    fn slots_take_the_width_of_others() {
        let (mut fine, mut coarse) = (Slots::<Seen>::new(Time(7)), Slots::<Seen>::new(Time(7)));
        (0..5).for_each(|n| fine.at(Time(7) + FIRST_WIDTH * n).0.push(n));
        coarse.at(Time(7) + FIRST_WIDTH * 2 * (MOST as u64 - 1));
        fine.match_with(&coarse);
        assert_eq!((fine.width(), fine.all().len(), fine.end()), (FIRST_WIDTH * 2, MOST, coarse.end()));
        assert_eq!(fine.all()[..4], [vec![0, 1], vec![2, 3], vec![4], vec![]].map(Seen));
    }
}
