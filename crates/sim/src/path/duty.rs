//! The work for one completion, in the context that fetches it: a handler, a poll thread, an interrupt's
//! thread, or a thread that cooperates.

use super::SimulatedHost;
use super::irq;
use super::worker::Stage;
use crate::cpu::{Level, Piece, Spent, ThreadId, costs};
use tailcut_base::{Cause, Time};
use tailcut_host::path::{Fetched, Finisher, Issuer, Layers, QueueId, RequestId, Vector};
use tailcut_ssd::Probe;

/// The piece of work that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// Taking a completion of a vector.
    #[default]
    Fetch,
    /// Post-processing it.
    Finish,
    /// Waking its thread.
    Wake,
    /// Waking a thread whose request the array has answered.
    WakeAnswered,
    /// Building a command that the array has come up with, and issuing it.
    Launch,
    /// As [`Step::Launch`], by the array's thread, for a deferred command.
    LaunchDeferred,
    /// Waking that thread.
    CallArray,
    /// Taking a write that a thread has handed over, by the array's thread.
    TakeWrite,
    /// Sending it to the core that issued it.
    Steer,
    /// Waking the background thread that issues.
    Kick,
    /// Issuing with the tag that has become free.
    Issue,
}

/// One completion on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Duty {
    pub(super) step: Step,
    pub(super) vector: Vector,
    pub(super) request: RequestId,
    pub(super) queue: QueueId,
}

impl<P: Probe> SimulatedHost<P> {
    /// The work of the step that a duty stands at, in a context of `level`.
    #[inline]
    pub(super) fn piece_of(&self, step: Step, level: Level) -> Piece {
        let (work, on) = match step {
            Step::Fetch => (self.fetch_cost(), Spent::Poll),
            Step::Finish => (self.finish_cost(), Spent::Finish),
            Step::Wake | Step::WakeAnswered | Step::CallArray | Step::Kick => (costs::WAKE, Spent::Wake),
            Step::Launch | Step::LaunchDeferred => {
                let is_deferred = step == Step::LaunchDeferred;
                (self.block_work(is_deferred) + self.build_cost() + costs::ISSUE, Spent::Issue)
            }
            Step::TakeWrite => (costs::CHECK, Spent::Issue),
            Step::Steer => (costs::IPI_SEND, Spent::Interrupt),
            Step::Issue => (costs::ISSUE, Spent::Issue),
        };
        Piece::kernel(work, if level == Level::Hard { Spent::Interrupt } else { on })
    }

    pub(super) fn build_cost(&self) -> tailcut_base::Nanos {
        if self.strategy.layers == Layers::Scsi { costs::BUILD_SCSI } else { costs::BUILD_DIRECT }
    }

    pub(super) fn fetch_cost(&self) -> tailcut_base::Nanos {
        if self.strategy.layers == Layers::Scsi { costs::FETCH_SCSI } else { costs::FETCH_DIRECT }
    }

    pub(super) fn finish_cost(&self) -> tailcut_base::Nanos {
        if self.strategy.layers == Layers::Scsi { costs::FINISH_SCSI } else { costs::FINISH_DIRECT }
    }

    /// The present step of a duty has been worked: carries it out. Returns the next step, if there is one.
    #[inline]
    pub(super) fn do_duty(&mut self, now: Time, cpu: usize, duty: &mut Duty) -> Option<Step> {
        let next = match duty.step {
            Step::Fetch => {
                let fetched = self.path.fetch(duty.vector)?;
                (duty.request, duty.queue) = (fetched.request, fetched.queue);
                self.fetched(now, cpu, fetched)
            }
            Step::Finish => {
                self.finish(now, duty.request, None);
                self.after_finish(now, duty.request)
            }
            Step::Wake => {
                self.wake_owner(now, duty.request);
                None
            }
            Step::WakeAnswered | Step::Launch | Step::CallArray => {
                self.do_for_array(now, cpu, duty.step);
                self.array_step(now)
            }
            Step::LaunchDeferred => {
                self.launch(now, cpu, true);
                None
            }
            Step::TakeWrite => {
                self.take_write(now);
                None
            }
            Step::Steer => {
                let target = self.flights[duty.request as usize].cpu;
                self.machine.interrupt(now, target, irq::STEERED);
                None
            }
            Step::Kick => {
                self.wake_queue_run(now);
                return None;
            }
            Step::Issue => {
                self.issue(now, duty.queue, None);
                return None;
            }
        };
        let next = next.or_else(|| self.free_step(duty.queue));
        duty.step = next.unwrap_or_default();
        next
    }

