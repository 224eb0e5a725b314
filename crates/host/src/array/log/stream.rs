//! Appending to the log.
//!
//! There are two streams: what the host writes, and what collection moves. Each has an open row and a
//! batch that no descriptor covers yet.

use super::Log;
use super::commit::Commit;
use super::descriptor::{self, Aged, Descriptor, Entry, Summary, Trim};
use super::geometry::{Place, Row};
use super::map::Raw;
use super::open_row::{NO_BLOCK, OpenRow, OpenRowId};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::seal_of;
use crate::array::requests::RequestSlot;
use crate::array::{Column, DriveId};
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use std::ops::Range;
use tailcut_base::cast::{to_u8, to_u16, to_u32};
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Op, Spans, Status, Time};

/// The stream of what the host writes.
pub(super) const HOST: usize = 0;
/// The stream of blocks moved by collection.
pub(super) const MOVED: usize = 1;

/// One of the two logs.
#[derive(Debug)]
pub(super) struct Stream {
    /// The row that the log appends to; [`OpenRowId::NONE`] before the first.
    pub open: OpenRowId,
    /// Rows of the log that take no more blocks but are not completely written.
    pub closing: Vec<OpenRowId>,
    /// Appended blocks without a descriptor.
    pub batch: Batch,
    /// Drives whose caches may hold blocks of this stream.
    pub dirty: IdVec<DriveId, bool>,
    /// The commit in progress.
    pub commit: Commit,
    /// Rows begun since the start of the last completed commit.
    pub begun: u32,
    /// Drives failed to make data durable, and redundancy does not cover it.
    pub has_failed: bool,
}

/// Appended blocks and trims without a descriptor.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Batch number in the stream, counting up.
    pub number: u64,
    first: u32,
    entries: Vec<Entry>,
    trims: Vec<Trim>,
}

impl Batch {
    /// True if a descriptor would have nothing to cover.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.trims.is_empty()
    }
}

impl Stream {
    /// A stream without a row, over `drives` drives.
    pub(super) fn new(drives: usize) -> Stream {
        Stream {
            open: OpenRowId::NONE,
            closing: Vec::new(),
            batch: Batch { number: 1, ..Batch::default() },
            dirty: IdVec::filled(drives, false),
            commit: Commit::default(),
            begun: 0,
            has_failed: false,
        }
    }
}

/// Largest number of rows that a stream begins without a commit. Recovery does not see the ages of rows of
/// which nothing became durable, and these must not be reused: it skips as many.
pub(super) const BEGUN_MAX: u32 = 2048;

impl<B: Block> Log<B> {
    /// The row that a stream appends to.
    pub(super) fn open_row(&self, stream: usize) -> &OpenRow<B> {
        &self.open_rows[self.streams[stream].open]
    }

    fn open_row_mut(&mut self, stream: usize) -> &mut OpenRow<B> {
        &mut self.open_rows[self.streams[stream].open]
    }

    /// Begins a row that has just been opened.
    pub(super) fn begin_row(&mut self, core: &mut Core<B>, stream: usize, row: Row) {
        self.forget_checksums(core, row);
        let id = self.open_rows.allocate(|| OpenRow::new(&self.geometry));
        let here = Aged { row, age: self.rows.get(row).age };
        let geometry = &self.geometry;
        self.open_rows[id]
            .begin(geometry, here, stream, |column| core.drives.is_present(geometry.drive(row, column)));
        self.rows.get_mut(row).open_row = id;
        self.streams[stream].open = id;
        self.streams[stream].batch.first = 0;
        self.streams[stream].begun += 1;
    }

    /// Makes room for another block or trim of a stream; false if there is no row for it.
    ///
    /// Beyond that room there is always some for the descriptor of a commit with the rest of its stripe, and
    /// for the descriptor that ends the row: a commit never needs a new row.
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

