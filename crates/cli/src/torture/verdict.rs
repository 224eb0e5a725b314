//! What there is to say of a broken promise: a smaller plan that breaks it, and what happens in it.

use super::trap::apart;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_base::Time;
use tailcut_sim::torture::{Canary, Outcome, Plan, Wrong, run, shrink};

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which.
    pub wrong: Wrong,
    /// The smallest plan that was found to break it.
    pub plan: Plan,
    /// The last events before.
    pub events: Vec<String>,
}

/// Runs a plan; a panic is a broken promise.
pub fn attempt(plan: &Plan, canary: Option<Canary>) -> Outcome {
    let plan = plan.clone();
    apart(move || run(&plan, canary, None)).unwrap_or_else(Outcome::panicked)
}

/// Makes the plan smaller that has broken a promise, in at most `tries` runs, and looks at it once more,
/// at its last `kept` events.
pub fn judge(plan: &Plan, wrong: &Wrong, canary: Option<Canary>, tries: u32, kept: usize) -> Verdict {
    let plan = shrink(plan, tries, &mut |plan| {
        attempt(plan, canary).wrong.is_some_and(|other| other.kind == wrong.kind)
    });
    let events: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let (watched, list) = (plan.clone(), Arc::clone(&events));
    let outcome = apart(move || {
        let mut watch = |now: Time, text: String| keep(&list, kept, now, &text);
        run(&watched, canary, Some(&mut watch))
    });
    let outcome = outcome.unwrap_or_else(Outcome::panicked);
    // Nobody holds it any more, unless in a panic.
    let events = events.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
    Verdict { wrong: outcome.wrong.unwrap_or_else(|| wrong.clone()), plan, events }
}

fn keep(events: &Mutex<VecDeque<String>>, most: usize, now: Time, text: &str) {
    let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
    if events.len() >= most.max(1) {
        events.pop_front();
    }
    events.push_back(format!("{:>10.3} ms  {text}", now.0 as f64 / 1e6));
}
