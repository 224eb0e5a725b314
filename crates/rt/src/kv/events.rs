//! Events of a server that its operator wants to know of at once. No event is reported per command.

use super::throttle::Peer;
use crate::ctl::Health;
use std::fmt;
use std::sync::Arc;
use tailcut_host::array::drives::Presence;
use tailcut_host::array::{Condition, Scrub};
use tailcut_host::kv::Damage;

/// An event of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was refused, because the maximum number is open.
    Refused,
    /// The system has no descriptors or memory for further connections; accepting is paused.
    Exhausted,
    /// A client sent a wrong name or password.
    LoginFailed(Peer),
    /// A client was disconnected, because others waited for memory that its replies or a half-sent value
    /// took.
    Hoarding,
    /// An invariant did not hold, which is a bug: a connection was closed, or a shard has failed. The message
    /// of the panic.
    Panicked(String),
    /// A shard is out of use after a panic: requests for its items are refused until a restart.
    ShardFailed {
        /// Number of the shard.
        shard: u32,
        /// Number of shards.
        of: u32,
    },
    /// A client has connected.
    Connected,
    /// A client has disconnected, or was disconnected.
    Disconnected,
    /// The state of a drive of the array has changed.
    Drive {
        /// Number of the drive in the array.
        member: usize,
        /// Its new state.
        is: Presence,
    },
    /// The drive accepts no more writes: its name, the reason, and what to do.
    Failed(String),
    /// The condition of the array has changed to this.
    Array(Condition),
    /// A scrub of the array has ended with this result.
    Scrubbed(Scrub),
    /// Data on a drive differs from what was written. The block number is relative to the drive.
    Damage {
        /// Model of the drive.
        drive: String,
        /// What is damaged.
        damage: Damage,
    },
    /// A store, which evicts nothing, refuses values because it is full, or has refused none for a while.
    StoreFull {
        /// True if it refuses values.
        is_full: bool,
    },
    /// The drive has run out of space for writes, or has space again.
    Room {
        /// Model of the drive.
        drive: String,
        /// True if it is full.
        is_full: bool,
    },
    /// The drive has grown since the store was created; the store keeps to its original blocks.
    Grown {
        /// Size of the store, in blocks.
        store: u64,
        /// Size of the drive, in blocks.
        drive: u64,
    },
    /// Reads of a drive failed since the previous such event.
    Faults {
        /// Number of the drive in the array.
        member: usize,
        /// Kind of failure.
        what: Fault,
        /// Number of failures.
        count: u64,
    },
}

/// Kind of failure of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The drive returned an error.
    Error,
    /// The data differs from what was written.
    Corrupt,
    /// The drive did not reply in time.
    Slow,
}

/// The event sink. Worker threads call it, so it must not block.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// A sink that calls `listener`.
    pub fn to(listener: impl Fn(Event) + Send + Sync + 'static) -> Events {
        Events(Arc::new(listener))
    }

    pub(super) fn log(&self, event: Event) {
        (self.0)(event);
    }

    /// Reports the changes between two checks of a drive's health.
    pub(super) fn tell_change(&self, before: &Health, now: &Health) {
        if let (None, Some(why)) = (&before.failure, &now.failure) {
            self.log(Event::Failed(why.clone()));
        }
        let Some(now) = &now.array else { return };
        let Some(before) = &before.array else {
            if now.condition != Condition::Optimal {
                self.log(Event::Array(now.condition.clone()));
            }
            return;
        };
        let pairs = before.members.iter().zip(&now.members).enumerate();
        for (member, ((was, old), (is, new))) in pairs {
            if was != is {
                self.log(Event::Drive { member, is: *is });
            }
            for (what, count) in [
                (Fault::Error, new.errors - old.errors),
                (Fault::Corrupt, new.corrupt - old.corrupt),
                (Fault::Slow, new.slow - old.slow),
            ] {
                if count > 0 {
                    self.log(Event::Faults { member, what, count });
                }
            }
        }
        if let Some(scrub) = now.new_scrub(before) {
            self.log(Event::Scrubbed(scrub));
        }
        if before.condition != now.condition {
            self.log(Event::Array(now.condition.clone()));
        }
    }
}

impl Default for Events {
    /// Discards all events.
    fn default() -> Events {
        Events::to(|_| {})
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctl::ArrayHealth;
    use std::sync::Mutex;
    use tailcut_host::array::DriveId;
    use tailcut_host::array::reads::DriveFaults;

    fn health(condition: Condition, second: Presence, faults: DriveFaults) -> Health {
        let members = vec![(Presence::InSync, DriveFaults::default()), (second, faults)];
        Health { array: Some(ArrayHealth::at_rest(condition, members)), failure: None }
    }

    #[test]
    fn what_has_changed_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let writes = Arc::clone(&told);
        let events = Events::to(move |event| writes.lock().expect("a test").push(event));
        let degraded = || Condition::Degraded { missing: vec![DriveId::new(1)], rebuilding: vec![] };
        let good = health(Condition::Optimal, Presence::InSync, DriveFaults::default());
        let faults = DriveFaults { corrupt: 3, ..DriveFaults::default() };
        let bad = health(degraded(), Presence::Missing, faults);
        events.tell_change(&Health::default(), &good);
        events.tell_change(&good, &good);
        assert_eq!(*told.lock().expect("a test"), []);
        events.tell_change(&good, &bad);
        events.tell_change(&bad, &bad);
        let all = [
            Event::Drive { member: 1, is: Presence::Missing },
            Event::Faults { member: 1, what: Fault::Corrupt, count: 3 },
            Event::Array(degraded()),
        ];
        assert_eq!(*told.lock().expect("a test"), all);
        events.tell_change(&Health::default(), &bad);
        assert_eq!(told.lock().expect("a test").len(), 4, "an array that is degraded from the start");
    }

    #[test]
    fn the_end_of_each_scrub_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let writes = Arc::clone(&told);
        let events = Events::to(move |event| writes.lock().expect("a test").push(event));
        let after = |count: u64| {
            let health = health(Condition::Optimal, Presence::InSync, DriveFaults::default());
            Health { array: health.array.map(|array| array.after_scrubs(count)), failure: None }
        };
        let before = health(Condition::Optimal, Presence::InSync, DriveFaults::default());
        // A scrub that is running is not among those that have ended.
        for (before, now) in [(&before, &after(1)), (&after(1), &after(1)), (&after(1), &before)] {
            events.tell_change(before, now);
        }
        events.tell_change(&before, &after(2));
        assert_eq!(*told.lock().expect("a test"), [(); 2].map(|()| Event::Scrubbed(Scrub::default())));
    }
}
