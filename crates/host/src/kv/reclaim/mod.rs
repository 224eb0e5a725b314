//! Segments of the log that are used again.
//!
//! In steps: its summary is read, or all of it if that is damaged; records that are to be kept are copied to
//! the end of the log; when the copies are on the disk both its ends say that it is free, so that nothing in
//! it is believed any more; then the index forgets what was left in it, and it is free. In this order a power
//! cut at any moment loses nothing that was kept, and brings nothing back that was deleted.
//!
//! A disk that is slow to make anything durable (an array in epochs takes two rounds of its token) makes most
//! of these steps long, not busy. So several segments are under way at a time, the more the fewer are free,
//! and wait for the same flushes. Records that are to be copied are read together with their neighbours.
//!
//! A cache gives up the oldest segment and keeps what was asked for since it was written (FIFO with
//! reinsertion, the main queue of S3-FIFO), at most half of it. A store takes the segment with the fewest
//! valid records (greedy) and keeps those. What has expired is not even read.

mod copying;
mod steps;

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::index::Entry as Known;
use super::log::format::{End, Entry, Foot, Head, UNITS};
use super::log::{Log, SegmentId};
use super::place::Place;
use super::record::Header;
use super::search::{Search, Searched};
use super::settings::Keep;
use super::versions::Versions;
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use std::ops::{Index, IndexMut, Range};

/// All that is done at the moment.
#[derive(Debug, Default)]
pub(super) struct Reclaims {
    places: [Reclaim; MOST_VICTIMS],
    /// Something that is to be kept could not be copied: there is no room to make room. Nothing is lost, and
    /// nothing more can be written.
    is_stuck: bool,
    /// Segments taken so far.
    taken: u64,
}

/// What is done with one segment.
#[derive(Debug, Default)]
pub(super) struct Reclaim {
    step: Step,
    victim: SegmentId,
    entries: Vec<Entry>,
    /// Which of them are being copied.
    chosen: Vec<bool>,
    /// The first block of the victim, to be written back without its head.
    first: Bytes,
    /// The blocks of its summary that have come, or of all of it.
    summary: Vec<Bytes>,
    /// The copy of which all is read, if it is a certain one.
    copy: Option<u8>,
    versions: Versions,
    foot: Option<Foot>,
    /// Parts that are under way.
    under_way: u32,
    /// The next entry to be looked at.
    next: usize,
    /// Bytes that may still be copied.
    budget: u64,
    /// Something that is to be kept could not be copied: the victim stays as it is.
    is_aborted: bool,
    /// Something that is to be kept could not be read: the victim stays as it is, and is not taken again.
    is_unreadable: bool,
    /// Reads that have failed in this step.
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    /// Its first and last block are read.
    Ends,
    /// Its summary is read.
    Summary,
    /// All of it is read, because its summary is damaged.
    Whole,
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
    /// The copy that is read, if it is a certain one.
    copy: Option<u8>,
    versions: Versions,
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
        !log.has_failed() && !log.is_full() && !self.is_stuck && (is_under_way || may_begin)
    }
}

