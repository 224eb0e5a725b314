//! The bench that a subject stands on: drives, the order of events, the power, and the checkers that look on.

mod events;
mod faults;
mod host;
mod members;
mod power;

use super::drive::{Drive, Health, Model, Moment};
use super::history::{History, Pending};
use super::mutant::Mutant;
use super::mutated::Mutated;
use super::plan::{Metadata, Plan};
use super::subject::{Subject, SubjectHealth};
use super::tally::{Reached, Tally};
use super::wrong::{Violation, ViolationKind};
use members::Members;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use tailcut_base::digest::Digest;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::array::ArrayConfig;

/// Why a run ends before its plan does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A promise was broken.
    Wrong(Violation),
    /// More has failed than the redundancy covers, and the fault model promises nothing for that.
    Over,
}

/// When something is due, its order among others of the moment, drive and slot of the command, and whether it
/// is done then.
type Due = Reverse<(Time, u64, usize, u32, bool)>;

/// When the power goes.
#[derive(Clone, Copy, Debug)]
pub struct Fuse {
    /// Writes of metadata that come first.
    writes: u32,
    /// The kind of metadata.
    what: Metadata,
    /// Events after that.
    events: u32,
}

impl Fuse {
    /// Cuts the power `events` events from now.
    pub fn events(events: u32) -> Fuse {
        Fuse { writes: 0, what: Metadata::Superblock, events }
    }

    /// `events` events after a write of metadata, which is the first, second, … from now.
    pub fn after(writes: u32, what: Metadata, events: u32) -> Fuse {
        Fuse { writes, what, events }
    }
}

/// A callback that receives a description of each event.
pub type Watch<'w> = &'w mut dyn FnMut(Time, String);

/// A subject, its drives and its host.
pub struct Harness<'r, S> {
    pub(super) plan: &'r Plan,
    mutant: Option<Mutant>,
    config: ArrayConfig,
    model: Model,
    now: Time,
    pub(super) drives: Vec<Drive>,
    /// Made so far; names the random stream of the next one.
    made: u64,
    /// Commands that are to be half done or answered.
    due: BinaryHeap<Due>,
    /// Of one drive, while they are taken over.
    moments: Vec<Moment>,
    order: u64,
    pub(super) subject: Mutated<S>,
    pub(super) history: History,
    pub(super) pending: BTreeMap<u32, Pending>,
    ids: u32,
    /// When the power goes; then again, and again.
    pub(super) fuse: VecDeque<Fuse>,
    pub(super) events: u64,
    /// Events before the power came on.
    events_before: u64,
    /// Calls of the subject's own since time has gone on.
    calls: u32,
    random: Stream,
    /// Drives that may lack something.
    suspect: Vec<bool>,
    /// Drives that may hold undiscovered damage.
    scarred: Vec<bool>,
    /// Drives that were pulled since the power came on.
    pulled: Vec<usize>,
    /// Drives that were handed over with the last power.
    opened: Vec<usize>,
    /// Which drives there will be with the next power.
    pub(super) members: Members,
    /// More has been damaged than is made up for: errors are right.
    pub(super) is_beyond_repair: bool,
    is_scrubbing: bool,
    /// No drive may hold damage since the scrub began: it finds nothing.
    is_scrub_in_vain: bool,
    /// Drives on which a fault waited when the scrub began, or that were struck since: what was struck may be
    /// what the scrub had seen already.
    armed_at_scrub: Vec<bool>,
    is_rebuilding: bool,
    /// The power went under load, and nothing has been scrubbed since: of arrays with checksums in place some
    /// blocks have none.
    has_unchecked: bool,
    is_ready: bool,
    read_in_recovery: u64,
    /// Without redundancy: what may fail.
    reads_may_fail: bool,
    writes_may_fail: bool,
    /// Until when writes may be answered with an error because a drive has found no room.
    full_until: Time,
    /// Segments of a key-value log that have been damaged, with their sequences as their heads state them.
    damaged_segments: Vec<(u64, u64)>,
    /// One of the two superblocks of a store was damaged.
    has_superblock_damage: bool,
    is_lost: bool,
    pub(super) tally: Tally,
    digest: Digest,
    watch: Option<Watch<'r>>,
}

