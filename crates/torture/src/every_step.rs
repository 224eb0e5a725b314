//! A power cut at every step: one plan becomes as many as it has events, and in each of them the power goes
//! at another one.

use super::plan::{Plan, Step};
use super::tally::Tally;

/// A plan and the events at which the power may go in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EveryStep {
    plan: Plan,
    events: u64,
}

impl EveryStep {
    /// Of a plan that has been run as it is: its events are those from its first step on until all work
    /// started by the steps has ended.
    pub fn new(plan: &Plan, tally: &Tally) -> EveryStep {
        EveryStep { plan: plan.clone(), events: tally.events }
    }

    /// Number of events at which the power can be cut.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The plan with the power cut at event `event`, from 0, and again at each of `again`, in events after
    /// it has come back. Cuts of its own come later.
    ///
    /// # Panics
    /// If `event` is 2^32 or more.
    pub fn cut_at(&self, event: u64, again: &[u32]) -> Plan {
        let after = u32::try_from(event).expect("a run has fewer events");
        let cut = Step::Cut { after, again: again.to_vec() };
        let steps = std::iter::once(cut).chain(self.plan.steps.iter().cloned()).collect();
        Plan { steps, ..self.plan.clone() }
    }
}
