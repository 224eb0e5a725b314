//! What waits to be written to a drive, in order, and how far the drive is in its epoch.

use super::cache::CopyId;
use super::ring::Ring;
use crate::array::heavy::{Calls, Pace, Progress};
use std::collections::VecDeque;
use tailcut_base::Time;

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
    pub progress: Progress,
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
    /// What it can do in an epoch.
    pub pace: Pace,
    /// What is known for collection.
    pub calls: Calls,
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
            progress: Progress::default(),
            reads: 0,
            batches: 0,
            written: Vec::new(),
            life: 0,
            flushed_life: 0,
            ring: Ring::new(slots),
            is_held: false,
            is_merging: false,
            clearing: 0,
            pace: Pace::default(),
            calls: Calls::default(),
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
}

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
