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

    /// What is to be said when this machine cannot keep up with the model.
    pub fn warning(&self) -> Option<String> {
        (self.share() > TOLERATED).then(|| {
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

    #[test]
    fn it_warns_when_the_error_is_no_longer_small() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.warning(), None);
        lateness.add(Late { by: Nanos(4_000), modelled: Nanos(80_000) });
        assert_eq!(lateness.warning(), None);
        assert_eq!(lateness.to_string(), "late by p50 4.0 µs, p99 4.0 µs, max 4.0 µs");
        lateness.add(Late { by: Nanos(40_000), modelled: Nanos(80_000) });
        assert!(lateness.warning().expect("it is late").contains("28 %"));
    }
}
