//! Faults of members: a drive that was replaced comes back, and an array is opened in two parts. They need a
//! history (something is replaced; each part is written), so they are drawn with the steps around them.

use super::{Draw, Load};
use crate::fault::{Fault, FaultKind};
use crate::plan::{Plan, Step};
use tailcut_base::Op;
use tailcut_host::array::raid::WriteHole;

impl Draw {
    /// Drawn from a stream of its own: the rest of the plan stays what it is without.
    pub(super) fn members(&mut self, plan: &mut Plan) {
        let layout = plan.layout;
        if layout.has_parity() && layout.is_in_place() && plan.write_hole == WriteHole::Resync {
            return;
        }
        let load = self.load(plan);
        if layout.is_redundant() && self.one_in(4) {
            let steps = self.returning(plan, &load);
            self.put(plan, steps);
        }
        let seldom = if layout.is_mirrored() { 3 } else { 12 };
        if plan.weak.is_none() && plan.drives > 1 && self.one_in(seldom) {
            let steps = self.halves(plan, &load);
            self.put(plan, steps);
        }
    }

    /// At the beginning, where nothing else is wrong yet, or anywhere.
    fn put(&mut self, plan: &mut Plan, steps: Vec<Step>) {
        let at = if self.one_in(2) { 0 } else { self.below(plan.steps.len() as u64 + 1) as usize };
        plan.steps.splice(at..at, steps);
    }

    /// A drive is gone and replaced; later the old one is in its place again. Sometimes another one has gone
    /// meanwhile, so that neither can be done without.
    fn returning(&mut self, plan: &Plan, load: &Load) -> Vec<Step> {
        let drive = self.below(u64::from(plan.drives)) as u32;
        let fault = |kind, drive, pick| Step::Fault(Fault { kind, drive, pick, factor: 1 });
        let leaves = self.one_of(&[FaultKind::Kill, FaultKind::Pull]);
        let mut steps = self.requests(load, 12);
        steps.push(fault(leaves, drive, 0));
        steps.extend(self.requests(load, 20));
        steps.extend([Step::Wait, Step::Replace]);
        steps.extend(self.requests(load, 20));
        if self.one_in(2) {
            steps.push(Step::Rest);
        }
        if self.one_in(6) {
            let other = self.below(u64::from(plan.drives)) as u32;
            steps.push(fault(FaultKind::Kill, other, 0));
        }
        steps.extend(self.requests(load, 12));
        let pick = self.below(4) as u32;
        steps.extend([fault(FaultKind::Return, drive, pick), self.cut()]);
        steps.extend(self.requests(load, 20));
        if self.one_in(2) {
            steps.push(Step::Replace);
        }
        steps
    }

    /// All is well; then one part of the array is used, the other one, and both.
    fn halves(&mut self, plan: &Plan, load: &Load) -> Vec<Step> {
        let mut steps = vec![Step::Replace, Step::Rest, Step::Scrub, Step::Rest];
        steps.extend(self.requests(load, 20));
        let drive = self.below(u64::from(plan.drives)) as u32;
        let pick = self.below(8) as u32;
        steps.push(Step::Fault(Fault { kind: FaultKind::Halves, drive, pick, factor: 1 }));
        for _ in 0..3 {
            steps.push(self.cut());
            steps.extend(self.requests(load, 20));
            if self.one_in(2) {
                steps.push(Step::Wait);
            }
        }
        if self.one_in(2) {
            steps.push(Step::Replace);
        }
        steps
    }

    /// Fewer requests than this, and at their end sometimes a flush.
    fn requests(&mut self, load: &Load, below: u64) -> Vec<Step> {
        let mut steps: Vec<Step> = (0..self.below(below)).map(|_| self.io(load)).collect();
        if self.one_in(3) {
            steps.push(Step::Io { op: Op::Flush, block: 0, blocks: 0, fua: false });
        }
        steps
    }

    fn cut(&mut self) -> Step {
        let again = if self.one_in(4) { vec![self.below(60) as u32] } else { Vec::new() };
        Step::Cut { after: self.below(20) as u32, again }
    }
}
