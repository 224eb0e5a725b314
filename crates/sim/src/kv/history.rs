//! The versions that a `get` may return: the one of its item that was acknowledged last when the `get` was
//! sent, or any that was set concurrently.

use tailcut_base::Time;

/// All versions of all items that may still be returned.
#[derive(Debug)]
pub(super) struct History {
    items: Vec<Vec<Version>>,
}

/// A value that was set.
#[derive(Clone, Copy, Debug)]
struct Version {
    number: u64,
    /// When it was sent.
    from: Time,
    /// When it was acknowledged; [`Time::NEVER`] before that.
    until: Time,
    /// When another version was acknowledged that had been sent after `until`: a `get` sent later must not
    /// return this one.
    replaced: Time,
}

/// Why an answer is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrongAnswer {
    /// The value was replaced before it was asked for.
    OutOfDate,
    /// This version was never set.
    Unknown,
}

impl History {
    /// Items with these versions.
    pub(super) fn new(loaded: impl Iterator<Item = u64>) -> History {
        let version =
            |number| vec![Version { number, from: Time::ZERO, until: Time::ZERO, replaced: Time::NEVER }];
        History { items: loaded.map(version).collect() }
    }

    /// A value is sent.
    pub(super) fn begin_set(&mut self, item: u64, number: u64, now: Time) {
        let version = Version { number, from: now, until: Time::NEVER, replaced: Time::NEVER };
        self.items[item as usize].push(version);
    }

    /// The value is acknowledged. Drops replaced versions that no `get` may return any more; `oldest` is
    /// when the oldest `get` under way was sent.
    pub(super) fn end_set(&mut self, item: u64, number: u64, now: Time, oldest: impl FnOnce() -> Time) {
        let versions = &mut self.items[item as usize];
        let set = versions.iter_mut().find(|version| version.number == number);
        let set = set.expect("what is acknowledged was sent");
        set.until = now;
        let from = set.from;
        for version in versions.iter_mut().filter(|version| version.until < from) {
            version.replaced = version.replaced.min(now);
        }
        if versions.len() > MOST_VERSIONS {
            let oldest = oldest();
            versions.retain(|version| version.replaced >= oldest);
        }
    }

    /// It was refused: the item is what it was.
    pub(super) fn refuse_set(&mut self, item: u64, number: u64) {
        self.items[item as usize].retain(|version| version.number != number);
    }

    /// Whether a `get` that was sent at `from` may have been answered with this version.
    ///
    /// # Errors
    /// Why the answer is wrong.
    pub(super) fn check(&self, item: u64, number: u64, from: Time) -> Result<(), WrongAnswer> {
        let found = self.items[item as usize].iter().find(|version| version.number == number);
        let version = found.ok_or(WrongAnswer::Unknown)?;
        if version.replaced < from { Err(WrongAnswer::OutOfDate) } else { Ok(()) }
    }
}

/// Above this number of versions those that no `get` can return any more are dropped.
const MOST_VERSIONS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        History::new([1, 2].into_iter())
    }

    #[test]
    fn who_asks_after_a_set_was_acknowledged_gets_nothing_older() {
        let mut history = history();
        history.begin_set(0, 10, Time(100));
        assert_eq!(history.check(0, 1, Time(150)), Ok(()));
        assert_eq!(history.check(0, 10, Time(50)), Ok(()), "it was asked for when it was set");
        history.end_set(0, 10, Time(200), || Time::ZERO);
        assert_eq!(history.check(0, 1, Time(150)), Ok(()), "it was asked for before that");
        assert_eq!(history.check(0, 1, Time(201)), Err(WrongAnswer::OutOfDate));
        assert_eq!(history.check(0, 10, Time(201)), Ok(()));
        assert_eq!(history.check(0, 2, Time(201)), Err(WrongAnswer::Unknown), "the value of another item");
    }

    #[test]
    fn of_two_that_were_set_at_once_either_may_be_the_last() {
        let mut history = history();
        history.begin_set(0, 10, Time(100));
        history.begin_set(0, 11, Time(110));
        history.end_set(0, 11, Time(120), || Time::ZERO);
        history.end_set(0, 10, Time(130), || Time::ZERO);
        assert_eq!(history.check(0, 10, Time(500)), Ok(()));
        assert_eq!(history.check(0, 11, Time(500)), Ok(()));
        history.begin_set(0, 12, Time(600));
        history.end_set(0, 12, Time(610), || Time::ZERO);
        assert_eq!(history.check(0, 10, Time(700)), Err(WrongAnswer::OutOfDate));
        assert_eq!(history.check(0, 11, Time(700)), Err(WrongAnswer::OutOfDate));
    }

    #[test]
    fn what_was_refused_was_never_there() {
        let mut history = history();
        history.begin_set(1, 10, Time(1));
        history.refuse_set(1, 10);
        assert_eq!(history.check(1, 10, Time(2)), Err(WrongAnswer::Unknown));
        assert_eq!(history.check(1, 2, Time(2)), Ok(()));
    }

    #[test]
    fn what_nobody_can_get_any_more_takes_no_room() {
        let mut history = history();
        for number in 0..1000 {
            history.begin_set(0, 100 + number, Time(10 * number + 1));
            history.end_set(0, 100 + number, Time(10 * number + 2), || Time(10 * number));
        }
        assert!(history.items[0].len() <= MOST_VERSIONS + 1);
    }
}
