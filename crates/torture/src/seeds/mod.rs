//! The plan of a seed: layout, drives, load and faults. Each kind of fault and of request is left out of
//! many plans altogether, because what is rare beside something frequent is then frequent somewhere
//! (swarm testing: Groce, Zhang, Eide, Chen, Regehr, ISSTA 2012).

mod above;
mod damage;
mod members;
mod moments;

use super::drive::Backend;
use super::fault::{Fault, FaultKind};
use super::plan::{Plan, Step, SubjectKind};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{LayoutKind, ReadPolicy};

/// The layouts under a name: its own, or a name for several.
pub fn layouts(name: &str) -> Option<Vec<LayoutKind>> {
    let all = READY.iter().copied();
    let some: Vec<LayoutKind> = match name {
        "arrays" => all.collect(),
        "raid" => all.filter(|layout| layout.is_in_place() && !layout.is_mirrored()).collect(),
        "log" => all.filter(|layout| !layout.is_in_place()).collect(),
        _ => all.filter(|layout| layout.name() == name).collect(),
    };
    (!some.is_empty()).then_some(some)
}

/// What plans are drawn for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What is tortured: an array, the key-value engine, the block server or a drive.
    pub subject: SubjectKind,
    /// The layouts that plans are drawn from.
    pub layouts: Vec<LayoutKind>,
    /// Drives of a key-value engine damage single blocks while it is at rest.
    has_damage: bool,
}

/// The subject of a name: arrays of some layouts, or a subject that runs on any of them or on a drive.
pub fn target(name: &str) -> Option<Target> {
    let subject = match name {
        "kv" | "kv-damage" => SubjectKind::Kv,
        "block" => SubjectKind::Block,
        "ssd" => SubjectKind::Ssd,
        _ => {
            let of_arrays = |layouts| Target { subject: SubjectKind::Arrays, layouts, has_damage: false };
            return layouts(name).map(of_arrays);
        }
    };
    Some(Target { subject, layouts: STEADY.to_vec(), has_damage: name == "kv-damage" })
}

impl Target {
    /// Draws the plan of a seed.
    pub fn plan(&self, seed: u64) -> Plan {
        match self.subject {
            SubjectKind::Arrays => plan(seed, &self.layouts),
            SubjectKind::Kv => above::kv(seed, &self.layouts, self.has_damage),
            SubjectKind::Block => above::block(seed, &self.layouts),
            SubjectKind::Ssd => above::ssd(seed),
        }
    }
}

/// The names that [`target`] understands.
pub fn subjects() -> Vec<&'static str> {
    let mut names = vec!["arrays", "kv", "kv-damage", "block", "ssd", "raid"];
    if READY.iter().any(|layout| !layout.is_in_place()) {
        names.push("log");
    }
    names.extend(READY.iter().map(|layout| layout.name()));
    names
}

/// The layouts that there are.
const READY: &[LayoutKind] = &[
    LayoutKind::Raid0,
    LayoutKind::Raid4,
    LayoutKind::Raid5,
    LayoutKind::LogRaid0,
    LayoutKind::LogRaid4,
    LayoutKind::LogRaid5,
    LayoutKind::Swan0,
    LayoutKind::Swan4,
    LayoutKind::Swan5,
    LayoutKind::Epochs,
];

/// What other subjects stand on: one of each kind, and where collection ends however small the drives are.
const STEADY: &[LayoutKind] = &[
    LayoutKind::Raid0,
    LayoutKind::Raid5,
    LayoutKind::LogRaid5,
    LayoutKind::Swan5,
    LayoutKind::Epochs,
    LayoutKind::Epochs,
];

/// Draws the plan of a seed for an array of one of `layouts`.
pub fn plan(seed: u64, layouts: &[LayoutKind]) -> Plan {
    let mut plan = plan_of_constant_members(seed, layouts);
    Draw { random: Stream::new(seed, "torture members") }.members(&mut plan);
    if plan.layout.is_in_place() {
        Draw { random: Stream::new(seed, "torture checksums in place") }.checksums_in_place(&mut plan);
    }
    moments::moments(seed, &mut plan);
    without_room(seed, &mut plan);
    plan
}

