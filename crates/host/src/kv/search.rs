//! Search for the records of a segment that has no valid summary.

use super::fetch::{header_in, key_end, key_in, record_in, whole_record_in};
use super::hash::KeyHash;
use super::item::pieces_of;
use super::log::END_BYTES;
use super::log::format::{End, Entry};
use super::place::UNIT;
use super::record::{FlashHeader, Header, Salt, State};
use super::versions::Versions;
use crate::block::Bytes;
use crate::disk::BLOCK_LEN;
use crate::mutation::{Invariant, holds};
use tailcut_base::cast::{to_u32, to_usize};

/// Parameters of a search: identifies one use of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// Seed of the key hashes.
    pub seed: u64,
    /// Salt of the segment.
    pub salt: Salt,
    /// Sequence of the use.
    pub sequence: u64,
    /// Number of blocks, counted from the first, that were durable: what is missing there is damage.
    /// [`Search::ALL`] if all of it was.
    pub durable_blocks: u32,
}

/// Result of a search.
#[derive(Debug)]
pub(super) struct Searched {
    /// All records with intact headers and keys, in their order.
    pub entries: Vec<Entry>,
    /// The latest segment in which a tombstone of this one invalidates a record; 0 without tombstones.
    pub buried: u64,
    /// A record states that blocks of this segment were durable; so was everything written to older segments.
    pub has_durable: bool,
    /// Byte offset of the first durable data that is no record any more: its key is unknown.
    pub hole: Option<usize>,
    /// The value of some record is damaged, whether it was durable or not.
    pub is_torn: bool,
}

impl Search {
    /// See [`Search::durable_blocks`].
    pub(super) const ALL: u32 = u32::MAX;

    /// Finds all records in these blocks, of which `unreadable` could not be read. A record begins right
    /// behind its predecessor, or in the block behind a padding marker. A durable record counts even if its
    /// value is damaged; any other, which a power loss may have cut off, only if it is complete.
    pub(super) fn search(&self, blocks: &[Bytes], unreadable: &[usize]) -> Searched {
        let end = blocks.len() * BLOCK_LEN;
        let (mut entries, mut torn) = (Vec::new(), Vec::new());
        let (mut buried, mut durable) = (0, end.min(self.durable_blocks as usize * BLOCK_LEN));
        let mut holes: Vec<usize> = Vec::new();
        let (mut at, mut last, mut is_in_hole, mut is_ended) = (End::BYTES, End::BYTES, false, false);
        while at + END_BYTES <= end {
            let Some(found) = record_in(blocks, at, (self.sequence, self.salt), (end - at) as u64) else {
                if !is_in_hole && BLOCK_LEN - at % BLOCK_LEN < END_BYTES {
                    at = at.next_multiple_of(BLOCK_LEN);
                    continue;
                }
                if !is_in_hole {
                    holes.push(at);
                }
                is_in_hole = true;
                at += to_usize(UNIT);
                continue;
            };
            is_in_hole = false;
            last = at + to_usize(found.header.record_bytes());
            durable = durable.max(usize::from(found.durable) * BLOCK_LEN);
            if found.header.state.has(State::PADDING) {
                at = (at + END_BYTES).next_multiple_of(BLOCK_LEN);
                continue;
            }
            if found.header.state.has(State::END) {
                is_ended = true;
                break;
            }
            let entry = self.entry(blocks, at, &found);
            if entry.is_tombstone {
                buried = buried.max(found.header.cas);
            }
            if !is_whole(blocks, at, &found) {
                torn.push(entries.len());
            }
            entries.push(entry);
            at += entry.bytes as usize;
        }
        if self.durable_blocks == Search::ALL && !is_ended && !is_in_hole {
            holes.push(at);
        }
        let (has_durable, is_torn) = (durable > 0, !torn.is_empty());
        // An unreadable block was written: a power loss leaves a block in its old or its new state. That does
        // not hold behind the last record.
        let reached =
            unreadable.iter().copied().filter(|block| block * BLOCK_LEN <= last.next_multiple_of(BLOCK_LEN));
        let unreadable: Vec<usize> = reached.collect();
        for &number in torn.iter().rev() {
            let at = entries[number].unit as usize * to_usize(UNIT);
            let until = at + entries[number].bytes as usize;
            let is_unreadable =
                || unreadable.iter().any(|&block| at < (block + 1) * BLOCK_LEN && block * BLOCK_LEN < until);
            let is_kept = (until <= durable || is_unreadable()) && holds(Invariant::DamagedRecordsCount);
            if !is_kept {
                entries.remove(number);
            }
        }
        let unread = unreadable.iter().max().map_or(0, |block| (block + 1) * BLOCK_LEN);
        let is_damage = |&hole: &usize| {
            hole < unread || hole < durable && self.key_end(blocks, hole).is_none_or(|end| end <= durable)
        };
        let hole = holes.into_iter().rfind(is_damage).filter(|_| holds(Invariant::HolesCastDoubt));
        Searched { entries, buried, has_durable, hole, is_torn }
    }

