//! The memory tier: recently written or read items, as records in segments.
//!
//! A segment is filled from start to end and emptied as a whole, so there is no allocator. There are queues
//! of segments (S3-FIFO, Yang and others 2023): new items enter the *small* queue, a tenth of the memory, and
//! only those read there move to the *main* queue. Large new items have a queue of their own, a thirty-second
//! of the memory, or they would push many small ones out before these could be read again. A segment is
//! emptied either by eviction, oldest first, or by compaction, which moves its live records together with
//! those of other segments and keeps their age. The front yields [`Victim`]s one by one; the caller moves or
//! drops each.
//!
//! A cache with little memory has segments that are shorter than its largest items: several segments are
//! always free or partly filled, which should be a small part of the memory. Longer records have consecutive
//! segments to themselves (`runs`).

mod check;
mod limit;
mod queues;
mod runs;

use super::item::{Item, Value};
use super::place::{FrontUnit, UNIT};
use super::record::Header;
use super::settings::{Keep, Settings};
use prefetch_index::prefetch_index;
use queues::MeanLength;
use std::collections::VecDeque;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::{Id, IdVec};

/// The front: the tier of the store that holds items in memory, in segments.
#[derive(Debug)]
pub struct Front {
    memory: Vec<u8>,
    /// Bytes per segment.
    segment: usize,
    /// Bytes of records in each segment; of a run of segments in its first.
    fills: IdVec<FrontSegment, u32>,
    /// Bytes of each segment's dead records: those replaced, removed or moved since.
    dead: IdVec<FrontSegment, u32>,
    /// The queue of each segment that is not free.
    queue_of: IdVec<FrontSegment, Queue>,
    /// The segments of each queue, the oldest in front; of a run the first.
    queues: [VecDeque<FrontSegment>; QUEUES],
    /// Number of segments of each queue, all of a run counted.
    in_use: [usize; QUEUES],
    /// The mean length of new records.
    mean: MeanLength,
    /// In descending order: the last is taken first.
    free: Vec<FrontSegment>,
    /// Segments beyond the limit on memory, in which nothing is.
    retired: Vec<FrontSegment>,
    /// Segments that may be in use or free, and how many must be at least.
    limit: usize,
    least: usize,
    /// Number of segments at the start of `retired` whose memory was returned to the system.
    returned: usize,
    /// The segment being emptied.
    cursor: Option<Cursor>,
    /// The segments of the queues to which compaction moves records.
    gathering: [Option<FrontSegment>; QUEUES],
    /// Where the search for expired records continues: a segment, and a byte offset in it.
    search: (FrontSegment, u32),
}

tailcut_base::id! {
    /// A segment of the memory.
    struct FrontSegment;
}

/// One of the queues of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The queue of new items (S3-FIFO).
    Small,
    /// The queue of new items that are large.
    Large,
    /// Items that were read while in the queues of new ones.
    Main,
}

const QUEUES: usize = 3;

/// How a segment is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptying {
    /// Its records leave, unless they are read often.
    Eviction,
    /// Its live records are moved to a segment of the same age.
    Compaction,
}

/// A record of the segment that is being emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The place of the item in the front.
    pub unit: FrontUnit,
    /// The queue, small or main, that the record's segment belongs to.
    pub queue: Queue,
    /// Length of the record in bytes.
    pub bytes: u32,
    /// Why the segment is emptied, which decides what becomes of the record.
    pub emptying: Emptying,
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    segment: FrontSegment,
    queue: Queue,
    emptying: Emptying,
    /// Bytes to process per byte to be freed.
    pace: u64,
    /// Byte offset of the next victim.
    at: u32,
    /// Byte offset up to which `next_soon` has advanced; `lead` is the number of victims up to there.
    ahead: u32,
    lead: u32,
}

impl Front {
    /// An empty front of about [`Settings::memory`] bytes. The system commits the memory when it is first
    /// written.
    pub fn new(settings: &Settings) -> Front {
        let longest = settings.most_item.next_power_of_two().max(LEAST_SEGMENT);
        // A store cannot evict what lies between two free segments.
        let segment = match settings.keep {
            Keep::WhatIsUsed => segment_of(settings.memory).min(longest),
            Keep::Everything => longest,
        };
        let least = LEAST_SEGMENTS.max(settings.least_memory().div_ceil(segment));
        let segments = (settings.memory / segment).clamp(least, u64::from(u32::MAX) * UNIT / segment);
        Front {
            memory: vec![0; to_usize(segment * segments)],
            segment: to_usize(segment),
            fills: IdVec::filled(to_usize(segments), 0),
            dead: IdVec::filled(to_usize(segments), 0),
            queue_of: IdVec::filled(to_usize(segments), Queue::Small),
            queues: Default::default(),
            in_use: [0; QUEUES],
            mean: MeanLength::default(),
            free: FrontSegment::first(to_usize(segments)).rev().collect(),
            retired: Vec::new(),
            limit: to_usize(segments),
            least: to_usize(least),
            returned: 0,
            cursor: None,
            gathering: [None; QUEUES],
            search: (FrontSegment::new(0), 0),
        }
    }

