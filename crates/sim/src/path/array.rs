//! An array between threads and drives: software of the host, in the context of any thread or handler that
//! has work for it.
//!
//! A thread hands its request to the array, whose commands go to the drives by the strategy's path as any
//! others do: they wait for tags, raise interrupts, are fetched and post-processed, and each costs its part
//! of a core. If a request is one command, its thread waits for just that, and watches it as it would watch
//! a drive's. All other commands have no waiting thread: the fetcher post-processes them, and wakes the
//! threads whose requests the array then answers. Timed work of the array, and work that follows from a
//! completion without a reader waiting for it, is done by a thread of its own: a handler that issued all
//! that an epoch writes would keep the readers of its core waiting.
//!
//! What its decisions take of a core is not counted; its further commands are, and with `array_block` so is
//! each block that an array with a log or parity copies before it writes it to a drive. The context that
//! issues the command does that; with `array_thread` it is one thread for all writes.

use super::SimulatedHost;
use super::account::Account;
use super::duty::{Duty, Step};
use super::flight::Flight;
use super::irq;
use super::worker::Stage;
use crate::array::{Admission, Volume};
use crate::cpu::{Level, ThreadId};
use crate::world::Checker;
use std::collections::VecDeque;
use tailcut_base::{Cause, Class, Command, CommandId, Completion, Nanos, Op, Time};
use tailcut_host::BLOCK_SECTORS;
use tailcut_host::array::LayoutKind;
use tailcut_host::path::{CoreId, Finisher, LowLevelDriver, RequestId};
use tailcut_ssd::Probe;

/// The array of a host.
pub(super) struct HostArray {
    pub volume: Volume,
    /// The expected answers, by the order of submission.
    checker: Checker,
    /// The current command of each thread.
    asked: Vec<Command>,
    expected: Vec<u64>,
    /// Commands for drives that were not submitted yet.
    emitted: VecDeque<RequestId>,
    /// Commands for which no reader waits, which are left to the array's thread.
    deferred: VecDeque<RequestId>,
    /// Threads whose writes its own thread is to carry out.
    handed: VecDeque<ThreadId>,
    /// A thread is handing over its own request: all that comes of it is its own work.
    is_entering: bool,
    /// Threads whose requests it has answered, to be woken.
    answered: VecDeque<ThreadId>,
    /// Threads for whose requests it had no room.
    refused: VecDeque<ThreadId>,
    answers: Vec<Completion>,
    /// What it does by the clock.
    pub thread: ThreadId,
    /// That has been called.
    pub is_called: bool,
}

impl HostArray {
    pub(super) fn new(volume: Volume, checker: Checker, threads: u32) -> HostArray {
        HostArray {
            volume,
            checker,
            asked: vec![Flight::none().command; threads as usize],
            expected: vec![0; threads as usize],
            emitted: VecDeque::new(),
            deferred: VecDeque::new(),
            handed: VecDeque::new(),
            is_entering: false,
            answered: VecDeque::new(),
            refused: VecDeque::new(),
            answers: Vec::new(),
            thread: 0,
            is_called: false,
        }
    }

    /// True when it copies what it writes: into the segments of a log, or into stripes with parity.
    fn copies(&self) -> bool {
        let layout = self.volume.array().core().config.layout;
        layout != LayoutKind::Raid0 && !layout.is_mirrored()
    }

    /// The most commands that it has with its drives.
    pub(super) fn commands(&self) -> u32 {
        let core = self.volume.array().core();
        core.config.drive_depth * core.drives.len() as u32
    }

    /// True while the contents that it returns are checked.
    pub(super) fn is_checking(&self) -> bool {
        self.checker.is_on()
    }

    /// True when it is large enough for this command.
    pub(super) fn takes(&self, command: &Command) -> bool {
        let sectors = self.volume.array().disk().blocks * BLOCK_SECTORS;
        let end = command.sector.checked_add(u64::from(command.sectors));
        command.op == Op::Flush || command.sectors > 0 && end.is_some_and(|end| end <= sectors)
    }

    /// A thread will ask for this.
    pub(super) fn note(&mut self, thread: ThreadId, command: &Command) {
        self.asked[thread as usize] = *command;
    }