/// Drives are full for a while. Drawn last, from a stream of its own: the rest of a plan stays what it is.
fn without_room(seed: u64, plan: &mut Plan) {
    let mut draw = Draw { random: Stream::new(seed, "torture full drives") };
    if !draw.one_in(4) {
        return;
    }
    for _ in 0..1 + draw.below(3) {
        let drive = draw.below(u64::from(plan.drives)) as u32;
        let (pick, kind) = (1 + draw.below(40) as u32, FaultKind::Full);
        draw.insert(&mut plan.steps, Step::Fault(Fault { kind, drive, pick, factor: 1 }));
    }
}

/// A plan without faults of members, for subjects that run on arrays.
fn plan_of_constant_members(seed: u64, layouts: &[LayoutKind]) -> Plan {
    let mut plan = Draw { random: Stream::new(seed, "torture plan") }.plan(seed, layouts);
    if !plan.layout.is_in_place() && plan.layout.has_parity() {
        Draw { random: Stream::new(seed, "torture tokens") }.tokens(&mut plan);
        plan.sealed = !Draw { random: Stream::new(seed, "torture seals") }.one_in(3);
    }
    if plan.layout.is_mirrored() {
        Draw { random: Stream::new(seed, "torture copies") }.copies(&mut plan);
    }
    Draw { random: Stream::new(seed, "torture rare") }.rare(&mut plan);
    drop_invalid_weakness(&mut plan);
    plan
}

/// What is rare may come with power cuts.
fn drop_invalid_weakness(plan: &mut Plan) {
    plan.weak = plan.weak.filter(|_| plan.problem().is_none());
    if plan.weak.is_none() {
        plan.fail = Plan::default().fail;
    }
}

struct Draw {
    random: Stream,
}

