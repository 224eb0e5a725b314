//! What a drive can do in an epoch, as far as earlier ones have shown.

use super::calls::Collected;
use tailcut_base::{Nanos, Time};

/// The speed of a drive in its epochs: what writing takes, and what collecting takes that makes up for it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// When its writing began in this epoch.
    began: Time,
    /// When the last write of the epoch began.
    ended: Time,
    /// When all of it was durable.
    durable: Time,
    /// What writing a block takes, flush included; zero while nothing is known.
    per_block: Nanos,
    /// The most blocks that an epoch has written.
    most_written: usize,
    /// From the beginning of the last write of an epoch until all is durable; at most half of the epoch's
    /// share of the deadline. Like all that is set aside, the longest of late.
    wind_down: Nanos,
    /// What comes before the first takes; at most a quarter.
    wind_up: Nanos,
    /// What earlier epochs took to write, flush included, and then to collect and to come to rest. Both are
    /// halved when they tell of [`MEMORY`] epochs that do nothing but write.
    writing: Nanos,
    collecting: Nanos,
    /// The collection of the last epoch was cut short.
    was_cut: bool,
    /// Writing since a collection last came to its end: beyond [`MEMORY`] epochs that do nothing but write it
    /// may take all the time that there is.
    unfinished: Nanos,
    /// The present epoch gives collection no more than its part.
    is_paced: bool,
    /// What it takes to come to rest behind a collection, as far as is known.
    rest: Option<Nanos>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            began: Time::ZERO,
            ended: Time::ZERO,
            durable: Time::ZERO,
            per_block: Nanos::ZERO,
            most_written: FIRST_ROOM / 2,
            wind_down: Nanos::ZERO,
            wind_up: Nanos::ZERO,
            writing: Nanos::ZERO,
            collecting: Nanos::ZERO,
            was_cut: false,
            unfinished: Nanos::ZERO,
            is_paced: false,
            rest: None,
        }
    }
}

impl Pace {
    /// Writing begins now, in an epoch that began `took` ago and may last for `share`.
    pub fn begin(&mut self, now: Time, took: Nanos, share: Nanos) {
        (self.began, self.ended, self.durable) = (now, now, now);
        self.wind_up = longest_of_late(self.wind_up, took).min(share / 4);
    }

    /// A write begins.
    pub fn write(&mut self, now: Time) {
        (self.ended, self.durable) = (now, now);
    }

    /// When the last write of an epoch may begin, from the epoch's beginning. What waits was let in by
    /// [`Pace::room`], which leaves collection its part; when less was left for it than was known then,
    /// collection yields: that a copy waits for one round at most is a promise.
    pub fn last_write(&self, share: Nanos) -> Nanos {
        aim(share).saturating_sub(self.wind_down)
    }

    /// Learns what this epoch has shown: writing `blocks` blocks has taken from its beginning to now, when
    /// they are durable. What is slow counts at once, what is fast after some time. Few blocks tell of the
    /// costs of an epoch rather than of the drive's speed; but where one slow epoch has left room for few
    /// only, nothing would ever tell that the drive is quick again: so what was slow is forgotten slowly.
    pub fn learn(&mut self, now: Time, blocks: usize) {
        self.durable = now;
        // A drive that stands in for another while it is prepared takes no time.
        let is_timeless = now == self.began;
        if is_timeless || blocks == 0 {
            return;
        }
        if blocks < TELLING && self.per_block > Nanos::ZERO {
            self.per_block = longest_of_late(self.per_block, Nanos::ZERO);
            return;
        }
        self.most_written = self.most_written.max(blocks);
        let took = now.since(self.began) / blocks as u64;
        self.per_block = took.max((self.per_block * 7 + took) / 8);
    }

    /// Until when a drive may collect in an epoch that began at `began`, and until when it is waited for to
    /// come to rest then. It has to do so within the epoch, or the next group gets the token too late. One
    /// that is not at rest by then has planes that must collect: reads would meet that, so it may keep the
    /// token for longer, but not beyond `limit`, when others have waited for so long as was promised.
    ///
    /// Planes that are written alike have to collect at the same time, and then not again for long. All at
    /// once that would keep writes waiting for many epochs: so a collection gets [`HEADWAY`] times what such
    /// writing takes of it in the mean, and goes on in the next epoch.
    pub fn collection(&mut self, now: Time, began: Time, share: Nanos, limit: Time) -> (Time, Time) {
        let rest = self.rest.map_or(share / 2, |rest| rest.max(share / 8)).min(share / 2);
        let limit = Time(limit.0.saturating_sub(margin(share).0));
        let end = (began + aim(share)).min(limit);
        let latest = Time(end.0.saturating_sub(rest.0));
        let until = latest.min(now + self.part_of_collection(share));
        self.is_paced = until < latest;
        (until, (until.max(now) + share / 2).min(limit))
    }

