//! Estimates a drive's capacity per epoch from earlier epochs.

use super::calls::Collected;
use tailcut_base::cast::{to_u64, to_usize};
use tailcut_base::{Nanos, Time};

/// The speed of a drive in its epochs: the time for writes, and for the garbage collection that offsets them.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Start of the writes in this epoch.
    began: Time,
    /// Start of the last write in this epoch.
    ended: Time,
    /// Time at which all writes of this epoch were durable.
    durable: Time,
    /// Time to write a block, flush included; zero while unknown.
    per_block: Nanos,
    /// Largest number of blocks written in an epoch.
    most_written: usize,
    /// Time from the start of the last write of an epoch until all is durable; at most half of the epoch's
    /// share of the deadline. Like all reserves, the longest of recent epochs.
    wind_down: Nanos,
    /// Time before the first write of an epoch; at most a quarter of the share.
    wind_up: Nanos,
    /// Time of earlier epochs for writes, flush included, and for collection and quiescence. Both are halved
    /// when they add up to [`MEMORY`] epochs that only write.
    writing: Nanos,
    collecting: Nanos,
    /// The collection of the last epoch was cut short.
    was_cut: bool,
    /// Time of writes since a collection was last completed: beyond [`MEMORY`] epochs that only write,
    /// collection may take all available time.
    unfinished: Nanos,
    /// The current epoch limits collection to its part.
    is_paced: bool,
    /// Time to quiesce after a collection; None while unknown.
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
    /// Writes begin now, in an epoch that started `took` ago and may last for `share`.
    pub fn begin(&mut self, now: Time, took: Nanos, share: Nanos) {
        (self.began, self.ended, self.durable) = (now, now, now);
        self.wind_up = longest_of_late(self.wind_up, took).min(share / 4);
    }

    /// Records that a write starts at `now`.
    pub fn write(&mut self, now: Time) {
        (self.ended, self.durable) = (now, now);
    }

    /// Last time at which a write of an epoch may start, relative to the epoch's start. Waiting writes were
    /// admitted by [`Pace::room`], which reserves time for collection; if that turns out too short,
    /// collection yields, since the wait of a copy for at most one round is guaranteed.
    pub fn last_write(&self, share: Nanos) -> Nanos {
        aim(share).saturating_sub(self.wind_down)
    }

    /// Updates the estimate: writing `blocks` blocks has taken from the start of the epoch to now, when they
    /// are durable. A slow epoch counts at once, a fast one gradually. Few blocks reveal the fixed costs of
    /// an epoch rather than the drive's speed; but after a slow epoch has left room for few blocks only, no
    /// epoch would ever show that the drive is fast again: so the estimate of a slow epoch decays.
    pub fn learn(&mut self, now: Time, blocks: usize) {
        self.durable = now;
        // A drive that serves in place of another during preparation takes no time.
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

    /// Deadlines for the collection and then the quiescence of a drive, in an epoch that started at `began`.
    /// It must quiesce within the epoch, or the next group gets the token too late. A drive that has not
    /// quiesced by then has planes that must collect: reads would be delayed by that, so it may keep the
    /// token for longer, but not beyond `limit`, the end of the wait guaranteed to the others.
    ///
    /// Planes that are written evenly must collect at the same time, and then not again for long. Completing
    /// that at once would delay writes for many epochs: so a collection gets [`HEADWAY`] times its mean share
    /// for these writes, and continues in the next epoch.
    pub fn collection(&mut self, now: Time, began: Time, share: Nanos, limit: Time) -> (Time, Time) {
        let rest = self.rest.map_or(share / 2, |rest| rest.max(share / 8)).min(share / 2);
        let limit = Time(limit.0.saturating_sub(margin(share).0));
        let end = (began + aim(share)).min(limit);
        let latest = Time(end.0.saturating_sub(rest.0));
        let until = latest.min(now + self.part_of_collection(share));
        self.is_paced = until < latest;
        (until, (until.max(now) + share / 2).min(limit))
    }

    /// Mean time of collection for this epoch's writes, times the headway; all available time if no
    /// collection has been completed for long.
    fn part_of_collection(&self, share: Nanos) -> Nanos {
        let wrote = self.durable.since(self.began);
        let is_late = self.unfinished > share * MEMORY;
        let part = u128::from(wrote.0) * u128::from(self.collecting.0) * HEADWAY;
        match part.checked_div(u128::from(self.writing.0)) {
            Some(part) if !is_late => Nanos(to_u64(part)),
            _ => Nanos(u64::MAX >> 1),
        }
    }

    /// Ends the epoch; `collected` is the result of the drive's collection, if it was instructed to collect.
    /// The rest continues in the next epoch: planes are written evenly, so they must collect at the same
    /// time, which now and then takes longer than one epoch. But a drive whose collection is cut repeatedly
    /// does not keep up: then collection counts twice, and fewer writes are admitted, until it does.
    pub fn end(&mut self, now: Time, share: Nanos, collected: Option<Collected>) {
        let down = self.durable.since(self.ended);
        self.wind_down = longest_of_late(self.wind_down, down).min(share / 2);
        let Some(Collected { was_cut, resting, was_restless }) = collected else { return };
        if !was_restless {
            // A drive that did not quiesce has planes that must collect: less time for collection would not
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
            // Unknown as long as the drive has erased blocks left: assume that each block must be moved once.
            (self.writing, self.collecting) = (share / 2, share / 2);
        }
        (self.writing, self.collecting) = (self.writing + wrote, self.collecting + collected);
        if self.writing > share * MEMORY {
            (self.writing, self.collecting) = (self.writing / 2, self.collecting / 2);
        }
    }

    /// The part of `time` that is left for writes after collection has had its part.
    fn for_writing(&self, time: Nanos) -> Nanos {
        let both = self.writing.0 + self.collecting.0;
        let part = (u128::from(time.0) * u128::from(self.writing.0)).checked_div(u128::from(both));
        part.map_or(time, |part| Nanos(to_u64(part)))
    }

    /// Number of waiting blocks for which an epoch of length `share` suffices.
    pub fn room(&self, share: Nanos) -> usize {
        let rest = self.for_writing(aim(share).saturating_sub(self.wind_down + self.wind_up)).0;
        let most = rest.checked_div(self.per_block.0).map_or(FIRST_ROOM, to_usize);
        // A drive with a buffer is fast at first: the room grows step by step beyond proven sizes.
        most.min(2 * self.most_written).max(LEAST_ROOM)
    }
}

