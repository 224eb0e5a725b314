//! Submission queues: commands wait there until the controller fetches them into its pool of commands.

use crate::config::QueueArbitration;
use crate::request::Tag;
use std::collections::VecDeque;

/// The submission queues of a drive, and how many commands it works on.
#[derive(Debug)]
pub(crate) struct SubmissionQueues {
    /// The most commands that the controller works on at a time; 0 for no bound.
    pool: u32,
    arbitration: QueueArbitration,
    /// Commands that have been fetched and not completed.
    fetched: u32,
    /// Commands that wait, by queue; all in the first where the oldest goes first.
    queues: Vec<VecDeque<Tag>>,
    /// How many wait.
    waiting: u32,
    /// The queues in which commands wait, the one whose turn it is in front.
    turns: VecDeque<usize>,
}

impl SubmissionQueues {
    pub(crate) fn new(pool: u32, arbitration: QueueArbitration) -> SubmissionQueues {
        SubmissionQueues {
            pool,
            arbitration,
            fetched: 0,
            queues: Vec::new(),
            waiting: 0,
            turns: VecDeque::new(),
        }
    }

    /// A command has been submitted. False when it has to wait in its queue.
    #[inline]
    pub(crate) fn enter(&mut self, tag: Tag, queue: u16) -> bool {
        if self.pool == 0 {
            return true;
        }
        if self.fetched < self.pool && self.waiting == 0 {
            self.fetched += 1;
            return true;
        }
        let queue = match self.arbitration {
            QueueArbitration::Fifo => 0,
            QueueArbitration::RoundRobin => usize::from(queue),
        };
        if queue >= self.queues.len() {
            self.queues.resize(queue + 1, VecDeque::new());
        }
        if self.queues[queue].is_empty() {
            self.turns.push_back(queue);
        }
        self.queues[queue].push_back(tag);
        self.waiting += 1;
        false
    }

    /// A fetched command has been completed.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if self.pool > 0 {
            self.fetched -= 1;
        }
    }

    /// True when a command waits that can be fetched.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.waiting > 0 && self.fetched < self.pool
    }

    /// Fetches the next command, if one waits and the pool has room.
    pub(crate) fn fetch(&mut self) -> Option<Tag> {
        if !self.is_due() {
            return None;
        }
        let queue = self.turns.pop_front()?;
        let tag = self.queues[queue].pop_front()?;
        if !self.queues[queue].is_empty() {
            self.turns.push_back(queue);
        }
        self.waiting -= 1;
        self.fetched += 1;
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_served_in_turn() {
        let mut queues = SubmissionQueues::new(1, QueueArbitration::RoundRobin);
        assert!(queues.enter(Tag::new(0), 0));
        for (tag, queue) in [(1, 0), (2, 0), (3, 2), (4, 1), (5, 2)] {
            assert!(!queues.enter(Tag::new(tag), queue));
        }
        let mut order = Vec::new();
        while order.len() < 5 {
            assert_eq!(queues.fetch(), None, "the pool is full");
            queues.leave();
            order.push(queues.fetch().expect("one waits").get());
        }
        assert_eq!(order, [1, 3, 4, 2, 5]);
    }

    #[test]
    fn without_turns_the_oldest_is_fetched() {
        let mut queues = SubmissionQueues::new(1, QueueArbitration::Fifo);
        assert!(queues.enter(Tag::new(0), 0));
        for (tag, queue) in [(1, 3), (2, 0), (3, 2)] {
            assert!(!queues.enter(Tag::new(tag), queue));
        }
        for tag in 1..4 {
            queues.leave();
            assert_eq!(queues.fetch(), Some(Tag::new(tag)));
        }
    }
}