    fn submit(&mut self, now: Time, thread: ThreadId) -> bool {
        let command = &self.asked[thread as usize];
        match self.volume.submit(now, command) {
            Admission::Accepted => {}
            Admission::Done => self.answers.push(Volume::nothing_to_do(now, command)),
            Admission::Busy => return false,
        }
        self.expected[thread as usize] = self.checker.submitted(command);
        true
    }

    /// Among what it has emitted since there were `before` commands: what a request of this kind consists of,
    /// if that is one.
    fn single(&self, before: usize, op: Op, flights: &[Flight]) -> Option<usize> {
        let mut of_kind = (before..self.emitted.len()).filter(|&at| {
            let request = self.emitted[at];
            op != Op::Read || flights[request as usize].command.op == Op::Read
        });
        of_kind.next().filter(|_| of_kind.next().is_none())
    }
}

impl<P: Probe> SimulatedHost<P> {
    fn below(&mut self) -> &mut HostArray {
        self.array.as_mut().expect("there is an array")
    }

    /// A thread has come with a request for the array, which it hands over; the first command for a drive is
    /// its own work.
    pub(super) fn enter_array(&mut self, now: Time, cpu: usize, id: ThreadId) {
        self.workers[id as usize].queue = self.path.controller().queue_for(0, CoreId::new(cpu as u32));
        let op = self.workers[id as usize].op;
        let is_buffered = self.is_buffered(op);
        if is_buffered && self.config.array_thread {
            self.below().handed.push_back(id);
            return self.has_handed_over(now, cpu, id);
        }
        let before = self.below().emitted.len();
        self.below().is_entering = true;
        self.ask_array(now, id);
        self.below().is_entering = false;
        let array = self.array.as_mut().expect("there is an array");
        let own = array.single(before, op, &self.flights).filter(|_| !is_buffered);
        let first = own.or((!is_buffered && before < array.emitted.len()).then_some(before));
        if let Some(request) = first.and_then(|at| array.emitted.remove(at)) {
            self.flights[request as usize].owner = own.map(|_| id);
            let queue = self.embark(cpu, request);
            if own.is_some() {
                self.watches(id, request);
            }
            self.depart(now, queue, request);
        }
        self.has_handed_over(now, cpu, id);
    }

    /// The array has a thread's request: the thread does what else is to be done, and waits.
    fn has_handed_over(&mut self, now: Time, cpu: usize, id: ThreadId) {
        self.note_awake(id);
        match self.array_step(now) {
            Some(step) => self.sees_to_array(now, cpu, id, Stage::Launching, step),
            None => self.settle(now, cpu, id),
        }
    }

    /// A thread does an array step, and then continues with `stage`.
    pub(super) fn sees_to_array(&mut self, now: Time, cpu: usize, id: ThreadId, stage: Stage, step: Step) {
        let queue = self.workers[id as usize].queue;
        self.workers[id as usize].duty = Duty { step, queue, ..Duty::default() };
        let piece = self.piece_of(step, Level::Thread);
        self.begin(now, cpu, id, stage, piece);
    }

    /// True for requests that the array copies before it writes them, at a cost.
    pub(super) fn is_buffered(&self, op: Op) -> bool {
        let is_counted = op == Op::Write && self.config.array_block > Nanos::ZERO;
        is_counted && self.array.as_ref().is_some_and(HostArray::copies)
    }

    /// What the blocks of the next command to launch take of a core.
    pub(super) fn block_work(&self, is_deferred: bool) -> Nanos {
        let Some(array) = self.array.as_ref().filter(|_| self.config.array_block > Nanos::ZERO) else {
            return Nanos::ZERO;
        };
        let next = if is_deferred { array.deferred.front() } else { array.emitted.front() };
        let Some(Flight { command, .. }) = next.map(|&request| &self.flights[request as usize]) else {
            return Nanos::ZERO;
        };
        match self.is_buffered(command.op) {
            true => self.config.array_block * u64::from(command.sectors).div_ceil(BLOCK_SECTORS),
            false => Nanos::ZERO,
        }
    }

