//! Segments of the log that are used again.
//!
//! One at a time, in steps: its summary is read; records that are to be kept are copied to the end of the log; when the copies are on
//! the disk its head is erased, so that nothing in it is believed any more; then the index forgets what was left in it, and it
//! is free. In this order a power cut at any moment loses nothing that was kept, and brings nothing back that was deleted.
//!
//! A cache gives up the oldest segment and keeps what was asked for since it was written (FIFO with reinsertion, the main queue of S3-FIFO), at most
//! half of it. A store takes the segment with the fewest valid records (greedy) and keeps those. What has expired is not even read.

use super::engine::Engine;
use super::fetch::{is_intact, record_in};
use super::flash::{Flash, Job};
use super::hash::KeyHash;
use super::index::Entry as Known;
use super::item::Value;
use super::jobs::Haste;
use super::log::format::{Entry, Foot, Head, UNITS, is_summary, summary_blocks};
use super::log::{Log, Purpose, Record, place_of};
use super::place::{Place, UNIT};
use super::record::{Header, State};
use super::settings::Keep;
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;

/// What is done at the moment.
#[derive(Debug, Default)]
pub(super) struct Reclaim {
    step: Step,
    victim: u32,
    entries: Vec<Entry>,
    /// The first block of the victim, to be written back without its head.
    first: Bytes,
    /// The blocks of its summary that have come.
    summary: Vec<Bytes>,
    foot: Option<Foot>,
    /// Parts that are under way.
    under_way: u32,
    /// The next entry to be looked at.
    next: usize,
    /// Bytes that may still be copied.
    budget: u64,
    /// Something that is to be kept could not be copied: the victim stays as it is.
    is_aborted: bool,
    /// That has happened: there is no room to make room. Nothing is lost, and nothing more can be written.
    is_stuck: bool,
    /// Segments taken so far.
    taken: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    /// Its first and last block are read.
    Ends,
    /// Its summary is read.
    Summary,
    /// Records are copied.
    Copying,
    /// Until the copies are on the disk for good.
    Settling(u64),
    /// Its head is erased.
    Erasing,
    /// That is made durable.
    Flushing,
    /// Until nobody reads it any more.
    Leaving,
}

/// Which part of a victim.
#[derive(Debug)]
pub(super) enum Part {
    First,
    Foot,
    Summary,
    Record { entry: usize, blocks: Vec<Bytes> },
    Erased,
    Flushed,
}

impl Reclaim {
    /// True while a segment may come free.
    pub fn has_hope(&self, log: &mut Log, keep: Keep) -> bool {
        let is_under_way = self.step != Step::Idle || log.is_settling();
        let may_begin = keep == Keep::WhatIsUsed || log.emptiest_below(FULL_SHARE).is_some();
        !log.has_failed() && !self.is_stuck && (is_under_way || may_begin)
    }
}

impl Engine {
    /// Goes on as far as that is possible without an answer of the disk.
    pub(super) fn advance_reclaim(&mut self) {
        if self.recovery.is_some() {
            // What is valid in a segment is not known before.
            return;
        }
        loop {
            let Some(flash) = &mut self.flash else { return };
            let has_advanced = match flash.reclaim.step {
                Step::Idle => flash.begin(self.settings.keep),
                Step::Copying => self.copy_some(),
                Step::Settling(point) if flash.log.durable() >= point => {
                    flash.erase();
                    true
                }
                Step::Leaving if flash.log.readers(flash.reclaim.victim) == 0 => {
                    flash.log.release(flash.reclaim.victim);
                    flash.reclaim.step = Step::Idle;
                    self.figures.reclaimed += 1;
                    true
                }
                _ => false,
            };
            if !has_advanced {
                return;
            }
        }
    }

