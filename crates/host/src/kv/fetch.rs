//! Reads of items from flash.

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::flash::Job;
use super::hash::KeyHash;
use super::index::Entry;
use super::item::{Item, Value, are_bytes, pieces_of};
use super::jobs::Haste;
use super::log::SegmentId;
use super::log::format::UNITS;
use super::place::{FrontUnit, MOST_PAGES, Place, UNIT};
use super::record::{FlashHeader, Header, Salt, State};
use super::search::is_whole;
use super::settings::Keep;
use super::versions::Versions;
use super::writing::fill;
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, BLOCK_LEN, Mirror};
use crate::mutation::{Invariant, holds};
use tailcut_base::cast::{to_u32, to_usize};

/// A read in flight.
#[derive(Debug)]
pub(super) struct Fetching {
    ticket: u32,
    key: Vec<u8>,
    place: Place,
    counts: bool,
    segment: SegmentId,
    /// The copy being read; None for any.
    copy: Option<u8>,
    /// Completed reads of named copies.
    tries: u8,
    blocks: Vec<Bytes>,
    versions: Versions,
}

/// A request for an item on flash.
#[derive(Debug)]
pub(super) struct FetchRequest {
    ticket: u32,
    key: Vec<u8>,
    counts: bool,
}

/// The result of a fetch.
#[derive(Debug)]
pub struct Fetched {
    /// The number that was passed to [`Engine::fetch`], to match the result to its request.
    pub ticket: u32,
    /// The item's current value is unknown: the read failed, the record is damaged, or a newer version may be
    /// lost.
    pub is_lost: bool,
    key: Vec<u8>,
    place: Place,
    header: Header,
    /// Empty if there is no item.
    blocks: Vec<Bytes>,
}

impl Fetched {
    /// True if the item was found.
    pub fn is_there(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Length of the value in bytes; 0 if the item was not found.
    pub fn bytes(&self) -> usize {
        if self.is_there() { self.header.value as usize } else { 0 }
    }

    /// True if a record was read. Otherwise the item is in memory by now or does not exist: look it up again.
    pub fn was_read(&self) -> bool {
        matches!(self.place, Place::Log { .. })
    }

    /// The key that was fetched, whether or not its item was found.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The item's header; valid only if the item was found.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The item; valid only if it was found.
    pub fn item(&self) -> Item<'_> {
        let at = self.place.offset() + self.header.value_at();
        let value = Value::Blocks { blocks: &self.blocks, at, bytes: self.header.value as usize };
        Item { header: self.header, key: &self.key, value }
    }
}

impl FetchRequest {
    fn in_vain(self, is_lost: bool) -> Fetched {
        let (place, header, blocks) =
            (Place::Front { unit: FrontUnit::new(0) }, Header::default(), Vec::new());
        Fetched { ticket: self.ticket, is_lost, key: self.key, place, header, blocks }
    }
}

impl Place {
    /// Byte offset in its first block; 0 in memory.
    fn offset(self) -> usize {
        match self {
            Place::Log { unit, .. } => (unit * UNIT % BLOCK_BYTES) as usize,
            Place::Front { .. } => 0,
        }
    }
}

impl Engine {
    /// Starts reading an item for which [`Engine::find`] returned [`Lookup::OnFlash`](super::Lookup::OnFlash)
    /// or [`Lookup::Unknown`](super::Lookup::Unknown). [`Engine::next_fetched`] returns the result with the
    /// same `ticket`: the item as of this call, even if it changes in between; for an unknown key, the item
    /// as of its recovery. `counts` is true for a client's read. Returns the largest memory that the fetch
    /// takes, in bytes.
    pub fn fetch(&mut self, key: &[u8], ticket: u32, counts: bool) -> u64 {
        let hash = self.hash(key);
        let mut kept = self.spare_keys.pop().unwrap_or_default();
        kept.extend_from_slice(key);
        let asking = FetchRequest { ticket, key: kept, counts };
        if self.is_unknown(hash) {
            self.ask_later(hash, asking);
            return self.settings.most_item;
        }
        let place = self.index.find(hash).map(|entry| entry.place);
        self.fetch_for(hash, asking);
        place.map_or(0, |place| self.fetch_memory(place))
    }

    /// Largest memory in bytes that a fetch from this place takes.
    fn fetch_memory(&self, place: Place) -> u64 {
        match place {
            Place::Log { pages, .. } if pages < MOST_PAGES => u64::from(pages) * BLOCK_BYTES,
            // The first block gives its length.
            Place::Log { .. } => self.settings.most_item,
            Place::Front { .. } => 0,
        }
    }

