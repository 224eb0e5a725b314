//! The virtual address scheduler (Sprinkler, section 3).

use super::{Chips, CommitScheduler, is_open, is_waiting_to_start};
use crate::flash::LunId;
use crate::mutation::looked;
use crate::request::{RequestId, Tag};
use std::collections::VecDeque;
use tailcut_base::ids::IdVec;

/// One queue in order of arrival. VAS does not know physical addresses, so it cannot avoid collisions: "to
/// commit I/O #2 next, VAS has to wait for the completion of the previously-committed request". An I/O
/// request begins when no chip that it needs has requests of an earlier one; until then nothing of it is
/// committed, and nothing behind it. From then on its memory requests are committed in order, and one whose
/// chip is busy, with collection or with a page of the same I/O request, holds up those behind it.
#[derive(Clone, Debug)]
pub(super) struct Vas {
    queue: VecDeque<RequestId>,
    /// The I/O request at the head of the queue, once it has begun.
    begun: Tag,
    /// How many memory requests of an I/O request that has not begun collide with nothing. Chips that it does
    /// not collide on stay so, because nothing else is committed meanwhile: each is looked at once.
    clear: usize,
    /// LUNs whose transaction has members that were committed here.
    serves: IdVec<LunId, bool>,
}

impl Vas {
    pub(super) fn new(luns: u32) -> Vas {
        let serves = IdVec::filled(luns as usize, false);
        Vas { queue: VecDeque::new(), begun: Tag::NONE, clear: 0, serves }
    }

    /// True when a chip has, or serves, requests of another I/O request. A chip without erased pages is no
    /// obstacle: a read may hold the block whose erase would make space.
    #[inline]
    fn collides(&self, chips: Chips<'_>, id: RequestId) -> bool {
        let request = &chips.requests[id];
        let lun = &chips.luns[request.lun];
        let is_committed = lun.committed_tag != Tag::NONE && lun.committed_tag != request.tag;
        let is_served = self.serves[request.lun] && !is_waiting_to_start(lun.phase);
        (is_committed || is_served) && !lun.is_short_of_space()
    }

    /// True when the I/O request at the head of the queue may begin.
    #[inline]
    fn begins(&mut self, chips: Chips<'_>, tag: Tag) -> bool {
        while let Some(&id) = self.queue.get(self.clear).filter(|&&id| chips.requests[id].tag == tag) {
            looked();
            if self.collides(chips, id) {
                return false;
            }
            self.clear += 1;
        }
        self.clear = 0;
        true
    }

    /// A committed request of a LUN has joined its transaction.
    #[inline]
    pub(super) fn left(&mut self, lun: LunId) {
        self.serves[lun] = true;
    }
}

impl CommitScheduler for Vas {
    #[inline]
    fn arrived(&mut self, _: Chips<'_>, id: RequestId, _: bool) {
        self.queue.push_back(id);
    }

    #[inline]
    fn released(&mut self, lun: LunId) {
        self.serves[lun] = false;
    }

    #[inline]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        let &id = self.queue.front()?;
        let request = &chips.requests[id];
        if self.begun != request.tag {
            if !self.begins(chips, request.tag) {
                return None;
            }
            self.begun = request.tag;
        }
        if !is_open(chips.luns, request) {
            return None;
        }
        self.queue.pop_front();
        // The last of an I/O request: its tag may come again.
        if self.queue.front().is_none_or(|&next| chips.requests[next].tag != self.begun) {
            self.begun = Tag::NONE;
        }
        Some(id)
    }
}