    /// Looks at entries of the summary; false if there is nothing more to do at the moment.
    fn copy_some(&mut self) -> bool {
        loop {
            let Some(flash) = &mut self.flash else { return false };
            let reclaim = &mut flash.reclaim;
            if reclaim.under_way >= MOST_COPIES || flash.log.is_busy() {
                return false;
            }
            let Some(&entry) = reclaim.entries.get(reclaim.next) else {
                if reclaim.under_way == 0 && reclaim.is_aborted {
                    (reclaim.step, reclaim.is_stuck) = (Step::Idle, true);
                    return false;
                }
                if reclaim.under_way == 0 {
                    let point = flash.log.sync();
                    flash.wanted = flash.wanted.max(point);
                    flash.reclaim.step = Step::Settling(point);
                    return true;
                }
                return false;
            };
            reclaim.next += 1;
            let at = reclaim.next - 1;
            self.consider(at, entry);
        }
    }

    /// What becomes of a record of the victim.
    fn consider(&mut self, at: usize, entry: Entry) {
        if entry.is_tombstone {
            return self.consider_tombstone(entry.hash);
        }
        let Some(flash) = &mut self.flash else { return };
        let place =
            place_of(flash.reclaim.victim, flash.log.segment_blocks(), entry.unit, u64::from(entry.bytes));
        let Some(known) = self.index.find(entry.hash) else { return };
        if let Place::Front { unit } = known.place {
            return self.consider_copy_in_memory(entry.hash, unit, place);
        }
        if known.place != place {
            return;
        }
        if entry.expires != 0 && entry.expires <= self.unix {
            self.figures.expired += 1;
            self.index.remove(entry.hash);
            return self.leave_victim(entry.hash, place);
        }
        let is_kept = match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => known.heat > 0 && self.takes_from_budget(u64::from(entry.bytes)),
        };
        let Some(flash) = self.flash.as_mut().filter(|_| is_kept) else { return };
        flash.reclaim.under_way += 1;
        let list = self.pool.list();
        flash.read_record(at, list);
    }

    fn abort(&mut self) {
        self.flash.iter_mut().for_each(|flash| flash.reclaim.is_aborted = true);
    }

    /// True if a cache may still copy so many bytes from its victim.
    fn takes_from_budget(&mut self, bytes: u64) -> bool {
        let Some(flash) = &mut self.flash else { return false };
        let left = flash.reclaim.budget.checked_sub(bytes);
        flash.reclaim.budget = left.unwrap_or(flash.reclaim.budget);
        left.is_some()
    }

    /// Its item is in memory as well: there it is from now on alone, or gets another place on flash.
    fn consider_copy_in_memory(&mut self, hash: KeyHash, unit: u32, place: Place) {
        let header = self.front.header(unit);
        if header.home != place.encode() {
            return;
        }
        let is_kept = match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => {
                self.settings.writes_at_once() && self.takes_from_budget(header.record_bytes())
            }
        };
        let copy = if is_kept { self.append_from_front(hash, unit, Purpose::Move) } else { None };
        if copy.is_none() && self.settings.keep == Keep::Everything {
            return self.abort();
        }
        let home = copy.map_or(0, Place::encode);
        self.front.set_header(unit, &Header { home, ..header });
        self.leave_victim(hash, place);
    }

    /// A record of the victim is not valid any more. An older one could come back with the victim gone, unless a tombstone says otherwise.
    fn leave_victim(&mut self, hash: KeyHash, place: Place) {
        let (Some(flash), Place::Log { unit, .. }) = (&mut self.flash, place) else { return };
        flash.log.forget(unit);
        let (victim, sequence) = (flash.reclaim.victim, flash.log.sequence(flash.reclaim.victim));
        let is_elsewhere = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        if !is_elsewhere && flash.log.needs_tombstone(sequence, victim) {
            self.figures.tombstones += 1;
            flash.reclaim.is_aborted |=
                !flash.log.bury(self.now, hash, sequence, Purpose::Move, &mut self.pool);
        }
    }

    fn front_home(&self, known: Known) -> Option<u64> {
        match known.place {
            Place::Front { unit } => Some(self.front.header(unit).home),
            Place::Log { .. } => None,
        }
    }

    fn consider_tombstone(&mut self, hash: KeyHash) {
        let is_superseded = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        let (victim, buried) = (flash.reclaim.victim, flash.log.buried(flash.reclaim.victim));
        if !is_superseded && flash.log.needs_tombstone(buried, victim) {
            self.figures.tombstones += 1;
            flash.reclaim.is_aborted |=
                !flash.log.bury(self.now, hash, buried, Purpose::Move, &mut self.pool);
        }
    }

    /// The disk has answered.
    pub(super) fn note_reclaimed(&mut self, part: Part, is_good: bool, mut data: Vec<Bytes>) {
        self.figures.failed_reads += u64::from(!is_good);
        let Some(flash) = &mut self.flash else { return };
        match part {
            Part::First if is_good => flash.reclaim.first = data.remove(0),
            Part::Foot if is_good => flash.reclaim.foot = Foot::decode(&data[0], flash.log.store()),
            Part::Summary if is_good => flash.reclaim.summary.append(&mut data),
            Part::Record { entry, blocks } => return self.note_record(entry, blocks, is_good, data),
            _ => {}
        }
        self.pool.take_back(data);
        let Some(flash) = &mut self.flash else { return };
        flash.reclaim.under_way -= 1;
        if flash.reclaim.under_way > 0 {
            return;
        }
        match flash.reclaim.step {
            Step::Ends => flash.read_summary(),
            Step::Summary => flash.take_summary(&mut self.figures.damaged),
            Step::Erasing => flash.make_erased_durable(),
            Step::Flushing => flash.reclaim.step = Step::Leaving,
            _ => {}
        }
        if self.flash.as_ref().is_some_and(|flash| flash.reclaim.step == Step::Leaving) {
            self.give_up_rest();
        }
    }

    /// A record that is to be kept, or a part of it.
    fn note_record(&mut self, at: usize, mut blocks: Vec<Bytes>, is_good: bool, mut data: Vec<Bytes>) {
        blocks.append(&mut data);
        self.pool.take_back(data);
        let Some(flash) = &mut self.flash else { return };
        let entry = flash.reclaim.entries[at];
        let offset = (u64::from(entry.unit) * UNIT % BLOCK_BYTES) as usize;
        let needed = (offset + entry.bytes as usize).div_ceil(BLOCK_BYTES as usize);
        if is_good && blocks.len() < needed {
            return flash.read_record(at, blocks);
        }
        flash.reclaim.under_way -= 1;
        if is_good {
            self.copy(entry, &blocks, offset);
        }
        self.pool.take_back(blocks);
    }

    fn copy(&mut self, entry: Entry, blocks: &[Bytes], offset: usize) {
        let Some(flash) = &mut self.flash else { return };
        let (victim, segment_blocks) = (flash.reclaim.victim, flash.log.segment_blocks());
        let (sequence, within) = (flash.log.sequence(victim), u64::from(segment_blocks) * BLOCK_BYTES);
        let place = place_of(victim, segment_blocks, entry.unit, u64::from(entry.bytes));
        let Some(known) = self.index.find(entry.hash) else { return };
        if let Place::Front { unit } = known.place {
            // It was asked for while it was read, and came to memory.
            return self.consider_copy_in_memory(entry.hash, unit, place);
        }
        if known.place != place {
            return;
        }
        let header = record_in(blocks, offset, sequence, within);
        let Some(header) = header.filter(|header| is_intact(blocks, offset, header)) else {
            self.figures.damaged += 1;
            return;
        };
        if header.is_expired(self.unix) {
            self.figures.expired += 1;
            self.index.remove(entry.hash);
            return self.leave_victim(entry.hash, place);
        }
        let mut key = [0; 256];
        let key = super::fetch::key_in(blocks, offset, &header, &mut key);
        let value = Value::Blocks { blocks, at: offset + header.value_at(), bytes: header.value as usize };
        let state = header.state.without(State::FETCHED);
        let record = Record { header: Header { state, ..header }, key, value, hash: entry.hash };
        let Some(flash) = &mut self.flash else { return };
        let copy = flash.log.append(self.now, &record, Purpose::Move, &mut self.pool);
        let Some(copy) = copy else {
            flash.reclaim.is_aborted |= self.settings.keep == Keep::Everything;
            return;
        };
        self.index.set(entry.hash, Known { place: copy, heat: known.heat.saturating_sub(1) });
        if let Place::Log { unit, .. } = place {
            flash.log.forget(unit);
        }
        self.figures.copied += header.record_bytes();
    }

    /// The index forgets what is left in the victim.
    fn give_up_rest(&mut self) {
        let Some(flash) = &mut self.flash else { return };
        let (victim, segment_blocks) = (flash.reclaim.victim, flash.log.segment_blocks());
        let entries = std::mem::take(&mut flash.reclaim.entries);
        if flash.reclaim.foot.is_none() {
            self.search_for(victim);
        }
        for entry in &entries {
            let place = place_of(victim, segment_blocks, entry.unit, u64::from(entry.bytes));
            match self.index.find(entry.hash) {
                Some(known) if known.place == place => {
                    self.index.remove(entry.hash);
                    self.figures.evicted += 1;
                }
                Some(Known { place: Place::Front { unit }, .. }) => {
                    self.forget_home(unit, |home| home == place);
                }
                _ => {}
            }
        }
        if let Some(flash) = &mut self.flash {
            flash.reclaim.entries = entries;
        }
    }

    /// The summary of a victim could not be read: the whole index is searched for what points there.
    fn search_for(&mut self, victim: u32) {
        let Some(flash) = &self.flash else { return };
        let log = &flash.log;
        let is_there =
            |place: Place| matches!(place, Place::Log { unit, .. } if log.segment_of(unit) == victim);
        self.figures.evicted += self.index.retain(|place| !is_there(place));
        let in_memory = |place: Place| if let Place::Front { unit } = place { Some(unit) } else { None };
        let units: Vec<u32> = self.index.places().filter_map(in_memory).collect();
        let segment_blocks = u64::from(log.segment_blocks());
        let is_there = |place: Place| matches!(place, Place::Log { unit, .. } if unit / UNITS / segment_blocks == u64::from(victim));
        units.into_iter().for_each(|unit| self.forget_home(unit, is_there));
    }

    fn forget_home(&mut self, unit: u32, is_gone: impl Fn(Place) -> bool) {
        let header = self.front.header(unit);
        if header.home != 0 && is_gone(Place::decode(header.home)) {
            self.front.set_header(unit, &Header { home: 0, ..header });
        }
    }
}

