//! Drive tests on any drive: what a [`Procedure`] wants is done on a [`Bench`], by whichever time that keeps.

#[cfg(test)]
mod tests;

use crate::drive::Drive;
use crate::probe::bench::{Bench, Bound, Failed, Load};
use crate::probe::{Pace, Watch};
use tailcut_base::Nanos;
use tailcut_host::BLOCK_BYTES;
use tailcut_host::pts::{Figures, Form, Outcome, Procedure, Step, Stretch};

/// How a drive is brought into the state as if nothing had ever been written.
pub enum Purge<D> {
    /// All of it is trimmed: what a file or block device has.
    Trim,
    /// An erased one like it takes its place: what formatting does to a simulated drive.
    Anew(Box<dyn FnMut() -> D>),
}

/// A drive, and who tests it.
pub struct Tester<'a, D, P> {
    bench: Bench<'a, D, P>,
    purge: Purge<D>,
    /// All blocks, and those that tests use.
    blocks: u64,
    active: u64,
    /// Share of the drive that the last purge trimmed.
    purged: Option<f64>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was carried out.
    Complete,
    /// Somebody stopped it.
    Stopped,
    /// A request failed.
    Failed(Failed),
}

impl<'a, D: Drive, P: Pace> Tester<'a, D, P> {
    /// Of the first `range` bytes of a drive (of all, if it is smaller), of which the form uses a part.
    pub fn new(
        drive: D,
        pace: P,
        form: Form,
        range: u64,
        purge: Purge<D>,
        seed: u64,
        watch: &'a dyn Watch,
    ) -> Tester<'a, D, P> {
        let disk = drive.disk();
        let blocks = disk.blocks;
        let mut bench = Bench::new(drive, pace, seed, watch);
        let range = blocks.min(range / BLOCK_BYTES);
        let active = (range * form.active_range() / 100).max(1);
        // Without a cache that loses something there is nothing to be switched off.
        bench.is_fua = form.disables_cache() && disk.volatile_cache;
        Tester { bench, purge, blocks, active, purged: None }
    }

    /// Bytes that tests use.
    pub fn active_bytes(&self) -> u64 {
        self.active * BLOCK_BYTES
    }

    /// Writes are made durable one by one, in place of a cache that is switched off.
    pub fn is_write_through(&self) -> bool {
        self.bench.is_fua
    }

    /// The share of the drive that the last purge reached; none before one.
    pub fn purged(&self) -> Option<f64> {
        self.purged
    }

    /// The drive.
    pub fn drive(&self) -> &D {
        self.bench.drive()
    }

    /// Carries a test out, and shows it to `told` after each step.
    pub fn carry_out(&mut self, test: &mut Procedure, mut told: impl FnMut(&Procedure)) -> End {
        while let Some(step) = test.next() {
            let outcome = match self.step(step) {
                Ok(outcome) => outcome,
                Err(failed) => return End::Failed(failed),
            };
            // What was cut short would count as if it had been carried out.
            if self.bench.watch().is_stopped() {
                return End::Stopped;
            }
            test.told(outcome);
            told(test);
        }
        End::Complete
    }

    fn step(&mut self, step: Step) -> Result<Outcome, Failed> {
        match step {
            Step::Purge => self.purge(),
            Step::Rest(long) => self.bench.rest(long),
            Step::Load(stretch) => return self.load(stretch),
        }
        Ok(Outcome::Done)
    }

    fn purge(&mut self) {
        let share = match &mut self.purge {
            Purge::Trim => {
                self.bench.region = 0..self.blocks;
                self.bench.trim(Nanos(u64::MAX))
            }
            Purge::Anew(make) => {
                self.bench.replace(make());
                1.0
            }
        };
        self.purged = Some(share);
        self.bench.region = 0..self.active;
    }

    fn load(&mut self, stretch: Stretch) -> Result<Outcome, Failed> {
        self.bench.region = 0..self.active;
        let Stretch { cell, time, bytes, keeps_latency } = stretch;
        let bound = Bound { time, ios: u64::MAX, bytes, settles: 0, warms: false };
        let load: Load = cell.load();
        let tally = self.bench.run(&[load], bound)?.remove(0);
        let figures = Figures::of(&tally.latency, tally.bytes, tally.took);
        Ok(Outcome::Measured { figures, latency: keeps_latency.then_some(tally.latency) })
    }
}
