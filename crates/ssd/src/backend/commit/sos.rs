//! Software-based out-of-order scheduling (Hahn, Lee and Kim, MSST 2013; PAReset, section 2.2).

use super::{Chips, CommitScheduler};
use crate::flash::LunId;
use crate::request::RequestId;
use std::collections::VecDeque;

/// Nothing is held back: a request is committed to the software queue of its chip as it arrives, and
/// which of a queue goes next is for the chip's own rule to say.
#[derive(Clone, Debug, Default)]
pub(super) struct Sos {
    arrived: VecDeque<RequestId>,
}

impl CommitScheduler for Sos {
    #[inline]
    fn arrived(&mut self, _: Chips<'_>, id: RequestId, _: bool) {
        self.arrived.push_back(id);
    }

    #[inline]
    fn released(&mut self, _: LunId) {}

    #[inline]
    fn next(&mut self, _: Chips<'_>) -> Option<RequestId> {
        self.arrived.pop_front()
    }
}
