//! Lateness of completions: the error of the emulation, measured for each completion.

use std::fmt;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::show_time;
use tailcut_base::{Completion, Nanos, Time};

/// How much later than modelled each completion was handed over.
#[derive(Clone, Debug)]
pub struct Lateness {
    late: LatencyHistogram,
    /// Sum of the modelled latencies of the same requests, in ns.
    modelled: u128,
}

/// Tolerated mean lateness as a share of the mean modelled latency: above it, measurements over the drive
/// reflect this machine more than the drive.
const TOLERATED: f64 = 0.05;

/// Minimum number of completions for a warning. Fewer are those of a server that is idle but for a client
/// that probes it: the first of them wake sleeping threads and touch cold memory, so they do not show that
/// the machine is too slow.
const TELLING: u64 = 1000;

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { late: LatencyHistogram::new(), modelled: 0 }
    }
}

impl Lateness {
    /// Records a completion that is handed over at `now`.
    #[inline]
    pub fn record(&mut self, completion: &Completion, now: Time) {
        self.add(Late { by: now.since(completion.at), modelled: completion.spans.total() });
    }

    /// Adds the lateness of one completion.
    #[inline]
    pub fn add(&mut self, late: Late) {
        self.late.record(late.by);
        self.modelled += u128::from(late.modelled.0);
    }

    /// Histogram of the lateness of all completions.
    pub fn histogram(&self) -> &LatencyHistogram {
        &self.late
    }

    /// Mean lateness as a share of the mean modelled latency; zero before the first completion.
    pub fn share(&self) -> f64 {
        if self.modelled == 0 { 0.0 } else { self.late.sum() as f64 / self.modelled as f64 }
    }

    /// The warning that this machine cannot keep up with the model; `None` before enough completions show it.
    pub fn warning(&self) -> Option<String> {
        (self.share() > TOLERATED && self.late.count() >= TELLING).then(|| {
            format!(
                "this machine does not keep up with the emulated drive: answers are late by {:.0} % of the \
                 modelled latency on average ({self}); give the drive a core of its own, less to do, or a \
                 slower clock ('serve block --time-scale 10')",
                self.share() * 100.0
            )
        })
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |nanos: Nanos| show_time(nanos.0 as f64);
        let at = |percentile| show(self.late.percentile(percentile));
        write!(f, "late by p50 {}, p99 {}, max {}", at(50.0), at(99.0), show(self.late.max()))
    }
}

/// Lateness of one completion.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// How long after its modelled time the completion was posted or seen.
    pub by: Nanos,
    /// Latency of the request in the model.
    pub modelled: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(answers: u64, by: Nanos) -> Lateness {
        let mut lateness = Lateness::default();
        (0..answers).for_each(|_| lateness.add(Late { by, modelled: Nanos(80_000) }));
        lateness
    }

    #[test]
    fn it_warns_when_the_error_is_no_longer_small() {
        assert_eq!(Lateness::default().warning(), None);
        let punctual = lateness(TELLING, Nanos(4_000));
        assert_eq!(punctual.warning(), None);
        assert_eq!(punctual.to_string(), "late by p50 4.00 µs, p99 4.00 µs, max 4.00 µs");
        assert!(lateness(TELLING, Nanos(22_400)).warning().expect("it is late").contains("28 %"));
    }

    #[test]
    fn a_server_that_is_idle_but_for_a_few_requests_is_not_too_slow() {
        assert_eq!(lateness(TELLING - 1, Nanos(500_000)).warning(), None);
    }
}