    /// The array's thread carries out a write that was handed over.
    pub(super) fn take_write(&mut self, now: Time) {
        let Some(id) = self.below().handed.pop_front() else { return };
        self.workers[id as usize].account.lap(now, Cause::HostQueue);
        self.ask_array(now, id);
    }

    fn ask_array(&mut self, now: Time, id: ThreadId) {
        let array = self.below();
        if array.refused.is_empty() && array.submit(now, id) {
            self.pump_array(now);
        } else {
            array.refused.push_back(id);
        }
    }

    /// Takes from the array what it has come up with.
    pub(super) fn pump_array(&mut self, now: Time) {
        loop {
            self.take_commands(now);
            let array = self.array.as_mut().expect("there is an array");
            array.volume.take_answers(now, &mut array.answers);
            let mut answers = std::mem::take(&mut array.answers);
            answers.drain(..).for_each(|answer| self.array_answered(now, &answer));
            self.below().answers = answers;
            let has_taken = self.ask_again(now);
            if !self.make_calls(now) && !has_taken {
                return;
            }
        }
    }

    fn take_commands(&mut self, now: Time) {
        let threads = self.workers.len() as u32;
        let array = self.array.as_mut().expect("there is an array");
        while let Some((drive, command)) = array.volume.next_command() {
            let request = threads + command.id.0;
            let command = Command { id: CommandId(request), ..command };
            self.flights[request as usize] = Flight::new(now, command, drive, None);
            let is_awaited = command.op == Op::Read && command.class <= Class::DEFAULT;
            match array.is_entering || is_awaited {
                true => array.emitted.push_back(request),
                false => array.deferred.push_back(request),
            }
        }
    }

    /// There may be room for those that the array has refused. True when it has taken any.
    fn ask_again(&mut self, now: Time) -> bool {
        let array = self.array.as_mut().expect("there is an array");
        let before = array.refused.len();
        while let Some(&id) = array.refused.front() {
            self.workers[id as usize].account.lap(now, Cause::HostQueue);
            if !array.submit(now, id) {
                break;
            }
            array.refused.pop_front();
        }
        array.refused.len() < before
    }

    fn make_calls(&mut self, now: Time) -> bool {
        let array = self.array.as_mut().expect("there is an array");
        let events = &mut self.events;
        let mut called = |drive: usize, ssd: &tailcut_ssd::Ssd<P>| {
            events.set(super::FIRST_DRIVE + drive, tailcut_base::Device::next_event(ssd));
        };
        array.volume.make_calls(now, &mut self.drives, &mut called)
    }

    fn array_answered(&mut self, now: Time, answer: &Completion) {
        let CommandId(id) = answer.id;
        let worker = &mut self.workers[id as usize];
        worker.account.lap_as(now, &answer.spans);
        worker.is_answered = true;
        worker.visible_at = now;
        (worker.status, worker.content) = (answer.status, answer.content);
        let array = self.array.as_mut().expect("there is an array");
        array.checker.completed(worker.op, answer, array.expected[id as usize], u64::from(id));
        array.answered.push_back(id);
    }

    /// A command of the array has been post-processed, by its owner if `by` names one.
    pub(super) fn finish_for_array(&mut self, now: Time, request: RequestId, by: Option<ThreadId>) {
        let threads = self.workers.len() as u32;
        let delays = by.map(|thread| self.machine.take_delays(thread));
        let cause = self.found_by(self.flights[request as usize].finisher);
        let flight = &mut self.flights[request as usize];
        match delays {
            Some(delays) => flight.account.lap_own(now, delays),
            None => flight.account.lap(now, cause),
        }
        let Flight { owner, drive, status, busy_for, visible_at, account: Account { spans, .. }, .. } =
            *flight;
        let id = CommandId(request - threads);
        let completion = Completion { id, status, at: now, content: 0, busy_for, spans };
        if let Some(owner) = owner {
            let worker = &mut self.workers[owner as usize];
            // Its answer is no more a matter of one command.
            (worker.own, worker.looks_itself, worker.asked) = (None, false, false);
        }
        self.below().volume.answered(now, drive, &completion);
        self.pump_array(now);
        if let Some(owner) = owner {
            self.owner_goes_on(now, owner, visible_at);
        }
    }

