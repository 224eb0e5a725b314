//! The initial set-up of a host: its controller and its threads.

use super::SimulatedHost;
use super::config::{Background, ControllerKind};
use super::kernel::{KernelThread, Role};
use crate::cpu::ThreadId;
use tailcut_base::Time;
use tailcut_base::device::Identify;
use tailcut_host::path::{
    Ahci, AhciPorts, Controller, Finisher, Issuer, LowLevelDriver, Nvme, NvmeDrives, ahci,
};
use tailcut_ssd::Probe;

/// The controller of `drives` drives like this one.
pub(super) fn controller(kind: ControllerKind, drives: u32, drive: &Identify, cpus: u32) -> Controller {
    match kind {
        ControllerKind::Ahci => Controller::Ahci(Ahci::new(AhciPorts {
            count: drives,
            slots: drive.queue_depth.min(ahci::SLOTS),
        })),
        ControllerKind::Nvme => {
            // A drive with fewer entries than there are cores has queue pairs that cores share.
            let pairs = cpus.min(drive.queue_depth);
            Controller::Nvme(Nvme::new(NvmeDrives { count: drives, pairs, depth: drive.queue_depth / pairs }))
        }
    }
}

impl<P: Probe> SimulatedHost<P> {
    /// Makes the threads, and wakes those that begin by themselves.
    pub(super) fn populate(&mut self) {
        if self.config.array_core && self.array.is_some() {
            self.machine.set_aside();
        }
        let nice = self.config.priority as i8 - 20;
        for worker in 0..self.config.threads {
            self.machine.add_thread(nice, worker as usize);
        }
        if self.strategy.issuer == Issuer::QueueRun {
            self.queue_run = Some(self.add_kernel_thread(Role::QueueRun, 0));
        }
        if self.strategy.finisher == Finisher::InterruptThread {
            for vector in 0..self.path.controller().vectors() {
                let thread = self.machine.add_real_time_thread(vector as usize);
                self.kernel_threads.push(KernelThread::new(Role::Interrupt(vector)));
                self.irq_threads.push(thread);
            }
        }
        if self.strategy.has_poll_thread {
            let thread = self.add_kernel_thread(Role::Poll, 0);
            self.poll_thread = Some(thread);
            self.machine.wake(Time::ZERO, thread);
        }
        if let Some(array) = &mut self.array {
            self.kernel_threads.push(KernelThread::new(Role::Array));
            array.thread = self.machine.add_thread(self.config.array_priority as i8 - 20, 0);
            if self.config.array_core {
                self.machine.keep(array.thread, self.config.cores as usize - 1);
            }
        }
        if !self.strategy.interrupts {
            for vector in 0..self.path.controller().vectors() {
                self.path.controller_mut().mask(vector, true);
            }
        }
        let role = match self.config.background {
            Background::None => return,
            Background::Io => Role::BackgroundIo,
            Background::Cpu => Role::BackgroundCpu,
        };
        for number in 0..self.config.background_threads {
            let thread = self.add_kernel_thread(role, number as usize);
            self.machine.set_competitor(thread);
            self.machine.wake(Time::ZERO, thread);
        }
    }

    fn add_kernel_thread(&mut self, role: Role, cpu: usize) -> ThreadId {
        self.kernel_threads.push(KernelThread::new(role));
        self.machine.add_thread(0, cpu)
    }
}
