//! Segments of the log that are used again.
//!
//! In steps: its summary is read; records that are to be kept are copied to the end of the log; when the copies are on
//! the disk its head is erased, so that nothing in it is believed any more; then the index forgets what was left in it, and it
//! is free. In this order a power cut at any moment loses nothing that was kept, and brings nothing back that was deleted.
//!
//! A disk that is slow to make anything durable (an array in epochs takes two rounds of its token) makes most of these steps long, not busy. So several
//! segments are under way at a time, the more the fewer are free, and wait for the same flushes. Records that are to be copied are read together
//! with their neighbours.
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
use super::log::format::{Entry, Foot, Head, UNITS, summary_blocks};
use super::log::{Log, Purpose, Record, place_of};
use super::place::{Place, UNIT};
use super::record::{Header, State};
use super::settings::Keep;
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use std::ops::{Index, IndexMut, Range};

/// All that is done at the moment.
#[derive(Debug, Default)]
pub(super) struct Reclaims {
    places: [Reclaim; MOST_VICTIMS],
    /// Something that is to be kept could not be copied: there is no room to make room. Nothing is lost, and nothing more can be written.
    is_stuck: bool,
    /// Segments taken so far.
    taken: u64,
}

/// What is done with one segment.
#[derive(Debug, Default)]
pub(super) struct Reclaim {
    step: Step,
    victim: u32,
    entries: Vec<Entry>,
    /// Which of them are being copied.
    chosen: Vec<bool>,
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
    Run(Run),
    Erased,
    Flushed,
}

/// Neighbouring blocks with records that are copied.
#[derive(Debug)]
pub(super) struct Run {
    /// The entries of the summary that may be among them.
    entries: Range<usize>,
    /// Blocks of the segment.
    within: Range<u64>,
    /// Those that were read so far.
    blocks: Vec<Bytes>,
}

impl Index<usize> for Reclaims {
    type Output = Reclaim;
    fn index(&self, slot: usize) -> &Reclaim {
        &self.places[slot]
    }
}

impl IndexMut<usize> for Reclaims {
    fn index_mut(&mut self, slot: usize) -> &mut Reclaim {
        &mut self.places[slot]
    }
}

impl Reclaims {
    /// Segments that are under way.
    fn under_way(&self) -> usize {
        self.places.iter().filter(|reclaim| reclaim.step != Step::Idle).count()
    }

    /// True while a segment may come free.
    pub fn has_hope(&self, log: &mut Log, keep: Keep) -> bool {
        let is_under_way = self.under_way() > 0 || log.is_settling();
        let may_begin = keep == Keep::WhatIsUsed || log.emptiest_below(FULL_SHARE).is_some();
        !log.has_failed() && !self.is_stuck && (is_under_way || may_begin)
    }
}

impl Engine {
    /// Goes on as far as that is possible without an answer of the disk.
    pub(super) fn advance_reclaim(&mut self) {
        if self.flash.is_some() {
            while (0..MOST_VICTIMS).fold(false, |any, slot| self.advance_victim(slot) || any) {}
        }
    }

    fn advance_victim(&mut self, slot: usize) -> bool {
        let Some(flash) = &mut self.flash else { return false };
        match flash.reclaims[slot].step {
            Step::Idle => flash.begin(slot, self.settings.keep),
            Step::Copying => self.copy_some(slot),
            Step::Settling(point) if flash.log.durable() >= point => {
                flash.erase(slot);
                true
            }
            Step::Leaving if flash.log.readers(flash.reclaims[slot].victim) == 0 => {
                flash.log.release(flash.reclaims[slot].victim);
                flash.end(slot);
                self.figures.reclaimed += 1;
                true
            }
            _ => false,
        }
    }

    /// Looks at entries of the summary; false if there is nothing more to do at the moment.
    fn copy_some(&mut self, slot: usize) -> bool {
        loop {
            let Some(flash) = &mut self.flash else { return false };
            if flash.reclaims[slot].under_way >= MOST_RUNS || flash.log.is_busy() {
                return false;
            }
            if flash.reclaims[slot].next == flash.reclaims[slot].entries.len() {
                return flash.reclaims[slot].under_way == 0 && flash.end_copying(slot);
            }
            self.begin_run(slot);
        }
    }

