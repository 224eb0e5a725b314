//! Commit schedulers: which memory request is committed to its chip, and when.
//!
//! A scheduler is told which host memory requests have arrived and which chips have become free,
//! and answers with requests to commit. A transaction is then composed of what has been committed
//! when the chip's command sequence starts; composing is the flash controller's work and the same
//! under all schedulers (Sprinkler, section 2.1). The controller's own work (garbage collection,
//! the buffer's write-back) is committed directly.

mod pas;
mod vas;

use crate::flash::unit::{Phase, Units};
use crate::request::{NONE, RequestId, Requests};
use pas::Pas;
use vas::Vas;

tailcut_base::choice! {
    /// Which commit scheduler.
    pub enum CommitPolicy {
        /// Virtual address scheduler: strictly in order; a busy chip holds up everything.
        Vas = "vas",
        /// Physical address scheduler: a queue for each chip, in order of arrival.
        Pas = "pas",
    }
}

/// The contract of a commit scheduler. Calls to `next` follow each `arrived` and `released`, until
/// it answers `None`.
pub trait CommitScheduler {
    /// A host memory request is known, with its unit and place. Requests arrive in the order of
    /// their I/O requests and pages.
    fn arrived(&mut self, requests: &mut Requests, id: RequestId);

    /// A unit can take requests of another I/O request.
    fn released(&mut self, unit: u32);

    /// The next request to commit.
    fn next(&mut self, requests: &Requests, units: &Units) -> Option<RequestId>;
}

/// True when a request of I/O request `tag` can be committed to a unit: its transaction has not
/// started, and nothing of another I/O request is committed, unless that waits for space: then a
/// read may have to come first, because it holds the block whose erase would make space.
#[inline]
pub(crate) fn is_open(units: &Units, unit: u32, tag: u32) -> bool {
    let unit = &units[unit];
    matches!(unit.phase, Phase::Idle | Phase::AwaitStart)
        && (unit.committed_tag == NONE || unit.committed_tag == tag || unit.is_short_of_space())
}

/// The chosen scheduler.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// See [`CommitPolicy::Vas`].
    Vas(Vas),
    /// See [`CommitPolicy::Pas`].
    Pas(Pas),
}

impl Scheduler {
    /// The scheduler of `policy` for a drive of `units` units.
    pub fn new(policy: CommitPolicy, units: u32) -> Scheduler {
        match policy {
            CommitPolicy::Vas => Scheduler::Vas(Vas::default()),
            CommitPolicy::Pas => Scheduler::Pas(Pas::new(units)),
        }
    }
}

impl CommitScheduler for Scheduler {
    #[inline]
    fn arrived(&mut self, requests: &mut Requests, id: RequestId) {
        match self {
            Scheduler::Vas(vas) => vas.arrived(requests, id),
            Scheduler::Pas(pas) => pas.arrived(requests, id),
        }
    }

    #[inline]
    fn released(&mut self, unit: u32) {
        match self {
            Scheduler::Vas(vas) => vas.released(unit),
            Scheduler::Pas(pas) => pas.released(unit),
        }
    }

    #[inline]
    fn next(&mut self, requests: &Requests, units: &Units) -> Option<RequestId> {
        match self {
            Scheduler::Vas(vas) => vas.next(requests, units),
            Scheduler::Pas(pas) => pas.next(requests, units),
        }
    }
}
