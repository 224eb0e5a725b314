//! The statistics of a host in front of the storage.

use crate::cpu::{CpuTime, Spent};
use tailcut_base::Nanos;
use tailcut_host::path::Mode;
use tailcut_ssd::Service;

/// How long handlers of the controller's interrupts have been at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handlers {
    /// Number of handlers of interrupts that have run.
    pub count: u64,
    /// Time that all handlers have been at work, summed up.
    pub total: Nanos,
    /// The longest time that a single handler was at work.
    pub longest: Nanos,
}

impl Handlers {
    pub(crate) fn note(&mut self, length: Nanos) {
        self.count += 1;
        self.total += length;
        self.longest = self.longest.max(length);
    }
}

/// Times of a part of the drives and how well they were predicted, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionFigures {
    /// Mean of the observed times, in ns.
    pub mean: f64,
    /// Standard deviation of the observed times, in ns.
    pub deviation: f64,
    /// Mean of the predicted times, in ns.
    pub predicted: f64,
    /// Root mean square of the differences of predicted and observed times, in ns.
    pub error: f64,
    /// Number of predictions that were made.
    pub count: u64,
}

/// The statistics of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFigures {
    /// Number of cores as the scheduler sees them: a core with a sibling counts as two.
    pub cpus: usize,
    /// Length of the measurement.
    pub elapsed: Nanos,
    /// The time account of all cores together; adds up to `elapsed` for each.
    pub time: CpuTime,
    /// Number of context switches on all cores in the measurement.
    pub switches: u64,
    /// Number and times of the handlers of the controller's interrupts.
    pub handlers: Handlers,
    /// Requests that the background threads completed.
    pub background_requests: u64,
    /// Writes that were taken for buffer hits.
    pub buffer_hits: u64,
    /// Reads that were waited for by spinning because their drive had said that they need no chip.
    pub read_hits: u64,
    /// Writes that were not waited for by spinning because their drive had said that its buffer is full.
    pub full_buffers: u64,
    /// Predictions of the first drive, in the order of [`Service::ALL`], where drives are listened to.
    pub predictions: Option<[PredictionFigures; Service::ALL.len()]>,
    /// Whether drives announce the ends of reads from flash.
    pub announces: bool,
    /// Number of times that the strategy has changed its mode since the beginning.
    pub mode_changes: u64,
    /// The mode that a strategy which adapts to the load is in; `None` for others.
    pub mode: Option<Mode>,
}

impl HostFigures {
    /// Share of all cores' time that was spent on one thing.
    pub fn share(&self, on: Spent) -> f64 {
        self.time.of(on).0 as f64 / self.time.total().0.max(1) as f64
    }

    /// Cores' time per request for all but idling and the background, in ns.
    pub fn per_request_ns(&self, requests: u64) -> f64 {
        let others = self.time.of(Spent::Idle) + self.time.of(Spent::Background);
        (self.time.total() - others).0 as f64 / requests.max(1) as f64
    }
}
