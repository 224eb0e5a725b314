//! Runs drive tests on any drive: executes a [`Procedure`] on a [`Bench`], in real or virtual time.

#[cfg(test)]
mod tests;

use crate::drive::Drive;
use crate::probe::bench::{Bench, Bound, Failed, Load};
use crate::probe::{Pace, Watch};
use tailcut_base::Nanos;
use tailcut_host::BLOCK_BYTES;
use tailcut_pts::{Figures, Form, Outcome, Procedure, Step, Stretch};

/// How a drive is purged, that is, put into the state before any write.
pub enum Purge<D> {
    /// Trim all of it, as for a file or block device.
    Trim,
    /// Replace it by an identical erased one, as formatting does for a simulated drive.
    Anew(Box<dyn FnMut() -> D>),
}

/// Carries out drive tests on a drive.
pub struct DriveTester<'a, D, P> {
    bench: Bench<'a, D, P>,
    purge: Purge<D>,
    /// Size of the drive and of the test range, in blocks.
    blocks: u64,
    active: u64,
    /// Share of the drive that the last purge trimmed.
    purged: Option<f64>,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The test came to its end.
    Complete,
    /// The test was cancelled.
    Stopped,
    /// A request of the test failed.
    Failed(Failed),
}

impl<'a, D: Drive, P: Pace> DriveTester<'a, D, P> {
    /// Tests the first `range` bytes of a drive (all, if it is smaller), of which the form uses a part.
    pub fn new(
        drive: D,
        pace: P,
        form: Form,
        range: u64,
        purge: Purge<D>,
        seed: u64,
        watch: &'a dyn Watch,
    ) -> DriveTester<'a, D, P> {
        let disk = drive.disk();
        let blocks = disk.blocks;
        let mut bench = Bench::new(drive, pace, seed, watch);
        let range = blocks.min(range / BLOCK_BYTES);
        let active = (range * form.active_range() / 100).max(1);
        // Without a volatile cache there is nothing to disable.
        bench.is_fua = form.disables_cache() && disk.volatile_cache;
        DriveTester { bench, purge, blocks, active, purged: None }
    }

    /// Size of the test range in bytes.
    pub fn active_bytes(&self) -> u64 {
        self.active * BLOCK_BYTES
    }

    /// Each write is made durable, in place of a disabled cache.
    pub fn is_write_through(&self) -> bool {
        self.bench.is_fua
    }

    /// Share of the drive that the last purge covered; None before a purge.
    pub fn purged(&self) -> Option<f64> {
        self.purged
    }

    /// The drive under test.
    pub fn drive(&self) -> &D {
        self.bench.drive()
    }

    /// Runs a test, and passes it to `told` after each step.
    pub fn carry_out(&mut self, test: &mut Procedure, mut told: impl FnMut(&Procedure)) -> End {
        while let Some(step) = test.next() {
            let outcome = match self.step(step) {
                Ok(outcome) => outcome,
                Err(failed) => return End::Failed(failed),
            };
            // A step that was cut short would otherwise count as complete.
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
