//! What waits for each chip, in order of arrival.

use crate::flash::LunId;
use crate::mutation::looked;
use crate::request::RequestId;
use tailcut_base::ids::IdVec;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: RequestId,
    next: RequestId,
}

const ALONE: Link = Link { prev: RequestId::NONE, next: RequestId::NONE };

/// A list for each LUN, oldest first, from which any request can be taken out.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    ends: IdVec<LunId, Link>,
    links: IdVec<RequestId, Link>,
    len: usize,
}

impl Waiting {
    /// Empty lists for `LUNs` LUNs.
    pub(super) fn new(luns: u32) -> Waiting {
        Waiting { ends: IdVec::filled(luns as usize, ALONE), links: IdVec::new(), len: 0 }
    }

    /// How many requests wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The oldest waiting request of a LUN, or [`RequestId::NONE`].
    #[inline]
    pub(super) fn first(&self, lun: LunId) -> RequestId {
        self.ends[lun].next
    }

    /// The next younger request of the LUN, or [`RequestId::NONE`] if `id` is the youngest.
    #[inline]
    pub(super) fn after(&self, id: RequestId) -> RequestId {
        looked();
        self.links[id].next
    }

    /// Appends a request.
    #[inline(always)]
    pub(super) fn add(&mut self, lun: LunId, id: RequestId) {
        looked();
        self.links.extend_to(id, ALONE);
        let ends = &mut self.ends[lun];
        let last = std::mem::replace(&mut ends.prev, id);
        match last {
            RequestId::NONE => ends.next = id,
            last => self.links[last].next = id,
        }
        self.links[id] = Link { prev: last, next: RequestId::NONE };
        self.len += 1;
    }

    /// Takes a request out.
    #[inline(always)]
    pub(super) fn remove(&mut self, lun: LunId, id: RequestId) {
        looked();
        let Link { prev, next } = self.links[id];
        let ends = &mut self.ends[lun];
        match prev {
            RequestId::NONE => ends.next = next,
            prev => self.links[prev].next = next,
        }
        match next {
            RequestId::NONE => ends.prev = prev,
            next => self.links[next].prev = prev,
        }
        self.len -= 1;
    }
}
