//! A store is made on a disk, or found there.
//!
//! Found is what superblocks and the two ends of each segment tell: which segments hold something. What they
//! hold is found by the engine, which serves meanwhile ([`super::recovery`]). Only the last segments, which
//! were not on the disk for good when the store came to its end, are looked through before: what is written
//! from now on says that they are ([`Head::durable`]), so they get summaries that can be believed first.
//!
//! A head says whether its segment is free or used, and for what. Where it is damaged, the other end is
//! believed. Where both are, the segment is searched for records, and everything that was written before the
//! last one of them, or before now if there is none, is in doubt ([`Superblock::doubted`]). So no single
//! damage makes a used segment a free one, or the other way round.

mod copies;
mod creating;
mod errors;

pub use errors::CannotOpen;

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::flash::{Flash, Timers};
use super::jobs::{Haste, Jobs};
use super::log::format::{End, EndOf, Foot, Head, NotOurs, Part, Superblock, summary_blocks};
use super::log::{Log, SegmentId, run_of};
use super::reclaim::Reclaims;
use super::record::Salt;
use super::recovery::{Found, Recovery};
use super::search::latest_sequence;
use super::settings::{Keep, Settings};
use crate::block::Bytes;
use crate::disk::{Disk, Request, Response};
use crate::planted::{Rule, holds};
use copies::{Judgement, Reread};
use std::collections::BTreeMap;
use tailcut_base::{Status, Time};

/// Whether a store is made or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A new one, with these random numbers for its name and its hashes. Refused if the disk holds a store
    /// already.
    Create {
        /// A name that no other store has.
        store: u128,
        /// Seed of the keys' hashes.
        seed: u64,
    },
    /// The one that is there.
    Open,
}

/// The way to an engine: give the disk what [`Opening::next_request`] returns and each of its answers to
/// [`Opening::respond`], until [`Opening::is_done`], and then call [`Opening::end`]. Nothing is written
/// before the superblocks were read and understood.
#[derive(Debug)]
pub struct Opening {
    settings: Settings,
    disk: Disk,
    making: Making,
    part: Part,
    jobs: Jobs<Job>,
    superblocks: [Option<Result<Superblock, NotOurs>>; 2],
    superblock: Option<Superblock>,
    /// Block of the newest superblock, 0 or 1.
    newest: u64,
    /// By their sequences: segments that hold something.
    found: BTreeMap<u64, Found>,
    next_head: u32,
    /// Segments with zeros at both ends.
    blank: Vec<SegmentId>,
    /// The last segment that is free and was used.
    last_free: SegmentId,
    /// Segments both ends of which are damaged, and the blocks of the last one that were read.
    endless: Vec<Endless>,
    blocks: Vec<Bytes>,
    /// First blocks whose heads are to be written again, and the segments they belong to.
    repairs: Vec<(SegmentId, Bytes)>,
    /// Segments without a head, their sequences, and whether there are zeros in its place.
    lost_heads: Vec<(SegmentId, u64, bool)>,
    damages: Vec<Damage>,
    /// Everything up to this sequence is in doubt.
    doubted: u64,
    /// Everything that there is is in doubt.
    is_all_doubted: bool,
    /// Segments up to this sequence were on the disk for good.
    durable: u64,
    reading: u64,
    engine: Option<Engine>,
    /// What has to be durable before the engine serves; see [`Engine::sync`].
    point: Option<u64>,
    /// The superblock records the durable summaries; `point` is the last one to wait for.
    is_settled: bool,
    failure: Option<CannotOpen>,
}

#[derive(Debug)]
enum Job {
    Superblock(usize, Reread),
    /// The first block of a segment.
    First(SegmentId, Reread),
    /// The last block of a segment, whose head is this, or whose first block is unreadable, damaged or empty.
    Last(SegmentId, Result<Head, Option<Bytes>>, Reread),
    /// An end of a segment that was right in one copy only is rewritten in the others.
    Mend,
    /// Some blocks of a segment both ends of which are damaged.
    Whole(u32),
    /// An end of a segment of a new store, which is to be empty.
    Blank(u64),
    /// That was written.
    Blanked(u64),
    /// And is durable.
    Flush,
}