    /// Appends a block of the host; there must be room for it.
    pub(super) fn append(
        &mut self,
        core: &mut Core<B>,
        stream: usize,
        block: u64,
        content: B,
        source: Option<Place>,
        waiter: Option<RequestSlot>,
    ) {
        let checksum = content.checksum();
        let has_tokens = self.has_tokens;
        let row = self.open_row_mut(stream);
        // A request that waits for memory only is completed at once.
        let who = if has_tokens { None } else { waiter };
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
        if let Some(waiter) = waiter
            && (!is_kept || has_tokens)
        {
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

    /// Drops the checksums of the previous content of a row.
    pub(super) fn forget_checksums(&self, core: &mut Core<B>, row: Row) {
        let checksums = core.reads.checksums().filter(|_| holds(Invariant::OldChecksumsAreForgotten));
        let Some(checksums) = checksums else { return };
        for column in self.geometry.columns() {
            let (drive, block) = (self.geometry.drive(row, column), self.geometry.address(row));
            checksums.forget(drive, block, self.geometry.segment);
        }
    }

    /// Logs a trim of the host; there must be room for it.
    pub(super) fn append_trim(&mut self, block: u64, blocks: u32) {
        let batch = &mut self.streams[HOST].batch;
        let after = to_u16(batch.entries.len());
        if holds(Invariant::TrimsAreLogged) {
            batch.trims.push(Trim { after, block, blocks });
        }
        for block in block..block + u64::from(blocks) {
            self.remap(block, None);
        }
    }

    /// Sets the new place of a block.
    pub(super) fn remap(&mut self, block: u64, place: Option<Place>) {
        if let Some(old) = self.map.replace(block, place) {
            self.rows.invalidate(self.geometry.locate(old).0);
        }
    }

    /// Appends a descriptor of the batch. It has an entry in the checksum table as well: otherwise a scrub
    /// would accept a stale one after a lost write, and adapt the parity to it.
    pub(super) fn describe(&mut self, core: &mut Core<B>, stream: usize, next: Option<Aged>) {
        let array = self.array;
        let row = &mut self.open_rows[self.streams[stream].open];
        let batch = &mut self.streams[stream].batch;
        let descriptor = Descriptor {
            array,
            here: row.here,
            stream: to_u8(stream),
            batch: batch.number,
            first: batch.first,
            position: row.next,
            next,
            entries: std::mem::take(&mut batch.entries),
            trims: std::mem::take(&mut batch.trims),
        };
        let content = B::encode(&descriptor.encode());
        let checksum = content.checksum();
        let (position, _) = row.put(content, None, NO_BLOCK);
        (batch.entries, batch.trims) = (descriptor.entries, descriptor.trims);
        batch.entries.clear();
        batch.trims.clear();
        batch.number += 1;
        batch.first = row.next;
        let here = row.here.row;
        if holds(Invariant::DescriptorsAreChecked) {
            self.set_checksum(core, self.geometry.place(here, position), checksum);
        }
        self.figures.descriptors += 1;
    }

    /// Pads the stripe.
    pub(super) fn pad(&mut self, stream: usize) {
        let data = self.geometry.data;
        let row = &mut self.open_rows[self.streams[stream].open];
        while !row.next.is_multiple_of(data) {
            row.put(B::default(), None, NO_BLOCK);
            self.figures.padding += 1;
        }
        self.streams[stream].batch.first = row.next;
    }

    /// Closes the open row of a stream, which continues in `next`.
    pub(super) fn roll(&mut self, now: Time, core: &mut Core<B>, stream: usize, next: Row) {
        let after = Aged { row: next, age: self.rows.get(next).age };
        self.describe(core, stream, Some(after));
        self.pad(stream);
        let id = self.streams[stream].open;
        let (array, data) = (self.array, self.geometry.data);
        let row = &mut self.open_rows[id];
        let here = row.here;
        let blocks = std::mem::take(&mut row.blocks);
        let summary = |k: u32| {
            let blocks = blocks.iter().skip(k as usize).step_by(data as usize).copied().collect();
            B::encode(&Summary { array, here, data_column: k, blocks }.encode())
        };
        row.close((0..data).map(summary));
        row.blocks = blocks;
        self.rows.get_mut(here.row).stripes = row.stripes();
        self.streams[stream].closing.push(id);
        self.send_row(now, core, id);
        self.begin_row(core, stream, next);
        self.drop_if_finished(id);
    }

    /// Sends appended blocks of a stream to the drives, as far as these accept them.
    pub(super) fn send(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        self.send_row(now, core, self.streams[stream].open);
    }

    fn send_row(&mut self, now: Time, core: &mut Core<B>, id: OpenRowId) {
        for column in self.geometry.columns() {
            self.send_lane(now, core, id, column);
        }
    }

    /// Sends known blocks of a column of a row, as far as its drive may be written and accepts them.
    pub(super) fn send_lane(&mut self, now: Time, core: &mut Core<B>, id: OpenRowId, column: Column) {
        let here = self.open_rows[id].here;
        let row = &mut self.open_rows[id];
        let drive = self.geometry.drive(here.row, column);
        if row.is_absent(column) {
            row.skip(column);
            row.forget();
            return self.drop_if_finished(id);
        }
        if self.has_tokens {
            self.keep_back(now, core, id, column);
        }
        let most = core.drives.most_blocks();
        while core.drives.may_write(now, drive) {
            let row = &mut self.open_rows[id];
            if !row.has_room(column, core.config.log.appends) {
                return;
            }
            let Some(stripes) = row.take(column, most) else { return };
            if self.has_tokens {
                self.release(now, core, id, column);
            }
            self.send_blocks(now, core, (id, column), stripes);
        }
    }

    fn send_blocks(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (id, column): (OpenRowId, Column),
        stripes: Range<u32>,
    ) {
        let row = &self.open_rows[id];
        let (here, stream) = (row.here, row.stream);
        let drive = self.geometry.drive(here.row, column);
        let block = self.geometry.address(here.row) + u64::from(stripes.start);
        let (age, blocks) = (self.age(here.age), to_u32(stripes.len()));
        let mut data = core.drives.memory();
        row.copy(column, stripes, &mut data);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, age));
        }
        let urgency = if stream == HOST || self.is_short { Priority::Write } else { Priority::Background };
        let class = Class::new(if stream == HOST { 4 } else { 5 }).expect("a class");
        let kind = if stream == HOST { WriteKind::Data } else { WriteKind::Moved };
        let ask = Ask { op: Op::Write, fua: false, fail_fast: false, class, kind, block, blocks, data };
        let token = Token::Append { open_row: id, column };
        core.drives.ask_kept(now, drive, urgency, Owner::Layout(token.into()), ask);
    }

    /// A write of a row has completed.
    pub(super) fn appended(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        id: OpenRowId,
        column: Column,
        answer: &Answered<B>,
    ) {
        let here = self.open_rows[id].here;
        let start = to_u32(answer.block - self.geometry.address(here.row));
        let status = self.judge(core, answer);
        let stream = self.open_rows[id].stream;
        self.streams[stream].dirty[answer.drive] = true;
        // The write was acknowledged in memory: the next flush must not report it as durable.
        self.streams[stream].has_failed |= self.has_tokens && status != Status::Success;
        for stripe in start..start + answer.blocks {
            if let Some(slot) = self.open_rows[id].take_waiter(column, stripe) {
                core.part_done(now, slot, status, &answer.spans);
            }
        }
        self.open_rows[id].ended(column, start);
        self.send_lane(now, core, id, column);
        self.drop_if_finished(id);
        self.commit_on(now, core, stream);
    }

    /// The status of a write for the requests that wait for it.
    pub(super) fn judge(&mut self, core: &mut Core<B>, answer: &Answered<B>) -> Status {
        if answer.status == Status::Success {
            return Status::Success;
        }
        if !can_do_without(core, answer.drive) {
            self.fail(answer.drive, answer.status);
        }
        // The parity of the stripe covers it, and its content is kept until that is written.
        if can_do_without(core, answer.drive) { Status::Success } else { Status::MediaError }
    }

    /// Frees the memory of a row that is completely written.
    pub(super) fn drop_if_finished(&mut self, id: OpenRowId) {
        let row = &self.open_rows[id];
        if row.is_finished() && !row.in_flight() {
            let closing = &mut self.streams[row.stream].closing;
            let Some(index) = closing.iter().position(|&closing| closing == id) else { return };
            closing.remove(index);
            self.rows.close(row.here.row);
            self.open_rows.release(id);
            if !holds(Invariant::VictimsAreCovered) {
                self.rows.cover(1);
            }
        }
    }

    /// Excludes a missing drive from the rows being written.
    pub(super) fn leave_out(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let (group, column) = self.geometry.column_of(drive);
        let status = if can_do_without(core, drive) { Status::Success } else { Status::MediaError };
        let ids: Vec<OpenRowId> = self
            .streams
            .iter()
            .flat_map(|stream| stream.closing.iter().chain([&stream.open]))
            .copied()
            .collect();
        for id in ids {
            let row = &mut self.open_rows[id];
            if self.geometry.group_of(row.here.row) != group {
                continue;
            }
            row.set_absent(column);
            self.streams[row.stream].has_failed |= self.has_tokens && status != Status::Success;
            for stripe in row.complete..self.geometry.segment {
                // Writes in flight are handled at their completion.
                if let Some(slot) = self.open_rows[id].take_unsent(column, stripe) {
                    core.part_done(now, slot, status, &Spans::new());
                }
            }
            self.send_lane(now, core, id, column);
        }
    }

    /// Completes the requests whose blocks only the parity holds.
    pub(super) fn release_orphans(&mut self, now: Time, core: &mut Core<B>) {
        for (slot, status) in self.orphans.drain(..) {
            core.part_done(now, slot, status, &Spans::new());
        }
    }
}

/// True if all other drives of the group are in sync, so that the parity covers this drive.
pub(super) fn can_do_without<B: Block>(core: &Core<B>, drive: DriveId) -> bool {
    let others = core.missing_beside(drive) - usize::from(!core.drives.is_in_sync(drive));
    core.config.layout.is_redundant() && others == 0
}