    /// The bytes of all segments; records lie at multiples of 16 bytes.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// Size of the memory in bytes, as limited.
    pub fn bytes(&self) -> u64 {
        (self.limit * self.segment) as u64
    }

    /// Bytes of records that are neither replaced nor removed, in all segments.
    pub fn live(&self) -> u64 {
        self.queues.iter().flatten().map(|&segment| u64::from(self.fills[segment] - self.dead[segment])).sum()
    }

    /// The record at `unit` was replaced, removed or moved.
    #[inline]
    pub fn discard(&mut self, unit: FrontUnit) {
        let segment = FrontSegment::new(to_u32(at(unit) / self.segment));
        self.dead[segment] += to_u32(self.header(unit).record_bytes());
        debug_assert!(self.dead[segment] <= self.fills[segment]);
    }

    /// The queue that the record at `unit` is in.
    #[inline]
    pub fn queue_of(&self, unit: FrontUnit) -> Queue {
        self.queue_of[FrontSegment::new(to_u32(at(unit) / self.segment))]
    }

    /// True if free segments are so few that records should be evicted.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.free.len() <= RESERVE || self.active() > self.limit
    }

    /// Reserves room for a record of `bytes` bytes. None until a segment is freed. Records moved within the
    /// front may use the last free segments, new ones may not.
    pub fn reserve(&mut self, queue: Queue, bytes: u64, is_moved: bool) -> Option<FrontUnit> {
        let bytes = to_u32(bytes);
        debug_assert!(u64::from(bytes).is_multiple_of(UNIT));
        if self.takes_run(bytes) {
            return self.reserve_run(queue, bytes);
        }
        let open = self.queue(queue).back().copied();
        let has_room =
            |&segment: &FrontSegment| self.fills[segment] as usize + bytes as usize <= self.segment;
        let evicted = self.cursor.map(|cursor| cursor.segment);
        let open = open.filter(has_room).filter(|&segment| Some(segment) != evicted);
        let segment = match open {
            Some(segment) => segment,
            None if is_moved || self.free.len() > RESERVE / 2 => {
                let segment = self.free.pop()?;
                let end = self.queue(queue).len();
                self.enqueue(segment, queue, end);
                segment
            }
            None => return None,
        };
        Some(self.add(segment, bytes))
    }

    /// Reserves room for a live record of the segment that is compacted, among others of its age. None if
    /// there is no free segment.
    pub fn reserve_beside(&mut self, bytes: u32) -> Option<FrontUnit> {
        let Cursor { segment: victim, queue, .. } = self.cursor?;
        let gathering = self.gathering[queue as usize];
        let has_room = |&segment: &FrontSegment| (self.fills[segment] + bytes) as usize <= self.segment;
        let segment = match gathering.filter(has_room) {
            Some(segment) => segment,
            None => {
                let segment = self.free.pop()?;
                let place = self.place_of(victim, queue);
                self.enqueue(segment, queue, place);
                self.gathering[queue as usize] = Some(segment);
                segment
            }
        };
        Some(self.add(segment, bytes))
    }

    /// Unit of a new record of `bytes` bytes at the end of a segment, where there is room for it.
    fn add(&mut self, segment: FrontSegment, bytes: u32) -> FrontUnit {
        let unit = self.unit_at(segment, self.fills[segment]);
        self.fills[segment] += bytes;
        unit
    }

    /// Begins to compact the segment with the most dead bytes, if they are at least one in `share` of a
    /// segment. False if there is none, or if a segment is being emptied.
    pub fn begin_compaction(&mut self, share: usize) -> bool {
        // The last segment of a queue is still being filled.
        let closed = self.queues.iter().flat_map(|queue| queue.iter().take(queue.len().saturating_sub(1)));
        let full = closed.copied().filter(|&segment| !self.gathering.contains(&Some(segment)));
        let Some(segment) = full.max_by_key(|&segment| self.dead[segment]) else { return false };
        let queue = self.queue_of[segment];
        let dead = self.dead[segment] as usize;
        if self.cursor.is_some() || dead < self.segment / share {
            return false;
        }
        let pace = 1 + (self.fills[segment] as usize).div_ceil(dead) as u64;
        let emptying = Emptying::Compaction;
        self.cursor = Some(Cursor { segment, queue, emptying, pace, at: 0, ahead: 0, lead: 0 });
        true
    }

    /// Bytes of the segment being emptied that are to be processed for each byte of new records; None if
    /// there is no such segment.
    pub fn pace(&self) -> Option<u64> {
        self.cursor.map(|cursor| cursor.pace)
    }

    /// Begins to evict the oldest segment. False if there is none, or if a segment is being emptied.
    pub fn begin_eviction(&mut self) -> bool {
        let oldest = self.oldest().filter(|_| self.cursor.is_none());
        oldest.inspect(|&segment| self.evict(segment)).is_some()
    }

    /// The next record of the segment being emptied. None at the end of the segment, which is then free.
    pub fn next_victim(&mut self) -> Option<Victim> {
        let cursor = self.cursor?;
        let Cursor { segment, queue, emptying, at, ahead, lead, .. } = cursor;
        if at < self.fills[segment] {
            let (unit, next) = self.record_at(segment, at);
            let (ahead, lead) = (ahead.max(next), lead.saturating_sub(1));
            self.cursor = Some(Cursor { at: next, ahead, lead, ..cursor });
            return Some(Victim { unit, queue, bytes: next - at, emptying });
        }
        self.cursor = None;
        self.dequeue(segment, queue);
        self.gathering[queue as usize].take_if(|gathering| *gathering == segment);
        if self.search.0 == segment {
            self.search.1 = 0;
        }
        self.run(segment).for_each(|member| self.make_free(member));
        (self.fills[segment], self.dead[segment]) = (0, 0);
        self.retire_free();
        None
    }

    /// The next record to prefetch for eviction, each once. None if [`LEAD`] are prefetched already, or if
    /// the segment has no more.
    pub fn next_soon(&mut self) -> Option<FrontUnit> {
        let cursor = self.cursor?;
        let Cursor { segment, ahead, lead, .. } = cursor;
        if lead >= LEAD || ahead >= self.fills[segment] {
            return None;
        }
        let (unit, next) = self.record_at(segment, ahead);
        self.cursor = Some(Cursor { ahead: next, lead: lead + 1, ..cursor });
        if next < self.fills[segment] {
            self.prefetch(self.unit_at(segment, next));
        }
        Some(unit)
    }

    /// The records that have expired at `unix`, in seconds of Unix time, live or dead, among the next
    /// [`SEARCHED`] of one segment; each call continues where the last one ended.
    pub fn expired(&mut self, unix: u32) -> Vec<FrontUnit> {
        let (segment, mut at) = self.search;
        let mut expired = Vec::new();
        for _ in 0..SEARCHED {
            if at >= self.fills[segment] {
                self.search = (FrontSegment::new((segment.get() + 1) % to_u32(self.fills.len())), 0);
                return expired;
            }
            let (unit, next) = self.record_at(segment, at);
            if self.header(unit).is_expired(unix) {
                expired.push(unit);
            }
            at = next;
        }
        self.search = (segment, at);
        expired
    }

    /// Unit of the record at byte `at` of a segment, and the byte offset of the next record.
    fn record_at(&self, segment: FrontSegment, at: u32) -> (FrontUnit, u32) {
        let unit = self.unit_at(segment, at);
        (unit, at + to_u32(self.header(unit).record_bytes()))
    }

    fn unit_at(&self, segment: FrontSegment, at: u32) -> FrontUnit {
        FrontUnit::new(to_u32((segment.index() * self.segment + at as usize) as u64 / UNIT))
    }

    /// Length of a segment of the front in bytes.
    pub fn segment_bytes(&self) -> u64 {
        self.segment as u64
    }

    /// Header of the record at `unit`.
    #[inline]
    pub fn header(&self, unit: FrontUnit) -> Header {
        Header::decode(&self.memory[at(unit)..])
    }

    /// Replaces the header of the record at `unit`; its lengths must not change.
    #[inline]
    pub fn set_header(&mut self, unit: FrontUnit, header: &Header) {
        let at = at(unit);
        header.write(&mut self.memory[at..at + Header::BYTES]);
    }

    /// Prefetches the start of the record at `unit` into the processor's cache.
    #[inline]
    pub fn prefetch(&self, unit: FrontUnit) {
        prefetch_index(&self.memory, at(unit));
        prefetch_index(&self.memory, at(unit) + CACHE_LINE);
    }

    /// The item whose record is at `unit`.
    #[inline]
    pub fn item(&self, unit: FrontUnit) -> Item<'_> {
        self.item_with(unit, self.header(unit))
    }

    /// The item at `unit`, whose header is `header`.
    #[inline]
    pub fn item_with(&self, unit: FrontUnit, header: Header) -> Item<'_> {
        let record = &self.memory[at(unit)..];
        let (key, value) = (Header::BYTES, header.value_at());
        Item {
            header,
            key: &record[key..value],
            value: Value::Slice(&record[value..value + header.value as usize]),
        }
    }

    /// Writes header and key to a reserved place; the value follows with [`Front::value_mut`].
    #[inline]
    pub fn begin(&mut self, unit: FrontUnit, header: &Header, key: &[u8]) {
        self.set_header(unit, header);
        let to = at(unit) + Header::BYTES;
        self.memory[to..to + key.len()].copy_from_slice(key);
    }

    /// The value of the record at `unit`, for writing; its length is that of the header.
    #[inline]
    pub fn value_mut(&mut self, unit: FrontUnit, header: &Header) -> &mut [u8] {
        let from = at(unit) + header.value_at();
        &mut self.memory[from..from + header.value as usize]
    }

    /// Copies the value of record `from` into that of a record, at a byte offset.
    pub fn copy_value(&mut self, from: FrontUnit, (to, offset): (FrontUnit, usize)) {
        let (source, target) = (self.header(from), self.header(to));
        let from = at(from) + source.value_at();
        self.memory.copy_within(from..from + source.value as usize, at(to) + target.value_at() + offset);
    }

    /// Copies a record of the segment being emptied to a reserved place.
    pub fn copy(&mut self, victim: &Victim, to: FrontUnit) {
        let from = at(victim.unit);
        self.memory.copy_within(from..from + victim.bytes as usize, at(to));
    }

    /// Drops all records and makes every segment free.
    pub fn clear(&mut self) {
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.in_use = [0; QUEUES];
        self.cursor = None;
        self.gathering = [None; QUEUES];
        self.search.1 = 0;
        self.fills.iter_mut().chain(self.dead.iter_mut()).for_each(|bytes| *bytes = 0);
        let mut is_retired = IdVec::filled(self.fills.len(), false);
        self.retired.iter().for_each(|&segment| is_retired[segment] = true);
        self.free = self.fills.ids().rev().filter(|&segment| !is_retired[segment]).collect();
        self.retire_free();
    }
}

