//! Appending to the log.
//!
//! There are two streams: what the host writes, and what collection moves. Each has an open row and a
//! batch that no descriptor covers yet.

use super::Log;
use super::commit::Commit;
use super::descriptor::{self, Aged, Descriptor, Entry, Summary, Trim};
use super::geometry::{Place, Row};
use super::map::Raw;
use super::open_row::{NO_BLOCK, NOBODY, OpenRow};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Urgency};
use crate::array::reads::seal_of;
use crate::array::{Column, DriveId};
use crate::planted::{Rule, holds};
use std::ops::Range;
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Op, Spans, Status, Time};

/// The stream of what the host writes.
pub const HOST: usize = 0;
/// The stream of what collection moves.
pub const MOVED: usize = 1;

/// One of the two logs.
#[derive(Debug)]
pub struct Stream {
    /// Where the content of its open row is.
    pub open: u16,
    /// Rows that wait to be wholly on the drives, likewise.
    pub closing: Vec<u16>,
    /// What no descriptor covers yet.
    pub batch: Batch,
    /// Drives whose caches hold something of this stream.
    pub dirty: IdVec<DriveId, bool>,
    /// What is being made durable.
    pub commit: Commit,
    /// Rows begun since the last commit that has ended was begun.
    pub begun: u32,
    /// Drives did not make durable what they should have, and nothing makes up for it.
    pub has_failed: bool,
}

/// What no descriptor covers yet.
#[derive(Debug, Default)]
pub struct Batch {
    /// Counts the batches of the stream.
    pub number: u64,
    first: u32,
    entries: Vec<Entry>,
    trims: Vec<Trim>,
}

impl Batch {
    /// True with nothing that a descriptor would have to cover.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.trims.is_empty()
    }
}

impl Stream {
    /// A stream without a row, over so many drives.
    pub fn new(drives: usize) -> Stream {
        Stream {
            open: 0,
            closing: Vec::new(),
            batch: Batch { number: 1, ..Batch::default() },
            dirty: IdVec::filled(drives, false),
            commit: Commit::default(),
            begun: 0,
            has_failed: false,
        }
    }
}

/// The most rows that a stream begins without a commit. Ages of rows of which nothing became durable
/// are not seen by recovery, and must not be given again: it leaves out as many.
pub const BEGUN_MAX: u32 = 2048;

impl<B: Block> Log<B> {
    /// The row that a stream appends to.
    pub(super) fn open_row(&self, stream: usize) -> &OpenRow<B> {
        &self.open_rows[self.streams[stream].open as usize]
    }

    fn open_row_mut(&mut self, stream: usize) -> &mut OpenRow<B> {
        &mut self.open_rows[self.streams[stream].open as usize]
    }

    /// Begins a row that has just been opened.
    pub(super) fn begin_row(&mut self, core: &mut Core<B>, stream: usize, row: Row) {
        self.forget_checksums(core, row);
        let slab = self.free_slabs.pop().unwrap_or_else(|| {
            self.open_rows.push(OpenRow::new(&self.geometry));
            (self.open_rows.len() - 1) as u16
        });
        let here = Aged { row, age: self.rows.get(row).age };
        let geometry = &self.geometry;
        self.open_rows[slab as usize]
            .begin(geometry, here, stream, |column| core.drives.is_present(geometry.drive(row, column)));
        self.rows.get_mut(row).slab = Some(slab);
        self.streams[stream].open = slab;
        self.streams[stream].batch.first = 0;
        self.streams[stream].begun += 1;
    }

