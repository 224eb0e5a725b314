//! The log on flash: records in segments that are written sequentially, the access pattern that drives serve
//! best.
//!
//! Appended data stays in memory until its segment is on disk; it is written in chunks of [`CHUNK`] blocks.
//! The log is ordered by time: of two records of a key the later one is valid, and a *tombstone* invalidates
//! all earlier ones. Segments are reclaimed as a whole; victim selection and the handling of their records
//! are in `reclaim`.

mod check;
mod durability;
pub mod format;
mod open;
pub(super) use open::END_BYTES;
use tailcut_base::cast::{to_u32, to_usize};
mod segments;
mod settling;

use super::hash::KeyHash;
use super::item::Value;
use super::place::{Place, UNIT};
use super::record::{Header, Salt, State, checksum_of, header_checksum};
use crate::block::Bytes;
use crate::disk::Disk;
use crate::placement::WriteKind;
use crate::pool::Pool;
use format::{End, EndOf, Entry, Foot, Head, OpenEnd, Superblock, UNITS};
use open::Open;
pub use segments::SegmentId;
use segments::{RANKS, Segment};
use settling::Settling;
pub use settling::WriteNumber;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::ids::{Id, IdVec};

/// The log of a store, or of one part of it.
#[derive(Debug)]
pub struct Log {
    store: u128,
    volatile_cache: bool,
    segment_blocks: u32,
    chunk: usize,
    segments: IdVec<SegmentId, Segment>,
    free: VecDeque<SegmentId>,
    /// Full segments, oldest first.
    full: VecDeque<SegmentId>,
    open: Option<Open>,
    /// The open segment was opened for copies because free segments were short.
    is_for_moves: bool,
    /// Number of segments being reclaimed.
    victims: usize,
    /// Full segments by rank, emptiest first; an entry whose segment has changed rank since is skipped.
    ranks: Vec<Vec<SegmentId>>,
    /// Full segments whose tombstones may still be needed, ordered by the sequence up to which these
    /// invalidate records.
    with_tombstones: BTreeSet<(u64, SegmentId)>,
    /// Full segments by when their last record expires, without those that never do.
    by_expiry: BTreeSet<(u32, SegmentId)>,
    /// Full segments whose writes have not all completed.
    resting: Vec<Resting>,
    next_sequence: u64,
    /// Full segments that a power loss may still destroy.
    undurable: VecDeque<Undurable>,
    /// All segments up to this sequence are durable.
    durable_sequence: u64,
    /// The durable segment with the highest number.
    highest: SegmentId,
    /// False once a summary of an older run could not be written: then no head and no superblock states that
    /// older segments are durable.
    vouches: bool,
    /// Records in segments up to this sequence are invalid.
    flushed: u64,
    settling: Settling,
    writes: VecDeque<Write>,
    has_failed: bool,
    /// The disk is out of space at the moment.
    is_full: bool,
}

#[derive(Debug)]
struct Resting {
    number: SegmentId,
    blocks: Vec<Bytes>,
    /// Its last write.
    last: WriteNumber,
}

/// A full segment that is not durable.
#[derive(Debug)]
struct Undurable {
    number: SegmentId,
    sequence: u64,
    /// Its last write.
    last: WriteNumber,
    /// Number of its records that were not durable when it was sealed.
    records: usize,
}

/// A write to submit to the disk.
#[derive(Debug)]
pub struct Write {
    /// Number of the write, to be reported when it has completed; later writes have higher numbers.
    pub number: WriteNumber,
    /// Records of a segment, with its summary, or an end of a segment.
    kind: WriteKind,
    /// First block of the write on the disk, in blocks of 4 KiB.
    pub block: u64,
    /// The content of each block, from `block` on.
    pub data: Vec<Bytes>,
    /// Writes up to this number must complete before this one is submitted.
    after: WriteNumber,
}

impl Write {
    /// What is written: records of a segment, with its summary, or an end of a segment.
    pub fn kind(&self) -> WriteKind {
        self.kind
    }
}

