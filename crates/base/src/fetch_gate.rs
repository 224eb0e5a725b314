//! A drive that does not fetch commands for a while, or fetches each of them late: a fault that is injected
//! in front of a drive.

use crate::time::{Nanos, Time};
use std::collections::VecDeque;

/// Holds commands back between their submission and the drive that fetches them, in their order.
///
/// ```
/// use tailcut_base::fetch_gate::FetchGate;
/// use tailcut_base::{Nanos, Time};
///
/// let mut gate = FetchGate::default();
/// assert_eq!(gate.offer(Time(5), "read"), Some("read"));
/// gate.stall_until(Time(100));
/// assert_eq!(gate.offer(Time(7), "write"), None);
/// assert_eq!(gate.next_event(), Time(100));
/// assert_eq!(gate.fetch(Time(100)), Some(("write", Nanos(93))));
/// ```
#[derive(Clone, Debug)]
pub struct FetchGate<T> {
    held: VecDeque<Unfetched<T>>,
    /// Nothing is fetched before this.
    stalled_until: Time,
    delay: Nanos,
}

#[derive(Clone, Debug)]
struct Unfetched<T> {
    /// When it is fetched.
    at: Time,
    submitted: Time,
    command: T,
}

impl<T> Default for FetchGate<T> {
    fn default() -> FetchGate<T> {
        FetchGate { held: VecDeque::new(), stalled_until: Time::ZERO, delay: Nanos::ZERO }
    }
}

impl<T> FetchGate<T> {
    /// Nothing is fetched before `end`.
    pub fn stall_until(&mut self, end: Time) {
        self.stalled_until = self.stalled_until.max(end);
        for held in &mut self.held {
            held.at = held.at.max(self.stalled_until);
        }
    }

    /// From now on each command is fetched this much after its submission; zero ends that.
    pub fn set_delay(&mut self, delay: Nanos) {
        self.delay = delay;
    }

    /// A command is submitted: returned if it is fetched at once, and kept otherwise.
    pub fn offer(&mut self, now: Time, command: T) -> Option<T> {
        let behind = self.held.back().map_or(Time::ZERO, |held| held.at);
        let at = (now + self.delay).max(self.stalled_until).max(behind);
        if at <= now && self.held.is_empty() {
            return Some(command);
        }
        self.held.push_back(Unfetched { at, submitted: now, command });
        None
    }

    /// The next command that is fetched by `now`, and how long it was held.
    pub fn fetch(&mut self, now: Time) -> Option<(T, Nanos)> {
        self.held.front().filter(|held| held.at <= now)?;
        self.held.pop_front().map(|held| (held.command, now.since(held.submitted)))
    }

    /// When the next command is fetched; [`Time::NEVER`] if none is held.
    pub fn next_event(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |held| held.at)
    }

    /// Ends stall and delay: all commands that are held are fetched at once.
    pub fn open(&mut self) {
        (self.stalled_until, self.delay) = (Time::ZERO, Nanos::ZERO);
        for held in &mut self.held {
            held.at = Time::ZERO;
        }
    }

    /// Ends stall and delay, and takes all commands that were held, with how long that was.
    pub fn clear(&mut self, now: Time) -> impl Iterator<Item = (T, Nanos)> {
        (self.stalled_until, self.delay) = (Time::ZERO, Nanos::ZERO);
        std::mem::take(&mut self.held).into_iter().map(move |held| (held.command, now.since(held.submitted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn commands_are_fetched_once_in_order_and_never_early(
            steps in prop::collection::vec((0u64..50, 0..4, 1u64..80), 1..60)
        ) {
            let (mut gate, mut now) = (FetchGate::default(), Time::ZERO);
            let (mut submitted, mut fetched) = (0, Vec::new());
            let (mut stalled_until, mut delay) = (Time::ZERO, Nanos::ZERO);
            for (passed, kind, span) in steps {
                now += Nanos(passed);
                while let Some((command, held)) = gate.fetch(now) {
                    prop_assert!(now >= stalled_until);
                    fetched.push((command, held));
                }
                match kind {
                    0 => {
                        gate.stall_until(now + Nanos(span));
                        stalled_until = stalled_until.max(now + Nanos(span));
                    }
                    1 => (gate.set_delay(Nanos(span)), delay = Nanos(span)).0,
                    2 => (gate.set_delay(Nanos::ZERO), delay = Nanos::ZERO).0,
                    _ => {
                        if let Some(command) = gate.offer(now, submitted) {
                            prop_assert!(now >= stalled_until && delay == Nanos::ZERO);
                            fetched.push((command, Nanos::ZERO));
                        }
                        submitted += 1;
                    }
                }
            }
            while gate.next_event() != Time::NEVER {
                now = now.max(gate.next_event());
                fetched.extend(gate.fetch(now));
            }
            let order: Vec<i32> = fetched.into_iter().map(|(command, _)| command).collect();
            prop_assert_eq!(order, (0..submitted).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_open_gate_holds_nothing() {
        let mut gate = FetchGate::default();
        gate.stall_until(Time(100));
        assert_eq!(gate.offer(Time(40), 'a'), None);
        gate.open();
        assert_eq!(gate.next_event(), Time::ZERO);
        assert_eq!((gate.offer(Time(50), 'b'), gate.fetch(Time(50))), (None, Some(('a', Nanos(10)))));
        assert_eq!((gate.fetch(Time(50)), gate.offer(Time(50), 'c')), (Some(('b', Nanos(0))), Some('c')));
    }

    #[test]
    fn clearing_returns_what_was_held_and_ends_the_faults() {
        let mut gate = FetchGate::default();
        gate.stall_until(Time(100));
        gate.set_delay(Nanos(7));
        assert_eq!(gate.offer(Time(40), 'a'), None);
        assert_eq!(gate.clear(Time(50)).collect::<Vec<_>>(), [('a', Nanos(10))]);
        assert_eq!(gate.offer(Time(50), 'b'), Some('b'));
    }
}