    /// Makes room for one more block or trim of a stream; false when there is no row for it.
    ///
    /// Behind the room there is always some for the descriptor of a commit with the rest of its stripe,
    /// and for the descriptor that ends the row: a commit never needs a new row.
    pub(super) fn make_room(&mut self, now: Time, core: &mut Core<B>, stream: usize) -> bool {
        let batch = &self.streams[stream].batch;
        let is_full = !descriptor::has_room(&batch.entries, &batch.trims);
        let needed = 1 + u32::from(is_full) + self.geometry.data + 1;
        if self.open_row(stream).next + needed > self.geometry.positions() {
            if self.streams[stream].begun >= BEGUN_MAX {
                return false;
            }
            let Some(next) = self.next_row(now, core, stream) else { return false };
            self.roll(now, core, stream, next);
            self.commit_at_times(now, core, stream);
        } else if is_full {
            self.describe(core, stream, None);
        }
        true
    }

    /// Appends a block of the host; there is room for it.
    pub(super) fn append(
        &mut self,
        core: &mut Core<B>,
        stream: usize,
        block: u64,
        content: B,
        source: Option<Place>,
        waiter: u32,
    ) {
        let checksum = content.checksum();
        let has_tokens = self.has_tokens;
        let row = self.open_row_mut(stream);
        // Who waits for nothing but memory is told at once.
        let who = if has_tokens { NOBODY } else { waiter };
        let (position, is_kept) = row.put(content, who, block + 1);
        let here = row.here.row;
        let place = self.geometry.place(here, position);
        self.set_checksum(core, place, checksum);
        self.streams[stream].batch.entries.push(Entry { block, checksum, source });
        if let Some(reverse) = &mut self.reverse {
            reverse.set_raw(place.0, Raw::new(block + 1));
        }
        self.rows.validate(here);
        self.remap(block, Some(place));
        if (!is_kept || has_tokens) && waiter != NOBODY {
            self.orphans.push((waiter, Status::Success));
        }
    }

    /// Sets the checksum of the block at a place, if the array keeps checksums.
    #[inline]
    pub(super) fn set_checksum(&self, core: &mut Core<B>, place: Place, checksum: u32) {
        if let Some(checksums) = core.reads.checksums() {
            let (row, column, stripe) = self.geometry.locate(place);
            let block = self.geometry.address(row) + u64::from(stripe);
            checksums.set(self.geometry.drive(row, column), block, checksum);
        }
    }

    /// Forgets the checksums of what was in a row.
    pub(super) fn forget_checksums(&self, core: &mut Core<B>, row: Row) {
        let checksums = core.reads.checksums().filter(|_| holds(Rule::OldChecksumsAreForgotten));
        let Some(checksums) = checksums else { return };
        for column in self.geometry.columns() {
            let (drive, block) = (self.geometry.drive(row, column), self.geometry.address(row));
            checksums.forget(drive, block, self.geometry.segment);
        }
    }

    /// Notes that the host has declared blocks unused; there is room for it.
    pub(super) fn append_trim(&mut self, block: u64, blocks: u32) {
        let batch = &mut self.streams[HOST].batch;
        let after = batch.entries.len() as u16;
        if holds(Rule::TrimsAreLogged) {
            batch.trims.push(Trim { after, block, blocks });
        }
        for block in block..block + u64::from(blocks) {
            self.remap(block, None);
        }
    }

    /// A block is somewhere else from now on.
    pub(super) fn remap(&mut self, block: u64, place: Option<Place>) {
        if let Some(old) = self.map.replace(block, place) {
            self.rows.invalidate(self.geometry.locate(old).0);
        }
    }

    /// Appends a descriptor of the batch. It has an entry in the table of checksums, too: a scrub would
    /// otherwise believe one that a write has missed, and make the parity fit it.
    pub(super) fn describe(&mut self, core: &mut Core<B>, stream: usize, next: Option<Aged>) {
        let array = self.array;
        let row = &mut self.open_rows[self.streams[stream].open as usize];
        let batch = &mut self.streams[stream].batch;
        let descriptor = Descriptor {
            array,
            here: row.here,
            stream: stream as u8,
            batch: batch.number,
            first: batch.first,
            position: row.next,
            next,
            entries: std::mem::take(&mut batch.entries),
            trims: std::mem::take(&mut batch.trims),
        };
        let content = B::encode(&descriptor.encode());
        let checksum = content.checksum();
        let (position, _) = row.put(content, NOBODY, NO_BLOCK);
        (batch.entries, batch.trims) = (descriptor.entries, descriptor.trims);
        batch.entries.clear();
        batch.trims.clear();
        batch.number += 1;
        batch.first = row.next;
        let here = row.here.row;
        if holds(Rule::DescriptorsAreChecked) {
            self.set_checksum(core, self.geometry.place(here, position), checksum);
        }
        self.figures.descriptors += 1;
    }

