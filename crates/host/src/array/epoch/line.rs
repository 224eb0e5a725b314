//! What waits to be written to a drive, in order, and how far the drive is in its epoch.

use super::cache::CopyId;
use super::ring::Ring;
use std::collections::VecDeque;
use tailcut_base::{Nanos, Time};

/// Where a drive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has no token, or nothing to do with it.
    Rest,
    /// It answers reads that it got before the token.
    Draining,
    /// It writes.
    Writing,
    /// It is flushed.
    Flushing,
    /// It collects.
    Collecting,
    /// It comes to rest, before the token passes on.
    Settling,
}

/// A copy that waits.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Which.
    pub copy: CopyId,
    /// Since when.
    pub since: Time,
}

/// A copy that was written, and is durable with the next flush.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Which.
    pub copy: CopyId,
    /// What.
    pub mark: super::descriptor::Mark,
}

/// The line of a drive. Each copy that joins it has a position; what has gone has gone in order.
#[derive(Debug)]
pub struct Line {
    items: VecDeque<Item>,
    /// Copies that have joined; the position of the next.
    joined: u64,
    /// All before this position are durable.
    durable: u64,
    /// Who waits until all before a position are durable, in order of positions.
    waiting: VecDeque<(u64, u32)>,
    /// Copies in front that this epoch may still write.
    pub quota: usize,
    /// Where the drive stands.
    pub stage: Stage,
    /// Reads of the host that it got without the token, and has not answered.
    pub reads: u32,
    /// Batches under way.
    pub batches: u32,
    /// What this epoch has written.
    pub written: Vec<Written>,
    /// Counts the drives in this place that were lost.
    pub life: u32,
    /// That count when what is being flushed was written.
    pub flushed_life: u32,
    /// Where it lists what it changes.
    pub ring: Ring,
    /// Its first copy waits for reads of what it is written over.
    pub is_held: bool,
    /// Slots are being merged: new entries must wait.
    pub is_merging: bool,
    /// Requests that clear the descriptors of a predecessor: nothing may be listed yet.
    pub clearing: u32,
    /// When its writing began in this epoch, and its flushing.
    pub began: Time,
    /// When the last write of the epoch began.
    pub ended: Time,
    /// What writing a block takes, flush included, as far as is known.
    pub per_block: Nanos,
    /// The most blocks that an epoch has written.
    most_written: usize,
    /// What is left of an epoch when its last write begins; at most half of its share of the deadline.
    pub wind_down: Nanos,
    /// What comes before the first takes; at most a quarter.
    pub wind_up: Nanos,
    /// What is known for collection.
    pub control: DriveControl,
}

/// What is known of a drive's control interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriveControl {
    /// It does not know the calls.
    pub is_unsupported: bool,
    /// It has not replied to a call.
    pub is_asked: bool,
    /// It has collected in this epoch.
    pub is_collecting: bool,
    /// It was still collecting when its time was over.
    pub was_cut: bool,
    /// Until when it is waited for.
    pub until: Time,
}

impl Line {
    /// An empty line of a drive that lists in so many slots.
    pub fn new(slots: u64) -> Line {
        Line {
            items: VecDeque::new(),
            joined: 0,
            durable: 0,
            waiting: VecDeque::new(),
            quota: 0,
            stage: Stage::Rest,
            reads: 0,
            batches: 0,
            written: Vec::new(),
            life: 0,
            flushed_life: 0,
            ring: Ring::new(slots),
            is_held: false,
            is_merging: false,
            clearing: 0,
            began: Time::ZERO,
            ended: Time::ZERO,
            per_block: Nanos::ZERO,
            most_written: FIRST_ROOM / 2,
            wind_down: Nanos::ZERO,
            wind_up: Nanos::ZERO,
            control: DriveControl::default(),
        }
    }

    /// Copies that wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Since when the first has waited.
    pub fn oldest(&self) -> Option<Time> {
        self.items.front().map(|item| item.since)
    }

