//! The gate before a scheduler: force-unit-access requests are not reordered.

use crate::mutation::{Invariant, holds, looked};
use crate::request::{RequestId, Tag};
use std::collections::VecDeque;

/// A request that the gate holds back.
#[derive(Clone, Copy, Debug)]
struct HeldRequest {
    id: RequestId,
    tag: Tag,
    fua: bool,
}

/// Keeps a force-unit-access I/O request in its place (Sprinkler, section 4.4: "serves I/Os without
/// any reordering if there exists a force-unit-access command"): it reaches the scheduler when every
/// earlier request has started, and later ones reach it when it has started itself. Costs a counter
/// while there is none.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    held: VecDeque<HeldRequest>,
    /// Requests that have passed and have not started.
    outstanding: u32,
    /// The force-unit-access I/O request that has passed and not started entirely.
    barrier: Tag,
    /// Everything that is held may pass.
    gives_way: bool,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate { held: VecDeque::new(), outstanding: 0, barrier: Tag::NONE, gives_way: false }
    }
}

impl Gate {
    /// True when a request that has arrived may pass at once.
    #[inline]
    pub(super) fn arrived(&mut self, id: RequestId, tag: Tag, fua: bool) -> bool {
        if !fua && self.barrier == Tag::NONE && self.held.is_empty() || !holds(Invariant::FuaInPlace) {
            self.outstanding += 1;
            return true;
        }
        let passes = self.held.is_empty() && (self.outstanding == 0 || self.barrier == tag);
        if passes {
            self.pass(tag, fua);
        } else {
            self.held.push_back(HeldRequest { id, tag, fua });
        }
        passes
    }

    /// True, and counted, when a read of I/O request `tag` may start before all that wait.
    pub(super) fn lets_promote(&mut self, tag: Tag, fua: bool) -> bool {
        let passes = !fua && self.held.is_empty() && (self.barrier == Tag::NONE || self.barrier == tag);
        self.outstanding += u32::from(passes);
        passes
    }

    fn pass(&mut self, tag: Tag, fua: bool) {
        self.outstanding += 1;
        if fua {
            self.barrier = tag;
        }
    }

    /// True when the I/O request that was held first may pass now: one with force unit access
    /// when everything before it has started, any other unless it stands behind such a one.
    #[inline]
    pub(super) fn opens(&self) -> bool {
        let Some(first) = self.held.front() else { return false };
        self.gives_way || self.outstanding == 0 || !first.fua && self.barrier == Tag::NONE
    }

    /// True when nothing is held back.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The tag whose requests pass next.
    pub(super) fn next_tag(&self) -> Option<Tag> {
        self.held.front().map(|held| held.tag)
    }

    /// The next request of `tag`, which passes.
    pub(super) fn admit(&mut self, tag: Tag) -> Option<RequestId> {
        looked();
        let &HeldRequest { id, fua, .. } = self.held.front().filter(|held| held.tag == tag)?;
        self.held.pop_front();
        self.gives_way &= !self.held.is_empty();
        self.pass(tag, fua);
        Some(id)
    }

    /// A request has started, or was given up.
    #[inline]
    pub(super) fn left(&mut self) {
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.barrier = Tag::NONE;
        }
    }

    /// A request that had started waits again.
    pub(super) fn returned(&mut self) {
        self.outstanding += 1;
    }

    /// Lets everything pass that is held now.
    pub(super) fn give_way(&mut self) {
        self.gives_way = !self.held.is_empty();
    }
}
