//! The host of a report.

use crate::cpu::Spent;
use crate::path::HostConfig;
use crate::storage::{HostFigures, PredictionFigures};
use serde::{Deserialize, Serialize};
use tailcut_ssd::Service;

/// The statistics of a host during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// The I/O strategy as the scenario gives it: names joined by `+`.
    pub strategy: String,
    /// Number of cores as the scheduler sees them: a core with a sibling counts as two.
    pub cpus: usize,
    /// The time account of the cores, the largest share first; the shares add up to 1.
    pub cpu_time: Vec<CpuShare>,
    /// Time of cores per request, without idling and background, in ns.
    pub cpu_per_request_ns: f64,
    /// Context switches on all cores per request that ended.
    pub switches_per_request: f64,
    /// Handlers of the controller's interrupts per request.
    pub interrupts_per_request: f64,
    /// The longest time in ns that a single interrupt handler was at work.
    pub longest_handler_ns: u64,
    /// Requests that the background threads completed, per second.
    pub background_per_s: f64,
    /// Root of the mean square error in ns with which the ends of reads were announced, if they were.
    pub prediction_error_ns: Option<f64>,
    /// Reads that were waited for by spinning because their drive had said that they need no chip.
    pub spun_for_hits: u64,
    /// Writes that were not, because their drive had said that its buffer is full.
    pub met_full_buffer: u64,
    /// What drives have predicted, by what it was of.
    pub predictions: Vec<PredictionReport>,
}

/// How well times of one kind were predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionReport {
    /// Name of the service whose end was predicted, such as `flash` or `transfer`.
    pub of: String,
    /// Number of predictions; a service without any is left out.
    pub count: u64,
    /// Mean of the observed times in ns.
    pub mean_ns: f64,
    /// Mean of the predicted times in ns.
    predicted_ns: f64,
    /// Root of the mean square of the errors in ns. Limit: 0.
    pub error_ns: f64,
}

/// A part of the cores' time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuShare {
    /// What the time was spent on, such as `polling`.
    pub on: String,
    /// Share of all of the time, 0 … 1.
    pub share: f64,
}

fn predictions(host: &HostFigures) -> Vec<PredictionReport> {
    let report = |(of, figures): (Service, PredictionFigures)| PredictionReport {
        of: of.label().to_string(),
        count: figures.count,
        mean_ns: figures.mean,
        predicted_ns: figures.predicted,
        error_ns: figures.error,
    };
    let figures = host.predictions.iter().flat_map(|all| Service::ALL.into_iter().zip(*all));
    figures.filter(|(_, figures)| figures.count > 0).map(report).collect()
}

impl HostReport {
    /// Of a host that ended `requests` requests in the measurement, those that were due before it included:
    /// the times of its cores are of these.
    pub fn new(config: &HostConfig, host: &HostFigures, requests: u64) -> HostReport {
        let share = |on: Spent| CpuShare { on: on.label().to_string(), share: host.share(on) };
        let mut cpu_time: Vec<CpuShare> = Spent::ALL.into_iter().map(share).collect();
        cpu_time.retain(|part| part.share > 0.0);
        cpu_time.sort_by(|a, b| b.share.total_cmp(&a.share));
        let per_request = |count: u64| count as f64 / requests.max(1) as f64;
        let seconds = host.elapsed.as_secs_f64();
        HostReport {
            strategy: config.strategy.clone(),
            cpus: host.cpus,
            cpu_time,
            cpu_per_request_ns: host.per_request_ns(requests),
            switches_per_request: per_request(host.switches),
            interrupts_per_request: per_request(host.handlers.count),
            longest_handler_ns: host.handlers.longest.0,
            background_per_s: if seconds > 0.0 { host.background_requests as f64 / seconds } else { 0.0 },
            prediction_error_ns: host
                .predictions
                .filter(|_| host.announces)
                .map(|[flash, transfer, ..]| flash.error.hypot(transfer.error)),
            spun_for_hits: host.read_hits,
            met_full_buffer: host.full_buffers,
            predictions: predictions(host),
        }
    }
}
