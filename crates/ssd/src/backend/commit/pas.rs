//! The physical address scheduler (Sprinkler, section 3; Ozone and PAQ are of this kind).

use super::waiting::Waiting;
use super::{Chips, CommitScheduler, is_open};
use crate::config::ScheduleConfig;
use crate::flash::LunId;
use crate::mutation::{Invariant, holds, looked};
use crate::request::{RequestId, Tag};
use std::collections::VecDeque;
use tailcut_base::ids::IdVec;

/// I/O requests in order of arrival, with a queue for each chip. An I/O request is committed as a whole, when
/// all chips that it needs are free; later ones that meet only free chips go ahead of it meanwhile: "PAS can
/// serve multiple I/O requests by grouping them without a major memory request collision". So the unit of
/// reordering is the I/O request ("coarse-grain"), and a chip is given requests of one I/O request at a time.
///
/// Chips that are never free all at once would starve a large I/O request. The *lead* is the oldest I/O
/// request, among those of several memory requests, that is not committed entirely. When `passes`
/// transactions of a chip have ended while the lead was the first to wait there, it *skips* busy chips: what
/// it has for a free chip is committed, the rest as its chips become free, before anything else. Without
/// `whole_requests` every lead does.
#[derive(Clone, Debug)]
pub(super) struct Pas {
    waiting: Waiting,
    /// For each tag its I/O request, if it has several memory requests.
    ios: IdVec<Tag, Io>,
    /// For each memory request the next of the same I/O request.
    siblings: IdVec<RequestId, RequestId>,
    /// I/O requests in order of arrival, with those that are committed already in between.
    order: VecDeque<(Tag, u64)>,
    arrivals: u64,
    /// The lead's tag; [`Tag::NONE`] when nothing waits.
    lead: Tag,
    /// The lead skips busy chips.
    skips: bool,
    /// Transactions of each LUN that have ended since its oldest waiting request became that.
    passed: IdVec<LunId, u32>,
    passes: u32,
    whole_requests: bool,
    /// An I/O request of which nothing has been tried yet: it has arrived, or become the lead.
    untried: Tag,
    /// The I/O request of one page that has just arrived.
    arrived: RequestId,
    /// The LUN that an event has just concerned.
    candidate: LunId,
    /// Requests chosen that `next` has not returned yet.
    chosen: VecDeque<RequestId>,
}

#[derive(Clone, Copy, Debug)]
struct Io {
    first: RequestId,
    last: RequestId,
    /// Memory requests that are not committed; 0 for an I/O request of one.
    waiting: u32,
    /// Number of its arrival.
    arrival: u64,
    /// Its memory request whose LUN was busy when it was last asked; [`RequestId::NONE`] before. Looked at
    /// first: most often that is busy still, and no other needs to be looked at.
    obstacle: RequestId,
}

impl Io {
    const NONE: Io = Io {
        first: RequestId::NONE,
        last: RequestId::NONE,
        waiting: 0,
        arrival: 0,
        obstacle: RequestId::NONE,
    };
}

/// How many of the I/O requests that wait for a chip are asked whether all of their chips are free:
/// the depth of the native command queue that the paper's schedulers work on (section 5.1).
const LOOK_AHEAD: usize = 32;

impl Pas {
    pub(super) fn new(luns: u32, schedule: &ScheduleConfig) -> Pas {
        Pas {
            waiting: Waiting::new(luns),
            ios: IdVec::new(),
            siblings: IdVec::new(),
            order: VecDeque::new(),
            arrivals: 0,
            lead: Tag::NONE,
            skips: false,
            passed: IdVec::filled(luns as usize, 0),
            passes: schedule.passes,
            whole_requests: schedule.whole_requests,
            untried: Tag::NONE,
            arrived: RequestId::NONE,
            candidate: LunId::NONE,
            chosen: VecDeque::new(),
        }
    }

    /// Enters a request among those of its I/O request.
    fn join(&mut self, tag: Tag, id: RequestId) {
        self.ios.extend_to(tag, Io::NONE);
        self.siblings.extend_to(id, RequestId::NONE);
        self.siblings[id] = RequestId::NONE;
        let io = &mut self.ios[tag];
        io.waiting += 1;
        if io.waiting > 1 {
            let last = std::mem::replace(&mut io.last, id);
            self.siblings[last] = id;
            return;
        }
        self.arrivals += 1;
        *io = Io { first: id, last: id, waiting: 1, arrival: self.arrivals, obstacle: RequestId::NONE };
        self.order.push_back((tag, self.arrivals));
        self.untried = tag;
        if self.lead == Tag::NONE {
            self.find_lead();
        }
    }

    /// True when the I/O request of a waiting memory request has no other.
    #[inline]
    fn is_alone(&self, tag: Tag) -> bool {
        self.ios.get(tag).is_none_or(|io| io.waiting == 0)
    }

