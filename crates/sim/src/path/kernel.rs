//! Threads of the kernel and of the background.

use super::SimulatedHost;
use super::duty::{Duty, Step};
use super::host_timers::HostTimer;
use crate::cpu::{Level, Piece, Spent, ThreadId, costs};
use tailcut_base::{Nanos, Time};
use tailcut_host::path::LowLevelDriver;
use tailcut_ssd::Probe;

/// The role of a kernel thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Looks for completions on a timer.
    Poll,
    /// Issues what found no tag.
    QueueRun,
    /// Serves the completions of a vector.
    Interrupt(u32),
    /// Does what an array does by the clock.
    Array,
    /// Reads from a device of its own.
    BackgroundIo,
    /// Computes.
    BackgroundCpu,
}

/// Such a thread at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelThread {
    role: Role,
    duty: Duty,
    stage: KernelStage,
    /// The vector or queue that it looks at next.
    at: u32,
    /// Completions of that vector that the poll thread found when it looked, and still serves.
    budget: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelStage {
    /// Woken, or with nothing under way.
    Start,
    /// Looking.
    Looking,
    /// Serving a completion.
    Serving,
    /// Issuing.
    Issuing,
    /// A background thread on its way to its device.
    Entering,
    /// On its way back.
    Returning,
}

/// The work of a background thread that computes is counted in pieces of this length.
const STRETCH: Nanos = Nanos::millis(1);

impl KernelThread {
    pub(super) fn new(role: Role) -> KernelThread {
        KernelThread { role, duty: Duty::default(), stage: KernelStage::Start, at: 0, budget: 0 }
    }
}

impl<P: Probe> SimulatedHost<P> {
    /// A thread that is none of the workload has come to the end of a piece.
    pub(super) fn kernel_thread_goes_on(&mut self, now: Time, cpu: usize, thread: ThreadId) {
        let number = thread as usize - self.workers.len();
        match self.kernel_threads[number].role {
            Role::Poll => self.poll_goes_on(now, cpu, number),
            Role::QueueRun => self.queue_run_goes_on(now, cpu, number),
            Role::Interrupt(vector) => self.interrupt_thread_goes_on(now, cpu, number, vector),
            Role::Array => self.array_thread_goes_on(now, cpu, number),
            Role::BackgroundIo => self.background_io_goes_on(now, cpu, number, thread),
            Role::BackgroundCpu => {
                self.background_done += 1;
                self.machine.run(now, cpu, Level::Thread, Piece::preemptible(STRETCH, Spent::Background));
            }
        }
    }

    fn kernel_thread(&mut self, now: Time, cpu: usize, number: usize, stage: KernelStage, piece: Piece) {
        self.kernel_threads[number].stage = stage;
        self.machine.run(now, cpu, Level::Thread, piece);
    }

    fn kernel_thread_sleeps(&mut self, now: Time, cpu: usize, number: usize) {
        self.kernel_threads[number].stage = KernelStage::Start;
        self.machine.block(now, cpu);
    }

    fn poll_goes_on(&mut self, now: Time, cpu: usize, number: usize) {
        let stage = self.kernel_threads[number].stage;
        match stage {
            KernelStage::Start => self.poll(now, cpu, number),
            KernelStage::Serving if self.serves_on(now, cpu, number) => {}
            stage => {
                if stage == KernelStage::Looking {
                    self.look_at_vector(number, 0);
                }
                match self.found_by_poll(number) {
                    Some(vector) => self.serve_vector(now, cpu, number, vector),
                    None => {
                        self.host_timers.set(now + self.config.poll_interval, HostTimer::Poll);
                        self.kernel_thread_sleeps(now, cpu, number);
                    }
                }
            }
        }
    }

    /// A poll cycle comes to a vector, of which it serves what it finds now.
    fn look_at_vector(&mut self, number: usize, vector: u32) {
        let controller = self.path.controller();
        let found = if vector < controller.vectors() { controller.events(vector) } else { 0 };
        let thread = &mut self.kernel_threads[number];
        (thread.at, thread.budget) = (vector, found);
    }

    /// The vector whose next completion a poll cycle serves; none when it has been at all of them.
    fn found_by_poll(&mut self, number: usize) -> Option<u32> {
        let vectors = self.path.controller().vectors();
        loop {
            let KernelThread { at, budget, .. } = self.kernel_threads[number];
            if at >= vectors {
                return None;
            }
            // Others may have taken what it had found.
            if budget > 0 && self.path.controller().check_event(at) {
                self.kernel_threads[number].budget -= 1;
                return Some(at);
            }
            self.look_at_vector(number, at + 1);
        }
    }

