//! Commit schedulers: which memory request is committed to its chip, and when.
//!
//! A scheduler is notified of host memory requests that have arrived and of chips that have become free,
//! and returns requests to commit. A transaction is then composed of the requests committed when the chip's
//! command sequence starts; composing is the flash controller's work and is identical under all schedulers
//! (Sprinkler, section 2.1). The controller's own work (garbage collection, the buffer's write-back) is
//! committed directly.
//!
//! The five schedulers of the paper's evaluation (section 5.1) differ in two ways: in which order
//! requests may come to the chips, and how much of what waits a chip is given at a time.
//!
//! | policy | paper | order | given to a chip at a time |
//! | --- | --- | --- | --- |
//! | `vas` | VAS | I/O requests; one that collides with those before waits | what one I/O request has for it |
//! | `pas` | PAS | I/O requests; one that meets only free chips goes ahead | likewise |
//! | `faro` | SPK1 | arrival of I/O requests | over-commitment: the set with the most overlap |
//! | `rios` | SPK2 | each chip by itself | its oldest request |
//! | `sprinkler` | SPK3 | each chip by itself | over-commitment |
//!
//! `sos` is the scheduler that PAReset builds on: it holds nothing back. Under each of them reads of
//! class 1 and 2 are committed as they arrive, and served by the chip in the order of their classes.

mod faro;
mod gate;
pub mod harness;
mod layout;
mod pas;
mod sos;
mod sprinkler;
mod vas;
pub(crate) mod visits;
mod waiting;
#[cfg(test)]
mod worked_example;

use crate::backend::lun::{Lun, Luns, Phase};
use crate::backend::requests::Requests;
use crate::config::{CommitPolicy, ScheduleConfig};
use crate::flash::{Geometry, Layout, LunId, PhysicalPage};
use crate::mutation::looked;
use crate::request::{Kind, Lane, MemoryRequest, RequestId, Tag};
use gate::Gate;
use pas::Pas;
use sos::Sos;
use sprinkler::Sprinkler;
use vas::Vas;

/// The state that a scheduler may read.
#[derive(Clone, Copy, Debug)]
pub struct Chips<'a> {
    /// Every memory request in the drive, whether it is committed or not.
    pub requests: &'a Requests,
    /// The state of every LUN, with the requests that are committed to it.
    pub luns: &'a Luns,
    /// The numbering of channels, LUNs, planes and blocks, and which of them contains which.
    pub layout: &'a Layout,
}

/// The contract of a commit scheduler. All memory requests of an I/O request arrive together;
/// after them, and after each `released`, `next` is called until it answers `None`.
pub trait CommitScheduler {
    /// A host memory request is known, with its LUN and place. Requests arrive in the order of their I/O
    /// requests and pages. `alone` is true when its I/O request has no other.
    fn arrived(&mut self, chips: Chips<'_>, id: RequestId, alone: bool);

    /// A LUN may be able to take requests that it could not take before.
    fn released(&mut self, lun: LunId);

    /// The next request to commit.
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId>;
}

/// True when a request can be committed to its LUN by a scheduler that does not over-commit: its
/// transaction has not started, and nothing of another I/O request is committed, unless that waits
/// for space: then a read may have to come first, because it holds the block whose erase would make
/// space. A read can also be committed where it may preempt what the LUN does.
#[inline]
fn is_open(luns: &Luns, request: &MemoryRequest) -> bool {
    let lun = &luns[request.lun];
    let is_alone = lun.committed_tag == Tag::NONE || lun.committed_tag == request.tag;
    is_waiting_to_start(lun.phase) && (is_alone || lun.is_short_of_space())
        || request.kind() == Kind::UserRead && lets_reads_in(lun)
}

/// True when a read may be committed to a LUN ahead of what it does, and no other read is.
#[inline]
fn lets_reads_in(lun: &Lun) -> bool {
    (lun.opens_to_reads || lun.is_suspended) && lun.places_with(Lane::READ) == 0
}

/// True while what is committed to a LUN can still join its next transaction.
#[inline]
fn is_waiting_to_start(phase: Phase) -> bool {
    matches!(phase, Phase::Idle | Phase::AwaitStart)
}

#[derive(Clone, Debug)]
enum Policy {
    Vas(Vas),
    Pas(Pas),
    Sos(Sos),
    Sprinkler(Box<Sprinkler>),
}

/// The chosen scheduler, behind the gate that keeps force-unit-access requests in their place.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: Policy,
    gate: Gate,
}

impl Scheduler {
    /// The scheduler for a drive of `geometry`.
    pub fn new(schedule: &ScheduleConfig, geometry: &Geometry) -> Scheduler {
        let policy = match schedule.commit {
            CommitPolicy::Vas => Policy::Vas(Vas::new(geometry.luns())),
            CommitPolicy::Pas => Policy::Pas(Pas::new(geometry.luns(), schedule)),
            CommitPolicy::Sos => Policy::Sos(Sos::default()),
            CommitPolicy::Faro | CommitPolicy::Rios | CommitPolicy::Sprinkler => {
                Policy::Sprinkler(Box::new(Sprinkler::new(schedule, geometry)))
            }
        };
        Scheduler { policy, gate: Gate::default() }
    }