    /// The command that a thread has waited for has ended: that was its answer, or the array has to do
    /// more.
    fn owner_goes_on(&mut self, now: Time, owner: ThreadId, visible_at: Time) {
        let worker = &mut self.workers[owner as usize];
        if worker.is_answered {
            worker.visible_at = visible_at;
        } else if worker.stage == Stage::Spin {
            self.machine.cut(now, owner);
        }
    }

    /// The next step of a context that works for the array: wake a thread whose request is answered, or
    /// issue a command that the array has created.
    pub(super) fn array_step(&mut self, now: Time) -> Option<Step> {
        self.array.as_ref()?;
        while let Some(&thread) = self.below().answered.front() {
            if self.machine.is_blocked(thread) {
                return Some(Step::WakeAnswered);
            }
            self.below().answered.pop_front();
            if self.workers[thread as usize].stage == Stage::Spin {
                self.machine.cut(now, thread);
            }
        }
        let array = self.array.as_ref()?;
        if !array.emitted.is_empty() {
            return Some(Step::Launch);
        }
        let has_work = !array.deferred.is_empty() || !array.handed.is_empty();
        (has_work && !array.is_called).then_some(Step::CallArray)
    }

    /// The next step of the array's thread.
    pub(super) fn own_step_of_array(&mut self, now: Time) -> Option<Step> {
        let array = self.array.as_ref()?;
        let deferred = (!array.deferred.is_empty()).then_some(Step::LaunchDeferred);
        let handed = (!array.handed.is_empty()).then_some(Step::TakeWrite);
        self.array_step(now).filter(|step| *step != Step::CallArray).or(deferred).or(handed)
    }

    /// Wakes the array's thread for deferred work.
    fn wake_array(&mut self, now: Time) {
        let array = self.below();
        array.is_called = true;
        let thread = array.thread;
        self.machine.wake(now, thread);
    }

    /// Does one of these.
    pub(super) fn do_for_array(&mut self, now: Time, cpu: usize, step: Step) {
        match step {
            Step::WakeAnswered => self.wake_answered(now),
            Step::CallArray => self.wake_array(now),
            _ => self.launch(now, cpu, false),
        }
    }

    /// Wakes a thread whose request the array has answered.
    fn wake_answered(&mut self, now: Time) {
        // Another context may have done it meanwhile.
        let Some(thread) = self.below().answered.pop_front() else { return };
        let cause = self.found_by(self.strategy.finisher);
        let worker = &mut self.workers[thread as usize];
        if worker.is_answered && self.machine.is_blocked(thread) {
            worker.account.lap(now, cause);
        }
        self.machine.wake(now, thread);
        self.note_awake(thread);
    }

    /// Puts a command of the array on its way.
    pub(super) fn launch(&mut self, now: Time, cpu: usize, is_deferred: bool) {
        let array = self.below();
        let from = if is_deferred { &mut array.deferred } else { &mut array.emitted };
        let Some(request) = from.pop_front() else { return };
        self.flights[request as usize].account.lap(now, Cause::HostWork);
        let queue = self.embark(cpu, request);
        self.depart(now, queue, request);
    }

    /// Whose time it is until a completion has been post-processed.
    pub(super) fn found_by(&self, finisher: Finisher) -> Cause {
        match (self.strategy.interrupts, finisher) {
            (false, _) => Cause::Poll,
            (_, Finisher::SoftInterrupt) => Cause::SoftInterrupt,
            _ => Cause::Interrupt,
        }
    }

    /// Something is due in the array: its thread is called.
    pub(super) fn call_array(&mut self, now: Time) {
        let array = self.below();
        array.is_called = true;
        let thread = array.thread;
        let cpu = self.machine.cpu_of(thread);
        self.machine.interrupt(now, cpu, irq::ARRAY);
    }

    /// The array's thread has come to the array.
    pub(super) fn array_is_due(&mut self, now: Time) {
        let array = self.below();
        array.is_called = false;
        array.volume.array_mut().advance(now);
        self.pump_array(now);
    }
}
