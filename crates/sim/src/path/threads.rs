//! The threads of the workload: what each does, piece by piece.

use super::SimulatedHost;
use super::duty::Step;
use super::flight::Flight;
use super::worker::Stage;
use crate::cpu::{Level, Piece, Spent, ThreadId, costs};
use tailcut_base::{Completion, Nanos, Op, Time};
use tailcut_host::path::{CoreId, Finisher, LowLevelDriver, QueueId, RequestId, Wait, queue};
use tailcut_ssd::Probe;

impl<P: Probe> SimulatedHost<P> {
    /// A thread of the workload has come to the end of a piece.
    pub(super) fn worker_goes_on(&mut self, now: Time, cpu: usize, id: RequestId) {
        match self.workers[id as usize].stage {
            Stage::Rest if !self.workers[id as usize].has_request => self.sleep(now, cpu, id),
            Stage::Rest => {
                let piece = Piece::preemptible(self.config.application, Spent::Application);
                self.begin(now, cpu, id, Stage::Application, piece);
            }
            Stage::Application => {
                let command = match self.is_buffered(self.workers[id as usize].op) {
                    true => Nanos::ZERO,
                    false => self.build_cost() + costs::ISSUE,
                };
                let piece = Piece::kernel(costs::ENTER + command, Spent::Issue);
                self.begin(now, cpu, id, Stage::Enter, piece);
            }
            Stage::Enter => self.entered(now, cpu, id),
            Stage::Launching => self.launched(now, cpu, id),
            Stage::Check { is_out } => self.checked(now, cpu, id, is_out),
            Stage::Helping { is_out } => self.helped(now, cpu, id, is_out),
            Stage::Wait | Stage::Spin => self.wait(now, cpu, id),
            Stage::FetchOwn => self.fetched_own(now, cpu, id),
            Stage::Finish => {
                let own = self.workers[id as usize].own.expect("it has waited for one");
                self.finish(now, own, Some(id));
                match self.array_step(now) {
                    Some(step) => self.sees_to_array(now, cpu, id, Stage::Helping { is_out: false }, step),
                    None => self.wait(now, cpu, id),
                }
            }
            Stage::Return => self.answer(now, cpu, id),
            Stage::EndRest { vector } => {
                self.rest_ended(now, vector);
                if self.workers[id as usize].is_entered {
                    return self.wait(now, cpu, id);
                }
                self.workers[id as usize].stage = Stage::Rest;
                self.worker_goes_on(now, cpu, id);
            }
        }
    }

    #[inline]
    pub(super) fn begin(&mut self, now: Time, cpu: usize, id: RequestId, stage: Stage, piece: Piece) {
        self.workers[id as usize].stage = stage;
        self.machine.run(now, cpu, Level::Thread, piece);
    }

    /// The command has been built: it is issued if there is a tag.
    fn entered(&mut self, now: Time, cpu: usize, id: RequestId) {
        let delays = self.machine.take_delays(id);
        let worker = &mut self.workers[id as usize];
        worker.account.lap_own(now, delays);
        (worker.is_entered, worker.entered_at) = (true, now);
        (worker.wait, worker.mode) = (self.strategy.wait, self.modes.mode());
        self.machine.pin(id, self.strategy.finisher == Finisher::Waiter);
        if self.array.is_some() {
            return self.enter_array(now, cpu, id);
        }
        self.flights[id as usize].account.restart(now);
        let queue = self.embark(cpu, id);
        self.watches(id, id);
        self.note_awake(id);
        self.depart(now, queue, id);
        self.settle(now, cpu, id);
    }

    /// A thread has handed over what it wants: it looks after others, if it does that, and waits.
    pub(super) fn settle(&mut self, now: Time, cpu: usize, id: ThreadId) {
        if self.strategy.cooperates {
            let piece = Piece::kernel(costs::CHECK, Spent::Poll);
            return self.begin(now, cpu, id, Stage::Check { is_out: false }, piece);
        }
        self.wait(now, cpu, id);
    }

    /// A request is made ready for its drive on this core: the queue that it will join.
    pub(super) fn embark(&mut self, cpu: usize, request: RequestId) -> QueueId {
        let flight = &mut self.flights[request as usize];
        flight.cpu = cpu;
        flight.queue = self.path.controller().queue_for(flight.drive as u32, CoreId::new(cpu as u32));
        flight.is_queued = true;
        flight.finisher = match (self.strategy.finisher, flight.owner) {
            // No thread waits for just this.
            (Finisher::Waiter, None) => Finisher::Fetcher,
            (finisher, _) => finisher,
        };
        flight.queue
    }

