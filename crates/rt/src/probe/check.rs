//! Repeats a probe on the simulated drive, in virtual time, and compares both drives.

use super::estimate::Estimate;
use super::measured::Measured;
use super::pace::VirtualTime;
use super::plan::{MeasurementLimits, Part, Prober};
use super::{End, Tally, Watch};
use crate::emulated::EmulatedSsd;
use tailcut_base::Nanos;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Ssd};

/// A metric of both drives.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the metric, for a table.
    pub what: String,
    /// Unit of both values.
    pub unit: Unit,
    /// Value of the real drive that was measured.
    pub measured: f64,
    /// Value of the simulated drive that was built from the measurement.
    pub simulated: f64,
}

/// Unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time in nanoseconds.
    Time,
    /// A bandwidth in bytes per second.
    Rate,
    /// A rate in I/Os per second.
    Ios,
}

impl Comparison {
    /// Ratio of the simulated value to the measured one.
    pub fn ratio(&self) -> f64 {
        self.simulated / self.measured
    }
}

/// Effort for a simulated drive: enough I/Os for each point to be accurate.
const EFFORT: MeasurementLimits = MeasurementLimits {
    point: Nanos::secs(2),
    ios: 10_000,
    bytes: 256 << 20,
    fill: Nanos::secs(10),
    fill_bytes: 256 << 20,
    overwrite: Nanos::secs(60),
    unsteady: 10,
};

/// Maximum number of 4 KiB blocks of a drive that is prepared for this: a larger drive is simulated smaller,
/// with the same parts.
const MOST_BLOCKS: u64 = 4 << 20;

/// Probes the simulated drive in the parts in which the real one was probed, filled to the same level. Long
/// writes are replaced by preconditioning: a drive filled sequentially for `Reads` and `Light`, and one in
/// the steady state of random writes for `Worn` and `Calls`.
#[expect(
    clippy::missing_panics_doc,
    reason = "a drive whose writes were measured is probed in one state at least"
)]
pub fn simulate(estimate: &Estimate, of: &Measured, watch: &dyn Watch) -> Measured {
    let estimate = &estimate.smaller(MOST_BLOCKS);
    if !of.has_writes() {
        return reads(estimate, EFFORT, watch);
    }
    let mut measured = None;
    let mut probe = |state: PreparedState, parts: &[Part]| {
        let mut prober = prober(estimate, state, of.filled(), EFFORT, watch);
        let into = measured.get_or_insert_with(|| prober.nothing());
        if into.end == End::Complete {
            prober.measure(parts, into);
        }
    };
    probe(PreparedState::Empty, &[Part::Fresh]);
    probe(PreparedState::Sequential, &[Part::Reads, Part::Light]);
    probe(PreparedState::Steady, &[Part::Worn, Part::Calls]);
    measured.expect("something was probed")
}

/// What reads alone measure on the simulated drive when it is full.
pub fn reads(estimate: &Estimate, effort: MeasurementLimits, watch: &dyn Watch) -> Measured {
    let mut prober = prober(estimate, PreparedState::Sequential, 1.0, effort, watch);
    let mut measured = prober.nothing();
    prober.measure(&[Part::Reads], &mut measured);
    measured
}

/// A prober of the simulated drive in this state; this share of it holds data and is used.
fn prober<'a>(
    estimate: &Estimate,
    state: PreparedState,
    filled: f64,
    effort: MeasurementLimits,
    watch: &'a dyn Watch,
) -> Prober<'a, EmulatedSsd, VirtualTime> {
    let mut ssd = Ssd::new(&estimate.config, 1, false);
    let fill = (filled.clamp(0.0, 1.0) * 1e6) as u32;
    let pages = ssd.precondition(&Precondition { state, fill }, 1);
    let prober = Prober::new(EmulatedSsd::inline(ssd), VirtualTime::default(), effort, 1, watch);
    match state {
        PreparedState::Empty => prober,
        _ => prober.within(pages.max(1)),
    }
}

/// Compares the metrics that both measurements have.
pub fn compare(measured: &Measured, simulated: &Measured) -> Vec<Comparison> {
    let mut rows = Rows(Vec::new());
    for (a, b) in pairs(&measured.reads, &simulated.reads) {
        rows.curve(&format!("random reads, depth {}", a.load.depth), a, b);
    }
    for (a, b) in pairs(&measured.large_reads, &simulated.large_reads) {
        let what = format!("reads of {} KiB, depth {}", a.blocks() * 4, a.load.depth);
        rows.add(what, Unit::Rate, Some(a.bandwidth()), Some(b.bandwidth()));
    }
    let bandwidth = |tally: &Option<Tally>| tally.as_ref().map(Tally::bandwidth);
    rows.add(
        "reads in order",
        Unit::Rate,
        bandwidth(&measured.sequential_read),
        bandwidth(&simulated.sequential_read),
    );
    let (a, b) = (&measured.writes, &simulated.writes);
    rows.add("writes into the buffer", Unit::Rate, a.peak(), b.peak());
    rows.add("writes in order", Unit::Rate, a.sequential(), b.sequential());
    for (a, b) in pairs(&a.latency, &b.latency) {
        rows.curve(&format!("random writes, depth {}", a.load.depth), a, b);
    }
    rows.add("random writes, in the long run", Unit::Rate, a.random().map(|r| r.1), b.random().map(|r| r.1));
    for (what, a, b) in [
        ("beside few writes, fresh", &a.beside_few, &b.beside_few),
        ("beside few writes, steady", &a.beside_worn, &b.beside_worn),
        ("beside all writes, steady", &a.beside_all, &b.beside_all),
    ] {
        for percent in [50.0, 99.0, 99.9] {
            let of = |tally: &Option<Tally>| tally.as_ref().map(|tally| tally.percentile(percent));
            rows.add(format!("reads {what}, p{percent}"), Unit::Time, of(a), of(b));
        }
    }
    let typical = |latency: &Option<tailcut_base::histogram::LatencyHistogram>| {
        latency.as_ref().map(|latency| latency.percentile(50.0).0 as f64)
    };
    rows.add("flush behind a write", Unit::Time, typical(&a.flush), typical(&b.flush));
    rows.0
}

/// Points of both curves with equal depth and size.
fn pairs<'a>(a: &'a [Tally], b: &'a [Tally]) -> impl Iterator<Item = (&'a Tally, &'a Tally)> {
    a.iter().filter_map(|a| b.iter().find(|b| b.load == a.load).map(|b| (a, b)))
}

struct Rows(Vec<Comparison>);

impl Rows {
    /// Adds a metric if both values are known.
    fn add(&mut self, what: impl Into<String>, unit: Unit, measured: Option<f64>, simulated: Option<f64>) {
        if let (Some(measured), Some(simulated)) = (measured, simulated)
            && measured > 0.0
            && simulated > 0.0
        {
            self.0.push(Comparison { what: what.into(), unit, measured, simulated });
        }
    }

    fn curve(&mut self, what: &str, a: &Tally, b: &Tally) {
        self.add(what, Unit::Ios, Some(a.rate), Some(b.rate));
        for percent in [50.0, 99.0] {
            let of = |tally: &Tally| Some(tally.percentile(percent));
            self.add(format!("{what}, p{percent}"), Unit::Time, of(a), of(b));
        }
    }
}
