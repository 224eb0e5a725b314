//! Plans for what matters only at one moment: a power cut just when metadata is written, a drive that goes
//! with the power, a journal that still has what a drive has lost. They need a history, so they are drawn
//! with the steps around them; each kind from a stream of its own, so that the rest of a plan stays what it
//! is without.

use super::Draw;
use crate::drive::Backend;
use crate::fault::{Fault, FaultKind};
use crate::plan::{Metadata, Plan, Step};
use tailcut_base::Op;
use tailcut_base::random::Stream;
use tailcut_host::array::ReadPolicy;
use tailcut_host::array::raid::WriteHole;

/// Adds such moments to the plan of an array.
pub(super) fn moments(seed: u64, plan: &mut Plan) {
    let layout = plan.layout;
    let draw = |name: &str| Draw { random: Stream::new(seed, name) };
    if plan.weak.is_some() {
        return;
    }
    if layout.has_parity() && layout.is_in_place() {
        if plan.write_hole == WriteHole::Journal {
            draw("torture journal").journal(plan);
        }
        draw("torture busy").busy(plan);
    } else if layout.is_mirrored() {
        draw("torture descriptors").descriptors(plan);
    } else if !layout.is_in_place() {
        draw("torture checkpoints").checkpoints(plan);
    }
    if !plan.sealed {
        draw("torture restored checksums").restored_checksums(plan);
    }
    let is_either = layout.has_parity() && layout.is_in_place() && plan.write_hole == WriteHole::Resync;
    if !is_either {
        draw("torture superblocks").superblocks(plan);
    }
}

impl Draw {
    /// Journal records from before a drive was lost, or a copy of them, must not be written again.
    fn journal(&mut self, plan: &mut Plan) {
        if !self.one_in(4) {
            return;
        }
        let width = plan.drives / plan.groups;
        let drive = self.below(u64::from(plan.drives)) as u32;
        let turn = 1 + self.below(u64::from(width) - 1) as u32;
        let other = drive / width * width + (drive % width + turn) % width;
        let mut steps = Vec::new();
        if self.one_in(2) {
            let blocks: Vec<u64> = (0..1 + self.below(4)).map(|_| self.below(40)).collect();
            let write = |&block: &u64| io(Op::Write, block, 1, true);
            steps.extend(blocks.iter().map(write));
            steps.extend([Step::Wait, fault(FaultKind::Kill, drive), io(Op::Read, 0, 64, false), Step::Wait]);
            steps.extend(blocks.iter().map(write));
            steps.extend([Step::Wait, Step::Replace, Step::Rest]);
            if self.one_in(2) {
                steps.push(fault(FaultKind::Kill, other));
            }
        } else {
            let block = self.below(8);
            for _ in 0..2 {
                steps.extend([io(Op::Write, block, 1, true), Step::Rest, flush(), Step::Rest]);
            }
            // The journal comes first on a drive.
            steps.extend((0..1 + self.below(6)).map(|_| fault(FaultKind::Unreadable, drive)));
            steps.extend([Step::Scrub, Step::Rest, fault(FaultKind::Kill, other)]);
        }
        steps.extend([cut(0), io(Op::Read, 0, 64, false), Step::Rest, Step::Scrub, Step::Rest]);
        plan.steps.splice(0..0, steps);
    }