/// Planned end of an epoch that may last for `share`. The times of its flush and quiescence are past ones and
/// may increase; the margin keeps the deadline even if each epoch of a round takes a little longer than
/// expected.
fn aim(share: Nanos) -> Nanos {
    share - margin(share)
}

fn margin(share: Nanos) -> Nanos {
    share / 16
}

/// Decaying maximum of a duration, given the latest one, `took`: a rare event, such as an interfering erase,
/// is remembered for some hundred epochs.
fn longest_of_late(before: Nanos, took: Nanos) -> Nanos {
    took.max(before - before / 64)
}

/// Number of whole epochs of writes that are remembered: several times as many as evenly written planes take
/// until all of them must collect. Short epochs have little weight, as most of them collect nothing and one
/// of them for many.
const MEMORY: u64 = 8;

/// Factor of a collection's time to its part.
const HEADWAY: u128 = 2;

/// Least number of blocks in an epoch from which a drive's speed can be estimated.
const TELLING: usize = 64;

/// Number of blocks that may wait for a drive of unknown speed: 1 MiB.
const FIRST_ROOM: usize = 256;

/// Number of blocks that may wait for any drive, however slow.
const LEAST_ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Nanos = Nanos::millis(32);

    /// An epoch that writes for 4 ms, collects for 4 ms and then needs `rest` to quiesce.
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
            // A drive that is behind gets all available time.
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

    /// A slow epoch leaves so few blocks of room that later epochs cannot show how fast the drive is.
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
