//! Items that are read from flash.

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::flash::Job;
use super::hash::KeyHash;
use super::index::Entry;
use super::item::{Item, Value, pieces_of};
use super::jobs::Haste;
use super::log::SegmentId;
use super::log::format::UNITS;
use super::place::{MOST_PAGES, Place, UNIT};
use super::record::{FlashHeader, Header, Salt, State};
use super::search::is_whole;
use super::settings::Keep;
use super::versions::Versions;
use super::writing::fill;
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, Mirror};
use crate::planted::{Rule, holds};

/// A read under way.
#[derive(Debug)]
pub(super) struct Fetching {
    ticket: u32,
    key: Vec<u8>,
    place: Place,
    counts: bool,
    segment: SegmentId,
    /// The copy that is read, if it is a certain one.
    copy: Option<u8>,
    /// Reads of certain copies that have ended.
    tries: u8,
    blocks: Vec<Bytes>,
    versions: Versions,
}

/// Somebody who wants an item.
#[derive(Debug)]
pub(super) struct Asking {
    ticket: u32,
    key: Vec<u8>,
    counts: bool,
}

/// What came of a read.
#[derive(Debug)]
pub struct Fetched {
    /// What [`Engine::fetch`] was given.
    pub ticket: u32,
    /// The disk has failed to read it, or it is damaged, or a newer version may be: what the item is, is not
    /// known.
    pub is_lost: bool,
    key: Vec<u8>,
    place: Place,
    header: Header,
    /// Empty if there is none.
    blocks: Vec<Bytes>,
}

impl Fetched {
    /// True if the item was found.
    pub fn is_there(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Bytes of the value, if it is there.
    pub fn bytes(&self) -> usize {
        if self.is_there() { self.header.value as usize } else { 0 }
    }

    /// True if there was something to be read. Otherwise it is in memory by now, or there is none, and its
    /// user looks again.
    pub fn was_read(&self) -> bool {
        matches!(self.place, Place::Log { .. })
    }

    /// The key that was asked for.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its header; only if it is there.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The item; only if it is there.
    pub fn item(&self) -> Item<'_> {
        let at = self.place.offset() + self.header.value_at();
        let value = Value::Blocks { blocks: &self.blocks, at, bytes: self.header.value as usize };
        Item { header: self.header, key: &self.key, value }
    }
}

impl Asking {
    fn in_vain(self, is_lost: bool) -> Fetched {
        let (place, header, blocks) = (Place::Front { unit: 0 }, Header::default(), Vec::new());
        Fetched { ticket: self.ticket, is_lost, key: self.key, place, header, blocks }
    }
}

impl Place {
    /// Where it begins in its first block; 0 in memory.
    fn offset(self) -> usize {
        match self {
            Place::Log { unit, .. } => (unit * UNIT % BLOCK_BYTES) as usize,
            Place::Front { .. } => 0,
        }
    }
}

impl Engine {
    /// Reads an item of which [`Engine::find`] has said that it is on flash, or may be. What came of it is
    /// returned by [`Engine::next_fetched`] under the name `ticket`: the item as it is now, even if it is
    /// changed before that, or, of one that was not found yet, as it is when that is known. `counts` if
    /// somebody has asked for it. How many bytes of memory it takes at the most is returned.
    pub fn fetch(&mut self, key: &[u8], ticket: u32, counts: bool) -> u64 {
        let hash = self.hash(key);
        let mut kept = self.spare_keys.pop().unwrap_or_default();
        kept.extend_from_slice(key);
        let asking = Asking { ticket, key: kept, counts };
        if self.is_unknown(hash) {
            self.ask_later(hash, asking);
            return self.settings.most_item;
        }
        let place = self.index.find(hash).map(|entry| entry.place);
        self.fetch_for(hash, asking);
        match place {
            Some(Place::Log { pages, .. }) if pages < MOST_PAGES => u64::from(pages) * BLOCK_BYTES,
            // How long it is stands in its first block.
            Some(Place::Log { .. }) => self.settings.most_item,
            _ => 0,
        }
    }

    /// Reads an item that is known.
    pub(super) fn fetch_for(&mut self, hash: KeyHash, asking: Asking) {
        let place = self.index.find(hash).map(|entry| entry.place);
        let (Some(flash), Some(place @ Place::Log { unit, pages })) = (&mut self.flash, place) else {
            // It is in memory by now, or gone: the asker looks again.
            return self.fetched.push_back(asking.in_vain(false));
        };
        let Asking { ticket, key, counts } = asking;
        let segment = flash.log.segment_of(unit);
        let blocks = self.pool.list();
        let (copy, tries, versions) = (None, 0, Versions::default());
        let fetching = Fetching { ticket, key, place, counts, segment, copy, tries, blocks, versions };
        flash.log.begin_read(segment);
        self.read_on(fetching, usize::from(pages));
    }

