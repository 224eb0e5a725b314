//! Flash: records in segments, one segment after the other, as drives like it best.
//!
//! What is appended stays in memory until its segment is on the disk, in writes of [`CHUNK`] blocks. The
//! order in the log is the order in which things happened: of two records of a key the later one is valid,
//! and a *tombstone* says that none is. A segment is used again as a whole; who does that, and what becomes
//! of the records in it, is not decided here.

pub mod format;
mod open;
pub(super) use open::END_BYTES;
mod segments;
mod settling;

use super::hash::KeyHash;
use super::item::Value;
use super::place::{Place, UNIT};
use super::record::{Header, Salt, State, checksum_of, header_checksum};
use crate::block::Bytes;
use crate::disk::Disk;
use crate::pool::Pool;
use format::{End, EndOf, Entry, Foot, Head, Superblock, UNITS};
use open::Open;
pub use segments::SegmentId;
use segments::{RANKS, Segment};
use settling::Settling;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::ids::{Id, IdVec};

/// The log of a store.
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
    /// It was opened for copies, when there were so few free ones that they need it.
    is_for_moves: bool,
    /// Segments that are being made free.
    victims: usize,
    /// Full segments by rank, the emptiest first; those that have another rank by now are passed over.
    ranks: Vec<Vec<SegmentId>>,
    /// Full segments whose tombstones may still be needed, by the sequence up to which they say that records
    /// are not valid.
    entombed: BTreeSet<(u64, SegmentId)>,
    /// Full segments that are not completely on the disk.
    resting: Vec<Resting>,
    next_sequence: u64,
    /// Sequences of full segments, with their last writes, that may still be lost with the power.
    undurable: VecDeque<(u64, u64)>,
    /// All segments up to this sequence are on the disk for good.
    durable_sequence: u64,
    /// Segments up to this sequence hold nothing any more.
    flushed: u64,
    settling: Settling,
    writes: VecDeque<Write>,
    has_failed: bool,
    /// The disk has no room at the moment.
    is_full: bool,
}

#[derive(Debug)]
struct Resting {
    number: SegmentId,
    blocks: Vec<Bytes>,
    /// Its last write.
    last: u64,
}

/// Blocks that shall go to the disk.
#[derive(Debug)]
pub struct Write {
    /// The how-manieth write it is.
    pub number: u64,
    /// First block of the disk.
    pub block: u64,
    /// The content.
    pub data: Vec<Bytes>,
    /// Writes up to this one have ended before it begins.
    after: u64,
}

/// What something is appended for: the last free segments are for those without which none would come free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A user writes.
    User,
    /// A user deletes, or writes in memory only.
    Tombstone,
    /// It makes a segment free.
    Move,
}

/// A record that is to be appended.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its header; its home is not looked at.
    pub header: Header,
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: Value<'a>,
    /// The hash of its key.
    pub hash: KeyHash,
}

