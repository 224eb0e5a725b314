//! The segment that is written at the moment.

use super::SegmentId;
use super::format::{End, EndOf, Entry, Head, summary_blocks};
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use crate::kv::place::UNIT;
use crate::kv::record::{Header, Salt, Stamp, State, checksum_of, header_checksum};
use crate::pool::Pool;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;

/// A segment that takes records, block by block in memory.
#[derive(Debug)]
pub struct Open {
    /// Which it is.
    pub number: SegmentId,
    /// Which use of it this is.
    pub sequence: u64,
    /// Its content so far.
    pub blocks: Vec<Bytes>,
    /// What its summary will say.
    pub entries: Vec<Entry>,
    /// See [`super::format::Foot::buried`].
    pub buried: u64,
    /// The write of its last block that says that it is open.
    pub opened: u64,
    /// Blocks of it that are durable, from the first on.
    pub durable: usize,
    /// Writes that are not: their numbers, and the blocks that there are with each.
    undurable: VecDeque<(u64, usize)>,
    /// Since when it has something that is not on its way to the disk.
    pub dirty_since: Option<Time>,
    /// Where the next record begins at the earliest.
    at: usize,
    /// Blocks that are on their way to the disk, from the first on.
    written: usize,
    /// It says that no record follows.
    is_ended: bool,
    /// Blocks with records, from the first on.
    recorded: usize,
    /// Blocks that the last header says were durable; see [`Stamp::durable`].
    stamped: usize,
    /// All of its blocks.
    limit: usize,
    /// What stands for store and segment in checksums of records.
    salt: Salt,
}

