//! The end: what is under way is completed, and what was changed is made durable.

use super::Worker;
use crate::ctl::Steered;
use crate::embedded::statistics::Statistics;
use tailcut_base::Time;

/// How far the end has come. A drive that answers nothing until the deadline is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It serves.
    Not,
    /// Operations that are under way are completed.
    Emptying { deadline: Time },
    /// What was changed becomes durable up to this point.
    Settling { point: u64, deadline: Time },
    /// That is done.
    Done { is_durable: bool },
}

/// What is left of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// What it has done.
    pub statistics: Statistics,
    /// Everything that was written to the drive is there for good.
    pub is_durable: bool,
}

impl Ending {
    /// When it goes on even if nothing happens.
    pub fn deadline(self) -> Time {
        match self {
            Ending::Emptying { deadline } | Ending::Settling { deadline, .. } => deadline,
            Ending::Not | Ending::Done { .. } => Time::NEVER,
        }
    }
}

impl<D: Steered> Worker<D> {
    /// Nothing more comes.
    pub(super) fn begin_end(&mut self, now: Time) {
        if self.ending == Ending::Not {
            self.ending = Ending::Emptying { deadline: now + self.settings.patience };
        }
    }

    /// The drive has answered something.
    pub(super) fn note_progress(&mut self, now: Time) {
        // Rejected retries of writes to a full drive are no progress.
        let is_full = self.engine.is_full();
        if let Ending::Emptying { deadline } | Ending::Settling { deadline, .. } = &mut self.ending
            && !is_full
        {
            *deadline = now + self.settings.patience;
        }
    }

    pub(super) fn wind_down(&mut self, now: Time) {
        if let Ending::Emptying { deadline } = self.ending
            && (now >= deadline || self.is_empty())
        {
            // Whoever still waits is told with the end.
            let point = self.engine.close();
            self.ending = Ending::Settling { point, deadline: now + self.settings.patience };
            self.carry_out(now);
        }
        if let Ending::Settling { point, deadline } = self.ending {
            let is_durable = self.engine.durable() >= point;
            if is_durable && self.engine.is_idle() || self.engine.has_failed() || now >= deadline {
                self.ending = Ending::Done { is_durable };
            }
        }
    }

    /// Nobody waits for anything.
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.undurable.is_empty() && self.calls.is_empty()
    }
}