/// Purpose of an append: only copies by reclaim may use the last free segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendPurpose {
    /// A write of a user, which may have to wait for free segments.
    User,
    /// A user's delete, or a write that stays in memory.
    Tombstone,
    /// A copy made to reclaim a segment.
    Move,
}

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Lengths, flags, times and CAS value of the item; `home` is ignored.
    pub header: Header,
    /// The key of the item.
    pub key: &'a [u8],
    /// The value of the item.
    pub value: Value<'a>,
    /// Hash of the item's key.
    pub hash: KeyHash,
}

impl Log {
    /// An empty log for a disk with this superblock; `run` must be larger each time the store is opened.
    ///
    /// # Panics
    /// If the superblock has fewer than [`LEAST_SEGMENTS`] segments.
    pub fn new(superblock: &Superblock, disk: &Disk) -> Log {
        let Superblock { store, segment_blocks, segments, run, .. } = *superblock;
        assert!(segments >= LEAST_SEGMENTS, "a log has at least {LEAST_SEGMENTS} segments");
        Log {
            store,
            volatile_cache: disk.volatile_cache,
            segment_blocks,
            chunk: CHUNK.min(disk.most_blocks as usize).min(segment_blocks as usize),
            segments: IdVec::filled(segments as usize, Segment::default()),
            free: SegmentId::first(segments as usize).skip(1).collect(),
            full: VecDeque::new(),
            open: None,
            is_for_moves: false,
            victims: 0,
            ranks: vec![Vec::new(); RANKS],
            with_tombstones: BTreeSet::new(),
            by_expiry: BTreeSet::new(),
            resting: Vec::new(),
            next_sequence: u64::from(run) << 32 | 1,
            undurable: VecDeque::new(),
            durable_sequence: 0,
            highest: SegmentId::SUPERBLOCKS,
            vouches: true,
            flushed: 0,
            settling: Settling::default(),
            writes: VecDeque::new(),
            has_failed: false,
            is_full: false,
        }
    }

    /// Appends a record. None if there is no free segment for it.
    #[expect(clippy::missing_panics_doc, reason = "a segment with room for a record is open")]
    pub fn append(
        &mut self,
        now: Time,
        record: &Record<'_>,
        purpose: AppendPurpose,
        pool: &mut Pool,
    ) -> Option<Place> {
        let bytes = to_usize(record.header.record_bytes());
        let at = self.room_for(bytes, purpose, pool)?;
        let open = self.open.as_mut().expect("it has room");
        let stamp = open.stamp(at);
        let (header, key) = (&record.header, [record.key].into_iter());
        let sums = (header_checksum(header, &stamp, key.clone()), checksum_of(record.value.pieces()));
        open.append(at, &header.words_on_flash(&stamp, sums), key.chain(record.value.pieces()), pool);
        open.dirty_since.get_or_insert(now);
        open.entries.push(Entry {
            hash: record.hash,
            unit: to_u32(at as u64 / UNIT),
            bytes: to_u32(bytes),
            expires: record.header.expires,
            is_tombstone: record.header.state.has(State::TOMBSTONE),
        });
        let place = open.number.place_of(self.segment_blocks, at as u64..(at + bytes) as u64);
        let segment = &mut self.segments[open.number];
        segment.records += 1;
        let is_tombstone = record.header.state.has(State::TOMBSTONE);
        segment.valid += u32::from(!is_tombstone);
        if !is_tombstone {
            segment.note_expiry(record.header.expires);
        }
        segment.tombstones += u32::from(is_tombstone);
        if open.complete().len() >= self.chunk {
            self.write_out();
        }
        Some(place)
    }

    /// Appends a tombstone: no record of the key in segments with sequences up to `buried` is valid. False if
    /// there is no room.
    pub fn write_tombstone(
        &mut self,
        now: Time,
        hash: KeyHash,
        buried: u64,
        purpose: AppendPurpose,
        pool: &mut Pool,
    ) -> bool {
        let key = hash.0.to_le_bytes();
        let header = Header { key: 16, state: State::TOMBSTONE, cas: buried, ..Header::default() };
        let record = Record { header, key: &key, value: Value::Slice(&[]), hash };
        let is_done = self.append(now, &record, purpose, pool).is_some();
        if let Some(open) = self.open.as_mut().filter(|_| is_done) {
            open.buried = open.buried.max(buried);
        }
        is_done
    }

