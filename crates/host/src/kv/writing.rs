//! Writes, amendments and deletions of items: their effect on records in memory and on flash.

use super::engine::{Content, Engine, Put, Refused};
use super::fetch::Fetched;
use super::flash::Flash;
use super::front::Queue;
use super::hash::KeyHash;
use super::index::Entry;
use super::item::Value;
use super::log::{AppendPurpose, Record};
use super::place::{FrontUnit, Place};
use super::record::{Header, State};
use super::settings::Keep;
use crate::mutation::{Invariant, holds};
use tailcut_base::cast::to_u8;

impl Engine {
    pub(super) fn put(
        &mut self,
        key: &[u8],
        fetched: Option<&Fetched>,
        put: &Put<'_>,
    ) -> Result<u64, Refused> {
        let hash = self.hash(key);
        let before = self.index.find(hash);
        if !self.settings.writes_at_once() && !self.can_replace(hash, before) {
            return Err(self.why_no_room());
        }
        let added = match put.content {
            Content::New(bytes) | Content::After(bytes) | Content::Before(bytes) => bytes,
        };
        let kept = self.kept_bytes(before, fetched, put.content);
        let cas = put.cas.unwrap_or(self.last_cas + 1);
        let header = Header {
            value: u32::try_from(kept + added.len()).map_err(|_| Refused::TooLarge)?,
            key: to_u8(key.len()),
            state: put.state,
            flags: put.flags,
            expires: put.expires,
            accessed: self.unix,
            cas,
            home: 0,
        };
        let unit = self.place_in_front(&header, hash, before)?;
        // Making room may have moved or evicted the previous record.
        let before = self.index.find(hash);
        self.front.begin(unit, &header, key);
        let is_gone = kept > 0 && fetched.is_none() && self.kept_bytes(before, None, put.content) != kept;
        if is_gone {
            self.front.discard(unit);
            return Err(Refused::Evicted);
        }
        self.fill_value((unit, &header), before, fetched, put.content);
        self.establish(hash, unit, before)?;
        self.last_cas += u64::from(put.cas.is_none());
        self.figures.puts += 1;
        Ok(cas)
    }

    /// Bytes of the current value that remain.
    fn kept_bytes(&self, before: Option<Entry>, fetched: Option<&Fetched>, content: Content<'_>) -> usize {
        match (content, fetched, before) {
            (Content::New(_), _, _) => 0,
            (_, Some(fetched), _) => fetched.header().value as usize,
            (_, None, Some(Entry { place: Place::Front { unit }, .. })) => {
                self.front.header(unit).value as usize
            }
            _ => 0,
        }
    }

    fn fill_value(
        &mut self,
        (unit, header): (FrontUnit, &Header),
        before: Option<Entry>,
        fetched: Option<&Fetched>,
        content: Content<'_>,
    ) {
        let (added, kept_at) = match content {
            Content::New(bytes) => return self.front.value_mut(unit, header).copy_from_slice(bytes),
            Content::After(bytes) => (bytes, 0),
            Content::Before(bytes) => (bytes, bytes.len()),
        };
        match (fetched, before) {
            (Some(fetched), _) => {
                fill(&mut self.front.value_mut(unit, header)[kept_at..], fetched.item().value)
            }
            (None, Some(Entry { place: Place::Front { unit: from }, .. })) => {
                self.front.copy_value(from, (unit, kept_at));
            }
            _ => {}
        }
        let value = self.front.value_mut(unit, header);
        let at = if kept_at == 0 { value.len() - added.len() } else { 0 };
        value[at..at + added.len()].copy_from_slice(added);
    }

    /// Reserves memory for a record: in the queue of the one that it replaces, as S3-FIFO has it, where a
    /// write to an item that is there moves it no more than a read.
    fn place_in_front(
        &mut self,
        header: &Header,
        hash: KeyHash,
        before: Option<Entry>,
    ) -> Result<FrontUnit, Refused> {
        let bytes = header.record_bytes();
        if bytes > self.settings.most_item {
            return Err(Refused::TooLarge);
        }
        if self.settings.writes_at_once() && self.flash.as_ref().is_some_and(|flash| flash.log.is_busy()) {
            return Err(Refused::Busy);
        }
        let queue = match before {
            Some(Entry { place: Place::Front { unit }, .. }) => self.front.queue_of(unit),
            _ if self.ghost.recall(hash) => Queue::Main,
            _ => self.queue_of_new(bytes),
        };
        self.make_room(bytes);
        self.reserve_now(queue, bytes)
    }