impl Engine {
    /// Goes on as far as that is possible without an answer of the disk.
    pub(super) fn advance_reclaim(&mut self) {
        if self.recovery.is_some() {
            // What is valid in a segment is not known before.
            return;
        }
        let mut has_advanced = self.flash.is_some();
        while has_advanced {
            has_advanced = false;
            for slot in 0..MOST_VICTIMS {
                has_advanced |= self.advance_victim(slot);
            }
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

    /// The disk has answered.
    pub(super) fn note_reclaimed(&mut self, slot: usize, part: Part, is_good: bool, mut data: Vec<Bytes>) {
        self.figures.failed_reads += u64::from(!is_good);
        let Some(flash) = &mut self.flash else { return };
        match part {
            Part::Erased | Part::Flushed => flash.log.note_erased(is_good),
            Part::First if is_good => flash.reclaims[slot].first = data.remove(0),
            Part::Foot if is_good => {
                let end = End::last(&data[0], flash.log.end_of(flash.reclaims[slot].victim));
                flash.reclaims[slot].foot = if let End::Foot(foot) = end { Some(foot) } else { None };
            }
            Part::Summary if is_good => flash.reclaims[slot].summary.append(&mut data),
            Part::Run(run) => return self.note_run(slot, run, is_good, data),
            _ => flash.reclaims[slot].failures += 1,
        }
        self.pool.take_back(data);
        let Some(flash) = &mut self.flash else { return };
        flash.reclaims[slot].under_way -= 1;
        if flash.reclaims[slot].under_way > 0 {
            return;
        }
        let step = flash.reclaims[slot].step;
        match step {
            Step::Ends => flash.read_summary(slot),
            Step::Summary => flash.take_summary(slot),
            Step::Whole if flash.reclaims[slot].failures > MOST_FAILURES => {
                match flash.read_next_copy(slot) || flash.take_version(slot) {
                    true if flash.reclaims[slot].under_way == 0 => self.search_victim(slot),
                    true => {}
                    false => self.note_loss(slot, 0),
                }
            }
            Step::Whole if flash.read_on_whole(slot) => {}
            Step::Whole => self.search_victim(slot),
            Step::Erasing | Step::Flushing if flash.log.has_failed() => {}
            Step::Erasing => flash.make_erased_durable(slot),
            Step::Flushing => flash.reclaims[slot].step = Step::Leaving,
            _ => {}
        }
        if self.flash.as_ref().is_some_and(|flash| flash.reclaims[slot].step == Step::Leaving) {
            self.give_up_rest(slot);
        }
    }

    /// All of a victim was read, because its summary is damaged.
    fn search_victim(&mut self, slot: usize) {
        let Some(flash) = &mut self.flash else { return };
        let victim = flash.reclaims[slot].victim;
        let first = End::first(&flash.reclaims[slot].first, flash.log.end_of(victim));
        let is_durable = !matches!(first, End::Head(Head { is_cut: true, .. }));
        let (salt, sequence) = (flash.log.salt(victim), flash.log.sequence(victim));
        let search = Search { seed: self.seed, salt, sequence, is_durable };
        let Reclaim { summary, versions, .. } = &mut flash.reclaims[slot];
        search.combine(summary, versions);
        let Searched { entries, hole, is_torn, .. } = search.search(summary, &[]);
        if (hole.is_some() || is_torn) && flash.read_next_copy(slot) {
            return;
        }
        if let Some(at) = hole {
            return self.note_loss(slot, at as u64 / BLOCK_BYTES);
        }
        let block = flash.log.first_block(victim);
        let foot = Foot { sequence, entries: entries.len() as u32, ..Foot::default() };
        flash.reclaims[slot].foot = Some(foot);
        flash.begin_copying(slot, entries);
        self.figures.damaged_segments += 1;
        self.damages.add(Damage { block, what: DamageKind::Summary });
    }

    /// It cannot be said what all was in a victim. A store leaves it as it is; a cache forgets it, with
    /// everything older, of which there may have been newer versions in it.
    fn note_loss(&mut self, slot: usize, block: u64) {
        let Some(flash) = &mut self.flash else { return };
        let victim = flash.reclaims[slot].victim;
        self.figures.damaged_segments += 1;
        let block = flash.log.first_block(victim) + block;
        self.damages.add(Damage { block, what: DamageKind::Hole(self.settings.keep.into()) });
        if self.settings.keep == Keep::Everything {
            return flash.set_aside(slot);
        }
        let sequence = flash.log.sequence(victim);
        flash.log.disbelieve(sequence);
        flash.superblock.flushed = flash.superblock.flushed.max(sequence);
        flash.has_dirty_superblock = true;
        let point = self.sync();
        self.flash.iter_mut().for_each(|flash| flash.reclaims[slot].step = Step::Settling(point));
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
            let place = victim.place_of(segment_blocks, entry.range());
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
    fn search_for(&mut self, victim: SegmentId) {
        let Some(flash) = &self.flash else { return };
        let log = &flash.log;
        let is_there =
            |place: Place| matches!(place, Place::Log { unit, .. } if log.segment_of(unit) == victim);
        self.figures.evicted += self.index.retain(|place| !is_there(place));
        let in_memory = |place: Place| if let Place::Front { unit } = place { Some(unit) } else { None };
        let units: Vec<u32> = self.index.places().filter_map(in_memory).collect();
        let segment_blocks = u64::from(log.segment_blocks());
        let is_there = |place: Place| matches!(place, Place::Log { unit, .. } if unit / UNITS / segment_blocks == u64::from(victim.get()));
        units.into_iter().for_each(|unit| self.forget_home(unit, is_there));
    }

    fn forget_home(&mut self, unit: u32, is_gone: impl Fn(Place) -> bool) {
        let header = self.front.header(unit);
        if header.home != 0 && is_gone(Place::decode(header.home)) {
            self.front.set_header(unit, &Header { home: 0, ..header });
        }
    }
}

/// The entries of a summary.
fn entries_in(blocks: &[Bytes], foot: &Foot) -> Vec<Entry> {
    let all = blocks.iter().flat_map(|block| block.as_slice().chunks_exact(Entry::BYTES));
    all.take(foot.entries as usize).map(Entry::decode).collect()
}

/// So many reads of a victim's records, or of all of it, may fail, and are tried again.
const MOST_FAILURES: u32 = 8;
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
