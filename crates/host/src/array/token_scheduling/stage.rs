//! The stages of a drive's epoch and the time spent in each.

use tailcut_base::{Nanos, Time};

/// Stage of a drive's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It has no token, or is done with it.
    #[default]
    Rest,
    /// It completes the reads it received before the token.
    Draining,
    /// It writes the data that waited for the token.
    Writing,
    /// It is being flushed.
    Flushing,
    /// It is collecting garbage.
    Collecting,
    /// It is quiescing before the token passes on.
    Settling,
}

/// Time per stage with the token, summed over drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Time in which drives with the token completed the reads that they had received before it.
    pub draining: Nanos,
    /// Time in which drives with the token were written to.
    pub writing: Nanos,
    /// Time in which drives with the token were flushed.
    pub flushing: Nanos,
    /// Time in which drives with the token collected garbage on request.
    pub collecting: Nanos,
    /// Time in which drives with the token were quiescing before it passed on.
    pub settling: Nanos,
}

impl StageTimes {
    /// The time of a stage; None for rest.
    fn of(&mut self, stage: Stage) -> Option<&mut Nanos> {
        match stage {
            Stage::Rest => None,
            Stage::Draining => Some(&mut self.draining),
            Stage::Writing => Some(&mut self.writing),
            Stage::Flushing => Some(&mut self.flushing),
            Stage::Collecting => Some(&mut self.collecting),
            Stage::Settling => Some(&mut self.settling),
        }
    }

    /// The difference to an earlier snapshot.
    #[must_use]
    pub fn since(self, before: &StageTimes) -> StageTimes {
        StageTimes {
            draining: self.draining - before.draining,
            writing: self.writing - before.writing,
            flushing: self.flushing - before.flushing,
            collecting: self.collecting - before.collecting,
            settling: self.settling - before.settling,
        }
    }

    /// The sum of two sets of times, stage by stage.
    #[must_use]
    pub fn plus(self, other: &StageTimes) -> StageTimes {
        StageTimes {
            draining: self.draining + other.draining,
            writing: self.writing + other.writing,
            flushing: self.flushing + other.flushing,
            collecting: self.collecting + other.collecting,
            settling: self.settling + other.settling,
        }
    }
}

/// The current stage of a drive, and the time spent in earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    stage: Stage,
    since: Time,
    times: StageTimes,
}

impl Progress {
    /// The stage of the epoch that the drive is in.
    #[inline]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// True while the drive is working with the token: reads should avoid it.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.stage != Stage::Rest
    }

    /// Time per stage, without the current one.
    pub fn times(&self) -> &StageTimes {
        &self.times
    }

    /// Time per stage until `now`, including the current one.
    pub fn times_until(&self, now: Time) -> StageTimes {
        let mut upto = *self;
        upto.enter(now, self.stage);
        upto.times
    }

    /// Time that the drive has been at rest since `from`; zero if it is busy.
    pub fn rested(&self, now: Time, from: Time) -> Nanos {
        if self.is_busy() { Nanos::ZERO } else { now.since(self.since.max(from)) }
    }

    /// Begins `stage` at `now`, and accounts for the time spent in the stage before it.
    pub fn enter(&mut self, now: Time, stage: Stage) {
        if let Some(time) = self.times.of(self.stage) {
            *time += now.since(self.since);
        }
        (self.stage, self.since) = (stage, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_with_the_token_belongs_to_one_stage() {
        let mut progress = Progress::default();
        let way = [
            Stage::Draining,
            Stage::Writing,
            Stage::Flushing,
            Stage::Collecting,
            Stage::Settling,
            Stage::Rest,
        ];
        for (step, stage) in way.into_iter().enumerate() {
            assert_eq!(progress.is_busy(), step > 0);
            let now = Time(10 + 3 * step as u64);
            let before = progress.times_until(now);
            progress.enter(now, stage);
            assert_eq!(*progress.times(), before, "the present stage counted already");
        }
        progress.enter(Time(99), Stage::Draining);
        let StageTimes { draining, writing, flushing, collecting, settling } = *progress.times();
        assert_eq!([draining, writing, flushing, collecting, settling], [Nanos(3); 5], "rest does not count");
        let twice = progress.times().plus(progress.times());
        assert_eq!(twice.draining, Nanos(6));
        assert_eq!(twice.since(progress.times()), *progress.times());
    }
}