    /// The memory requests of an I/O request of which none is committed.
    fn members(&self, tag: Tag) -> impl Iterator<Item = RequestId> + '_ {
        let first = Some(self.ios[tag].first);
        std::iter::successors(first, |&id| Some(self.siblings[id]).filter(|&next| next != RequestId::NONE))
    }

    /// Chooses from an I/O request of which nothing is committed yet: all or nothing, unless it skips busy
    /// chips.
    fn choose_io(&mut self, chips: Chips<'_>, tag: Tag) -> bool {
        let skips = self.skips && tag == self.lead;
        looked();
        let obstacle = self.ios[tag].obstacle;
        if !skips && obstacle != RequestId::NONE && !is_open(chips.luns, &chips.requests[obstacle]) {
            return false;
        }
        let mut chosen = std::mem::take(&mut self.chosen);
        let mut obstacle = RequestId::NONE;
        for id in self.members(tag) {
            looked();
            if is_open(chips.luns, &chips.requests[id]) {
                chosen.push_back(id);
            } else if !skips {
                chosen.clear();
                obstacle = id;
                break;
            }
        }
        self.ios[tag].obstacle = obstacle;
        self.chosen = chosen;
        !self.chosen.is_empty()
    }

    /// Chooses something for a LUN that has become free, from the oldest I/O request on.
    fn choose_for(&mut self, chips: Chips<'_>, lun: LunId) -> bool {
        let mut id = self.waiting.first(lun);
        for _ in 0..LOOK_AHEAD {
            looked();
            if id == RequestId::NONE {
                return false;
            }
            let tag = chips.requests[id].tag;
            if !is_open(chips.luns, &chips.requests[id]) {
                return false;
            }
            if self.is_alone(tag) {
                self.chosen.push_back(id);
                return true;
            }
            let behind = self.next_io(chips, id);
            if tag == self.lead && !self.skips {
                self.skips = self.passed[lun] >= self.passes && holds(Invariant::BoundedWait);
            } else if tag == self.lead {
                while id != behind {
                    self.chosen.push_back(id);
                    id = self.waiting.after(id);
                }
                return true;
            }
            if self.choose_io(chips, tag) {
                return true;
            }
            id = behind;
        }
        false
    }

    /// True when an I/O request of which nothing is committed skips busy chips: it has been passed over often
    /// enough, or does so in any case.
    fn is_due(&self, chips: Chips<'_>, tag: Tag) -> bool {
        let has_waited = |id| {
            let lun = chips.requests[id].lun;
            let first = self.waiting.first(lun);
            first != RequestId::NONE && chips.requests[first].tag == tag && self.passed[lun] >= self.passes
        };
        !self.whole_requests || holds(Invariant::BoundedWait) && self.members(tag).any(has_waited)
    }

    /// The first request behind `id`, in the queue of its chip, of another I/O request.
    fn next_io(&self, chips: Chips<'_>, mut id: RequestId) -> RequestId {
        let tag = chips.requests[id].tag;
        while id != RequestId::NONE && chips.requests[id].tag == tag {
            id = self.waiting.after(id);
        }
        id
    }

    /// Takes a chosen request out of the queues.
    #[inline]
    fn commit(&mut self, chips: Chips<'_>, id: RequestId) {
        let request = &chips.requests[id];
        if id == self.waiting.first(request.lun) {
            self.passed[request.lun] = 0;
        }
        self.waiting.remove(request.lun, id);
        if self.is_alone(request.tag) {
            return;
        }
        let io = &mut self.ios[request.tag];
        io.waiting -= 1;
        if io.waiting == 0 && request.tag == self.lead {
            self.find_lead();
        }
    }

    fn find_lead(&mut self) {
        (self.lead, self.skips) = (Tag::NONE, false);
        while let Some(&(tag, arrival)) = self.order.front() {
            looked();
            let io = &self.ios[tag];
            if io.arrival == arrival && io.waiting > 0 {
                self.lead = tag;
                self.untried = tag;
                return;
            }
            self.order.pop_front();
        }
    }
}

impl CommitScheduler for Pas {
    #[inline(always)]
    fn arrived(&mut self, chips: Chips<'_>, id: RequestId, alone: bool) {
        if alone {
            self.arrived = id;
            return;
        }
        let request = &chips.requests[id];
        self.waiting.add(request.lun, id);
        self.join(request.tag, id);
    }

    #[inline]
    fn released(&mut self, lun: LunId) {
        self.candidate = lun;
        if self.waiting.first(lun) != RequestId::NONE {
            self.passed[lun] = self.passed[lun].saturating_add(1);
        }
    }

    #[inline(always)]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        if self.arrived != RequestId::NONE {
            let id = std::mem::replace(&mut self.arrived, RequestId::NONE);
            let request = &chips.requests[id];
            if self.waiting.first(request.lun) == RequestId::NONE && is_open(chips.luns, request) {
                return Some(id);
            }
            self.waiting.add(request.lun, id);
            self.candidate = request.lun;
        }
        if !self.chosen.is_empty() || self.untried != Tag::NONE {
            return self.next_of_several(chips);
        }
        if self.candidate == LunId::NONE {
            return None;
        }
        looked();
        // Mostly a chip has become free, or one page has arrived, and an I/O request of one page is
        // the oldest there.
        let lun = self.candidate;
        let id = self.waiting.first(lun);
        if id == RequestId::NONE || !is_open(chips.luns, &chips.requests[id]) {
            self.candidate = LunId::NONE;
            return None;
        }
        if !self.is_alone(chips.requests[id].tag) {
            return self.next_of_several(chips);
        }
        // A LUN short of space can take more than one I/O request.
        if !chips.luns[lun].is_short_of_space() {
            self.candidate = LunId::NONE;
        }
        self.passed[lun] = 0;
        self.waiting.remove(lun, id);
        Some(id)
    }
}

impl Pas {
    /// The next request to commit, when it may be one of several of its I/O request.
    #[inline(never)]
    fn next_of_several(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        loop {
            if let Some(id) = self.chosen.pop_front() {
                self.commit(chips, id);
                return Some(id);
            }
            if self.untried != Tag::NONE {
                let tag = std::mem::replace(&mut self.untried, Tag::NONE);
                if tag == self.lead {
                    self.skips = self.is_due(chips, tag);
                }
                self.choose_io(chips, tag);
                continue;
            }
            if self.candidate == LunId::NONE {
                return None;
            }
            let lun = self.candidate;
            // A LUN short of space can take more than one I/O request.
            if !self.choose_for(chips, lun) || !chips.luns[lun].is_short_of_space() {
                self.candidate = LunId::NONE;
            }
        }
    }
}