/// How often which request comes, and what it is like.
struct Load {
    weights: [(Op, u64); 4],
    most_blocks: u64,
    fua_ppm: u32,
    wait_ppm: u32,
    /// Blocks that are used.
    span: u64,
    /// The share of requests that goes to a sixteenth of them.
    hot_ppm: u32,
}

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn plan(&mut self, seed: u64, layouts: &[LayoutKind]) -> Plan {
        let layout = self.one_of(layouts);
        let mut plan = Plan { seed, layout, ..Plan::default() };
        self.shape(&mut plan);
        self.backend(&mut plan);
        let load = self.load(&plan);
        let length = self.one_of(&[20, 60, 150, 300]);
        plan.steps = (0..length).map(|_| self.io(&load)).collect();
        for _ in 0..length {
            if self.random.chance_ppm(load.wait_ppm) {
                self.insert(&mut plan.steps, Step::Wait);
            }
        }
        // A log that is full collects what is overwritten.
        if !layout.is_in_place() && self.one_in(3) {
            self.churn(&mut plan);
        }
        // A bitmap of intents withstands a fault or a power cut, not both.
        let is_either = layout.has_parity() && layout.is_in_place() && plan.write_hole == WriteHole::Resync;
        let (has_faults, has_cuts) = match (is_either, self.one_in(2)) {
            (true, has_faults) => (has_faults, !has_faults),
            (false, _) => (true, true),
        };
        if has_faults {
            self.faults(&mut plan);
        }
        if has_cuts {
            self.cuts(&mut plan);
        }
        self.weakness(&mut plan);
        if has_faults {
            self.failed_flushes(&mut plan);
        }
        plan
    }

    /// Some drives are SSDs, which collect garbage themselves.
    fn backend(&mut self, plan: &mut Plan) {
        if self.one_in(5) {
            plan.backend = Backend::Ssd;
        }
    }

    /// One of them may wear out.
    fn weakness(&mut self, plan: &mut Plan) {
        let fail = self.one_of(&[20_000, 60_000, 200_000]);
        if plan.backend == Backend::Ssd && self.one_in(2) {
            (plan.weak, plan.fail) = (Some(self.below(u64::from(plan.drives)) as u32), fail);
        }
        drop_invalid_weakness(plan);
    }

    fn shape(&mut self, plan: &mut Plan) {
        let least = if plan.layout.is_redundant() { 3 } else { 1 };
        plan.groups = if plan.layout.is_swan() { 2 + self.below(2) as u32 } else { 1 };
        plan.drives = plan.groups * (least + self.below(3) as u32);
        if plan.layout.is_mirrored() {
            self.epochs(plan);
        } else if plan.layout.is_in_place() {
            plan.chunk = self.one_of(&[1, 2, 3, 8]);
            plan.blocks = self.one_of(&[160, 200, 400]);
            let least = 2 * u64::from(plan.drives) + 3;
            plan.journal = self.one_of(&[least, least + 5, 40, 64]).max(least);
            plan.write_hole = self.one_of(&[WriteHole::Journal, WriteHole::Journal, WriteHole::Resync]);
        } else {
            plan.blocks = self.one_of(&[352, 480, 720]);
            plan.collect = self.one_of(&[1, 32]);
            plan.checkpoint = self.one_of(&[40_000, 125_000]);
        }
        plan.most = self.one_of(&[8, 32, 256]);
        plan.cache = !self.one_in(4);
        plan.latency = self.one_of(&[(50_000, 50_000), (20_000, 100_000), (10_000, 2_000_000)]);
        plan.depth = self.one_of(&[1, 4, 16, 64]);
        plan.drive_depth = self.one_of(&[1, 2, 8, 32]);
        plan.queue = self.one_of(&[1, 2, 4, 16]);
        plan.reads = self.one_of(ReadPolicy::all());
        plan.slow_after = if plan.layout.is_redundant() { self.one_of(&[0, 0, 60_000, 300_000]) } else { 0 };
    }

    fn epochs(&mut self, plan: &mut Plan) {
        plan.groups = 2 + self.below(3) as u32;
        plan.drives = plan.groups + self.below(4) as u32;
        plan.chunk = self.one_of(&[1, 2, 3, 8]);
        plan.blocks = self.one_of(&[60, 100, 200]);
        self.waits(plan);
    }

    fn waits(&mut self, plan: &mut Plan) {
        plan.dirty = self.one_of(&[4, 16, 64]);
        plan.waits = self.one_of(&[(0, 3_000_000), (200_000, 20_000_000), (3_000_000, 200_000_000)]);
        plan.mode = self.one_of(EpochMode::all());
        plan.control = !self.one_in(3);
    }

    /// Of some logs one drive of a group at a time is written.
    fn tokens(&mut self, plan: &mut Plan) {
        plan.tokens = self.one_in(3);
        if plan.tokens {
            self.waits(plan);
            if plan.reads == ReadPolicy::AroundCollection {
                plan.reads = ReadPolicy::Direct;
            }
        }
    }

    /// Some drives have no protection information, and the array keeps block checksums.
    fn checksums_in_place(&mut self, plan: &mut Plan) {
        plan.sealed = !self.one_in(3);
        plan.sealed |= plan.problem().is_some();
    }

    /// Of some blocks there are more than two copies.
    fn copies(&mut self, plan: &mut Plan) {
        plan.copies = self.one_of(&[2, 2, 3, 4]);
        if plan.copies > 2 {
            plan.groups = plan.groups.max(plan.copies);
            plan.drives = plan.drives.next_multiple_of(plan.groups);
            plan.blocks = plan.blocks.max(100);
        }
    }

    fn load(&mut self, plan: &Plan) -> Load {
        let mut weights = [(Op::Write, 8), (Op::Read, 6), (Op::Trim, 2), (Op::Flush, 1)];
        for (op, weight) in &mut weights {
            *weight *= self.one_of(&[0, 1, 1, 3]);
            if *op == Op::Write {
                *weight = (*weight).max(2);
            }
        }
        Load {
            weights,
            most_blocks: self.one_of(&[1, 4, 4, 20]),
            fua_ppm: self.one_of(&[0, 0, 200_000, 1_000_000]),
            wait_ppm: self.one_of(&[0, 20_000, 100_000]),
            span: self.one_of(&[8, 40, u64::from(plan.drives) * plan.blocks]),
            hot_ppm: self.one_of(&[0, 500_000, 900_000]),
        }
    }

    fn io(&mut self, load: &Load) -> Step {
        let total = load.weights.iter().map(|&(_, weight)| weight).sum();
        let mut pick = self.below(total);
        let mut op = Op::Write;
        for &(candidate, weight) in &load.weights {
            if pick < weight {
                op = candidate;
                break;
            }
            pick -= weight;
        }
        let span = if self.random.chance_ppm(load.hot_ppm) { load.span.div_ceil(16) } else { load.span };
        let (block, blocks) = (self.below(span), 1 + self.below(load.most_blocks) as u32);
        let fua = op == Op::Write && self.random.chance_ppm(load.fua_ppm);
        if op == Op::Flush {
            return Step::Io { op, block: 0, blocks: 0, fua };
        }
        Step::Io { op, block, blocks, fua }
    }

    /// Writes everything, and goes on with what collection finds hardest: overwrites of what is being moved,
    /// reads that take longer than the collection of what they read, and power cuts all the while.
    fn churn(&mut self, plan: &mut Plan) {
        let all = u64::from(plan.drives) * plan.blocks;
        let write = |block, blocks| Step::Io { op: Op::Write, block, blocks, fua: false };
        let filled: Vec<Step> = (0..all).step_by(16).map(|block| write(block, 16)).collect();
        let mut churned: Vec<Step> = (0..all / 2).map(|_| write(self.below(all), 1)).collect();
        for _ in 0..self.one_of(&[0, 4, 12]) {
            let at = self.below(churned.len() as u64 + 1) as usize;
            let drive = self.below(u64::from(plan.drives)) as u32;
            let slow = Fault { kind: FaultKind::Slow, drive, pick: 1, factor: 1000 };
            let read = Step::Io { op: Op::Read, block: self.below(all), blocks: 16, fua: false };
            churned.splice(at..at, [Step::Fault(slow), read]);
        }
        for _ in 0..self.one_of(&[0, 4, 12]) {
            let after = self.below(60) as u32;
            self.insert(&mut churned, Step::Cut { after, again: Vec::new() });
        }
        plan.steps.splice(0..0, filled.into_iter().chain(churned));
    }

    fn insert(&mut self, steps: &mut Vec<Step>, step: Step) {
        let at = self.below(steps.len() as u64 + 1) as usize;
        steps.insert(at, step);
    }

    fn faults(&mut self, plan: &mut Plan) {
        if self.one_in(4) {
            return;
        }
        let is_late = |kind| {
            kind == FaultKind::FailFlush
                || is_of_members(kind)
                || is_rare(kind, plan.layout)
                || is_for_moments(kind)
        };
        for &kind in FaultKind::all() {
            if is_late(kind) || !is_possible(kind, plan.layout) || !self.one_in(3) {
                continue;
            }
            for _ in 0..1 + self.below(3) {
                let fault = self.fault(kind, plan);
                self.insert(&mut plan.steps, Step::Fault(fault));
            }
        }
        if plan.layout.is_redundant() {
            for _ in 0..self.below(4) {
                self.insert(&mut plan.steps, Step::Replace);
            }
            if self.one_in(3) {
                self.insert(&mut plan.steps, Step::Scrub);
            }
        }
    }

    /// Drawn last: the plans of seeds that were found before stay what they are, but for this.
    fn failed_flushes(&mut self, plan: &mut Plan) {
        if !is_possible(FaultKind::FailFlush, plan.layout) || !self.one_in(4) {
            return;
        }
        for _ in 0..1 + self.below(3) {
            let fault = self.fault(FaultKind::FailFlush, plan);
            self.insert(&mut plan.steps, Step::Fault(fault));
        }
    }

    /// Faults after which less is promised, or that come with the power: in few plans, so that the others are
    /// as strict as they can be.
    fn rare(&mut self, plan: &mut Plan) {
        let layout = plan.layout;
        let is_either = layout.has_parity() && layout.is_in_place() && plan.write_hole == WriteHole::Resync;
        let kinds: Vec<FaultKind> =
            FaultKind::all().iter().copied().filter(|&k| is_rare(k, layout)).collect();
        let kind = self.one_of(&kinds);
        let is_power = matches!(kind, FaultKind::Grow | FaultKind::Shrink);
        if !self.one_in(6) || !is_possible(kind, layout) || is_either && !is_power {
            return;
        }
        for _ in 0..1 + self.below(3) {
            let fault = self.fault(kind, plan);
            self.insert(&mut plan.steps, Step::Fault(fault));
        }
        if is_power {
            let after = self.below(20) as u32;
            self.insert(&mut plan.steps, Step::Cut { after, again: Vec::new() });
        }
    }

    fn fault(&mut self, kind: FaultKind, plan: &Plan) -> Fault {
        let drive = self.below(u64::from(plan.drives)) as u32;
        let (pick, factor) = match kind {
            FaultKind::Slow => (1 + self.below(60) as u32, self.one_of(&[10, 100, 1000])),
            FaultKind::FailWrite => (1 + self.below(4) as u32, 1),
            FaultKind::Kill | FaultKind::Pull | FaultKind::ReadOnly | FaultKind::FailFlush => (0, 1),
            _ => (self.below(1 << 16) as u32, 1),
        };
        Fault { kind, drive, pick, factor }
    }

    fn cuts(&mut self, plan: &mut Plan) {
        for _ in 0..self.one_of(&[0, 1, 1, 2, 3]) {
            let again = (0..self.one_of(&[0, 0, 1, 2])).map(|_| self.below(60) as u32).collect();
            let after = self.one_of(&[0, 1, 3, 10, 40]);
            let cut = Step::Cut { after: self.below(after + 1) as u32, again };
            self.insert(&mut plan.steps, cut);
        }
    }
}

