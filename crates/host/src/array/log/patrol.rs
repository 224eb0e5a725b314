//! Walks over all rows in the background: rebuilding a drive, and scrubbing.

use super::Log;
use super::geometry::Row;
use super::rows::{RowInfo, RowState};
use super::stream::{HOST, MOVED};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Presence, Urgency};
use crate::array::reads::{Around, Done, Wanted, seal_of};
use crate::array::{Column, DriveId};
use crate::disk::BLOCK_BYTES;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// What scrubbing has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Rows that were read.
    pub rows: u64,
    /// Blocks that were read.
    pub blocks: u64,
    /// Blocks that were wrong or could not be read, and have been written again.
    pub repaired: u64,
    /// Parities that did not fit their stripe, and have been written again.
    pub parities: u64,
    /// Blocks of the host that cannot be read at all.
    pub unreadable: u64,
    /// It has come to its end.
    pub is_done: bool,
}

/// What a walk does at each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Fills this drive with what belongs on it.
    Rebuild { drive: DriveId },
    /// Compares everything with its seal and its parity.
    Scrub,
}

/// A walk over rows.
#[derive(Debug)]
pub struct Patrol<B> {
    task: Task,
    /// Only rows older than this: all others have been written since.
    before: u32,
    /// The next row, the end, and the row that is worked on with its next stripe.
    next: Row,
    end: Row,
    row: Option<Row>,
    stripe: u32,
    /// Stripes to be looked at once more, one by one.
    singles: VecDeque<u32>,
    /// Rows that were open or being collected when it was their turn.
    postponed: VecDeque<Row>,
    /// What is known of the stripes that are being read.
    parts: Vec<Option<Part<B>>>,
    /// Requests in flight.
    pending: u32,
    /// Not before then, so that it keeps to its rate.
    not_before: Time,
    is_flushing: bool,
    is_given_up: bool,
    /// The first checkpoint that is begun after the walk: all copies of it are right.
    checkpoint: u64,
    report: ScrubReport,
}

/// Stripes of a row that are read on all columns.
#[derive(Debug)]
struct Part<B> {
    stripe: u32,
    stripes: u32,
    pending: u32,
    has_failed: bool,
    is_repaired: bool,
    data: Vec<B>,
    parity: Vec<B>,
}

impl<B: Block> Part<B> {
    /// Of which so many reads are on their way.
    fn new(stripes: Range<u32>, pending: u32) -> Part<B> {
        let (data, parity) = (vec![B::default(); stripes.len()], Vec::new());
        let (stripe, stripes) = (stripes.start, stripes.len() as u32);
        Part { stripe, stripes, pending, has_failed: false, is_repaired: false, data, parity }
    }
}

/// Stripes that are read together.
const STRIPES: u32 = 16;

/// Such parts in flight.
const PARTS: usize = 2;

impl<B: Block> Patrol<B> {
    fn new(task: Task, rows: Range<Row>, before: u32, checkpoint: u64) -> Patrol<B> {
        Patrol {
            task,
            before,
            next: rows.start,
            end: rows.end,
            row: None,
            stripe: 0,
            singles: VecDeque::new(),
            postponed: VecDeque::new(),
            parts: (0..PARTS).map(|_| None).collect(),
            pending: 0,
            not_before: Time::ZERO,
            is_flushing: false,
            is_given_up: false,
            checkpoint,
            report: ScrubReport::default(),
        }
    }

    fn can_begin(&self) -> bool {
        !self.is_flushing && !self.is_given_up && self.parts.iter().any(Option::is_none)
    }

    fn is_busy(&self) -> bool {
        self.pending > 0 || self.parts.iter().any(Option::is_some)
    }
}

impl<B: Block> Log<B> {
    /// Begins to fill a drive that has taken the place of another.
    pub(super) fn begin_rebuild(&mut self, drive: DriveId) {
        self.to_rebuild.push_back(drive);
    }

    /// Begins to scrub, unless that is under way.
    pub(super) fn begin_scrub(&mut self) {
        self.wants_scrub = true;
    }

    /// A drive is gone: it is not filled any more.
    pub(super) fn stop_rebuild(&mut self, drive: DriveId) {
        self.to_rebuild.retain(|&waiting| waiting != drive);
        if let Some(patrol) = &mut self.patrol
            && matches!(patrol.task, Task::Rebuild { drive: filled } if filled == drive)
        {
            patrol.is_given_up = true;
        }
    }

