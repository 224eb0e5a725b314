//! How a thread uses the drive's prediction about its request.
//!
//! The host knows the prediction of an arriving request when the firmware has looked it up: until then a
//! thread that has *asked* spins. Then it spins on, or gives up its core, depending on the prediction
//! (`tailcut_host::path::Hints`); when it gives it up, the drive's announcement of the end wakes it, or its
//! interrupt.

use super::SimulatedHost;
use super::flight::Flight;
use super::host_timers::HostTimer;
use super::irq;
use super::worker::Stage;
use crate::cpu::ThreadId;
use tailcut_base::{Command, Op, Time};
use tailcut_host::path::{Hints, RequestId, Wait};
use tailcut_ssd::{Prediction, Probe, Service, WaitPrediction};

impl<P: Probe> SimulatedHost<P> {
    /// True when a thread waits for the prediction about its request before it decides how to wait; `spins`
    /// is how it would wait otherwise.
    pub(super) fn asks(&self, command: &Command, spins: bool) -> bool {
        let Hints { hits, room } = self.strategy.hints;
        match command.op {
            Op::Read => hits && !spins && command.sectors < Hints::READS_BELOW,
            Op::Write => room && spins,
            Op::Trim | Op::Flush => false,
        }
    }

    /// The thread of a request has issued it, or has put it behind others: then it waits as if it had not
    /// asked.
    pub(super) fn has_asked(&mut self, now: Time, id: ThreadId) {
        let worker = &mut self.workers[id as usize];
        let flight = &self.flights[worker.own.expect("it has asked of one") as usize];
        worker.asked = !flight.is_queued;
        if !worker.asked {
            worker.looks_itself &= flight.command.op != Op::Read;
            return;
        }
        let (generation, known) = (worker.generation, now + self.drives[flight.drive].time_to_know());
        self.host_timers.set(known, HostTimer::Verdict { worker: id, generation });
    }

    /// A drive's prediction about a request has arrived.
    pub(super) fn receive(&mut self, prediction: Prediction) {
        let Prediction { id, of, known, ends } = prediction;
        // No thread waits for the array's own commands.
        let Some(owner) = self.flights[id.0 as usize].owner else { return };
        let worker = &mut self.workers[owner as usize];
        if worker.asked {
            worker.said = Some(prediction);
        }
        let wants = match of {
            Service::Flash | Service::Ahead => worker.wait == Wait::UntilNotice,
            Service::Memory => !worker.asked && worker.wait == Wait::UntilNotice && self.strategy.hints.hits,
            Service::Room => !worker.asked && self.strategy.hints.room,
            Service::Transfer | Service::Inbound => unreachable!("parts of a request are not announced"),
        };
        if let Some(ends) = ends.filter(|_| wants) {
            self.arm(owner, known, ends);
        }
    }

    /// Schedules the announcement of an end, as long before as the window is but not before `known`;
    /// immediately if that moment has passed.
    fn arm(&mut self, id: ThreadId, known: Time, ends: Time) {
        let generation = self.workers[id as usize].generation;
        let at = self.moment_before(ends).max(known).max(self.now);
        self.host_timers.set(at, HostTimer::Notice { worker: id, generation });
    }

    fn moment_before(&self, ends: Time) -> Time {
        Time(ends.0.saturating_sub(self.window.length().0))
    }

    /// The pending request of a thread whose end it has not seen, if it is still the one of `generation`.
    fn awaited(&self, id: ThreadId, generation: u32) -> Option<&Flight> {
        let worker = &self.workers[id as usize];
        let is_same = worker.generation == generation && worker.has_request;
        let own = worker.own.filter(|_| is_same).map(|own| &self.flights[own as usize]);
        own.filter(|own| !own.is_visible)
    }

    /// The prediction about a request is known.
    pub(super) fn verdict(&mut self, now: Time, id: ThreadId, generation: u32) {
        let Some(op) = self.awaited(id, generation).map(|own| own.command.op) else { return };
        let worker = &mut self.workers[id as usize];
        worker.asked = false;
        let said = worker.said.take();
        let spins_on = match op {
            Op::Read => self.spins_for_read(now, id, said),
            _ => self.spins_for_write(now, id, said),
        };
        let worker = &mut self.workers[id as usize];
        worker.looks_itself = spins_on;
        if !spins_on && worker.stage == Stage::Spin {
            self.machine.cut(now, id);
        }
    }

    fn spins_for_read(&mut self, now: Time, id: ThreadId, said: Option<Prediction>) -> bool {
        let Some(Prediction { of, ends, .. }) = said else { return false };
        let is_near = ends.is_none_or(|ends| self.moment_before(ends) <= now);
        let waits_for_notice = self.workers[id as usize].wait == Wait::UntilNotice;
        if of != Service::Memory {
            return is_near && waits_for_notice;
        }
        self.read_hits += u64::from(is_near);
        if let Some(ends) = ends.filter(|_| !is_near && waits_for_notice) {
            self.arm(id, now, ends);
        }
        is_near
    }

    fn spins_for_write(&mut self, now: Time, id: ThreadId, said: Option<Prediction>) -> bool {
        let Some(Prediction { ends, .. }) = said else { return true };
        let spins_on = match ends {
            Some(ends) => self.moment_before(ends) <= now,
            // Without interrupts the thread would never be woken.
            None => !self.has_others_to_wake_it(),
        };
        self.full_buffers += u64::from(!spins_on);
        if let Some(ends) = ends.filter(|_| !spins_on) {
            self.arm(id, now, ends);
        }
        spins_on
    }

    /// True when a sleeping thread's request is also observed elsewhere: by interrupts or a poll thread.
    fn has_others_to_wake_it(&self) -> bool {
        self.strategy.interrupts || self.strategy.has_poll_thread
    }

    /// It is time to announce the end of a request. A drive that has come to expect that of a write later
    /// does so then, and not at all when it has no idea any more; the interrupt is left.
    pub(super) fn notice_is_due(&mut self, now: Time, id: ThreadId, generation: u32) {
        let Some(flight) = self.awaited(id, generation) else { return };
        if self.workers[id as usize].looks_itself {
            return;
        }
        let (drive, command) = (flight.drive, flight.command);
        if command.op == Op::Write {
            match self.drives[drive].wait_prediction(now, command.id, command.sector) {
                WaitPrediction::Ends(ends) if self.moment_before(ends) > now => {
                    return self.arm(id, now, ends);
                }
                WaitPrediction::Unknown if self.has_others_to_wake_it() => return,
                _ => {}
            }
        }
        self.announce(now, id);
    }

    /// Notifies a thread that the end of its request is near.
    fn announce(&mut self, now: Time, id: ThreadId) {
        let worker = &mut self.workers[id as usize];
        worker.looks_itself = true;
        worker.noticed = now;
        let own = worker.own.expect("it waits for one");
        let vector = self.path.vector_of(own).expect("it is in flight");
        let cpu = self.cpu_of_vector(vector);
        self.notices[cpu].push_back(id);
        self.machine.interrupt(now, cpu, irq::NOTICE);
    }

    /// A request has ended whose thread neither polls nor is woken by another context: its end is its
    /// notice.
    pub(super) fn end_unwatched(&mut self, now: Time, request: RequestId) {
        if !self.has_others_to_wake_it() {
            let owner = self.flights[request as usize].owner.expect("somebody looks for it");
            self.announce(now, owner);
        }
    }
}
