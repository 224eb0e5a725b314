//! A run: the steps of a plan, then repair, and the last looks at everything.

use super::arrays::Arrays;
use super::below::Below;
use super::block::BlockServer;
use super::drive::Drive;
use super::fault::FaultKind;
use super::harness::{End, Fuse, Harness, Watch};
use super::keys::Keys;
use super::mutant::Mutant;
use super::plan::{Plan, Step, SubjectKind};
use super::served::Served;
use super::subject::{Subject, SubjectHealth};
use super::tally::{Reached, Tally};
use super::wrong::{Violation, ViolationKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::Op;

/// How a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The promise that was broken; `None` if all were kept.
    pub wrong: Option<Violation>,
    /// Digest of all events: two runs of one plan have equal digests.
    pub digest: u64,
    /// The states and events that the run reached.
    pub tally: Tally,
}

/// Carries a plan out. The subject's own assertions panic.
pub fn run<'r>(plan: &'r Plan, mutant: Option<Mutant>, watch: Option<Watch<'r>>) -> Outcome {
    match plan.subject {
        SubjectKind::Arrays => run_subject::<Arrays>(plan, mutant, watch),
        SubjectKind::Kv if plan.threads > 0 => run_subject::<Served>(plan, mutant, watch),
        SubjectKind::Kv => run_subject::<Keys>(plan, mutant, watch),
        SubjectKind::Block => run_subject::<BlockServer>(plan, mutant, watch),
        SubjectKind::Ssd => run_subject::<Below>(plan, mutant, watch),
    }
}

fn run_subject<'r, S: Subject>(plan: &'r Plan, mutant: Option<Mutant>, watch: Option<Watch<'r>>) -> Outcome {
    let mut harness: Harness<'r, S> = Harness::new(plan, mutant, watch);
    let wrong = match harness.carry_out() {
        Ok(()) | Err(End::Over) => None,
        Err(End::Wrong(wrong)) => {
            harness.trace(|| format!("VIOLATION: {wrong}"));
            Some(wrong)
        }
    };
    let (digest, tally) = harness.done();
    Outcome { wrong, digest, tally }
}

/// As [`run`]; a panic is a broken promise like any other. Only where panics unwind.
pub fn attempt(plan: &Plan, mutant: Option<Mutant>) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(plan, mutant, None))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let message = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Outcome::panicked(message.unwrap_or_default())
    })
}

impl Outcome {
    /// The outcome of a run that ended with a panic of this message.
    pub fn panicked(message: String) -> Outcome {
        Outcome {
            wrong: Some(Violation { kind: ViolationKind::Panic, message }),
            digest: 0,
            tally: Tally::default(),
        }
    }
}

