//! Which segments hold what: free ones and full ones, what is valid in them, and which is to be used again
//! next.

use super::format::UNITS;
use super::{Log, RESERVE};
use crate::disk::BLOCK_BYTES;
use crate::kv::place::{MOST_PAGES, Place, UNIT};
use std::ops::Range;
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

    /// The block behind the last one of the segment, of `segment_blocks` blocks.
    pub fn end_block(self, segment_blocks: u32) -> u64 {
        self.first_block(segment_blocks) + u64::from(segment_blocks)
    }

    /// The place of a record that has these bytes of the segment, of `segment_blocks` blocks.
    pub fn place_of(self, segment_blocks: u32, bytes: Range<u64>) -> Place {
        let length = bytes.start % BLOCK_BYTES + (bytes.end - bytes.start);
        let pages = length.div_ceil(BLOCK_BYTES).min(u64::from(MOST_PAGES)) as u8;
        let unit = self.first_block(segment_blocks) * UNITS + bytes.start / UNIT;
        Place::Log { unit, pages }
    }
}

/// What is known of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// 0 while it is free.
    pub sequence: u64,
    /// Records in it that are valid.
    pub valid: u32,
    /// All of them.
    pub records: u32,
    /// Reads of it that are under way.
    pub readers: u32,
    /// See [`super::format::Foot::buried`].
    pub buried: u64,
    /// Tombstones in it.
    pub tombstones: u32,
    /// They may still be needed: then they are worth as much as valid records.
    pub needs_tombstones: bool,
    /// It is being made free.
    pub is_victim: bool,
    /// It is full, and has this rank by the share of its valid records.
    pub rank: Option<u8>,
}

impl Segment {
    /// The share of its valid records in thousandths, rounded down.
    fn share(&self) -> u32 {
        let kept = self.valid + if self.needs_tombstones { self.tombstones } else { 0 };
        (u64::from(kept) * 1000 / u64::from(self.records.max(1))) as u32
    }

    fn current_rank(&self) -> u8 {
        (self.share() as usize * (RANKS - 1) / 1000) as u8
    }
}

impl Log {
    /// The segment that a unit lies in.
    pub fn segment_of(&self, unit: u64) -> SegmentId {
        SegmentId::new((unit / UNITS / u64::from(self.segment_blocks)) as u32)
    }

    /// Which use of a segment this is; 0 while it is free.
    pub fn sequence(&self, number: SegmentId) -> u64 {
        self.segments[number].sequence
    }

    /// A record at `unit` is not valid any more.
    pub fn forget(&mut self, unit: u64) {
        let number = self.segment_of(unit);
        let valid = &mut self.segments[number].valid;
        *valid = valid.checked_sub(1).expect("what is forgotten was valid");
        if self.segments[number].rank.is_some() {
            self.rank(number);
        }
    }

    /// Somebody reads in a segment: it is not used again until he has ended.
    pub fn begin_read(&mut self, number: SegmentId) {
        self.segments[number].readers += 1;
    }

    /// And has ended.
    pub fn end_read(&mut self, number: SegmentId) {
        self.segments[number].readers -= 1;
    }

    /// Reads of a segment that are under way.
    pub fn readers(&self, number: SegmentId) -> u32 {
        self.segments[number].readers
    }

    /// Segments without anything in them.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// All segments that can hold something.
    pub fn segments(&self) -> usize {
        self.segments.len() - 1
    }

    /// True when another segment should be made free, where so many are under way: the more of them the fewer
    /// are free. Each can take the room of a whole one for its copies.
    pub fn wants_victim(&self, under_way: usize) -> bool {
        let free = self.free.len();
        let ahead = (self.segments() / AHEAD_SHARE).min(MOST_AHEAD);
        let has_room = under_way == 0 || free > under_way + RESERVE;
        free + under_way < 2 * RESERVE + ahead && has_room
    }

    /// So many are under way: what they take for copies is not for users.
    pub fn note_victims(&mut self, under_way: usize) {
        self.victims = under_way;
    }

    /// A segment is to be made free, or not any more.
    pub fn set_victim(&mut self, number: SegmentId, is_victim: bool) {
        self.segments[number].is_victim = is_victim;
    }

    /// The oldest full segment that is not being made free, all of which is on the disk.
    pub fn oldest(&self) -> Option<SegmentId> {
        let oldest = self.full.iter().copied().find(|&number| !self.segments[number].is_victim);
        oldest.filter(|&number| !self.is_resting(number))
    }