    /// When the walk goes on by itself.
    pub(super) fn patrol_at(&self) -> Time {
        match &self.patrol {
            Some(patrol) if !self.patrol_waits && patrol.can_begin() => patrol.not_before,
            _ => Time::NEVER,
        }
    }

    /// Goes on with the walk, as far as its rate allows.
    pub(super) fn walk(&mut self, now: Time, core: &mut Core<B>) {
        self.patrol_waits = false;
        self.end_given_up();
        loop {
            self.begin_patrol();
            let Some(patrol) = self.patrol.as_ref().filter(|patrol| !patrol.is_given_up) else { return };
            let free = patrol.parts.iter().position(Option::is_none);
            let Some(part) = free.filter(|_| now >= patrol.not_before && !patrol.is_flushing) else { return };
            if !self.walk_on(now, core, part) && self.patrol.is_some() {
                self.patrol_waits = true;
                return;
            }
        }
    }

    fn begin_patrol(&mut self) {
        if self.patrol.is_some() || self.failed.is_some() {
            return;
        }
        let (before, checkpoint) = (self.rows.opened, self.checkpoint.next());
        if let Some(drive) = self.to_rebuild.pop_front() {
            let first = self.geometry.column_of(drive).0.get() * self.geometry.rows;
            let rows = Row::new(first)..Row::new(first + self.geometry.rows);
            self.patrol = Some(Box::new(Patrol::new(Task::Rebuild { drive }, rows, before, checkpoint)));
        } else if std::mem::take(&mut self.wants_scrub) {
            let rows = Row::FIRST..Row::new(self.geometry.all_rows());
            self.patrol = Some(Box::new(Patrol::new(Task::Scrub, rows, before, checkpoint)));
        }
    }

    fn patrol_mut(&mut self) -> &mut Patrol<B> {
        self.patrol.as_mut().expect("a walk is under way")
    }

    /// Begins the next part; false when there is none to begin now.
    fn walk_on(&mut self, now: Time, core: &mut Core<B>, part: usize) -> bool {
        let Some(row) = self.patrol_mut().row else { return self.next_row_of_walk(now, core) };
        let info = *self.rows.get(row);
        let (segment, most) = (self.geometry.segment, STRIPES.min(core.drives.most_blocks()));
        let is_full = info.has_summary && info.stripes + 1 == segment;
        let end = if is_full { segment } else { info.stripes };
        let patrol = self.patrol_mut();
        let (stripe, stripes) = match patrol.singles.pop_front() {
            Some(stripe) => (stripe, 1),
            None if patrol.stripe < end => {
                let (stripe, stripes) = (patrol.stripe, most.min(end - patrol.stripe));
                patrol.stripe += stripes;
                (stripe, stripes)
            }
            // Nothing between is looked at: it has not been written, or does not count.
            None if patrol.stripe < segment && info.has_summary => {
                patrol.stripe = segment;
                (segment - 1, 1)
            }
            None if patrol.is_busy() => return false,
            None => {
                patrol.row = None;
                self.rows.get_mut(row).readers -= 1;
                return true;
            }
        };
        let bytes = u64::from(stripes) * BLOCK_BYTES;
        let pause = Nanos::for_bytes(bytes, core.config.background_rate);
        patrol.not_before = now.max(patrol.not_before) + pause;
        self.begin_part(now, core, part, (row, stripe, stripes));
        true
    }

    fn next_row_of_walk(&mut self, now: Time, core: &mut Core<B>) -> bool {
        let patrol = self.patrol.as_mut().expect("a walk is under way");
        let (task, before) = (patrol.task, patrol.before);
        let open_rows = &self.open_rows;
        let is_blank = |info: &RowInfo| info.slab.is_some_and(|slab| open_rows[slab as usize].next == 0);
        while patrol.next < patrol.end {
            let row = patrol.next;
            patrol.next = Row::new(row.get() + 1);
            let info = *self.rows.get(row);
            match info.state {
                RowState::Free => {}
                _ if info.age >= before => {}
                // Nothing has been appended to it.
                RowState::Open if task == Task::Scrub && is_blank(&info) => {}
                // Of a victim nothing may be left in a moment.
                RowState::Open | RowState::Victim => patrol.postponed.push_back(row),
                _ => {
                    self.take_row(core, row);
                    return true;
                }
            }
        }
        self.postponed_row(now, core, before)
    }

