//! Background scans over all rows: rebuild of a drive, and scrub.

use super::Log;
use super::geometry::Row;
use super::open_row::OpenRowId;
use super::rows::{RowInfo, RowState};
use super::stream::{HOST, MOVED};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Presence, Priority};
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen, seal_of};
use crate::array::{Column, DriveId};
use crate::disk::BLOCK_BYTES;
use crate::placement::WriteKind;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::cast::to_u32;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// Findings of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Rows that the scrub has read so far.
    pub rows: u64,
    /// Blocks that the scrub has read so far.
    pub blocks: u64,
    /// Blocks that were wrong or unreadable and have been rewritten.
    pub repaired: u64,
    /// Parity blocks that did not match their stripe and have been rewritten.
    pub parities: u64,
    /// Blocks of the host that are unreadable.
    pub unreadable: u64,
    /// Whether the scrub has covered all rows.
    pub is_done: bool,
}

/// Purpose of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Rebuild this drive.
    Rebuild { drive: DriveId },
    /// Verify everything against its seal and its parity.
    Scrub,
}

/// A scan over rows.
#[derive(Debug)]
pub(super) struct RowScan<B> {
    task: Task,
    /// Age limit: younger rows have been written since the start.
    before: u32,
    /// The next row, the end, and the current row with its next stripe.
    next: Row,
    end: Row,
    row: Option<Row>,
    stripe: u32,
    /// Stripes to be repeated one by one.
    singles: VecDeque<u32>,
    /// Rows that were open or being collected when they were due.
    postponed: VecDeque<Row>,
    /// Stripes being read, and their content so far.
    parts: Vec<Option<Part<B>>>,
    /// Requests in flight.
    pending: u32,
    /// Earliest time of the next part under the configured rate.
    not_before: Time,
    is_flushing: bool,
    is_given_up: bool,
    /// The first checkpoint started after the scan: all its copies are right.
    checkpoint: u64,
    report: ScrubReport,
}

/// Stripes of a row being read on all columns.
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
    /// Stripes with `pending` reads in flight.
    fn new(stripes: Range<u32>, pending: u32) -> Part<B> {
        let (data, parity) = (vec![B::default(); stripes.len()], Vec::new());
        let (stripe, stripes) = (stripes.start, to_u32(stripes.len()));
        Part { stripe, stripes, pending, has_failed: false, is_repaired: false, data, parity }
    }
}

/// Stripes per part.
const STRIPES: u32 = 16;

/// Concurrent parts.
const PARTS: usize = 2;

