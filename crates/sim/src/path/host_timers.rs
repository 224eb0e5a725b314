//! Moments that have been arranged for, in order; those of one moment in the order in which they were set.

use super::{SimulatedHost, irq};
use tailcut_base::Time;
use tailcut_host::path::RequestId;
use tailcut_ssd::Probe;

/// What happens at such a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostTimer {
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
pub(super) type TimerHeap = crate::timer_heap::TimerHeap<HostTimer>;

impl<P: Probe> SimulatedHost<P> {
    pub(super) fn fire_timers(&mut self, now: Time) {
        while let Some(timer) = self.host_timers.pop(now) {
            match timer {
                HostTimer::Measure => self.begin_measuring(now),
                HostTimer::Notice { worker, generation } => self.notice_is_due(now, worker, generation),
                HostTimer::Verdict { worker, generation } => self.verdict(now, worker, generation),
                HostTimer::Poll => self.machine.interrupt(now, 0, irq::TIMER),
                HostTimer::Mode => self.look_at_mode(now),
                HostTimer::TimeOuts => self.look_for_late(now),
                HostTimer::Gone { request } => self.fail(now, request),
                HostTimer::Backstop { vector } => self.back_up(now, vector),
                HostTimer::Background { thread } => {
                    let cpu = self.machine.cpu_of(thread);
                    self.answers[cpu].push_back(thread);
                    self.machine.interrupt(now, cpu, irq::BACKGROUND);
                }
            }
        }
    }
}