impl<S: Subject> Harness<'_, S> {
    fn carry_out(&mut self) -> Result<(), End> {
        self.until("ready", |harness| harness.subject.inner().is_ready())?;
        let (plan, before) = (self.plan, self.events);
        for step in &plan.steps {
            self.carry_out_step(step)?;
        }
        self.settle()?;
        self.tally.events = self.events - before;
        // The faults stop: pending ones must not strike amid the repair.
        self.drives.iter_mut().for_each(Drive::disarm);
        self.members.disarm();
        self.make_whole()?;
        self.look_at_all()?;
        self.look_without_some()
    }

    fn carry_out_step(&mut self, step: &Step) -> Result<(), End> {
        match step {
            Step::Io { op, block, blocks, fua } => self.submit(*op, *block, *blocks, *fua),
            Step::Wait => self.until("all answered", |harness| harness.pending.is_empty()),
            Step::Fault(fault) => {
                // Until a log at rest records what is durable, damage in the last writes cannot be
                // distinguished from a write that was cut off.
                if matches!(fault.kind, FaultKind::Flip | FaultKind::Corrupt | FaultKind::CorruptSuperblock)
                    && self.plan.subject == SubjectKind::Kv
                    && !self.plan.has_array
                {
                    // It records this when all of it is durable.
                    self.submit(Op::Flush, 0, 0, false)?;
                    self.until("at rest", |harness| harness.is_at_rest() && harness.pending.is_empty())?;
                }
                self.fault(fault);
                Ok(())
            }
            Step::Replace => self.replace(),
            Step::Scrub => self.scrub(),
            Step::Rest => self.settle(),
            Step::Cut { after, again } => {
                self.until("without power", |harness| harness.fuse.is_empty())?;
                self.fuse.extend(std::iter::once(after).chain(again).copied().map(Fuse::events));
                Ok(())
            }
            &Step::CutAfter { what, writes, after: events } => {
                self.until("without power", |harness| harness.fuse.is_empty())?;
                self.fuse.push_back(Fuse::after(writes, what, events));
                Ok(())
            }
        }
    }

    /// Replaces and compares until nothing is missing and nothing is found.
    fn make_whole(&mut self) -> Result<(), End> {
        if !self.config().layout.is_redundant() {
            return Ok(());
        }
        if self.is_beyond_repair {
            self.scrub()?;
            return self.settle();
        }
        for _ in 0..ROUNDS {
            self.replace()?;
            self.settle()?;
            self.scrub()?;
            self.settle()?;
            if self.is_whole() && self.keeps_damage() {
                return Ok(());
            } else if self.is_whole() {
                self.scrub_in_vain()?;
                if self.is_whole() {
                    return Ok(());
                }
                // A drive that wears out has done so just now.
            } else {
                self.touch_all()?;
            }
        }
        let redundancy = self.subject.inner().health();
        let health: Vec<_> = self.drives.iter().map(|drive| drive.health().to_string()).collect();
        self.not_repaired(format!(
            "after {ROUNDS} rounds of repair it is {redundancy}; its drives: {}",
            health.join(", ")
        ))
    }

    fn is_whole(&self) -> bool {
        self.subject.inner().health() == SubjectHealth::Whole
            && self.drives.iter().all(|drive| drive.health() == super::drive::Health::Well)
    }

    fn not_repaired(&self, message: String) -> Result<(), End> {
        Err(End::Wrong(Violation { kind: ViolationKind::NotRepaired, message }))
    }

    /// Data that has been compared once is right: comparing it once more finds nothing.
    fn scrub_in_vain(&mut self) -> Result<(), End> {
        let before = self.subject.inner().findings();
        self.scrub()?;
        self.settle()?;
        let after = self.subject.inner().findings();
        if after.hopeless > 0 {
            return self.not_repaired(format!("{} blocks could not be had for repair", after.hopeless));
        }
        if after.last_scrub == 0 {
            return Ok(());
        }
        self.not_repaired(format!(
            "a second scrub still finds something: {} blocks; the first found {}",
            after.last_scrub, before.last_scrub
        ))
    }

    /// Writes and reads everything, so that every drive is asked for something.
    fn touch_all(&mut self) -> Result<(), End> {
        for block in (0..self.history.blocks()).step_by(AT_ONCE as usize) {
            self.submit(Op::Write, block, self.at_once(block), false)?;
        }
        self.submit(Op::Flush, 0, 0, false)?;
        self.look_at_all()
    }

    fn at_once(&self, block: u64) -> u32 {
        (self.history.blocks() - block).min(u64::from(AT_ONCE)) as u32
    }

    /// Reads everything; the reads are checked as always.
    fn look_at_all(&mut self) -> Result<(), End> {
        for block in (0..self.history.blocks()).step_by(AT_ONCE as usize) {
            self.submit(Op::Read, block, self.at_once(block), false)?;
        }
        self.settle()
    }

    /// After a flush and a last power cut everything is there, also without one drive of each group, or as
    /// many as there are further copies.
    fn look_without_some(&mut self) -> Result<(), End> {
        self.submit(Op::Flush, 0, 0, false)?;
        self.settle()?;
        self.tally.cuts += 1;
        self.power_off();
        let (drives, width) = (self.drives.len(), self.config().width());
        // A drive that may still wear out is the one that is taken away.
        let weak = self.drives.iter().position(|drive| drive.is_weak());
        // Likewise one that holds damage which nothing finds.
        let weak = weak.or_else(|| self.damaged_for_good());
        let away = weak.unwrap_or(self.plan.seed as usize) % width;
        let is_taken = self.config().layout.is_redundant() && !self.is_resynced() && !self.is_beyond_repair;
        let spare = if self.config().layout.is_mirrored() { self.plan.copies as usize - 1 } else { 1 };
        let is_away = |drive: usize| (drive % width + width - away) % width < spare;
        let is_left =
            |harness: &Self, drive: usize| harness.drives[drive].is_there() && !(is_taken && is_away(drive));
        let left: Vec<usize> = (0..drives).filter(|&drive| is_left(self, drive)).collect();
        self.open(left);
        self.look_at_all()?;
        self.tally.reach(Reached::ProbedWithout, u64::from(is_taken));
        Ok(())
    }
}

/// Rounds of repair until it should be whole: one drive of each group may be known to be missing, another may
/// show only when it is written to.
const ROUNDS: u32 = 5;

/// Blocks of a request that looks at everything.
const AT_ONCE: u32 = 16;
