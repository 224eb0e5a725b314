//! Hardware and software interrupts of a core.

use super::super::account::Spent;
use super::super::costs;
use super::super::piece::Level;
use super::Machine;
use tailcut_base::{Nanos, Time};

impl Machine {
    /// Interrupts a core: `irq` is [`FIRST_IRQ`](super::FIRST_IRQ) … 63. An interrupt that is pending already
    /// stays one.
    pub fn interrupt(&mut self, now: Time, cpu: usize, irq: u32) {
        self.cpus[cpu].pending |= 1 << irq;
        if !self.cpus[cpu].is_active(Level::Hard) {
            self.begin_hard(now, cpu);
        }
    }

    fn begin_hard(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        let exit = if self.cpus[cpu].is_busy { Nanos::ZERO } else { costs::IDLE_EXIT };
        let c = &mut self.cpus[cpu];
        c.irq = c.pending.trailing_zeros();
        c.pending &= !(1 << c.irq);
        c.begin(Level::Hard, costs::HARD_ENTRY + exit, Spent::Interrupt);
        self.plan(now, cpu);
    }

    /// The handler of a hardware interrupt has ended.
    pub fn leave_hard(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        if self.cpus[cpu].pending != 0 {
            return self.begin_hard(now, cpu);
        }
        self.cpus[cpu].end(Level::Hard);
        self.uncover(now, cpu);
    }

    /// Has a core serve its software interrupt as soon as no hardware interrupt is in the way.
    pub fn raise_soft(&mut self, now: Time, cpu: usize) {
        self.cpus[cpu].is_soft_pending = true;
        let c = &self.cpus[cpu];
        if !c.is_active(Level::Hard) && !c.is_active(Level::Soft) {
            self.begin_soft(now, cpu);
        }
    }

    fn begin_soft(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        let c = &mut self.cpus[cpu];
        c.is_soft_pending = false;
        c.begin(Level::Soft, costs::SOFT_ENTRY, Spent::SoftInterrupt);
        self.plan(now, cpu);
    }

    /// The software interrupt of a core has nothing more to do.
    pub fn leave_soft(&mut self, now: Time, cpu: usize) {
        self.settle(now, cpu);
        if self.cpus[cpu].is_soft_pending {
            return self.begin_soft(now, cpu);
        }
        self.cpus[cpu].end(Level::Soft);
        self.uncover(now, cpu);
    }

    /// Resumes the interrupted level.
    fn uncover(&mut self, now: Time, cpu: usize) {
        let c = &self.cpus[cpu];
        if c.is_soft_pending && !c.is_active(Level::Soft) {
            return self.begin_soft(now, cpu);
        }
        match self.top(cpu) {
            None => self.pick(now, cpu),
            Some(_) => self.resume(now, cpu),
        }
    }
}