    /// True when an epoch would have something to do.
    pub fn has_work(&self) -> bool {
        !self.items.is_empty() && self.clearing == 0
    }

    /// True when somebody waits for what is in it.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A copy joins.
    pub fn push(&mut self, now: Time, copy: CopyId) {
        self.items.push_back(Item { copy, since: now });
        self.joined += 1;
    }

    /// The first copy of this epoch that has not left.
    pub fn first(&self) -> Option<CopyId> {
        let item = self.items.front().filter(|_| self.quota > 0);
        item.map(|item| item.copy)
    }

    /// The first copy of this epoch leaves, to be written.
    pub fn pop(&mut self) -> Option<Item> {
        self.quota = self.quota.checked_sub(1)?;
        self.items.pop_front()
    }

    /// Drops what waits; the drive is lost.
    pub fn clear(&mut self, mut each: impl FnMut(CopyId)) {
        self.quota = 0;
        self.items.drain(..).for_each(|item| each(item.copy));
    }

    /// `who` waits for all that has joined; false when there is nothing to wait for.
    pub fn wait(&mut self, who: u32) -> bool {
        if self.durable == self.joined {
            return false;
        }
        if self.waiting.back() != Some(&(self.joined, who)) {
            self.waiting.push_back((self.joined, who));
            return true;
        }
        false
    }

    /// All that has left the line is durable.
    pub fn settle(&mut self) {
        self.durable = self.joined - self.items.len() as u64;
    }

    /// The next one whose waiting is over.
    pub fn released(&mut self) -> Option<u32> {
        let &(position, who) = self.waiting.front()?;
        if position > self.durable {
            return None;
        }
        self.waiting.pop_front();
        Some(who)
    }

    /// Learns what this epoch has shown: writing `blocks` blocks has taken from `began` to now. What is slow
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
    pub fn learn_end(&mut self, now: Time, share: Nanos) {
        let was_cut = std::mem::take(&mut self.control.was_cut);
        let took = now.since(self.ended) * if was_cut { 2 } else { 1 };
        self.wind_down = took.max((self.wind_down * 7 + took) / 8).min(share / 2);
    }

    /// Learns how long it took from the beginning of its epoch to the first write.
    pub fn learn_begin(&mut self, took: Nanos, share: Nanos) {
        self.wind_up = took.max((self.wind_up * 7 + took) / 8).min(share / 4);
    }

    /// Copies that may wait, so that an epoch of length `share` suffices for them.
    pub fn room(&self, share: Nanos) -> usize {
        let rest = share.saturating_sub(self.wind_down + self.wind_up).0;
        let most = rest.checked_div(self.per_block.0).map_or(FIRST_ROOM, |blocks| blocks as usize);
        // A drive with a buffer is quick at first: what it has not shown yet it is trusted with step by step.
        most.min(2 * self.most_written).max(LEAST_ROOM)
    }
}

/// The fewest blocks of an epoch from which the speed of a drive can be told.
const TELLING: usize = 64;

/// Copies that may wait for a drive of which nothing is known yet: 1 MiB.
const FIRST_ROOM: usize = 256;

/// Copies that may wait for any drive, however slow.
const LEAST_ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_all_before_is_durable() {
        let mut line = Line::new(4);
        assert!(!line.wait(1), "there is nothing to wait for");
        (0..3).for_each(|n| line.push(Time(n), CopyId(n as u32)));
        assert!(line.wait(1) && !line.wait(1));
        line.push(Time(9), CopyId(9));
        assert!(line.wait(2));
        line.quota = 2;
        assert!(line.pop().is_some() && line.pop().is_some() && line.pop().is_none());
        line.settle();
        assert_eq!(line.released(), None);
        line.quota = 1;
        line.pop();
        line.settle();
        assert_eq!((line.released(), line.released()), (Some(1), None));
        line.clear(|_| {});
        line.settle();
        assert_eq!(line.released(), Some(2));
    }
}