impl Flash {
    /// Chooses a victim, if room is needed; false if there is none.
    fn begin(&mut self, keep: Keep) -> bool {
        if !self.log.is_short() || self.log.has_failed() || self.reclaim.is_stuck {
            return false;
        }
        let victim = match keep {
            Keep::WhatIsUsed => self.log.oldest(),
            Keep::Everything => self.log.emptiest_below(FULL_SHARE).map(|emptiest| {
                // Tombstones are needed as long as there is something older: now and then that goes on.
                let is_turn = self.reclaim.taken.is_multiple_of(OLDEST_EVERY) && self.log.has_tombstones();
                self.log.oldest().filter(|_| is_turn).unwrap_or(emptiest)
            }),
        };
        let Some(victim) = victim else { return false };
        let budget = u64::from(self.log.segment_blocks()) * BLOCK_BYTES / 2;
        let reclaim = &mut self.reclaim;
        *reclaim = Reclaim {
            step: Step::Ends,
            victim,
            taken: reclaim.taken + 1,
            budget,
            entries: std::mem::take(&mut reclaim.entries),
            summary: std::mem::take(&mut reclaim.summary),
            ..Reclaim::default()
        };
        reclaim.entries.clear();
        reclaim.summary.clear();
        let first = self.log.first_block(victim);
        let last = first + u64::from(self.log.segment_blocks()) - 1;
        self.read(Part::First, first, 1, Vec::new());
        self.read(Part::Foot, last, 1, Vec::new());
        true
    }