/// A segment both ends of which are damaged.
#[derive(Debug)]
struct Endless {
    number: SegmentId,
    /// One of them is zeros, and perhaps it was never used.
    may_be_new: bool,
}

impl Opening {
    /// Begins.
    pub fn new(settings: Settings, disk: Disk, making: Making) -> Opening {
        let mut jobs = Jobs::new(&disk);
        for block in 0..2 {
            jobs.read(Job::Superblock(block, Reread::default()), Haste::Urgent, block as u64, 1, Vec::new());
        }
        Opening {
            settings,
            disk,
            making,
            part: Part::WHOLE,
            jobs,
            superblocks: [None, None],
            superblock: None,
            newest: 0,
            found: BTreeMap::new(),
            next_head: 1,
            blank: Vec::new(),
            last_free: SegmentId::SUPERBLOCKS,
            endless: Vec::new(),
            blocks: Vec::new(),
            repairs: Vec::new(),
            lost_heads: Vec::new(),
            damages: Vec::new(),
            doubted: 0,
            is_all_doubted: false,
            durable: 0,
            reading: 0,
            engine: None,
            point: None,
            is_settled: false,
            failure: None,
        }
    }

    /// Only a part of a store; without this, all of it.
    #[must_use]
    pub fn of_part(self, part: Part) -> Opening {
        Opening { part, ..self }
    }

