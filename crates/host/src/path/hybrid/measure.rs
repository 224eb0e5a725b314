//! Measurements of a mode.

use tailcut_base::Nanos;

/// Range in per cent within which a measure counts as the same load. The load has changed after two measures
/// in a row outside of it: a single one may be an outlier.
pub(super) const SAME_LOAD: std::ops::RangeInclusive<u64> = 75..=133;

/// Decay: each measurement replaces one part in this many of the mean.
const FORGOTTEN: u64 = 64;

/// Timing of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadTiming {
    /// From the thread's request to the thread's reply.
    pub latency: Nanos,
    /// Part of the latency in which the drive held the request or had no room for it.
    pub wait: Nanos,
    /// Increase of the thread's debt since its previous reply, in ns: the time that a fair scheduler will
    /// give others before this thread.
    pub owed: i64,
}

/// Resource usage of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Core time used since the start.
    pub core: Nanos,
    /// Current debt of all its threads to others.
    pub owed: Nanos,
}

/// Measured cost of a mode per read, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    /// Number of requests measured.
    pub requests: u64,
    /// Latency without the wait for the drive.
    pub host: u64,
    pub core: u64,
    /// Increase of the threads' debt, in ns; negative if older debt is repaid.
    pub owed: i64,
    pub wait: u64,
    /// Requests in flight, in thousandths.
    pub parallelism: u64,
}

impl Measure {
    pub(super) fn price(&self) -> u64 {
        (self.host + self.core).saturating_add_signed(self.owed)
    }

    /// The mean over the requests of both, with exponentially decaying weight of older ones. A scheduler
    /// takes back up to half as much again as is owed.
    pub(super) fn joined(&self, later: &Measure) -> Measure {
        let before = self.requests - self.requests / FORGOTTEN;
        let mean = |a: u64, b: u64| (a * before + b * later.requests) / (before + later.requests);
        Measure {
            requests: before + later.requests,
            host: mean(self.host, later.host),
            core: mean(self.core, later.core),
            // Rounded towards zero.
            owed: (self.owed * before as i64 + later.owed * later.requests as i64)
                / (before + later.requests) as i64,
            wait: mean(self.wait, later.wait),
            parallelism: mean(self.parallelism, later.parallelism),
        }
    }

    pub(super) fn is_like(&self, other: &Measure) -> bool {
        (Change { from: other.price(), to: self.price() }).is_small() && self.has_parallelism_of(other)
    }

    pub(super) fn has_parallelism_of(&self, other: &Measure) -> bool {
        // A difference of a single request is no change of load.
        let few = self.parallelism.abs_diff(other.parallelism) < 1000;
        few || (Change { from: other.parallelism, to: self.parallelism }).is_small()
    }
}

/// A figure at two times.
struct Change {
    from: u64,
    to: u64,
}

impl Change {
    /// True if the load counts as the same.
    fn is_small(&self) -> bool {
        SAME_LOAD.contains(&(self.to * 100 / self.from.max(1)))
    }
}