    /// What this epoch's writing makes collection do in the mean, and a headway; all the time that there is
    /// when it has not come to its end for long.
    fn part_of_collection(&self, share: Nanos) -> Nanos {
        let wrote = self.durable.since(self.began);
        let is_late = self.unfinished > share * MEMORY;
        let part = u128::from(wrote.0) * u128::from(self.collecting.0) * HEADWAY;
        match part.checked_div(u128::from(self.writing.0)) {
            Some(part) if !is_late => Nanos(part as u64),
            _ => Nanos(u64::MAX >> 1),
        }
    }

    /// The epoch is over; if the drive was told to collect, `collected` says how that went. What was left
    /// goes on in the next epoch: planes are written alike, so they have to collect at the same time, which
    /// takes longer than one epoch now and then. But a drive that is cut again and again does not keep up.
    /// Then collection counts twice, and less is written, until it does.
    pub fn end(&mut self, now: Time, share: Nanos, collected: Option<Collected>) {
        let down = self.durable.since(self.ended);
        self.wind_down = longest_of_late(self.wind_down, down).min(share / 2);
        let Some(Collected { was_cut, resting, was_restless }) = collected else { return };
        if !was_restless {
            // One that did not come to rest has planes that must collect: less time for collecting would not
            // help it.
            self.rest = Some(longest_of_late(self.rest.unwrap_or(Nanos::ZERO), now.since(resting)));
        }
        let was_short = was_cut && !self.is_paced;
        let counts = if was_short && self.was_cut { 2 } else { 1 };
        self.was_cut = was_short;
        self.unfinished =
            if was_cut { self.unfinished + self.durable.since(self.began) } else { Nanos::ZERO };
        let (wrote, collected) = (self.durable.since(self.began), now.since(self.durable) * counts);
        if self.writing == Nanos::ZERO {
            // Nothing is known of a drive that has erased blocks left: as if each block had to be moved once.
            (self.writing, self.collecting) = (share / 2, share / 2);
        }
        (self.writing, self.collecting) = (self.writing + wrote, self.collecting + collected);
        if self.writing > share * MEMORY {
            (self.writing, self.collecting) = (self.writing / 2, self.collecting / 2);
        }
    }

    /// Of so much time what is left for writing when collection has had its part.
    fn for_writing(&self, time: Nanos) -> Nanos {
        let both = self.writing.0 + self.collecting.0;
        let part = (u128::from(time.0) * u128::from(self.writing.0)).checked_div(u128::from(both));
        part.map_or(time, |part| Nanos(part as u64))
    }

    /// Blocks that may wait, so that an epoch of length `share` suffices for them.
    pub fn room(&self, share: Nanos) -> usize {
        let rest = self.for_writing(aim(share).saturating_sub(self.wind_down + self.wind_up)).0;
        let most = rest.checked_div(self.per_block.0).map_or(FIRST_ROOM, |blocks| blocks as usize);
        // A drive with a buffer is quick at first: what it has not shown yet it is trusted with step by step.
        most.min(2 * self.most_written).max(LEAST_ROOM)
    }
}

/// When an epoch that may last for `share` is to end: what its flush takes, and coming to rest, is known as
/// it was, not as it will be. So the deadline is kept although each epoch of a round takes a little longer
/// than expected.
fn aim(share: Nanos) -> Nanos {
    share - margin(share)
}

fn margin(share: Nanos) -> Nanos {
    share / 16
}

/// The longest that something took of late, now that it took `took`: what is rare, such as an erase in the
/// way, is remembered for some hundred epochs.
fn longest_of_late(before: Nanos, took: Nanos) -> Nanos {
    took.max(before - before / 64)
}

/// How many whole epochs of writing are remembered: several times as much as planes that are written alike
/// take until all of them have to collect. Short epochs count for little, as most of them collect nothing and
/// one of them for many.
const MEMORY: u64 = 8;