    fn poll(&mut self, now: Time, cpu: usize, number: usize) {
        self.kernel_thread(now, cpu, number, KernelStage::Looking, Piece::kernel(costs::CHECK, Spent::Poll));
    }

    fn serve_vector(&mut self, now: Time, cpu: usize, number: usize, vector: u32) {
        self.kernel_threads[number].duty = Duty { step: Step::Fetch, vector, ..Duty::default() };
        let piece = self.piece_of(Step::Fetch, Level::Thread);
        self.kernel_thread(now, cpu, number, KernelStage::Serving, piece);
    }

    /// Carries out a step of a completion; true when there is another.
    fn serves_on(&mut self, now: Time, cpu: usize, number: usize) -> bool {
        let mut duty = self.kernel_threads[number].duty;
        let next = self.do_duty(now, cpu, &mut duty);
        self.kernel_threads[number].duty = duty;
        let Some(step) = next else { return false };
        let piece = self.piece_of(step, Level::Thread);
        self.kernel_thread(now, cpu, number, KernelStage::Serving, piece);
        true
    }

    fn interrupt_thread_goes_on(&mut self, now: Time, cpu: usize, number: usize, vector: u32) {
        if self.kernel_threads[number].stage == KernelStage::Serving && self.serves_on(now, cpu, number) {
            return;
        }
        if self.path.controller().check_event(vector) {
            return self.serve_vector(now, cpu, number, vector);
        }
        self.kernel_thread_sleeps(now, cpu, number);
    }

    fn array_thread_goes_on(&mut self, now: Time, cpu: usize, number: usize) {
        let stage = self.kernel_threads[number].stage;
        match stage {
            KernelStage::Start => return self.poll(now, cpu, number),
            KernelStage::Serving if self.serves_on(now, cpu, number) => return,
            KernelStage::Looking => self.array_is_due(now),
            _ => {}
        }
        match self.own_step_of_array(now) {
            Some(step) => {
                self.kernel_threads[number].duty = Duty { step, ..Duty::default() };
                let piece = self.piece_of(step, Level::Thread);
                self.kernel_thread(now, cpu, number, KernelStage::Serving, piece);
            }
            // A call made while it was at work has not woken it.
            None if self.array.as_ref().is_some_and(|array| array.is_called) => self.poll(now, cpu, number),
            None => self.kernel_thread_sleeps(now, cpu, number),
        }
    }

    pub(super) fn wake_queue_run(&mut self, now: Time) {
        let thread = self.queue_run.expect("a strategy with queue runs has their thread");
        self.machine.wake(now, thread);
    }

    /// Issues as long as there is something to issue and a tag for it.
    fn queue_run_goes_on(&mut self, now: Time, cpu: usize, number: usize) {
        if self.kernel_threads[number].stage == KernelStage::Start {
            self.kernel_threads[number].at = 0;
        } else if !self.issue(now, self.kernel_threads[number].at, None) {
            self.kernel_threads[number].at += 1;
        }
        let queues = self.path.controller().queues();
        let from = self.kernel_threads[number].at;
        let waits = |from: u32| (from..queues).find(|&queue| self.path.waiting(queue) > 0);
        let again = || if self.queue_run_again { waits(0) } else { None };
        let Some(queue) = waits(from).or_else(again) else {
            return self.kernel_thread_sleeps(now, cpu, number);
        };
        self.queue_run_again &= queue >= from;
        self.kernel_threads[number].at = queue;
        self.kernel_thread(now, cpu, number, KernelStage::Issuing, Piece::kernel(costs::ISSUE, Spent::Issue));
    }

    fn background_io_goes_on(&mut self, now: Time, cpu: usize, number: usize, thread: ThreadId) {
        match self.kernel_threads[number].stage {
            KernelStage::Start => {
                let work = costs::ENTER + costs::BUILD_DIRECT + costs::ISSUE;
                let piece = Piece::kernel(work, Spent::Background);
                self.kernel_thread(now, cpu, number, KernelStage::Entering, piece);
            }
            KernelStage::Entering => {
                let device = self.config.background_latency;
                let late = Nanos(self.background_stream.below(device.0 / 5 + 1));
                self.host_timers.set(now + (device - device / 10) + late, HostTimer::Background { thread });
                self.kernel_threads[number].stage = KernelStage::Looking;
                self.machine.block(now, cpu);
            }
            KernelStage::Looking => {
                let work = costs::FINISH_DIRECT + costs::RETURN;
                self.kernel_thread(
                    now,
                    cpu,
                    number,
                    KernelStage::Returning,
                    Piece::kernel(work, Spent::Background),
                );
            }
            _ => {
                self.background_done += 1;
                let piece = Piece::preemptible(self.config.application, Spent::Background);
                self.kernel_thread(now, cpu, number, KernelStage::Start, piece);
            }
        }
    }
}