    /// A request joins its queue, and is issued if there is a tag.
    pub(super) fn depart(&mut self, now: Time, queue: QueueId, request: RequestId) {
        self.path.enqueue(request, queue);
        self.issue(now, queue, Some(request));
        let owner = self.flights[request as usize].owner;
        if let Some(owner) = owner.filter(|&owner| self.workers[owner as usize].asked) {
            self.has_asked(now, owner);
        }
    }

    /// A thread waits for one request, and decides how.
    pub(super) fn watches(&mut self, thread: ThreadId, request: RequestId) {
        let Flight { command, drive, queue, .. } = self.flights[request as usize];
        let hits_buffer = self.strategy.spins_on_buffer_hits
            && command.op == Op::Write
            && u64::from(command.sectors) * tailcut_base::SECTOR_BYTES <= self.room[drive];
        self.buffer_hits += u64::from(hits_buffer);
        let spins = hits_buffer || self.strategy.wait == Wait::Spin;
        let asks = self.asks(&command, spins);
        let worker = &mut self.workers[thread as usize];
        (worker.own, worker.queue) = (Some(request), queue);
        (worker.asked, worker.looks_itself) = (asks, asks || spins);
    }

    /// A thread has looked whether there is something to be done for others.
    fn checked(&mut self, now: Time, cpu: usize, id: RequestId, is_out: bool) {
        let worker = &mut self.workers[id as usize];
        let vector = self.path.controller().vector_of(worker.queue);
        if !self.path.controller().check_event(vector) {
            return self.helping_done(now, cpu, id, is_out);
        }
        worker.duty.step = Step::Fetch;
        worker.duty.vector = vector;
        let piece = self.piece_of(Step::Fetch, Level::Thread);
        self.begin(now, cpu, id, Stage::Helping { is_out }, piece);
    }

    fn helped(&mut self, now: Time, cpu: usize, id: RequestId, is_out: bool) {
        match self.goes_on_for_others(now, cpu, id) {
            Some(step) => {
                let piece = self.piece_of(step, Level::Thread);
                self.begin(now, cpu, id, Stage::Helping { is_out }, piece);
            }
            None => self.helping_done(now, cpu, id, is_out),
        }
    }

    fn launched(&mut self, now: Time, cpu: usize, id: ThreadId) {
        match self.goes_on_for_others(now, cpu, id) {
            Some(step) => {
                let piece = self.piece_of(step, Level::Thread);
                self.begin(now, cpu, id, Stage::Launching, piece);
            }
            None => self.settle(now, cpu, id),
        }
    }

    /// A step of what a thread does for others has been worked: the next one.
    fn goes_on_for_others(&mut self, now: Time, cpu: usize, id: ThreadId) -> Option<Step> {
        let mut duty = self.workers[id as usize].duty;
        let next = self.do_duty(now, cpu, &mut duty);
        self.workers[id as usize].duty = duty;
        next
    }

    fn helping_done(&mut self, now: Time, cpu: usize, id: RequestId, is_out: bool) {
        if is_out {
            return self.go_back(now, cpu, id);
        }
        self.wait(now, cpu, id);
    }

    /// A thread looks where its request stands, and waits if it must.
    fn wait(&mut self, now: Time, cpu: usize, id: RequestId) {
        let noticed = std::mem::replace(&mut self.workers[id as usize].noticed, Time::NEVER);
        if noticed != Time::NEVER {
            self.window.observe(now.since(noticed), self.machine.waited_its_turn(id));
        }
        let worker = &self.workers[id as usize];
        let own = worker.own.map(|own| &self.flights[own as usize]);
        let waiter = queue::Waiter {
            is_fetched: own.is_some_and(|own| own.is_fetched),
            is_finished: worker.is_answered,
        };
        if !waiter.may_wait(own.map_or(Finisher::Fetcher, |own| own.finisher)) {
            let is_mine =
                |own: &Flight| own.is_fetched && !own.is_finished && own.finisher == Finisher::Waiter;
            if own.is_some_and(is_mine) {
                let piece = Piece::kernel(self.finish_cost(), Spent::Finish);
                return self.begin(now, cpu, id, Stage::Finish, piece);
            }
            if own.is_none_or(|own| own.is_finished) || !self.still_looks(id) {
                return self.leave(now, cpu, id);
            }
            let piece = self.piece_of(Step::Fetch, Level::Thread);
            return self.begin(now, cpu, id, Stage::FetchOwn, piece);
        }
        if !worker.looks_itself || waiter.is_fetched {
            // It will be woken: by its end, or because its end is near.
            return self.sleep(now, cpu, id);
        }
        if own.is_some_and(|own| own.is_visible) {
            let piece = self.piece_of(Step::Fetch, Level::Thread);
            return self.begin(now, cpu, id, Stage::FetchOwn, piece);
        }
        self.begin(now, cpu, id, Stage::Spin, Piece::endless(Spent::Spin));
    }