    /// Replaces blocks by those of other copies wherever that makes a record intact. Returns the right blocks
    /// that differ in some copy.
    pub(super) fn combine(&self, blocks: &mut [Bytes], versions: &Versions) -> Vec<usize> {
        let (end, of) = (blocks.len() * BLOCK_LEN, (self.sequence, self.salt));
        let (mut is_right, mut is_wrong) = (vec![false; blocks.len()], vec![false; blocks.len()]);
        let mut at = if versions.is_empty() { end } else { End::BYTES };
        while at + END_BYTES <= end {
            let (first, within) = (at / BLOCK_LEN, (end - at) as u64);
            let header = |blocks: &[Bytes]| record_in(blocks, at, of, within);
            let Some(found) = versions.combine(blocks, first..key_end(at), header) else {
                is_wrong[first] |= BLOCK_LEN - at % BLOCK_LEN >= END_BYTES;
                at += to_usize(UNIT);
                continue;
            };
            let bytes = to_usize(found.header.record_bytes());
            let all = first..(at + bytes).div_ceil(BLOCK_LEN);
            let whole = |blocks: &[Bytes]| whole_record_in(blocks, at, of, within);
            let is_whole = versions.combine(blocks, all.clone(), whole).is_some();
            let marked = if is_whole { &mut is_right } else { &mut is_wrong };
            marked[all].fill(true);
            at = match found.header.state {
                state if state.has(State::PADDING) => (at + END_BYTES).next_multiple_of(BLOCK_LEN),
                state if state.has(State::END) => break,
                _ => at + bytes,
            };
        }
        let differ = |&at: &usize| is_right[at] && !is_wrong[at] && versions.differ(at, &blocks[at]);
        (0..blocks.len()).filter(differ).collect()
    }

    /// Byte offset of the end of the key of the record at `at`. If it is beyond the durable data, a power
    /// loss may have cut the key off.
    fn key_end(&self, blocks: &[Bytes], at: usize) -> Option<usize> {
        header_in(blocks, at, self.sequence).map(|found| at + found.header.value_at())
    }

    fn entry(&self, blocks: &[Bytes], at: usize, found: &FlashHeader) -> Entry {
        let FlashHeader { header, .. } = found;
        let mut room = [0; 256];
        let key = key_in(blocks, at, header, &mut room);
        let is_tombstone = header.state.has(State::TOMBSTONE);
        let hash = match is_tombstone || header.state.has(State::LOST) {
            true => KeyHash(u128::from_le_bytes(key.try_into().unwrap_or_default())),
            false => KeyHash::of(self.seed, key),
        };
        let (unit, bytes) = (to_u32(at as u64 / UNIT), to_u32(header.record_bytes()));
        Entry { hash, unit, bytes, expires: header.expires, is_tombstone }
    }
}

/// The latest sequence of a record in a segment with two damaged ends, of the last `runs` runs of the store.
/// None if it has no record.
pub(super) fn latest_sequence(blocks: &[Bytes], salt: Salt, runs: u32) -> Option<u64> {
    let end = blocks.len() * BLOCK_LEN;
    let is_record = |at: usize, sequence: u64| {
        record_in(blocks, at, (sequence, salt), (end - at) as u64)
            .is_some_and(|found| found.header.home == sequence)
    };
    let mut latest = 0;
    for at in (End::BYTES..end.saturating_sub(Header::BYTES)).step_by(to_usize(UNIT)) {
        let within = at % BLOCK_LEN;
        let Some(bytes) = blocks[at / BLOCK_LEN].as_slice()[within..].first_chunk() else { continue };
        let low = FlashHeader::low_sequence(bytes);
        if low == 0 || low >> 31 > 0 || Header::decode(bytes).record_bytes() > (end - at) as u64 {
            continue;
        }
        let sequences = (1..=runs).rev().take(MOST_RUNS).map(|run| u64::from(run) << 32 | low);
        let later = sequences.take_while(|&sequence| sequence > latest);
        latest = later.into_iter().find(|&sequence| is_record(at, sequence)).unwrap_or(latest);
    }
    Some(latest).filter(|&latest| latest > 0)
}

/// True if the value of the record at byte `at` of the blocks matches its checksum.
pub(super) fn is_whole(blocks: &[Bytes], at: usize, found: &FlashHeader) -> bool {
    found.is_value(pieces_of(blocks, found.header.value_range(at)))
}

/// Largest number of runs to try, latest first.
const MOST_RUNS: usize = 4096;