    /// Upper bound of the length in bytes of the value with this key: exact in memory, in whole blocks on
    /// flash, and that of the largest item where recovery has not found the key yet. 0 if there is none. It
    /// holds until the item changes, and is no access to the item.
    pub fn most_value(&self, key: &[u8]) -> u64 {
        let hash = self.hash(key);
        match self.index.find(hash).map(|entry| entry.place) {
            Some(Place::Front { unit }) => u64::from(self.front.header(unit).value),
            Some(place) => self.fetch_memory(place),
            None if self.is_unknown(hash) => self.settings.most_item,
            None => 0,
        }
    }

    /// Starts reading an item whose key is known.
    pub(super) fn fetch_for(&mut self, hash: KeyHash, asking: FetchRequest) {
        let place = self.index.find(hash).map(|entry| entry.place);
        let (Some(flash), Some(place @ Place::Log { unit, pages })) = (&mut self.flash, place) else {
            // By now it is in memory or gone: the requester looks it up again.
            return self.fetched.push_back(asking.in_vain(false));
        };
        let FetchRequest { ticket, key, counts } = asking;
        let segment = flash.log.segment_of(unit);
        let blocks = self.pool.list();
        let (copy, tries, versions) = (None, 0, Versions::default());
        let fetching = Fetching { ticket, key, place, counts, segment, copy, tries, blocks, versions };
        flash.log.begin_read(segment);
        self.read_on(fetching, usize::from(pages));
    }

    /// Fails a request: recovery cannot decide whether the item exists.
    pub(super) fn give_up_asking(&mut self, asking: FetchRequest) {
        self.fetched.push_back(asking.in_vain(true));
    }

    /// Reads blocks until there are `pages` of them.
    fn read_on(&mut self, mut fetching: Fetching, pages: usize) {
        let Place::Log { unit, .. } = fetching.place else { return };
        let Some(flash) = &mut self.flash else { return };
        if let Some(blocks) = flash.log.in_memory(unit, pages) {
            fetching.blocks.clear();
            fetching.blocks.extend_from_slice(blocks);
            return self.judge(fetching);
        }
        let have = fetching.blocks.len();
        let count = to_u32((pages - have).min(flash.jobs.most_blocks() as usize));
        let list = self.pool.list();
        let (block, mirror) = (unit / UNITS + have as u64, fetching.copy.map_or(Mirror::Any, Mirror::Only));
        flash.jobs.read_copy(Job::Fetch(fetching), Haste::Urgent, block, count, (list, mirror));
    }

    /// A read has completed.
    pub(super) fn note_fetched(&mut self, mut fetching: Fetching, is_good: bool, mut data: Vec<Bytes>) {
        if !is_good {
            self.figures.failed_reads += 1;
            self.pool.recycle(data);
            return match self.read_other_copy(fetching) {
                Ok(()) => {}
                Err(fetching) => self.end_fetch(fetching, None, true),
            };
        }
        if fetching.copy.is_some() {
            fetching.versions.extend(&data);
        }
        fetching.blocks.append(&mut data);
        self.pool.recycle(data);
        self.judge(fetching);
    }

    /// Checks the blocks read so far.
    fn judge(&mut self, mut fetching: Fetching) {
        let Some(flash) = &self.flash else { return };
        let sequence = flash.log.sequence(fetching.segment);
        let Place::Log { unit, .. } = fetching.place else { return };
        let within = flash.log.bytes_behind(unit);
        let (at, have) = (fetching.place.offset(), fetching.blocks.len());
        let of = (sequence, flash.log.salt(fetching.segment));
        let Fetching { blocks, versions, .. } = &mut fetching;
        let found = versions.combine(blocks, 0..key_end(at), |blocks| record_in(blocks, at, of, within));
        let Some(found) = found else { return self.end_damaged(fetching) };
        let header = found.header;
        let needed = (at + to_usize(header.record_bytes())).div_ceil(BLOCK_LEN);
        if needed > have {
            return self.read_on(fetching, needed);
        }
        let whole_in = |blocks: &[Bytes]| whole_record_in(blocks, at, of, within);
        if !is_whole(blocks, at, &found) && versions.combine(blocks, 0..needed, whole_in).is_none() {
            return self.end_damaged(fetching);
        }
        let (is_believed, is_doubted) = (flash.log.is_believed(sequence), flash.is_doubted(&header));
        if fetching.copy.is_some() {
            self.repair_copies(&fetching, needed, |blocks| whole_in(blocks).is_some());
        }
        if !is_believed {
            return self.end_fetch(fetching, None, false);
        }
        if is_doubted {
            return self.end_lost(fetching);
        }
        let key = pieces_of(&fetching.blocks, header.key_range(at));
        if !are_bytes(key, &fetching.key) {
            self.figures.strangers += 1;
            return self.end_fetch(fetching, None, false);
        }
        if header.is_expired(self.unix) {
            // It stays until its segment is reclaimed: without it, an older record could reappear.
            self.figures.expired += 1;
            return self.end_fetch(fetching, None, false);
        }
        self.end_fetch(fetching, Some(header), false);
    }