/// How much more than its part a collection gets.
const HEADWAY: u128 = 2;

/// The fewest blocks of an epoch from which the speed of a drive can be told.
const TELLING: usize = 64;

/// Blocks that may wait for a drive of which nothing is known yet: 1 MiB.
const FIRST_ROOM: usize = 256;

/// Blocks that may wait for any drive, however slow.
const LEAST_ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Nanos = Nanos::millis(32);

    /// An epoch that writes for 4 ms, collects for 4 ms, and then comes to rest for so long.
    fn epoch(pace: &mut Pace, rest: Nanos) {
        let (began, durable) = (Time(0), Time(0) + Nanos::millis(4));
        pace.begin(began, Nanos::ZERO, SHARE);
        pace.learn(durable, 1000);
        let resting = durable + Nanos::millis(4);
        pace.end(resting + rest, SHARE, Some(Collected { was_cut: true, resting, was_restless: false }));
    }

    #[test]
    fn a_rest_that_took_long_once_is_reckoned_with() {
        let mut pace = Pace::default();
        epoch(&mut pace, Nanos::millis(8));
        (0..20).for_each(|_| epoch(&mut pace, Nanos::micros(100)));
        let left = |pace: &mut Pace| {
            // Of a drive that has fallen behind, which gets all the time that there is.
            pace.unfinished = SHARE * 2 * MEMORY;
            SHARE - pace.collection(Time(0), Time(0), SHARE, Time::NEVER).0.since(Time(0))
        };
        assert!(
            left(&mut pace) > Nanos::millis(7),
            "{}: of 32 ms 2 are a margin, and 8 had to be enough for coming to rest",
            left(&mut pace)
        );
        (0..500).for_each(|_| epoch(&mut pace, Nanos::micros(100)));
        assert_eq!(left(&mut pace), SHARE / 16 + SHARE / 8);
    }

    #[test]
    fn others_are_not_kept_waiting_for_longer_than_promised() {
        let mut pace = Pace::default();
        epoch(&mut pace, Nanos::millis(1));
        pace.unfinished = SHARE * 2 * MEMORY;
        let began = Time(0) + Nanos::millis(100);
        let (until, end) = pace.collection(began, began, SHARE, Time::NEVER);
        assert!(until < began + SHARE && end > began + SHARE, "nobody waits: it may come to rest");
        let limit = began + SHARE / 2;
        let (until, end) = pace.collection(began, began, SHARE, limit);
        assert!(until < end && end < limit, "{until} {end}");
        let (until, end) = pace.collection(began, began, SHARE, Time(5));
        assert!(until < began && end < began, "they have waited for too long already");
    }

    #[test]
    fn what_may_wait_fits_in_an_epoch_beside_its_collection() {
        let mut pace = Pace::default();
        (0..20).for_each(|_| epoch(&mut pace, Nanos::millis(1)));
        let room = pace.room(SHARE) as u64;
        let writing = Nanos::micros(4) * room;
        assert!(room > 500 && writing * 9 / 4 < SHARE, "{room}: writing is four ninths of an epoch");
    }

    /// A slow epoch leaves room for so few blocks that no epoch after it tells how quick the drive is.
    #[test]
    fn what_was_slow_once_does_not_throttle_for_ever() {
        let mut pace = Pace::default();
        epoch(&mut pace, Nanos::millis(1));
        let before = pace.room(SHARE);
        pace.begin(Time(0), Nanos::ZERO, SHARE);
        pace.learn(Time(0) + Nanos::millis(30), TELLING);
        assert!(pace.room(SHARE) < TELLING && before > 4 * TELLING);
        for _ in 0..300 {
            let blocks = pace.room(SHARE) / 2;
            pace.begin(Time(0), Nanos::ZERO, SHARE);
            pace.learn(Time(0) + Nanos::millis(1), blocks);
        }
        assert!(pace.room(SHARE) > before / 2, "{} and {before}", pace.room(SHARE));
    }

    #[test]
    fn a_drive_that_takes_no_time_tells_nothing() {
        let mut pace = Pace::default();
        let first = pace.room(SHARE);
        pace.begin(Time(5), Nanos::ZERO, SHARE);
        pace.learn(Time(5), 1 << 20);
        assert_eq!(pace.room(SHARE), first);
    }
}
