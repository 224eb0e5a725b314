//! Creation of a store on a disk, and the opening of an existing one.
//!
//! Opening reads the superblocks and both ends of every segment, which show the used segments. Their records
//! are recovered by the engine while it serves ([`super::recovery`]). Only the last segments, which were not
//! durable when the store stopped, are searched first: heads written from now on state that they are durable
//! ([`Head::durable`]), so they need valid summaries before that.
//!
//! A head shows whether its segment is free or used, and its sequence. If it is damaged, the other end
//! decides. If both are, the segment is searched for records, and every item written before its last record,
//! or before now if it has none, is in doubt ([`Superblock::doubted`]). So no single fault turns a used
//! segment into a free one or vice versa.

mod copies;
mod creating;
mod errors;
mod segments;

pub use errors::CannotOpen;

use super::damage::{Damage, DamageKind};
use super::engine::Engine;
use super::flash::{Flash, SuperblockWrites, Timers};
use super::jobs::{Haste, Jobs};
use super::log::format::{End, Head, NotOurs, Part, Superblock};
use super::log::{Log, SegmentId, WriteNumber, run_of};
use super::reclaim::Reclaims;
use super::recovery::{Recovery, UsedSegment};
use super::settings::{Keep, Settings};
use crate::block::Bytes;
use crate::disk::{Disk, Request, Response};
use copies::{Judgement, Reread};
use std::collections::BTreeMap;
use tailcut_base::{Status, Time};

/// Whether to create a store or open an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Create a store from these random numbers. Fails if the disk holds a store already.
    Create {
        /// Unique name of the store.
        store: u128,
        /// Seed of the key hashes.
        seed: u64,
    },
    /// Open the store on the disk.
    Open,
}

/// The opening of an engine: submit the requests of [`Opening::next_request`] to the disk and pass each
/// completion to [`Opening::respond`], until [`Opening::is_done`]; then call [`Opening::end`]. Nothing is
/// written before the superblocks were read and understood.
#[derive(Debug)]
pub struct Opening {
    settings: Settings,
    disk: Disk,
    making: OpenMode,
    part: Part,
    jobs: Jobs<Job>,
    superblocks: [Option<Result<Superblock, NotOurs>>; 2],
    superblock: Option<Superblock>,
    /// Block of the newest superblock, 0 or 1.
    newest: u64,
    /// Used segments by sequence.
    found: BTreeMap<u64, UsedSegment>,
    next_head: u32,
    /// Segments with zeros at both ends.
    blank: Vec<SegmentId>,
    /// The free segment with the highest number that has been used before.
    last_free: SegmentId,
    /// Latest sequence of a free segment.
    freed: u64,
    /// A segment with zeros at both ends that may be the latest one.
    suspect: Option<SegmentId>,
    /// Segments with two damaged ends; `blocks` are those read of the last one.
    endless: Vec<Endless>,
    blocks: Vec<Bytes>,
    /// Segments whose ends are to be rewritten.
    repairs: Vec<Repair>,
    /// Segments without a head, their sequences, and whether their first blocks are zeros.
    lost_heads: Vec<(SegmentId, u64, bool)>,
    damages: Vec<Damage>,
    /// Items in segments up to this sequence are in doubt.
    doubted: u64,
    /// Every item is in doubt.
    is_all_doubted: bool,
    /// Segments up to this sequence were durable.
    durable: u64,
    reading: u64,
    engine: Option<Engine>,
    /// The write that must be durable before the engine serves; see [`Engine::sync`].
    point: Option<WriteNumber>,
    /// The superblock records the durable summaries; `point` is the last one to wait for.
    is_settled: bool,
    failure: Option<CannotOpen>,
}

#[derive(Debug)]
enum Job {
    Superblock(usize, Reread),
    /// Read of the first block of a segment.
    First(SegmentId, Reread),
    /// Read of the last block of a segment: its head, or its first block if that is unreadable, damaged or
    /// blank.
    Last(SegmentId, Result<Head, Option<Bytes>>, Reread),
    /// Repair of an end of a segment that was right in one copy only.
    Mend,
    /// Read of a number of blocks of a segment with two damaged ends.
    Whole(u32),
    /// Read of an end of a segment of a new store, which must be blank.
    Blank(u64),
    /// Write that makes an end of a segment blank.
    Blanked(u64),
    /// Flush after these writes.
    Flush,
}

/// Both ends of a segment are to be rewritten.
#[derive(Debug)]
struct Repair {
    number: SegmentId,
    /// Content of its first block.
    first: Bytes,
    /// Its latest sequence if it is free, 0 if unknown.
    freed: u64,
}

/// A segment with two damaged ends.
#[derive(Debug)]
struct Endless {
    number: SegmentId,
    /// One of them is zeros: perhaps it was never used.
    may_be_new: bool,
}

