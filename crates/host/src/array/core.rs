//! State common to all layouts: drives, reads, host requests, and the superblock.

use super::config::{ArrayConfig, ReadPolicy};
use super::drives::{Ask, Drives, Owner, Presence, Priority, Refusal};
use super::integrity::{Area, Integrity};
use super::reads::{Reads, ReconstructWhen, Redundancy};
use super::requests::{RequestSlot, Requests};
use super::superblock::{CHECKSUMS, MemberId, MemberSuperblock, SUPERBLOCK_BLOCKS};
use super::token_scheduling::{EpochFigures, Tokens};
use super::turns::Turns;
use crate::Block;
use crate::array::{DriveId, RGroups};
use crate::check::ensure;
use crate::disk::Disk;
use crate::mutation::{Invariant, holds};
use crate::placement::{HostHandles, WriteKind};
use tailcut_base::control::Control;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Class, Op, Spans, Status, Time};

/// The common part of an array.
#[derive(Debug)]
pub struct Core<B: Block> {
    /// The configuration; in an array that was opened, with the fixed settings from its superblock.
    pub config: ArrayConfig,
    /// The drives of the array: their requests in flight, their hold queues, and whether they serve.
    pub drives: Drives<B>,
    /// Reads of stored blocks, which may be reconstructed from other members.
    pub reads: Reads<B>,
    /// Requests of the host that are in progress.
    pub requests: Requests<B>,
    /// Write tokens of the R-groups; `None` if the layout does not share tokens between drives.
    pub tokens: Option<Tokens>,
    /// Garbage collection windows, if drives collect in turn.
    turns: Option<Turns>,
    /// Drives that do not support windows, in ascending order.
    without_turns: Vec<DriveId>,
    /// The handles that the host can name.
    handles: HostHandles,
    /// The superblock, if the array keeps one.
    superblock: Option<SuperblockState>,
    /// Blocks of each drive that the array uses.
    drive_blocks: u64,
    /// Completed writes of the host that must not be acknowledged before the superblock is written.
    held: Vec<RequestSlot>,
    /// The drive whose flush has failed, if the layout is not redundant.
    unflushed: Option<DriveId>,
}

/// The handles of an array over `disks` that it does not need itself.
fn handles_beside(config: &ArrayConfig, disks: &[Disk]) -> HostHandles {
    let handles = disks.iter().map(|disk| disk.handles).min().unwrap_or(1);
    config.host_handles(handles)
}

/// The superblock and the progress of its writes.
#[derive(Debug)]
struct SuperblockState {
    superblock: MemberSuperblock,
    /// State of the members according to the superblock that all of them have.
    durable: IdVec<DriveId, Presence>,
    /// Superblock writes in flight.
    pending: u32,
    /// Another write of the superblock is due.
    again: bool,
    /// A superblock write has completed that has not been reported to the layout.
    written: bool,
}

impl SuperblockState {
    fn new(superblock: MemberSuperblock) -> SuperblockState {
        let durable = superblock.presence.clone();
        SuperblockState { superblock, durable, pending: 0, again: false, written: false }
    }
}

impl<B: Block> Core<B> {
    /// The core of a new array; it keeps superblocks if it has an identity.
    ///
    /// # Panics
    /// If `disks` is empty or its length is not `config.drives`.
    pub fn new(config: &ArrayConfig, disks: &[Disk], identity: Option<u128>) -> Core<B> {
        assert_eq!(disks.len(), config.drives as usize, "as many drives as configured");
        let drive_blocks = disks.iter().map(|disk| disk.blocks).min().expect("an array has drives");
        let superblock = identity.map(|array| MemberSuperblock {
            array,
            generation: 0,
            drive_blocks,
            layout: config.layout,
            groups: config.groups,
            member: DriveId::new(0),
            presence: IdVec::filled(disks.len(), Presence::InSync),
            ids: DriveId::first(disks.len()).map(|member| MemberId::first(array, member)).collect(),
            shape: std::array::from_fn(|number| {
                u64::from(number == CHECKSUMS && config.has_checksums_in_place())
            }),
            state: [0; 8],
        });
        Core::with(config, disks, drive_blocks, superblock)
    }

