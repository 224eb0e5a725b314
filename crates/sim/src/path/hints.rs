//! What a thread makes of what its drive says of a request.
//!
//! What a drive says as a request comes, the host knows when the firmware has looked: until then a thread that has *asked*
//! spins. Then it spins on, or gives up its core, by what it has been told (`tailcut_host::path::Hints`); when it gives
//! it up, the drive's announcement of the end wakes it, or its interrupt.

use super::SimulatedHost;
use super::alarms::Alarm;
use super::irq;
use super::worker::{Stage, Worker};
use tailcut_base::{Op, Time};
use tailcut_host::path::{Hints, RequestId, Wait};
use tailcut_ssd::{Outlook, Prediction, Probe, Service};

impl<P: Probe> SimulatedHost<P> {
    /// True when the thread of a request waits for what its drive says of it, before it decides how to wait.
    pub(super) fn asks(&self, worker: &Worker) -> bool {
        let Hints { hits, room } = self.strategy.hints;
        match worker.command.op {
            Op::Read => hits && !worker.looks_itself && worker.command.sectors < Hints::READS_BELOW,
            Op::Write => room && worker.looks_itself,
            Op::Trim | Op::Flush => false,
        }
    }

    /// The thread of a request has issued it, or has put it behind others: then it waits as if it had not asked.
    pub(super) fn has_asked(&mut self, now: Time, id: RequestId) {
        let worker = &mut self.workers[id as usize];
        worker.asked = !worker.is_queued;
        if !worker.asked {
            worker.looks_itself &= worker.command.op != Op::Read;
            return;
        }
        let (generation, known) = (worker.generation, now + self.drives[worker.drive].time_to_know());
        self.alarms.set(known, Alarm::Verdict { worker: id, generation });
    }

    /// A drive has something to say of a request.
    pub(super) fn hear(&mut self, prediction: Prediction) {
        let Prediction { id, of, known, ends } = prediction;
        let worker = &mut self.workers[id.0 as usize];
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
            self.arm(id.0, known, ends);
        }
    }

    /// Has an end announced, as long before as the window says but not before `known`; one whose moment has passed, at once.
    fn arm(&mut self, request: RequestId, known: Time, ends: Time) {
        let generation = self.workers[request as usize].generation;
        let at = self.moment_before(ends).max(known).max(self.now);
        self.alarms.set(at, Alarm::Notice { worker: request, generation });
    }

    fn moment_before(&self, ends: Time) -> Time {
        Time(ends.0.saturating_sub(self.window.length().0))
    }

    /// What the drive had to say of a request is known.
    pub(super) fn verdict(&mut self, now: Time, id: RequestId, generation: u32) {
        let worker = &mut self.workers[id as usize];
        if worker.generation != generation || !worker.has_request || worker.is_visible {
            return;
        }
        worker.asked = false;
        let said = worker.said.take();
        let spins_on = match worker.command.op {
            Op::Read => self.spins_for_read(now, id, said),
            _ => self.spins_for_write(now, id, said),
        };
        let worker = &mut self.workers[id as usize];
        worker.looks_itself = spins_on;
        if !spins_on && worker.stage == Stage::Spin {
            self.machine.cut(now, id);
        }
    }

    fn spins_for_read(&mut self, now: Time, id: RequestId, said: Option<Prediction>) -> bool {
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

    fn spins_for_write(&mut self, now: Time, id: RequestId, said: Option<Prediction>) -> bool {
        let Some(Prediction { ends, .. }) = said else { return true };
        let spins_on = match ends {
            Some(ends) => self.moment_before(ends) <= now,
            // Without interrupts nobody would wake it.
            None => !self.has_others_to_wake_it(),
        };
        self.full_buffers += u64::from(!spins_on);
        if let Some(ends) = ends.filter(|_| !spins_on) {
            self.arm(id, now, ends);
        }
        spins_on
    }

    /// True when somebody else looks for the end of a request whose thread does not.
    fn has_others_to_wake_it(&self) -> bool {
        self.strategy.interrupts || self.strategy.has_poll_thread
    }

    /// It is time to announce the end of a request. A drive that has come to expect that of a write later does so then, and
    /// not at all when it has no idea any more; the interrupt is left.
    pub(super) fn notice_is_due(&mut self, now: Time, id: RequestId, generation: u32) {
        let worker = &self.workers[id as usize];
        let is_late = worker.generation != generation || !worker.has_request || worker.is_visible;
        if is_late || worker.looks_itself {
            return;
        }
        if worker.command.op == Op::Write {
            let (drive, sector, command) = (worker.drive, worker.command.sector, worker.command.id);
            match self.drives[drive].outlook(now, command, sector) {
                Outlook::Ends(ends) if self.moment_before(ends) > now => return self.arm(id, now, ends),
                Outlook::Unknown if self.has_others_to_wake_it() => return,
                _ => {}
            }
        }
        self.announce(now, id);
    }

    /// The thread of a request is told that its end is near.
    pub(super) fn announce(&mut self, now: Time, id: RequestId) {
        let worker = &mut self.workers[id as usize];
        worker.looks_itself = true;
        worker.noticed = now;
        let vector = self.path.vector_of(id).expect("it is in flight");
        let cpu = self.cpu_of_vector(vector);
        self.notices[cpu].push_back(id);
        self.machine.interrupt(now, cpu, irq::NOTICE);
    }

    /// A request has ended whose thread neither looks nor will be woken by anybody else: its end is its notice.
    pub(super) fn end_unwatched(&mut self, now: Time, id: RequestId) {
        if !self.has_others_to_wake_it() {
            self.announce(now, id);
        }
    }
}
