//! Checkpoints of the map on the drives, which bound the part of the log that recovery reads.
//!
//! The map is written in pieces while it changes, into one of two regions in turn. The header is written
//! last, once everything the pieces may refer to is durable. Recovery starts from the header with the highest
//! number and reads the log from where it was when that checkpoint began; replaying entries that the map
//! already contains has no effect. This requires the log since then to be complete, so rows closed since are
//! not collected.
//!
//! Format 1 of a piece: magic, CRC-32C and format as for descriptors, array (u128), number (u64), index
//! (u64), then 809 entries of 5 bytes: of the map, behind them the age plus 1 of each row in use. If the
//! array keeps checksums, pieces with 1011 block checksums (u32, 0 for unknown) follow, which begin anew with
//! each drive. Of a header: the same up to number, then pieces (u64), ages given (u32), segment blocks (u32),
//! blocks of the host (u64), and of each stream row, age (u32 each) and batch (u64).

use super::Log;
use super::commit::Waiter;
use super::descriptor::{Aged, Fields, sum};
use super::geometry::{DUMP_ENTRIES, DUMP_SUMS, Geometry, Region, Row};
use super::map::pack;
use super::rows::RowState;
use super::stream::{HOST, MOVED};
use super::token::Token;
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::{SealAge, seal_of};
use crate::disk::BLOCK_LEN;
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use std::fmt;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Op, Status, Time};

/// Upper bound of checkpoint and batch numbers, which no array can reach.
pub(super) const COUNT_MAX: u64 = 1 << 62;

/// Upper bound of the number of rows opened: beyond it, ages would soon be exhausted.
const OPENED_MAX: u32 = u32::MAX - (1 << 26);

const PIECE: [u8; 8] = *b"tailcutM";
const SUMS: [u8; 8] = *b"tailcutX";
const HEADER: [u8; 8] = *b"tailcutC";
const FORMAT: u32 = 1;

/// Position of a stream at the start of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// The row that was open in the stream, and its age.
    pub here: Aged,
    /// The first batch without a descriptor.
    pub batch: u64,
}

/// The header of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Identity of the array.
    pub array: u128,
    /// Checkpoint number, counting up.
    pub number: u64,
    /// Pieces of the map; 0 if it is empty.
    pub pieces: u64,
    /// Number of rows opened so far.
    pub opened: u32,
    /// Number of blocks of 4 KiB in a segment.
    pub segment: u32,
    /// Number of blocks of the host.
    pub host_blocks: u64,
    /// Positions of the streams.
    pub starts: [Start; 2],
}

/// What a message about a header that does not fit needs.
impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { number, pieces, opened, segment, host_blocks, .. } = self;
        write!(f, "checkpoint {number} of {pieces} pieces and {opened} opened rows, ")?;
        write!(f, "with segments of {segment} blocks and {host_blocks} blocks for the host")
    }
}

/// Progress of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Pieces are being written; the next one.
    Pieces(u64),
    /// Number of commits that have not completed.
    Barrier(u32),
    /// Number of drives that have not been flushed.
    Flushing(u32),
    /// Number of drives that have not written the header.
    Header(u32),
}

/// The writer of checkpoints.
#[derive(Debug)]
pub(super) struct Checkpoint {
    phase: Phase,
    in_flight: u32,
    header: Header,
    /// Number of the newest complete checkpoint.
    written: u64,
    /// Rows covered by the current checkpoint.
    covers: usize,
    /// Drives whose caches may hold a part of it.
    dirty: IdVec<DriveId, bool>,
    /// Some piece could not be written to any drive.
    has_failed: bool,
    /// A checkpoint is due once this many rows have been closed since the last.
    every: usize,
}

/// Concurrent pieces.
const DEPTH: u32 = 4;

/// Pieces that may wait for the tokens of their drives: 4 MiB per round.
const DEPTH_KEPT: u32 = 1024;