impl<B: Block> RowScan<B> {
    fn new(task: Task, rows: Range<Row>, before: u32, checkpoint: u64) -> RowScan<B> {
        RowScan {
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
    /// Queues the rebuild of a replaced drive.
    pub(super) fn begin_rebuild(&mut self, drive: DriveId) {
        self.to_rebuild.push_back(drive);
    }

    /// Queues a scrub, unless one is running.
    pub(super) fn begin_scrub(&mut self) {
        self.wants_scrub = true;
    }

    /// Cancels the rebuild of a drive that is gone.
    pub(super) fn stop_rebuild(&mut self, drive: DriveId) {
        self.to_rebuild.retain(|&waiting| waiting != drive);
        if let Some(scan) = &mut self.scan
            && matches!(scan.task, Task::Rebuild { drive: filled } if filled == drive)
        {
            scan.is_given_up = true;
        }
    }

    /// When the scan's timer expires.
    pub(super) fn scan_at(&self) -> Time {
        match &self.scan {
            Some(scan) if !self.scan_waits && scan.can_begin() => scan.not_before,
            _ => Time::NEVER,
        }
    }

    /// Advances the scan as far as its rate permits.
    pub(super) fn walk(&mut self, now: Time, core: &mut Core<B>) {
        self.scan_waits = false;
        self.end_given_up();
        loop {
            self.begin_row_scan();
            let Some(scan) = self.scan.as_ref().filter(|scan| !scan.is_given_up) else { return };
            let free = scan.parts.iter().position(Option::is_none);
            let Some(part) = free.filter(|_| now >= scan.not_before && !scan.is_flushing) else { return };
            if !self.advance_scan(now, core, part) && self.scan.is_some() {
                self.scan_waits = true;
                return;
            }
        }
    }

    fn begin_row_scan(&mut self) {
        if self.scan.is_some() || self.failed.is_some() {
            return;
        }
        let (before, checkpoint) = (self.rows.opened, self.checkpoint.next());
        if let Some(drive) = self.to_rebuild.pop_front() {
            let first = self.geometry.column_of(drive).0.get() * self.geometry.rows;
            let rows = Row::new(first)..Row::new(first + self.geometry.rows);
            self.scan = Some(Box::new(RowScan::new(Task::Rebuild { drive }, rows, before, checkpoint)));
        } else if std::mem::take(&mut self.wants_scrub) {
            let rows = Row::FIRST..Row::new(self.geometry.all_rows());
            self.scan = Some(Box::new(RowScan::new(Task::Scrub, rows, before, checkpoint)));
        }
    }

    fn scan_mut(&mut self) -> &mut RowScan<B> {
        self.scan.as_mut().expect("a walk is under way")
    }

    /// Starts the next part; false if there is none at the moment.
    fn advance_scan(&mut self, now: Time, core: &mut Core<B>, part: usize) -> bool {
        let Some(row) = self.scan_mut().row else { return self.next_row_of_walk(now, core) };
        let info = *self.rows.get(row);
        let (segment, most) = (self.geometry.segment, STRIPES.min(core.drives.most_blocks()));
        let is_full = info.has_summary && info.stripes + 1 == segment;
        let end = if is_full { segment } else { info.stripes };
        let scan = self.scan_mut();
        let (stripe, stripes) = match scan.singles.pop_front() {
            Some(stripe) => (stripe, 1),
            None if scan.stripe < end => {
                let (stripe, stripes) = (scan.stripe, most.min(end - scan.stripe));
                scan.stripe += stripes;
                (stripe, stripes)
            }
            // The stripes in between are skipped: they were not written, or are invalid.
            None if scan.stripe < segment && info.has_summary => {
                scan.stripe = segment;
                (segment - 1, 1)
            }
            None if scan.is_busy() => return false,
            None => {
                scan.row = None;
                self.rows.get_mut(row).readers -= 1;
                return true;
            }
        };
        let bytes = u64::from(stripes) * BLOCK_BYTES;
        let pause = Nanos::for_bytes(bytes, core.config.background_rate);
        scan.not_before = now.max(scan.not_before) + pause;
        self.begin_part(now, core, part, (row, stripe, stripes));
        true
    }

    fn next_row_of_walk(&mut self, now: Time, core: &mut Core<B>) -> bool {
        let scan = self.scan.as_mut().expect("a walk is under way");
        let (task, before) = (scan.task, scan.before);
        let open_rows = &self.open_rows;
        let is_blank =
            |info: &RowInfo| info.open_row != OpenRowId::NONE && open_rows[info.open_row].next == 0;
        while scan.next < scan.end {
            let row = scan.next;
            scan.next = Row::new(row.get() + 1);
            let info = *self.rows.get(row);
            match info.state {
                RowState::Free => {}
                _ if info.age >= before => {}
                // The row is still empty.
                RowState::Open if task == Task::Scrub && is_blank(&info) => {}
                // A victim may be empty in a moment.
                RowState::Open | RowState::Victim => scan.postponed.push_back(row),
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
        let scan = self.scan_mut();
        (scan.row, scan.stripe) = (Some(row), 0);
        scan.report.rows += 1;
        if let Task::Rebuild { drive } = scan.task
            && scan.postponed.is_empty()
        {
            core.drives.set_filled(drive, address);
        }
    }

    /// Takes a postponed row; if it is the open row of a stream, it is closed early.
    fn postponed_row(&mut self, now: Time, core: &mut Core<B>, before: u32) -> bool {
        let Some(row) = self.scan_mut().postponed.pop_front() else {
            self.end_walk(now, core);
            return false;
        };
        let info = *self.rows.get(row);
        if info.state == RowState::Open && info.age < before {
            self.scan_mut().postponed.push_front(row);
            for stream in [HOST, MOVED] {
                if self.open_row(stream).here.row == row
                    && let Some(next) = self.next_row(now, core, stream)
                {
                    // The search for the next row may have closed this one.
                    if self.open_row(stream).here.row == row {
                        self.roll(now, core, stream, next);
                        self.send(now, core, stream);
                    }
                }
            }
            return false;
        }
        if self.collection.holds(row) {
            self.scan_mut().postponed.push_front(row);
            return false;
        }
        if info.state != RowState::Free && info.age < before {
            self.take_row(core, row);
        }
        true
    }

    fn begin_part(&mut self, now: Time, core: &mut Core<B>, part: usize, what: (Row, u32, u32)) {
        let (row, stripe, stripes) = what;
        let task = self.scan_mut().task;
        let of_drive = |column: Column| match task {
            Task::Rebuild { drive } => self.geometry.column_of(drive).1 == column,
            Task::Scrub => core.drives.is_in_sync(self.geometry.drive(row, column)),
        };
        let columns: Vec<Column> = self.geometry.columns().filter(|&column| of_drive(column)).collect();
        let around = match task {
            Task::Rebuild { .. } => ReconstructWhen::AtNeed,
            Task::Scrub if stripes > 1 => ReconstructWhen::Later,
            Task::Scrub => ReconstructWhen::WhenWrong,
        };
        let mut this = Part::new(stripe..stripe + stripes, to_u32(columns.len()));
        this.is_repaired = this.pending < self.geometry.width;
        self.scan_mut().parts[part] = Some(this);
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
        around: ReconstructWhen,
    ) {
        let wanted = BlockRead {
            drive: self.geometry.drive(row, column),
            block: self.geometry.address(row) + u64::from(stripes.start),
            blocks: to_u32(stripes.len()),
            age: self.age(self.rows.get(row).age),
            unwritten: false,
            class: Class::new(5).expect("a class"),
            urgency: Priority::Background,
            around,
            token: Token::Scrub(to_u32(part)).into(),
        };
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// The read of a column of a part has completed, successfully or not.
    pub(super) fn part_read(&mut self, now: Time, core: &mut Core<B>, part: usize, done: &mut ReadResult<B>) {
        let scan = self.scan.as_mut().expect("a walk is under way");
        let row = scan.row.expect("it is being read");
        let this = scan.parts[part].as_mut().expect("it is being read");
        this.pending -= 1;
        scan.report.blocks += u64::from(done.wanted.blocks);
        this.has_failed |= done.status != Status::Success;
        this.is_repaired |= done.reconstructed;
        scan.report.repaired += u64::from(done.damaged && done.status == Status::Success);
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
        let this = scan.parts[part].take().expect("it was read");
        if this.has_failed {
            self.part_failed(row, &this);
        } else if let Task::Rebuild { drive } = scan.task {
            let content = if this.parity.is_empty() { this.data } else { this.parity };
            self.write_blocks(now, core, (row, drive, this.stripe), content);
        } else if !this.is_repaired {
            self.compare(now, core, row, this);
        }
    }

    /// A part could not be read: retries its stripes one by one. Single unreadable stripes are lost, except
    /// for a summary: that of a row that was open at a power loss may never have been written.
    fn part_failed(&mut self, row: Row, part: &Part<B>) {
        if part.stripes > 1 {
            self.scan_mut().singles.extend(part.stripe..part.stripe + part.stripes);
            return;
        }
        if part.stripe < self.geometry.stripes() {
            self.scan_mut().report.unreadable += 1;
        } else {
            self.rows.get_mut(row).has_summary = false;
        }
    }

    fn compare(&mut self, now: Time, core: &mut Core<B>, row: Row, part: Part<B>) {
        let Some(parity) = self.geometry.parity(row) else { return };
        let is_right =
            part.data.iter().zip(&part.parity).all(|(sum, parity)| sum.checksum() == parity.checksum());
        if !is_right {
            self.scan_mut().report.parities += 1;
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
        let (blocks, mut data) = (to_u32(content.len()), content);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, age));
        }
        let (op, class) = (Op::Write, Class::new(5).expect("a class"));
        let ask = Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
        core.drives.ask(now, drive, Priority::Background, Owner::Layout(Token::Rebuild.into()), ask);
        self.scan_mut().pending += 1;
    }

    /// The scan is complete: a rebuilt drive must be flushed before it counts as in sync. Copies of
    /// checkpoints are not verified but written anew.
    fn end_walk(&mut self, now: Time, core: &mut Core<B>) {
        let (is_busy, checkpoint) = (self.scan_mut().is_busy(), self.scan_mut().checkpoint);
        if is_busy {
            return;
        }
        // A failed log writes no checkpoint; a rebuild requires one.
        let is_excused = self.failed.is_some() && self.scan_mut().task == Task::Scrub;
        if !is_excused && !self.is_checkpointed(now, core, checkpoint) {
            return;
        }
        if let Task::Rebuild { drive } = self.scan_mut().task {
            self.scan_mut().is_flushing = true;
            self.scan_mut().pending += 1;
            self.flush(now, core, drive, Token::Rebuild);
        } else {
            let scan = self.scan.take().expect("it ends");
            self.scrub_report = ScrubReport { is_done: true, ..scan.report };
        }
    }

    /// A write or flush of the scan has completed.
    pub(super) fn scan_answered(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        let scan = self.scan_mut();
        scan.pending -= 1;
        if let Task::Rebuild { drive } = scan.task
            && scan.is_flushing
            && !scan.is_given_up
            && answer.status == Status::Success
        {
            self.scan = None;
            core.drives.set_presence(drive, Presence::InSync);
            core.write_record(now);
        }
    }

    /// Ends a scan that has lost its drive, once none of its requests are in flight.
    fn end_given_up(&mut self) {
        let Some(scan) = self.scan.take_if(|scan| scan.is_given_up && !scan.is_busy()) else {
            return;
        };
        if let Some(row) = scan.row {
            self.rows.get_mut(row).readers -= 1;
        }
    }

    /// True while a scrub is in progress.
    pub fn is_scrubbing(&self) -> bool {
        self.scan.as_ref().is_some_and(|scan| scan.task == Task::Scrub)
    }

    /// Findings of the scrub so far.
    pub fn scrub_report(&self) -> ScrubReport {
        match &self.scan {
            Some(scan) if scan.task == Task::Scrub => scan.report,
            _ => self.scrub_report,
        }
    }
}
