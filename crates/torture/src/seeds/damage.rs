//! Damage below a key-value engine: blocks that become something else while the store is at rest, with
//! older versions of their content elsewhere in its log.

use super::Draw;
use crate::fault::{Fault, FaultKind};
use crate::plan::{KvKeep, Plan, Step};
use tailcut_base::Op;
use tailcut_base::random::Stream;

/// Adds damage to the plan of a key-value engine.
pub(super) fn damage(seed: u64, is_drive: bool, plan: &mut Plan) {
    let mut draw = Draw { random: Stream::new(seed, "torture damage") };
    if plan.layout.is_mirrored() && plan.weak.is_none() && draw.one_in(2) {
        draw.one_copy(plan);
    } else if is_drive && plan.keep == KvKeep::Store && draw.one_in(2) {
        draw.only_copy(plan);
    }
}

impl Draw {
    /// Only the store's own checksums identify the right one of two copies. Blocks of one drive are damaged
    /// at a time, and the power is lost at rest only until that drive has been replaced: recovery makes
    /// copies equal that a descriptor lists, and could take the damaged one.
    fn one_copy(&mut self, plan: &mut Plan) {
        (plan.sealed, plan.keep, plan.copies) = (false, KvKeep::Store, self.one_of(&[2, 2, plan.copies]));
        // As many as there is room for: a damaged item is then seldom one that has been replaced.
        plan.keys = 10_000;
        let is_borne =
            |kind| matches!(kind, FaultKind::Kill | FaultKind::Pull | FaultKind::Slow | FaultKind::ReadOnly);
        plan.steps.retain(|step| !matches!(step, Step::Fault(fault) if !is_borne(fault.kind)));
        let mut steps = vec![all(Op::Write), flush(), Step::Rest];
        for _ in 0..self.one_of(&[1, 6, 12]) {
            let drive = self.below(u64::from(plan.drives)) as u32;
            for _ in 0..self.one_of(&[1, 1, 4, 16]) {
                let kind = self.one_of(&[FaultKind::Flip, FaultKind::Corrupt]);
                steps.push(self.strike(kind, drive));
            }
            if self.one_in(2) {
                steps.extend([cut(0), Step::Rest]);
            }
            steps.extend([all(Op::Read), Step::Rest]);
            let kill = Fault { kind: FaultKind::Kill, drive, pick: 0, factor: 1 };
            steps.extend([Step::Fault(kill), all(Op::Write), flush(), Step::Rest, Step::Replace, Step::Rest]);
        }
        plan.steps.splice(0..0, steps);
    }

    fn only_copy(&mut self, plan: &mut Plan) {
        if self.one_in(2) {
            let steps = self.young(plan);
            plan.steps.splice(0..0, steps);
        }
        let mut steps = vec![all(Op::Write), flush()];
        match self.below(4) {
            0 => self.superblock(plan, &mut steps),
            1 => self.failing_superblocks(plan, &mut steps),
            _ => self.blocks(plan, &mut steps),
        }
        steps.extend([all(Op::Read), Step::Rest]);
        plan.steps.extend(steps);
    }

    /// A store whose first segments are not full yet: only their records describe their content. Each
    /// opening ends a segment, so that the next round begins another one.
    fn young(&mut self, plan: &Plan) -> Vec<Step> {
        let hot = 1 + self.below(plan.keys.min(8));
        let mut steps = Vec::new();
        for _ in 0..self.one_of(&[1, 4, 8]) {
            for _ in 0..4 + self.below(8) {
                let (block, blocks) = (self.below(hot), 1 + self.below(3) as u32);
                steps.push(Step::Io { op: Op::Write, block, blocks, fua: false });
                if self.one_in(2) {
                    steps.push(flush());
                }
                if self.one_in(2) {
                    steps.push(Step::Wait);
                }
            }
            let kind = self.one_of(&[FaultKind::Flip, FaultKind::Corrupt]);
            steps.extend([Step::Rest, self.strike(kind, 0), cut(0), Step::Rest, all(Op::Read), Step::Rest]);
        }
        steps
    }

