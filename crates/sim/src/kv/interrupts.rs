//! From a network card to a thread: hardware interrupts, and the software interrupts that process
//! received messages.

use super::SimulatedServer;
use super::costs;
use super::host_timers::HostTimer;
use super::worker::WorkerId;
use crate::cpu::costs as cores;
use crate::cpu::{FIRST_IRQ, Level, Piece, Spent};
use crate::storage::Storage;
use std::collections::VecDeque;
use tailcut_base::{Cause, Nanos, Time};

/// The network card of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    /// Clients whose commands are in memory and were not looked at yet.
    arrived: VecDeque<u32>,
    /// When it interrupted last.
    last: Option<Time>,
    notice: Notice,
    /// The core that it interrupts.
    cpu: usize,
}

/// Whether the server knows that something has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Notice {
    /// Nothing has come.
    #[default]
    None,
    /// It is too early for another interrupt.
    Later,
    /// The card has interrupted; until all that has come is served, it does not again.
    Given,
}

/// The software interrupt of a core.
#[derive(Clone, Debug, Default)]
pub(super) struct Soft {
    doing: Option<InterruptWork>,
    /// Requests that the disk has ended.
    ended: VecDeque<u32>,
    /// The hardware interrupt has read the controller's status.
    is_acknowledged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterruptWork {
    /// A client's message goes through the network stack.
    Packets(u32),
    /// A request of the disk is ended.
    Ending(u32),
    /// A thread is woken.
    Waking(WorkerId),
}

impl<S: Storage> SimulatedServer<S> {
    /// Interrupts go round over the cores that no thread needs, or else over the siblings of the threads'.
    pub(super) fn place_interrupts(&mut self) {
        let (cpus, cores) = (self.machine.cpus(), self.config.cores as usize);
        let threads = self.workers.len();
        let mut others: Vec<usize> = (threads..cpus).filter(|cpu| cpu % cores >= threads).collect();
        if others.is_empty() {
            others = (threads..cpus).collect();
        }
        if others.is_empty() {
            others.push(cpus - 1);
        }
        for (number, port) in self.ports.iter_mut().enumerate() {
            port.cpu = others[number % others.len()];
        }
        self.disk_cpu = others[self.ports.len() % others.len()];
    }

    /// A command is in memory.
    pub(super) fn arrives(&mut self, now: Time, client: u32) {
        let link = self.link_of(client);
        let port = &mut self.ports[link];
        port.arrived.push_back(client);
        if port.notice != Notice::None {
            return;
        }
        let due = port.last.map_or(now, |last| now.max(last + self.config.moderation));
        if due > now {
            port.notice = Notice::Later;
            return self.host_timers.set(due, HostTimer::Interrupt(link as u32));
        }
        self.card_interrupts(now, link as u32);
    }

    pub(super) fn card_interrupts(&mut self, now: Time, link: u32) {
        let port = &mut self.ports[link as usize];
        (port.last, port.notice) = (Some(now), Notice::Given);
        self.machine.interrupt(now, port.cpu, FIRST_IRQ + link);
    }

    /// The disk has ended requests.
    pub(super) fn disk_interrupts(&mut self, now: Time) {
        self.machine.interrupt(now, self.disk_cpu, FIRST_IRQ + self.config.links);
    }

    /// Of a request that the disk has ended.
    pub(super) fn note_ended(&mut self, request: u32) {
        self.soft[self.disk_cpu].ended.push_back(request);
    }

    /// A hardware interrupt has come to the end of a piece.
    pub(super) fn handler_goes_on(&mut self, now: Time, cpu: usize, irq: u32) {
        let is_of_disk = irq == FIRST_IRQ + self.config.links;
        let soft = &mut self.soft[cpu];
        if is_of_disk && !soft.is_acknowledged && self.path.acknowledges() {
            soft.is_acknowledged = true;
            let piece = Piece::kernel(cores::ACKNOWLEDGE, Spent::Interrupt);
            return self.machine.run(now, cpu, Level::Hard, piece);
        }
        soft.is_acknowledged &= !is_of_disk;
        self.machine.raise_soft(now, cpu);
        self.machine.leave_hard(now, cpu);
    }

    /// A software interrupt has come to the end of a piece.
    pub(super) fn soft_goes_on(&mut self, now: Time, cpu: usize) {
        match self.soft[cpu].doing.take() {
            None => {}
            Some(InterruptWork::Packets(client)) => {
                self.connections[client as usize].lap(now, Cause::SoftInterrupt);
                let worker = self.worker_of(client);
                self.workers[worker].readable.push_back(client);
                if self.wakes(now, cpu, worker) {
                    return;
                }
            }
            Some(InterruptWork::Ending(request)) => {
                let trace = self.traces.of(request);
                trace.finished = now;
                let worker = trace.worker();
                self.workers[worker].answered.push_back(request);
                if self.wakes(now, cpu, worker) {
                    return;
                }
            }
            Some(InterruptWork::Waking(worker)) => self.wake(now, worker),
        }
        self.serve_next(now, cpu);
    }

    /// True if a thread sleeps, and is being woken.
    fn wakes(&mut self, now: Time, cpu: usize, worker: WorkerId) -> bool {
        let is_asleep = self.machine.is_blocked(self.workers[worker].thread);
        if is_asleep {
            self.soft_does(now, cpu, InterruptWork::Waking(worker), cores::WAKE);
        }
        is_asleep
    }

    fn soft_does(&mut self, now: Time, cpu: usize, doing: InterruptWork, work: Nanos) {
        self.soft[cpu].doing = Some(doing);
        self.machine.run(now, cpu, Level::Soft, Piece::kernel(work, Spent::SoftInterrupt));
    }

    /// The next that has come to this core.
    fn serve_next(&mut self, now: Time, cpu: usize) {
        if let Some(request) = self.soft[cpu].ended.pop_front() {
            self.traces.of(request).fetched = now;
            return self.soft_does(now, cpu, InterruptWork::Ending(request), self.path.end());
        }
        for link in 0..self.ports.len() {
            let port = &mut self.ports[link];
            if port.cpu != cpu || port.notice != Notice::Given {
                continue;
            }
            if let Some(client) = port.arrived.pop_front() {
                let connection = &mut self.connections[client as usize];
                connection.lap(now, Cause::Interrupt);
                let work = costs::PACKET * costs::packets(connection.sent.len() as u64);
                return self.soft_does(now, cpu, InterruptWork::Packets(client), work);
            }
            port.notice = Notice::None;
        }
        self.machine.leave_soft(now, cpu);
    }
}
