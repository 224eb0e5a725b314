//! The state of every segment: free or full, how much of it is valid, and which one to reclaim next.

use super::format::UNITS;
use super::{Log, RESERVE};
use crate::disk::BLOCK_BYTES;
use crate::kv::place::{MOST_PAGES, Place, UNIT};
use std::ops::Range;
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::id;

id! {
    /// A segment of the disk. Records are in segments from 1 on.
    #[derive(Default)]
    pub struct SegmentId;
}

impl SegmentId {
    /// The segment with the superblocks.
    pub const SUPERBLOCKS: SegmentId = SegmentId(0);

    /// The first block of the segment, of `segment_blocks` blocks.
    pub fn first_block(self, segment_blocks: u32) -> u64 {
        u64::from(self.0) * u64::from(segment_blocks)
    }

    /// The block just behind the segment, of `segment_blocks` blocks.
    pub fn end_block(self, segment_blocks: u32) -> u64 {
        self.first_block(segment_blocks) + u64::from(segment_blocks)
    }

    /// The place of a record at byte range `bytes` of the segment, of `segment_blocks` blocks.
    pub fn place_of(self, segment_blocks: u32, bytes: Range<u64>) -> Place {
        let length = bytes.start % BLOCK_BYTES + (bytes.end - bytes.start);
        let pages = to_u8(length.div_ceil(BLOCK_BYTES).min(u64::from(MOST_PAGES)));
        let unit = self.first_block(segment_blocks) * UNITS + bytes.start / UNIT;
        Place::Log { unit, pages }
    }
}

/// The state of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// Sequence of its current use; 0 while it is free.
    pub sequence: u64,
    /// Number of valid records.
    pub valid: u32,
    /// Number of all records.
    pub records: u32,
    /// Number of reads of the segment in flight; it is not reused before they have ended.
    pub(super) readers: u32,
    /// The latest segment in which a tombstone of this one invalidates a record; 0 without tombstones.
    pub buried: u64,
    /// Number of tombstones among the records.
    pub tombstones: u32,
    /// When the last of its records expires, in seconds of Unix time: [`NEVER`] if one never does, 0 if that
    /// is not known.
    expires: u32,
    /// Its tombstones may still be needed; they then count as valid records.
    needs_tombstones: bool,
    /// It is being reclaimed.
    is_victim: bool,
    /// For a full segment, its rank by share of valid records.
    rank: Option<u8>,
}

impl Segment {
    /// A segment that begins to be written with this sequence.
    pub(super) fn opened(sequence: u64) -> Segment {
        Segment { sequence, ..Segment::default() }
    }
}

impl Segment {
    /// A record that expires then is appended, or found by recovery; 0 for never.
    pub(super) fn note_expiry(&mut self, expires: u32) {
        self.expires = self.expires.max(if expires == 0 { NEVER } else { expires });
    }

    /// Share of its valid records in thousandths, rounded down.
    fn share(&self) -> u32 {
        let kept = self.valid + if self.needs_tombstones { self.tombstones } else { 0 };
        to_u32(u64::from(kept) * 1000 / u64::from(self.records.max(1)))
    }

    fn current_rank(&self) -> u8 {
        to_u8(self.share() as usize * (RANKS - 1) / 1000)
    }
}

impl Log {
    /// The segment that contains a unit.
    pub fn segment_of(&self, unit: u64) -> SegmentId {
        SegmentId::new(to_u32(unit / UNITS / u64::from(self.segment_blocks)))
    }

    /// Sequence of a segment's current use; 0 while it is free.
    pub fn sequence(&self, number: SegmentId) -> u64 {
        self.segments[number].sequence
    }

    /// The record at `unit` becomes invalid.
    ///
    /// # Panics
    /// If the segment at `unit` has no valid record.
    pub fn forget(&mut self, unit: u64) {
        let number = self.segment_of(unit);
        let valid = &mut self.segments[number].valid;
        *valid = valid.checked_sub(1).expect("what is forgotten was valid");
        if self.segments[number].rank.is_some() {
            self.rank(number);
        }
    }

    /// A read in the segment begins; the segment is not reused before its [`Log::end_read`].
    pub fn begin_read(&mut self, number: SegmentId) {
        self.segments[number].readers += 1;
    }

    /// A read in the segment ends.
    pub fn end_read(&mut self, number: SegmentId) {
        self.segments[number].readers -= 1;
    }

    /// Reads of a segment in flight.
    pub fn readers(&self, number: SegmentId) -> u32 {
        self.segments[number].readers
    }

    /// Number of segments that hold no records and can be opened.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Number of segments that can hold records.
    pub fn segments(&self) -> usize {
        self.segments.len() - 1
    }

