//! Reclaim of log segments (garbage collection).
//!
//! Steps: read the victim's summary, or all of it if that is damaged; copy the records to keep to the end of
//! the log; once the copies are durable, mark both ends of the victim as free, which invalidates its records;
//! drop its remaining entries from the index; free it. In this order a power loss at any moment loses no
//! record that was kept and resurrects none that was deleted.
//!
//! On a disk with slow flushes (an `epochs` array takes two token rounds), most of these steps are long but
//! idle. So several victims are in progress at a time, more the fewer segments are free, and share flushes.
//! Records to copy are read together with their neighbours.
//!
//! A cache first empties segments of which every record has expired or was replaced. Then it evicts the
//! oldest segment and keeps records read since they were written (FIFO with reinsertion, the main queue of
//! S3-FIFO), at most half of it. A store picks the segment with the fewest valid records (greedy) and keeps
//! those. Expired records are not even read.

mod copying;
mod steps;

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::index::Entry as Known;
use super::log::format::{End, Entry, Foot, Head, UNITS};
use super::log::{Log, SegmentId, WriteNumber};
use super::place::{FrontUnit, Place};
use super::record::Header;
use super::search::{Search, Searched};
use super::settings::Keep;
use super::versions::Versions;
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use std::ops::{Index, IndexMut, Range};
use tailcut_base::cast::to_u32;

/// All reclaims in progress.
#[derive(Debug, Default)]
pub(super) struct Reclaims {
    places: [Reclaim; MOST_VICTIMS],
    /// A record to keep could not be copied for lack of space. Nothing is lost, but nothing more can be
    /// written.
    is_stuck: bool,
    /// Number of victims chosen so far.
    taken: u64,
    /// Number of times that a full disk has had room again.
    rooms: u64,
}

/// The reclaim of one segment.
#[derive(Debug, Default)]
pub(super) struct Reclaim {
    step: Step,
    victim: SegmentId,
    entries: Vec<Entry>,
    /// For each entry, whether it is being copied.
    chosen: Vec<bool>,
    /// First block of the victim, to be rewritten without its head.
    first: Bytes,
    /// Blocks read of the summary, or of the whole segment.
    summary: Vec<Bytes>,
    /// The copy that the whole segment is read from; None for any.
    copy: Option<u8>,
    versions: Versions,
    foot: Option<Foot>,
    /// Requests in flight.
    under_way: u32,
    /// Index of the next entry to process.
    next: usize,
    /// Bytes that may still be copied.
    budget: u64,
    /// A record to keep could not be copied: the victim stays as it is.
    is_aborted: bool,
    /// [`Reclaims::rooms`] when it began.
    rooms: u64,
    /// A record to keep could not be read: the victim stays as it is and is not chosen again.
    is_unreadable: bool,
    /// Failed reads in this step.
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    /// Reading its first and last block.
    Ends,
    /// Reading its summary.
    Summary,
    /// Reading all of it, because its summary is damaged.
    Whole,
    /// Copying records.
    Copying,
    /// Waiting until the copies are durable up to this write.
    Settling(WriteNumber),
    /// Waiting until its ends are erased durably, up to this write.
    Erasing(WriteNumber),
    /// Waiting for the last reads in it.
    Leaving,
}

/// The part of a victim that a request reads.
#[derive(Debug)]
pub(super) enum Part {
    First,
    Foot,
    Summary,
    Run(Run),
}

/// Neighbouring blocks with records to copy.
#[derive(Debug)]
pub(super) struct Run {
    /// The summary entries that may be among them.
    entries: Range<usize>,
    /// Block range in the segment.
    within: Range<u64>,
    /// Blocks read so far.
    blocks: Vec<Bytes>,
    /// The copy being read; None for any.
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
    /// The disk was full, and has room again.
    pub(super) fn note_room(&mut self) {
        self.rooms += 1;
    }

    /// Number of segments being reclaimed.
    fn under_way(&self) -> usize {
        self.places.iter().filter(|reclaim| reclaim.step != Step::Idle).count()
    }

    /// True while a segment may be freed.
    pub(super) fn has_hope(&self, log: &mut Log, keep: Keep) -> bool {
        let is_under_way = self.under_way() > 0 || log.is_settling();
        let may_begin = keep == Keep::WhatIsUsed || log.emptiest_below(FULL_SHARE).is_some();
        !log.has_failed() && !log.is_full() && !self.is_stuck && (is_under_way || may_begin)
    }
}

