//! The engine: items in memory and on flash, as a machine.

use super::fetch::{Fetched, Fetching};
use super::front::{Front, Queue, Victim};
use super::ghost::Ghost;
use super::hash::KeyHash;
use super::index::{Entry, Index};
use super::item::{Item, Value};
use super::jobs::{Haste, Jobs};
use super::log::format::Superblock;
use super::log::{Log, Purpose, Record};
use super::place::{Place, UNIT};
use super::reclaim::Reclaim;
use super::record::{Header, State};
use super::settings::{Keep, Settings};
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::pool::Pool;
use std::collections::VecDeque;
use tailcut_base::{Status, Time};

/// A store of items with keys.
///
/// Its user tells it what time it is ([`Engine::tick`]), looks for items ([`Engine::find`]; [`Engine::fetch`] where that says that
/// one is on flash) and changes them ([`Engine::change`]). After each batch of calls it gives the disk what
/// [`Engine::next_request`] returns, each answer of the disk to [`Engine::respond`], and takes what was fetched from
/// [`Engine::next_fetched`].
///
/// One store has one user, a thread or an event loop: nothing in it is shared.
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Settings,
    pub(super) seed: u64,
    pub(super) index: Index,
    pub(super) front: Front,
    pub(super) flash: Option<Flash>,
    pub(super) pool: Pool,
    pub(super) ghost: Ghost,
    pub(super) now: Time,
    pub(super) unix: u32,
    pub(super) last_cas: u64,
    /// Bytes that may be moved to the main queue from the segment that is given up.
    pub(super) move_budget: u64,
    pub(super) fetched: VecDeque<Fetched>,
    pub(super) figures: Figures,
}

/// What an engine has on flash.
#[derive(Debug)]
pub(super) struct Flash {
    pub log: Log,
    pub jobs: Jobs<Job>,
    pub reclaim: Reclaim,
    pub superblock: Superblock,
    pub is_flushing: bool,
    /// Somebody wants to know when what was written before this point is durable.
    pub wanted: u64,
    pub has_dirty_superblock: bool,
}

/// What becomes of an answer of the disk.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "jobs are kept in a table whose places are used again")]
pub(super) enum Job {
    /// A user wants a record.
    Fetch(Fetching),
    /// A part of the log.
    Write(u64),
    /// Writes up to this one become durable.
    Flush(u64),
    /// A part of a segment that is to be used again.
    Reclaim(super::reclaim::Part),
}

/// What is found of a key without the disk.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// The item.
    Item(Item<'a>),
    /// Something on flash that is likely to be the item; see [`Engine::fetch`].
    OnFlash,
    /// There is none.
    Nothing,
}

/// What is to become of an item.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// It is written.
    Put(Put<'a>),
    /// It gets another time to live and state, and is otherwise the same.
    Amend {
        /// When it expires, in seconds of Unix time; 0 for never.
        expires: u32,
        /// Its state.
        state: State,
    },
    /// It is deleted.
    Remove,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// The value.
    pub content: Content<'a>,
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// Its state.
    pub state: State,
    /// Its CAS value, if it is not to get a new one.
    pub cas: Option<u64>,
}

/// A value, by itself or by what was there.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// These bytes.
    New(&'a [u8]),
    /// These bytes behind what is there.
    After(&'a [u8]),
    /// These bytes before what is there.
    Before(&'a [u8]),
}

/// Why an item was not written. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is longer than [`Settings::most_item`] permits.
    #[error("the item is too large")]
    TooLarge,
    /// There is no room, and nothing may be given up.
    #[error("the store is full")]
    Full,
    /// The disk is behind: the same again, when it has answered something.
    #[error("the disk is behind")]
    Busy,
}

/// What an engine has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Items found in memory.
    pub hits_in_memory: u64,
    /// Items read from flash.
    pub hits_on_flash: u64,
    /// Items written.
    pub puts: u64,
    /// Items given up for others.
    pub evicted: u64,
    /// Of those, not found worth writing to flash.
    pub not_admitted: u64,
    /// Items whose time was over when they were come across.
    pub expired: u64,
    /// Items moved from memory to flash.
    pub moved_to_flash: u64,
    /// Bytes of records appended to the log by users, or moved there from memory.
    pub written: u64,
    /// Bytes of records copied for room.
    pub copied: u64,
    /// Tombstones written.
    pub tombstones: u64,
    /// Records on flash that were not what had been written.
    pub damaged: u64,
    /// Reads of the disk that failed.
    pub failed_reads: u64,
    /// Other keys found instead, for the sake of equal hashes.
    pub strangers: u64,
    /// Segments made free.
    pub reclaimed: u64,
}

