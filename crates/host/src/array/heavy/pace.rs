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
    /// From the beginning of the last write of an epoch until all is durable; at most half of the epoch's share of the
    /// deadline.
    wind_down: Nanos,
    /// What comes before the first takes; at most a quarter.
    wind_up: Nanos,
    /// What earlier epochs took to write, flush included, and then to collect and to come to rest. Both are halved when
    /// they tell of [`MEMORY`] epochs that do nothing but write.
    writing: Nanos,
    collecting: Nanos,
    /// The collection of the last epoch was cut short.
    was_cut: bool,
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
            rest: None,
        }
    }
}

impl Pace {
    /// Writing begins now, in an epoch that began `took` ago and may last for `share`.
    pub fn begin(&mut self, now: Time, took: Nanos, share: Nanos) {
        (self.began, self.ended, self.durable) = (now, now, now);
        self.wind_up = took.max((self.wind_up * 7 + took) / 8).min(share / 4);
    }

    /// A write begins.
    pub fn write(&mut self, now: Time) {
        (self.ended, self.durable) = (now, now);
    }

    /// When the last write of an epoch may begin, from the epoch's beginning.
    pub fn last_write(&self, share: Nanos) -> Nanos {
        self.for_writing(share.saturating_sub(self.wind_down))
    }

    /// Learns what this epoch has shown: writing `blocks` blocks has taken from its beginning to now, when they
    /// are durable. What is slow counts at once, what is fast after some time. Few blocks tell of the costs of an
    /// epoch rather than of the drive's speed.
    pub fn learn(&mut self, now: Time, blocks: usize) {
        self.durable = now;
        if blocks == 0 || blocks < TELLING && self.per_block > Nanos::ZERO {
            return;
        }
        self.most_written = self.most_written.max(blocks);
        let took = now.since(self.began) / blocks as u64;
        self.per_block = took.max((self.per_block * 7 + took) / 8);
    }

    /// Until when a drive may collect, from the epoch's beginning: it has to come to rest within the epoch, or the
    /// next group gets the token too late.
    pub fn last_collection(&self, share: Nanos) -> Nanos {
        share - self.rest.map_or(share / 2, |rest| rest.max(share / 8)).min(share / 2)
    }

    /// The epoch is over; if the drive was told to collect, `collected` says how that went. What was left goes on in the next epoch: planes are written alike, so they have to collect at the
    /// same time, which takes longer than one epoch now and then. But a drive that is cut again and again does not
    /// keep up. Then collection counts twice, and less is written, until it does.
    pub fn end(&mut self, now: Time, share: Nanos, collected: Option<Collected>) {
        let down = self.durable.since(self.ended);
        self.wind_down = down.max((self.wind_down * 7 + down) / 8).min(share / 2);
        let Some(Collected { was_cut, resting }) = collected else { return };
        let rested = now.since(resting);
        self.rest = Some(self.rest.map_or(rested, |rest| rested.max((rest * 7 + rested) / 8)));
        let counts = if was_cut && self.was_cut { 2 } else { 1 };
        self.was_cut = was_cut;
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
        let rest = self.for_writing(share.saturating_sub(self.wind_down + self.wind_up)).0;
        let most = rest.checked_div(self.per_block.0).map_or(FIRST_ROOM, |blocks| blocks as usize);
        // A drive with a buffer is quick at first: what it has not shown yet it is trusted with step by step.
        most.min(2 * self.most_written).max(LEAST_ROOM)
    }
}

/// How many whole epochs of writing are remembered: several times as much as planes that are written alike take until all
/// of them have to collect. Short epochs count for little, as most of them collect nothing and one of them for many.
const MEMORY: u64 = 8;

/// The fewest blocks of an epoch from which the speed of a drive can be told.
const TELLING: usize = 64;

/// Blocks that may wait for a drive of which nothing is known yet: 1 MiB.
const FIRST_ROOM: usize = 256;

/// Blocks that may wait for any drive, however slow.
const LEAST_ROOM: usize = 8;