    /// Retries a failed or damaged read from another copy; `Err` if none is left.
    fn read_other_copy(&mut self, mut fetching: Fetching) -> Result<(), Fetching> {
        let Some(flash) = &self.flash else { return Err(fetching) };
        let copies = flash.jobs.copies();
        let Place::Log { pages, .. } = fetching.place else { return Err(fetching) };
        if fetching.tries >= copies * ROUNDS || !holds(Invariant::OtherCopiesAreRead) {
            return Err(fetching);
        }
        let blocks = std::mem::take(&mut fetching.blocks);
        if fetching.copy.is_none() {
            fetching.versions.add(None, &blocks, &[]);
        }
        self.pool.recycle(blocks);
        let copy = fetching.tries % copies;
        fetching.versions.begin(copy);
        fetching.copy = Some(copy);
        fetching.tries += 1;
        let pages = usize::from(pages).max(fetching.versions.longest());
        self.read_on(fetching, pages);
        Ok(())
    }

    /// Overwrites damaged copies of the first `count` blocks with intact copies. `is_right` decides whether
    /// the blocks hold the record.
    fn repair_copies(&mut self, fetching: &Fetching, count: usize, is_right: impl Fn(&[Bytes]) -> bool) {
        let Some(flash) = &mut self.flash else { return };
        let Place::Log { unit, .. } = fetching.place else { return };
        let Fetching { blocks, versions, segment, .. } = fetching;
        let mut repaired = None;
        for at in (0..count).filter(|&at| versions.proves(at, blocks, &is_right)) {
            let Some(copy) = versions.copy_with(at, &blocks[at]) else { continue };
            let block = unit / UNITS + at as u64;
            flash.repair_copies(*segment, copy, block, std::slice::from_ref(&blocks[at]));
            repaired.get_or_insert(block);
        }
        if let Some(block) = repaired {
            self.report(Damage { block, what: DamageKind::Copy });
        }
    }

    /// The record that the index points to is damaged.
    fn end_damaged(&mut self, fetching: Fetching) {
        let fetching = match self.read_other_copy(fetching) {
            Ok(()) => return,
            Err(fetching) => fetching,
        };
        self.figures.damaged += 1;
        if let Place::Log { unit, .. } = fetching.place {
            self.report(Damage { block: unit / UNITS, what: DamageKind::Record });
        }
        self.end_lost(fetching);
    }

    /// The newest version of an item is unknown. A cache drops the item; a store returns an error until it is
    /// rewritten or deleted.
    fn end_lost(&mut self, fetching: Fetching) {
        if self.settings.keep == Keep::WhatIsUsed {
            self.forget_fetched(&fetching);
        }
        self.end_fetch(fetching, None, true);
    }

    fn forget_fetched(&mut self, fetching: &Fetching) {
        let hash = self.hash(&fetching.key);
        if let Some(entry) = self.index.find(hash).filter(|entry| entry.place == fetching.place) {
            self.drop_entry(hash, entry);
        }
    }

    fn end_fetch(&mut self, fetching: Fetching, header: Option<Header>, is_lost: bool) {
        let Fetching { ticket, key, place, counts, segment, mut blocks, .. } = fetching;
        if let Some(flash) = &mut self.flash {
            flash.log.end_read(segment);
        }
        if header.is_none() {
            self.pool.recycle(std::mem::take(&mut blocks));
        }
        let header = header.unwrap_or_default();
        let fetched = Fetched { ticket, is_lost, key, place, header, blocks };
        if fetched.is_there() && counts {
            self.figures.hits_on_flash += 1;
            self.tiers.read_bytes += header.record_bytes();
            self.promote(&fetched);
        }
        self.fetched.push_back(fetched);
    }