    /// Fills the stripe.
    pub(super) fn pad(&mut self, stream: usize) {
        let data = self.geometry.data;
        let row = &mut self.open_rows[self.streams[stream].open as usize];
        while !row.next.is_multiple_of(data) {
            row.put(B::default(), NOBODY, NO_BLOCK);
            self.figures.padding += 1;
        }
        self.streams[stream].batch.first = row.next;
    }

    /// Ends the open row of a stream, which goes on in `next`.
    pub(super) fn roll(&mut self, now: Time, core: &mut Core<B>, stream: usize, next: Row) {
        let after = Aged { row: next, age: self.rows.get(next).age };
        self.describe(core, stream, Some(after));
        self.pad(stream);
        let slab = self.streams[stream].open;
        let (array, data) = (self.array, self.geometry.data);
        let row = &mut self.open_rows[slab as usize];
        let here = row.here;
        let blocks = std::mem::take(&mut row.blocks);
        let summary = |k: u32| {
            let blocks = blocks.iter().skip(k as usize).step_by(data as usize).copied().collect();
            B::encode(&Summary { array, here, data_column: k, blocks }.encode())
        };
        row.close((0..data).map(summary));
        row.blocks = blocks;
        self.rows.get_mut(here.row).stripes = row.stripes();
        self.streams[stream].closing.push(slab);
        self.send_row(now, core, slab);
        self.begin_row(core, stream, next);
        self.drop_if_finished(slab);
    }

    /// Sends what a stream has appended to the drives, as far as they take it.
    pub(super) fn send(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        self.send_row(now, core, self.streams[stream].open);
    }

    fn send_row(&mut self, now: Time, core: &mut Core<B>, slab: u16) {
        for column in self.geometry.columns() {
            self.send_lane(now, core, slab, column);
        }
    }

    /// Sends what is known of a column of a row, as far as its drive may be written and takes it.
    pub(super) fn send_lane(&mut self, now: Time, core: &mut Core<B>, slab: u16, column: Column) {
        let here = self.open_rows[slab as usize].here;
        let row = &mut self.open_rows[slab as usize];
        let drive = self.geometry.drive(here.row, column);
        if row.is_absent(column) {
            row.skip(column);
            row.forget();
            return self.drop_if_finished(slab);
        }
        if self.has_tokens {
            self.keep_back(now, core, slab, column);
        }
        let most = core.drives.most_blocks();
        while core.drives.may_write(now, drive) {
            let row = &mut self.open_rows[slab as usize];
            if !row.has_room(column, core.config.log.appends) {
                return;
            }
            let Some(stripes) = row.take(column, most) else { return };
            if self.has_tokens {
                self.let_go(now, core, slab, column);
            }
            self.send_blocks(now, core, (slab, column), stripes);
        }
    }