impl Open {
    /// An empty one of so many blocks.
    pub fn new(head: Head, of: EndOf, limit: u32, pool: &mut Pool) -> Open {
        let mut open = Open {
            number: of.number,
            sequence: head.sequence,
            blocks: pool.list(),
            entries: Vec::new(),
            buried: 0,
            opened: 0,
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

    /// Where a record of so many bytes would begin, if there is room for it. It touches no more blocks than
    /// it must.
    pub fn room_for(&self, bytes: usize) -> Option<usize> {
        let within = self.at % BLOCK;
        let fits = within + bytes <= bytes.div_ceil(BLOCK) * BLOCK;
        let at = if fits { self.at } else { self.at.next_multiple_of(BLOCK) };
        let summary = summary_blocks(self.entries.len() + 1) as usize;
        // What says that no record follows has room, wherever it has to begin.
        let end = (at + bytes).next_multiple_of(BLOCK);
        let end = if end - (at + bytes) < END_BYTES { end + BLOCK } else { end };
        (end <= (self.limit - summary) * BLOCK).then_some(at)
    }

    /// Stamp of a record that is appended at byte `at` of the segment.
    pub fn stamp(&self, at: usize) -> Stamp {
        let durable = self.durable.min(usize::from(u16::MAX)) as u16;
        let within = (self.limit * BLOCK - at) as u64;
        Stamp::new(self.sequence, self.salt, within, durable)
    }

    /// True if all of its records are durable, and no header says so yet.
    pub fn wants_mark(&self) -> bool {
        self.durable >= self.recorded && self.stamped < self.recorded
    }

    /// Appends a header without a record, which says what is durable; false if there is no room.
    pub fn append_durable_mark(&mut self, pool: &mut Pool) -> bool {
        let has_room = self.room_for(END_BYTES).is_some();
        if has_room {
            self.append_padding(pool);
            self.skip_to(self.at.next_multiple_of(BLOCK));
        }
        has_room
    }

    /// Says that no record follows, unless that was said.
    pub fn append_end(&mut self, pool: &mut Pool) {
        if self.is_ended {
            return;
        }
        if BLOCK - self.at % BLOCK < END_BYTES {
            self.close_block(pool);
        }
        self.append_mark(State::END, pool);
        self.is_ended = true;
    }

    /// Says that the next record begins in the next block, or that none follows if that is where the summary
    /// may begin.
    fn append_padding(&mut self, pool: &mut Pool) {
        let summary = summary_blocks(self.entries.len()) as usize;
        self.is_ended = self.at / BLOCK + 1 >= self.limit - summary;
        self.append_mark(if self.is_ended { State::END } else { State::PADDING }, pool);
    }

    /// Appends what is no record, and says so.
    fn append_mark(&mut self, state: State, pool: &mut Pool) {
        let header = Header { key: 1, state, ..Header::default() };
        let (stamp, key) = (self.stamp(self.at), [&[0][..]]);
        self.stamped = self.durable;
        let sums = (header_checksum(&header, &stamp, key.into_iter()), checksum_of([].into_iter()));
        self.append_at(self.at, &header.words_on_flash(&stamp, sums), key.into_iter(), pool);
    }

    /// Appends a header of these numbers, and pieces behind it, from byte `at` on, which is that of
    /// [`Open::room_for`].
    pub fn append<'a>(
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
        (self.recorded, self.stamped) = (self.at.div_ceil(BLOCK), self.durable);
    }

    fn append_at<'a>(
        &mut self,
        at: usize,
        header: &[u64],
        pieces: impl Iterator<Item = &'a [u8]>,
        pool: &mut Pool,
    ) {
        self.skip_to(at);
        // What is left of the block: it is looked for once, not for each piece.
        let mut room: &mut [u8] = &mut [];
        for &word in header {
            if room.is_empty() {
                room = room_at(&mut self.blocks, self.at, pool);
            }
            // Records begin at a multiple of their length, so none of them lies across two blocks.
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
        let padding = self.at.next_multiple_of(UNIT as usize) - self.at;
        room[..padding].fill(0);
        self.at += padding;
    }

    /// Leaves what is before this byte of the block empty.
    fn skip_to(&mut self, at: usize) {
        debug_assert!(at >= self.at && at.is_multiple_of(UNIT as usize));
        let (block, within) = (self.at / BLOCK, self.at % BLOCK);
        if within > 0 && at > self.at {
            let end = (at - block * BLOCK).min(BLOCK);
            self.blocks[block].as_mut_slice()[within..end].fill(0);
        }
        self.at = at;
    }

    /// Blocks that are complete and not on their way to the disk.
    pub fn complete(&self) -> Range<usize> {
        self.written..(self.at / BLOCK).max(self.written)
    }

    /// Leaves the rest of the last block empty, so that it is complete, too.
    pub fn close_block(&mut self, pool: &mut Pool) {
        if !self.at.is_multiple_of(BLOCK) && BLOCK - self.at % BLOCK >= END_BYTES && !self.is_ended {
            self.append_padding(pool);
        }
        self.skip_to(self.at.next_multiple_of(BLOCK));
    }

    /// Write `number` takes the blocks up to this one to the disk.
    pub fn note_write(&mut self, number: u64, until: usize) {
        self.undurable.push_back((number, until));
    }

    /// The first so many writes are durable.
    pub fn note_durable(&mut self, number: u64) {
        while let Some(&(_, until)) = self.undurable.front().filter(|(last, _)| *last <= number) {
            self.durable = until;
            self.undurable.pop_front();
        }
    }

    /// These are on their way now.
    pub fn note_written(&mut self, until: usize) {
        self.written = until;
        if self.at == until * BLOCK {
            self.dirty_since = None;
        }
    }
}

/// What is behind a byte of a block, which may be the next one.
fn room_at<'a>(blocks: &'a mut Vec<Bytes>, at: usize, pool: &mut Pool) -> &'a mut [u8] {
    if blocks.len() == at / BLOCK {
        blocks.push(pool.block());
    }
    &mut blocks[at / BLOCK].as_mut_slice()[at % BLOCK..]
}

const BLOCK: usize = BLOCK_BYTES as usize;
/// Bytes of what says that no record follows, and of the shortest record.
pub const END_BYTES: usize = (Header::BYTES + 1).next_multiple_of(UNIT as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    /// Bytes of records with keys and values as in ETC, Facebook's general cache (Atikoglu and others 2012,
    /// table 5): keys by a generalised extreme value distribution, values by a generalised Pareto
    /// distribution behind a table of the shortest ones.
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

    /// Shares of values of 0 to 13 bytes.
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
