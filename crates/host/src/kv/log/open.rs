//! The open segment: the one that records are appended to.

use super::format::{End, EndOf, Entry, Head, summary_blocks};
use super::{SegmentId, WriteNumber};
use crate::block::Bytes;
use crate::disk::BLOCK_LEN;
use crate::kv::place::UNIT;
use crate::kv::record::{Header, Salt, Stamp, State, checksum_of, header_checksum};
use crate::pool::Pool;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::cast::{to_u16, to_u32, to_usize};

/// A segment that takes records, block by block in memory.
#[derive(Debug)]
pub(super) struct Open {
    /// The segment on disk.
    pub number: SegmentId,
    /// Sequence of the segment: identifies this use of it.
    pub sequence: u64,
    /// Content of the blocks of the segment so far.
    pub blocks: Vec<Bytes>,
    /// Entries of its future summary.
    pub entries: Vec<Entry>,
    /// The latest segment in which a tombstone of this one invalidates a record; 0 without tombstones.
    pub buried: u64,
    /// The latest write that marked its last block as open.
    pub opened: WriteNumber,
    /// Number of durable blocks, counted from the first.
    durable: usize,
    /// Writes not durable yet, each with the number of blocks durable with it.
    undurable: VecDeque<(WriteNumber, usize)>,
    /// When the oldest data not submitted to the disk was appended.
    pub dirty_since: Option<Time>,
    /// Lowest byte offset of the next record.
    at: usize,
    /// Number of blocks submitted to the disk, counted from the first.
    written: usize,
    /// True once an end marker is appended: no record follows.
    is_ended: bool,
    /// Number of blocks with records, counted from the first.
    recorded: usize,
    /// Number of durable blocks according to the last header; see [`Stamp::durable`].
    stamped: usize,
    /// Length of the segment in blocks.
    limit: usize,
    /// Identifies store and segment in record checksums.
    salt: Salt,
}

impl Open {
    /// An empty segment of `limit` blocks.
    pub(super) fn new(head: Head, of: EndOf, limit: u32, pool: &mut Pool) -> Open {
        let mut open = Open {
            number: of.number,
            sequence: head.sequence,
            blocks: pool.list(),
            entries: Vec::new(),
            buried: 0,
            opened: WriteNumber::NONE,
            durable: 0,
            undurable: VecDeque::new(),
            dirty_since: None,
            at: 0,
            written: 0,
            is_ended: false,
            recorded: 0,
            stamped: 0,
            limit: limit as usize,
            salt: Salt::of(of.store, of.number),
        };
        open.append(0, &[], [&End::Head(head).encode(of)[..]].into_iter(), pool);
        open
    }

    /// Byte offset of a new record of `bytes` bytes; None if it does not fit. The record touches as few
    /// blocks as possible.
    pub(super) fn room_for(&self, bytes: usize) -> Option<usize> {
        let within = self.at % BLOCK_LEN;
        let fits = within + bytes <= bytes.div_ceil(BLOCK_LEN) * BLOCK_LEN;
        let at = if fits { self.at } else { self.at.next_multiple_of(BLOCK_LEN) };
        let summary = to_usize(summary_blocks(self.entries.len() + 1));
        // The end marker must fit wherever it begins.
        let end = (at + bytes).next_multiple_of(BLOCK_LEN);
        let end = if end - (at + bytes) < END_BYTES { end + BLOCK_LEN } else { end };
        (end <= (self.limit - summary) * BLOCK_LEN).then_some(at)
    }

    /// Stamp of a record that is appended at byte `at` of the segment.
    pub(super) fn stamp(&self, at: usize) -> Stamp {
        let durable = to_u16(self.durable.min(usize::from(u16::MAX)));
        let within = (self.limit * BLOCK_LEN - at) as u64;
        Stamp::new(self.sequence, self.salt, within, durable)
    }

    /// True if all of its records are durable and no header on disk records that yet.
    pub(super) fn wants_mark(&self) -> bool {
        self.durable >= self.recorded && self.stamped < self.recorded
    }