/// Whether the fault model of the layout knows this fault.
pub fn is_possible(kind: FaultKind, layout: LayoutKind) -> bool {
    use FaultKind::*;
    match kind {
        Slow | SlowSuperblock => true,
        Kill | FailWrite | FailFlush | ReadOnly => layout.is_redundant() || layout == LayoutKind::Raid0,
        Flip | Unreadable => layout.is_redundant() || layout == LayoutKind::Raid0,
        Pull | Return => layout.is_redundant(),
        Misdirect => {
            layout == LayoutKind::Raid0
                || layout.is_redundant() && !(layout.has_parity() && layout.is_in_place())
        }
        Twin => layout.is_in_place() && layout.is_redundant(),
        // Of a store: on a drive by itself, and on one of several copies.
        Corrupt => layout == LayoutKind::Raid0 || layout.is_mirrored(),
        CorruptSuperblock => layout == LayoutKind::Raid0,
        Grow | Shrink | Halves | Full => true,
    }
}

/// Whether a fault changes which drives the array is opened from.
fn is_of_members(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Return | FaultKind::Halves)
}

/// Whether a fault is drawn with the steps around it that make it matter.
fn is_for_moments(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Corrupt | FaultKind::CorruptSuperblock | FaultKind::SlowSuperblock | FaultKind::Full
    )
}

/// Whether a fault is in few plans: more is wrong than the layout makes up for, or it comes with the power.
fn is_rare(kind: FaultKind, layout: LayoutKind) -> bool {
    use FaultKind::*;
    matches!(kind, Twin | Grow | Shrink) || kind == Misdirect && !layout.has_parity()
}
