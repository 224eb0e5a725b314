//! The virtual address scheduler (Sprinkler, section 3).

use super::{CommitScheduler, is_open};
use crate::flash::unit::Units;
use crate::request::{RequestId, Requests};
use std::collections::VecDeque;

/// One queue in order of arrival. It does not know physical addresses: it commits the first
/// request, finds out whether its chip was busy, and waits for it with all that stand behind.
#[derive(Clone, Debug, Default)]
pub struct Vas {
    queue: VecDeque<RequestId>,
}

impl CommitScheduler for Vas {
    #[inline]
    fn arrived(&mut self, _: &mut Requests, id: RequestId) {
        self.queue.push_back(id);
    }

    #[inline]
    fn released(&mut self, _: u32) {}

    #[inline]
    fn next(&mut self, requests: &Requests, units: &Units) -> Option<RequestId> {
        let &id = self.queue.front()?;
        is_open(units, requests[id].unit, requests[id].tag)
            .then(|| self.queue.pop_front().expect("it has a front"))
    }
}