    /// Number of records that are not durable.
    pub(super) fn undurable_records(&self) -> usize {
        let durable = (self.durable * BLOCK_LEN) as u64;
        let is_undurable = |entry: &&Entry| u64::from(entry.unit) * UNIT + u64::from(entry.bytes) > durable;
        self.entries.iter().filter(is_undurable).count()
    }

    /// Number of durable blocks according to the last header.
    pub(super) fn stamped(&self) -> u32 {
        to_u32(self.stamped)
    }

    /// Appends a header without a record that states what is durable; false if there is no room.
    pub(super) fn append_durable_mark(&mut self, pool: &mut Pool) -> bool {
        let has_room = self.room_for(END_BYTES).is_some();
        if has_room {
            self.append_padding(pool);
            self.skip_to(self.at.next_multiple_of(BLOCK_LEN));
        }
        has_room
    }

    /// Appends the end marker, unless it is there already.
    pub(super) fn append_end(&mut self, pool: &mut Pool) {
        if self.is_ended {
            return;
        }
        if BLOCK_LEN - self.at % BLOCK_LEN < END_BYTES {
            self.close_block(pool);
        }
        self.append_mark(State::END, pool);
        self.is_ended = true;
    }

    /// Appends a padding marker: the next record begins in the next block. Appends an end marker instead if
    /// the summary may begin there.
    fn append_padding(&mut self, pool: &mut Pool) {
        let summary = to_usize(summary_blocks(self.entries.len()));
        self.is_ended = self.at / BLOCK_LEN + 1 >= self.limit - summary;
        self.append_mark(if self.is_ended { State::END } else { State::PADDING }, pool);
    }

    /// Appends a header without a record; `state` gives its meaning.
    fn append_mark(&mut self, state: State, pool: &mut Pool) {
        let header = Header { key: 1, state, ..Header::default() };
        let (stamp, key) = (self.stamp(self.at), [&[0][..]]);
        self.stamped = self.durable;
        let sums = (header_checksum(&header, &stamp, key.into_iter()), checksum_of([].into_iter()));
        self.append_at(self.at, &header.words_on_flash(&stamp, sums), key.into_iter(), pool);
    }

    /// Appends the header words and then the pieces at byte offset `at`, which must come from
    /// [`Open::room_for`].
    pub(super) fn append<'a>(
        &mut self,
        at: usize,
        header: &[u64],
        pieces: impl Iterator<Item = &'a [u8]>,
        pool: &mut Pool,
    ) {
        if at > self.at {
            self.close_block(pool);
        }
        self.append_at(at, header, pieces, pool);
        (self.recorded, self.stamped) = (self.at.div_ceil(BLOCK_LEN), self.durable);
    }

    fn append_at<'a>(
        &mut self,
        at: usize,
        header: &[u64],
        pieces: impl Iterator<Item = &'a [u8]>,
        pool: &mut Pool,
    ) {
        self.skip_to(at);
        // The rest of the block: looked up once, not for each piece.
        let mut room: &mut [u8] = &mut [];
        for &word in header {
            if room.is_empty() {
                room = room_at(&mut self.blocks, self.at, pool);
            }
            // Records begin at a multiple of a word's length, so no word crosses a block boundary.
            let (now, later) = std::mem::take(&mut room).split_at_mut(size_of::<u64>());
            now.copy_from_slice(&word.to_le_bytes());
            room = later;
            self.at += size_of::<u64>();
        }
        for mut piece in pieces {
            while !piece.is_empty() {
                if room.is_empty() {
                    room = room_at(&mut self.blocks, self.at, pool);
                }
                let count = piece.len().min(room.len());
                let (now, later) = std::mem::take(&mut room).split_at_mut(count);
                now.copy_from_slice(&piece[..count]);
                (room, piece) = (later, &piece[count..]);
                self.at += count;
            }
        }
        let padding = self.at.next_multiple_of(to_usize(UNIT)) - self.at;
        room[..padding].fill(0);
        self.at += padding;
    }

    /// Zero-fills up to byte `at`.
    fn skip_to(&mut self, at: usize) {
        debug_assert!(at >= self.at && at.is_multiple_of(to_usize(UNIT)));
        let (block, within) = (self.at / BLOCK_LEN, self.at % BLOCK_LEN);
        if within > 0 && at > self.at {
            let end = (at - block * BLOCK_LEN).min(BLOCK_LEN);
            self.blocks[block].as_mut_slice()[within..end].fill(0);
        }
        self.at = at;
    }

    /// Complete blocks that are not submitted to the disk yet.
    pub(super) fn complete(&self) -> Range<usize> {
        self.written..(self.at / BLOCK_LEN).max(self.written)
    }

    /// Pads the last block, which makes it complete.
    pub(super) fn close_block(&mut self, pool: &mut Pool) {
        if !self.at.is_multiple_of(BLOCK_LEN)
            && BLOCK_LEN - self.at % BLOCK_LEN >= END_BYTES
            && !self.is_ended
        {
            self.append_padding(pool);
        }
        self.skip_to(self.at.next_multiple_of(BLOCK_LEN));
    }

    /// Write `number` covers the blocks before `until`.
    pub(super) fn note_write(&mut self, number: WriteNumber, until: usize) {
        self.undurable.push_back((number, until));
    }

    /// Writes up to `number` are durable.
    pub(super) fn note_durable(&mut self, number: WriteNumber) {
        while let Some(&(_, until)) = self.undurable.front().filter(|(last, _)| *last <= number) {
            self.durable = until;
            self.undurable.pop_front();
        }
    }

    /// Blocks before `until` are submitted to the disk.
    pub(super) fn note_written(&mut self, until: usize) {
        self.written = until;
        if self.at == until * BLOCK_LEN {
            self.dirty_since = None;
        }
    }
}

