//! Handlers of hardware interrupts, and the software interrupt.

use super::duty::{Duty, Step};
use super::{SimulatedHost, irq};
use crate::cpu::{Level, Piece, Spent, costs};
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_host::path::{Controller, Drain, Finisher, LowLevelDriver, QueueId, RequestId};
use tailcut_ssd::Probe;

/// The state of a core's hardware interrupt handler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handler {
    stage: HandlerStage,
    duty: Duty,
    /// Completions that it still serves.
    budget: u32,
    began: Time,
    /// The thread that it is waking.
    waking: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HandlerStage {
    /// The handler has just been entered.
    #[default]
    Entered,
    /// Reading the controller's status.
    Acknowledging,
    /// Serving a completion.
    Serving,
    /// Waking a thread.
    Waking,
}

/// The pending work of a core's software interrupt.
#[derive(Clone, Debug, Default)]
pub(super) struct Soft {
    /// Requests to be post-processed.
    pub list: VecDeque<RequestId>,
    step: Option<Step>,
    request: RequestId,
    /// Whose tag it had.
    queue: QueueId,
}

impl<P: Probe> SimulatedHost<P> {
    /// A handler has come to the end of a piece.
    pub(super) fn handler_goes_on(&mut self, now: Time, cpu: usize, irq: u32) {
        if self.hard[cpu].stage == HandlerStage::Entered {
            self.hard[cpu].began = now;
        }
        match irq {
            irq::STEERED => {
                self.machine.raise_soft(now, cpu);
                self.machine.leave_hard(now, cpu);
            }
            irq::TIMER => {
                let thread = self.poll_thread.expect("its timer was set");
                self.wake_from_handler(now, cpu, thread);
            }
            irq::ARRAY => {
                let thread = self.array.as_ref().expect("its timer was set").thread;
                self.wake_from_handler(now, cpu, thread);
            }
            irq::NOTICE | irq::BACKGROUND => self.wake_listed(now, cpu, irq),
            _ => self.device_handler(now, cpu, irq::vector(irq).expect("all others are the controller's")),
        }
    }

    fn leave_handler(&mut self, now: Time, cpu: usize) {
        self.hard[cpu].stage = HandlerStage::Entered;
        self.machine.leave_hard(now, cpu);
    }

    fn hard(&mut self, now: Time, cpu: usize, stage: HandlerStage, piece: Piece) {
        self.hard[cpu].stage = stage;
        self.machine.run(now, cpu, Level::Hard, piece);
    }

    /// Wakes one kernel thread and leaves.
    fn wake_from_handler(&mut self, now: Time, cpu: usize, thread: u32) {
        if self.hard[cpu].stage == HandlerStage::Waking {
            self.machine.wake(now, thread);
            return self.leave_handler(now, cpu);
        }
        self.hard(now, cpu, HandlerStage::Waking, Piece::kernel(costs::WAKE, Spent::Interrupt));
    }

    /// Wakes all threads whose ends have been announced, or whose background requests have ended.
    fn wake_listed(&mut self, now: Time, cpu: usize, irq: u32) {
        if self.hard[cpu].stage == HandlerStage::Waking {
            let thread = self.hard[cpu].waking;
            self.machine.wake(now, thread);
            if irq == irq::NOTICE {
                self.note_awake(thread);
            }
        }
        let list = if irq == irq::NOTICE { &mut self.notices[cpu] } else { &mut self.answers[cpu] };
        let Some(thread) = list.pop_front() else { return self.leave_handler(now, cpu) };
        self.hard[cpu].waking = thread;
        let work = self.fetch_cost() + costs::WAKE;
        self.hard(now, cpu, HandlerStage::Waking, Piece::kernel(work, Spent::Interrupt));
    }

