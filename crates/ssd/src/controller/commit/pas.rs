//! The physical address scheduler (Sprinkler, section 3; Ozone and PAQ are of this kind).

use super::{CommitScheduler, is_open};
use crate::flash::unit::Units;
use crate::request::{NONE, RequestId, Requests};

/// A queue for each chip, in order of arrival. A busy chip is skipped; a free one gets the
/// requests of its oldest I/O request, and of no other: it does not look for more parallelism
/// inside the chip than one I/O request brings along.
#[derive(Clone, Debug)]
pub struct Pas {
    first: Vec<RequestId>,
    last: Vec<RequestId>,
    /// The unit that an event has just concerned.
    candidate: u32,
}

impl Pas {
    /// Empty queues for `units` units.
    pub fn new(units: u32) -> Pas {
        Pas { first: vec![NONE; units as usize], last: vec![NONE; units as usize], candidate: NONE }
    }
}

impl CommitScheduler for Pas {
    #[inline]
    fn arrived(&mut self, requests: &mut Requests, id: RequestId) {
        let unit = requests[id].unit as usize;
        requests[id].next = NONE;
        match self.last[unit] {
            NONE => self.first[unit] = id,
            last => requests[last].next = id,
        }
        self.last[unit] = id;
        self.candidate = unit as u32;
    }

    #[inline]
    fn released(&mut self, unit: u32) {
        self.candidate = unit;
    }

    #[inline]
    fn next(&mut self, requests: &Requests, units: &Units) -> Option<RequestId> {
        let unit = self.candidate as usize;
        let id = *self.first.get(unit)?;
        if id == NONE || !is_open(units, self.candidate, requests[id].tag) {
            return None;
        }
        self.first[unit] = requests[id].next;
        if self.first[unit] == NONE {
            self.last[unit] = NONE;
        }
        Some(id)
    }
}