    fn read(&mut self, part: Part, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.reclaim.under_way += 1;
        self.jobs.read(Job::Reclaim(part), Haste::Later, block, blocks, list);
    }

    fn read_summary(&mut self) {
        let foot = self.reclaim.foot.filter(|foot| foot.sequence == self.log.sequence(self.reclaim.victim));
        self.reclaim.foot = foot;
        let Some(foot) = foot else { return self.erase() };
        self.reclaim.step = Step::Summary;
        let end = self.log.first_block(self.reclaim.victim) + u64::from(self.log.segment_blocks());
        let first = end - summary_blocks(foot.entries as usize);
        self.read_summary_from(first, end);
    }

    /// One piece after the other, as they are needed in order.
    fn read_summary_from(&mut self, first: u64, end: u64) {
        let count = (end - first).min(u64::from(self.jobs.most_blocks()));
        self.read(Part::Summary, first, count as u32, Vec::new());
    }

    fn take_summary(&mut self, damaged: &mut u64) {
        let Some(foot) = self.reclaim.foot else { return self.erase() };
        let (have, needed) = (self.reclaim.summary.len() as u64, summary_blocks(foot.entries as usize));
        if (1..needed).contains(&have) {
            let end = self.log.first_block(self.reclaim.victim) + u64::from(self.log.segment_blocks());
            return self.read_summary_from(end - needed + have, end);
        }
        self.reclaim.entries = entries_in(&self.reclaim.summary, &foot);
        if self.reclaim.entries.len() != foot.entries as usize {
            *damaged += 1;
            self.reclaim.foot = None;
            return self.erase();
        }
        self.reclaim.step = Step::Copying;
    }

