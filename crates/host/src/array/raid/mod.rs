//! Layouts that write in place: RAID 0, 4 and 5.
//!
//! Host requests are split into pieces of one *unit* each (`geometry`). `locks` orders the work on a unit;
//! `reading` and `writing` execute pieces, `batch` decides which reads a write requires; a `run` is one drive
//! request. `gather` reads with fail-fast (`asked`). `journal` (with `ring`, `transaction`) or `intent`
//! closes or bounds the write hole, `recovery` repairs after a power loss, `walk` rebuilds and `scrub`
//! compares.
//!
//! Assumptions: a drive returns zeros for trimmed blocks; it writes a block completely or not at all. Fault
//! model: that of every array, and a seal identifies a block that is not the one written there. But a write
//! in place that a drive has acknowledged and lost, or misdirected, leaves the old block with its valid seal:
//! a read cannot detect that, only a scrub can, as a parity mismatch.

mod asked;
mod batch;
mod cells;
mod check;
mod config;
mod flushing;
mod gather;
mod geometry;
mod intent;
mod journal;
mod locks;
mod mismatches;
#[cfg(feature = "mutation")]
pub mod mutation;
#[cfg(not(feature = "mutation"))]
mod mutation;
mod reading;
mod recovery;
mod ring;
mod run;
mod scrub;
mod token;
mod transaction;
mod walk;
mod writing;

pub(super) use config::JOURNAL_LEAST;
pub use config::{RaidConfig, WriteHole};
pub(super) use intent::INTENT_BLOCKS;
pub use mismatches::{MismatchPlace, MismatchPlaces};
use tailcut_base::cast::to_usize;
pub use walk::{ScrubReport, Task};

use super::config::{ArrayConfig, LayoutKind};
use super::core::Core;
use super::drives::Answered;
use super::layout::{Condition, Layout};
use super::reads::ReadResult;
use super::requests::RequestSlot;
use crate::Block;
use crate::array::drives::Presence;
use crate::array::{DriveId, numbers};
use batch::{Batch, BatchId};
use flushing::{Flush, FlushId};
use gather::{Gather, GatherId};
use geometry::{Geometry, Parity};
use intent::WriteIntentBitmap;
use journal::Journal;
use locks::{Kind, Locks, Piece, Started};
use mutation::{Invariant, holds};
use recovery::{Recovery, Stage};
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::config::Choice;
use tailcut_base::ids::{Pool, Slab};
use tailcut_base::{Op, Spans, Status, Time};
use token::Token;
use walk::{Walk, Work, WorkId};

/// A layout that writes in place.
#[derive(Debug)]
pub struct Raid<B> {
    shape: Geometry,
    array: u128,
    /// Largest number of blocks per request that every drive accepts.
    most: usize,
    locks: Locks,
    /// Units whose work has changed.
    woken: VecDeque<u64>,
    started: Started,
    batches: Pool<BatchId, Batch<B>>,
    gathers: Pool<GatherId, Gather<B>>,
    journal: Option<Journal<B>>,
    intent: Option<WriteIntentBitmap>,
    flushes: Slab<FlushId, Flush>,
    /// An internal flush is in flight.
    is_flushing: bool,
    recovery: Recovery<B>,
    walks: Vec<Walk>,
    /// Number of passes begun.
    begun_walks: u32,
    works: Pool<WorkId, Work<B>>,
    report: ScrubReport,
}

