//! Copies of each block on drives of different *token groups*: the multi-SSD storage engine of Shin (2017,
//! chapter 5), completed where it is left open: no durable data is lost, the latency of writes is bounded,
//! and there may be more than two copies.
//!
//! Writes go to the `cache` and are acknowledged there; cached blocks are read from it. For each drive a
//! `line` holds the copies that wait to be written to it. One group at a time has the *token*, for an *epoch*
//! (`turn`): its drives write the copies that waited when it started, in `batch`es, and are flushed. Then the
//! token passes on. Reads go to a copy whose drive has no token (`reading`).
//!
//! A request for durability waits (`waiting`) until the dirty lists of all its drives have advanced past its
//! copies. The length of the lists is bounded (`admission`), so that each list fits in one epoch, and each
//! epoch in its share of the deadline.
//!
//! After a power loss (see `recovery`), copies may differ, since they are written at different times. A drive
//! lists every change in a `descriptor` first, with version and checksum; with two copies, only if the other
//! drive has not listed that version. The copies of listed blocks are compared, and the newest one counts. A
//! slot in the `ring` of descriptors is reused once the copies durably agree.
//!
//! `walk` rebuilds and scrubs; `work` handles some blocks at a time: while they are read and compared they
//! stay in the cache, so that concurrent writes of the host take precedence.
//!
//! Fault model: that of every array; a seal identifies a block that is not the one written there. A write
//! that a drive has acknowledged and lost leaves the old block with its valid seal: only a scrub can detect
//! that.

mod admission;
mod asked;
mod batch;
mod cache;
mod check;
mod collection;
mod compare;
mod config;
mod descriptor;
mod geometry;
mod line;
#[cfg(feature = "mutation")]
pub mod mutation;
#[cfg(not(feature = "mutation"))]
mod mutation;
mod reading;
mod recovery;
mod ring;
mod turn;
mod updating;
mod waiting;
mod walk;
mod work;

pub use config::{EpochConfig, EpochMode};
pub use geometry::Declustering;
use tailcut_base::cast::to_usize;
pub use walk::Task;

use super::config::ArrayConfig;
use super::core::Core;
use super::drives::{Answered, Presence};
use super::layout::{Condition, Layout};
use super::raid::ScrubReport;
use super::reads::ReadResult;
use super::requests::RequestSlot;
use super::superblock::{MemberSuperblock, SUPERBLOCK_BLOCKS};
use super::token_scheduling::{EpochFigures, StageTimes, TokenRotation};
use crate::Block;
use crate::array::{DriveId, numbers};
use crate::disk::{BLOCK_BYTES, Disk};
use admission::Admission;
use asked::RequestPurpose;
use batch::{Batch, BatchId};
use cache::{Cache, EntryId};
use geometry::Geometry;
use line::Line;
use recovery::{Recovery, Stage as RecoveryStage};
use std::ops::Range;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::ids::{IdVec, Pool};
use tailcut_base::{Nanos, Op, Time};
use waiting::{Waiter, WaiterId};
use walk::Walk;
use work::{Work, WorkId};

/// An array with token groups.
#[derive(Debug)]
pub struct Epochs<B: Block> {
    shape: Geometry,
    array: u128,
    /// Largest number of blocks per request that every drive accepts.
    most: usize,
    cache: Cache<B>,
    lines: IdVec<DriveId, Line>,
    turn: TokenRotation,
    /// Blocks that could leave the cache once the superblock is written.
    unrecorded: Vec<EntryId>,
    batches: Pool<BatchId, Batch<B>>,
    admission: Admission,
    waiters: Pool<WaiterId, Waiter>,
    /// First block and number of descriptor slots on each drive.
    first_slot: u64,
    slots: u64,
    /// Descriptors are written.
    is_listing: bool,
    /// Counts descriptors.
    sequence: u64,
    /// For some block no drive is in sync.
    has_failed: bool,
    delay: Nanos,
    deadline: Nanos,
    /// Longest permitted epoch.
    share: Nanos,
    poll: Nanos,
    has_control: bool,
    recovery: Recovery<B>,
    walks: Vec<Walk>,
    /// Number of passes begun.
    begun_walks: u32,
    works: Pool<WorkId, Work<B>>,
    report: ScrubReport,
    figures: EpochFigures,
}

