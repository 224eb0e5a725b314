//! The bench that a subject stands on: drives, the order of events, the power, and the checkers that look on.

use super::canary::Canary;
use super::drive::{Drive, Health, Model, Moment};
use super::fault::{Fault, FaultKind};
use super::history::{History, Pending};
use super::plan::Plan;
use super::planted::Planted;
use super::seeds::is_possible;
use super::stamp::{Content, Stamp};
use super::subject::{Subject, Wellness};
use super::tally::{Reached, Tally};
use super::wrong::{Wrong, WrongKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use tailcut_base::digest::Digest;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, Status, Time};
use tailcut_host::array::ArrayConfig;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::{Bytes, Disk, Request, Response};

/// Why a run ends before its plan does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A promise was broken.
    Wrong(Wrong),
    /// More has failed than can be made up for, and nobody promised that it could.
    Over,
}

/// When something is due, its order among others of the moment, drive and slot of the command, and whether it is
/// done then.
type Due = Reverse<(Time, u64, usize, u32, bool)>;

/// Whoever wants to know what happens.
pub type Watch<'w> = &'w mut dyn FnMut(Time, String);

/// A subject, its drives and its host.
pub struct Rig<'r, S> {
    pub(super) plan: &'r Plan,
    canary: Option<Canary>,
    config: ArrayConfig,
    model: Model,
    pub(super) now: Time,
    pub(super) drives: Vec<Drive>,
    /// Made so far; names the random stream of the next one.
    made: u64,
    /// Commands that are to be half done or answered.
    due: BinaryHeap<Due>,
    /// Of one drive, while they are taken over.
    moments: Vec<Moment>,
    order: u64,
    pub(super) subject: Planted<S>,
    pub(super) history: History,
    pub(super) pending: BTreeMap<u32, Pending>,
    ids: u32,
    /// Events until the power goes; then again, and again.
    pub(super) fuse: VecDeque<u32>,
    pub(super) events: u64,
    /// Calls of the subject's own since time has gone on.
    calls: u32,
    random: Stream,
    /// Drives that may lack something.
    suspect: Vec<bool>,
    /// Drives that may hold damage which nobody has found.
    scarred: Vec<bool>,
    /// Drives that were pulled since the power came on.
    pulled: Vec<usize>,
    is_scrubbing: bool,
    is_rebuilding: bool,
    is_ready: bool,
    read_in_recovery: u64,
    /// Without redundancy: what may fail.
    reads_may_fail: bool,
    writes_may_fail: bool,
    pub(super) is_lost: bool,
    pub(super) tally: Tally,
    digest: Digest,
    watch: Option<Watch<'r>>,
}