impl Checkpoint {
    /// The checkpoint that an empty log starts from has number 1.
    pub(super) fn new(drives: usize, every: u64) -> Checkpoint {
        let start = Start { here: Aged { row: Row::FIRST, age: 0 }, batch: 0 };
        let header = Header {
            array: 0,
            number: 0,
            pieces: 0,
            opened: 0,
            segment: 0,
            host_blocks: 0,
            starts: [start; 2],
        };
        let dirty = IdVec::filled(drives, false);
        Checkpoint {
            phase: Phase::Idle,
            in_flight: 0,
            header,
            written: 0,
            covers: 0,
            dirty,
            has_failed: false,
            every: to_usize(every.max(1)),
        }
    }

    /// Continues after the checkpoint with this number; `drives` drives may hold data that is not durable.
    pub(super) fn follow(&mut self, number: u64, drives: usize) {
        self.header.number = number;
        self.dirty = IdVec::filled(drives, true);
    }

    /// Number of the next checkpoint to be started.
    pub(super) fn next(&self) -> u64 {
        self.header.number + 1
    }

    /// True while a checkpoint is being written.
    pub(super) fn is_under_way(&self) -> bool {
        self.phase != Phase::Idle
    }
}

impl Header {
    /// Encodes the header as the bytes of a block.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = begin(HEADER, self.array, self.number);
        bytes.extend(self.pieces.to_le_bytes());
        bytes.extend(self.opened.to_le_bytes());
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.host_blocks.to_le_bytes());
        for start in &self.starts {
            bytes.extend(start.here.row.get().to_le_bytes());
            bytes.extend(start.here.age.to_le_bytes());
            bytes.extend(start.batch.to_le_bytes());
        }
        sum(&mut bytes);
        bytes
    }

    /// True if all its values are possible.
    pub(super) fn is_possible(&self, geometry: &Geometry) -> bool {
        let is_start = |start: &Start| {
            start.here.row.get() < geometry.all_rows()
                && start.here.age < self.opened
                && start.batch < COUNT_MAX
        };
        self.number < COUNT_MAX
            && self.pieces == geometry.dump_blocks
            && self.opened < OPENED_MAX
            && self.starts.iter().all(is_start)
    }

    /// Decodes a header from a block; None if it is not one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let mut fields = Fields::checked(bytes, HEADER)?;
        let array = u128::from_le_bytes(fields.take()?);
        let (number, pieces) = (fields.u64()?, fields.u64()?);
        let (opened, segment, host_blocks) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let mut start = || {
            let here = Aged { row: Row::new(fields.u32()?), age: fields.u32()? };
            Some(Start { here, batch: fields.u64()? })
        };
        let starts = [start()?, start()?];
        Some(Header { array, number, pieces, opened, segment, host_blocks, starts })
    }
}

/// True if a block is the header of a checkpoint.
pub fn is_header(bytes: &[u8]) -> bool {
    Header::decode(bytes).is_some()
}

fn begin(magic: [u8; 8], array: u128, number: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK_LEN);
    bytes.extend(magic);
    bytes.extend([0; 4]);
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend(array.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes
}

/// Content of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Entries of the map, and ages of rows.
    Map(Vec<u64>),
    /// Checksums of blocks of one drive.
    Sums(Vec<u32>),
}

/// Decodes a block as piece `index` of the checkpoint with this header; None if it is not.
pub(super) fn decode_piece(bytes: &[u8], header: &Header, index: u64, geometry: &Geometry) -> Option<Piece> {
    let has_sums = geometry.sums_of(index).is_some();
    let mut fields = Fields::checked(bytes, if has_sums { SUMS } else { PIECE })?;
    let is_it = u128::from_le_bytes(fields.take()?) == header.array && fields.u64()? == header.number;
    let is_it = is_it && fields.u64()? == index;
    if !is_it {
        return None;
    }
    if has_sums {
        return (0..DUMP_SUMS).map(|_| fields.u32()).collect::<Option<_>>().map(Piece::Sums);
    }
    (0..DUMP_ENTRIES).map(|_| fields.number()).collect::<Option<_>>().map(Piece::Map)
}

impl<B: Block> Log<B> {
    /// Starts a checkpoint if one is due.
    pub(super) fn checkpoint_if_due(&mut self, now: Time, core: &mut Core<B>) {
        if self.checkpoint.is_under_way() || self.failed.is_some() || self.rows.closed() == 0 {
            return;
        }
        if self.rows.closed() >= self.checkpoint.every || self.needs_cover() {
            self.begin_checkpoint(now, core);
        }
    }