    /// A host memory request has arrived; `alone` is true when its I/O request has no other, `fua` when it
    /// must not be reordered.
    #[inline(always)]
    pub fn arrived(&mut self, chips: Chips<'_>, id: RequestId, alone: bool, fua: bool) {
        if self.gate.arrived(id, chips.requests[id].tag, fua) {
            self.policy.arrived(chips, id, alone);
        }
    }

    /// A read that is committed as it arrives, past the scheduler: true unless it must wait for a
    /// request with force unit access before it, or has that itself.
    pub fn lets_promote(&mut self, tag: Tag, fua: bool) -> bool {
        self.gate.lets_promote(tag, fua)
    }

    /// A read that was committed past the scheduler has started.
    #[cold]
    pub fn promoted_left(&mut self) {
        self.gate.left();
    }

    /// A LUN may be able to take requests that it could not take before.
    #[inline(always)]
    pub fn released(&mut self, lun: LunId) {
        match &mut self.policy {
            Policy::Vas(vas) => vas.released(lun),
            Policy::Pas(pas) => pas.released(lun),
            Policy::Sos(sos) => sos.released(lun),
            Policy::Sprinkler(sprinkler) => sprinkler.released(lun),
        }
    }

    /// The next request to commit. Called until it answers `None` after all requests of an I/O
    /// request have arrived and after each `released`.
    #[inline(always)]
    pub fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        looked();
        let next = self.policy.next(chips);
        if next.is_some() || self.gate.is_empty() { next } else { self.next_behind_gate(chips) }
    }

    /// The next request, when there are some that the gate may let in.
    #[cold]
    fn next_behind_gate(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        while self.admit(chips) {
            let next = self.policy.next(chips);
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Lets requests in that stood behind a force-unit-access request, if it is their turn.
    fn admit(&mut self, chips: Chips<'_>) -> bool {
        let Some(tag) = self.gate.next_tag().filter(|_| self.gate.opens()) else { return false };
        while let Some(id) = self.gate.admit(tag) {
            // Whether it is alone is not remembered; false is always right.
            self.policy.arrived(chips, id, false);
        }
        true
    }

    /// A committed host request of a LUN has joined a transaction, or was given up.
    #[inline(always)]
    pub fn left(&mut self, lun: LunId) {
        self.gate.left();
        match &mut self.policy {
            Policy::Vas(vas) => vas.left(lun),
            Policy::Sprinkler(sprinkler) => sprinkler.left(lun),
            Policy::Pas(_) | Policy::Sos(_) => {}
        }
    }

    /// A host request that had left is committed again: its program has failed.
    pub fn returned(&mut self) {
        self.gate.returned();
    }

    /// A chip has no erased page: reads that stand behind a force-unit-access write may hold the
    /// block whose erase it waits for, so for once nothing is held back.
    pub fn give_way(&mut self) {
        self.gate.give_way();
    }

    /// The most transactions of its chip that have passed over a request while it was the oldest that
    /// waited there; 0 for schedulers that serve each chip in order.
    pub fn most_passed(&self) -> u32 {
        match &self.policy {
            Policy::Sprinkler(sprinkler) => sprinkler.most_passed(),
            _ => 0,
        }
    }

    /// A read that waits for a physical page in the layout of this scheduler, if it keeps one.
    pub fn reader_of(&self, chips: Chips<'_>, physical: PhysicalPage) -> Option<RequestId> {
        match &self.policy {
            Policy::Sprinkler(sprinkler) => sprinkler.reader_of(chips, physical),
            _ => None,
        }
    }

    /// Takes a waiting read out of the layout, before its address changes.
    pub fn leave(&mut self, chips: Chips<'_>, id: RequestId) {
        if let Policy::Sprinkler(sprinkler) = &mut self.policy {
            sprinkler.leave(chips, id);
        }
    }

    /// Puts a waiting read back into the layout, at its new address in the same plane.
    pub fn enter(&mut self, chips: Chips<'_>, id: RequestId) {
        if let Policy::Sprinkler(sprinkler) = &mut self.policy {
            sprinkler.enter(chips, id);
        }
    }
}

impl Policy {
    #[inline(always)]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        match self {
            Policy::Vas(vas) => vas.next(chips),
            Policy::Pas(pas) => pas.next(chips),
            Policy::Sos(sos) => sos.next(chips),
            Policy::Sprinkler(sprinkler) => sprinkler.next(chips),
        }
    }

    #[inline(always)]
    fn arrived(&mut self, chips: Chips<'_>, id: RequestId, alone: bool) {
        match self {
            Policy::Vas(vas) => vas.arrived(chips, id, alone),
            Policy::Pas(pas) => pas.arrived(chips, id, alone),
            Policy::Sos(sos) => sos.arrived(chips, id, alone),
            Policy::Sprinkler(sprinkler) => sprinkler.arrived(chips, id, alone),
        }
    }
}