impl Log {
    /// An empty one on a disk with this superblock, whose `run` is larger each time the store is opened.
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
            entombed: BTreeSet::new(),
            resting: Vec::new(),
            next_sequence: u64::from(run) << 32 | 1,
            undurable: VecDeque::new(),
            durable_sequence: 0,
            flushed: 0,
            settling: Settling::default(),
            writes: VecDeque::new(),
            has_failed: false,
            is_full: false,
        }
    }

    /// Appends a record; nothing if there is no free segment for it.
    pub fn append(
        &mut self,
        now: Time,
        record: &Record<'_>,
        purpose: Purpose,
        pool: &mut Pool,
    ) -> Option<Place> {
        let bytes = record.header.record_bytes() as usize;
        let at = self.room_for(bytes, purpose, pool)?;
        let open = self.open.as_mut().expect("it has room");
        let stamp = open.stamp(at);
        let (header, key) = (&record.header, [record.key].into_iter());
        let sums = (header_checksum(header, &stamp, key.clone()), checksum_of(record.value.pieces()));
        open.append(at, &header.words_on_flash(&stamp, sums), key.chain(record.value.pieces()), pool);
        open.dirty_since.get_or_insert(now);
        open.entries.push(Entry {
            hash: record.hash,
            unit: (at as u64 / UNIT) as u32,
            bytes: bytes as u32,
            expires: record.header.expires,
            is_tombstone: record.header.state.has(State::TOMBSTONE),
        });
        let place = open.number.place_of(self.segment_blocks, at as u64..(at + bytes) as u64);
        let segment = &mut self.segments[open.number];
        segment.records += 1;
        let is_tombstone = record.header.state.has(State::TOMBSTONE);
        segment.valid += u32::from(!is_tombstone);
        segment.tombstones += u32::from(is_tombstone);
        if open.complete().len() >= self.chunk {
            self.write_out();
        }
        Some(place)
    }

    /// Says that no record of a key in the segment with sequence `buried`, or in earlier ones, is valid.
    /// False if there is no room.
    pub fn bury(&mut self, now: Time, hash: KeyHash, buried: u64, purpose: Purpose, pool: &mut Pool) -> bool {
        let key = hash.0.to_le_bytes();
        let header = Header { key: 16, state: State::TOMBSTONE, cas: buried, ..Header::default() };
        let record = Record { header, key: &key, value: Value::Slice(&[]), hash };
        let is_done = self.append(now, &record, purpose, pool).is_some();
        if let Some(open) = self.open.as_mut().filter(|_| is_done) {
            open.buried = open.buried.max(buried);
        }
        is_done
    }

    /// True if a user's tombstone has room.
    pub fn has_room_for_tombstone(&self) -> bool {
        let bytes = Header::room(16, 0) as usize;
        let has_room = self.open.as_ref().is_some_and(|open| open.room_for(bytes).is_some());
        !self.has_failed && (has_room || self.free.len() > RESERVE && !self.is_full)
    }

    fn room_for(&mut self, bytes: usize, purpose: Purpose, pool: &mut Pool) -> Option<usize> {
        if self.has_failed || self.is_full && purpose != Purpose::Tombstone {
            return None;
        }
        let spared = match purpose {
            Purpose::User => RESERVE + self.victims.max(1),
            Purpose::Tombstone => RESERVE,
            Purpose::Move => 0,
        };
        let is_short = self.free.len() <= spared;
        // What copies opened with one of the last segments is theirs: users who fill it would take the room
        // that makes room.
        let is_theirs = is_short && self.is_for_moves && purpose == Purpose::User;
        if let Some(at) = self.open.as_ref().and_then(|open| open.room_for(bytes)).filter(|_| !is_theirs) {
            return Some(at);
        }
        if is_short || self.is_full {
            return None;
        }
        self.is_for_moves = purpose == Purpose::Move && self.free.len() <= RESERVE + self.victims.max(1);
        let number = self.free.pop_front()?;
        self.seal(pool);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.segments[number] = Segment { sequence, ..Segment::default() };
        let head = Head { sequence, durable: self.durable_sequence, is_cut: false };
        let mut open = Open::new(head, self.end_of(number), self.segment_blocks, pool);
        let at = open.room_for(bytes);
        let last = End::Open(sequence).last_block(self.end_of(number));
        let mut data = pool.list();
        data.push(last);
        open.opened = self.write(self.end_block(number) - 1, data, 0);
        self.open = Some(open);
        Some(at.expect("an item is much smaller than a segment"))
    }

    /// Ends the open segment.
    fn seal(&mut self, pool: &mut Pool) {
        let Some(open) = &mut self.open else { return };
        open.append_end(pool);
        open.close_block(pool);
        self.write_out();
        let Some(open) = self.open.take() else { return };
        let Open { sequence, buried, .. } = open;
        let foot = Foot { sequence, entries: 0, checksum: 0, buried, has_hole: false };
        let summary = format::summary(&open.entries, foot, self.end_of(open.number));
        self.segments[open.number].buried = open.buried;
        let first = self.end_block(open.number) - summary.len() as u64;
        for (part, blocks) in summary.chunks(self.chunk).enumerate() {
            let mut data = pool.list();
            data.extend_from_slice(blocks);
            self.write(first + (part * self.chunk) as u64, data, open.opened);
        }
        self.full.push_back(open.number);
        self.entomb(open.number);
        let last = self.settling.issued();
        self.undurable.push_back((open.sequence, last));
        self.resting.push(Resting { number: open.number, blocks: open.blocks, last });
    }

    /// Sends what is complete to the disk.
    fn write_out(&mut self) {
        let Some(open) = &mut self.open else { return };
        let (number, complete) = (open.number, open.complete());
        open.note_written(complete.end);
        let first = self.first_block(number);
        for part in chunks(complete, self.chunk) {
            let Some(open) = &self.open else { return };
            let data = open.blocks[part.clone()].to_vec();
            let number = self.write(first + part.start as u64, data, 0);
            self.open.iter_mut().for_each(|open| open.note_write(number, part.end));
        }
    }

    /// A write beside those of the log that becomes durable with them; its number.
    pub fn count_write(&mut self) -> u64 {
        self.settling.issue()
    }

    /// Queues a write of `data` at `block`, issued once write `after` has completed (0: at once). Returns its
    /// number.
    pub fn write(&mut self, block: u64, data: Vec<Bytes>, after: u64) -> u64 {
        let number = self.settling.issue();
        self.writes.push_back(Write { number, block, data, after });
        number
    }

    /// No further record comes to the open segment.
    pub fn close(&mut self, pool: &mut Pool) {
        if !self.has_failed && !self.is_full {
            self.seal(pool);
        }
    }

    /// Nothing in segments up to this sequence is valid any more.
    pub fn disbelieve(&mut self, sequence: u64) {
        self.flushed = self.flushed.max(sequence);
    }

    /// What checksums of the ends of a segment stand for.
    pub fn end_of(&self, number: SegmentId) -> EndOf {
        EndOf { store: self.store, number }
    }

    /// What stands for the store and a segment in checksums of records.
    #[inline]
    pub fn salt(&self, number: SegmentId) -> Salt {
        Salt::of(self.store, number)
    }

    /// What is in the log is not valid any more, and what is appended from now on is in segments with
    /// sequences larger than the one returned.
    pub fn begin_anew(&mut self, pool: &mut Pool) -> u64 {
        self.seal(pool);
        self.void_all();
        self.flushed = self.last_sequence();
        self.flushed
    }

    /// The sequence of the last segment that was begun.
    pub fn last_sequence(&self) -> u64 {
        self.next_sequence - 1
    }

    /// All segments up to this sequence are on the disk for good.
    pub fn durable_sequence(&self) -> u64 {
        self.durable_sequence
    }

    /// True if what is in that use of a segment may be valid.
    pub fn is_believed(&self, sequence: u64) -> bool {
        sequence > self.flushed
    }

    /// True if all records of the open segment are durable, and none of its headers says so yet.
    pub fn wants_mark(&self) -> bool {
        !self.has_failed && !self.is_full && self.open.as_ref().is_some_and(Open::wants_mark)
    }

    /// Appends a header that says that all records of the open segment are durable. If there is no room for
    /// it, false.
    pub fn mark_durable(&mut self, pool: &mut Pool) -> bool {
        let is_marked = self.open.as_mut().is_some_and(|open| open.append_durable_mark(pool));
        self.write_out();
        is_marked
    }

    /// Everything that was appended so far goes to the disk; the point that [`Log::durable`] will have
    /// reached then.
    pub fn sync(&mut self, pool: &mut Pool) -> u64 {
        if let Some(open) = self.open.as_mut().filter(|open| open.dirty_since.is_some()) {
            open.close_block(pool);
            self.write_out();
        }
        self.settling.issued()
    }

    /// Since when there is something that is not on its way to the disk.
    pub fn dirty_since(&self) -> Option<Time> {
        self.open.as_ref().and_then(|open| open.dirty_since)
    }

    /// The next blocks for the disk. A block is written again only when its write before has ended.
    pub fn next_write(&mut self) -> Option<Write> {
        let is_due = self.writes.front().is_some_and(|write| write.after <= self.settling.settled());
        if is_due { self.writes.pop_front() } else { None }
    }

    /// A write has ended, well or not. After one that has not, nothing is appended any more.
    pub fn note_written(&mut self, number: u64, is_done: bool, pool: &mut Pool) {
        if !is_done {
            self.has_failed = true;
            return;
        }
        self.settling.note_done(number);
        if !self.volatile_cache {
            self.note_flushed(self.settling.settled());
        }
        let settled = self.settling.settled();
        let mut at = 0;
        while at < self.resting.len() {
            if self.resting[at].last > settled {
                at += 1;
                continue;
            }
            pool.take_back(self.resting.swap_remove(at).blocks);
        }
    }

    /// An end of a segment that is to come free was written, or not: after that nothing is appended any more.
    pub fn note_erased(&mut self, is_done: bool) {
        self.has_failed |= !is_done;
    }

    /// Up to which write the disk has everything.
    pub fn settled(&self) -> u64 {
        self.settling.settled()
    }

    /// Up to which write nothing is lost with the power.
    pub fn durable(&self) -> u64 {
        self.settling.durable()
    }

    /// A flush that was begun when `settled` was so has ended.
    pub fn note_flushed(&mut self, settled: u64) {
        self.settling.note_durable(settled);
        self.open.iter_mut().for_each(|open| open.note_durable(settled));
        while let Some(&(sequence, last)) = self.undurable.front()
            && last <= settled
        {
            self.durable_sequence = sequence;
            self.undurable.pop_front();
        }
    }

    /// The last write of full segments that may be lost with the power; 0 if there are none.
    pub fn undurable(&self) -> u64 {
        self.undurable.back().map_or(0, |&(_, last)| last)
    }

    /// True while so much is on its way to the disk that more should wait; on its way to one that has failed
    /// is nothing.
    pub fn is_busy(&self) -> bool {
        !self.has_failed && self.resting.len() >= MOST_RESTING
    }

    /// True while full segments are on their way to the disk: one of them may be the emptiest.
    pub fn is_settling(&self) -> bool {
        !self.resting.is_empty()
    }

    /// True if the disk must be flushed to keep what was written.
    pub fn has_volatile_cache(&self) -> bool {
        self.volatile_cache
    }

    /// True while the disk has no room: nothing is appended but tombstones, as far as they fit in the open
    /// segment.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether it has.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// The disk could not be flushed: nothing is appended any more, and nothing more becomes durable.
    pub fn fail(&mut self) {
        self.has_failed = true;
    }

    /// True once the disk has refused a write or a flush.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The blocks with a record that is not on the disk yet.
    pub fn in_memory(&self, unit: u64, pages: usize) -> Option<&[Bytes]> {
        let number = self.segment_of(unit);
        let first = (unit / UNITS - self.first_block(number)) as usize;
        let open = self.open.as_ref().filter(|open| open.number == number).map(|open| &open.blocks);
        let resting = || self.resting.iter().find(|resting| resting.number == number);
        let blocks = open.or_else(|| resting().map(|resting| &resting.blocks))?;
        Some(&blocks[first..(first + pages).min(blocks.len())])
    }

    /// The name of the store.
    pub fn store(&self) -> u128 {
        self.store
    }
}

/// The run of a store in which the segment with this sequence was begun.
pub fn run_of(sequence: u64) -> u32 {
    (sequence >> 32) as u32
}

fn chunks(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(most).map(move |start| start..(start + most).min(end))
}

/// 128 KiB: so much is written at a time.
const CHUNK: usize = 32;
/// So many full segments may wait for the disk.
const MOST_RESTING: usize = 8;
/// Segments that only moved records may use.
const RESERVE: usize = 2;
/// Fewer are no log.
pub const LEAST_SEGMENTS: u32 = 12;