    /// The core of an array opened by its superblock.
    pub fn opened(config: &ArrayConfig, disks: &[Disk], superblock: &MemberSuperblock) -> Core<B> {
        let mut core = Core::with(
            &config.as_created(superblock),
            disks,
            superblock.drive_blocks,
            Some(superblock.clone()),
        );
        for (drive, &presence) in superblock.presence.iter_enumerated() {
            core.drives.set_presence(drive, presence);
        }
        core
    }

    fn with(
        config: &ArrayConfig,
        disks: &[Disk],
        drive_blocks: u64,
        superblock: Option<MemberSuperblock>,
    ) -> Core<B> {
        let mut drives = Drives::new(disks, config.drive_depth);
        let has_tokens = config.has_gates();
        if has_tokens {
            drives.set_gates(config.epoch.delay);
        }
        if config.has_checksums_in_place() {
            let nobody = DriveId::first(disks.len()).map(|member| MemberId::first(0, member)).collect();
            let (array, ids) =
                superblock.as_ref().map_or((0, &nobody), |superblock| (superblock.array, &superblock.ids));
            let integrity = Integrity::new(array, ids, Area::of(drive_blocks), config.checksums_idle);
            drives.keep_checksums(integrity);
        }
        Core {
            tokens: has_tokens.then(|| Tokens::new(config)),
            drives,
            reads: Reads::new(Redundancy::of(config), config.slow_after),
            requests: Requests::default(),
            turns: Turns::new(config.turns, config.turn_pause, config.width()),
            without_turns: Vec::new(),
            handles: handles_beside(config, disks),
            superblock: superblock.map(SuperblockState::new),
            drive_blocks,
            held: Vec::new(),
            unflushed: None,
            config: config.clone(),
        }
    }

    /// The handles that the host can name.
    pub fn handles(&self) -> &HostHandles {
        &self.handles
    }

    /// The range of blocks on each drive that a layout may use.
    pub fn usable(&self) -> std::ops::Range<u64> {
        let area = self.drives.integrity().map(Integrity::area);
        SUPERBLOCK_BLOCKS..area.map_or(self.drive_blocks, Area::start)
    }

    /// Blocks of each drive that the array uses, including superblock and checksums.
    pub fn drive_blocks(&self) -> u64 {
        self.drive_blocks
    }

    /// True if the array keeps superblocks, so that it can be opened again.
    pub fn is_durable(&self) -> bool {
        self.superblock.is_some()
    }

    /// Identity of the array, if it keeps superblocks.
    pub fn identity(&self) -> Option<u128> {
        self.superblock.as_ref().map(|kept| kept.superblock.array)
    }

    /// The superblock; its `shape` and `state` belong to the layout. Write changes with
    /// [`Core::write_record`].
    pub fn superblock(&mut self) -> Option<&mut MemberSuperblock> {
        self.superblock.as_mut().map(|kept| &mut kept.superblock)
    }

    /// Counters of epochs at the drives' gates, if they have gates.
    pub fn token_figures(&self) -> Option<EpochFigures> {
        let (met, diverted) = (self.drives.met(), self.reads.counts().steered);
        let times = self.drives.stage_times();
        self.tokens.as_ref().map(|tokens| EpochFigures { met, diverted, times, ..*tokens.figures() })
    }

    /// What holds between two events of requests, reads and drives.
    pub(super) fn check(&self) -> Result<(), String> {
        self.requests.check()?;
        self.reads.check()?;
        self.drives.check()
    }

