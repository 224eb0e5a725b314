//! The queues of segments, and the segments that are free.

use super::{Cursor, EVICTION_PACE, Emptying, Front, FrontSegment, Queue, SMALL_SHARE};
use std::collections::VecDeque;

impl Front {
    /// Puts a segment that was free into a queue.
    pub(super) fn enqueue(&mut self, segment: FrontSegment, queue: Queue, place: usize) {
        self.queue(queue).insert(place, segment);
        self.queue_of[segment] = queue;
        self.in_small += if queue == Queue::Small { self.run(segment).len() } else { 0 };
    }

    pub(super) fn dequeue(&mut self, segment: FrontSegment, queue: Queue) {
        let place = self.place_of(segment, queue);
        self.queue(queue).remove(place);
        self.in_small -= if queue == Queue::Small { self.run(segment).len() } else { 0 };
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
        let is_small = self.in_small * SMALL_SHARE > total || self.main.is_empty();
        if is_small { self.small.front().copied() } else { self.main.front().copied() }
    }

    /// Begins to evict a segment, while none is being emptied.
    pub(super) fn evict(&mut self, segment: FrontSegment) {
        let (queue, emptying) = (self.queue_of[segment], Emptying::Eviction);
        self.cursor =
            Some(Cursor { segment, queue, emptying, pace: EVICTION_PACE, at: 0, ahead: 0, lead: 0 });
    }

    pub(super) fn queue(&mut self, queue: Queue) -> &mut VecDeque<FrontSegment> {
        match queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
        }
    }
}
