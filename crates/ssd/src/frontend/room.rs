//! Writes that wait for room in the buffer: for how long collection kept them, by how the programs that made room
//! have spent their time.

use crate::holder::ProgramTime;
use tailcut_base::{Nanos, Time};

/// How long collection has kept writes from the buffer of a set, summed up over its life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoomClock {
    /// Up to where it is counted.
    until: Time,
    collection: Nanos,
}

impl RoomClock {
    /// A write waits for room, and none did before.
    pub(crate) fn start(&mut self, now: Time) {
        self.until = now;
    }

    /// A program has ended while writes waited for room: the time since the one before it is divided as its own was.
    pub(crate) fn program_ended(&mut self, now: Time, time: ProgramTime) {
        self.collection += time.collections_part(now.since(self.until));
        self.until = now;
    }

    /// The time so far.
    pub(crate) fn collection(&self) -> Nanos {
        self.collection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holder::{Account, Holder};

    #[test]
    fn time_without_room_is_divided_as_that_of_the_program_that_made_room() {
        let mut waited = Account::default();
        (waited[Holder::Erase as usize], waited[Holder::UserRead as usize]) = (60, 40);
        let mut clock = RoomClock::default();
        clock.start(Time(1000));
        clock.program_ended(Time(1500), ProgramTime::new(Nanos(600), &waited));
        assert_eq!(clock.collection(), Nanos(50), "a tenth of 500");
        clock.program_ended(Time(1500), ProgramTime::new(Nanos(600), &waited));
        assert_eq!(clock.collection(), Nanos(50), "at the same moment");
        // No write has waited in between.
        clock.start(Time(5000));
        clock.program_ended(Time(5100), ProgramTime::new(Nanos(100), &Account::default()));
        assert_eq!(clock.collection(), Nanos(50), "it did not wait");
        clock.program_ended(Time(5200), ProgramTime::new(Nanos(60), &waited));
        assert_eq!(clock.collection(), Nanos(150));
    }
}