impl<B: Block> Epochs<B> {
    /// The layout of a new array, or of one about to be recovered. The superblock's shape holds the blocks
    /// per chunk, the number of descriptor slots per drive, and the number of copies.
    pub fn new(core: &mut Core<B>, is_new: bool) -> Epochs<B> {
        let config = core.config.epoch.clone();
        let slots = ring::slots_for(config.cache_blocks());
        let mut made = [config.chunk_blocks(), slots, u64::from(config.copies)];
        let (mut array, mut version) = (0, 0);
        if let Some(superblock) = core.superblock() {
            array = superblock.array;
            // Versions of each run of the array are higher than those of earlier runs.
            version = (superblock.generation + 1) << 32;
            if is_new {
                superblock.shape[..3].copy_from_slice(&made);
            } else {
                made.copy_from_slice(&superblock.shape[..3]);
                made[2] = copies_of(superblock) as u64;
            }
        }
        let (usable, groups) = (core.usable(), core.config.groups);
        let (first_slot, slots) = (usable.start, made[1]);
        let drives = core.drives.len();
        let data = first_slot + slots..usable.end;
        let shape = Geometry::new(
            data,
            made[0],
            Declustering { drives, groups: groups as usize, copies: to_usize(made[2]) },
        );
        core.drives.cover(shape.data().start);
        core.reads.set_copies(shape.copies);
        let most_dirty = to_usize(config.cache_blocks().min(ring::blocks_for(slots)));
        let mut epochs = Epochs {
            array,
            most: core.drives.most_blocks() as usize,
            cache: Cache::new(&shape, version),
            lines: (0..drives).map(|_| Line::new(slots)).collect(),
            turn: TokenRotation::new(shape.members()),
            shape,
            unrecorded: Vec::new(),
            batches: Pool::new(),
            admission: Admission::new(most_dirty),
            waiters: Pool::new(),
            first_slot,
            slots,
            is_listing: core.is_durable() || config.descriptors_always,
            sequence: version,
            has_failed: false,
            delay: config.delay,
            deadline: config.deadline,
            share: config.share(groups),
            poll: config.poll,
            has_control: config.mode == EpochMode::GcControl,
            recovery: Recovery::none(),
            walks: Vec::new(),
            begun_walks: 0,
            works: Pool::new(),
            report: ScrubReport::default(),
            figures: EpochFigures::default(),
        };
        epochs.look_at_drives(core);
        epochs
    }

    /// The blocks of each drive that hold data.
    pub fn data_blocks(&self) -> Range<u64> {
        self.shape.data()
    }

    /// Counters of the epochs since the array was created or opened, or since its preparation.
    pub fn figures(&self) -> EpochFigures {
        let times = self.lines.iter().map(|line| line.progress.times());
        let times = times.fold(StageTimes::default(), StageTimes::plus);
        EpochFigures { times, ..self.figures }
    }

    /// Time per stage that a drive has spent with the token until `now`.
    pub(super) fn stage_times(&self, now: Time, drive: DriveId) -> StageTimes {
        self.lines[drive].progress.times_until(now)
    }

    /// Resets the maxima.
    pub(super) fn forget_longest(&mut self) {
        self.figures.forget_longest();
    }

    /// Findings of scrubs and repairs.
    pub fn scrub_report(&self) -> &ScrubReport {
        &self.report
    }

    /// The completed share of a rebuild or scrub in parts per million; None while none is running.
    pub fn progress(&self, task: Task) -> Option<u32> {
        self.share_done(task)
    }

    /// Number of blocks that wait to be written to some drive or are being written.
    pub fn dirty(&self) -> usize {
        self.cache.dirty()
    }

    /// The drives whose group has the token.
    pub fn holders(&self) -> &[DriveId] {
        self.turn.holders()
    }

    /// The state of a drive has changed.
    fn look_at_drives(&mut self, core: &Core<B>) {
        let serves: Vec<bool> = self.lines.ids().map(|drive| core.drives.is_in_sync(drive)).collect();
        self.has_failed = self.shape.declustering().has_lost_all(&serves);
    }

    /// Does all work that has become possible.
    fn run(&mut self, now: Time, core: &mut Core<B>) {
        self.admit(now, core);
        self.consider(now, core);
    }
}

/// Number of copies in an array with this superblock.
pub(super) fn copies_of(superblock: &MemberSuperblock) -> usize {
    config::copies_in(superblock.shape[2]) as usize
}