    /// Nobody will know whether there is such an item.
    pub(super) fn give_up_asking(&mut self, asking: Asking) {
        self.fetched.push_back(asking.in_vain(true));
    }

    /// Gets blocks until there are so many.
    fn read_on(&mut self, mut fetching: Fetching, pages: usize) {
        let Place::Log { unit, .. } = fetching.place else { return };
        let Some(flash) = &mut self.flash else { return };
        if let Some(blocks) = flash.log.in_memory(unit, pages) {
            fetching.blocks.clear();
            fetching.blocks.extend_from_slice(blocks);
            return self.judge(fetching);
        }
        let have = fetching.blocks.len();
        let count = (pages - have).min(flash.jobs.most_blocks() as usize) as u32;
        let list = self.pool.list();
        let (block, mirror) = (unit / UNITS + have as u64, fetching.copy.map_or(Mirror::Any, Mirror::Only));
        flash.jobs.read_copy(Job::Fetch(fetching), Haste::Urgent, block, count, (list, mirror));
    }

    /// Blocks were read.
    pub(super) fn note_fetched(&mut self, mut fetching: Fetching, is_good: bool, mut data: Vec<Bytes>) {
        if !is_good {
            self.figures.failed_reads += 1;
            self.pool.take_back(data);
            return match self.read_other_copy(fetching) {
                Ok(()) => {}
                Err(fetching) => self.end_fetch(fetching, None, true),
            };
        }
        fetching.blocks.append(&mut data);
        self.pool.take_back(data);
        self.judge(fetching);
    }

