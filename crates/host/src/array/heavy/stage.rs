//! How far a drive is with its epoch, and how long each part of it takes.

use tailcut_base::{Nanos, Time};

/// How far a drive is with its epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It has no token, or nothing more to do with it.
    #[default]
    Rest,
    /// It answers the reads that it got before the token.
    Draining,
    /// It writes.
    Writing,
    /// It is flushed.
    Flushing,
    /// It collects.
    Collecting,
    /// It comes to rest before the token passes on.
    Settling,
}

/// What drives did with the token, and for how long; sums over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// They answered reads that they had got before.
    pub draining: Nanos,
    /// They wrote.
    pub writing: Nanos,
    /// They were flushed.
    pub flushing: Nanos,
    /// They collected.
    pub collecting: Nanos,
    /// They came to rest.
    pub settling: Nanos,
}

impl StageTimes {
    /// The time of a stage; none for rest.
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

    /// What has been added since there were only those.
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

    /// These and others.
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

/// Where a drive stands, and where it has been.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    stage: Stage,
    since: Time,
    times: StageTimes,
}

impl Progress {
    /// Where it stands.
    #[inline]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// True while it does something with the token: reads should go elsewhere.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.stage != Stage::Rest
    }

    /// What it did with the token so far, up to its present stage.
    pub fn times(&self) -> &StageTimes {
        &self.times
    }

    /// The same until `now`, with its present stage.
    pub fn times_until(&self, now: Time) -> StageTimes {
        let mut upto = *self;
        upto.enter(now, self.stage);
        upto.times
    }

    /// How long it has been at rest since a moment.
    pub fn rested(&self, now: Time, from: Time) -> Nanos {
        if self.is_busy() { Nanos::ZERO } else { now.since(self.since.max(from)) }
    }

    /// It enters a stage.
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