impl<'r, S: Subject> Harness<'r, S> {
    /// Blank drives and a new subject on them.
    pub fn new(plan: &'r Plan, mutant: Option<Mutant>, watch: Option<Watch<'r>>) -> Harness<'r, S> {
        let model = Model {
            blocks: plan.blocks,
            depth: plan.drive_depth.max(2),
            most_blocks: plan.most,
            volatile_cache: plan.cache,
            latency: (Nanos(plan.latency.0), Nanos(plan.latency.1)),
            backend: plan.backend,
            sealed: plan.sealed,
            has_control: plan.control,
            busy: plan.busy,
        };
        let count = plan.drives as usize;
        let disks = vec![model.disk(); count];
        let config = plan.array();
        let now = Time::ZERO;
        let subject = Mutated::new(S::create(now, plan, &disks), mutant);
        let mut harness = Harness {
            plan,
            mutant,
            config,
            model,
            now,
            drives: Vec::new(),
            made: 0,
            due: BinaryHeap::new(),
            moments: Vec::new(),
            order: 0,
            subject,
            history: History::new(0),
            pending: BTreeMap::new(),
            ids: 0,
            fuse: VecDeque::new(),
            events: 0,
            events_before: 0,
            calls: 0,
            random: Stream::new(plan.seed, "torture rig"),
            suspect: vec![false; count],
            scarred: vec![false; count],
            pulled: Vec::new(),
            opened: Vec::new(),
            members: Members::default(),
            is_beyond_repair: false,
            is_scrubbing: false,
            is_scrub_in_vain: false,
            armed_at_scrub: vec![false; count],
            is_rebuilding: false,
            has_unchecked: false,
            is_ready: false,
            read_in_recovery: 0,
            reads_may_fail: false,
            writes_may_fail: false,
            full_until: Time::ZERO,
            damaged_segments: Vec::new(),
            has_superblock_damage: false,
            is_lost: false,
            tally: Tally::default(),
            digest: Digest::new(),
            watch,
        };
        for drive in 0..count {
            let fail = if plan.weak == Some(drive as u32) { plan.fail } else { 0 };
            let drive = harness.blank(fail);
            // Its flash may fail at any moment.
            harness.suspect[harness.drives.len()] = drive.is_weak();
            harness.drives.push(drive);
        }
        harness
    }

    fn blank(&mut self, fail: u32) -> Drive {
        self.made += 1;
        let random = Stream::new(self.plan.seed, &format!("torture drive {}", self.made));
        Drive::new(&self.model, self.mutant, fail, random)
    }

    /// The digest of the run, with its counts included, and those counts; to be called once, at the end.
    pub fn done(&mut self) -> (u64, Tally) {
        self.digest_counts();
        self.count_findings();
        self.count_flash();
        (self.digest.value(), self.tally.clone())
    }

    pub(super) fn config(&self) -> &ArrayConfig {
        &self.config
    }

    pub(super) fn trace(&mut self, text: impl FnOnce() -> String) {
        if let Some(watch) = &mut self.watch {
            watch(self.now, text());
        }
    }

    /// Runs until `enough` returns true.
    pub(super) fn until(&mut self, what: &str, enough: impl Fn(&Harness<'r, S>) -> bool) -> Result<(), End> {
        loop {
            self.hand_over()?;
            if enough(self) {
                return Ok(());
            }
            if self.step()? {
                continue;
            }
            if !self.fuse.is_empty() {
                self.cut();
            } else if !enough(self) {
                let waiting = self.pending.len();
                return self.stuck(format!(
                    "nothing is under way, but not {what} ({waiting} requests of the host are unanswered)"
                ));
            }
        }
    }

    /// Runs until nothing is under way, and nothing will be.
    pub(super) fn settle(&mut self) -> Result<(), End> {
        self.until("at rest", |harness| {
            harness.is_at_rest() && harness.pending.is_empty() && harness.fuse.is_empty()
        })?;
        if let Err(message) = self.subject.inner().check_at_rest() {
            return Err(End::Wrong(Violation { kind: ViolationKind::Panic, message }));
        }
        self.full_until = self.now;
        self.check_members()?;
        if std::mem::take(&mut self.is_scrubbing) {
            self.check_scrub()?;
            self.tally.reach(Reached::Scrubbed, 1);
            self.tally.reach(Reached::FoundByScrub, self.subject.inner().findings().last_scrub);
            if self.config.layout.is_redundant() && !self.keeps_damage() {
                self.has_unchecked &= self.subject.inner().health() != SubjectHealth::Whole;
                self.scarred
                    .iter_mut()
                    .zip(&self.armed_at_scrub)
                    .for_each(|(scarred, &armed)| *scarred &= armed);
            }
        }
        if self.is_ready && self.is_at_rest() && self.subject.inner().is_durable_at_rest() {
            self.history.at_rest();
        }
        self.judge();
        Ok(())
    }

    /// A drive that is missing has given a reason for that.
    fn check_members(&self) -> Result<(), End> {
        let SubjectHealth::Degraded { missing, .. } = self.subject.inner().health() else { return Ok(()) };
        let is_there = |drive: usize| self.tally.cuts == 0 || self.opened.contains(&drive);
        let is_sound = |&&drive: &&usize| {
            is_there(drive) && !self.suspect[drive] && self.drives[drive].health() == Health::Well
        };
        let Some(drive) = missing.iter().find(is_sound) else { return Ok(()) };
        let message = format!("drive {drive} counts as missing, and nothing has gone wrong with it");
        Err(End::Wrong(Violation { kind: ViolationKind::Error, message }))
    }

    /// Where nothing has damaged what drives hold, copies agree and parities fit, whatever power cuts have
    /// left.
    fn check_scrub(&self) -> Result<(), End> {
        let subject = self.subject.inner();
        let found = subject.findings().last_scrub;
        // Of a write that was cut off a log may have stripes that nothing counts in, and that are repaired
        // nevertheless.
        let is_in_place = self.config.layout.is_in_place();
        let is_vain = is_in_place && self.is_scrub_in_vain && !self.is_beyond_repair;
        if found == 0 || !is_vain || subject.health() != SubjectHealth::Whole {
            return Ok(());
        }
        let message = format!("a scrub finds {found} blocks that are wrong, and nothing has damaged any");
        Err(End::Wrong(Violation { kind: ViolationKind::Inconsistent, message }))
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let is_busy = self.drives.iter().any(Drive::is_busy);
        self.due.is_empty() && !is_busy && self.subject.inner().next_event() == Time::NEVER
    }

    fn stuck(&mut self, message: String) -> Result<(), End> {
        Err(End::Wrong(Violation { kind: ViolationKind::Stuck, message }))
    }

    /// Counts the flash events of all drives, including those that were taken out.
    fn count_flash(&mut self) {
        for drive in self.drives.iter().chain(self.members.removed()) {
            let (bad_blocks, collections) = drive.flash_counts();
            self.digest.add(drive.digest_of_flash());
            self.tally.reach(Reached::BadBlock, bad_blocks);
            self.tally.reach(Reached::CollectedByDrive, collections);
        }
    }

    /// Adds what the subject has counted to the digest.
    pub(super) fn digest_counts(&mut self) {
        self.digest.add_numbers(&self.subject.inner().counts());
    }

    fn count_findings(&mut self) {
        let findings = self.subject.inner().findings();
        self.tally.reach(Reached::FoundCorrupt, findings.corrupt);
        self.tally.reach(Reached::Repaired, findings.repaired);
        self.tally.reach(Reached::DegradedRead, findings.degraded);
        self.tally.reach(Reached::HedgedRead, findings.hedged);
        self.tally.reach(Reached::Collected, findings.collected);
        self.tally.reach(Reached::Checkpointed, findings.checkpoints);
        self.tally.reach(Reached::Rotated, findings.rotations);
    }
}