    /// True if another segment should be reclaimed while `under_way` are: the fewer are free, the more at a
    /// time. Each may need a whole segment for its copies.
    #[inline]
    pub fn wants_victim(&self, under_way: usize) -> bool {
        Room { free: self.free.len(), segments: self.segments() }.wants_victim(under_way)
    }

    /// `under_way` segments are being reclaimed; the space for their copies is withheld from users.
    pub fn note_victims(&mut self, under_way: usize) {
        self.victims = under_way;
    }

    /// Marks a segment as being reclaimed, or as no longer so.
    pub fn set_victim(&mut self, number: SegmentId, is_victim: bool) {
        self.segments[number].is_victim = is_victim;
    }

    /// The oldest full segment that is completely written and not being reclaimed.
    pub fn oldest(&self) -> Option<SegmentId> {
        let oldest = self.full.iter().copied().find(|&number| !self.segments[number].is_victim);
        oldest.filter(|&number| !self.is_resting(number))
    }

    /// A full segment of which every record has expired at `unix`, in seconds of Unix time, that is
    /// completely written and not being reclaimed. Among several the one that expired first.
    pub fn expired(&self, unix: u32) -> Option<SegmentId> {
        let expired = self.by_expiry.range(..=(unix, SegmentId::new(u32::MAX)));
        let mut free =
            expired.filter(|(_, number)| !self.segments[*number].is_victim && !self.is_resting(*number));
        free.next().map(|&(_, number)| number)
    }

    /// A full segment with about the smallest share of valid records, if that is below `share` thousandths.
    pub fn emptiest_below(&mut self, share: u32) -> Option<SegmentId> {
        let last = share as usize * (RANKS - 1) / 1000;
        (0..=last).find_map(|rank| self.any_of(rank)).filter(|&number| self.segments[number].share() < share)
    }

    /// A full segment of that rank that is completely written and not being reclaimed.
    fn any_of(&mut self, rank: usize) -> Option<SegmentId> {
        let mut at = self.ranks[rank].len();
        while at > 0 {
            at -= 1;
            let number = self.ranks[rank][at];
            if self.segments[number].rank != Some(to_u8(rank)) {
                self.ranks[rank].swap_remove(at);
            } else if !self.is_resting(number) && !self.segments[number].is_victim {
                return Some(number);
            }
        }
        None
    }

    /// Registers a segment that became full: its tombstones, and when its records expire.
    pub(super) fn note_full(&mut self, number: SegmentId) {
        let segment = &mut self.segments[number];
        // 0 is not known: the records were found without the summary.
        if (1..NEVER).contains(&segment.expires) {
            self.by_expiry.insert((segment.expires, number));
        }
        segment.needs_tombstones = segment.tombstones > 0;
        if segment.needs_tombstones {
            self.with_tombstones.insert((segment.buried, number));
        }
        self.rank(number);
    }

    /// Drops tombstones from the count once every older segment they apply to is gone.
    fn drop_tombstones(&mut self) {
        while let Some(&(buried, number)) = self.with_tombstones.first()
            && !self.needs_tombstone(buried, number)
        {
            self.with_tombstones.pop_first();
            self.segments[number].needs_tombstones = false;
            self.rank(number);
        }
    }

    /// True if some tombstones may still be needed.
    pub fn has_tombstones(&self) -> bool {
        !self.with_tombstones.is_empty()
    }

    /// Updates the rank of a full segment.
    fn rank(&mut self, number: SegmentId) {
        let segment = &mut self.segments[number];
        let rank = segment.current_rank();
        if segment.rank != Some(rank) {
            segment.rank = Some(rank);
            self.ranks[rank as usize].push(number);
        }
    }

    pub(super) fn is_resting(&self, number: SegmentId) -> bool {
        self.resting.iter().any(|resting| resting.number == number)
    }

    /// True if a tombstone for records up to sequence `buried` is still needed after segment `except` is
    /// reclaimed.
    pub fn needs_tombstone(&self, buried: u64, except: SegmentId) -> bool {
        // `full` is ordered by sequence.
        let oldest = self.full.iter().find(|&&number| number != except);
        oldest.is_some_and(|&number| self.segments[number].sequence <= buried)
    }

    /// Sequence of the latest segment in which a tombstone of `number` invalidates a record; 0 without any.
    pub fn buried(&self, number: SegmentId) -> u64 {
        self.segments[number].buried
    }

    /// Returns a segment, whose head is erased on disk, to the free list.
    ///
    /// # Panics
    /// If a read of the segment is in progress.
    pub fn release(&mut self, number: SegmentId) {
        let segment = &mut self.segments[number];
        assert!(segment.readers == 0, "nobody reads a segment that is free");
        self.with_tombstones.remove(&(segment.buried, number));
        self.by_expiry.remove(&(segment.expires, number));
        *segment = Segment::default();
        match self.full.front() {
            Some(&oldest) if oldest == number => drop(self.full.pop_front()),
            _ => self.full.retain(|&other| other != number),
        }
        self.free.push_back(number);
        self.drop_tombstones();
    }