    /// The handler of the controller.
    fn device_handler(&mut self, now: Time, cpu: usize, vector: u32) {
        match self.hard[cpu].stage {
            HandlerStage::Entered => {
                if matches!(self.path.controller(), Controller::Ahci(_)) {
                    let piece = Piece::kernel(costs::ACKNOWLEDGE, Spent::Interrupt);
                    return self.hard(now, cpu, HandlerStage::Acknowledging, piece);
                }
                self.acknowledged(now, cpu, vector);
            }
            HandlerStage::Acknowledging => self.acknowledged(now, cpu, vector),
            HandlerStage::Serving => {
                let mut duty = self.hard[cpu].duty;
                let next = self.do_duty(now, cpu, &mut duty);
                self.hard[cpu].duty = duty;
                match next {
                    Some(step) => self.serve_step(now, cpu, step),
                    None => self.next_completion(now, cpu, vector),
                }
            }
            HandlerStage::Waking => {
                let thread = self.hard[cpu].waking;
                self.machine.wake(now, thread);
                self.end_device_handler(now, cpu, vector);
            }
        }
    }

    fn acknowledged(&mut self, now: Time, cpu: usize, vector: u32) {
        self.path.controller_mut().acknowledge(vector);
        if self.strategy.finisher == Finisher::InterruptThread {
            self.hard[cpu].waking = self.irq_threads[vector as usize];
            return self.hard(now, cpu, HandlerStage::Waking, Piece::kernel(costs::WAKE, Spent::Interrupt));
        }
        self.hard[cpu].budget = match self.strategy.drain {
            Drain::AsFound => self.path.controller().events(vector),
            Drain::UntilEmpty => u32::MAX,
        };
        self.next_completion(now, cpu, vector);
    }

    fn next_completion(&mut self, now: Time, cpu: usize, vector: u32) {
        if self.hard[cpu].budget == 0 || !self.path.controller().check_event(vector) {
            return self.end_device_handler(now, cpu, vector);
        }
        self.hard[cpu].budget -= 1;
        self.hard[cpu].duty = Duty { step: Step::Fetch, vector, ..Duty::default() };
        self.serve_step(now, cpu, Step::Fetch);
    }

    fn serve_step(&mut self, now: Time, cpu: usize, step: Step) {
        let piece = self.piece_of(step, Level::Hard);
        self.hard(now, cpu, HandlerStage::Serving, piece);
    }

    fn end_device_handler(&mut self, now: Time, cpu: usize, vector: u32) {
        let length = now.since(self.hard[cpu].began);
        self.handlers.note(length);
        if !self.rest_interrupt(now, vector)
            && self.strategy.finisher != Finisher::InterruptThread
            && self.path.controller_mut().raise_again(vector)
        {
            self.machine.interrupt(now, cpu, irq::DEVICE + vector);
        }
        self.leave_handler(now, cpu);
    }

    /// The software interrupt of a core has come to the end of a piece.
    pub(super) fn soft_goes_on(&mut self, now: Time, cpu: usize) {
        let Soft { request, queue, .. } = self.soft[cpu];
        let next = match self.soft[cpu].step.take() {
            Some(Step::Finish) => {
                self.finish(now, request, None);
                self.after_finish(now, request).or_else(|| self.kick_step(queue))
            }
            Some(Step::Wake) => {
                self.wake_owner(now, request);
                self.kick_step(queue)
            }
            Some(step @ (Step::WakeAnswered | Step::Launch | Step::CallArray)) => {
                self.do_for_array(now, cpu, step);
                self.array_step(now).or_else(|| self.kick_step(queue))
            }
            Some(Step::Kick) => {
                self.wake_queue_run(now);
                None
            }
            _ => None,
        };
        let next = next.or_else(|| self.next_soft(cpu));
        let Some(step) = next else { return self.machine.leave_soft(now, cpu) };
        self.soft[cpu].step = Some(step);
        let piece = Piece::kernel(self.piece_of(step, Level::Soft).work, Spent::SoftInterrupt);
        self.machine.run(now, cpu, Level::Soft, piece);
    }

    fn next_soft(&mut self, cpu: usize) -> Option<Step> {
        let request = self.soft[cpu].list.pop_front()?;
        (self.soft[cpu].request, self.soft[cpu].queue) = (request, self.flights[request as usize].queue);
        Some(Step::Finish)
    }

    /// What waits for a tag is issued by the background thread.
    fn kick_step(&mut self, queue: QueueId) -> Option<Step> {
        if self.path.waiting(queue) == 0 {
            return None;
        }
        let sleeps = self.queue_run.is_some_and(|thread| self.machine.is_blocked(thread));
        // One that is at work may have passed this queue already.
        self.queue_run_again |= !sleeps;
        sleeps.then_some(Step::Kick)
    }
}