    /// Looks at what was read so far.
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
        let needed = (at + header.record_bytes() as usize).div_ceil(BLOCK_BYTES as usize);
        if needed > have {
            return self.read_on(fetching, needed);
        }
        let whole_in = |blocks: &[Bytes]| whole_record_in(blocks, at, of, within);
        if !is_whole(blocks, at, &found) && versions.combine(blocks, 0..needed, whole_in).is_none() {
            return self.end_damaged(fetching);
        }
        let (is_believed, is_doubted) = (flash.log.is_believed(sequence), flash.is_doubted(&header));
        if fetching.copy.is_some() {
            self.repair_copies(&fetching);
        }
        if !is_believed {
            return self.end_fetch(fetching, None, false);
        }
        if is_doubted {
            return self.end_lost(fetching);
        }
        let key = pieces_of(&fetching.blocks, header.key_range(at));
        if !key.flatten().eq(&fetching.key) {
            self.figures.strangers += 1;
            return self.end_fetch(fetching, None, false);
        }
        if header.is_expired(self.unix) {
            // It stays where it is until its segment is used again: an older one could come back without it.
            self.figures.expired += 1;
            return self.end_fetch(fetching, None, false);
        }
        self.end_fetch(fetching, Some(header), false);
    }

    /// Reads another copy of what could not be read, or was not what had been written; not if there is none.
    fn read_other_copy(&mut self, mut fetching: Fetching) -> Result<(), Fetching> {
        let Some(flash) = &self.flash else { return Err(fetching) };
        let copies = flash.jobs.copies();
        let Place::Log { pages, .. } = fetching.place else { return Err(fetching) };
        if fetching.tries >= copies * ROUNDS || !holds(Rule::OtherCopiesAreRead) {
            return Err(fetching);
        }
        let blocks = std::mem::take(&mut fetching.blocks);
        fetching.versions.add(fetching.copy, &blocks, &[]);
        self.pool.take_back(blocks);
        fetching.copy = Some(fetching.tries % copies);
        fetching.tries += 1;
        let pages = usize::from(pages).max(fetching.versions.longest());
        self.read_on(fetching, pages);
        Ok(())
    }

    /// What was read from a certain copy is what was written: the others become the same.
    fn repair_copies(&mut self, fetching: &Fetching) {
        let (Some(flash), Some(copy)) = (&mut self.flash, fetching.copy) else { return };
        let Place::Log { unit, .. } = fetching.place else { return };
        let block = unit / UNITS;
        let source = |at: usize| fetching.versions.copy_with(at, &fetching.blocks[at]).unwrap_or(copy);
        let mut at = 0;
        while at < fetching.blocks.len() {
            let from = source(at);
            let more = (at..fetching.blocks.len()).take_while(|&at| source(at) == from).count();
            let right = &fetching.blocks[at..at + more];
            flash.repair_copies(fetching.segment, from, block + at as u64, right);
            at += more;
        }
        self.report(Damage { block, what: DamageKind::Copy });
    }

    /// The record that the index names is not what was written.
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

    /// What the newest version of an item was is not known. A cache has none from now on; a store says so
    /// until it is written again or deleted.
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
            self.pool.take_back(std::mem::take(&mut blocks));
        }
        let header = header.unwrap_or_default();
        let fetched = Fetched { ticket, is_lost, key, place, header, blocks };
        if fetched.is_there() && counts {
            self.figures.hits_on_flash += 1;
            self.promote(&fetched);
        }
        self.fetched.push_back(fetched);
    }

    /// What is asked for again and again is kept in memory, too.
    fn promote(&mut self, fetched: &Fetched) {
        let hash = self.hash(fetched.key());
        let entry = self.index.find(hash).filter(|entry| entry.place == fetched.place);
        let Some(entry) = entry.filter(|entry| entry.heat > 1) else { return };
        let header = Header { home: fetched.place.encode(), accessed: self.unix, ..*fetched.header() };
        let header = Header { state: header.state.with(State::FETCHED), ..header };
        let Some(unit) = self.reserve_for_copy(header.record_bytes()) else { return };
        self.front.begin(unit, &header, fetched.key());
        fill(self.front.value_mut(unit, &header), fetched.item().value);
        // Making room has written nothing to where the record is, but may have given it up.
        if self.index.find(hash).is_some_and(|entry| entry.place == fetched.place) {
            self.index.set(hash, Entry { place: Place::Front { unit }, heat: entry.heat });
        }
    }

    /// True if nothing has happened to a key since it was fetched. If not, its user looks again before he
    /// changes it.
    pub fn is_current(&self, fetched: &Fetched) -> bool {
        let entry = self.index.find(self.hash(fetched.key()));
        let home = entry.map(|entry| match entry.place {
            Place::Front { unit } => self.front.header(unit).home,
            place => place.encode(),
        });
        home.map_or(!fetched.is_there(), |home| home == fetched.place.encode())
    }

    /// What was fetched, in the order in which it came.
    pub fn next_fetched(&mut self) -> Option<Fetched> {
        self.fetched.pop_front()
    }

    /// A fetched item is not needed any more.
    pub fn give_back(&mut self, fetched: Fetched) {
        let Fetched { mut key, blocks, .. } = fetched;
        self.pool.take_back(blocks);
        if self.spare_keys.len() < MOST_SPARE_KEYS {
            key.clear();
            self.spare_keys.push(key);
        }
    }
}

/// The key of a record in blocks.
pub(super) fn key_in<'a>(blocks: &[Bytes], at: usize, header: &Header, room: &'a mut [u8; 256]) -> &'a [u8] {
    let mut to = 0;
    for piece in pieces_of(blocks, header.key_range(at)) {
        room[to..to + piece.len()].copy_from_slice(piece);
        to += piece.len();
    }
    &room[..to]
}

/// The header of a record of that use of a segment, in the store of that salt, at a byte of blocks, if header
/// and key are what was written; `within` is what is left of the segment there.
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

/// The same, if the value is what was written, too.
pub(super) fn whole_record_in(
    blocks: &[Bytes],
    at: usize,
    of: (u64, Salt),
    within: u64,
) -> Option<FlashHeader> {
    record_in(blocks, at, of, within).filter(|found| is_whole(blocks, at, found))
}

/// The block behind the last one that the header and the key of a record at this byte may touch.
pub(super) fn key_end(at: usize) -> usize {
    (at + Header::BYTES + MOST_KEY).div_ceil(BLOCK_BYTES as usize)
}

/// The header at a byte of blocks, if it may be that of a record in that use of a segment.
#[inline]
pub(super) fn header_in(blocks: &[Bytes], at: usize, sequence: u64) -> Option<FlashHeader> {
    FlashHeader::decode(&gather::<{ Header::BYTES }>(blocks, at)?, sequence)
}

/// So many bytes of blocks, if there are so many.
fn gather<const COUNT: usize>(blocks: &[Bytes], at: usize) -> Option<[u8; COUNT]> {
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
/// How often each copy is read for a record that none has: the first time its length may not be known yet.
const ROUNDS: u8 = 2;
/// Keys whose memory is kept.
const MOST_SPARE_KEYS: usize = 256;
