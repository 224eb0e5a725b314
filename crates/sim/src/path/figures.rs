//! The statistics of a host during a measurement.

use super::SimulatedHost;
use crate::cpu::CpuTime;
use crate::storage::{Handlers, HostFigures, PredictionFigures};
use tailcut_base::Time;
use tailcut_host::path::Wait;
use tailcut_ssd::{Accuracy, Probe};

impl<P: Probe> SimulatedHost<P> {
    pub(super) fn begin_measuring(&mut self, now: Time) {
        self.handlers = Handlers::default();
        self.background_done = 0;
        self.buffer_hits = 0;
        (self.read_hits, self.full_buffers) = (0, 0);
        self.measured = Some((now, self.machine.times(now), self.machine.switches()));
    }

    pub(super) fn figures_of_host(&self) -> HostFigures {
        let until = self.now;
        let (from, before, switches) = self.measured.clone().unwrap_or_else(|| {
            let zero = vec![CpuTime::default(); self.machine.cpus()];
            (Time::ZERO, zero, 0)
        });
        let mut time = CpuTime::default();
        for (cpu, before) in self.machine.clone().times(until).iter().zip(&before) {
            time.merge(&cpu.since(before));
        }
        let cpus = self.machine.cpus();
        let elapsed = until.since(from);
        assert_eq!(time.total(), elapsed * cpus as u64, "the time of all cores adds up to the measurement");
        let figures = |a: Accuracy| PredictionFigures {
            mean: a.mean(),
            deviation: a.deviation(),
            predicted: a.predicted_mean(),
            error: a.error(),
            count: a.predicted,
        };
        HostFigures {
            cpus,
            elapsed,
            time,
            switches: self.machine.switches() - switches,
            handlers: self.handlers,
            background_requests: self.background_done,
            buffer_hits: self.buffer_hits,
            read_hits: self.read_hits,
            full_buffers: self.full_buffers,
            predictions: self.strategy.listens().then(|| self.drives[0].prediction_accuracy().map(figures)),
            announces: self.strategy.wait == Wait::UntilNotice || self.strategy.adapts,
            mode_changes: self.modes.changes(),
            mode: self.modes.mode(),
        }
    }
}