    fn take_row(&mut self, core: &mut Core<B>, row: Row) {
        self.rows.get_mut(row).readers += 1;
        let address = self.geometry.address(row);
        let patrol = self.patrol_mut();
        (patrol.row, patrol.stripe) = (Some(row), 0);
        patrol.report.rows += 1;
        if let Task::Rebuild { drive } = patrol.task
            && patrol.postponed.is_empty()
        {
            core.drives.set_filled(drive, address);
        }
    }

    /// Rows that were open: those that are streams' own are ended early.
    fn postponed_row(&mut self, now: Time, core: &mut Core<B>, before: u32) -> bool {
        let Some(row) = self.patrol_mut().postponed.pop_front() else {
            self.end_walk(now, core);
            return false;
        };
        let info = *self.rows.get(row);
        if info.state == RowState::Open && info.age < before {
            self.patrol_mut().postponed.push_front(row);
            for stream in [HOST, MOVED] {
                if self.open_row(stream).here.row == row
                    && let Some(next) = self.next_row(now, core, stream)
                {
                    // To find the next row may have ended this one.
                    if self.open_row(stream).here.row == row {
                        self.roll(now, core, stream, next);
                        self.send(now, core, stream);
                    }
                }
            }
            return false;
        }
        if self.collection.holds(row) {
            self.patrol_mut().postponed.push_front(row);
            return false;
        }
        if info.state != RowState::Free && info.age < before {
            self.take_row(core, row);
        }
        true
    }

    fn begin_part(&mut self, now: Time, core: &mut Core<B>, part: usize, what: (Row, u32, u32)) {
        let (row, stripe, stripes) = what;
        let task = self.patrol_mut().task;
        let of_drive = |column: Column| match task {
            Task::Rebuild { drive } => self.geometry.column_of(drive).1 == column,
            Task::Scrub => core.drives.is_in_sync(self.geometry.drive(row, column)),
        };
        let columns: Vec<Column> = self.geometry.columns().filter(|&column| of_drive(column)).collect();
        let around = match task {
            Task::Rebuild { .. } => Around::AtNeed,
            Task::Scrub if stripes > 1 => Around::Later,
            Task::Scrub => Around::WhenWrong,
        };
        let mut this = Part::new(stripe..stripe + stripes, columns.len() as u32);
        this.is_repaired = this.pending < self.geometry.width;
        self.patrol_mut().parts[part] = Some(this);
        for column in columns {
            self.read_part(now, core, part, (row, column, stripe..stripe + stripes), around);
        }
    }