impl<'r, S: Subject<Config = ArrayConfig>> Rig<'r, S> {
    /// Blank drives and a new subject on them.
    pub fn new(plan: &'r Plan, canary: Option<Canary>, watch: Option<Watch<'r>>) -> Rig<'r, S> {
        let model = Model {
            blocks: plan.blocks,
            depth: plan.drive_depth.max(2),
            most_blocks: plan.most,
            volatile_cache: plan.cache,
            latency: (Nanos(plan.latency.0), Nanos(plan.latency.1)),
            backend: plan.backend,
            has_control: plan.control,
        };
        let count = plan.drives as usize;
        let disks = vec![model.disk(); count];
        let config = plan.array();
        let now = Time::ZERO;
        let subject = Planted::new(S::create(now, &config, &disks), canary);
        let mut rig = Rig {
            plan,
            canary,
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
            calls: 0,
            random: Stream::new(plan.seed, "torture rig"),
            suspect: vec![false; count],
            scarred: vec![false; count],
            pulled: Vec::new(),
            is_scrubbing: false,
            is_rebuilding: false,
            is_ready: false,
            read_in_recovery: 0,
            reads_may_fail: false,
            writes_may_fail: false,
            is_lost: false,
            tally: Tally::default(),
            digest: Digest::new(),
            watch,
        };
        for drive in 0..count {
            let fail = if plan.weak == Some(drive as u32) { plan.fail } else { 0 };
            let drive = rig.blank(fail);
            // Its flash may fail at any moment.
            rig.suspect[rig.drives.len()] = drive.is_weak();
            rig.drives.push(drive);
        }
        rig
    }

    fn blank(&mut self, fail: u32) -> Drive {
        self.made += 1;
        let random = Stream::new(self.plan.seed, &format!("torture drive {}", self.made));
        Drive::new(&self.model, self.canary, fail, random)
    }

    /// Its digest and counts, at the end.
    pub fn done(&mut self) -> (u64, Tally) {
        self.count_findings();
        (0..self.drives.len()).for_each(|drive| self.count_flash(drive));
        (self.digest.value(), self.tally.clone())
    }

    pub(super) fn config(&self) -> &ArrayConfig {
        &self.config
    }

    pub(super) fn say(&mut self, text: impl FnOnce() -> String) {
        if let Some(watch) = &mut self.watch {
            watch(self.now, text());
        }
    }

    /// Goes on until `enough` says so.
    pub(super) fn until(&mut self, what: &str, enough: impl Fn(&Rig<'r, S>) -> bool) -> Result<(), End> {
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

    /// Goes on until nothing is under way, and nothing will be.
    pub(super) fn settle(&mut self) -> Result<(), End> {
        self.until("at rest", |rig| rig.is_at_rest() && rig.pending.is_empty() && rig.fuse.is_empty())?;
        if std::mem::take(&mut self.is_scrubbing) {
            self.tally.reach(Reached::Scrubbed, 1);
            self.tally.reach(Reached::FoundByScrub, self.subject.inner().findings().last_scrub);
            self.scarred.fill(false);
        }
        self.judge();
        Ok(())
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let is_busy = self.drives.iter().any(Drive::is_busy);
        self.due.is_empty() && !is_busy && self.subject.inner().next_event() == Time::NEVER
    }

    fn stuck(&mut self, message: String) -> Result<(), End> {
        Err(End::Wrong(Wrong { kind: WrongKind::Stuck, message }))
    }

    /// The next event; false when there is none.
    fn step(&mut self) -> Result<bool, End> {
        let command = self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        let (flash, drive) = self.next_of_flash();
        let own = self.subject.inner().next_event();
        let next = command.min(own).min(flash);
        if next == Time::NEVER {
            return Ok(false);
        }
        self.events += 1;
        if self.events > EVENTS {
            self.stuck(format!("no end in sight after {EVENTS} events"))?;
        }
        if flash == next {
            self.serve_flash(next, drive);
        } else if own == next {
            self.calls = if own > self.now { 0 } else { self.calls + 1 };
            if self.calls > CALLS {
                self.stuck(format!("it wants to be called again and again at {}", self.now))?;
            }
            self.now = self.now.max(own);
            self.subject.inner_mut().advance(self.now);
        } else {
            self.serve();
        }
        self.hand_over()?;
        match self.fuse.front_mut() {
            Some(0) => self.cut(),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(true)
    }

    /// When something happens in the flash of a drive, and in which.
    fn next_of_flash(&self) -> (Time, usize) {
        let next = self.drives.iter().map(Drive::next_event).zip(0..).min();
        next.expect("there is a drive")
    }

    fn serve_flash(&mut self, at: Time, drive: usize) {
        self.now = self.now.max(at);
        let before = self.drives[drive].health();
        let mut moments = std::mem::take(&mut self.moments);
        self.drives[drive].advance(self.now, &mut moments);
        self.moments = moments;
        self.take_moments(drive);
        if self.drives[drive].health() != before {
            self.say(|| format!("drive {drive} has used up its spare blocks and becomes read-only"));
            self.tally.reach(Reached::WornOut, 1);
        }
    }

    fn take_moments(&mut self, drive: usize) {
        for Moment { at, slot, is_done } in self.moments.drain(..) {
            self.order += 1;
            self.due.push(Reverse((at, self.order, drive, slot, is_done)));
        }
    }

    /// A drive has done half a command, or a whole one.
    fn serve(&mut self) {
        let Some(Reverse((at, _, drive, slot, is_done))) = self.due.pop() else { return };
        self.now = self.now.max(at);
        if !is_done {
            return self.drives[drive].half(slot);
        }
        let response = self.drives[drive].complete(self.now, slot);
        self.tally.drive_requests += 1;
        self.digest.add(self.now.0 ^ (drive as u64) << 56 ^ (response.status as u64) << 48);
        if !self.subject.inner().is_ready() {
            self.read_in_recovery += response.data.len() as u64;
        }
        let (id, status) = (response.id, response.status);
        self.tally.reach(Reached::Contended, u64::from(status == Status::Contended));
        self.say(|| format!("  drive {drive} answers {id}: {status:?}"));
        self.subject.inner_mut().answered(self.now, drive, response);
    }

    /// What the subject has left goes to the drives and to the host.
    pub(super) fn hand_over(&mut self) -> Result<(), End> {
        loop {
            let sent = self.subject.inner_mut().sent();
            let answers = self.subject.answers();
            let calls = self.subject.inner_mut().controls();
            if sent.is_empty() && answers.is_empty() && calls.is_empty() {
                return self.note_state();
            }
            for (drive, call) in calls {
                let reply = self.drives[drive].control(call);
                self.say(|| format!("  drive {drive} {call:?}: {reply:?}"));
                self.subject.inner_mut().control_answered(self.now, drive, call, reply);
            }
            for (drive, request) in sent {
                self.send(drive, request);
            }
            for answer in answers {
                self.answered(answer)?;
            }
        }
    }

    fn send(&mut self, drive: usize, request: Request<Bytes>) {
        self.say(|| {
            let fua = if request.fua { " fua" } else { "" };
            format!(
                "  drive {drive} {}: {} {}+{}{fua}",
                request.id, request.op, request.block, request.blocks
            )
        });
        self.drives[drive].submit(self.now, request, &mut self.moments);
        self.take_moments(drive);
    }

    /// What becomes of an opening.
    fn note_state(&mut self) -> Result<(), End> {
        if let Some(why) = self.subject.inner().refused() {
            if self.is_lost {
                return Err(End::Over);
            }
            return Err(End::Wrong(Wrong { kind: WrongKind::NotOpened, message: why }));
        }
        if !self.is_ready && self.subject.inner().is_ready() {
            self.is_ready = true;
            self.ready();
        }
        Ok(())
    }

    fn ready(&mut self) {
        let blocks = self.subject.inner().disk().blocks;
        let wellness = self.subject.inner().wellness();
        self.say(|| format!("ready: {blocks} blocks, {wellness:?}"));
        if self.tally.cuts == 0 {
            let history = History::new(blocks);
            self.history = if S::KEEPS_ORDER { history.in_order() } else { history };
            return;
        }
        self.tally.longest_recovery = self.tally.longest_recovery.max(self.read_in_recovery);
        self.tally.reach(Reached::Recovered, 1);
        self.tally.reach(Reached::RecoveredDegraded, u64::from(wellness != Wellness::Whole));
        let stale = self.subject.inner().stale();
        let refused = self.pulled.iter().filter(|drive| stale.contains(drive)).count();
        let taken = self.pulled.len() - refused;
        self.tally.reach(Reached::StaleRefused, refused as u64);
        self.tally.reach(Reached::ReturnTaken, taken as u64);
        self.pulled.clear();
    }

    /// Hands a request of the host over, when there is room for it.
    pub(super) fn submit(&mut self, op: Op, block: u64, blocks: u32, fua: bool) -> Result<(), End> {
        let queue = self.plan.queue as usize;
        loop {
            self.until("ready for a request", |rig| rig.is_ready && rig.pending.len() < queue)?;
            let size = self.history.blocks();
            let blocks = if op == Op::Flush { 0 } else { u64::from(blocks).min(size) };
            let block = if op == Op::Flush { 0 } else { block % (size - blocks + 1) };
            let blocks = blocks as u32;
            let data = if op == Op::Write { self.history.content(block, blocks) } else { Vec::new() };
            let id = self.ids;
            let class = Class::DEFAULT;
            let request = Request { id, op, fua, class, fail_fast: false, block, blocks, data };
            let marks =
                Request { data: Vec::<()>::new(), id, op, fua, class, fail_fast: false, block, blocks };
            if self.subject.submit(self.now, request).is_ok() {
                self.ids += 1;
                let (pending, is_contested) = self.history.submitted(&marks);
                self.tally.reach(Reached::WriteDuringWrite, u64::from(is_contested));
                self.say(|| format!("host {id}: {op} {block}+{blocks}{}", if fua { " fua" } else { "" }));
                self.pending.insert(id, pending);
                return self.hand_over();
            }
            if !self.step()? && self.fuse.is_empty() {
                self.stuck(String::from("a request is not taken although nothing is under way"))?;
            }
        }
    }

    fn answered(&mut self, answer: Response<Bytes>) -> Result<(), End> {
        let Some(pending) = self.pending.remove(&answer.id) else {
            let message = format!("request {} was answered, but is not in flight", answer.id);
            return Err(End::Wrong(Wrong { kind: WrongKind::Invented, message }));
        };
        let (id, status) = (answer.id, answer.status);
        self.tally.requests += 1;
        self.digest.add(u64::from(id) << 8 ^ status as u64);
        self.say(|| {
            let (op, block, blocks) = (pending.op, pending.block, pending.blocks);
            format!("host {id}: {op} {block}+{blocks} ends: {status:?} {}", names(&answer.data))
        });
        let is_good = status == Status::Success;
        if !is_good {
            self.failed(&pending, status)?;
        } else if pending.op == Op::Read {
            let shown = self.history.read(&pending, &answer.data).map_err(End::Wrong)?;
            self.tally.reach(Reached::ReadDuringWrite, shown.contested);
            self.tally.reach(Reached::Undecided, shown.decided);
            self.tally.reach(Reached::ReadTrimmed, shown.trimmed);
        }
        self.history.answered(&pending, is_good);
        Ok(())
    }

    fn failed(&mut self, pending: &Pending, status: Status) -> Result<(), End> {
        let is_excused = if pending.op == Op::Read { self.reads_may_fail } else { self.writes_may_fail };
        if is_excused {
            self.tally.reach(Reached::HonestError, 1);
            return Ok(());
        }
        let (op, block, blocks) = (pending.op, pending.block, pending.blocks);
        let message = format!("{op} {block}+{blocks} was answered with {status:?}, and no fault allows that");
        Err(End::Wrong(Wrong { kind: WrongKind::Error, message }))
    }

    /// Something goes wrong with a drive, if the fault model allows it now.
    pub(super) fn fault(&mut self, fault: &Fault) {
        self.judge();
        let drive = fault.drive as usize % self.drives.len();
        let fault = Fault { drive: drive as u32, ..*fault };
        if !self.allows(&fault) || !self.drives[drive].fault(&fault, &mut self.tally) {
            return;
        }
        self.say(|| format!("fault: {fault}"));
        self.tally.fault(fault.kind);
        use FaultKind::*;
        if fault.kind == Pull {
            self.pulled.push(drive);
        }
        self.suspect[drive] |= fault.kind != Slow;
        self.scarred[drive] |= matches!(fault.kind, Flip | Unreadable | FailWrite | Misdirect);
        if !self.config.layout.is_redundant() {
            self.reads_may_fail |= matches!(fault.kind, Kill | Pull | Flip | Unreadable | FailWrite);
            self.writes_may_fail |= matches!(fault.kind, Kill | Pull | FailWrite | ReadOnly);
            self.is_lost |= matches!(fault.kind, Kill | Pull);
            if self.writes_may_fail {
                self.history.let_writes_fail();
            }
        }
    }

    fn allows(&self, fault: &Fault) -> bool {
        let drive = fault.drive as usize;
        if self.is_resynced() && fault.kind != FaultKind::Slow && self.plan.cuts() > 0 {
            return false;
        }
        if !is_possible(fault.kind, self.config.layout) || self.drives[drive].health() != Health::Well {
            return false;
        }
        let width = self.config.width();
        let group = drive / width * width..drive / width * width + width;
        let others = group.into_iter().filter(|&other| other != drive).any(|other| self.suspect[other]);
        fault.kind == FaultKind::Slow || !self.config.layout.is_redundant() || !others
    }

    /// A fault or a power cut can be borne, not both.
    pub(super) fn is_resynced(&self) -> bool {
        let layout = self.config.layout;
        layout.has_parity() && layout.is_in_place() && self.config.raid.write_hole == WriteHole::Resync
    }

    /// Clears drives of suspicion, when the subject says that it is whole and nothing is known that it
    /// cannot know.
    pub(super) fn judge(&mut self) {
        if !self.is_ready || self.subject.inner().wellness() != Wellness::Whole {
            return;
        }
        if std::mem::take(&mut self.is_rebuilding) {
            self.tally.reach(Reached::Rebuilt, 1);
        }
        for (index, suspect) in self.suspect.iter_mut().enumerate() {
            let drive = &self.drives[index];
            *suspect &= self.scarred[index] || drive.is_weak() || drive.health() != Health::Well;
        }
    }

    /// Blank drives take the places of those that the subject calls missing.
    pub(super) fn replace(&mut self) -> Result<(), End> {
        while self.is_ready
            && let Wellness::Degraded { missing, .. } = self.subject.inner().wellness()
            && let Some(&drive) = missing.first()
        {
            let life = self.tally.cuts;
            // What the old drive still has to answer is answered before it is taken out.
            self.until("rid of the old drive", |rig| !rig.drives[drive].is_busy() || rig.tally.cuts != life)?;
            if self.tally.cuts != life {
                return Ok(());
            }
            self.count_flash(drive);
            self.drives[drive] = self.blank(0);
            (self.suspect[drive], self.scarred[drive], self.is_rebuilding) = (true, false, true);
            self.pulled.retain(|&pulled| pulled != drive);
            self.tally.reach(Reached::Replaced, 1);
            self.say(|| format!("drive {drive} is replaced"));
            self.subject.inner_mut().replace(self.now, drive, self.model.disk());
            self.hand_over()?;
        }
        Ok(())
    }

    /// Everything is to be compared, unless the subject has other worries.
    pub(super) fn scrub(&mut self) -> Result<(), End> {
        if self.is_ready && self.subject.inner().wellness() == Wellness::Whole {
            self.say(|| String::from("scrub"));
            self.is_scrubbing = true;
            self.subject.inner_mut().scrub(self.now);
            self.hand_over()?;
        }
        Ok(())
    }

    /// The power goes and comes back.
    pub(super) fn cut(&mut self) {
        self.count_cut();
        self.power_off();
        let there: Vec<usize> = (0..self.drives.len()).filter(|&d| self.drives[d].is_there()).collect();
        self.open(there);
    }

    fn count_cut(&mut self) {
        self.tally.cuts += 1;
        let is_loaded = !self.pending.is_empty();
        self.tally.reach(Reached::CutUnderLoad, u64::from(is_loaded));
        self.tally.reach(Reached::CutAtRest, u64::from(self.is_at_rest()));
        self.tally.reach(Reached::CutInRecovery, u64::from(!self.is_ready));
        if self.is_ready
            && let Wellness::Degraded { missing, rebuilding } = self.subject.inner().wellness()
        {
            self.tally.reach(Reached::CutDegraded, u64::from(!missing.is_empty()));
            self.tally.reach(Reached::CutInRebuild, u64::from(!rebuilding.is_empty()));
        }
        self.count_findings();
    }

    /// What its flash has met.
    fn count_flash(&mut self, drive: usize) {
        let (bad_blocks, collections) = self.drives[drive].flash_counts();
        self.tally.reach(Reached::BadBlock, bad_blocks);
        self.tally.reach(Reached::CollectedByDrive, collections);
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

    pub(super) fn power_off(&mut self) {
        let cut = self.tally.cuts;
        self.say(|| format!("power cut {cut}"));
        self.fuse.pop_front();
        self.due.clear();
        self.pending.clear();
        self.history.power_cut();
        let back = self.now + POWER_AWAY;
        for drive in &mut self.drives {
            drive.power_off(&mut self.tally);
            drive.power_on(back);
        }
        (self.is_ready, self.is_scrubbing, self.read_in_recovery) = (false, false, 0);
    }

    /// Opens from these drives, which are found in some order.
    pub(super) fn open(&mut self, mut there: Vec<usize>) {
        let turn = self.random.below(there.len().max(1) as u64) as usize;
        there.rotate_left(turn);
        let disks: Vec<(usize, Disk)> = there.iter().map(|&drive| (drive, self.model.disk())).collect();
        self.say(|| format!("power on with drives {there:?}"));
        self.now += POWER_AWAY;
        self.subject = Planted::new(S::open(self.now, &self.config, &disks), self.canary);
    }
}

/// What a read returned, for people.
fn names(data: &[Bytes]) -> String {
    let name = |block: &Bytes| match Stamp::read(block) {
        Content::Zeros => String::from("0"),
        Content::Written(stamp) => format!("v{}", stamp.version),
        Content::Foreign { .. } => String::from("?"),
    };
    data.iter().map(name).collect::<Vec<String>>().join(" ")
}

/// How long the power is away.
const POWER_AWAY: Nanos = Nanos::millis(1);

/// More than any run needs: one has a few thousand.
const EVENTS: u64 = 1_000_000;

/// More calls than anything needs in one moment.
const CALLS: u32 = 10_000;