#[inline]
fn at(unit: FrontUnit) -> usize {
    unit.index() * to_usize(UNIT)
}

/// The length of segments for so much memory: a power of two.
fn segment_of(memory: u64) -> u64 {
    (memory / SEGMENTS).max(LEAST_SEGMENT).next_power_of_two()
}

/// Segments of a memory that is too small for longer ones: at most 9 of 256 are free or partly filled.
const SEGMENTS: u64 = 256;
/// Least segment size, 16 KiB: a smaller segment holds too few items to be worth its bookkeeping.
const LEAST_SEGMENT: u64 = 16 << 10;
const LEAST_SEGMENTS: u64 = 16;
/// Bytes per cache line.
const CACHE_LINE: usize = 64;
/// Records per search for expired ones: a few microseconds.
const SEARCHED: u32 = 256;
/// Victims prefetched ahead.
const LEAD: u32 = 4;
/// Bytes of a segment to process per byte to be freed by eviction: at least half of each segment is freed.
const EVICTION_PACE: u64 = 2;
/// Number of free segments at which eviction begins: one for new records, and one that only moved records may
/// use. What is moved out of a segment fits in one other, so that emptying a segment never needs a second.
const RESERVE: usize = 2;
/// The small queue has a tenth of the memory (S3-FIFO, §4.1), that of large items one part of this many.
const SMALL_SHARE: usize = 10;
const LARGE_SHARE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn victims_are_told_of_in_their_order_before_their_turn(sizes in prop::collection::vec(0u32..3000, 1..400)) {
            let mut front = Front::new(&Settings { memory: 1 << 20, most_item: 4096, ..Settings::default() });
            for value in sizes {
                let header = Header { key: 1, value, ..Header::default() };
                let Some(unit) = front.reserve(Queue::Small, header.record_bytes(), false) else { break };
                front.begin(unit, &header, b"k");
            }
            let (mut told, mut gone) = (Vec::new(), Vec::new());
            while front.pace().is_some() || front.begin_eviction() {
                let Some(victim) = front.next_victim() else { continue };
                gone.push(victim.unit);
                told.extend(std::iter::from_fn(|| front.next_soon()));
                prop_assert!(told.len() <= gone.len() + LEAD as usize);
            }
            // The first record of each segment is not prefetched.
            gone.retain(|&unit| !at(unit).is_multiple_of(front.segment));
            prop_assert_eq!(told, gone);
        }
    }
}
