//! Which thread has a core: the rules of Linux's completely fair scheduler, as of 3.2
//! (`kernel/sched_fair.c`).

use super::debt::HEAD_START;
use super::{ALONE, Machine, Prelude, RESCHEDULE, State};
use crate::cpu::account::Spent;
use crate::cpu::costs;
use crate::cpu::piece::{Level, Piece};
use crate::cpu::runqueue::{RunQueue, ThreadId, virtual_runtime};
use tailcut_base::{Nanos, Time};

impl Machine {
    /// The thread of a core, which has come to the end of a piece, sleeps until [`Machine::wake`].
    ///
    /// # Panics
    /// If no thread runs on the core, or its piece has not ended.
    pub fn block(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        let c = &mut self.cpus[cpu];
        assert!(c.levels[0].waits, "a thread blocks at the end of a piece");
        let thread = c.current.take().expect("it runs");
        c.end(Level::Thread);
        let t = &mut self.threads[thread as usize];
        t.state = State::Blocked;
        t.saved = Piece::NONE;
        if self.top(cpu).is_none() {
            self.pick(now, cpu);
        }
    }

    /// Makes a thread ready; false when it was not asleep.
    pub fn wake(&mut self, now: Time, thread: ThreadId) -> bool {
        if !self.is_blocked(thread) {
            return false;
        }
        let cpu = self.place_of(thread);
        self.settle(now, cpu);
        self.bring(thread, cpu);
        let t = &mut self.threads[thread as usize];
        let least = self.cpus[cpu].queue.least();
        t.runtime = t.runtime.max(least.saturating_sub(HEAD_START.0));
        t.state = State::Ready;
        t.ready_since = now;
        let (runtime, claim, is_real_time) = (t.key(), t.claim(), t.is_real_time);
        self.cpus[cpu].queue.push(thread, runtime, claim);
        self.threads[thread as usize].waits_its_turn = false;
        match self.cpus[cpu].current {
            None if self.top(cpu).is_none() => self.pick(now, cpu),
            None => {}
            Some(running) => {
                let running = &self.threads[running as usize];
                let margin = virtual_runtime(costs::WAKEUP_GRANULARITY, claim.weight);
                let is_ahead = running.runtime > runtime + margin && !running.is_real_time;
                let makes_way = is_ahead || is_real_time && !running.is_real_time;
                self.threads[thread as usize].waits_its_turn = !makes_way;
                if makes_way {
                    self.preempt(now, cpu);
                } else if self.top(cpu) == Some(Level::Thread) {
                    self.plan(now, cpu);
                }
            }
        }
        true
    }

    /// True when another thread ran where this one was woken last, and did not make way: it had had no more
    /// than this one.
    pub fn waited_its_turn(&self, thread: ThreadId) -> bool {
        self.threads[thread as usize].waits_its_turn
    }

    /// The thread of a core must make way. One that runs on another core than its waker is notified by an
    /// interrupt.
    fn preempt(&mut self, now: Time, cpu: usize) {
        self.cpus[cpu].should_switch = true;
        if self.top(cpu) == Some(Level::Thread) && self.may_switch(cpu) {
            self.interrupt(now, cpu, RESCHEDULE);
        }
    }

    /// Where a woken thread goes: where it was, if that is idle or it is pinned; else to an idle core, one
    /// with an idle sibling first; else where it was. A core without a thread is idle, whatever interrupts it
    /// (`idle_cpu`).
    fn place_of(&self, thread: ThreadId) -> usize {
        let t = &self.threads[thread as usize];
        let is_idle = |cpu: usize| self.cpus[cpu].current.is_none() && self.cpus[cpu].queue.is_empty();
        if t.is_pinned || is_idle(t.cpu) {
            return t.cpu;
        }
        let all = (0..self.cpus.len()).filter(|&cpu| self.is_open(cpu));
        let whole = all.clone().find(|&cpu| is_idle(cpu) && self.sibling(cpu).is_none_or(is_idle));
        whole.or_else(|| all.clone().find(|&cpu| is_idle(cpu))).unwrap_or(t.cpu)
    }

    /// A thread comes to a core: its virtual runtime is counted from the "now" of that core.
    fn bring(&mut self, thread: ThreadId, cpu: usize) {
        let t = &mut self.threads[thread as usize];
        if t.cpu != cpu {
            t.debt.repay(self.cpus[t.cpu].competed);
            t.debt.move_to(self.cpus[cpu].competed);
            let (from, to) = (self.cpus[t.cpu].queue.least(), self.cpus[cpu].queue.least());
            t.runtime = (t.runtime + to).saturating_sub(from);
            t.cpu = cpu;
        }
    }