    /// What holds of them, and of the superblock, at rest; see
    /// [`Array::check_at_rest`](super::Array::check_at_rest).
    pub(super) fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.is_recorded(), "writes of the superblock are in flight");
        ensure!(self.held.is_empty(), "{} writes wait for the superblock", self.held.len());
        self.requests.check_at_rest()?;
        self.reads.check_at_rest()?;
        self.drives.check_at_rest()
    }

    /// Advances epochs. Returns the next drive to which the layout may send held requests.
    pub(super) fn run_tokens(&mut self, now: Time) -> Option<DriveId> {
        self.tokens.as_mut()?.run(now, &mut self.drives)
    }

    /// Sends the drives their windows for garbage collection, if there are any.
    pub(super) fn announce_turns(&mut self) {
        let Some(turns) = self.turns else { return };
        for drive in self.drives.ids() {
            self.drives.control(drive, Control::SetWindows(turns.of(drive)));
        }
    }

    /// A drive does not support windows: it collects at any time.
    pub(super) fn turn_refused(&mut self, drive: DriveId) {
        if let Err(at) = self.without_turns.binary_search(&drive) {
            self.without_turns.insert(at, drive);
        }
    }

    /// Number of drives that do not support the configured windows.
    pub fn without_turns(&self) -> usize {
        self.without_turns.len()
    }

    fn is_in_turn(&self, now: Time, drive: DriveId) -> bool {
        self.turns.is_some_and(|turns| turns.is_on(now, drive))
            && self.without_turns.binary_search(&drive).is_err()
    }

    /// How a read of a complete stripe treats a drive under the array's read policy.
    pub fn around(&self, now: Time, drive: DriveId) -> ReconstructWhen {
        match self.config.reads {
            ReadPolicy::Direct => ReconstructWhen::AtNeed,
            ReadPolicy::AroundCollection if self.is_in_turn(now, drive) => ReconstructWhen::Now,
            ReadPolicy::AroundCollection => ReconstructWhen::AtNeed,
            ReadPolicy::FailFast => ReconstructWhen::WhenContended,
        }
    }

    /// Number of drives in the group of `drive` that are not in sync.
    pub fn missing_beside(&self, drive: DriveId) -> usize {
        let groups = RGroups::new(self.config.width());
        groups.drives(groups.group_of(drive)).filter(|&member| !self.drives.is_in_sync(member)).count()
    }

    /// A part of a host request has completed; the last one completes the request.
    pub fn part_done(&mut self, now: Time, slot: RequestSlot, status: Status, spans: &Spans) {
        if self.requests.part_done(now, slot, status, spans) {
            self.finish(now, slot);
        }
    }

    /// Completes a host request. A write is not acknowledged while a superblock write is in flight: it may
    /// have skipped a drive that the superblock still counts as in sync. A failed write guarantees nothing
    /// and is answered at once, before later reads.
    pub fn finish(&mut self, now: Time, slot: RequestSlot) {
        if self.unflushed.is_some() && self.requests.get(slot).op != Op::Read {
            self.requests.fail(slot, Status::MediaError);
        }
        let request = self.requests.get(slot);
        if request.op != Op::Read && request.is_good() && !self.is_recorded() {
            self.held.push(slot);
        } else {
            self.requests.finish(now, slot);
        }
    }

    /// True if a request must not start because a drive has no room: a write, or any request but a read if as
    /// many refused ones are in progress as the array has slots.
    pub(super) fn is_without_room(&self, op: Op) -> bool {
        let has_slots = self.requests.refused() < self.config.depth;
        self.drives.is_full() && (op == Op::Write || op != Op::Read && !has_slots)
    }

    /// Answers the host for requests that need room: writes at once, others that were submitted before an
    /// attempt that found none. True if there was one.
    pub(super) fn refuse_stuck(&mut self, now: Time) -> bool {
        let Some(refusal) = self.drives.take_refusal() else { return false };
        self.requests.refuse(now, |op, since| match (op, refusal) {
            (Op::Read, _) => false,
            (Op::Write, _) => true,
            (_, Refusal::First) => false,
            (_, Refusal::Again(attempt)) => since <= attempt,
        })
    }

    /// A flush has failed on a drive without redundancy. A later successful flush proves nothing, so no more
    /// writes are acknowledged until the array is opened again.
    pub(super) fn note_unflushed(&mut self, drive: DriveId) {
        if !holds(Invariant::FailedFlushesAreFinal) {
            return;
        }
        self.unflushed.get_or_insert(drive);
        self.drives.stop_cleaning(drive);
        for &slot in &self.held {
            self.requests.fail(slot, Status::MediaError);
        }
    }

    /// The drive whose failed flush stops all writes; see [`Core::note_unflushed`].
    pub fn unflushed(&self) -> Option<DriveId> {
        self.unflushed
    }

    /// True if no superblock write is in flight.
    pub fn is_recorded(&self) -> bool {
        self.superblock.as_ref().is_none_or(|kept| kept.pending == 0)
    }

    /// Drives in sync that would have to be rebuilt again after a power loss now: no durable superblock
    /// records yet that they are in sync.
    pub fn unrecorded(&self) -> impl Iterator<Item = DriveId> {
        let durable = self.superblock.as_ref().map_or(&[][..], |kept| kept.durable.as_slice());
        let is_behind =
            |&drive: &DriveId| self.drives.is_in_sync(drive) && durable[drive.index()] != Presence::InSync;
        DriveId::first(durable.len()).filter(is_behind)
    }

    /// Gives a drive another member identity from the next superblock on; what durable ones record is of its
    /// predecessor.
    pub(super) fn rename(&mut self, drive: DriveId, id: MemberId) {
        if let Some(kept) = &mut self.superblock {
            kept.superblock.ids[drive] = id;
            // So does one that is being written.
            kept.superblock.presence[drive] = Presence::Missing;
            kept.durable[drive] = Presence::Missing;
        }
    }

    /// Writes the superblock of an array being opened: first `newest` unchanged to the members that are
    /// `behind`, then the next generation to all. Otherwise a power loss in each of several openings would
    /// leave a member that was present throughout more than one generation behind the newest, as if the array
    /// had continued without it.
    ///
    /// Each opening is two generations. So an old copy of a drive, restored later, is further behind than a
    /// power loss can leave a member, and is stale.
    pub(super) fn write_first_record(&mut self, now: Time, newest: &MemberSuperblock, behind: &[DriveId]) {
        for &drive in behind {
            self.send_record(now, drive, newest);
        }
        self.write_record(now);
        if let Some(kept) = &mut self.superblock {
            kept.again = true;
        }
    }

    fn send_record(&mut self, now: Time, drive: DriveId, superblock: &MemberSuperblock) {
        let Some(kept) = &mut self.superblock else { return };
        kept.pending += 1;
        let superblock = MemberSuperblock { member: drive, ..superblock.clone() };
        let (class, block) = (Class::DEFAULT, superblock.generation % SUPERBLOCK_BLOCKS);
        let data = vec![B::encode(&superblock.encode())];
        let ask = Ask {
            op: Op::Write,
            fua: true,
            fail_fast: false,
            class,
            kind: WriteKind::Metadata,
            block,
            blocks: 1,
            data,
        };
        self.drives.ask(now, drive, Priority::Read, Owner::MemberSuperblock, ask);
    }

    /// Writes the superblock to all present drives.
    pub fn write_record(&mut self, now: Time) {
        let Some(kept) = &mut self.superblock else { return };
        if kept.pending > 0 {
            kept.again = true;
            return;
        }
        // After a failed flush the drive may lose both superblock copies; one of them must stay.
        if self.unflushed.is_some() {
            return;
        }
        let superblock = &mut kept.superblock;
        superblock.generation += 1;
        superblock.presence = self.drives.ids().map(|drive| self.drives.presence(drive)).collect();
        let superblock = superblock.clone();
        for drive in self.drives.ids() {
            if self.drives.is_present(drive) {
                self.send_record(now, drive, &superblock);
            }
        }
    }

    /// A superblock write has completed, successfully or not.
    pub(super) fn record_answered(&mut self, now: Time) {
        let kept = self.superblock.as_mut().expect("it was written");
        kept.pending -= 1;
        if kept.pending == 0 {
            kept.written = true;
            kept.durable.clone_from(&kept.superblock.presence);
            if std::mem::take(&mut kept.again) {
                self.write_record(now);
            }
        }
    }

    /// Acknowledges writes that waited for the superblock. True if a superblock write must be reported to the
    /// layout.
    pub(super) fn release_held(&mut self, now: Time) -> bool {
        if !self.is_recorded() {
            return false;
        }
        for slot in std::mem::take(&mut self.held) {
            self.requests.finish(now, slot);
        }
        self.superblock.as_mut().is_some_and(|kept| std::mem::take(&mut kept.written))
    }
}
