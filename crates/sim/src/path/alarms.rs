//! Moments that have been arranged for, in order; those of one moment in the order in which they were set.

use super::{SimulatedHost, irq};
use tailcut_base::Time;
use tailcut_host::path::RequestId;
use tailcut_ssd::Probe;

/// What happens at such a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The measurement begins.
    Measure,
    /// A drive announces the end of a request of a thread.
    Notice {
        /// The thread.
        worker: u32,
        /// Which of its requests.
        generation: u32,
    },
    /// The prediction that a drive made when a thread's request arrived becomes known.
    Verdict {
        /// The thread.
        worker: u32,
        /// Which of its requests.
        generation: u32,
    },
    /// The poll thread looks again.
    Poll,
    /// The strategy looks whether another mode fits better.
    Mode,
    /// The path checks for commands that take too long.
    TimeOuts,
    /// A drive that is gone is asked for something.
    Gone {
        /// The request.
        request: RequestId,
    },
    /// A handler looks though its interrupt rests.
    Backstop {
        /// The interrupt.
        vector: u32,
    },
    /// The device of a background thread has answered.
    Background {
        /// The thread.
        thread: u32,
    },
}

/// All that a host has arranged for.
pub(super) type Alarms = crate::alarms::Alarms<Alarm>;

impl<P: Probe> SimulatedHost<P> {
    pub(super) fn serve_alarms(&mut self, now: Time) {
        while let Some(alarm) = self.alarms.pop(now) {
            match alarm {
                Alarm::Measure => self.begin_measuring(now),
                Alarm::Notice { worker, generation } => self.notice_is_due(now, worker, generation),
                Alarm::Verdict { worker, generation } => self.verdict(now, worker, generation),
                Alarm::Poll => self.machine.interrupt(now, 0, irq::TIMER),
                Alarm::Mode => self.look_at_mode(now),
                Alarm::TimeOuts => self.look_for_late(now),
                Alarm::Gone { request } => self.fail(now, request),
                Alarm::Backstop { vector } => self.back_up(now, vector),
                Alarm::Background { thread } => {
                    let cpu = self.machine.cpu_of(thread);
                    self.answers[cpu].push_back(thread);
                    self.machine.interrupt(now, cpu, irq::BACKGROUND);
                }
            }
        }
    }
}
