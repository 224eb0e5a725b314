//! The analysis of a broken promise: a smaller plan that breaks it, and what happens in it.

use super::trap::apart;
use crate::interrupt::Interrupt;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_base::Time;
use tailcut_torture::{Mutant, Outcome, Plan, Violation, run, shrink};

/// A broken promise, with the smallest plan that breaks it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The promise that was broken, and how.
    pub wrong: Violation,
    /// The smallest plan that was found to break it.
    pub plan: Plan,
    /// The last events before the violation, oldest first.
    pub events: Vec<String>,
}

/// Runs a plan; a panic is a broken promise. None if it was interrupted.
pub fn attempt(plan: &Plan, mutant: Option<Mutant>, interrupt: &Interrupt) -> Option<Outcome> {
    let plan = plan.clone();
    let ended = apart(interrupt, move || run(&plan, mutant, None))?;
    Some(ended.unwrap_or_else(Outcome::panicked))
}

/// The budget of a search for a smaller plan, and what the search keeps.
#[derive(Clone, Copy, Debug)]
pub struct ShrinkBudget {
    /// Maximum number of runs that try smaller plans.
    pub tries: u32,
    /// The last events before the violation that are shown.
    pub events: usize,
}

/// Shrinks a plan that has broken a promise, and runs the result once more to collect its last events. An
/// interrupt ends that with the smallest plan so far.
pub fn judge(
    plan: &Plan,
    wrong: &Violation,
    mutant: Option<Mutant>,
    effort: ShrinkBudget,
    interrupt: &Interrupt,
) -> Verdict {
    let plan = shrink(plan, effort.tries, &mut |plan| {
        let outcome = if interrupt.asked() { None } else { attempt(plan, mutant, interrupt) };
        outcome.and_then(|outcome| outcome.wrong).is_some_and(|other| other.kind == wrong.kind)
    });
    let kept = effort.events;
    let events: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let (watched, list) = (plan.clone(), Arc::clone(&events));
    let outcome = apart(interrupt, move || {
        let mut watch = |now: Time, text: String| keep(&list, kept, now, &text);
        run(&watched, mutant, Some(&mut watch))
    });
    let wrong_again = outcome.and_then(|ended| ended.unwrap_or_else(Outcome::panicked).wrong);
    // No other thread holds it, unless it panicked or was left behind by an interrupt.
    let events = events.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
    Verdict { wrong: wrong_again.unwrap_or_else(|| wrong.clone()), plan, events }
}

fn keep(events: &Mutex<VecDeque<String>>, most: usize, now: Time, text: &str) {
    let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
    if events.len() >= most.max(1) {
        events.pop_front();
    }
    events.push_back(format!("{:>10.3} ms  {text}", now.0 as f64 / 1e6));
}