    /// Copies an item that was read repeatedly to memory.
    fn promote(&mut self, fetched: &Fetched) {
        let hash = self.hash(fetched.key());
        let entry = self.index.find(hash).filter(|entry| entry.place == fetched.place);
        let Some(entry) = entry.filter(|entry| entry.heat > 1) else { return };
        let header = Header { home: fetched.place.encode(), accessed: self.unix, ..*fetched.header() };
        let header = Header { state: header.state.with(State::FETCHED), ..header };
        let Some(unit) = self.reserve_for_copy(header.record_bytes()) else { return };
        self.front.begin(unit, &header, fetched.key());
        fill(self.front.value_mut(unit, &header), fetched.item().value);
        // Eviction has not overwritten the record, but may have dropped it.
        if self.index.find(hash).is_some_and(|entry| entry.place == fetched.place) {
            self.index.set(hash, Entry { place: Place::Front { unit }, heat: entry.heat });
        } else {
            self.front.discard(unit);
        }
    }

    /// True if the item has not changed since it was fetched. If false, look it up again before changing it.
    pub fn is_current(&self, fetched: &Fetched) -> bool {
        let entry = self.index.find(self.hash(fetched.key()));
        let home = entry.map(|entry| match entry.place {
            Place::Front { unit } => self.front.header(unit).home,
            place => place.encode(),
        });
        home.map_or(!fetched.is_there(), |home| home == fetched.place.encode())
    }

    /// The next completed fetch, in order of completion.
    pub fn next_fetched(&mut self) -> Option<Fetched> {
        self.fetched.pop_front()
    }

    /// Returns the buffers of a fetched item that is no longer needed.
    pub fn give_back(&mut self, fetched: Fetched) {
        let Fetched { mut key, blocks, .. } = fetched;
        self.pool.recycle(blocks);
        if self.spare_keys.len() < MOST_SPARE_KEYS {
            key.clear();
            self.spare_keys.push(key);
        }
    }
}

/// Copies the key of the record at byte `at` of the blocks to `room`.
pub(super) fn key_in<'a>(blocks: &[Bytes], at: usize, header: &Header, room: &'a mut [u8; 256]) -> &'a [u8] {
    let mut to = 0;
    for piece in pieces_of(blocks, header.key_range(at)) {
        room[to..to + piece.len()].copy_from_slice(piece);
        to += piece.len();
    }
    &room[..to]
}

/// The header of the record at byte `at` of the blocks, in the segment use given by sequence and salt, if
/// header and key are intact. `within` is the number of bytes from there to the end of the segment.
#[inline]
pub(super) fn record_in(
    blocks: &[Bytes],
    at: usize,
    (sequence, salt): (u64, Salt),
    within: u64,
) -> Option<FlashHeader> {
    let found = header_in(blocks, at, sequence)?;
    let key = pieces_of(blocks, found.header.key_range(at));
    (found.header.record_bytes() <= within && found.is_intact(salt, within, key)).then_some(found)
}

/// Like [`record_in`], but only if the value is intact as well.
pub(super) fn whole_record_in(
    blocks: &[Bytes],
    at: usize,
    of: (u64, Salt),
    within: u64,
) -> Option<FlashHeader> {
    record_in(blocks, at, of, within).filter(|found| is_whole(blocks, at, found))
}

/// The block just behind the last one that header and key of a record at byte `at` may touch.
pub(super) fn key_end(at: usize) -> usize {
    (at + Header::BYTES + MOST_KEY).div_ceil(BLOCK_LEN)
}

/// The header at byte `at` of the blocks, if it may belong to a record in the segment with this sequence.
#[inline]
pub(super) fn header_in(blocks: &[Bytes], at: usize, sequence: u64) -> Option<FlashHeader> {
    FlashHeader::decode(&gather::<{ Header::BYTES }>(blocks, at)?, sequence)
}

/// Copies `COUNT` bytes from the blocks; None if there are fewer.
#[inline]
fn gather<const COUNT: usize>(blocks: &[Bytes], at: usize) -> Option<[u8; COUNT]> {
    let within = at % BLOCK_LEN;
    // Mostly they are in one block.
    if let Some(bytes) = blocks.get(at / BLOCK_LEN)?.as_slice()[within..].first_chunk() {
        return Some(*bytes);
    }
    gather_pieces(blocks, at)
}

#[cold]
fn gather_pieces<const COUNT: usize>(blocks: &[Bytes], at: usize) -> Option<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    let mut to = 0;
    for piece in pieces_of(blocks, at..at + COUNT) {
        bytes[to..to + piece.len()].copy_from_slice(piece);
        to += piece.len();
    }
    (to == COUNT).then_some(bytes)
}

/// Longest key (memcached's `protocol.txt`: 250 characters).
pub const MOST_KEY: usize = 250;
/// Reads of each copy before a record counts as damaged: its length may be unknown at the first one.
const ROUNDS: u8 = 2;
/// Spare key buffers kept.
const MOST_SPARE_KEYS: usize = 256;
