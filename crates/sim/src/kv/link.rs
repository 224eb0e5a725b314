//! A network link: first come, first served, reserved by arithmetic.

use super::costs::wire_bytes;
use tailcut_base::{Nanos, Time};

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    free_at: Time,
    busy: Nanos,
}

impl Link {
    /// Sends a message of `bytes` bytes at `now`; returns when the last of them is off the wire, at `rate`
    /// bytes per second.
    pub fn send(&mut self, now: Time, bytes: u64, rate: u64) -> Time {
        let time = Nanos::for_bytes(wire_bytes(bytes), rate);
        self.free_at = self.free_at.max(now) + time;
        self.busy += time;
        self.free_at
    }

    /// Time that the link has been in use so far.
    pub fn busy(&self) -> Nanos {
        self.busy
    }
}

/// When a network card interrupts: at once, but not more often than once in a while (*moderation*). For
/// clients, whose interrupts need no events: arrivals are processed in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moderation {
    last: Option<Time>,
}

impl Moderation {
    /// When it interrupts for what arrives at `at`, at least `gap` after it did before.
    pub fn interrupt(&mut self, at: Time, gap: Nanos) -> Time {
        let due = self.last.map_or(at, |last| if at <= last { last } else { at.max(last + gap) });
        self.last = Some(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_wait_for_those_before_them() {
        let mut link = Link::default();
        // 910 bytes of payload and 90 of overhead at 1 GB/s.
        assert_eq!(link.send(Time(100), 910, 1_000_000_000), Time(1100));
        assert_eq!(link.send(Time(200), 910, 1_000_000_000), Time(2100));
        assert_eq!(link.send(Time(5000), 910, 1_000_000_000), Time(6000));
        assert_eq!(link.busy(), Nanos(3000));
    }

    #[test]
    fn an_interrupt_keeps_its_distance_and_tells_all_that_has_come() {
        let (mut card, gap) = (Moderation::default(), Nanos(50));
        assert_eq!(card.interrupt(Time(10), gap), Time(10));
        assert_eq!(card.interrupt(Time(20), gap), Time(60));
        assert_eq!(card.interrupt(Time(55), gap), Time(60));
        assert_eq!(card.interrupt(Time(61), gap), Time(110));
        assert_eq!(card.interrupt(Time(500), gap), Time(500));
    }
}
