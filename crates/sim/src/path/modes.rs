//! A strategy that moves: its mode in force, and interrupts that rest while threads are awake to look for
//! completions.

use super::SimulatedHost;
use super::host_timers::HostTimer;
use super::irq;
use super::worker::Stage;
use crate::cpu::{Piece, Spent, costs};
use tailcut_base::{Nanos, Op, Time};
use tailcut_host::path::{Hybrid, LowLevelDriver, Mode, ReadTiming, RequestId, Strategy, Used, Vector};
use tailcut_ssd::Probe;

/// When a handler looks even though its interrupt rests: cooperating threads keep up with completions "even
/// if the poll interval increased up to 128us" (Shin 2017, section 3.4).
const BACKSTOP: Nanos = Nanos::micros(128);

/// The choice of modes, and which threads are awake.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    hybrid: Option<Hybrid>,
    /// Threads of the path that are awake, by the vector that they look at.
    awake: Vec<u32>,
    is_resting: Vec<bool>,
    has_backstop: Vec<bool>,
}

impl Modes {
    pub(super) fn new(strategy: &Strategy, vectors: u32) -> Modes {
        let vectors = vectors as usize;
        Modes {
            hybrid: strategy.adapts.then(Hybrid::default),
            awake: vec![0; vectors],
            is_resting: vec![false; vectors],
            has_backstop: vec![false; vectors],
        }
    }

    /// The mode in force, if there is such a thing.
    pub(super) fn mode(&self) -> Option<Mode> {
        self.hybrid.as_ref().map(Hybrid::mode)
    }

    /// How often it has changed.
    pub(super) fn changes(&self) -> u64 {
        self.hybrid.as_ref().map_or(0, Hybrid::changes)
    }
}

impl<P: Probe> SimulatedHost<P> {
    pub(super) fn begin_modes(&mut self) {
        if self.modes.hybrid.is_none() {
            return;
        }
        self.host_timers.set(Time::ZERO + Hybrid::TICK, HostTimer::Mode);
        for id in 0..self.config.threads {
            self.workers[id as usize].owed = self.machine.owes(Time::ZERO, id);
        }
    }

    /// The strategy looks whether another mode fits better. Requests that have begun stay in theirs.
    pub(super) fn look_at_mode(&mut self, now: Time) {
        let core = self.machine.at_work(now);
        let owed = (0..self.config.threads).map(|thread| self.machine.owes(now, thread)).sum();
        let Some(hybrid) = &mut self.modes.hybrid else { return };
        if hybrid.tick(now, Used { core, owed }) {
            self.strategy = self.strategy.in_mode(hybrid.mode());
        }
        self.host_timers.set(now + Hybrid::TICK, HostTimer::Mode);
    }

    /// A thread has been given a request.
    #[inline]
    pub(super) fn note_began(&mut self, now: Time) {
        if let Some(hybrid) = &mut self.modes.hybrid {
            hybrid.began(now);
        }
    }

    /// A request is over.
    #[inline]
    pub(super) fn note_ended(&mut self, now: Time, id: RequestId) {
        let Some(hybrid) = &mut self.modes.hybrid else { return };
        hybrid.ended(now);
        let worker = &mut self.workers[id as usize];
        let owed = self.machine.owes(now, id);
        let before = std::mem::replace(&mut worker.owed, owed);
        let Some(mode) = worker.mode.filter(|_| worker.op == Op::Read) else { return };
        let took = ReadTiming {
            latency: now.since(worker.submitted),
            wait: worker.visible_at.since(worker.entered_at),
            owed: owed.0 as i64 - before.0 as i64,
        };
        hybrid.observe(mode, took);
    }

    /// A thread of the workload is awake from now on, and looks at the vector of its queue when it comes by.
    pub(super) fn note_awake(&mut self, id: RequestId) {
        let vector = self.path.controller().vector_of(self.workers[id as usize].queue);
        let before = self.workers[id as usize].awake_at.replace(vector);
        if before != Some(vector) {
            self.modes.awake[vector as usize] += 1;
            if let Some(before) = before {
                self.modes.awake[before as usize] -= 1;
            }
        }
    }

    fn note_asleep(&mut self, id: RequestId) {
        if let Some(vector) = self.workers[id as usize].awake_at.take() {
            self.modes.awake[vector as usize] -= 1;
        }
    }

    /// A handler has ended: its interrupt is masked if an awake thread will poll. True if so.
    pub(super) fn rest_interrupt(&mut self, now: Time, vector: Vector) -> bool {
        let v = vector as usize;
        if !self.strategy.rests_interrupts && !self.modes.is_resting[v] {
            return false;
        }
        let rests = self.strategy.rests_interrupts && self.modes.awake[v] > 0;
        self.modes.is_resting[v] = rests;
        if self.path.controller_mut().mask(vector, rests) {
            self.machine.interrupt(now, self.cpu_of_vector(vector), irq::DEVICE + vector);
        }
        if rests && !self.modes.has_backstop[v] {
            self.modes.has_backstop[v] = true;
            self.host_timers.set(now + BACKSTOP, HostTimer::Backstop { vector });
        }
        rests
    }

    /// A handler looks though its interrupt rests.
    pub(super) fn back_up(&mut self, now: Time, vector: Vector) {
        let v = vector as usize;
        self.modes.has_backstop[v] = false;
        if self.modes.is_resting[v] {
            self.machine.interrupt(now, self.cpu_of_vector(vector), irq::DEVICE + vector);
        }
    }

    /// A thread is about to sleep and no other is awake to poll its vector: it unmasks the interrupt, which
    /// costs the write of a register, and polls once more. True when it does so.
    pub(super) fn ends_rest(&mut self, now: Time, cpu: usize, id: RequestId) -> bool {
        let Some(vector) = self.workers[id as usize].awake_at else { return false };
        let v = vector as usize;
        if self.modes.awake[v] > 1 || !self.modes.is_resting[v] {
            self.note_asleep(id);
            return false;
        }
        self.modes.is_resting[v] = false;
        self.begin(now, cpu, id, Stage::EndRest { vector }, Piece::kernel(costs::ISSUE, Spent::Poll));
        true
    }

    /// The interrupt of a vector is on again; what waits raises it at once.
    pub(super) fn rest_ended(&mut self, now: Time, vector: Vector) {
        if !self.modes.is_resting[vector as usize] && self.path.controller_mut().mask(vector, false) {
            self.machine.interrupt(now, self.cpu_of_vector(vector), irq::DEVICE + vector);
        }
    }
}