    /// Looks for the next record that is to be copied, and reads it with those behind it.
    fn begin_run(&mut self, slot: usize) {
        let mut run: Option<Run> = None;
        loop {
            let Some(flash) = &mut self.flash else { return };
            let reclaim = &mut flash.reclaims[slot];
            let Some(&entry) = reclaim.entries.get(reclaim.next) else { break };
            let at = reclaim.next;
            let within = blocks_of(&entry);
            let fits = |run: &Run| within.end - run.within.start <= RUN_BLOCKS;
            if !run.as_ref().is_none_or(fits) {
                break;
            }
            reclaim.next += 1;
            if !self.consider(slot, entry) {
                continue;
            }
            let Some(flash) = &mut self.flash else { return };
            flash.reclaims[slot].chosen[at] = true;
            let run = run.get_or_insert_with(|| Run {
                entries: at..at,
                within: within.clone(),
                blocks: Vec::new(),
            });
            (run.entries.end, run.within.end) = (at + 1, run.within.end.max(within.end));
        }
        if let (Some(mut run), Some(flash)) = (run, &mut self.flash) {
            run.blocks = self.pool.list();
            flash.reclaims[slot].under_way += 1;
            flash.read_run(slot, run);
        }
    }

    /// What becomes of a record of the victim; true if it is to be copied.
    fn consider(&mut self, slot: usize, entry: Entry) -> bool {
        if entry.is_tombstone {
            self.consider_tombstone(slot, entry.hash);
            return false;
        }
        let Some(flash) = &mut self.flash else { return false };
        let victim = flash.reclaims[slot].victim;
        let place = place_of(victim, flash.log.segment_blocks(), entry.unit, u64::from(entry.bytes));
        let Some(known) = self.index.find(entry.hash) else { return false };
        if let Place::Front { unit } = known.place {
            self.consider_copy_in_memory(slot, entry.hash, unit, place);
            return false;
        }
        if known.place != place {
            return false;
        }
        if entry.expires != 0 && entry.expires <= self.unix {
            self.figures.expired += 1;
            self.index.remove(entry.hash);
            self.leave_victim(slot, entry.hash, place);
            return false;
        }
        match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => known.heat > 0 && self.takes_from_budget(slot, u64::from(entry.bytes)),
        }
    }

    fn abort(&mut self, slot: usize) {
        self.flash.iter_mut().for_each(|flash| flash.reclaims[slot].is_aborted = true);
    }

    /// True if a cache may still copy so many bytes from its victim.
    fn takes_from_budget(&mut self, slot: usize, bytes: u64) -> bool {
        let Some(flash) = &mut self.flash else { return false };
        let left = flash.reclaims[slot].budget.checked_sub(bytes);
        flash.reclaims[slot].budget = left.unwrap_or(flash.reclaims[slot].budget);
        left.is_some()
    }

    /// Its item is in memory as well: there it is from now on alone, or gets another place on flash.
    fn consider_copy_in_memory(&mut self, slot: usize, hash: KeyHash, unit: u32, place: Place) {
        let header = self.front.header(unit);
        if header.home != place.encode() {
            return;
        }
        let is_kept = match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => {
                self.settings.writes_at_once() && self.takes_from_budget(slot, header.record_bytes())
            }
        };
        let copy = if is_kept { self.append_from_front(hash, unit, Purpose::Move) } else { None };
        if copy.is_none() && self.settings.keep == Keep::Everything {
            return self.abort(slot);
        }
        let home = copy.map_or(0, Place::encode);
        self.front.set_header(unit, &Header { home, ..header });
        self.leave_victim(slot, hash, place);
    }

    /// A record of the victim is not valid any more. An older one could come back with the victim gone, unless a tombstone says otherwise.
    fn leave_victim(&mut self, slot: usize, hash: KeyHash, place: Place) {
        let (Some(flash), Place::Log { unit, .. }) = (&mut self.flash, place) else { return };
        flash.log.forget(unit);
        let (victim, sequence) =
            (flash.reclaims[slot].victim, flash.log.sequence(flash.reclaims[slot].victim));
        let is_elsewhere = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        if !is_elsewhere && flash.log.needs_tombstone(sequence, victim) {
            self.figures.tombstones += 1;
            flash.reclaims[slot].is_aborted |=
                !flash.log.bury(self.now, hash, sequence, Purpose::Move, &mut self.pool);
        }
    }

    fn front_home(&self, known: Known) -> Option<u64> {
        match known.place {
            Place::Front { unit } => Some(self.front.header(unit).home),
            Place::Log { .. } => None,
        }
    }

    fn consider_tombstone(&mut self, slot: usize, hash: KeyHash) {
        let is_superseded = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        let (victim, buried) = (flash.reclaims[slot].victim, flash.log.buried(flash.reclaims[slot].victim));
        if !is_superseded && flash.log.needs_tombstone(buried, victim) {
            self.figures.tombstones += 1;
            flash.reclaims[slot].is_aborted |=
                !flash.log.bury(self.now, hash, buried, Purpose::Move, &mut self.pool);
        }
    }

    /// The disk has answered.
    pub(super) fn note_reclaimed(&mut self, slot: usize, part: Part, is_good: bool, mut data: Vec<Bytes>) {
        self.figures.failed_reads += u64::from(!is_good);
        let Some(flash) = &mut self.flash else { return };
        match part {
            Part::First if is_good => flash.reclaims[slot].first = data.remove(0),
            Part::Foot if is_good => flash.reclaims[slot].foot = Foot::decode(&data[0], flash.log.store()),
            Part::Summary if is_good => flash.reclaims[slot].summary.append(&mut data),
            Part::Run(run) => return self.note_run(slot, run, is_good, data),
            _ => {}
        }
        self.pool.take_back(data);
        let Some(flash) = &mut self.flash else { return };
        flash.reclaims[slot].under_way -= 1;
        if flash.reclaims[slot].under_way > 0 {
            return;
        }
        match flash.reclaims[slot].step {
            Step::Ends => flash.read_summary(slot),
            Step::Summary => flash.take_summary(slot, &mut self.figures.damaged),
            Step::Erasing => flash.make_erased_durable(slot),
            Step::Flushing => flash.reclaims[slot].step = Step::Leaving,
            _ => {}
        }
        if self.flash.as_ref().is_some_and(|flash| flash.reclaims[slot].step == Step::Leaving) {
            self.give_up_rest(slot);
        }
    }

    /// Blocks with records that are to be kept, or a part of them.
    fn note_run(&mut self, slot: usize, mut run: Run, is_good: bool, mut data: Vec<Bytes>) {
        run.blocks.append(&mut data);
        self.pool.take_back(data);
        let Some(flash) = &mut self.flash else { return };
        let needed = run.within.end - run.within.start;
        if is_good && (run.blocks.len() as u64) < needed {
            return flash.read_run(slot, run);
        }
        flash.reclaims[slot].under_way -= 1;
        for at in run.entries.filter(|_| is_good) {
            let Some(flash) = &mut self.flash else { return };
            if flash.reclaims[slot].chosen[at] {
                let entry = flash.reclaims[slot].entries[at];
                let offset = u64::from(entry.unit) * UNIT - run.within.start * BLOCK_BYTES;
                self.copy(slot, entry, &run.blocks, offset as usize);
            }
        }
        self.pool.take_back(run.blocks);
    }

    fn copy(&mut self, slot: usize, entry: Entry, blocks: &[Bytes], offset: usize) {
        let Some(flash) = &mut self.flash else { return };
        let (victim, segment_blocks) = (flash.reclaims[slot].victim, flash.log.segment_blocks());
        let (sequence, within) = (flash.log.sequence(victim), u64::from(segment_blocks) * BLOCK_BYTES);
        let place = place_of(victim, segment_blocks, entry.unit, u64::from(entry.bytes));
        let Some(known) = self.index.find(entry.hash) else { return };
        if let Place::Front { unit } = known.place {
            // It has been asked for so often meanwhile that it is in memory as well.
            return self.consider_copy_in_memory(slot, entry.hash, unit, place);
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
            return self.leave_victim(slot, entry.hash, place);
        }
        let mut key = [0; 256];
        let key = super::fetch::key_in(blocks, offset, &header, &mut key);
        let value = Value::Blocks { blocks, at: offset + header.value_at(), bytes: header.value as usize };
        let state = header.state.without(State::FETCHED);
        let record = Record { header: Header { state, ..header }, key, value, hash: entry.hash };
        let Some(flash) = &mut self.flash else { return };
        let copy = flash.log.append(self.now, &record, Purpose::Move, &mut self.pool);
        let Some(copy) = copy else {
            flash.reclaims[slot].is_aborted |= self.settings.keep == Keep::Everything;
            return;
        };
        self.index.set(entry.hash, Known { place: copy, heat: known.heat.saturating_sub(1) });
        if let Place::Log { unit, .. } = place {
            flash.log.forget(unit);
        }
        self.figures.copied += header.record_bytes();
    }

    /// The index forgets what is left in the victim.
    fn give_up_rest(&mut self, slot: usize) {
        let Some(flash) = &mut self.flash else { return };
        let (victim, segment_blocks) = (flash.reclaims[slot].victim, flash.log.segment_blocks());
        let entries = std::mem::take(&mut flash.reclaims[slot].entries);
        if flash.reclaims[slot].foot.is_none() {
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
            flash.reclaims[slot].entries = entries;
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
    fn begin(&mut self, slot: usize, keep: Keep) -> bool {
        let under_way = self.reclaims.under_way();
        if !self.log.wants_victim(under_way) || self.log.has_failed() || self.reclaims.is_stuck {
            return false;
        }
        let taken = self.reclaims.taken;
        let victim = match keep {
            Keep::WhatIsUsed => self.log.oldest(),
            Keep::Everything => self.log.emptiest_below(FULL_SHARE).map(|emptiest| {
                // Tombstones are needed as long as there is something older: now and then that goes on.
                let is_turn = taken.is_multiple_of(OLDEST_EVERY) && self.log.has_tombstones();
                self.log.oldest().filter(|_| is_turn).unwrap_or(emptiest)
            }),
        };
        let Some(victim) = victim else { return false };
        self.reclaims.taken += 1;
        self.log.set_victim(victim, true);
        let budget = u64::from(self.log.segment_blocks()) * BLOCK_BYTES / 2;
        let reclaim = &mut self.reclaims[slot];
        *reclaim = Reclaim {
            step: Step::Ends,
            victim,
            budget,
            entries: std::mem::take(&mut reclaim.entries),
            chosen: std::mem::take(&mut reclaim.chosen),
            summary: std::mem::take(&mut reclaim.summary),
            ..Reclaim::default()
        };
        reclaim.entries.clear();
        reclaim.summary.clear();
        self.log.note_victims(under_way + 1);
        let first = self.log.first_block(victim);
        let last = first + u64::from(self.log.segment_blocks()) - 1;
        self.read(slot, Part::First, first, 1, Vec::new());
        self.read(slot, Part::Foot, last, 1, Vec::new());
        true
    }

    /// A victim is done with.
    fn end(&mut self, slot: usize) {
        self.reclaims[slot].step = Step::Idle;
        self.log.note_victims(self.reclaims.under_way());
    }

    /// All records are copied that are to be kept; false if that could not be done.
    fn end_copying(&mut self, slot: usize) -> bool {
        if self.reclaims[slot].is_aborted {
            self.reclaims.is_stuck = true;
            self.log.set_victim(self.reclaims[slot].victim, false);
            self.end(slot);
            return false;
        }
        let point = self.log.sync();
        self.wanted = self.wanted.max(point);
        self.reclaims[slot].step = Step::Settling(point);
        true
    }

    fn read(&mut self, slot: usize, part: Part, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.reclaims[slot].under_way += 1;
        self.jobs.read(Job::Reclaim(slot, part), Haste::Later, block, blocks, list);
    }

    fn read_summary(&mut self, slot: usize) {
        let foot = self.reclaims[slot]
            .foot
            .filter(|foot| foot.sequence == self.log.sequence(self.reclaims[slot].victim));
        self.reclaims[slot].foot = foot;
        let Some(foot) = foot else { return self.erase(slot) };
        self.reclaims[slot].step = Step::Summary;
        let end = self.log.first_block(self.reclaims[slot].victim) + u64::from(self.log.segment_blocks());
        let first = end - summary_blocks(foot.entries as usize);
        self.read_summary_from(slot, first, end);
    }

    /// One piece after the other, as they are needed in order.
    fn read_summary_from(&mut self, slot: usize, first: u64, end: u64) {
        let count = (end - first).min(u64::from(self.jobs.most_blocks()));
        self.read(slot, Part::Summary, first, count as u32, Vec::new());
    }

    fn take_summary(&mut self, slot: usize, damaged: &mut u64) {
        let Some(foot) = self.reclaims[slot].foot else { return self.erase(slot) };
        let (have, needed) =
            (self.reclaims[slot].summary.len() as u64, summary_blocks(foot.entries as usize));
        if (1..needed).contains(&have) {
            let end = self.log.first_block(self.reclaims[slot].victim) + u64::from(self.log.segment_blocks());
            return self.read_summary_from(slot, end - needed + have, end);
        }
        self.reclaims[slot].entries = entries_in(&self.reclaims[slot].summary, &foot);
        if self.reclaims[slot].entries.len() != foot.entries as usize {
            *damaged += 1;
            self.reclaims[slot].foot = None;
            return self.erase(slot);
        }
        let entries = self.reclaims[slot].entries.len();
        self.reclaims[slot].chosen.clear();
        self.reclaims[slot].chosen.resize(entries, false);
        self.reclaims[slot].step = Step::Copying;
    }

    /// Reads what is missing of a run.
    fn read_run(&mut self, slot: usize, run: Run) {
        let (have, needed) = (run.blocks.len() as u64, run.within.end - run.within.start);
        let count = (needed - have).min(u64::from(self.jobs.most_blocks())) as u32;
        let block = self.log.first_block(self.reclaims[slot].victim) + run.within.start + have;
        self.jobs.read(Job::Reclaim(slot, Part::Run(run)), Haste::Later, block, count, Vec::new());
    }

    fn erase(&mut self, slot: usize) {
        self.reclaims[slot].step = Step::Erasing;
        let mut first = std::mem::take(&mut self.reclaims[slot].first);
        first.as_mut_slice()[..Head::BYTES].fill(0);
        self.reclaims[slot].under_way += 1;
        let block = self.log.first_block(self.reclaims[slot].victim);
        self.jobs.write(Job::Reclaim(slot, Part::Erased), Haste::Later, block, vec![first]);
    }

    fn make_erased_durable(&mut self, slot: usize) {
        if !self.log.has_volatile_cache() {
            self.reclaims[slot].step = Step::Leaving;
            return;
        }
        self.reclaims[slot].step = Step::Flushing;
        self.reclaims[slot].under_way += 1;
        self.jobs.flush(Job::Reclaim(slot, Part::Flushed), Haste::Later);
    }
}

/// The blocks of its segment that a record touches.
fn blocks_of(entry: &Entry) -> Range<u64> {
    let start = u64::from(entry.unit) * UNIT;
    start / BLOCK_BYTES..(start + u64::from(entry.bytes)).div_ceil(BLOCK_BYTES)
}

/// The entries of a summary, none if it is not intact.
pub(super) fn entries_in(blocks: &[Bytes], foot: &Foot) -> Vec<Entry> {
    let bytes = foot.entries as usize * Entry::BYTES;
    let mut sum = 0;
    let mut left = bytes;
    for block in blocks {
        let count = left.min(BLOCK_BYTES as usize);
        sum = crc32c::crc32c_append(sum, &block.as_slice()[..count]);
        left -= count;
    }
    if left > 0 || sum != foot.checksum {
        return Vec::new();
    }
    let all = blocks.iter().flat_map(|block| block.as_slice().chunks_exact(Entry::BYTES));
    all.take(foot.entries as usize).map(Entry::decode).collect()
}

/// Segments that are made free at a time.
const MOST_VICTIMS: usize = 8;
/// Reads for copies of a victim at a time. Users wait for what is read, too, so these are few.
const MOST_RUNS: u32 = 2;
/// 16 KiB: so much is read at a time for copies, unless a record is longer. Who gets an item
/// may have to wait for all of it, at a chip or a bus.
const RUN_BLOCKS: u64 = 4;
/// Every so-manieth victim is the oldest segment, while tombstones wait for that.
const OLDEST_EVERY: u64 = 4;
/// In thousandths: a store is full when even its emptiest segment is.
const FULL_SHARE: u32 = 950;
