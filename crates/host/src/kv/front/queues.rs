//! The queues of segments, and the segments that are free.

use super::{Cursor, EVICTION_PACE, Emptying, Front, FrontSegment, LARGE_SHARE, Queue, SMALL_SHARE};
use std::collections::VecDeque;

impl Front {
    /// The queue of a new record, by its length in bytes.
    pub fn queue_of_new(&mut self, bytes: u64) -> Queue {
        self.mean.note(bytes);
        if self.is_large(bytes) { Queue::Large } else { Queue::Small }
    }

    /// True for a record in whose place several others could be, one of which is more likely to be read.
    pub fn is_large(&self, bytes: u64) -> bool {
        self.mean.is_far_below(bytes)
    }

    /// Puts a segment that was free into a queue.
    pub(super) fn enqueue(&mut self, segment: FrontSegment, queue: Queue, place: usize) {
        self.queue(queue).insert(place, segment);
        self.queue_of[segment] = queue;
        self.in_use[queue as usize] += self.run(segment).len();
    }

    pub(super) fn dequeue(&mut self, segment: FrontSegment, queue: Queue) {
        let place = self.place_of(segment, queue);
        self.queue(queue).remove(place);
        self.in_use[queue as usize] -= self.run(segment).len();
    }

    pub(super) fn make_free(&mut self, segment: FrontSegment) {
        let place = self.free.partition_point(|&other| other > segment);
        self.free.insert(place, segment);
    }

    pub(super) fn place_of(&mut self, segment: FrontSegment, queue: Queue) -> usize {
        let place = self.queue(queue).iter().position(|&other| other == segment);
        place.expect("a segment is in its queue")
    }

    pub(super) fn oldest(&self) -> Option<FrontSegment> {
        let total = self.active() - self.free.len();
        let exceeds = |queue: Queue, share| self.in_use[queue as usize] * share > total;
        let count = |queue: Queue| self.queues[queue as usize].len();
        // The newest large item has time to be read, however long it is.
        let queue = if exceeds(Queue::Large, LARGE_SHARE) && count(Queue::Large) > 1 {
            Queue::Large
        } else if exceeds(Queue::Small, SMALL_SHARE) || count(Queue::Main) == 0 && count(Queue::Small) > 0 {
            Queue::Small
        } else if count(Queue::Main) > 0 {
            Queue::Main
        } else {
            Queue::Large
        };
        self.queues[queue as usize].front().copied()
    }

    /// Begins to evict a segment, while none is being emptied.
    pub(super) fn evict(&mut self, segment: FrontSegment) {
        let (queue, emptying) = (self.queue_of[segment], Emptying::Eviction);
        self.cursor =
            Some(Cursor { segment, queue, emptying, pace: EVICTION_PACE, at: 0, ahead: 0, lead: 0 });
    }

    pub(super) fn queue(&mut self, queue: Queue) -> &mut VecDeque<FrontSegment> {
        &mut self.queues[queue as usize]
    }
}

/// The mean length of new records in bytes, of which the latest thousands count.
#[derive(Debug, Default)]
pub(super) struct MeanLength {
    /// The mean, times [`LATEST`].
    sum: u64,
}

impl MeanLength {
    fn note(&mut self, bytes: u64) {
        self.sum = if self.sum == 0 { bytes * LATEST } else { self.sum - self.sum / LATEST + bytes };
    }

    /// True if a length is more than twice the mean.
    fn is_far_below(&self, bytes: u64) -> bool {
        bytes > 2 * (self.sum / LATEST)
    }
}

/// The weight of the latest record in a mean is one in this many.
const LATEST: u64 = 2048;