    /// Ends the piece of a thread: what it waited for without giving up its core has happened.
    pub fn cut(&mut self, now: Time, thread: ThreadId) {
        let cpu = self.threads[thread as usize].cpu;
        let runs = self.cpus[cpu].current == Some(thread) && self.cpus[cpu].prelude == Prelude::None;
        if !runs {
            self.threads[thread as usize].saved.work = Nanos::ZERO;
            return;
        }
        self.settle(now, cpu);
        self.cpus[cpu].levels[0].left = 0;
        if self.top(cpu) == Some(Level::Thread) {
            self.plan(now, cpu);
        }
    }

    /// An idle core takes the next thread: of its own, or one that waits elsewhere.
    pub(super) fn pick(&mut self, now: Time, cpu: usize) {
        let Some(thread) = self.next_thread(cpu) else {
            self.timers.clear(cpu);
            return self.note_busy(now, cpu);
        };
        let exit = if self.cpus[cpu].is_busy { Nanos::ZERO } else { costs::IDLE_EXIT };
        self.begin_thread(now, cpu, thread, exit);
    }

    fn next_thread(&mut self, cpu: usize) -> Option<ThreadId> {
        let threads = &self.threads;
        let claim = |thread: ThreadId| threads[thread as usize].claim();
        if let Some(thread) = self.cpus[cpu].queue.pop(claim) {
            return Some(thread);
        }
        if !self.is_open(cpu) {
            return None;
        }
        let can_leave = |queue: &RunQueue| queue.first().is_some_and(|(_, t)| !threads[t as usize].is_pinned);
        let longest = (0..self.cpus.len())
            .filter(|&other| can_leave(&self.cpus[other].queue))
            .max_by_key(|&other| (self.cpus[other].queue.len(), std::cmp::Reverse(other)))?;
        let thread = self.cpus[longest].queue.pop(claim)?;
        self.bring(thread, cpu);
        Some(thread)
    }

    fn begin_thread(&mut self, now: Time, cpu: usize, thread: ThreadId, exit: Nanos) {
        self.switches += 1;
        let t = &mut self.threads[thread as usize];
        t.state = State::Running;
        t.cpu = cpu;
        t.debt.repay(self.cpus[cpu].competed);
        let c = &mut self.cpus[cpu];
        c.current = Some(thread);
        c.prelude = Prelude::Switch;
        c.ran = Nanos::ZERO;
        c.should_switch = false;
        c.begin(Level::Thread, costs::SWITCH + exit, Spent::Switch);
        self.plan(now, cpu);
    }

    /// The thread of a core makes way for the next, if there is a better one.
    pub(super) fn switch(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        let c = &mut self.cpus[cpu];
        let thread = c.current.expect("a thread runs");
        let t = &mut self.threads[thread as usize];
        let frame = &c.levels[0];
        t.saved =
            Piece { work: Nanos(frame.left.div_ceil(ALONE)), on: frame.on, preemptible: frame.preemptible };
        t.state = State::Ready;
        t.ready_since = now;
        c.queue.push(thread, t.key(), t.claim());
        let threads = &self.threads;
        let next = c.queue.pop(|t| threads[t as usize].claim()).expect("there is at least that thread");
        if next == thread {
            self.threads[thread as usize].state = State::Running;
            (c.ran, c.should_switch) = (Nanos::ZERO, false);
            return self.plan(now, cpu);
        }
        self.begin_thread(now, cpu, next, Nanos::ZERO);
    }

    /// True when the thread of a core, on top of it, may make way now.
    #[inline]
    pub(super) fn may_switch(&self, cpu: usize) -> bool {
        let c = &self.cpus[cpu];
        c.prelude == Prelude::None && c.levels[0].preemptible && !c.levels[0].waits
    }

    /// The time slice of the thread that runs.
    pub(super) fn slice(&self, cpu: usize) -> Nanos {
        let c = &self.cpus[cpu];
        let Some(thread) = c.current else { return Nanos::ZERO };
        let count = c.queue.len() as u64 + 1;
        let weight = self.threads[thread as usize].weight;
        let period = Nanos(costs::SCHED_LATENCY.0.max(costs::MIN_GRANULARITY.0 * count));
        let share = period.0 as u128 * u128::from(weight) / u128::from(weight + c.queue.weight());
        Nanos((share as u64).max(costs::MIN_GRANULARITY.0))
    }
}
