//! Plans for what stands on an array or a drive: what is drawn for arrays, changed so that a log of keys goes
//! round several times, or requests of several connections meet in one block of the drive.

use super::damage::damage;
use super::{Draw, plan_of_constant_members as plan_of_array, without_room};
use crate::drive::Backend;
use crate::fault::{Fault, FaultKind};
use crate::plan::{KvKeep, Plan, Step, SubjectKind};
use tailcut_base::Op;
use tailcut_base::random::Stream;
use tailcut_host::array::LayoutKind;

/// Of a key-value engine.
pub(super) fn kv(seed: u64, layouts: &[LayoutKind], has_damage: bool) -> Plan {
    let mut draw = Draw { random: Stream::new(seed, "torture keys") };
    let (mut plan, is_drive) = draw.below_it(seed, layouts);
    plan.subject = SubjectKind::Kv;
    plan.keep = draw.one_of(&[KvKeep::Store, KvKeep::Store, KvKeep::Cache, KvKeep::CacheAtOnce]);
    (plan.item, plan.kv_segment) = draw.one_of(&[(512, 4), (1200, 4), (4608, 8), (12_000, 8)]);
    plan.keys = draw.one_of(&[8, 40, 40, 120]);
    // A dozen segments and some, so that they are used again.
    let least = u64::from(plan.kv_segment) * draw.one_of(&[16, 20, 40]);
    plan.blocks = match plan.layout {
        _ if is_drive => least,
        // Metadata, and in three drives a copy of what the other two have.
        LayoutKind::Epochs => plan.blocks.max(2 * least),
        layout if layout.is_in_place() => plan.blocks.max(least) + plan.journal,
        _ => plan.blocks.max(least + 320),
    };
    // Full of its log, so that segments are used again; and trims of all keys, which are flushes of all
    // items.
    let more = draw.one_of(&[0, 0, 100, 300]);
    for _ in 0..more {
        let (block, blocks) = (draw.below(plan.keys), 1 + draw.below(12) as u32);
        let op = if draw.one_in(6) { Op::Trim } else { Op::Write };
        draw.insert(&mut plan.steps, Step::Io { op, block, blocks, fua: false });
    }
    if draw.one_in(4) {
        let fua = draw.one_in(2);
        draw.insert(&mut plan.steps, Step::Io { op: Op::Trim, block: 0, blocks: u32::MAX, fua });
    }
    // Bits that flip while the power is away, and are met as the store is opened.
    if is_drive && draw.one_in(2) {
        for _ in 0..1 + draw.below(4) {
            let at = draw.below(plan.steps.len() as u64 + 1) as usize;
            let (flush, wait) = (Step::Io { op: Op::Flush, block: 0, blocks: 0, fua: false }, Step::Wait);
            let pick = draw.below(1 << 16) as u32;
            let flip = Step::Fault(Fault { kind: FaultKind::Flip, drive: 0, pick, factor: 1 });
            let cut = Step::Cut { after: 0, again: Vec::new() };
            plan.steps.splice(at..at, [flush, wait, flip, cut]);
        }
    }
    Draw { random: Stream::new(seed, "torture reclaims") }.reclaims(&mut plan);
    if has_damage {
        damage(seed, is_drive, &mut plan);
    }
    if !is_drive {
        without_room(seed, &mut plan);
    }
    if !has_damage {
        Draw { random: Stream::new(seed, "torture threads") }.threads(&mut plan);
    }
    checked(plan, layouts)
}

/// Of a block server.
pub(super) fn block(seed: u64, layouts: &[LayoutKind]) -> Plan {
    let mut draw = Draw { random: Stream::new(seed, "torture cells") };
    let (mut plan, is_drive) = draw.below_it(seed, layouts);
    plan.subject = SubjectKind::Block;
    plan.cell = draw.one_of(&[512, 512, 1024, 2048, 4096]);
    plan.connections = draw.one_of(&[1, 2, 3, 8]);
    if is_drive {
        plan.blocks = draw.one_of(&[8, 32, 64]);
    }
    for step in &mut plan.steps {
        if let Step::Io { op: Op::Trim, fua, .. } = step {
            *fua = draw.one_in(4);
        }
    }
    if !is_drive {
        without_room(seed, &mut plan);
    }
    checked(plan, layouts)
}