    /// True if a user's tombstone fits.
    pub fn has_room_for_tombstone(&self) -> bool {
        let bytes = to_usize(Header::room(16, 0));
        let has_room = self.open.as_ref().is_some_and(|open| open.room_for(bytes).is_some());
        !self.has_failed && (has_room || self.free.len() > RESERVE && !self.is_full)
    }

    fn room_for(&mut self, bytes: usize, purpose: AppendPurpose, pool: &mut Pool) -> Option<usize> {
        if self.has_failed || self.is_full && purpose != AppendPurpose::Tombstone {
            return None;
        }
        let spared = match purpose {
            AppendPurpose::User => RESERVE + self.victims.max(1),
            AppendPurpose::Tombstone => RESERVE,
            AppendPurpose::Move => 0,
        };
        let is_short = self.free.len() <= spared;
        // A segment that copies opened from the reserve is theirs: user writes in it would use up the space
        // that reclaim needs to free more.
        let is_theirs = is_short && self.is_for_moves && purpose == AppendPurpose::User;
        if let Some(at) = self.open.as_ref().and_then(|open| open.room_for(bytes)).filter(|_| !is_theirs) {
            return Some(at);
        }
        if is_short || self.is_full {
            return None;
        }
        let is_for_moves = purpose == AppendPurpose::Move && self.free.len() <= RESERVE + self.victims.max(1);
        let number = self.free.pop_front()?;
        self.seal(pool);
        self.is_for_moves = is_for_moves;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.segments[number] = Segment::opened(sequence);
        let head = Head { sequence, durable: self.durable_sequence(), is_cut: false };
        let mut open = Open::new(head, self.end_of(number), self.segment_blocks, pool);
        let at = open.room_for(bytes);
        let last = End::Open(OpenEnd { sequence, durable: 0 }).last_block(self.end_of(number));
        let mut data = pool.list();
        data.push(last);
        open.opened = self.write(WriteKind::Metadata, self.end_block(number) - 1, data, WriteNumber::NONE);
        self.open = Some(open);
        Some(at.expect("an item is much smaller than a segment"))
    }

    /// What the open segment holds: whatever users write, or copies of reclaim alone.
    fn open_kind(&self) -> WriteKind {
        if self.is_for_moves { WriteKind::Moved } else { WriteKind::Data }
    }

    /// Seals the open segment.
    fn seal(&mut self, pool: &mut Pool) {
        let Some(open) = &mut self.open else { return };
        open.append_end(pool);
        open.close_block(pool);
        self.write_out();
        let Some(open) = self.open.take() else { return };
        let records = open.undurable_records();
        let Open { number, sequence, buried, .. } = open;
        let foot = Foot { sequence, entries: 0, checksum: 0, buried, has_hole: false };
        let summary = format::summary(&open.entries, foot, self.end_of(open.number));
        self.segments[open.number].buried = open.buried;
        let (kind, first) = (self.open_kind(), self.end_block(open.number) - summary.len() as u64);
        for (part, blocks) in summary.chunks(self.chunk).enumerate() {
            let mut data = pool.list();
            data.extend_from_slice(blocks);
            self.write(kind, first + (part * self.chunk) as u64, data, open.opened);
        }
        self.full.push_back(open.number);
        self.note_full(open.number);
        let last = self.settling.issued();
        self.undurable.push_back(Undurable { number, sequence, last, records });
        self.resting.push(Resting { number: open.number, blocks: open.blocks, last });
    }

    /// Submits complete blocks to the disk.
    fn write_out(&mut self) {
        let Some(open) = &mut self.open else { return };
        let (number, complete) = (open.number, open.complete());
        open.note_written(complete.end);
        let (kind, first) = (self.open_kind(), self.first_block(number));
        for part in chunks(complete, self.chunk) {
            let Some(open) = &self.open else { return };
            let data = open.blocks[part.clone()].to_vec();
            let number = self.write(kind, first + part.start as u64, data, WriteNumber::NONE);
            self.open.iter_mut().for_each(|open| open.note_write(number, part.end));
        }
    }