    /// Makes a record in memory the item of its key.
    fn establish(&mut self, hash: KeyHash, unit: FrontUnit, before: Option<Entry>) -> Result<(), Refused> {
        if self.settings.writes_at_once() && self.flash.is_some() {
            let Some(place) = self.append_from_front(hash, unit, AppendPurpose::User) else {
                self.front.discard(unit);
                return Err(self.why_no_room());
            };
            let header = self.front.header(unit);
            self.front.set_header(unit, &Header { home: place.encode(), ..header });
        }
        let heat = before.map_or(0, |entry| entry.heat);
        let is_unknown = self.is_unknown(hash);
        self.index.set(hash, Entry { place: Place::Front { unit }, heat });
        if let Some(before) = before {
            self.discard(before);
            self.release(hash, before, !self.settings.writes_at_once());
        }
        if is_unknown && !self.settings.writes_at_once() {
            self.write_tombstone_of_unknown(hash);
        }
        Ok(())
    }

    pub(super) fn why_no_room(&mut self) -> Refused {
        let (keep, is_recovering) = (self.settings.keep, self.recovery.is_some());
        let has_hope = self.flash.as_mut().is_some_and(|flash| {
            // On a full disk recovery may not end either: the summaries that it writes wait for room.
            let can_write = !flash.log.has_failed() && !flash.log.is_full();
            can_write && (is_recovering || flash.reclaims.has_hope(&mut flash.log, keep))
        });
        if has_hope { Refused::Busy } else { Refused::Full }
    }

    /// Appends a record that is in memory to the log.
    pub(super) fn append_from_front(
        &mut self,
        hash: KeyHash,
        unit: FrontUnit,
        purpose: AppendPurpose,
    ) -> Option<Place> {
        let flash = self.flash.as_mut()?;
        if self.settings.keep == Keep::WhatIsUsed && flash.log.is_busy() {
            return None;
        }
        let item = self.front.item(unit);
        let header = Header { state: item.header.state.without(State::FETCHED), ..item.header };
        let record = Record { header, key: item.key, value: item.value, hash };
        let place = flash.log.append(self.now, &record, purpose, &mut self.pool)?;
        self.figures.written += header.record_bytes();
        self.admission.note_written(header.record_bytes());
        Some(place)
    }

    /// The record of this index entry, if it is in memory, is no longer live.
    pub(super) fn discard(&mut self, entry: Entry) {
        if let Place::Front { unit } = entry.place {
            self.front.discard(unit);
        }
    }

    /// Invalidates the record on flash that an index entry pointed to. `needs_tombstone`: if the record is on
    /// flash and no newer one will be, a tombstone is written.
    pub(super) fn release(&mut self, hash: KeyHash, before: Entry, needs_tombstone: bool) {
        let (Some(home), Some(flash)) = (self.home(before), &mut self.flash) else { return };
        let Place::Log { unit, .. } = Place::decode(home) else { return };
        flash.log.forget(unit);
        if needs_tombstone {
            let buried = flash.log.sequence(flash.log.segment_of(unit));
            self.write_tombstone(hash, buried);
        }
    }

    /// Writes a tombstone that invalidates all records of a key up to sequence `buried`.
    pub(super) fn write_tombstone(&mut self, hash: KeyHash, buried: u64) {
        let Some(flash) = self.flash.as_mut().filter(|_| holds(Invariant::TombstonesAreWritten)) else {
            return;
        };
        self.figures.tombstones += 1;
        if !flash.log.write_tombstone(self.now, hash, buried, AppendPurpose::Tombstone, &mut self.pool) {
            assert_eq!(
                self.settings.keep,
                Keep::WhatIsUsed,
                "a store deletes only if it can write the tombstone"
            );
            // The disk has failed, and this cache deletes from memory all the same. The superblock, if the
            // disk still accepts it, invalidates the content of the disk for the next opening.
            flash.superblock.flushed = flash.log.last_sequence();
            flash.has_dirty_superblock = true;
        }
    }

    /// The encoded place of an entry's record on flash, if it has one there.
    pub(super) fn home(&self, entry: Entry) -> Option<u64> {
        match entry.place {
            Place::Front { unit } => Some(self.front.header(unit).home).filter(|&home| home != 0),
            place => Some(place.encode()),
        }
    }