    /// True if so much has been written since the last checkpoint that the host must wait for the next:
    /// recovery would take too long.
    pub(super) fn is_overdue(&self) -> bool {
        self.rows.closed() >= 4 * self.checkpoint.every && self.checkpoint.is_under_way()
    }

    /// Starts a checkpoint.
    pub(super) fn begin_checkpoint(&mut self, now: Time, core: &mut Core<B>) {
        let start = |stream: usize| Start {
            here: self.open_row(stream).here,
            batch: self.streams[stream].batch.number,
        };
        let header = Header {
            array: self.array,
            number: self.checkpoint.header.number + 1,
            pieces: self.geometry.dump_blocks,
            opened: 0,
            segment: self.geometry.segment,
            host_blocks: self.geometry.host_blocks,
            starts: [start(HOST), start(MOVED)],
        };
        self.checkpoint.header = header;
        self.checkpoint.covers = self.rows.closed();
        self.checkpoint.has_failed = false;
        self.checkpoint.phase = Phase::Pieces(0);
        self.write_pieces(now, core);
    }

    /// True if the checkpoint with this number, or a later one, is durable. If not, starts one.
    pub(super) fn is_checkpointed(&mut self, now: Time, core: &mut Core<B>, number: u64) -> bool {
        if self.checkpoint.written >= number || !holds(Invariant::CopiesAreRebuilt) {
            return true;
        }
        if !self.checkpoint.is_under_way() && self.failed.is_none() {
            self.begin_checkpoint(now, core);
        }
        false
    }

    fn region(&self) -> Region {
        Region::of(self.checkpoint.header.number)
    }

    fn write_pieces(&mut self, now: Time, core: &mut Core<B>) {
        let depth = if self.has_tokens { DEPTH_KEPT } else { DEPTH };
        while let Phase::Pieces(index) = self.checkpoint.phase {
            if self.checkpoint.in_flight >= depth {
                return;
            }
            if index < self.checkpoint.header.pieces {
                self.checkpoint.phase = Phase::Pieces(index + 1);
                self.write_piece(now, core, index);
            } else if self.checkpoint.in_flight == 0 {
                return self.all_pieces(now, core);
            } else {
                return;
            }
        }
    }

    fn write_piece(&mut self, now: Time, core: &mut Core<B>, index: u64) {
        let sums = self.geometry.sums_of(index);
        let magic = if sums.is_some() { SUMS } else { PIECE };
        let mut bytes = begin(magic, self.array, self.checkpoint.header.number);
        bytes.extend(index.to_le_bytes());
        if let Some((drive, block)) = sums {
            let checksums = core.reads.checksums().expect("the geometry says that they are kept");
            bytes.extend(checksums.dump(drive, block..block + DUMP_SUMS).flat_map(u32::to_le_bytes));
        } else {
            let first = index * DUMP_ENTRIES;
            for entry in first..first + DUMP_ENTRIES {
                bytes.extend(pack(self.dump_entry(entry)));
            }
        }
        sum(&mut bytes);
        let content = B::encode(&bytes);
        for copy in 0..self.geometry.copies() {
            let (drive, block) = self.geometry.dump_place(self.region(), index, copy);
            self.write_part(now, core, (drive, block), content.clone(), false);
        }
    }

    fn dump_entry(&self, entry: u64) -> u64 {
        if entry < self.geometry.host_blocks {
            return self.map.raw(entry).get();
        }
        let row = entry - self.geometry.host_blocks;
        if row >= u64::from(self.geometry.all_rows()) {
            return 0;
        }
        let info = self.rows.get(Row::new(to_u32(row)));
        if info.state == RowState::Free { 0 } else { u64::from(info.age) + 1 }
    }

