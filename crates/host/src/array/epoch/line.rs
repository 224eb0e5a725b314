//! The dirty list of a drive, and the state of its epoch.

use super::cache::CopyId;
use super::ring::Ring;
use super::waiting::WaiterId;
use crate::array::token_scheduling::{Calls, Pace, Progress};
use std::collections::VecDeque;
use tailcut_base::Time;

/// A copy that waits to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Cache entry and copy number of the copy that waits.
    pub copy: CopyId,
    /// When the copy began to wait.
    pub since: Time,
}

/// A copy that was written and becomes durable with the next flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Cache entry and copy number of the copy that was written.
    pub copy: CopyId,
    /// Version and checksum that were written.
    pub mark: super::descriptor::Mark,
}

/// The dirty list of a drive. Each copy that joins it has a position; copies leave in order.
#[derive(Debug)]
pub(super) struct Line {
    items: VecDeque<Item>,
    /// Number of copies that have joined; the position of the next.
    joined: u64,
    /// All copies before this position are durable.
    durable: u64,
    /// Requests that wait until all copies before a position are durable, in order of positions.
    waiting: VecDeque<(u64, WaiterId)>,
    /// Number of copies at the front that this epoch may still write.
    pub quota: usize,
    /// Stage of the drive's epoch.
    pub progress: Progress,
    /// Outstanding host reads that it received without the token.
    pub reads: u32,
    /// Number of batches of the drive that are in flight.
    pub batches: u32,
    /// Copies written in this epoch.
    pub written: Vec<Written>,
    /// Counts the lost drives in this place.
    pub life: u32,
    /// `life` at the time when the data being flushed was written.
    pub flushed_life: u32,
    /// The descriptor slots of the drive, and which of them are in use.
    pub ring: Ring,
    /// True if the first copy in the list, when last checked, waited for reads of the data it overwrites.
    pub is_held: bool,
    /// Slots are being merged: new entries must wait.
    pub is_merging: bool,
    /// Outstanding requests that clear the descriptors of a predecessor: nothing may be listed yet.
    pub clearing: u32,
    /// Speed of the drive in its epochs, from which follows how much it may write in each.
    pub pace: Pace,
    /// Control calls for its garbage collection.
    pub calls: Calls,
}

impl Line {
    /// An empty dirty list of a drive with `slots` descriptor slots.
    pub(super) fn new(slots: u64) -> Line {
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

    /// Number of copies that wait.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The copies that wait, in their order.
    pub(super) fn copies(&self) -> impl Iterator<Item = CopyId> {
        self.items.iter().map(|item| item.copy)
    }

    /// When the first copy began to wait.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.items.front().map(|item| item.since)
    }

    /// True if an epoch would have work.
    pub(super) fn has_work(&self) -> bool {
        !self.items.is_empty() && self.clearing == 0
    }

    /// True if a request waits for a copy in it.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Appends a copy.
    pub(super) fn push(&mut self, now: Time, copy: CopyId) {
        self.items.push_back(Item { copy, since: now });
        self.joined += 1;
    }

    /// The first copy that this epoch may write.
    pub(super) fn first(&self) -> Option<CopyId> {
        let item = self.items.front().filter(|_| self.quota > 0);
        item.map(|item| item.copy)
    }

    /// Removes the first copy that this epoch may write.
    pub(super) fn pop(&mut self) -> Option<Item> {
        self.quota = self.quota.checked_sub(1)?;
        self.items.pop_front()
    }

    /// Drops all waiting copies: the drive is lost.
    pub(super) fn clear(&mut self, mut each: impl FnMut(CopyId)) {
        self.quota = 0;
        self.items.drain(..).for_each(|item| each(item.copy));
    }

    /// `who` waits for all copies that have joined; false if all are durable.
    pub(super) fn wait(&mut self, who: WaiterId) -> bool {
        if self.durable == self.joined {
            return false;
        }
        if self.waiting.back() != Some(&(self.joined, who)) {
            self.waiting.push_back((self.joined, who));
            return true;
        }
        false
    }

    /// All copies that have left the list are durable.
    pub(super) fn settle(&mut self) {
        self.durable = self.joined - self.items.len() as u64;
    }

    /// The next request whose wait is over.
    pub(super) fn released(&mut self) -> Option<WaiterId> {
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
    use super::super::cache::EntryId;
    use super::*;

    #[test]
    fn waiting_ends_when_all_before_is_durable() {
        let mut line = Line::new(4);
        let (first, second) = (WaiterId::new(1), WaiterId::new(2));
        let copy = |entry: u32| CopyId::new(EntryId::new(entry), 0);
        assert!(!line.wait(first), "there is nothing to wait for");
        (0..3).for_each(|n| line.push(Time(n.into()), copy(n)));
        assert!(line.wait(first) && !line.wait(first));
        line.push(Time(9), copy(9));
        assert!(line.wait(second));
        line.quota = 2;
        assert!(line.pop().is_some() && line.pop().is_some() && line.pop().is_none());
        line.settle();
        assert_eq!(line.released(), None);
        line.quota = 1;
        line.pop();
        line.settle();
        assert_eq!((line.released(), line.released()), (Some(first), None));
        line.clear(|_| {});
        line.settle();
        assert_eq!(line.released(), Some(second));
    }
}