    /// A completion has been taken from the controller: chooses the context that post-processes it.
    fn fetched(&mut self, now: Time, cpu: usize, fetched: Fetched) -> Option<Step> {
        let cause = if self.strategy.interrupts { Cause::Interrupt } else { Cause::Poll };
        let flight = &mut self.flights[fetched.request as usize];
        assert!(flight.is_visible && !flight.is_fetched, "a completion is fetched once, when it has come");
        flight.account.lap(now, cause);
        flight.is_fetched = true;
        match flight.finisher {
            Finisher::Fetcher | Finisher::InterruptThread => Some(Step::Finish),
            Finisher::Waiter => self.wake_owner_step(now, fetched.request),
            Finisher::SoftInterrupt => {
                let target = flight.cpu;
                self.soft[target].list.push_back(fetched.request);
                if target == cpu {
                    self.machine.raise_soft(now, cpu);
                    return None;
                }
                Some(Step::Steer)
            }
        }
    }

    /// A request has been post-processed, by its owner if `by` names one: its thread has its answer, or the
    /// array consumes it.
    pub(super) fn finish(&mut self, now: Time, request: RequestId, by: Option<ThreadId>) {
        self.path.end(request, now);
        let flight = &mut self.flights[request as usize];
        assert!(flight.is_fetched && !flight.is_finished, "a request is post-processed once");
        flight.is_finished = true;
        if self.array.is_some() {
            return self.finish_for_array(now, request, by);
        }
        let owner = flight.owner.expect("a thread waits for it");
        let worker = &mut self.workers[owner as usize];
        worker.is_answered = true;
        worker.visible_at = flight.visible_at;
        worker.account.join(&flight.account);
        (worker.status, worker.content) = (flight.status, flight.content);
        worker.busy_for = flight.busy_for;
    }

    /// The next step when a request has been post-processed.
    pub(super) fn after_finish(&mut self, now: Time, request: RequestId) -> Option<Step> {
        if self.array.is_some() { self.array_step(now) } else { self.wake_owner_step(now, request) }
    }

    /// The thread that waits for a request is to be woken if it sleeps; one that spins sees the end by
    /// itself.
    pub(super) fn wake_owner_step(&mut self, now: Time, request: RequestId) -> Option<Step> {
        let thread = self.flights[request as usize].owner?;
        if self.machine.is_blocked(thread) {
            return Some(Step::Wake);
        }
        if self.workers[thread as usize].stage == Stage::Spin {
            self.machine.cut(now, thread);
        }
        None
    }

    /// Wakes the thread that waits for a request; the time from here on is the scheduler's.
    pub(super) fn wake_owner(&mut self, now: Time, request: RequestId) {
        let cause = self.found_by(self.flights[request as usize].finisher);
        let flight = &mut self.flights[request as usize];
        let thread = flight.owner.expect("a thread waits for it");
        if flight.is_finished {
            self.workers[thread as usize].account.lap(now, cause);
        } else if flight.is_visible {
            flight.account.lap(now, cause);
        }
        self.machine.wake(now, thread);
        self.note_awake(thread);
    }

    /// A tag has become free: the step that reuses it for a waiting request, if any.
    pub(super) fn free_step(&self, queue: QueueId) -> Option<Step> {
        if self.path.waiting(queue) == 0 {
            return None;
        }
        match self.strategy.issuer {
            Issuer::WhoFrees => Some(Step::Issue),
            Issuer::QueueRun if self.strategy.finisher == Finisher::SoftInterrupt => None,
            Issuer::QueueRun => Some(Step::Kick),
        }
    }
}