    /// Reads on in a record of which some blocks are there.
    fn read_record(&mut self, at: usize, blocks: Vec<Bytes>) {
        let entry = self.reclaim.entries[at];
        let start = u64::from(entry.unit) * UNIT;
        let needed = (start % BLOCK_BYTES + u64::from(entry.bytes)).div_ceil(BLOCK_BYTES);
        let have = blocks.len() as u64;
        let count = (needed - have).min(u64::from(self.jobs.most_blocks())) as u32;
        let block = self.log.first_block(self.reclaim.victim) + start / BLOCK_BYTES + have;
        let part = Part::Record { entry: at, blocks };
        self.jobs.read(Job::Reclaim(part), Haste::Later, block, count, Vec::new());
    }

    fn erase(&mut self) {
        self.reclaim.step = Step::Erasing;
        let mut first = std::mem::take(&mut self.reclaim.first);
        first.as_mut_slice()[..Head::BYTES].fill(0);
        self.reclaim.under_way += 1;
        let block = self.log.first_block(self.reclaim.victim);
        self.jobs.write(Job::Reclaim(Part::Erased), Haste::Later, block, vec![first]);
    }

    fn make_erased_durable(&mut self) {
        if !self.log.has_volatile_cache() {
            self.reclaim.step = Step::Leaving;
            return;
        }
        self.reclaim.step = Step::Flushing;
        self.reclaim.under_way += 1;
        self.jobs.flush(Job::Reclaim(Part::Flushed), Haste::Later);
    }
}

/// The entries of a summary, none if it is not intact.
fn entries_in(blocks: &[Bytes], foot: &Foot) -> Vec<Entry> {
    if !is_summary(blocks, foot) {
        return Vec::new();
    }
    let all = blocks.iter().flat_map(|block| block.as_slice().chunks_exact(Entry::BYTES));
    all.take(foot.entries as usize).map(Entry::decode).collect()
}

/// Records that are copied at a time.
const MOST_COPIES: u32 = 8;
/// Every so-manieth victim is the oldest segment, while tombstones wait for that.
const OLDEST_EVERY: u64 = 4;
/// In thousandths: a store is full when even its emptiest segment is.
const FULL_SHARE: u32 = 950;
