//! The slowest requests of a run as `report.json` has them, for its page.

use super::Simulated;
use super::lanes::Lane;
use serde::{Deserialize, Serialize};
use tailcut_base::config::Choice;
use tailcut_base::{Cause, Op};
use tailcut_sim::world::SlowRequest;

/// Requests of each kind.
const EACH: usize = 10;

/// A slow request, and what its time went to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SlowRow {
    /// As `tailcut explain --request` takes it.
    number: u64,
    /// `read`, `write`, `trim` or `flush`.
    kind: String,
    /// In ns of virtual time.
    due_ns: u64,
    latency_ns: u64,
    /// When its device accepted it, in ns since it was due.
    #[serde(default)]
    submitted_ns: u64,
    /// Labels of causes with their time in ns, in the order of the path; their sum is the latency.
    waits: Vec<(String, u64)>,
    /// What its chips did meanwhile; empty where that was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<Lane>,
}

impl SlowRow {
    /// The slowest requests of each kind that were measured, the slowest first.
    pub(super) fn of(simulated: &Simulated) -> Vec<SlowRow> {
        let all = simulated.stats.slowest();
        let of_kind = |op: Op| all.iter().filter(move |slow| slow.op == op).take(EACH);
        let row = |slow: &SlowRequest| SlowRow::new(slow, simulated.lanes(slow.number));
        let mut rows: Vec<SlowRow> = Op::all().iter().flat_map(|&op| of_kind(op)).map(row).collect();
        // A flush or buffered write that took no time waited for nothing.
        rows.retain(|row| row.latency_ns > 0);
        rows.sort_by_key(|row| (std::cmp::Reverse(row.latency_ns), row.number));
        rows
    }

    fn new(slow: &SlowRequest, lanes: &[Lane]) -> SlowRow {
        let time =
            |cause: Cause| slow.spans.iter().filter(|&(of, _)| of == cause).map(|(_, time)| time.0).sum();
        let waits = Cause::ALL.into_iter().map(|cause| (cause.label().to_owned(), time(cause)));
        SlowRow {
            number: slow.number,
            kind: slow.op.name().to_owned(),
            due_ns: slow.due.0,
            latency_ns: slow.latency.0,
            submitted_ns: slow.submitted.since(slow.due).0,
            waits: waits.filter(|&(_, ns)| ns > 0).collect(),
            lanes: lanes.to_vec(),
        }
    }

    /// Its number in the run.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Its kind, as reports name it.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// When it was due, in ns of virtual time.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// From then to its completion, in ns.
    pub(super) fn latency_ns(&self) -> u64 {
        self.latency_ns
    }

    /// Whether it is known what its chips did meanwhile.
    pub(super) fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// The cause that took longest, with its time in ns.
    pub(super) fn longest(&self) -> Option<&(String, u64)> {
        self.waits.iter().max_by_key(|(_, ns)| *ns)
    }
}
