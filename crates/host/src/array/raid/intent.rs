//! The write-intent bitmap: regions whose parity may be inconsistent after a power loss.
//!
//! As in Linux md, the bit of a region is durable before any block of it is written, and is cleared lazily,
//! once no block of the region is being written and the drives have been flushed since.
//!
//! Format 1, little-endian, one block: magic (8 bytes), CRC-32C of the rest (u32), 4 zeros, identity of
//! the array (u128), generation (u64), then a bit for each region. Two blocks are written in turn.

use super::batch::BatchId;
use super::geometry::Geometry;
use super::{Raid, Token};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;
use crate::placement::WriteKind;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::{Class, Op, Spans, Time};

/// Blocks of each drive for the bitmap.
pub(crate) const INTENT_BLOCKS: u64 = 2;

const MAGIC: [u8; 8] = *b"tailcutI";
const HEAD: usize = 40;
/// Upper bound of the bitmap's generation, which no array can reach.
const GENERATION_MAX: u64 = 1 << 62;

const WORDS: usize = (BLOCK_LEN - HEAD) / 8;

/// Number of regions that a flush examines.
const LOOKS: usize = 16;

/// The bitmap of an array.
#[derive(Debug)]
pub(super) struct WriteIntentBitmap {
    first: u64,
    region_units: u64,
    array: u128,
    generation: u64,
    /// Bitmap as wanted on the drives, as durable, and as being written.
    wanted: Vec<u64>,
    durable: Vec<u64>,
    written: Vec<u64>,
    busy: bool,
    pending: u32,
    /// Batches in progress in each region, and the epoch in which the last one ended.
    active: Vec<u32>,
    ended: Vec<u64>,
    /// Marked regions.
    marked: VecDeque<u32>,
    epoch: u64,
    waiting: VecDeque<BatchId>,
}

impl WriteIntentBitmap {
    /// A bitmap of all units, in the blocks from `first` of every drive.
    pub(super) fn new(first: u64, shape: &Geometry, array: u128) -> WriteIntentBitmap {
        let units = shape.units();
        let region_units = units.div_ceil(WORDS as u64 * 64).max(1);
        let regions = to_usize(units.div_ceil(region_units));
        WriteIntentBitmap {
            first,
            region_units,
            array,
            generation: 0,
            wanted: vec![0; WORDS],
            durable: vec![0; WORDS],
            written: vec![0; WORDS],
            busy: false,
            pending: 0,
            active: vec![0; regions],
            ended: vec![0; regions],
            marked: VecDeque::new(),
            epoch: 0,
            waiting: VecDeque::new(),
        }
    }

    fn region(&self, unit: u64) -> usize {
        to_usize(unit / self.region_units)
    }

    /// A batch starts in a unit.
    fn enter(&mut self, unit: u64) {
        let region = self.region(unit);
        self.active[region] += 1;
        if !bit(&self.wanted, region) {
            self.wanted[region / 64] |= 1 << (region % 64);
            self.marked.push_back(to_u32(region));
        }
    }

    /// A batch has ended in a unit.
    fn leave(&mut self, unit: u64) {
        let region = self.region(unit);
        self.active[region] -= 1;
        self.ended[region] = self.epoch;
    }

    /// True if the mark of a unit is durable and stays so.
    fn covers(&self, unit: u64) -> bool {
        let region = self.region(unit);
        bit(&self.durable, region) && (!self.busy || bit(&self.written, region))
    }

    /// A flush starts. Returns its epoch.
    pub(super) fn begin_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// A flush that started in `epoch` has completed: clears the marks of some regions idle since before.
    /// They are cleared on the drives when the bitmap is written next.
    pub(super) fn flushed(&mut self, epoch: u64) {
        for _ in 0..self.marked.len().min(LOOKS) {
            let region = self.marked.pop_front().expect("it is not empty") as usize;
            if self.active[region] == 0 && self.ended[region] < epoch {
                self.wanted[region / 64] &= !(1 << (region % 64));
            } else {
                self.marked.push_back(to_u32(region));
            }
        }
    }

    fn encode(&mut self) -> Vec<u8> {
        self.generation += 1;
        let mut bytes = Vec::with_capacity(BLOCK_LEN);
        bytes.extend(MAGIC);
        bytes.extend([0; 8]);
        bytes.extend(self.array.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.wanted.iter().flat_map(|word| word.to_le_bytes()));
        let sum = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Loads the bitmap from a block if it is later than the loaded one.
    pub(super) fn restore(&mut self, bytes: &[u8]) {
        let is_whole = bytes.len() == BLOCK_LEN
            && bytes[..8] == MAGIC
            && crc32c(&bytes[12..HEAD + WORDS * 8]).to_le_bytes() == bytes[8..12]
            && self.array.to_le_bytes() == bytes[16..32];
        if !is_whole {
            return;
        }
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if word(32) > self.generation && word(32) < GENERATION_MAX {
            self.generation = word(32);
            self.durable = (0..WORDS).map(|index| word(HEAD + index * 8)).collect();
        }
    }

    /// The subset of `units` in the first marked region that intersects them.
    pub(super) fn marked_in(&self, units: Range<u64>) -> Option<Range<u64>> {
        let first = self.region(units.start);
        let region = (first..self.active.len()).find(|&region| bit(&self.durable, region))? as u64;
        let end = ((region + 1) * self.region_units).min(units.end);
        Some(units.start.max(region * self.region_units)..end)
    }

    /// True if no write of the bitmap is in flight and no batch waits.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.waiting.is_empty()
    }
}

