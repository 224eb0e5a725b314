//! Makes a plan that shows a violation smaller, as long as it still shows it.

use super::drive::Backend;
use super::plan::{Plan, Step};

/// The smallest plan that was found from `plan` on, for which `fails` is true, in at most `tries` runs.
/// Steps are taken out by delta debugging (Zeller, Hildebrandt, TSE 2002), then each number is made
/// smaller.
pub fn shrink(plan: &Plan, tries: u32, fails: &mut dyn FnMut(&Plan) -> bool) -> Plan {
    let mut shrinking = Shrinking { best: plan.clone(), left: tries, fails };
    loop {
        let before = shrinking.best.clone();
        shrinking.steps();
        shrinking.shape();
        shrinking.numbers();
        if shrinking.best == before || shrinking.left == 0 {
            return shrinking.best;
        }
    }
}

struct Shrinking<'f> {
    best: Plan,
    left: u32,
    fails: &'f mut dyn FnMut(&Plan) -> bool,
}

impl Shrinking<'_> {
    /// Takes `plan` for the best if it still fails.
    fn attempt(&mut self, plan: Plan) -> bool {
        if self.left == 0 || plan == self.best || plan.problem().is_some() {
            return false;
        }
        self.left -= 1;
        let fails = (self.fails)(&plan);
        if fails {
            self.best = plan;
        }
        fails
    }

    /// Takes out as many steps as possible at once, then fewer.
    fn steps(&mut self) {
        let mut size = self.best.steps.len();
        while size > 0 {
            let mut end = self.best.steps.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                let mut plan = self.best.clone();
                plan.steps.drain(begin..end);
                self.attempt(plan);
                end = begin;
            }
            size /= 2;
        }
    }

    /// Fewer and simpler drives.
    fn shape(&mut self) {
        let changes: [fn(&mut Plan); 16] = [
            |plan| plan.drives -= plan.groups.min(plan.drives - 1),
            |plan| {
                plan.drives -= plan.drives / plan.groups;
                plan.groups -= 1;
            },
            |plan| plan.copies = 2,
            |plan| plan.queue = 1,
            |plan| plan.queue = (plan.queue / 2).max(1),
            |plan| plan.depth = 1,
            |plan| plan.drive_depth = 1,
            |plan| plan.cache = false,
            |plan| (plan.backend, plan.weak) = (Backend::Model, None),
            |plan| plan.weak = None,
            |plan| plan.latency = (50_000, 50_000),
            |plan| plan.busy = 0,
            |plan| plan.slow_after = 0,
            |plan| plan.reads = tailcut_host::array::ReadPolicy::Direct,
            |plan| plan.chunk = 1,
            |plan| plan.most = 256,
        ];
        for change in changes {
            let mut plan = self.best.clone();
            if plan.groups == 0 || plan.drives == 0 {
                return;
            }
            change(&mut plan);
            self.attempt(plan);
        }
    }

    /// Smaller numbers in each step.
    fn numbers(&mut self) {
        for index in 0..self.best.steps.len() {
            for step in smaller(&self.best.steps[index]) {
                let mut plan = self.best.clone();
                plan.steps[index] = step;
                if self.attempt(plan) {
                    break;
                }
            }
        }
    }
}

/// Steps that are smaller than this one, the smallest first.
fn smaller(step: &Step) -> Vec<Step> {
    match step {
        &Step::Io { op, block, blocks, fua } if blocks > 0 => {
            let io = |block, blocks| Step::Io { op, block, blocks, fua };
            let mut steps = vec![io(0, 1), io(block, 1), io(0, blocks), io(block / 2, blocks)];
            steps.push(io(block, blocks.div_ceil(2)));
            steps
        }
        Step::Fault(fault) => {
            let fault = *fault;
            let picks = [0, 1, fault.pick / 2, fault.pick.saturating_sub(1)];
            let mut steps: Vec<Step> =
                picks.into_iter().map(|pick| Step::Fault(super::fault::Fault { pick, ..fault })).collect();
            steps.push(Step::Fault(super::fault::Fault { drive: fault.drive / 2, ..fault }));
            steps
        }
        Step::Cut { after, again } => {
            let cut = |after, again: &[u32]| Step::Cut { after, again: again.to_vec() };
            let mut steps = vec![cut(*after, &[]), cut(0, again), cut(after / 2, again)];
            steps.push(cut(after.saturating_sub(1), again));
            if let [first, rest @ ..] = &again[..] {
                steps.push(cut(*first, rest));
                steps.push(cut(*after, rest));
                let halves: Vec<u32> = again.iter().map(|after| after / 2).collect();
                steps.push(cut(*after, &halves));
            }
            steps
        }
        &Step::CutAfter { what, writes, after } => {
            let cut = |writes, after| Step::CutAfter { what, writes, after };
            let plain = Step::Cut { after, again: Vec::new() };
            vec![
                plain,
                cut(1, after),
                cut(writes, 0),
                cut(writes, after / 2),
                cut(writes, after.saturating_sub(1)),
            ]
        }
        _ => Vec::new(),
    }
}
