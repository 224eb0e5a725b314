//! How late answers were: the error of the emulation, measured for each of them.

use std::fmt;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Completion, Nanos, Time};

/// How much later than the model says each answer was handed over.
#[derive(Clone, Debug)]
pub struct Lateness {
    late: LatencyHistogram,
    /// What the model says that the same requests took together, in ns.
    modelled: u128,
}

/// Of the latency that the model says: when answers are later than that on average, what is measured
/// above the drive says more about this machine than about the drive.
const TOLERATED: f64 = 0.05;

/// Fewer answers than this are those of a server that is idle but for a client that looks at it: the first of
/// them wake sleeping threads and touch cold memory, which is no sign of a machine that is too slow.
const TELLING: u64 = 1000;

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { late: LatencyHistogram::new(), modelled: 0 }
    }
}

impl Lateness {
    /// An answer is handed over at `now`.
    #[inline]
    pub fn record(&mut self, completion: &Completion, now: Time) {
        self.add(Late { by: now.since(completion.at), modelled: completion.spans.total() });
    }

    /// The same, noted before.
    #[inline]
    pub fn add(&mut self, late: Late) {
        self.late.record(late.by);
        self.modelled += u128::from(late.modelled.0);
    }

    /// All of it.
    pub fn histogram(&self) -> &LatencyHistogram {
        &self.late
    }

    /// The mean lateness as a share of the mean latency of the model; zero before the first answer.
    pub fn share(&self) -> f64 {
        if self.modelled == 0 { 0.0 } else { self.late.sum() as f64 / self.modelled as f64 }
    }

    /// The warning that this machine cannot keep up with the model; none before enough answers show it.
    pub fn warning(&self) -> Option<String> {
        (self.share() > TOLERATED && self.late.count() >= TELLING).then(|| {
            format!(
                "this machine does not keep up with the emulated drive: answers are late by {:.0} % of the latency on \
                 average ({self}); give the drive a core of its own, or less to do",
                self.share() * 100.0
            )
        })
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |nanos: Nanos| nanos.0 as f64 / 1000.0;
        let at = |percentile| micros(self.late.percentile(percentile));
        let max = micros(self.late.max());
        write!(f, "late by p50 {:.1} µs, p99 {:.1} µs, max {max:.1} µs", at(50.0), at(99.0))
    }
}

/// One answer's lateness.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// How late it was.
    pub by: Nanos,
    /// How long the model says that its request took.
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
        assert_eq!(punctual.to_string(), "late by p50 4.0 µs, p99 4.0 µs, max 4.0 µs");
        assert!(lateness(TELLING, Nanos(22_400)).warning().expect("it is late").contains("28 %"));
    }

    #[test]
    fn a_server_that_is_idle_but_for_a_few_requests_is_not_too_slow() {
        assert_eq!(lateness(TELLING - 1, Nanos(500_000)).warning(), None);
    }
}