    /// True if the entry of a key can be replaced: it needs no tombstone, or there is room for one.
    ///
    /// On a failed disk there is never room. A store then refuses deletes as well as writes: the item would
    /// reappear after a restart, and a superblock that invalidates everything would lose data that was
    /// acknowledged as durable. A cache deletes from memory: it may lose any item, but must not return one
    /// that was deleted while it runs.
    fn can_replace(&self, hash: KeyHash, before: Option<Entry>) -> bool {
        let needs_tombstone = match before {
            Some(entry) => self.home(entry).is_some(),
            None => self.is_unknown(hash),
        };
        let needs_no_disk = |flash: &Flash| flash.log.has_failed() && self.settings.keep == Keep::WhatIsUsed;
        let is_ready = |flash: &Flash| needs_no_disk(flash) || flash.log.has_room_for_tombstone();
        !needs_tombstone || self.flash.as_ref().is_none_or(is_ready)
    }

    /// True if this is a store whose disk has failed: it keeps its content and accepts no changes.
    pub(super) fn is_frozen(&self) -> bool {
        let has_failed = self.flash.as_ref().is_some_and(|flash| flash.log.has_failed());
        has_failed && self.settings.keep == Keep::Everything
    }

    /// Deletes an item, even one that recovery has not found yet.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<u64, Refused> {
        let hash = self.hash(key);
        let is_done = match self.index.find(hash) {
            Some(entry) => self.drop_entry(hash, entry),
            None => self.drop_unknown(hash),
        };
        if is_done { Ok(0) } else { Err(self.why_no_room()) }
    }

    /// Drops an item. False if there is no room for a tombstone; the item then stays.
    pub(super) fn drop_entry(&mut self, hash: KeyHash, entry: Entry) -> bool {
        if !self.can_replace(hash, Some(entry)) {
            return false;
        }
        self.release(hash, entry, true);
        self.forget(hash);
        true
    }

    /// Drops an item that recovery may still find. False if there is no room for a tombstone.
    fn drop_unknown(&mut self, hash: KeyHash) -> bool {
        if !self.is_unknown(hash) {
            return true;
        }
        if !self.can_replace(hash, None) {
            return false;
        }
        self.write_tombstone_of_unknown(hash);
        self.forget(hash);
        true
    }

    /// Drops an expired item in memory. Its record on flash, if any, has expired as well and stays until its
    /// segment is reclaimed.
    pub(super) fn drop_expired(&mut self, hash: KeyHash, entry: Entry) {
        self.figures.expired += 1;
        if let Place::Front { unit } = entry.place {
            let was_fetched = self.front.header(unit).state.has(State::FETCHED);
            self.tiers.expired_unfetched += u64::from(!was_fetched);
        }
        match self.home(entry) {
            Some(home) => {
                self.discard(entry);
                self.index.set(hash, Entry { place: Place::decode(home), heat: 0 });
            }
            None => self.forget(hash),
        }
    }

    pub(super) fn amend(
        &mut self,
        key: &[u8],
        fetched: Option<&Fetched>,
        expires: u32,
        state: State,
    ) -> Result<u64, Refused> {
        let hash = self.hash(key);
        let Some(entry) = self.index.find(hash) else { return Ok(0) };
        let (header, is_there) = match (entry.place, fetched) {
            (Place::Front { unit }, _) => (self.front.header(unit), true),
            (_, Some(fetched)) => (*fetched.header(), false),
            _ => return Ok(0),
        };
        let lasts = |state: State| state.without(State::FETCHED);
        let is_lasting = (expires, lasts(state)) != (header.expires, lasts(header.state));
        let amended = Header { expires, state, accessed: self.unix, ..header };
        if let Place::Front { unit } = entry.place
            && is_there
            && (!is_lasting || header.home == 0)
        {
            self.front.set_header(unit, &amended);
            return Ok(header.cas);
        }
        if !is_lasting {
            // Accesses of an item on flash are not written there.
            return Ok(header.cas);
        }
        let content = Content::After(&[]);
        let put = Put { content, flags: header.flags, expires, state, cas: Some(header.cas) };
        self.put(key, fetched, &put)
    }
}

pub(super) fn fill(to: &mut [u8], value: Value<'_>) {
    let mut at = 0;
    for piece in value.pieces() {
        to[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
}