    /// Drives refuse reads for a while: their blocks are computed from others, which are written meanwhile.
    fn busy(&mut self, plan: &mut Plan) {
        if plan.backend != Backend::Model || !self.one_in(8) {
            return;
        }
        (plan.busy, plan.reads) = (self.one_of(&[100_000, 400_000]), ReadPolicy::FailFast);
        let width = u64::from(plan.drives / plan.groups) - 1;
        (plan.queue, plan.depth) = (plan.queue.max(4), plan.depth.max(16));
        plan.drive_depth = plan.drive_depth.max(2);
        let mut steps = vec![io(Op::Write, 0, (4 * width * plan.chunk) as u32, false), Step::Wait];
        for _ in 0..20 {
            let row = self.below(4) * width * plan.chunk;
            let block = row + self.below(width * plan.chunk);
            let (other, last) = (row + self.below(width * plan.chunk), row + self.below(width * plan.chunk));
            steps.push(io(Op::Write, block, 1, false));
            steps.push(io(Op::Read, other, 1, false));
            steps.push(io(Op::Write, last, 1, false));
            steps.push(io(Op::Read, row, (width * plan.chunk) as u32, false));
        }
        plan.steps.splice(0..0, steps);
    }

    /// Copies that differ are listed, whichever drives are left.
    fn descriptors(&mut self, plan: &mut Plan) {
        if !self.one_in(3) {
            return;
        }
        let drive = self.below(u64::from(plan.drives)) as u32;
        let mut steps = vec![io(Op::Write, 0, 12, true), Step::Rest];
        if plan.copies > 2 && self.one_in(2) {
            self.gone_with_the_power(plan, &mut steps);
        } else if self.one_in(2) {
            self.back_before_the_superblock(plan, drive, &mut steps);
        } else {
            self.several_batches(plan, &mut steps);
        }
        plan.steps.splice(0..0, steps);
    }

    /// The drive that is pulled is back before the superblocks of the others record that it was missing.
    fn back_before_the_superblock(&mut self, plan: &mut Plan, drive: u32, steps: &mut Vec<Step>) {
        (plan.queue, plan.depth) = (plan.queue.max(4), plan.depth.max(16));
        plan.waits = (self.one_of(&[0, 200_000]), 20_000_000);
        for _ in 0..8 {
            for other in (0..plan.drives).filter(|&other| other != drive) {
                let kind = FaultKind::SlowSuperblock;
                steps.push(Step::Fault(Fault { kind, drive: other, pick: 2, factor: 1000 }));
            }
            steps.push(fault(FaultKind::Pull, drive));
            for block in 0..12 {
                steps.push(io(Op::Write, block, 1, true));
            }
            let after = self.below(80) as u32;
            steps.insert(steps.len() - 8, Step::CutAfter { what: Metadata::Superblock, writes: 1, after });
            steps.extend([Step::Rest, Step::Scrub, Step::Rest]);
        }
    }

    /// The drive that has listed a change goes with the power; the others may differ.
    fn gone_with_the_power(&mut self, plan: &mut Plan, steps: &mut Vec<Step>) {
        (plan.queue, plan.waits) = (1, (200_000, 20_000_000));
        for _ in 0..6 {
            let drive = self.below(u64::from(plan.drives)) as u32;
            self.trickle(12, false, steps);
            steps.push(Step::Cut { after: self.below(60) as u32, again: Vec::new() });
            let count = self.below(8);
            self.trickle(count, false, steps);
            steps.push(fault(FaultKind::Kill, drive));
            steps.extend([Step::Rest, io(Op::Read, 0, 60, false), Step::Wait]);
            steps.extend([Step::Replace, Step::Rest, Step::Scrub, Step::Rest]);
        }
    }

    /// Reads hold some of what an epoch writes, so that it writes several batches; a cut comes between them.
    fn several_batches(&mut self, plan: &mut Plan, steps: &mut Vec<Step>) {
        plan.dirty = self.one_of(&[16, 24, 64]);
        plan.waits = (200_000, 20_000_000);
        (plan.queue, plan.depth) = (self.one_of(&[2, 8, 16]), 64);
        plan.drive_depth = plan.drive_depth.max(8);
        for _ in 0..6 {
            self.trickle(30, true, steps);
            steps.push(Step::Cut { after: self.below(60) as u32, again: Vec::new() });
            self.trickle(30, true, steps);
            steps.extend([Step::Rest, Step::Scrub, Step::Rest]);
        }
    }

