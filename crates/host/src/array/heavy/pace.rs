//! What a drive can do in an epoch, as far as earlier ones have shown.

use tailcut_base::{Nanos, Time};

/// The speed of a drive in its epochs.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// When its writing began in this epoch.
    began: Time,
    /// When the last write of the epoch began.
    ended: Time,
    /// What writing a block takes, flush included; zero while nothing is known.
    per_block: Nanos,
    /// The most blocks that an epoch has written.
    most_written: usize,
    /// What is left of an epoch when its last write begins; at most half of its share of the deadline.
    wind_down: Nanos,
    /// What comes before the first takes; at most a quarter.
    wind_up: Nanos,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            began: Time::ZERO,
            ended: Time::ZERO,
            per_block: Nanos::ZERO,
            most_written: FIRST_ROOM / 2,
            wind_down: Nanos::ZERO,
            wind_up: Nanos::ZERO,
        }
    }
}

impl Pace {
    /// Writing begins now, in an epoch that began `took` ago and may last for `share`.
    pub fn begin(&mut self, now: Time, took: Nanos, share: Nanos) {
        (self.began, self.ended) = (now, now);
        self.wind_up = took.max((self.wind_up * 7 + took) / 8).min(share / 4);
    }

    /// A write begins.
    pub fn write(&mut self, now: Time) {
        self.ended = now;
    }

    /// How long before the end of an epoch its last write begins.
    pub fn wind_down(&self) -> Nanos {
        self.wind_down
    }

    /// Learns what this epoch has shown: writing `blocks` blocks has taken from its beginning to now. What is slow
    /// counts at once, what is fast after some time. Few blocks tell of the costs of an epoch rather than of
    /// the drive's speed.
    pub fn learn(&mut self, now: Time, blocks: usize) {
        if blocks == 0 || blocks < TELLING && self.per_block > Nanos::ZERO {
            return;
        }
        self.most_written = self.most_written.max(blocks);
        let took = now.since(self.began) / blocks as u64;
        self.per_block = took.max((self.per_block * 7 + took) / 8);
    }

    /// Learns how long it took from the beginning of the last write of its epoch to the end. A collection that
    /// was cut short would have taken longer: nobody knows by how much, so it counts twice.
    pub fn end(&mut self, now: Time, share: Nanos, was_cut: bool) {
        let took = now.since(self.ended) * if was_cut { 2 } else { 1 };
        self.wind_down = took.max((self.wind_down * 7 + took) / 8).min(share / 2);
    }

    /// Blocks that may wait, so that an epoch of length `share` suffices for them.
    pub fn room(&self, share: Nanos) -> usize {
        let rest = share.saturating_sub(self.wind_down + self.wind_up).0;
        let most = rest.checked_div(self.per_block.0).map_or(FIRST_ROOM, |blocks| blocks as usize);
        // A drive with a buffer is quick at first: what it has not shown yet it is trusted with step by step.
        most.min(2 * self.most_written).max(LEAST_ROOM)
    }
}

/// The fewest blocks of an epoch from which the speed of a drive can be told.
const TELLING: usize = 64;

/// Blocks that may wait for a drive of which nothing is known yet: 1 MiB.
const FIRST_ROOM: usize = 256;

/// Blocks that may wait for any drive, however slow.
const LEAST_ROOM: usize = 8;