    /// An array has answered a thread before the command that it waited for has ended; from now on that
    /// command has no waiting thread. True when it has ended by now, and only this thread knows.
    fn still_looks(&mut self, id: ThreadId) -> bool {
        let worker = &mut self.workers[id as usize];
        let own = worker.own.expect("it has one");
        let flight = &mut self.flights[own as usize];
        if worker.looks_itself && flight.is_visible && !flight.is_fetched {
            return true;
        }
        worker.own = None;
        flight.owner = None;
        if flight.finisher == Finisher::Waiter {
            flight.finisher = Finisher::Fetcher;
        }
        false
    }

    fn sleep(&mut self, now: Time, cpu: usize, id: RequestId) {
        if self.ends_rest(now, cpu, id) {
            return;
        }
        if self.workers[id as usize].has_request {
            self.workers[id as usize].stage = Stage::Wait;
        }
        // What delayed it so far belongs to what it did so far.
        self.machine.take_delays(id);
        self.machine.block(now, cpu);
    }

    /// A thread has looked for its own completion.
    fn fetched_own(&mut self, now: Time, cpu: usize, id: RequestId) {
        // Another context may have done that meanwhile.
        let Some(own) = self.workers[id as usize].own else { return self.wait(now, cpu, id) };
        let Some(fetched) = self.path.fetch_own(own) else { return self.wait(now, cpu, id) };
        let delays = self.machine.take_delays(id);
        let flight = &mut self.flights[own as usize];
        flight.account.lap_own(now, delays);
        flight.is_fetched = true;
        let mut work = self.finish_cost();
        if self.path.waiting(fetched.queue) > 0 {
            // The request waiting for the tag is issued at once: no other context will know that it is
            // free.
            work += costs::ISSUE;
            self.issue(now, fetched.queue, None);
        }
        self.begin(now, cpu, id, Stage::Finish, Piece::kernel(work, Spent::Finish));
    }

    /// Its own request is done: a thread may help others on its way out.
    fn leave(&mut self, now: Time, cpu: usize, id: RequestId) {
        if !self.strategy.cooperates {
            return self.go_back(now, cpu, id);
        }
        let piece = Piece::kernel(costs::CHECK, Spent::Poll);
        self.begin(now, cpu, id, Stage::Check { is_out: true }, piece);
    }

    fn go_back(&mut self, now: Time, cpu: usize, id: RequestId) {
        self.begin(now, cpu, id, Stage::Return, Piece::kernel(costs::RETURN, Spent::Finish));
    }

    /// The application has its answer. It continues at this moment, with its next request if it is given
    /// one.
    fn answer(&mut self, now: Time, cpu: usize, id: RequestId) {
        let delays = self.machine.take_delays(id);
        self.machine.pin(id, false);
        let worker = &mut self.workers[id as usize];
        worker.account.lap_own(now, delays);
        (worker.has_request, worker.is_entered) = (false, false);
        let latency = now.since(worker.submitted);
        assert_eq!(worker.account.spans.total(), latency, "the spans of a request add up to its latency");
        self.note_ended(now, id);
        let worker = &self.workers[id as usize];
        self.events.complete(Completion {
            id: worker.name,
            status: worker.status,
            at: now,
            content: worker.content,
            busy_for: worker.busy_for,
            spans: worker.account.spans,
        });
        self.begin(now, cpu, id, Stage::Rest, Piece::preemptible(Nanos::ZERO, Spent::Application));
    }
}