    /// Writes with reads between them, of what is written or of something else.
    fn trickle(&mut self, count: u64, is_same: bool, steps: &mut Vec<Step>) {
        let (from, span) = if is_same { (0, 24) } else { (30, 60) };
        for _ in 0..count {
            if !is_same || self.one_in(2) {
                steps.push(io(Op::Write, self.below(24), 1 + self.below(3) as u32, false));
            }
            if !is_same || self.one_in(2) {
                steps.push(io(Op::Read, from + self.below(span), 1 + self.below(4) as u32, false));
            }
        }
    }

    /// A log that collects while it is overwritten loses its power when a checkpoint has been written.
    fn checkpoints(&mut self, plan: &mut Plan) {
        if !self.one_in(4) {
            return;
        }
        let before = plan.clone();
        (plan.blocks, plan.segment) = (self.one_of(&[164, 200, 352]), 8);
        (plan.most, plan.collect) = (8, self.one_of(&[1, 1, 32]));
        if plan.problem().is_some() {
            *plan = before;
            return;
        }
        let span = 40 * u64::from(plan.drives);
        let mut steps: Vec<Step> =
            (0..span).step_by(16).map(|block| io(Op::Write, block, 16, false)).collect();
        for _ in 0..self.one_of(&[3, 6, 12]) {
            let (writes, after) = (1 + self.below(3) as u32, self.below(12) as u32);
            steps.push(Step::CutAfter { what: Metadata::Checkpoint, writes, after });
            for _ in 0..10 + self.below(30) {
                steps.push(io(Op::Write, self.below(span), 1 + self.below(16) as u32, self.one_in(6)));
            }
            if self.one_in(2) {
                steps.push(flush());
            }
            steps.extend([io(Op::Read, 0, span as u32, false), Step::Wait]);
        }
        plan.steps.splice(0..0, steps);
    }

    /// Blocks change after a restart: only the checksums that drives hold tell, those in the checkpoint of a
    /// log and the ones that layouts in place write when they are idle.
    fn restored_checksums(&mut self, plan: &mut Plan) {
        if !self.one_in(4) {
            return;
        }
        let drive = self.below(u64::from(plan.drives)) as u32;
        let span = 16 + self.below(48) as u32;
        let mut steps = vec![Step::Replace, Step::Rest, Step::Scrub, Step::Rest];
        steps.extend([io(Op::Write, 0, span, false), flush(), Step::Rest]);
        // An opening of a log ends with a checkpoint, so that the second one finds nothing behind it.
        steps.extend([cut(0), Step::Rest, cut(0), Step::Rest]);
        for _ in 0..1 + self.below(8) {
            let pick = self.random.bits() as u32;
            steps.push(Step::Fault(Fault { kind: FaultKind::Flip, drive, pick, factor: 1 }));
        }
        steps.extend([io(Op::Read, 0, span, false), Step::Rest, Step::Scrub, Step::Rest]);
        plan.steps.extend(steps);
    }

    /// The power goes while superblocks are written, because a drive has gone or has been replaced.
    fn superblocks(&mut self, plan: &mut Plan) {
        if !self.one_in(8) {
            return;
        }
        for _ in 0..1 + self.below(2) {
            let (writes, after) = (1 + self.below(6) as u32, self.below(8) as u32);
            self.insert(&mut plan.steps, Step::CutAfter { what: Metadata::Superblock, writes, after });
        }
    }
}

fn io(op: Op, block: u64, blocks: u32, fua: bool) -> Step {
    Step::Io { op, block, blocks, fua }
}

fn flush() -> Step {
    io(Op::Flush, 0, 0, false)
}

fn cut(after: u32) -> Step {
    Step::Cut { after, again: Vec::new() }
}

fn fault(kind: FaultKind, drive: u32) -> Step {
    Step::Fault(Fault { kind, drive, pick: 0, factor: 1 })
}
