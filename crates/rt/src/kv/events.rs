//! What happens to a server that its operator wants to know of at once. Nothing of it is said per command.

use super::throttle::Peer;
use crate::ctl::Health;
use std::fmt;
use std::sync::Arc;
use tailcut_host::array::Condition;
use tailcut_host::array::drives::Presence;
use tailcut_host::kv::Damage;

/// Something has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client was turned away: there are as many as there may be.
    Refused,
    /// The system has no descriptors or memory for further clients; for a while none is let in.
    Exhausted,
    /// Somebody has said a name and a password that do not go together.
    LoginFailed(Peer),
    /// A client was disconnected: others waited for the memory that its answers or a half-sent value took.
    Hoarding,
    /// An invariant did not hold, which is a bug: a connection was closed, or a shard has failed. What the
    /// panic has said.
    Panicked(String),
    /// A shard is not used any more after such a panic: whoever asks for its items is told so, until a
    /// restart.
    ShardFailed {
        /// Which.
        shard: u32,
        /// Of how many.
        of: u32,
    },
    /// A client has come.
    Connected,
    /// A client has gone, or had to.
    Disconnected,
    /// A drive of the array serves, is rebuilt, or is missing, and did otherwise before.
    Drive {
        /// Which.
        member: usize,
        /// What it does now.
        is: Presence,
    },
    /// The drive takes no writes any more: its name, why, and what to do.
    Failed(String),
    /// The array is as a whole in another condition.
    Array(Condition),
    /// Something on the drive is not what was written. Its block is one of the drive.
    Damage(Damage),
    /// The drive has no room for what is written, or has some again.
    Room {
        /// What the drive is.
        drive: String,
        /// It has none.
        is_full: bool,
    },
    /// The drive has grown since the store was made, which goes on in the blocks that it had.
    Grown {
        /// Blocks of the store.
        store: u64,
        /// Blocks of the drive.
        drive: u64,
    },
    /// Reads of a drive went wrong since this was said before.
    Faults {
        /// Which.
        member: usize,
        /// In what way.
        what: Fault,
        /// How many.
        count: u64,
    },
}

/// What is wrong with a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error.
    Error,
    /// It returned something else than was written.
    Corrupt,
    /// It was not answered in time.
    Slow,
}

/// Who is told. Called by threads that serve: it must not wait for anything.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Told to this.
    pub fn to(listener: impl Fn(Event) + Send + Sync + 'static) -> Events {
        Events(Arc::new(listener))
    }

    pub(super) fn tell(&self, event: Event) {
        (self.0)(event);
    }

    /// What has changed between two looks at a drive.
    pub(super) fn tell_change(&self, before: &Health, now: &Health) {
        if let (None, Some(why)) = (&before.failure, &now.failure) {
            self.tell(Event::Failed(why.clone()));
        }
        let Some(now) = &now.array else { return };
        let Some(before) = &before.array else {
            if now.condition != Condition::Optimal {
                self.tell(Event::Array(now.condition.clone()));
            }
            return;
        };
        let pairs = before.members.iter().zip(&now.members).enumerate();
        for (member, ((was, old), (is, new))) in pairs {
            if was != is {
                self.tell(Event::Drive { member, is: *is });
            }
            for (what, count) in [
                (Fault::Error, new.errors - old.errors),
                (Fault::Corrupt, new.corrupt - old.corrupt),
                (Fault::Slow, new.slow - old.slow),
            ] {
                if count > 0 {
                    self.tell(Event::Faults { member, what, count });
                }
            }
        }
        if before.condition != now.condition {
            self.tell(Event::Array(now.condition.clone()));
        }
    }
}

impl Default for Events {
    /// Told to nobody.
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
    use tailcut_host::array::reads::{DriveFaults, ReadCounts};

    fn health(condition: Condition, second: Presence, faults: DriveFaults) -> Health {
        let members = vec![(Presence::InSync, DriveFaults::default()), (second, faults)];
        Health {
            array: Some(ArrayHealth { condition, rebuilt: None, members, reads: ReadCounts::default() }),
            failure: None,
        }
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
}