    /// Sets the used segments as found by their heads, with their sequences and in ascending order of them.
    /// All others are free.
    pub fn note_heads(&mut self, found: impl Iterator<Item = (SegmentId, u64)>) {
        for (number, sequence) in found {
            self.segments[number].sequence = sequence;
            self.durable_sequence = sequence;
            self.highest = self.highest.max(number);
            self.full.push_back(number);
        }
        let numbers = self.segments.ids().skip(1);
        self.free = numbers.filter(|&number| self.segments[number].sequence == 0).collect();
    }

    /// Recovery has found a record that is no tombstone.
    pub fn note_expiry(&mut self, number: SegmentId, expires: u32) {
        self.segments[number].note_expiry(expires);
    }

    /// Recovery has processed a whole segment, which has `records` records, `tombstones` of them tombstones.
    pub fn note_recovered(&mut self, number: SegmentId, (records, tombstones): (u32, u32), buried: u64) {
        let segment = &mut self.segments[number];
        (segment.records, segment.tombstones, segment.buried) = (records, tombstones, buried);
        self.note_full(number);
    }

    /// Recovery has processed all segments.
    pub fn note_all_recovered(&mut self) {
        self.drop_tombstones();
    }

    /// Every record in every segment becomes invalid.
    pub(super) fn void_all(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.valid = 0);
        for at in 0..self.full.len() {
            self.note_full(self.full[at]);
        }
        self.drop_tombstones();
    }

    /// The records of a segment that is being reclaimed become invalid: nothing refers to them any more.
    pub fn void(&mut self, number: SegmentId) {
        self.segments[number].valid = 0;
    }

    /// Recovery has found a valid record at `unit`.
    pub fn note_valid(&mut self, unit: u64) {
        let number = self.segment_of(unit);
        self.segments[number].valid += 1;
    }

    /// Number of blocks of 4 KiB in a segment.
    pub fn segment_blocks(&self) -> u32 {
        self.segment_blocks
    }

    /// Total bytes of all segments that can hold records.
    pub fn bytes(&self) -> u64 {
        self.segments() as u64 * u64::from(self.segment_blocks) * BLOCK_BYTES
    }

    /// Bytes from a unit to the end of its segment.
    #[inline]
    pub fn bytes_behind(&self, unit: u64) -> u64 {
        let bytes = u64::from(self.segment_blocks) * BLOCK_BYTES;
        bytes - unit * UNIT % bytes
    }

    /// First block of a segment.
    pub fn first_block(&self, number: SegmentId) -> u64 {
        number.first_block(self.segment_blocks)
    }

    /// The block just behind a segment.
    pub fn end_block(&self, number: SegmentId) -> u64 {
        number.end_block(self.segment_blocks)
    }
}

/// Free segments, of all.
struct Room {
    free: usize,
    segments: usize,
}

impl Room {
    /// True if another segment should be reclaimed while `under_way` are.
    #[inline]
    fn wants_victim(&self, under_way: usize) -> bool {
        let ahead = (self.segments / AHEAD_SHARE).min(MOST_AHEAD);
        let has_room = under_way == 0 || self.free > under_way + RESERVE;
        self.free + under_way < 2 * RESERVE + ahead && has_room
    }
}

/// When a record without a time to live expires.
const NEVER: u32 = u32::MAX;
/// One in this many segments is kept free in addition to the reserve, so that several can be reclaimed under
/// user load.
const AHEAD_SHARE: usize = 16;
/// Upper bound on the segments of [`AHEAD_SHARE`].
const MOST_AHEAD: usize = 8;
/// Number of ranks by share of valid records.
pub(super) const RANKS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reclaiming_begins_in_time_and_leaves_room_for_copies() {
        // Of 96 segments six are kept free ahead of the four of the reserve.
        let wants = |free: usize, segments: usize| Room { free, segments }.wants_victim(0);
        let free_that_suffices = |under_way: usize| {
            let wants = |&free: &usize| Room { free, segments: 96 }.wants_victim(under_way);
            (0..=96).filter(wants).collect::<Vec<_>>()
        };
        assert_eq!(free_that_suffices(0), (0..10).collect::<Vec<_>>());
        assert_eq!(free_that_suffices(1), (4..9).collect::<Vec<_>>());
        assert_eq!(free_that_suffices(3), [6]);
        assert!(free_that_suffices(4).is_empty());
        // A small store keeps the reserve alone free, a large one no more than eight ahead of it.
        assert!(wants(3, 15) && !wants(4, 15));
        assert!(wants(11, 10_000) && !wants(12, 10_000));
    }
}
