//! When a run measures and ends, how far it is, and why it fails.

use tailcut_base::{Nanos, Time};

/// When a run measures and when it ends. A run ends when every source has ended, or at the limits
/// given here; requests in flight are always waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time at the start of the workload that does not count.
    pub ramp: Nanos,
    /// Time after which nothing is issued; zero for no limit.
    pub duration: Nanos,
    /// Maximum number of requests over all sources; zero for no limit.
    pub requests: u64,
    /// Length of a round, the unit in which steady state is judged; zero for none.
    pub round: Nanos,
    /// End as soon as five rounds show steady state.
    pub until_steady: bool,
}

impl Limits {
    /// Everything counts, and the sources end by themselves.
    pub const NONE: Limits = Limits {
        ramp: Nanos::ZERO,
        duration: Nanos::ZERO,
        requests: 0,
        round: Nanos::ZERO,
        until_steady: false,
    };
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of requests completed so far, preparation included.
    pub completed: u64,
    /// Number of requests that the run will have issued at its end, as far as known.
    pub expected: Option<u64>,
    /// The virtual time that the run has reached.
    pub now: Time,
    /// Virtual time at which nothing more is issued, if there is a limit.
    pub until: Option<Time>,
}

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RunError {
    /// Requests are in flight, and nothing will ever happen again.
    #[error(
        "the device made no progress at {at}: no event is pending, and requests are in flight: {in_flight}"
    )]
    Stuck {
        /// When.
        at: Time,
        /// How many requests wait.
        in_flight: u32,
    },
    /// Requests complete without time, and a closed loop issues others for them.
    #[error(
        "{requests} requests in a row completed at {at}, so that the run would never end: the device answers \
         them without work; give reads data to find (precondition.fill), or the workload a rate \
         (workload.pace = \"open\") or pauses (workload.think)"
    )]
    NoTimePasses {
        /// When.
        at: Time,
        /// How many.
        requests: u64,
    },
    /// No source had a request.
    #[error("no request was issued: the workload has none, or ends before the first one is due")]
    NoRequests,
    /// A source went back in time.
    #[error("request {request} of source '{source_name}' is due at {due}, before its predecessor")]
    TimeRanBackwards {
        /// The source.
        source_name: String,
        /// Its request.
        request: u64,
        /// The moment.
        due: Time,
    },
}