/// Of an SSD.
pub(super) fn ssd(seed: u64) -> Plan {
    let mut draw = Draw { random: Stream::new(seed, "torture ssd") };
    let mut plan = plan_of_array(seed, &[LayoutKind::Raid0]);
    (plan.has_array, plan.drives, plan.groups, plan.weak) = (false, 1, 1, None);
    (plan.subject, plan.backend) = (SubjectKind::Ssd, Backend::SsdContent);
    (plan.blocks, plan.most) = (draw.one_of(&[40, 100, 200]), draw.one_of(&[32, 256]));
    let more = draw.one_of(&[0, 100, 400]);
    for _ in 0..more {
        let (block, blocks) = (draw.below(plan.blocks), 1 + draw.below(8) as u32);
        let op = draw.one_of(&[Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim]);
        let fua = op == Op::Write && draw.one_in(8);
        draw.insert(&mut plan.steps, Step::Io { op, block, blocks, fua });
    }
    for _ in 0..draw.below(4) {
        let cut = Step::Cut { after: draw.below(60) as u32, again: Vec::new() };
        draw.insert(&mut plan.steps, cut);
    }
    checked(plan, &[LayoutKind::Raid0])
}

/// What does not fit together after all is not worth a seed.
fn checked(plan: Plan, layouts: &[LayoutKind]) -> Plan {
    assert_eq!(plan.problem(), None, "seed {} of {layouts:?}", plan.seed);
    plan
}

impl Draw {
    /// Some stores are overwritten again and again while the power goes: what was copied out of a segment
    /// must be durable before the segment is used again.
    fn reclaims(&mut self, plan: &mut Plan) {
        if plan.keep != KvKeep::Store || plan.weak.is_some() || !self.one_in(3) {
            return;
        }
        let flush = Step::Io { op: Op::Flush, block: 0, blocks: 0, fua: false };
        let all = Step::Io { op: Op::Write, block: 0, blocks: u32::MAX, fua: false };
        plan.steps.extend([all, flush.clone()]);
        for _ in 0..self.one_of(&[6, 12, 24]) {
            for _ in 0..1 + self.below(20) {
                let (block, blocks) = (self.below(plan.keys), 1 + self.below(6) as u32);
                plan.steps.push(Step::Io { op: Op::Write, block, blocks, fua: false });
            }
            if self.one_in(4) {
                plan.steps.push(flush.clone());
            }
            // No further work arrives while the current work continues.
            let after = self.below(60) as u32;
            plan.steps.extend([Step::Wait, Step::Cut { after, again: Vec::new() }, Step::Rest]);
        }
    }

    /// Some stores are served by several threads.
    fn threads(&mut self, plan: &mut Plan) {
        if !self.one_in(3) {
            return;
        }
        plan.threads = self.one_of(&[2, 3, 3, 4]).min(plan.drive_depth + 1);
        // A drive by itself keeps a flipped bit out of the superblocks of one store.
        let is_flip = |step: &Step| matches!(step, Step::Fault(fault) if fault.kind == FaultKind::Flip);
        if !plan.has_array && plan.steps.iter().any(is_flip) {
            plan.threads = 2;
        }
        plan.blocks *= u64::from(plan.shards());
    }

    /// The storage below, with steps, faults and power cuts; and whether it is a drive.
    fn below_it(&mut self, seed: u64, layouts: &[LayoutKind]) -> (Plan, bool) {
        let is_drive = self.one_in(2);
        if !is_drive {
            return (plan_of_array(seed, layouts), false);
        }
        let mut plan = plan_of_array(seed, &[LayoutKind::Raid0]);
        (plan.has_array, plan.drives, plan.groups, plan.weak) = (false, 1, 1, None);
        (plan, true)
    }
}