impl<B: Block> Raid<B> {
    /// The layout of a new array, or of one about to be recovered. The superblock's shape holds the blocks
    /// per chunk, the blocks at the start of each drive for the journal or the bitmap, and which of the two
    /// it is.
    pub fn new(core: &mut Core<B>, is_new: bool) -> Raid<B> {
        let config = core.config.raid.clone();
        let is_redundant = core.config.layout.is_redundant();
        let reserved = reserved_blocks(&core.config);
        let mut made = [config.chunk_blocks(), reserved, config.write_hole.index() as u64];
        let mut array = 0;
        if let Some(superblock) = core.superblock() {
            array = superblock.array;
            if is_new {
                superblock.shape[..3].copy_from_slice(&made);
            } else {
                made.copy_from_slice(&superblock.shape[..3]);
            }
        }
        let write_hole = WriteHole::all()[to_usize(made[2])];
        let is_noted = is_redundant && (core.is_durable() || config.journal_always);
        let (first, reserved) = (core.usable().start, made[1]);
        let most_cells = match write_hole {
            WriteHole::Journal if is_redundant => Journal::<B>::most_cells(reserved),
            _ => cells::CELLS_MOST,
        };
        let parity = match core.config.layout {
            LayoutKind::Raid4 => Parity::Last,
            LayoutKind::Raid5 => Parity::Rotating,
            _ => Parity::None,
        };
        let blocks = first + reserved..core.usable().end;
        let shape = Geometry::new(blocks.clone(), made[0], core.config.width(), parity, most_cells);
        core.drives.cover(blocks.start);
        let is_journaled = is_noted && write_hole == WriteHole::Journal;
        let is_marked = is_noted && write_hole == WriteHole::Resync;
        Raid {
            journal: is_journaled.then(|| Journal::new(first..first + reserved, array)),
            intent: is_marked.then(|| WriteIntentBitmap::new(first, &shape, array)),
            array,
            most: core.drives.most_blocks() as usize,
            locks: Locks::new(shape.has_parity()),
            shape,
            woken: VecDeque::new(),
            started: Started::default(),
            batches: Pool::new(),
            gathers: Pool::new(),
            flushes: Slab::new(),
            is_flushing: false,
            recovery: Recovery::none(),
            walks: Vec::new(),
            begun_walks: 0,
            works: Pool::new(),
            report: ScrubReport::default(),
        }
    }

    /// The blocks of each drive that hold data.
    pub fn data_blocks(&self) -> Range<u64> {
        self.shape.first..self.shape.first + self.shape.stripes * self.shape.chunk
    }

    /// Findings of scrubs and repairs.
    pub fn scrub_report(&self) -> &ScrubReport {
        &self.report
    }

    /// The completed share of a rebuild, scrub or resync in parts per million; None while none is running.
    pub fn progress(&self, task: Task) -> Option<u32> {
        self.share_done(task)
    }

    /// True if no reads, writes or maintenance are in progress.
    pub fn is_idle(&self) -> bool {
        self.locks.is_idle() && self.walks.is_empty() && !self.is_flushing
    }

    /// True if more drives are missing than redundancy covers.
    fn has_failed(&self, core: &Core<B>) -> bool {
        core.missing_beside(DriveId::new(0)) > usize::from(self.shape.has_parity())
    }

    /// The content of a batch is complete: passes it to the journal or the bitmap first.
    fn guard(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        if self.journal.is_some() && holds(Invariant::JournalFirst) {
            self.note(now, core, id);
        } else if self.intent.is_some() {
            self.mark(now, core, id);
        } else {
            self.write_batch(now, core, id);
        }
    }

    /// A batch has ended: releases it from the journal or the bitmap.
    fn unguard(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let batch = &mut self.batches[id];
        let transaction = std::mem::take(&mut batch.transaction);
        let unit = batch.unit;
        if transaction == 0 {
            return;
        }
        if self.intent.is_some() {
            return self.unmark(unit);
        }
        if let Some(journal) = &mut self.journal {
            journal.ring.batch_done(transaction);
            self.commit(now, core);
        }
    }

    /// Splits a read, write or trim into pieces.
    fn cut(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get(slot);
        let (op, blocks) = (request.op, request.block..request.block + u64::from(request.blocks));
        core.requests.expect(slot, 1);
        for unit in self.shape.units_of(blocks.clone()) {
            let cells = self.shape.cells_of(unit, blocks.clone());
            let piece = match op {
                Op::Read => self.read_piece(core, unit, slot, cells),
                Op::Trim => Piece::new(unit, Kind::Trim, slot, cells),
                _ => Piece::new(unit, Kind::Write, slot, cells),
            };
            core.requests.expect(slot, 1);
            self.locks.push(piece);
            self.woken.push_back(unit);
        }
        core.part_done(now, slot, Status::Success, &Spans::new());
    }

    /// Starts all pieces that can start.
    fn run(&mut self, now: Time, core: &mut Core<B>) {
        while let Some(unit) = self.woken.pop_front() {
            if !self.locks.wake(unit, &mut self.started) {
                continue;
            }
            let mut started = std::mem::take(&mut self.started);
            for id in started.reads.drain(..) {
                self.begin_read(now, core, id);
            }
            if !started.batch.is_empty() {
                self.begin_batch(now, core, &started.batch);
                started.batch.clear();
            }
            for work in started.maintain.drain(..) {
                self.begin_unit(now, core, work);
            }
            self.started = started;
        }
    }
}

