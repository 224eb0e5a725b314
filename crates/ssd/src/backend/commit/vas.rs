//! The virtual address scheduler (Sprinkler, section 3).

use super::{Chips, CommitScheduler, is_open};
use crate::flash::LunId;
use crate::request::RequestId;
use std::collections::VecDeque;

/// One queue in order of arrival. It does not know physical addresses: it commits the first
/// request, finds out whether its chip was busy, and waits for it with all that stand behind.
#[derive(Clone, Debug, Default)]
pub struct Vas {
    queue: VecDeque<RequestId>,
}

impl CommitScheduler for Vas {
    #[inline]
    fn arrived(&mut self, _: Chips<'_>, id: RequestId, _: bool) {
        self.queue.push_back(id);
    }

    #[inline]
    fn released(&mut self, _: LunId) {}

    #[inline]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        let &id = self.queue.front()?;
        let request = &chips.requests[id];
        is_open(chips.luns, request).then(|| self.queue.pop_front().expect("it has a front"))
    }
}