    fn send_blocks(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (slab, column): (u16, Column),
        stripes: Range<u32>,
    ) {
        let row = &self.open_rows[slab as usize];
        let (here, stream) = (row.here, row.stream);
        let drive = self.geometry.drive(here.row, column);
        let block = self.geometry.address(here.row) + u64::from(stripes.start);
        let (age, blocks) = (self.age(here.age), stripes.len() as u32);
        let mut data = core.drives.memory();
        row.copy(column, stripes, &mut data);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, age));
        }
        let urgency = if stream == HOST || self.is_short { Urgency::Write } else { Urgency::Background };
        let class = Class::new(if stream == HOST { 4 } else { 5 }).expect("a class");
        let ask = Ask { op: Op::Write, fua: false, fail_fast: false, class, block, blocks, data };
        let token = Token::Append { slab, column };
        core.drives.ask_kept(now, drive, urgency, Owner::Layout(token.into()), ask);
    }

    /// A write of a row has ended.
    pub(super) fn appended(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        slab: u16,
        column: Column,
        answer: Answered<B>,
    ) {
        let here = self.open_rows[slab as usize].here;
        let start = (answer.block - self.geometry.address(here.row)) as u32;
        let status = self.judge(core, &answer);
        let stream = self.open_rows[slab as usize].stream;
        self.streams[stream].dirty[answer.drive] = true;
        // Who wrote it has been told that it is in memory: the next flush must not say that it is safe.
        self.streams[stream].has_failed |= self.has_tokens && status != Status::Success;
        for stripe in start..start + answer.blocks {
            if let Some(slot) = self.open_rows[slab as usize].take_waiter(column, stripe) {
                core.part_done(now, slot, status, &answer.spans);
            }
        }
        core.drives.recycle(answer.data);
        self.open_rows[slab as usize].ended(column, start);
        self.send_lane(now, core, slab, column);
        self.drop_if_finished(slab);
        self.commit_on(now, core, stream);
    }

    /// What the failure of a write means for those who wait for it.
    pub(super) fn judge(&mut self, core: &mut Core<B>, answer: &Answered<B>) -> Status {
        if answer.status == Status::Success {
            return Status::Success;
        }
        if !can_do_without(core, answer.drive) {
            self.fail(answer.drive, answer.status);
        }
        // The parity of the stripe makes up for it, and its content is kept until that is written.
        if can_do_without(core, answer.drive) { Status::Success } else { Status::MediaError }
    }

    /// Gives back the memory of a row that is wholly on the drives.
    pub(super) fn drop_if_finished(&mut self, slab: u16) {
        let row = &self.open_rows[slab as usize];
        if row.is_finished() && !row.in_flight() {
            let closing = &mut self.streams[row.stream].closing;
            let Some(index) = closing.iter().position(|&closing| closing == slab) else { return };
            closing.remove(index);
            self.rows.close(row.here.row);
            self.free_slabs.push(slab);
            if !holds(Rule::VictimsAreCovered) {
                self.rows.cover(1);
            }
        }
    }

    /// Takes a missing drive out of the rows that are being written.
    pub(super) fn leave_out(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let (group, column) = self.geometry.column_of(drive);
        let status = if can_do_without(core, drive) { Status::Success } else { Status::MediaError };
        let slabs: Vec<u16> = self
            .streams
            .iter()
            .flat_map(|stream| stream.closing.iter().chain([&stream.open]))
            .copied()
            .collect();
        for slab in slabs {
            let row = &mut self.open_rows[slab as usize];
            if self.geometry.group_of(row.here.row) != group {
                continue;
            }
            row.set_absent(column);
            self.streams[row.stream].has_failed |= self.has_tokens && status != Status::Success;
            for stripe in row.complete..self.geometry.segment {
                // What is in flight is told of with its answer.
                if let Some(slot) = self.open_rows[slab as usize].take_unsent(column, stripe) {
                    core.part_done(now, slot, status, &Spans::new());
                }
            }
            self.send_lane(now, core, slab, column);
        }
    }

    /// Ends the wait of those whose blocks only the parity holds.
    pub(super) fn release_orphans(&mut self, now: Time, core: &mut Core<B>) {
        for (slot, status) in self.orphans.drain(..) {
            core.part_done(now, slot, status, &Spans::new());
        }
    }
}

/// True when all of a group but this drive serves, so that the parity makes up for it.
pub fn can_do_without<B: Block>(core: &Core<B>, drive: DriveId) -> bool {
    let others = core.missing_beside(drive) - usize::from(!core.drives.is_in_sync(drive));
    core.config.layout.is_redundant() && others == 0
}
