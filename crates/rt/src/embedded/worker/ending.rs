//! Shutdown: operations in flight are completed, and changes are made durable.

use super::Worker;
use crate::ctl::Steered;
use crate::embedded::statistics::Statistics;
use tailcut_base::Time;
use tailcut_host::kv::WriteNumber;

/// Phase of the shutdown. A drive without completions until the deadline is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The worker serves.
    Not,
    /// Operations in flight are completed.
    Emptying { deadline: Time },
    /// Changes become durable up to this point.
    Settling { point: WriteNumber, deadline: Time },
    /// Shutdown is complete.
    Done { is_durable: bool },
}

/// What a worker returns when it stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerResult {
    /// Counters of the store.
    pub statistics: Statistics,
    /// All writes to the drive are durable.
    pub is_durable: bool,
}

impl Ending {
    /// Deadline of the current phase.
    pub(super) fn deadline(self) -> Time {
        match self {
            Ending::Emptying { deadline } | Ending::Settling { deadline, .. } => deadline,
            Ending::Not | Ending::Done { .. } => Time::NEVER,
        }
    }
}

impl<D: Steered> Worker<D> {
    /// Begins the shutdown; no more operations arrive.
    pub(super) fn begin_end(&mut self, now: Time) {
        if self.ending == Ending::Not {
            self.ending = Ending::Emptying { deadline: now + self.settings.patience };
        }
    }

    /// Extends the deadline, because the drive has completed a request.
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
            // Operations that still wait complete with an error when the worker stops.
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

    /// True if no operation or call is pending.
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.undurable.is_empty() && self.calls.is_empty()
    }
}