    /// A full segment with about the smallest share of valid records, if that is below so many thousandths.
    pub fn emptiest_below(&mut self, share: u32) -> Option<SegmentId> {
        let last = share as usize * (RANKS - 1) / 1000;
        (0..=last).find_map(|rank| self.any_of(rank)).filter(|&number| self.segments[number].share() < share)
    }

    /// A full segment of that rank that is not being made free, all of which is on the disk.
    fn any_of(&mut self, rank: usize) -> Option<SegmentId> {
        let mut at = self.ranks[rank].len();
        while at > 0 {
            at -= 1;
            let number = self.ranks[rank][at];
            if self.segments[number].rank != Some(rank as u8) {
                self.ranks[rank].swap_remove(at);
            } else if !self.is_resting(number) && !self.segments[number].is_victim {
                return Some(number);
            }
        }
        None
    }

    /// A segment is full.
    pub(super) fn entomb(&mut self, number: SegmentId) {
        let segment = &mut self.segments[number];
        segment.needs_tombstones = segment.tombstones > 0;
        if segment.needs_tombstones {
            self.entombed.insert((segment.buried, number));
        }
        self.rank(number);
    }

    /// Tombstones are not needed any more when all that is older is gone.
    fn exhume(&mut self) {
        while let Some(&(buried, number)) = self.entombed.first()
            && !self.needs_tombstone(buried, number)
        {
            self.entombed.pop_first();
            self.segments[number].needs_tombstones = false;
            self.rank(number);
        }
    }

    /// True if there are tombstones that may still be needed.
    pub fn has_tombstones(&self) -> bool {
        !self.entombed.is_empty()
    }

    /// Notes what rank a full segment has by now.
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

    /// True if a tombstone for records up to that sequence may still be needed when `except` is gone.
    pub fn needs_tombstone(&self, buried: u64, except: SegmentId) -> bool {
        // They are in the order of their sequences.
        let oldest = self.full.iter().find(|&&number| number != except);
        oldest.is_some_and(|&number| self.segments[number].sequence <= buried)
    }

    /// Of the tombstones of a full segment; see [`super::format::Foot::buried`].
    pub fn buried(&self, number: SegmentId) -> u64 {
        self.segments[number].buried
    }

    /// A segment whose head is gone from the disk can be used again.
    pub fn release(&mut self, number: SegmentId) {
        let segment = &mut self.segments[number];
        assert!(segment.readers == 0, "nobody reads a segment that is free");
        self.entombed.remove(&(segment.buried, number));
        *segment = Segment::default();
        match self.full.front() {
            Some(&oldest) if oldest == number => drop(self.full.pop_front()),
            _ => self.full.retain(|&other| other != number),
        }
        self.free.push_back(number);
        self.exhume();
    }

    /// By their heads these segments, with their sequences and in the order of those, hold something, and all
    /// others are free.
    pub fn note_heads(&mut self, found: impl Iterator<Item = (SegmentId, u64)>) {
        for (number, sequence) in found {
            self.segments[number].sequence = sequence;
            self.durable_sequence = sequence;
            self.full.push_back(number);
        }
        let numbers = self.segments.ids().skip(1);
        self.free = numbers.filter(|&number| self.segments[number].sequence == 0).collect();
    }

    /// Recovery knows all of a segment. Of its records, so many are tombstones.
    pub fn note_recovered(&mut self, number: SegmentId, (records, tombstones): (u32, u32), buried: u64) {
        let segment = &mut self.segments[number];
        (segment.records, segment.tombstones, segment.buried) = (records, tombstones, buried);
        self.entomb(number);
    }

    /// Recovery knows all segments.
    pub fn note_all_recovered(&mut self) {
        self.exhume();
    }

    /// Nothing in any segment is valid any more.
    pub(super) fn void_all(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.valid = 0);
        for at in 0..self.full.len() {
            self.entomb(self.full[at]);
        }
        self.exhume();
    }

    /// Recovery has found a valid record.
    pub fn note_valid(&mut self, unit: u64) {
        let number = self.segment_of(unit);
        self.segments[number].valid += 1;
    }

    /// Blocks of a segment.
    pub fn segment_blocks(&self) -> u32 {
        self.segment_blocks
    }

    /// Bytes of all segments that can hold something.
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

    /// The block behind the last of a segment.
    pub fn end_block(&self, number: SegmentId) -> u64 {
        number.end_block(self.segment_blocks)
    }
}

/// One segment in so many is kept free beside the last ones, so that several can be made free while users go
/// on,
const AHEAD_SHARE: usize = 16;
/// but no more than these.
const MOST_AHEAD: usize = 8;
/// Steps of the share of valid records.
pub(super) const RANKS: usize = 32;