impl Opening {
    /// Starts to open or create a store.
    pub fn new(settings: Settings, disk: Disk, making: OpenMode) -> Opening {
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
            freed: 0,
            suspect: None,
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

    /// Restricts the opening to one part of a store; the default is a store in one part.
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

    /// Progress: segments examined, and segments in total.
    pub fn progress(&self) -> (u32, u32) {
        let all = self.superblock.map_or(0, |superblock| superblock.segments);
        (self.next_head, all)
    }

    /// True once the engine can serve, or once no request is in flight after a failure.
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
    /// damage in one of them would be mistaken for a write cut off by the next power loss.
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

    /// The engine, once the opening is done. It recovers older segments while it serves; see
    /// [`Engine::recover`].
    ///
    /// # Errors
    /// Why the store cannot be opened; see [`CannotOpen`].
    ///
    /// # Panics
    /// If the opening is not done.
    pub fn end(self) -> Result<Engine, CannotOpen> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.engine.expect("it is done")),
        }
    }

    /// Handles a completion from the disk.
    pub fn respond(&mut self, response: Response<Bytes>) {
        if let Some(engine) = &mut self.engine {
            let block = engine.block_of(response.id);
            if response.status != Status::Success && self.failure.is_none() {
                self.failure = match (response.status, block) {
                    (Status::WriteProtected | Status::NoSpace | Status::MediaError, Some((_, true))) => None,
                    (Status::NoSpace, block) => Some(CannotOpen::Full(block.map_or(0, |(block, _)| block))),
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
            // Every block but the unreadable one may still show the use of the segment.
            Job::Whole(1) if status == Status::MediaError => data = vec![Bytes::ZEROS],
            Job::Whole(_) if status == Status::MediaError => {
                self.read_whole(1);
                return;
            }
            Job::Superblock(..) if status == Status::MediaError && self.making == OpenMode::Open => {}
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

    /// A read of a superblock has completed; `block` is None if it failed.
    fn note_superblock(&mut self, number: usize, reread: Reread, block: Option<Bytes>) {
        let read = |block: Option<&Bytes>| block.map_or(Err(NotOurs::Foreign), Superblock::decode);
        let chosen = match self.making {
            OpenMode::Create { .. } => Ok(block),
            OpenMode::Open => self.choose(number as u64, reread, block, |block| match read(block) {
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
            // Without the first part, other parts are leftovers of an interrupted creation.
            (OpenMode::Create { .. }, Ok(_)) if self.part.number == 0 => self.fail(CannotOpen::Taken),
            (OpenMode::Create { .. }, Err(newer @ NotOurs::Newer(_))) => self.fail(newer.into()),
            (OpenMode::Create { store, seed }, there) => self.create(store, seed, there.ok()),
            (OpenMode::Open, Err(error)) => self.fail(error.into()),
            (OpenMode::Open, Ok(superblock)) => self.open(superblock),
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
        if superblock.keeps_all && self.settings.keep == Keep::WhatIsUsed && !self.settings.may_evict_store {
            return self.fail(CannotOpen::KeepsAll);
        }
        self.settings.segment_blocks = superblock.segment_blocks;
        if let Some(problem) = self.settings.problems().into_iter().next() {
            return self.fail(CannotOpen::Unsuitable(problem));
        }
        self.durable = superblock.durable;
        self.superblock = Some(superblock);
        self.read_heads();
    }

    /// A cache drops the items in doubt; a store refuses them until they are rewritten.
    fn settle_doubts(&mut self) {
        if self.is_latest_missing() {
            self.is_all_doubted = true;
            let what = DamageKind::Ends(self.settings.keep.into());
            self.note_damage(self.suspect.unwrap_or(SegmentId::SUPERBLOCKS), what);
        }
        let latest = self.latest();
        let Some(superblock) = &mut self.superblock else { return };
        superblock.durable = superblock.durable.min(latest);
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
        // In case the superblock is an outdated one.
        superblock.run = superblock.run.max(run_of(newest));
    }

    /// Writes the number of the next run before anything else, so that no sequence and no CAS value is used
    /// twice.
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
        superblock.keeps_all = self.settings.keep == Keep::Everything;
        let superblock = *superblock;
        let run = superblock.run;
        let found: Vec<UsedSegment> = std::mem::take(&mut self.found).into_values().collect();
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
            wanted: WriteNumber::NONE,
            has_dirty_superblock: true,
            mirrored_after: None,
            superblock_writes: SuperblockWrites::since(self.newest),
            durable_superblock: self.newest,
            repairs: Vec::new(),
            repaired_after: WriteNumber::NONE,
            stalled: Vec::new(),
            next_try: Time::ZERO,
            closing: None,
            timers: Timers::IDLE,
        };
        for Repair { number, first, freed } in std::mem::take(&mut self.repairs) {
            let used = found.iter().find(|found| found.number == number);
            // A segment that is searched gets both ends when the search ends.
            if used.is_none_or(|found| found.foot.is_some()) {
                let end = used.map_or(End::Free(freed), UsedSegment::head);
                flash.repair_ends(number, end, first);
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