impl Engine {
    /// A store in memory only, which knows keys by hashes with this seed; take a random number.
    pub fn in_memory(settings: Settings, seed: u64) -> Engine {
        Engine::new(settings, seed, None, 0)
    }

    pub(super) fn new(settings: Settings, seed: u64, flash: Option<Flash>, run: u32) -> Engine {
        assert_eq!(settings.problems(), Vec::<String>::new(), "settings fit together");
        Engine {
            index: Index::new(settings.partition_bits(flash.as_ref().map_or(0, |flash| flash.log.bytes()))),
            front: Front::new(settings.memory, settings.most_item),
            ghost: Ghost::new(settings.memory / GHOST_BYTES),
            settings,
            seed,
            flash,
            pool: Pool::default(),
            now: Time::ZERO,
            unix: 1,
            last_cas: u64::from(run) << RUN_SHIFT,
            move_budget: 0,
            fetched: VecDeque::new(),
            figures: Figures::default(),
        }
    }

    /// What time it is: `now` by the clock of the process, `unix` in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u32) {
        self.now = now;
        self.unix = unix;
    }

    /// The hash of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::of(self.seed, key)
    }

    /// Looks for an item, because somebody asks for it (`counts`), or to change it. What is said of it is what was true before.
    #[inline]
    pub fn find(&mut self, key: &[u8], counts: bool) -> Found<'_> {
        let hash = self.hash(key);
        let entry = if counts { self.index.ask(hash) } else { self.index.find(hash) };
        let Some(entry) = entry else { return Found::Nothing };
        let Place::Front { unit } = entry.place else { return Found::OnFlash };
        let header = self.front.header(unit);
        if header.is_expired(self.unix) {
            self.drop_expired(hash, entry);
            return Found::Nothing;
        }
        if self.front.item(unit).key != key {
            return Found::Nothing;
        }
        if counts {
            self.figures.hits_in_memory += 1;
            self.front.note_access(unit, header.state.with(State::FETCHED), self.unix);
        }
        Found::Item(Item { header, ..self.front.item(unit) })
    }

    /// Changes the item with this key. `fetched` is what [`Engine::next_fetched`] has returned for it, if it was on flash; nothing may have
    /// changed it since. Returns its CAS value.
    ///
    /// # Errors
    /// See [`Refused`]. Amending and removing what is not there does nothing.
    pub fn change(
        &mut self,
        key: &[u8],
        fetched: Option<&Fetched>,
        change: Change<'_>,
    ) -> Result<u64, Refused> {
        match change {
            Change::Put(put) => self.put(key, fetched, &put),
            Change::Amend { expires, state } => self.amend(key, fetched, expires, state),
            Change::Remove => {
                let hash = self.hash(key);
                match self.index.find(hash) {
                    Some(entry) if !self.drop_entry(hash, entry) => Err(self.why_no_room()),
                    _ => Ok(0),
                }
            }
        }
    }

    fn put(&mut self, key: &[u8], fetched: Option<&Fetched>, put: &Put<'_>) -> Result<u64, Refused> {
        let hash = self.hash(key);
        let before = self.index.find(hash);
        if !self.settings.writes_at_once() && before.is_some_and(|before| !self.can_let_go(before)) {
            return Err(self.why_no_room());
        }
        let added = match put.content {
            Content::New(bytes) | Content::After(bytes) | Content::Before(bytes) => bytes,
        };
        let kept = self.kept_bytes(before, fetched, put.content);
        let cas = put.cas.unwrap_or(self.last_cas + 1);
        let header = Header {
            value: u32::try_from(kept + added.len()).map_err(|_| Refused::TooLarge)?,
            key: key.len() as u8,
            state: put.state,
            flags: put.flags,
            expires: put.expires,
            accessed: self.unix,
            cas,
            home: 0,
        };
        let unit = self.place_in_front(&header, hash)?;
        // Making room may have moved what was there, or given it up.
        let before = self.index.find(hash);
        self.front.begin(unit, &header, key);
        let is_gone = kept > 0 && fetched.is_none() && self.kept_bytes(before, None, put.content) != kept;
        if is_gone {
            // It has left memory to make room for itself.
            return Err(Refused::Busy);
        }
        self.fill_value(unit, before, fetched, put.content);
        self.establish(hash, unit, before)?;
        self.last_cas += u64::from(put.cas.is_none());
        self.figures.puts += 1;
        Ok(cas)
    }

    /// Bytes of what is there that stay.
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
        unit: u32,
        before: Option<Entry>,
        fetched: Option<&Fetched>,
        content: Content<'_>,
    ) {
        let (added, kept_at) = match content {
            Content::New(bytes) => return self.front.value_mut(unit).copy_from_slice(bytes),
            Content::After(bytes) => (bytes, 0),
            Content::Before(bytes) => (bytes, bytes.len()),
        };
        match (fetched, before) {
            (Some(fetched), _) => fill(&mut self.front.value_mut(unit)[kept_at..], fetched.item().value),
            (None, Some(Entry { place: Place::Front { unit: from }, .. })) => {
                self.front.copy_value(from, unit, kept_at);
            }
            _ => {}
        }
        let value = self.front.value_mut(unit);
        let at = if kept_at == 0 { value.len() - added.len() } else { 0 };
        value[at..at + added.len()].copy_from_slice(added);
    }

    /// Room for a record in memory.
    fn place_in_front(&mut self, header: &Header, hash: KeyHash) -> Result<u32, Refused> {
        let bytes = header.record_bytes();
        if bytes > self.settings.most_item {
            return Err(Refused::TooLarge);
        }
        if self.settings.writes_at_once() && self.flash.as_ref().is_some_and(|flash| flash.log.is_busy()) {
            return Err(Refused::Busy);
        }
        let queue = if self.ghost.recall(hash) { Queue::Main } else { Queue::Small };
        self.make_room(bytes);
        loop {
            if let Some(unit) = self.front.reserve(queue, bytes, false) {
                return Ok(unit);
            }
            if !self.may_evict() {
                return Err(Refused::Full);
            }
            self.evict_segment();
        }
    }

    /// Room for another copy of what is on flash.
    pub(super) fn reserve_for_copy(&mut self, bytes: u64) -> Option<u32> {
        self.make_room(bytes);
        self.front.reserve(Queue::Main, bytes, false)
    }

    /// A store that keeps everything and has no flash cannot give anything up.
    fn may_evict(&self) -> bool {
        self.settings.keep == Keep::WhatIsUsed || self.flash.is_some()
    }

    /// A record in memory becomes the item of its key.
    fn establish(&mut self, hash: KeyHash, unit: u32, before: Option<Entry>) -> Result<(), Refused> {
        if self.settings.writes_at_once() && self.flash.is_some() {
            let place =
                self.append_from_front(hash, unit, Purpose::User).ok_or_else(|| self.why_no_room())?;
            let header = self.front.header(unit);
            self.front.set_header(unit, &Header { home: place.encode(), ..header });
        }
        let heat = before.map_or(0, |entry| entry.heat);
        self.index.set(hash, Entry { place: Place::Front { unit }, heat });
        if let Some(before) = before {
            self.let_go(hash, before, !self.settings.writes_at_once());
        }
        Ok(())
    }

    fn why_no_room(&mut self) -> Refused {
        let keep = self.settings.keep;
        let has_hope = self.flash.as_mut().is_some_and(|flash| flash.reclaim.has_hope(&mut flash.log, keep));
        if has_hope { Refused::Busy } else { Refused::Full }
    }

    /// Appends a record that is in memory to the log.
    pub(super) fn append_from_front(&mut self, hash: KeyHash, unit: u32, purpose: Purpose) -> Option<Place> {
        let flash = self.flash.as_mut()?;
        if self.settings.keep == Keep::WhatIsUsed && flash.log.is_busy() {
            return None;
        }
        let item = self.front.item(unit);
        let header = Header { state: item.header.state.without(State::FETCHED), ..item.header };
        let record = Record { header, key: item.key, value: item.value, hash };
        let place = flash.log.append(self.now, &record, purpose, &mut self.pool)?;
        self.figures.written += header.record_bytes();
        Some(place)
    }

    /// The index does not name a place any more: the record there is not valid, and if it is on flash and nothing newer will be,
    /// a tombstone says so.
    pub(super) fn let_go(&mut self, hash: KeyHash, before: Entry, needs_tombstone: bool) {
        let (Some(home), Some(flash)) = (self.home(before), &mut self.flash) else { return };
        let Place::Log { unit, .. } = Place::decode(home) else { return };
        flash.log.forget(unit);
        if needs_tombstone {
            let buried = flash.log.sequence(flash.log.segment_of(unit));
            self.figures.tombstones += 1;
            if !flash.log.bury(self.now, hash, buried, Purpose::Tombstone, &mut self.pool) {
                // The disk takes nothing any more: what is on it is not to be believed when it is opened again.
                flash.superblock.flushed = flash.log.last_sequence();
                flash.has_dirty_superblock = true;
            }
        }
    }

    /// The place of a record on flash, if it has one there.
    fn home(&self, entry: Entry) -> Option<u64> {
        match entry.place {
            Place::Front { unit } => Some(self.front.header(unit).home).filter(|&home| home != 0),
            place => Some(place.encode()),
        }
    }

    /// True if a record that is not valid any more needs no tombstone, or there is room for one.
    fn can_let_go(&self, entry: Entry) -> bool {
        let is_ready = |flash: &Flash| flash.log.has_failed() || flash.log.has_room_for_tombstone();
        self.home(entry).is_none() || self.flash.as_ref().is_none_or(is_ready)
    }

    /// An item goes; false if there is no room to say so on flash, and it stays.
    pub(super) fn drop_entry(&mut self, hash: KeyHash, entry: Entry) -> bool {
        if !self.can_let_go(entry) {
            return false;
        }
        self.index.remove(hash);
        self.let_go(hash, entry, true);
        true
    }

    /// The time of an item in memory is over. If it has a record on flash, that says the same, and stays until its segment is used again.
    fn drop_expired(&mut self, hash: KeyHash, entry: Entry) {
        self.figures.expired += 1;
        match self.home(entry) {
            Some(home) => drop(self.index.set(hash, Entry { place: Place::decode(home), heat: 0 })),
            None => drop(self.index.remove(hash)),
        }
    }

    fn amend(
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
            // Who has asked for something on flash is not written there.
            return Ok(header.cas);
        }
        let content = Content::After(&[]);
        let put = Put { content, flags: header.flags, expires, state, cas: Some(header.cas) };
        self.put(key, fetched, &put)
    }

    /// Forgets all items that were written so far.
    pub fn flush_all(&mut self) {
        self.last_cas += 1;
        self.index.clear();
        self.front.clear();
        if let Some(flash) = &mut self.flash {
            flash.superblock.flushed = flash.log.begin_anew(&mut self.pool);
            flash.has_dirty_superblock = true;
        }
    }

    /// Makes room in memory, a little at a time, so that nobody waits for a whole segment.
    fn make_room(&mut self, bytes: u64) {
        let mut left = 2 * bytes + STEP_BYTES;
        while self.front.is_short() && self.may_evict() && left > 0 {
            let Some(victim) = self.front.next_victim() else { break };
            left = left.saturating_sub(self.front.header(victim.unit).record_bytes());
            self.evict(victim);
        }
    }

    fn evict_segment(&mut self) {
        while let Some(victim) = self.front.next_victim() {
            self.evict(victim);
        }
    }

    /// A record has to leave its place in memory (S3-FIFO, Yang and others 2023, algorithm 1).
    fn evict(&mut self, victim: Victim) {
        if victim.is_first {
            // At least half of a segment comes free, whatever is in it.
            self.move_budget = self.front.segment_bytes() / 2;
        }
        let item = self.front.item(victim.unit);
        let (header, hash) = (item.header, KeyHash::of(self.seed, item.key));
        let place = Place::Front { unit: victim.unit };
        let Some(entry) = self.index.find(hash).filter(|entry| entry.place == place) else { return };
        if header.is_expired(self.unix) {
            return self.drop_expired(hash, entry);
        }
        let (stays, heat) = match victim.queue {
            Queue::Small => (entry.heat > 1, 0),
            Queue::Main => (entry.heat > 0, entry.heat.saturating_sub(1)),
        };
        if stays && self.move_within(hash, victim.unit, heat) {
            return;
        }
        self.leave(hash, victim, entry);
    }

    fn move_within(&mut self, hash: KeyHash, from: u32, heat: u8) -> bool {
        let bytes = self.front.header(from).record_bytes();
        if bytes > self.move_budget {
            return false;
        }
        let Some(to) = self.front.reserve(Queue::Main, bytes, true) else { return false };
        self.move_budget -= bytes;
        self.front.copy(from, to);
        self.index.set(hash, Entry { place: Place::Front { unit: to }, heat });
        true
    }

    /// A record leaves memory: it has a place on flash, or gets one, or is given up.
    fn leave(&mut self, hash: KeyHash, victim: Victim, entry: Entry) {
        let home = self.front.header(victim.unit).home;
        if home != 0 {
            self.index.set(hash, Entry { place: Place::decode(home), heat: 0 });
            return;
        }
        let is_admitted = victim.queue == Queue::Main || entry.heat > 0 || self.has_unused_flash();
        if is_admitted && let Some(place) = self.append_from_front(hash, victim.unit, Purpose::User) {
            self.index.set(hash, Entry { place, heat: 0 });
            self.figures.moved_to_flash += 1;
            return;
        }
        self.index.remove(hash);
        self.ghost.remember(hash);
        self.figures.evicted += 1;
        self.figures.not_admitted += u64::from(!is_admitted);
    }

    /// While there are segments that hold nothing, everything is worth keeping.
    fn has_unused_flash(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| !flash.log.is_short() && !flash.log.is_busy())
    }

    /// The next request for the disk.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.go_on();
        let flash = self.flash.as_mut()?;
        flash.jobs.next()
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        let Some(flash) = &mut self.flash else { return };
        let is_good = response.status == Status::Success;
        match flash.jobs.end(response.id) {
            Job::Fetch(fetching) => self.note_fetched(fetching, is_good, response.data),
            Job::Write(number) => {
                flash.log.note_written(number, is_good, &mut self.pool);
                self.pool.take_back(response.data);
            }
            Job::Flush(settled) => {
                flash.is_flushing = false;
                if is_good {
                    flash.log.note_flushed(settled);
                }
            }
            Job::Reclaim(part) => self.note_reclaimed(part, is_good, response.data),
        }
    }

    /// Gives the disk what there is.
    fn go_on(&mut self) {
        self.advance_reclaim();
        let (now, patience) = (self.now, self.settings.patience);
        let Some(flash) = &mut self.flash else { return };
        if flash.log.dirty_since().is_some_and(|since| now.since(since) >= patience) {
            flash.log.sync();
        }
        flash.send_writes();
        flash.send_superblock(&mut self.pool);
        flash.send_flush();
    }

    /// When it wants to go on by itself.
    pub fn next_event(&self) -> Time {
        let since = self.flash.as_ref().and_then(|flash| flash.log.dirty_since());
        since.map_or(Time::NEVER, |since| since + self.settings.patience)
    }

    /// Everything that was written so far shall become durable. It is when [`Engine::durable`] has reached what is returned.
    pub fn sync(&mut self) -> u64 {
        let Some(flash) = &mut self.flash else { return 0 };
        flash.send_superblock(&mut self.pool);
        let point = flash.log.sync();
        flash.wanted = flash.wanted.max(point);
        point
    }

    /// How far what was written is durable; see [`Engine::sync`].
    pub fn durable(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.log.durable())
    }

    /// True when nothing is to be done for the disk.
    pub fn is_idle(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| {
            flash.jobs.is_idle()
                && !flash.is_flushing
                && flash.log.durable() >= flash.wanted
                && !flash.has_dirty_superblock
        })
    }

    /// Items in it, those included whose time is over and that nobody has come across.
    pub fn items(&self) -> u64 {
        self.index.items()
    }

    /// What it has done.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Bytes of its index.
    pub fn index_bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

