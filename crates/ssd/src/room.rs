//! Writes that wait for room in the buffer: which share of that collection caused, by how the programs that
//! ended meanwhile have spent their time.

use crate::holder::{Account, Holder};
use tailcut_base::Nanos;
use tailcut_base::cast;
use tailcut_base::cause::HeldUp;

/// How a program has spent its time, from when it could begin to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramTime {
    whole: Nanos,
    /// The part in which collection held its LUN, or no erased page was free.
    for_collection: Nanos,
    /// The handle whose data held it up for longest.
    held_up: HeldUp,
}

impl ProgramTime {
    /// The time of a program that took `whole`, while whose LUN was held as `waited` shows before it started,
    /// for longest because of `held_up`.
    pub(crate) fn new(whole: Nanos, waited: &Account, held_up: HeldUp) -> ProgramTime {
        let collecting = [Holder::GcRead, Holder::GcWrite, Holder::Erase, Holder::Space];
        let for_collection = Nanos(collecting.iter().map(|&holder| waited[holder as usize]).sum());
        ProgramTime { whole, for_collection: for_collection.min(whole), held_up }
    }
}

/// The time of all programs that have ended while writes waited for room, summed up over the life of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomClock {
    whole: Nanos,
    for_collection: Nanos,
    /// What held up the last of them.
    held_up: HeldUp,
}

impl RoomClock {
    /// A program has ended while writes waited for room.
    pub(crate) fn program_ended(&mut self, time: ProgramTime) {
        self.whole += time.whole;
        self.for_collection += time.for_collection;
        self.held_up = time.held_up;
    }

    /// What held up the program that made room last, as what held up a write that has waited this long for
    /// collection.
    #[inline]
    pub(crate) fn held_up(&self, for_collection: Nanos) -> HeldUp {
        match self.held_up.by() {
            Some(by) if by.is_collection() => HeldUp::new(by, for_collection),
            _ => HeldUp::NONE,
        }
    }

    /// The part of a wait since `earlier`, of length `waited`, that is collection's: programs that took
    /// longer count for more, since they kept their room longer.
    pub(crate) fn collections_part(&self, earlier: &RoomClock, waited: Nanos) -> Nanos {
        let whole = self.whole - earlier.whole;
        let for_collection = self.for_collection - earlier.for_collection;
        if for_collection == Nanos::ZERO {
            return Nanos::ZERO;
        }
        let share = for_collection.0 as f64 / whole.0 as f64;
        Nanos(cast::whole(waited.0 as f64 * share)).min(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_divided_as_the_time_of_the_programs_that_ended_in_it() {
        let mut waited = Account::default();
        (waited[Holder::Erase as usize], waited[Holder::UserRead as usize]) = (600, 400);
        let mut clock = RoomClock::default();
        clock.program_ended(ProgramTime::new(Nanos(2000), &waited, HeldUp::NONE));
        let before = clock;
        assert_eq!(clock.collections_part(&before, Nanos(500)), Nanos::ZERO, "no program has ended");
        // One that did not wait at all, and one that waited for collection for half of its time.
        clock.program_ended(ProgramTime::new(Nanos(300), &Account::default(), HeldUp::NONE));
        clock.program_ended(ProgramTime::new(Nanos(1200), &waited, HeldUp::NONE));
        assert_eq!(clock.collections_part(&before, Nanos(500)), Nanos(200), "600 of 1500");
    }
}