fn bit(words: &[u64], region: usize) -> bool {
    words[region / 64] & 1 << (region % 64) != 0
}

impl<B: Block> Raid<B> {
    /// Marks the region of a batch before it is written.
    pub(super) fn mark(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let intent = self.intent.as_mut().expect("there is a bitmap");
        let unit = self.batches[id].unit;
        intent.enter(unit);
        self.batches[id].transaction = 1;
        if intent.covers(unit) {
            return self.write_batch(now, core, id);
        }
        intent.waiting.push_back(id);
        if !intent.busy {
            self.write_intent(now, core);
        }
    }

    /// A batch has been written.
    pub(super) fn unmark(&mut self, unit: u64) {
        self.intent.as_mut().expect("there is a bitmap").leave(unit);
    }

    /// Writes the bitmap to all drives.
    pub(super) fn write_intent(&mut self, now: Time, core: &mut Core<B>) {
        let intent = self.intent.as_mut().expect("there is a bitmap");
        let content = B::encode(&intent.encode());
        intent.written.copy_from_slice(&intent.wanted);
        (intent.busy, intent.pending) = (true, 1);
        let block = intent.first + intent.generation % INTENT_BLOCKS;
        for drive in core.drives.ids() {
            if !core.drives.is_in_sync(drive) {
                continue;
            }
            let mut data = core.drives.memory();
            data.push(content.clone());
            intent.pending += 1;
            let (op, class) = (Op::Write, Class::DEFAULT);
            let ask = Ask {
                op,
                fua: true,
                fail_fast: false,
                class,
                kind: WriteKind::Metadata,
                block,
                blocks: 1,
                data,
            };
            core.drives.ask(now, drive, Priority::Write, Owner::Layout(Token::Intent.pack()), ask);
        }
        self.intent_part_written(now, core, &Spans::new());
    }

    /// A write of the bitmap to a drive has completed; a drive that failed it is no longer in sync.
    pub(super) fn intent_written(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        self.intent_part_written(now, core, &answer.spans);
    }

    fn intent_part_written(&mut self, now: Time, core: &mut Core<B>, spans: &Spans) {
        let intent = self.intent.as_mut().expect("there is a bitmap");
        intent.pending -= 1;
        if intent.pending > 0 {
            return;
        }
        intent.busy = false;
        std::mem::swap(&mut intent.durable, &mut intent.written);
        for _ in 0..intent.waiting.len() {
            let intent = self.intent.as_mut().expect("there is a bitmap");
            let id = intent.waiting.pop_front().expect("it is not empty");
            let batch = &mut self.batches[id];
            if intent.covers(batch.unit) {
                batch.account(now, spans);
                self.write_batch(now, core, id);
            } else {
                intent.waiting.push_back(id);
            }
        }
        if !self.intent.as_ref().expect("there is a bitmap").waiting.is_empty() {
            return self.write_intent(now, core);
        }
        self.recovery_goes_on(now, core);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::raid::geometry::Parity;

    fn bitmap(array: u128) -> WriteIntentBitmap {
        WriteIntentBitmap::new(4, &Geometry::new(6..406, 1, 4, Parity::Rotating, 4), array)
    }

    /// The units that a bitmap marks as durable.
    fn marked(bitmap: &WriteIntentBitmap) -> Vec<u64> {
        (0..400).filter(|&unit| bit(&bitmap.durable, bitmap.region(unit))).collect()
    }

    #[test]
    fn only_a_whole_bitmap_of_the_same_array_is_loaded() {
        let mut before = bitmap(7);
        before.enter(3);
        let whole = before.encode();
        let load = |bytes: &[u8]| {
            let mut after = bitmap(7);
            after.restore(bytes);
            marked(&after)
        };
        assert_eq!(load(&whole), [3]);
        // A byte of the magic, of the checksum, of the array's identity, and of the bits.
        for at in [0, 8, 16, HEAD] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert_eq!(load(&damaged), [0; 0], "byte {at}");
        }
        assert_eq!(load(&whole[..BLOCK_LEN - 1]), [0; 0]);
        let mut other = bitmap(8);
        other.enter(5);
        assert_eq!(load(&other.encode()), [0; 0]);
    }

    #[test]
    fn the_latest_generation_is_loaded() {
        let mut before = bitmap(7);
        before.enter(3);
        let first = before.encode();
        before.enter(9);
        let second = before.encode();
        for order in [[&first, &second], [&second, &first]] {
            let mut after = bitmap(7);
            order.into_iter().for_each(|bytes| after.restore(bytes));
            assert_eq!((marked(&after), after.generation), (vec![3, 9], 2));
        }
    }
}