fn fill(to: &mut [u8], value: Value<'_>) {
    let mut at = 0;
    for piece in value.pieces() {
        to[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
}

impl Flash {
    fn send_writes(&mut self) {
        while let Some(write) = self.log.next_write() {
            self.jobs.write(Job::Write(write.number), Haste::Later, write.block, write.data);
        }
    }

    fn send_superblock(&mut self, pool: &mut Pool) {
        if !std::mem::take(&mut self.has_dirty_superblock) {
            return;
        }
        self.superblock.count += 1;
        let mut data = pool.list();
        data.push(self.superblock.encode());
        let number = self.log.count_write();
        self.jobs.write(Job::Write(number), Haste::Later, self.superblock.count % 2, data);
    }

    fn send_flush(&mut self) {
        let settled = self.log.settled();
        // A full segment is believed after a loss of power only when it is on the disk for good.
        self.wanted = self.wanted.max(self.log.undurable());
        let is_wanted = self.wanted > self.log.durable() && settled >= self.wanted;
        if is_wanted && !self.is_flushing {
            self.is_flushing = true;
            self.jobs.flush(Job::Flush(settled), Haste::Urgent);
        }
    }
}

/// Steps of eviction beyond what is needed.
const STEP_BYTES: u64 = 16 * UNIT;
/// The ghost remembers a key for so many bytes of memory.
const GHOST_BYTES: u64 = 512;
/// CAS values of different runs differ.
pub(super) const RUN_SHIFT: u32 = 40;