    /// Blocks with newer versions, blocks with older ones and ends of segments; then segments are used again.
    fn blocks(&mut self, plan: &Plan, steps: &mut Vec<Step>) {
        for _ in 0..self.one_of(&[1, 3, 6]) {
            for _ in 0..self.one_of(&[1, 3]) {
                self.overwrite(plan, 12, steps);
                if self.one_in(2) {
                    steps.push(flush());
                }
            }
            steps.push(Step::Rest);
            for _ in 0..self.one_of(&[1, 4, 12, 30]) {
                let kind = self.one_of(&[FaultKind::Flip, FaultKind::Corrupt, FaultKind::Corrupt]);
                steps.push(self.strike(kind, 0));
            }
            if self.one_in(3) {
                // Segments with damaged blocks are reclaimed before they are read.
                let hot = 1 + self.below(plan.keys.min(16));
                for _ in 0..self.one_of(&[30, 100, 300]) {
                    let block = self.below(hot);
                    steps.push(Step::Io { op: Op::Write, block, blocks: 1, fua: false });
                }
                steps.push(Step::Rest);
            }
            steps.extend([cut(0), Step::Rest, all(Op::Read), Step::Rest]);
        }
        let hot = 1 + self.below(plan.keys);
        for _ in 0..self.one_of(&[0, 2, 6]) {
            for _ in 0..20 {
                let fua = self.one_in(3);
                steps.push(Step::Io { op: Op::Write, block: self.below(hot), blocks: 1, fua });
            }
            steps.extend([flush(), Step::Rest, cut(0), Step::Rest, all(Op::Read)]);
        }
    }

    /// One of the superblocks of a store that has just forgotten all its items.
    fn superblock(&mut self, plan: &Plan, steps: &mut Vec<Step>) {
        for _ in 0..self.one_of(&[1, 4]) {
            let fua = self.one_in(2);
            steps.push(Step::Io { op: Op::Trim, block: 0, blocks: u32::MAX, fua });
            if self.one_in(2) {
                self.overwrite(plan, 6, steps);
            }
            let strike = self.strike(FaultKind::CorruptSuperblock, 0);
            steps.extend([flush(), Step::Rest, strike, cut(0), Step::Rest, all(Op::Read)]);
            self.overwrite(plan, 6, steps);
            steps.extend([flush(), Step::Rest]);
        }
    }

    /// Superblocks that are written one after the other, which fails.
    fn failing_superblocks(&mut self, plan: &Plan, steps: &mut Vec<Step>) {
        for _ in 0..self.one_of(&[2, 4, 8]) {
            self.overwrite(plan, 4, steps);
            steps.extend([flush(), Step::Rest]);
            let writes = 2 + self.below(3) as u32;
            let fails = Fault { kind: FaultKind::FailWrite, drive: 0, pick: writes, factor: 1 };
            steps.push(Step::Fault(fails));
            for _ in 0..2 + self.below(2) {
                steps.push(all(Op::Trim));
            }
            steps.extend([Step::Cut { after: self.below(12) as u32, again: Vec::new() }, Step::Rest]);
        }
    }

    fn overwrite(&mut self, plan: &Plan, below: u64, steps: &mut Vec<Step>) {
        for _ in 0..1 + self.below(below) {
            let (block, blocks) = (self.below(plan.keys), 1 + self.below(3) as u32);
            let op = if self.one_in(5) { Op::Trim } else { Op::Write };
            steps.push(Step::Io { op, block, blocks, fua: false });
        }
    }

    fn strike(&mut self, kind: FaultKind, drive: u32) -> Step {
        let pick = self.below(1 << 16) as u32;
        Step::Fault(Fault { kind, drive, pick, factor: 1 })
    }
}

/// For all keys.
fn all(op: Op) -> Step {
    Step::Io { op, block: 0, blocks: u32::MAX, fua: false }
}

fn flush() -> Step {
    Step::Io { op: Op::Flush, block: 0, blocks: 0, fua: false }
}

fn cut(after: u32) -> Step {
    Step::Cut { after, again: Vec::new() }
}