    fn write_part(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (drive, block): (DriveId, u64),
        content: B,
        fua: bool,
    ) {
        let mut data = core.drives.memory();
        data.push(content);
        data[0].seal(seal_of(drive, block, SealAge::new(self.checkpoint.header.number)));
        let (op, class) = (Op::Write, Class::new(5).expect("a class"));
        let ask = Ask { op, fua, fail_fast: false, class, kind: WriteKind::Metadata, block, blocks: 1, data };
        let is_late = self.rows.closed() >= 2 * self.checkpoint.every;
        let urgency = if is_late || self.needs_cover() { Priority::Write } else { Priority::Background };
        core.drives.ask(now, drive, urgency, Owner::Layout(Token::Checkpoint.into()), ask);
        self.checkpoint.in_flight += 1;
        self.figures.checkpoint_blocks += 1;
    }

    /// All pieces are written: makes them, and the data they may refer to, durable.
    fn all_pieces(&mut self, now: Time, core: &mut Core<B>) {
        if !holds(Invariant::BarrierBeforeHeader) {
            return self.write_header(now, core);
        }
        self.checkpoint.phase = Phase::Barrier(2);
        self.commit(now, core, HOST, Waiter::Checkpoint);
        self.commit(now, core, MOVED, Waiter::Checkpoint);
    }

    /// The commit of a stream has completed.
    pub(super) fn checkpoint_committed(&mut self, now: Time, core: &mut Core<B>) {
        let Phase::Barrier(left) = &mut self.checkpoint.phase else { unreachable!("it waits for two") };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let mut pending = 0;
        for drive in core.drives.ids() {
            let is_dirty = std::mem::take(&mut self.checkpoint.dirty[drive]);
            if is_dirty && core.drives.is_present(drive) && core.drives.disk(drive).volatile_cache {
                self.flush(now, core, drive, Token::Checkpoint);
                pending += 1;
            }
        }
        self.checkpoint.phase = Phase::Flushing(pending);
        if pending == 0 {
            self.write_header(now, core);
        }
    }

    /// Writes the header, which makes the checkpoint valid, unless what it refers to may not be durable.
    fn write_header(&mut self, now: Time, core: &mut Core<B>) {
        if self.failed.is_some() {
            self.checkpoint.has_failed = true;
            return self.checkpoint_written(now, core);
        }
        self.checkpoint.header.opened = self.rows.opened;
        let content = B::encode(&self.checkpoint.header.encode());
        let block = self.geometry.header_block(self.region());
        let drives: Vec<DriveId> = core.drives.ids().filter(|&d| core.drives.is_present(d)).collect();
        self.checkpoint.phase = Phase::Header(to_u32(drives.len()));
        for drive in drives {
            self.write_part(now, core, (drive, block), content.clone(), true);
        }
    }

    /// A request of a checkpoint has completed.
    pub(super) fn checkpoint_answered(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        let is_done = self.judge(core, answer) == Status::Success;
        self.checkpoint.has_failed |= !is_done;
        if answer.op == Op::Write {
            self.checkpoint.in_flight -= 1;
            self.checkpoint.dirty[answer.drive] = true;
        }
        match &mut self.checkpoint.phase {
            Phase::Pieces(_) => self.write_pieces(now, core),
            Phase::Flushing(left) => {
                *left -= 1;
                if *left == 0 {
                    self.write_header(now, core);
                }
            }
            Phase::Header(left) => {
                *left -= 1;
                if *left == 0 {
                    self.checkpoint_written(now, core);
                }
            }
            phase => unreachable!("{phase:?} has nothing in flight"),
        }
    }

    fn checkpoint_written(&mut self, now: Time, core: &Core<B>) {
        self.checkpoint.phase = Phase::Idle;
        if self.checkpoint.has_failed {
            // Nothing is written any more, but existing data can be read.
            self.is_ready |= self.failed.is_some();
            return;
        }
        self.figures.checkpoints += 1;
        self.checkpoint.written = self.checkpoint.header.number;
        self.rows.cover(self.checkpoint.covers);
        self.is_ready = true;
        self.recovered(now, core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        let start = |row| Start { here: Aged { row: Row::new(row), age: row * 2 }, batch: 1 << 40 };
        let header = Header {
            array: 9,
            number: 3,
            pieces: 5,
            opened: 77,
            segment: 256,
            host_blocks: 1 << 33,
            starts: [start(1), start(2)],
        };
        assert_eq!(Header::decode(&header.encode()), Some(header.clone()));
        assert_eq!(Header::decode(&vec![0; 4096]), None);
    }
}