/// Blocks of each drive for the journal or the bitmap.
pub(super) fn reserved_blocks(config: &ArrayConfig) -> u64 {
    match config.raid.write_hole {
        _ if !config.layout.is_redundant() => 0,
        WriteHole::Journal => config.raid.journal_blocks(),
        WriteHole::Resync => INTENT_BLOCKS,
    }
}

impl<B: Block> Layout<B> for Raid<B> {
    fn blocks(&self) -> u64 {
        self.shape.blocks()
    }

    fn create(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_clear(now, core);
        self.run(now, core);
    }

    fn recover(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_recovery(now, core);
        self.run(now, core);
    }

    fn is_ready(&self) -> bool {
        self.recovery.stage == Stage::Ready
    }

    fn condition(&self, core: &Core<B>) -> Condition {
        let with = |presence: Presence| {
            let drives = core.drives.ids();
            drives.filter(|&drive| core.drives.presence(drive) == presence).collect::<Vec<_>>()
        };
        let (missing, rebuilding) = (with(Presence::Missing), with(Presence::Rebuilding));
        if missing.is_empty() && rebuilding.is_empty() {
            Condition::Optimal
        } else if self.has_failed(core) {
            let layout = core.config.layout;
            let spare = usize::from(self.shape.has_parity());
            let why = format!(
                "drives {:?} are missing and {:?} are not filled, and {layout} can do without {spare}",
                numbers(&missing),
                numbers(&rebuilding)
            );
            Condition::Failed { why }
        } else {
            Condition::Degraded { missing, rebuilding }
        }
    }

    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        match core.requests.get(slot).op {
            Op::Flush => self.begin_flush(now, core, Some(slot)),
            _ => self.cut(now, core, slot),
        }
        self.run(now, core);
    }

    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: &mut ReadResult<B>) {
        match Token::unpack(done.wanted.token) {
            Token::Read(id) => self.piece_read(now, core, id, done),
            Token::Gather(id) => self.gathered(now, core, id, done),
            Token::BatchRead(id) => self.batch_read(now, core, id, done),
            Token::Work(id) => self.work_read(now, core, id, done),
            token => unreachable!("nothing is read for {token:?}"),
        }
        self.drain_on(now, core);
        self.run(now, core);
    }

    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: &Answered<B>) {
        match Token::unpack(token) {
            Token::Repair(id) => self.repaired(now, core, id),
            Token::BatchWrite(id) => self.batch_written(now, core, id, answer),
            Token::Flush(id) => self.flushed(now, core, id, answer),
            Token::Journal => self.journal_written(now, core, answer),
            Token::Intent => self.intent_written(now, core, answer),
            Token::Recovery => self.recovery_answered(now, core, answer),
            Token::WorkWrite(id) => self.work_written(now, core, id),
            Token::Beside(walk) => self.beside_answered(now, core, walk),
            token => unreachable!("no drive is asked for {token:?}"),
        }
        self.drain_on(now, core);
        self.run(now, core);
    }

    fn drive_lost(&mut self, now: Time, core: &mut Core<B>, _: DriveId) {
        self.advance_walk(now, core);
        self.run(now, core);
    }

    fn refused(&mut self, now: Time, core: &mut Core<B>) {
        let (stuck, waiting) = self.locks.get_stuck(|slot| core.requests.is_refused(slot));
        self.woken.extend(stuck);
        for id in waiting {
            let (unit, slot) = (self.locks.get(id).unit, self.locks.get(id).slot);
            self.locks.end(id);
            core.part_done(now, slot, Status::NoSpace, &Spans::new());
            self.woken.push_back(unit);
        }
        self.run(now, core);
    }

    fn recorded(&mut self, now: Time, core: &mut Core<B>) {
        self.journal_changed(now, core);
        self.drain_on(now, core);
        self.run(now, core);
    }

    fn rebuild(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.most = core.drives.most_blocks() as usize;
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
        self.next_walk()
    }

    fn advance(&mut self, now: Time, core: &mut Core<B>) {
        self.advance_walk(now, core);
        self.run(now, core);
    }
}