    fn read_part(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        part: usize,
        (row, column, stripes): (Row, Column, Range<u32>),
        around: Around,
    ) {
        let wanted = Wanted {
            drive: self.geometry.drive(row, column),
            block: self.geometry.address(row) + u64::from(stripes.start),
            blocks: stripes.len() as u32,
            age: self.age(self.rows.get(row).age),
            unwritten: false,
            class: Class::new(5).expect("a class"),
            urgency: Urgency::Background,
            around,
            token: Token::Scrub(part as u32).into(),
        };
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// A column of a part has been read, or cannot be.
    pub(super) fn part_read(&mut self, now: Time, core: &mut Core<B>, part: usize, done: &mut Done<B>) {
        let patrol = self.patrol.as_mut().expect("a walk is under way");
        let row = patrol.row.expect("it is being read");
        let this = patrol.parts[part].as_mut().expect("it is being read");
        this.pending -= 1;
        patrol.report.blocks += u64::from(done.wanted.blocks);
        this.has_failed |= done.status != Status::Success;
        this.is_repaired |= done.reconstructed;
        patrol.report.repaired += u64::from(done.damaged && done.status == Status::Success);
        if done.status == Status::Success {
            if Some(self.geometry.column_of(done.wanted.drive).1) == self.geometry.parity(row) {
                this.parity.append(&mut done.data);
            } else {
                this.data.iter_mut().zip(&done.data).for_each(|(sum, block)| sum.xor(block));
            }
        }
        if this.pending > 0 {
            return;
        }
        let this = patrol.parts[part].take().expect("it was read");
        if this.has_failed {
            self.part_failed(row, &this);
        } else if let Task::Rebuild { drive } = patrol.task {
            let content = if this.parity.is_empty() { this.data } else { this.parity };
            self.write_blocks(now, core, (row, drive, this.stripe), content);
        } else if !this.is_repaired {
            self.compare(now, core, row, this);
        }
    }

    /// Together they cannot be read: perhaps one by one. What cannot be read then is lost, but for a
    /// summary: that of a row which was open when the power went has perhaps never been written.
    fn part_failed(&mut self, row: Row, part: &Part<B>) {
        if part.stripes > 1 {
            self.patrol_mut().singles.extend(part.stripe..part.stripe + part.stripes);
            return;
        }
        if part.stripe < self.geometry.stripes() {
            self.patrol_mut().report.unreadable += 1;
        } else {
            self.rows.get_mut(row).has_summary = false;
        }
    }

    fn compare(&mut self, now: Time, core: &mut Core<B>, row: Row, part: Part<B>) {
        let Some(parity) = self.geometry.parity(row) else { return };
        let is_right =
            part.data.iter().zip(&part.parity).all(|(sum, parity)| sum.checksum() == parity.checksum());
        if !is_right {
            self.patrol_mut().report.parities += 1;
            let drive = self.geometry.drive(row, parity);
            self.write_blocks(now, core, (row, drive, part.stripe), part.data);
        }
    }

    fn write_blocks(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (row, drive, stripe): (Row, DriveId, u32),
        content: Vec<B>,
    ) {
        let age = self.age(self.rows.get(row).age);
        let block = self.geometry.address(row) + u64::from(stripe);
        let (blocks, mut data) = (content.len() as u32, content);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, age));
        }
        let (op, class) = (Op::Write, Class::new(5).expect("a class"));
        let ask = Ask { op, fua: false, fail_fast: false, class, block, blocks, data };
        core.drives.ask(now, drive, Urgency::Background, Owner::Layout(Token::Rebuild.into()), ask);
        self.patrol_mut().pending += 1;
    }

    /// Everything is where it belongs: a rebuilt drive must keep it before it counts. The copies of
    /// checkpoints are not looked at but written anew.
    fn end_walk(&mut self, now: Time, core: &mut Core<B>) {
        let (is_busy, checkpoint) = (self.patrol_mut().is_busy(), self.patrol_mut().checkpoint);
        if is_busy {
            return;
        }
        // A log that has failed writes no checkpoint; a drive is not rebuilt without.
        let is_excused = self.failed.is_some() && self.patrol_mut().task == Task::Scrub;
        if !is_excused && !self.is_checkpointed(now, core, checkpoint) {
            return;
        }
        if let Task::Rebuild { drive } = self.patrol_mut().task {
            self.patrol_mut().is_flushing = true;
            self.patrol_mut().pending += 1;
            self.flush(now, core, drive, Token::Rebuild);
        } else {
            let patrol = self.patrol.take().expect("it ends");
            self.scrub_report = ScrubReport { is_done: true, ..patrol.report };
        }
    }

    /// A write or flush of the walk has ended.
    pub(super) fn patrol_answered(&mut self, now: Time, core: &mut Core<B>, answer: Answered<B>) {
        core.drives.recycle(answer.data);
        let patrol = self.patrol_mut();
        patrol.pending -= 1;
        if let Task::Rebuild { drive } = patrol.task
            && patrol.is_flushing
            && !patrol.is_given_up
            && answer.status == Status::Success
        {
            self.patrol = None;
            core.drives.set_presence(drive, Presence::InSync);
            core.write_record(now);
        }
    }

    /// Ends a walk that has lost its drive, when nothing of it is in flight any more.
    fn end_given_up(&mut self) {
        let Some(patrol) = self.patrol.take_if(|patrol| patrol.is_given_up && !patrol.is_busy()) else {
            return;
        };
        if let Some(row) = patrol.row {
            self.rows.get_mut(row).readers -= 1;
        }
    }

    /// What scrubbing has found so far.
    pub fn scrub_report(&self) -> ScrubReport {
        match &self.patrol {
            Some(patrol) if patrol.task == Task::Scrub => patrol.report,
            _ => self.scrub_report,
        }
    }
}