    /// The next request for the disk.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        if self.failure.is_some() {
            return None;
        }
        let Some(engine) = &mut self.engine else { return self.jobs.next() };
        while engine.recover_above(self.durable, usize::MAX) {}
        if self.point.is_none() && !engine.has_unread_above(self.durable) {
            self.point = Some(engine.sync());
        }
        engine.next_request()
    }

    /// How far it is, in segments looked at and all of them.
    pub fn progress(&self) -> (u32, u32) {
        let all = self.superblock.map_or(0, |superblock| superblock.segments);
        (self.next_head, all)
    }

    /// True when the engine can serve, or nothing is under way after a failure.
    pub fn is_done(&self) -> bool {
        let engine = self.engine.as_ref();
        match self.failure {
            Some(_) => self.jobs.is_quiet() && engine.is_none_or(Engine::is_quiet),
            None => self.is_settled && self.is_point_durable(),
        }
    }

    fn is_point_durable(&self) -> bool {
        let engine = self.engine.as_ref().zip(self.point);
        engine.is_some_and(|(engine, point)| engine.durable() >= point && engine.is_repaired())
    }

    /// Records in the superblock that the summaries of all segments are durable, once they are. Otherwise
    /// damage in one of them would be taken for a write cut off by the next power loss.
    fn settle(&mut self) {
        if self.is_settled || self.failure.is_some() || !self.is_point_durable() {
            return;
        }
        self.is_settled = true;
        if let Some(engine) = &mut self.engine
            && engine.record_durable()
        {
            self.point = Some(engine.sync());
        }
    }

    /// The engine, when it is done. What older segments hold is still to be found; see [`Engine::recover`].
    ///
    /// # Errors
    /// See [`CannotOpen`].
    pub fn end(self) -> Result<Engine, CannotOpen> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.engine.expect("it is done")),
        }
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        if let Some(engine) = &mut self.engine {
            let block = engine.block_of(response.id);
            if response.status != Status::Success && self.failure.is_none() {
                self.failure = match (response.status, block) {
                    (Status::WriteProtected | Status::MediaError, Some((_, true))) => None,
                    (Status::WriteProtected, Some((block, _))) => Some(CannotOpen::Full(block)),
                    (_, block) => Some(CannotOpen::Disk(block.map_or(0, |(block, _)| block))),
                };
            }
            engine.respond(response);
            self.failure = self.failure.take().or(engine.unreadable().map(CannotOpen::Disk));
            return self.settle();
        }
        let Response { id, status, mut data, .. } = response;
        let job = self.jobs.end(id);
        if self.failure.is_some() {
            return;
        }
        let is_readable = status == Status::Success;
        match job {
            Job::First(..) | Job::Last(..) | Job::Mend if status == Status::MediaError => {}
            // All but the block that cannot be read may still say what the segment was.
            Job::Whole(1) if status == Status::MediaError => data = vec![Bytes::ZEROS],
            Job::Whole(_) if status == Status::MediaError => {
                self.read_whole(1);
                return;
            }
            Job::Superblock(..) if status == Status::MediaError && self.making == Making::Open => {}
            _ if !is_readable => return self.fail(CannotOpen::Disk(self.block_of(&job))),
            _ => {}
        }
        match job {
            Job::Superblock(number, reread) => self.note_superblock(number, reread, data.pop()),
            Job::First(number, reread) => self.note_first(number, reread, data.pop()),
            Job::Last(number, head, reread) => self.note_last(number, head, reread, data.pop()),
            Job::Mend => {
                self.reading -= 1;
                self.read_heads();
            }
            Job::Whole(_) => self.note_whole(data),
            Job::Blank(block) => self.note_end(block, &data[0]),
            Job::Blanked(_) => self.note_blanked(),
            Job::Flush => self.begin_run(),
        }
    }

    fn block_of(&self, job: &Job) -> u64 {
        let blocks = self.settings.segment_blocks;
        match *job {
            Job::Superblock(block, _) => block as u64,
            Job::First(number, _) => number.first_block(blocks),
            Job::Last(number, ..) => number.end_block(blocks) - 1,
            Job::Whole(_) => self.endless.last().map_or(0, |endless| endless.number.first_block(blocks)),
            Job::Blank(block) | Job::Blanked(block) => block,
            Job::Flush | Job::Mend => 0,
        }
    }

    fn fail(&mut self, why: CannotOpen) {
        self.failure = Some(why);
    }

    /// A superblock, if it can be read.
    fn note_superblock(&mut self, number: usize, reread: Reread, block: Option<Bytes>) {
        let read = |block: Option<&Bytes>| block.map_or(Err(NotOurs::Foreign), Superblock::decode);
        let chosen = match self.making {
            Making::Create { .. } => Ok(block),
            Making::Open => self.choose(number as u64, reread, block, |block| match read(block) {
                Ok(_) => Judgement::Right,
                Err(_) => Judgement::Damaged,
            }),
        };
        let block = match chosen {
            Ok(block) => block,
            Err(reread) => {
                let mirror = reread.mirror();
                let job = Job::Superblock(number, reread);
                return self.jobs.read_copy(job, Haste::Urgent, number as u64, 1, (Vec::new(), mirror));
            }
        };
        self.superblocks[number] = Some(read(block.as_ref()));
        if let [Some(first), Some(second)] = self.superblocks {
            self.understand(first, second);
        }
    }

    /// Both superblocks were read.
    fn understand(&mut self, first: Result<Superblock, NotOurs>, second: Result<Superblock, NotOurs>) {
        if let (Ok(good), Err(_)) | (Err(_), Ok(good)) = (first, second)
            && good.count > 1
        {
            let block = u64::from(first.is_ok());
            self.damages.push(Damage { block, what: DamageKind::Superblock });
        }
        let is_second = match (first, second) {
            (Ok(first), Ok(second)) => second.count > first.count,
            (first, _) => first.is_err(),
        };
        self.newest = u64::from(is_second && second.is_ok());
        let newest = match (first, second) {
            (Ok(first), Ok(second)) => Ok(if first.count >= second.count { first } else { second }),
            (Ok(one), _) | (_, Ok(one)) => Ok(one),
            (Err(NotOurs::Newer(version)), _) | (_, Err(NotOurs::Newer(version))) => {
                Err(NotOurs::Newer(version))
            }
            (Err(error), _) => Err(error),
        };
        match (self.making, newest) {
            // Where the first part is not there, others are what is left of making a store.
            (Making::Create { .. }, Ok(_)) if self.part.number == 0 => self.fail(CannotOpen::Taken),
            (Making::Create { .. }, Err(newer @ NotOurs::Newer(_))) => self.fail(newer.into()),
            (Making::Create { store, seed }, there) => self.create(store, seed, there.ok()),
            (Making::Open, Err(error)) => self.fail(error.into()),
            (Making::Open, Ok(superblock)) => self.open(superblock),
        }
    }

    fn open(&mut self, superblock: Superblock) {
        if superblock.part != self.part {
            let (there, wanted) = (superblock.part, self.part);
            return self.fail(CannotOpen::OtherPart { there, wanted });
        }
        let needed = u64::from(superblock.segments) * u64::from(superblock.segment_blocks);
        if needed > self.disk.blocks {
            let (store, disk) = (superblock.blocks, self.disk.blocks);
            return self.fail(NotOurs::Larger { store, disk }.into());
        }
        self.settings.segment_blocks = superblock.segment_blocks;
        if let Some(problem) = self.settings.problems().into_iter().next() {
            return self.fail(CannotOpen::Unsuitable(problem));
        }
        self.durable = superblock.durable;
        self.superblock = Some(superblock);
        self.read_heads();
    }

    /// Segments are looked at, some at a time.
    fn read_heads(&mut self) {
        let Some(superblock) = self.superblock else { return };
        while self.reading < AT_A_TIME && self.next_head < superblock.segments {
            let number = SegmentId::new(self.next_head);
            self.next_head += 1;
            self.reading += 1;
            let block = number.first_block(superblock.segment_blocks);
            self.jobs.read(Job::First(number, Reread::default()), Haste::Urgent, block, 1, Vec::new());
        }
        if self.reading > 0 {
            return;
        }
        self.judge_blank();
        if !self.read_whole(self.jobs.most_blocks()) {
            let later = self.durable + 1..;
            // What their summaries name may have been on its way only.
            self.found.range_mut(later).for_each(|(_, found)| (found.foot, found.is_durable) = (None, false));
            self.begin_run();
        }
    }

    /// Segments are used for the first time in the order of their numbers. So zeros before one that was used,
    /// and was durable with all before it, are damage.
    fn judge_blank(&mut self) {
        let used = self.found.range(..=self.durable).map(|(_, found)| found.number).max();
        let last = used.unwrap_or_default().max(self.last_free);
        let any = self.found.values().map(|found| found.number).max().unwrap_or_default();
        for number in std::mem::take(&mut self.blank) {
            match number < last {
                true => self.endless.push(Endless { number, may_be_new: false }),
                // It was used, and the power was lost before that was written: it is free, and no damage when
                // what came after it is durable.
                false if number < any => self.repairs.push((number, Bytes::ZEROS)),
                false => {}
            }
        }
        self.endless.iter_mut().for_each(|endless| endless.may_be_new &= endless.number > last);
    }

    fn end_of(&self, number: SegmentId) -> EndOf {
        EndOf { store: self.superblock.map_or(0, |superblock| superblock.store), number }
    }

    fn is_believed(&self, sequence: u64) -> bool {
        self.superblock.is_some_and(|superblock| sequence > superblock.flushed)
    }

    /// The first block of a segment, if it can be read.
    fn note_first(&mut self, number: SegmentId, reread: Reread, block: Option<Bytes>) {
        let of = self.end_of(number);
        let place = number.first_block(self.settings.segment_blocks);
        let end_in = |block: Option<&Bytes>| block.map_or(End::Damaged, |block| End::first(block, of));
        let block = match self.choose(place, reread, block, |block| Judgement::of(end_in(block))) {
            Ok(block) => block,
            Err(reread) => {
                let mirror = reread.mirror();
                let job = Job::First(number, reread);
                return self.jobs.read_copy(job, Haste::Urgent, place, 1, (Vec::new(), mirror));
            }
        };
        let end = end_in(block.as_ref());
        let head = match end {
            End::Head(head) if self.is_believed(head.sequence) => {
                self.durable = self.durable.max(head.durable.min(head.sequence));
                Some(Ok(head))
            }
            // One that was damaged and never used has no sequence.
            End::Free(sequence) => {
                self.last_free = self.last_free.max(if sequence > 0 { number } else { SegmentId::default() });
                None
            }
            End::Blank | End::Damaged if holds(Rule::DamagedHeadsAreNotFree) => Some(Err(block)),
            _ => None,
        };
        if let Some(head) = head {
            let last = number.end_block(self.settings.segment_blocks) - 1;
            let job = Job::Last(number, head, Reread::default());
            return self.jobs.read(job, Haste::Urgent, last, 1, Vec::new());
        }
        self.reading -= 1;
        self.read_heads();
    }

    /// The last block of a segment, if it can be read.
    fn note_last(
        &mut self,
        number: SegmentId,
        head: Result<Head, Option<Bytes>>,
        reread: Reread,
        block: Option<Bytes>,
    ) {
        let of = self.end_of(number);
        let place = number.end_block(self.settings.segment_blocks) - 1;
        let all = u64::from(self.settings.segment_blocks);
        let end_in = |block: Option<&Bytes>| block.map_or(End::Damaged, |block| End::last(block, of));
        let block = match self.choose(place, reread, block, |block| Judgement::of(end_in(block))) {
            Ok(block) => block,
            Err(reread) => {
                let mirror = reread.mirror();
                let job = Job::Last(number, head, reread);
                return self.jobs.read_copy(job, Haste::Urgent, place, 1, (Vec::new(), mirror));
            }
        };
        let last = end_in(block.as_ref());
        let foot_of = |sequence| match last {
            End::Foot(foot) if foot.sequence == sequence => {
                Some(foot).filter(|foot| summary_blocks(foot.entries as usize) < all)
            }
            _ => None,
        };
        let is_empty = |first: &Option<Bytes>| {
            first.as_ref().is_some_and(|first| first.as_slice()[..End::BYTES] == [0; End::BYTES])
        };
        match (head, last) {
            (Ok(Head { sequence, is_cut, .. }), _) => {
                let foot = foot_of(sequence);
                self.note_used(Found { number, sequence, foot, is_cut, is_durable: true });
            }
            (Err(first), End::Open(sequence) | End::Foot(Foot { sequence, .. })) => {
                if self.is_believed(sequence) {
                    let foot = foot_of(sequence);
                    self.note_used(Found { number, sequence, foot, is_cut: false, is_durable: true });
                    // That of the last segment may not have been written before the power was lost.
                    self.lost_heads.push((number, sequence, is_empty(&first)));
                    self.repairs.extend(first.map(|first| (number, first)));
                }
            }
            (Err(first), End::Blank) if is_empty(&first) => self.blank.push(number),
            (Err(_), End::Blank) => self.endless.push(Endless { number, may_be_new: true }),
            (Err(_), End::Free(sequence)) => {
                self.last_free = self.last_free.max(if sequence > 0 { number } else { SegmentId::default() });
                self.note_damage(number, DamageKind::Head);
                self.repairs.push((number, Bytes::ZEROS));
            }
            (Err(first), _) => {
                let may_be_new = is_empty(&first);
                self.endless.push(Endless { number, may_be_new });
            }
        }
        self.reading -= 1;
        self.read_heads();
    }

    fn note_used(&mut self, found: Found) {
        if self.found.insert(found.sequence, found).is_some() {
            self.fail(NotOurs::Wrong("two segments say that they are the same").into());
        }
    }

    fn note_damage(&mut self, number: SegmentId, what: DamageKind) {
        let block = number.first_block(self.settings.segment_blocks);
        self.damages.push(Damage { block, what });
    }

    /// Goes on with segments both ends of which are damaged; false if there is none.
    fn read_whole(&mut self, most: u32) -> bool {
        let Some(endless) = self.endless.last() else { return false };
        let (all, have) = (self.settings.segment_blocks, self.blocks.len() as u32);
        let count = (all - have).min(most);
        let block = endless.number.first_block(all) + u64::from(have);
        self.jobs.read(Job::Whole(count), Haste::Urgent, block, count, Vec::new());
        true
    }

    fn note_whole(&mut self, mut data: Vec<Bytes>) {
        let Some(superblock) = self.superblock else { return };
        self.blocks.append(&mut data);
        if self.blocks.len() < self.settings.segment_blocks as usize {
            self.read_whole(self.jobs.most_blocks());
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let Some(Endless { number, may_be_new }) = self.endless.pop() else { return };
        let salt = Salt::of(superblock.store, number);
        let sequence = latest_sequence(&blocks, salt, superblock.run);
        if sequence.is_some() || !may_be_new {
            self.note_damage(number, DamageKind::Ends(self.settings.keep.into()));
        }
        match sequence {
            Some(sequence) => {
                self.doubted = self.doubted.max(sequence);
                if self.is_believed(sequence) && !self.found.contains_key(&sequence) {
                    let is_cut = false;
                    self.note_used(Found { number, sequence, foot: None, is_cut, is_durable: true });
                }
            }
            None => {
                self.is_all_doubted |= !may_be_new;
                self.repairs.push((number, Bytes::ZEROS));
            }
        }
        self.read_heads();
    }

    /// What is in doubt is forgotten by a cache, and refused by a store until it is written again.
    fn settle_doubts(&mut self) {
        let Some(superblock) = &mut self.superblock else { return };
        let holes = self.found.values().filter(|found| found.foot.is_some_and(|foot| foot.has_hole));
        let newest = self.found.last_key_value().map_or(0, |(&sequence, _)| sequence);
        let all = if self.is_all_doubted { newest } else { 0 };
        let doubted = holes.map(|found| found.sequence).max().unwrap_or(0);
        let doubted = doubted.max(self.doubted).max(all).max(superblock.doubted);
        match self.settings.keep {
            Keep::Everything => superblock.doubted = doubted,
            Keep::WhatIsUsed => {
                (superblock.flushed, superblock.doubted) = (superblock.flushed.max(doubted), 0);
                self.found = self.found.split_off(&(doubted + 1));
            }
        }
        // Should the superblock be an older one.
        superblock.run = superblock.run.max(run_of(newest));
    }

    /// The number of the next run is written before anything else, so that no sequence and no CAS value is
    /// used twice.
    fn begin_run(&mut self) {
        self.settle_doubts();
        for (number, sequence, is_empty) in std::mem::take(&mut self.lost_heads) {
            if sequence <= self.durable || !is_empty {
                self.note_damage(number, DamageKind::Head);
            }
        }
        let damages = std::mem::take(&mut self.damages);
        let Some(superblock) = &mut self.superblock else { return };
        superblock.run += 1;
        let superblock = *superblock;
        let run = superblock.run;
        let found: Vec<Found> = std::mem::take(&mut self.found).into_values().collect();
        let mut log = Log::new(&superblock, &self.disk);
        log.disbelieve(superblock.flushed);
        log.note_heads(found.iter().map(|found| (found.number, found.sequence)));
        let bits = self.settings.partition_bits(log.bytes());
        let mut flash = Flash {
            log,
            jobs: Jobs::new(&self.disk),
            reclaims: Reclaims::default(),
            superblock,
            is_flushing: false,
            wanted: 0,
            has_dirty_superblock: true,
            mirrored_after: None,
            last_superblock: (0, self.newest),
            durable_superblock: self.newest,
            repairs: Vec::new(),
            repaired_after: 0,
            stalled: Vec::new(),
            next_try: Time::ZERO,
            closing: None,
            has_lost_optional: false,
            timers: Timers::IDLE,
        };
        for (number, first) in std::mem::take(&mut self.repairs) {
            let used = found.iter().find(|found| found.number == number);
            // A segment that is searched gets both ends then.
            if used.is_none_or(|found| found.foot.is_some()) {
                flash.repair_ends(number, used, first);
            }
        }
        let mut engine = Engine::new(self.settings, superblock.seed, Some(flash), run);
        engine.figures.repaired =
            damages.iter().filter(|damage| !matches!(damage.what, DamageKind::Ends(_))).count() as u64;
        engine.figures.damaged_segments =
            damages.iter().filter(|damage| damage.what != DamageKind::Superblock).count() as u64;
        damages.into_iter().for_each(|damage| engine.report(damage));
        let items = found.iter().filter_map(|found| found.foot).map(|foot| u64::from(foot.entries)).sum();
        engine.index.reserve(items);
        engine.recovery = (!found.is_empty()).then(|| Recovery::new(found, bits));
        self.engine = Some(engine);
    }
}

/// Segments whose heads are read at a time.
const AT_A_TIME: u64 = 32;
