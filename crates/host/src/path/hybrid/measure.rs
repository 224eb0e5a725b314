//! What is measured of a mode.

use tailcut_base::Nanos;

/// A load is another one when a measure has left these parts of what it was, twice running, in per cent:
/// twice, since one measurement may hold an exception.
pub(super) const SAME_LOAD: std::ops::RangeInclusive<u64> = 75..=133;

/// With each measurement this part of what was known before is forgotten: a mean over so many.
const FORGOTTEN: u64 = 64;

/// What a read took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    /// From its thread's request to its thread's answer.
    pub latency: Nanos,
    /// How much of that the drive had it or had no room for it.
    pub wait: Nanos,
    /// How much more its thread owes to others than at its answer before, in ns: what a fair scheduler will
    /// let them run before it lets this thread.
    pub owed: i64,
}

/// What the path has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// How long cores have been at work for it since the beginning.
    pub core: Nanos,
    /// What all its threads owe to others at this moment.
    pub owed: Nanos,
}

/// What a mode has been measured to cost, per read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    /// How many requests it is of.
    pub requests: u64,
    /// Latency but for the wait for the drive.
    pub host: u64,
    pub core: u64,
    /// By how much threads owe more than before, in ns; less than nothing where older debts are paid off.
    pub owed: i64,
    pub wait: u64,
    /// Requests under way, in thousandths.
    pub parallelism: u64,
}

impl Measure {
    pub fn price(&self) -> u64 {
        (self.host + self.core).saturating_add_signed(self.owed)
    }

    /// The mean over the requests of both, of which older ones count less and less. A scheduler takes back up
    /// to half as much again as is owed.
    pub fn joined(&self, later: &Measure) -> Measure {
        let before = self.requests - self.requests / FORGOTTEN;
        let mean = |a: u64, b: u64| (a * before + b * later.requests) / (before + later.requests);
        Measure {
            requests: before + later.requests,
            host: mean(self.host, later.host),
            core: mean(self.core, later.core),
            // Rounded towards nothing.
            owed: (self.owed * before as i64 + later.owed * later.requests as i64)
                / (before + later.requests) as i64,
            wait: mean(self.wait, later.wait),
            parallelism: mean(self.parallelism, later.parallelism),
        }
    }

    pub fn is_like(&self, other: &Measure) -> bool {
        same(self.price(), other.price()) && self.has_parallelism_of(other)
    }

    pub fn has_parallelism_of(&self, other: &Measure) -> bool {
        // A single request more or less is no other load.
        let few = self.parallelism.abs_diff(other.parallelism) < 1000;
        few || same(self.parallelism, other.parallelism)
    }
}

fn same(now: u64, then: u64) -> bool {
    SAME_LOAD.contains(&(now * 100 / then.max(1)))
}