/// A conflict with drives of these sizes: the key, and a message with the valid range.
pub(super) fn validation_error(config: &ArrayConfig, disks: &[Disk]) -> Option<(&'static str, String)> {
    let blocks = config.room(disks.iter().map(|disk| disk.blocks).min()?);
    if disks.iter().any(|disk| disk.blocks != disks[0].blocks) {
        let message = "epochs needs drives of equal size: copies of a drive lie on its neighbours".into();
        return Some(("drives", message));
    }
    let slots = ring::slots_for(config.epoch.cache_blocks());
    let needed = SUPERBLOCK_BLOCKS + slots + u64::from(config.epoch.copies) * config.epoch.chunk_blocks();
    (blocks < needed).then(|| {
        let (slots, chunk) = (slots * BLOCK_BYTES, config.epoch.chunk);
        let message = format!(
            "the smallest drive has {} bytes, and {} are needed for the superblock, {slots} bytes of \
             descriptors (epoch.cache) and {} chunks of {chunk} bytes (epoch.chunk): make these smaller, or \
             the drives larger",
            blocks * BLOCK_BYTES,
            needed * BLOCK_BYTES,
            config.epoch.copies
        );
        ("epoch", message)
    })
}

impl<B: Block> Layout<B> for Epochs<B> {
    fn blocks(&self) -> u64 {
        self.shape.blocks()
    }

    fn create(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_clear(now, core);
    }

    fn recover(&mut self, now: Time, core: &mut Core<B>) {
        self.look_at_drives(core);
        self.begin_recovery(now, core);
    }

    fn is_ready(&self) -> bool {
        self.recovery.stage == RecoveryStage::Ready
    }

    fn condition(&self, core: &Core<B>) -> Condition {
        let with = |presence: Presence| {
            let drives = core.drives.ids();
            drives.filter(|&drive| core.drives.presence(drive) == presence).collect::<Vec<_>>()
        };
        let (missing, rebuilding) = (with(Presence::Missing), with(Presence::Rebuilding));
        if self.has_failed {
            let why = format!(
                "drives {:?} are missing and {:?} are not filled: all copies of some blocks are gone",
                numbers(&missing),
                numbers(&rebuilding)
            );
            Condition::Failed { why }
        } else if missing.is_empty() && rebuilding.is_empty() {
            Condition::Optimal
        } else {
            Condition::Degraded { missing, rebuilding }
        }
    }

    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        match core.requests.get(slot).op {
            Op::Flush => self.flush(now, core, slot),
            Op::Read => self.read(now, core, slot),
            Op::Write | Op::Trim => self.write(now, core, slot),
        }
        self.run(now, core);
    }

    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: &mut ReadResult<B>) {
        match RequestPurpose::unpack(done.wanted.token) {
            RequestPurpose::Read(slot) => {
                self.drained(now, core, done.wanted.drive);
                self.part_read(now, core, slot, done);
            }
            RequestPurpose::Met(slot) => self.part_read(now, core, slot, done),
            RequestPurpose::Work(id) => self.work_read(now, core, id, done),
            asked => unreachable!("nothing is read for {asked:?}"),
        }
        self.run(now, core);
    }

    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: &Answered<B>) {
        match RequestPurpose::unpack(token) {
            RequestPurpose::Descriptor(id) => self.listed(now, core, id, answer),
            RequestPurpose::BatchWrite(id) => self.batch_written(now, core, id, answer),
            RequestPurpose::Flush(drive) => self.flushed(now, core, drive, answer),
            RequestPurpose::Recovery => self.recovery_answered(now, core, answer),
            RequestPurpose::Compare(id) => self.compare_answered(now, core, id, answer),
            RequestPurpose::Clear(drive) => self.cleared(now, core, drive),
            asked => unreachable!("no drive is asked for {asked:?}"),
        }
        self.run(now, core);
    }

    fn control_answered(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: DriveId,
        call: Control,
        reply: ControlReply,
    ) {
        self.replied(now, core, drive, call, reply);
        self.run(now, core);
    }

    fn drive_lost(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.look_at_drives(core);
        self.lose(now, core, drive);
        self.advance_walk(now, core);
        self.run(now, core);
    }

    fn recorded(&mut self, now: Time, core: &mut Core<B>) {
        self.forget_unrecorded(now, core);
        self.run(now, core);
    }

    fn rebuild(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.most = core.drives.most_blocks() as usize;
        self.look_at_drives(core);
        if self.is_ready() {
            self.begin_task(now, core, Task::Rebuild(drive));
        }
        self.run(now, core);
    }

    fn scrub(&mut self, now: Time, core: &mut Core<B>) {
        if self.is_ready() {
            self.begin_task(now, core, Task::Scrub);
        }
        self.run(now, core);
    }

    fn next_event(&self) -> Time {
        self.next_epoch().min(self.next_admission()).min(self.next_walk())
    }

    fn advance(&mut self, now: Time, core: &mut Core<B>) {
        self.poll_drives(now, core);
        self.advance_walk(now, core);
        self.run(now, core);
    }
}