/// The rest of the block at byte `at`; appends a block if `at` is just behind the last one.
fn room_at<'a>(blocks: &'a mut Vec<Bytes>, at: usize, pool: &mut Pool) -> &'a mut [u8] {
    if blocks.len() == at / BLOCK_LEN {
        blocks.push(pool.block());
    }
    &mut blocks[at / BLOCK_LEN].as_mut_slice()[at % BLOCK_LEN..]
}

/// Bytes of an end marker, and of the shortest record.
pub(crate) const END_BYTES: usize = (Header::BYTES + 1).next_multiple_of(to_usize(UNIT));

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    /// Record sizes in bytes, with keys and values as in ETC, Facebook's general-purpose cache (Atikoglu et
    /// al. 2012, table 5): key sizes follow a generalised extreme value distribution, value sizes a
    /// generalised Pareto distribution with a table for the shortest.
    fn any_record(random: &mut Stream) -> usize {
        let mut share = || (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let key = 30.7984 + 8.20449 * ((-(1.0 - share()).ln()).powf(-0.078688) - 1.0) / 0.078688;
        let value = 15.0 + 214.476 * ((1.0 - share()).powf(-0.348238) - 1.0) / 0.348238;
        let (mut left, draw) = (0.0, share());
        let short = SHORTEST.iter().position(|share| {
            left += share;
            draw < left
        });
        let value = short.unwrap_or(value as usize).min(1 << 20);
        Header::room((key as usize).clamp(1, 250), value as u64) as usize
    }

    /// Fractions of values of 0 to 13 bytes.
    const SHORTEST: [f64; 14] = [
        0.00583, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837, 0.08989,
        0.00092, 0.00326, 0.01980,
    ];

    #[test]
    fn the_ends_of_blocks_cost_small_records_less_than_a_tenth() {
        let (mut random, mut pool) = (Stream::new(1, "records"), Pool::default());
        let head = Head { sequence: 1, durable: 0, is_cut: false };
        let (mut lost, mut used) = (0, 0);
        for _ in 0..50 {
            let mut open = Open::new(head, EndOf { store: 1, number: SegmentId::new(1) }, 1024, &mut pool);
            loop {
                let bytes = any_record(&mut random);
                let Some(at) = open.room_for(bytes) else { break };
                lost += at - open.at;
                used += bytes;
                open.at = at + bytes;
            }
        }
        let thousandths = lost * 1000 / (lost + used);
        assert_eq!(thousandths, 85);
    }
}