impl Engine {
    /// Advances all reclaims as far as possible without a completion from the disk.
    pub(super) fn advance_reclaim(&mut self) {
        if self.recovery.is_some() {
            // Which records are valid is unknown until recovery is complete.
            return;
        }
        let Some(flash) = &self.flash else { return };
        let under_way = flash.reclaims.under_way();
        let mut has_advanced = under_way > 0 || flash.wants_victim(under_way);
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
            Step::Idle => flash.begin(slot, self.settings.keep, self.unix),
            Step::Copying => self.copy_some(slot),
            Step::Settling(point) if flash.log.durable() >= point => {
                flash.erase(slot);
                true
            }
            Step::Erasing(point) if flash.log.durable() >= point => {
                flash.reclaims[slot].step = Step::Leaving;
                self.give_up_rest(slot);
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

    /// A request for a victim has completed.
    pub(super) fn note_reclaimed(&mut self, slot: usize, part: Part, is_good: bool, mut data: Vec<Bytes>) {
        self.figures.failed_reads += u64::from(!is_good);
        let Some(flash) = &mut self.flash else { return };
        match part {
            Part::First if is_good => flash.reclaims[slot].first = data.remove(0),
            Part::Foot if is_good => {
                let end = End::last(&data[0], flash.log.end_of(flash.reclaims[slot].victim));
                flash.reclaims[slot].foot = if let End::Foot(foot) = end { Some(foot) } else { None };
            }
            Part::Summary if is_good => flash.reclaims[slot].summary.append(&mut data),
            Part::Run(run) => return self.note_run(slot, run, is_good, data),
            _ => flash.reclaims[slot].failures += 1,
        }
        self.pool.recycle(data);
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
            _ => {}
        }
    }

    /// Searches a victim for records: all of it was read, because its summary is damaged.
    fn search_victim(&mut self, slot: usize) {
        let Some(flash) = &mut self.flash else { return };
        let victim = flash.reclaims[slot].victim;
        let first = End::first(&flash.reclaims[slot].first, flash.log.end_of(victim));
        let is_durable = !matches!(first, End::Head(Head { is_cut: true, .. }));
        let (salt, sequence) = (flash.log.salt(victim), flash.log.sequence(victim));
        let search = Search {
            seed: self.seed,
            salt,
            sequence,
            durable_blocks: if is_durable { Search::ALL } else { 0 },
        };
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
        let foot = Foot { sequence, entries: to_u32(entries.len()), ..Foot::default() };
        flash.reclaims[slot].foot = Some(foot);
        flash.begin_copying(slot, entries);
        self.figures.damaged_segments += 1;
        self.damages.add(Damage { block, what: DamageKind::Summary });
    }

    /// Some records of a victim are unknown. A store leaves the victim as it is; a cache drops it with
    /// everything older, since newer versions may have been in it.
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

    /// Drops the victim's remaining entries from the index.
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
                    self.tiers.evicted_on_flash += 1;
                }
                Some(Known { place: Place::Front { unit }, .. }) => {
                    self.forget_home(unit, |home| home == place);
                }
                _ => {}
            }
        }
        if let Some(flash) = &mut self.flash {
            flash.reclaims[slot].entries = entries;
            // Reads that are under way may put off its release.
            flash.log.void(victim);
        }
    }

    /// Drops all index entries that point to a victim whose summary was unreadable.
    fn search_for(&mut self, victim: SegmentId) {
        let Some(flash) = &self.flash else { return };
        let log = &flash.log;
        let is_there =
            |place: Place| matches!(place, Place::Log { unit, .. } if log.segment_of(unit) == victim);
        let gone = self.index.retain(|place| !is_there(place));
        self.figures.evicted += gone;
        self.tiers.evicted_on_flash += gone;
        let in_memory = |place: Place| if let Place::Front { unit } = place { Some(unit) } else { None };
        let units: Vec<FrontUnit> = self.index.places().filter_map(in_memory).collect();
        let segment_blocks = u64::from(log.segment_blocks());
        let is_there = |place: Place| matches!(place, Place::Log { unit, .. } if unit / UNITS / segment_blocks == u64::from(victim.get()));
        units.into_iter().for_each(|unit| self.forget_home(unit, is_there));
    }

    fn forget_home(&mut self, unit: FrontUnit, is_gone: impl Fn(Place) -> bool) {
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

/// Most failed reads of a victim's records, or of all of it; each is retried.
const MOST_FAILURES: u32 = 8;
/// Segments reclaimed at a time.
const MOST_VICTIMS: usize = 8;
/// Reads for copies per victim at a time: few, because user reads wait behind them.
const MOST_RUNS: u32 = 2;
/// Blocks per read for copies, 16 KiB, unless a record is longer. A user's read may wait for all of it at a
/// die or a channel.
const RUN_BLOCKS: u64 = 4;
/// One in this many victims is the oldest segment while tombstones are still needed.
const OLDEST_EVERY: u64 = 4;
/// Share of valid records in thousandths: a store is full when even its emptiest segment reaches it.
const FULL_SHARE: u32 = 950;
/// Share of valid records in thousandths below which a segment counts as dead.
const DEAD: u32 = 1;