    /// Counts a write outside the log that becomes durable together with the log's. Returns its number.
    pub fn count_write(&mut self) -> WriteNumber {
        self.settling.issue()
    }

    /// Queues a write of `data`, of this kind, at `block`, issued once write `after` has completed. Returns
    /// its number.
    pub fn write(
        &mut self,
        kind: WriteKind,
        block: u64,
        data: Vec<Bytes>,
        after: WriteNumber,
    ) -> WriteNumber {
        let number = self.settling.issue();
        self.writes.push_back(Write { number, kind, block, data, after });
        number
    }

    /// Seals the open segment, unless the log has failed or is out of space.
    pub fn close(&mut self, pool: &mut Pool) {
        if !self.has_failed && !self.is_full {
            self.seal(pool);
        }
    }

    /// Invalidates all records in segments up to `sequence`.
    pub fn disbelieve(&mut self, sequence: u64) {
        self.flushed = self.flushed.max(sequence);
    }

    /// Identifies a segment in the checksums of its ends.
    pub fn end_of(&self, number: SegmentId) -> EndOf {
        EndOf { store: self.store, number }
    }

    /// Identifies store and segment in record checksums.
    #[inline]
    pub fn salt(&self, number: SegmentId) -> Salt {
        Salt::of(self.store, number)
    }

    /// Invalidates the content of the log. Later records go to segments with sequences above the returned
    /// one.
    pub fn begin_anew(&mut self, pool: &mut Pool) -> u64 {
        self.seal(pool);
        self.void_all();
        self.flushed = self.last_sequence();
        self.flushed
    }

    /// Sequence of the segment that was opened last.
    pub fn last_sequence(&self) -> u64 {
        self.next_sequence - 1
    }

    /// The durable segment with the highest number: it and all before it have been used.
    pub fn highest(&self) -> SegmentId {
        self.highest
    }

    /// The sequence up to which all segments are durable with their summaries; 0 after
    /// [`Log::stop_vouching`].
    pub fn durable_sequence(&self) -> u64 {
        if self.vouches { self.durable_sequence } else { 0 }
    }

    /// A summary of an older run was not written: an opening must search that segment for its records.
    pub fn stop_vouching(&mut self) {
        self.vouches = false;
    }

    /// True if records in the segment with this sequence may be valid.
    pub fn is_believed(&self, sequence: u64) -> bool {
        sequence > self.flushed
    }

    /// True if the disk has a volatile cache: writes are durable only after a flush.
    pub fn has_volatile_cache(&self) -> bool {
        self.volatile_cache
    }

    /// True while the disk is out of space: nothing is appended but tombstones that fit in the open segment.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Sets whether the disk is out of space.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// A flush has failed: nothing more is appended, and nothing more becomes durable.
    pub fn fail(&mut self) {
        self.has_failed = true;
    }

    /// True once a write or a flush has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The `pages` blocks of a record at `unit` that is still in memory.
    pub fn in_memory(&self, unit: u64, pages: usize) -> Option<&[Bytes]> {
        let number = self.segment_of(unit);
        let first = to_usize(unit / UNITS - self.first_block(number));
        let open = self.open.as_ref().filter(|open| open.number == number).map(|open| &open.blocks);
        let resting = || self.resting.iter().find(|resting| resting.number == number);
        let blocks = open.or_else(|| resting().map(|resting| &resting.blocks))?;
        Some(&blocks[first..(first + pages).min(blocks.len())])
    }

    /// Unique name of the store.
    pub fn store(&self) -> u128 {
        self.store
    }
}

/// The run of a store in which the segment with this sequence was opened.
pub fn run_of(sequence: u64) -> u32 {
    (sequence >> 32) as u32
}

fn chunks(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(most).map(move |start| start..(start + most).min(end))
}

/// Blocks per write: 128 KiB.
const CHUNK: usize = 32;
/// Free segments that only copies by reclaim may use.
const RESERVE: usize = 2;
/// Least number of segments of a log.
pub const LEAST_SEGMENTS: u32 = 12;
