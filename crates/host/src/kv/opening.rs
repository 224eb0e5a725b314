//! A store is made on a disk, or found there.
//!
//! Found is what superblocks and the two ends of each segment tell: which segments hold something. What they hold is found by the
//! engine, which serves meanwhile ([`super::recovery`]). Only the last segments, which were not on the disk for good when the store came to its
//! end, are looked through before: what is written from now on says that they are ([`Head::durable`]), so they get summaries that
//! can be believed first.

use super::engine::Engine;
use super::flash::Flash;
use super::jobs::{Haste, Jobs};
use super::log::Log;
use super::log::format::{Foot, Head, NotOurs, Part, Superblock};
use super::reclaim::Reclaims;
use super::recovery::{Found, Recovery};
use super::settings::Settings;
use crate::block::Bytes;
use crate::disk::{Disk, Request, Response};
use std::collections::BTreeMap;
use tailcut_base::Status;

/// Whether a store is made or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A new one, with these random numbers for its name and its hashes. Refused if the disk holds a store already.
    Create {
        /// A name that no other store has.
        store: u128,
        /// Seed of the keys' hashes.
        seed: u64,
    },
    /// The one that is there.
    Open,
}

/// Why there is no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// The disk holds something else.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// There is a store already.
    #[error("there is a key-value store on it already: open that one, or erase its first two blocks")]
    Taken,
    /// It is not the part of a store that should be there.
    #[error(
        "part {} of {} of a key-value store is where part {} of {} should be: the disk is not as it was when the store was made",
        there.number + 1, there.of, wanted.number + 1, wanted.of
    )]
    OtherPart {
        /// What is there.
        there: Part,
        /// What should be there.
        wanted: Part,
    },
    /// The disk does not suit the settings.
    #[error("{0}")]
    Unsuitable(String),
    /// The disk has failed.
    #[error("block {0} cannot be read or written")]
    Disk(u64),
}

/// The way to an engine: give the disk what [`Opening::next_request`] returns and each of its answers to [`Opening::respond`], until
/// [`Opening::is_done`], and then call [`Opening::end`]. Nothing is written before the superblocks were read and understood.
#[derive(Debug)]
pub struct Opening {
    settings: Settings,
    disk: Disk,
    making: Making,
    part: Part,
    jobs: Jobs<Job>,
    superblocks: [Option<Result<Superblock, NotOurs>>; 2],
    superblock: Option<Superblock>,
    /// By their sequences: segments that hold something.
    found: BTreeMap<u64, Found>,
    next_head: u32,
    /// Segments up to this sequence were on the disk for good.
    durable: u64,
    reading: u64,
    engine: Option<Engine>,
    /// What has to be durable before the engine serves; see [`Engine::sync`].
    point: Option<u64>,
    failure: Option<CannotOpen>,
}

#[derive(Debug)]
enum Job {
    Superblock(usize),
    Head(u32),
    Foot { number: u32, sequence: u64 },
}

impl Opening {
    /// Begins.
    pub fn new(settings: Settings, disk: Disk, making: Making) -> Opening {
        let mut jobs = Jobs::new(&disk);
        for block in 0..2 {
            jobs.read(Job::Superblock(block), Haste::Urgent, block as u64, 1, Vec::new());
        }
        Opening {
            settings,
            disk,
            making,
            part: Part::WHOLE,
            jobs,
            superblocks: [None, None],
            superblock: None,
            found: BTreeMap::new(),
            next_head: 1,
            durable: 0,
            reading: 0,
            engine: None,
            point: None,
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
            None => engine.zip(self.point).is_some_and(|(engine, point)| engine.durable() >= point),
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
            if response.status != Status::Success && self.failure.is_none() {
                self.failure = Some(CannotOpen::Disk(engine.block_read_by(response.id).unwrap_or(0)));
            }
            return engine.respond(response);
        }
        let Response { id, status, data, .. } = response;
        let job = self.jobs.end(id);
        if self.failure.is_some() {
            return;
        }
        if status != Status::Success {
            let block = self.block_of(&job);
            return self.fail(CannotOpen::Disk(block));
        }
        match job {
            Job::Superblock(block) => {
                self.superblocks[block] = Some(Superblock::decode(&data[0]));
                if let [Some(first), Some(second)] = self.superblocks {
                    self.understand(first, second);
                }
            }
            Job::Head(number) => self.note_head(number, &data[0]),
            Job::Foot { number, sequence } => self.note_foot(number, sequence, &data[0]),
        }
    }

    fn block_of(&self, job: &Job) -> u64 {
        let blocks = u64::from(self.settings.segment_blocks);
        match *job {
            Job::Superblock(block) => block as u64,
            Job::Head(number) => u64::from(number) * blocks,
            Job::Foot { number, .. } => u64::from(number) * blocks + blocks - 1,
        }
    }

    fn fail(&mut self, why: CannotOpen) {
        self.failure = Some(why);
    }

    /// Both superblocks were read.
    fn understand(&mut self, first: Result<Superblock, NotOurs>, second: Result<Superblock, NotOurs>) {
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
            (Making::Create { store, seed }, _) => self.create(store, seed),
            (Making::Open, Err(error)) => self.fail(error.into()),
            (Making::Open, Ok(superblock)) => self.open(superblock),
        }
    }

    fn create(&mut self, store: u128, seed: u64) {
        match self.settings.segments_on(&self.disk) {
            Err(why) => self.fail(CannotOpen::Unsuitable(why)),
            Ok(segments) => {
                let (segment_blocks, part) = (self.settings.segment_blocks, self.part);
                let (run, count, flushed) = (0, 0, 0);
                let superblock =
                    Superblock { store, seed, segment_blocks, segments, run, count, flushed, part };
                self.superblock = Some(superblock);
                self.begin_run();
            }
        }
    }

    fn open(&mut self, superblock: Superblock) {
        if superblock.part != self.part {
            let (there, wanted) = (superblock.part, self.part);
            return self.fail(CannotOpen::OtherPart { there, wanted });
        }
        let needed = u64::from(superblock.segments) * u64::from(superblock.segment_blocks);
        if needed > self.disk.blocks {
            let disk = self.disk.blocks;
            return self.fail(NotOurs::Larger { store: needed, disk }.into());
        }
        self.settings.segment_blocks = superblock.segment_blocks;
        if let Some(problem) = self.settings.problems().into_iter().next() {
            return self.fail(CannotOpen::Unsuitable(problem));
        }
        self.superblock = Some(superblock);
        self.read_heads();
    }

    /// Segments are looked at, some at a time.
    fn read_heads(&mut self) {
        let Some(superblock) = self.superblock else { return };
        while self.reading < AT_A_TIME && self.next_head < superblock.segments {
            let number = self.next_head;
            self.next_head += 1;
            self.reading += 1;
            let block = u64::from(number) * u64::from(superblock.segment_blocks);
            self.jobs.read(Job::Head(number), Haste::Urgent, block, 1, Vec::new());
        }
        if self.reading == 0 {
            let later = self.durable + 1..;
            // What their summaries name may have been on its way only.
            self.found.range_mut(later).for_each(|(_, found)| found.foot = None);
            self.begin_run();
        }
    }

    fn note_head(&mut self, number: u32, block: &Bytes) {
        let Some(superblock) = self.superblock else { return };
        self.reading -= 1;
        let head = Head::decode(block, superblock.store);
        if let Some(head) = head.filter(|head| head.sequence > superblock.flushed) {
            self.reading += 1;
            self.durable = self.durable.max(head.durable);
            let end = (u64::from(number) + 1) * u64::from(superblock.segment_blocks);
            let job = Job::Foot { number, sequence: head.sequence };
            self.jobs.read(job, Haste::Urgent, end - 1, 1, Vec::new());
            return;
        }
        self.read_heads();
    }

    fn note_foot(&mut self, number: u32, sequence: u64, block: &Bytes) {
        let Some(superblock) = self.superblock else { return };
        let foot = Foot::decode(block, superblock.store).filter(|foot| foot.sequence == sequence);
        self.found.insert(sequence, Found { number, sequence, foot });
        self.reading -= 1;
        self.read_heads();
    }

    /// The number of the next run is written before anything else, so that no sequence and no CAS value is used twice.
    fn begin_run(&mut self) {
        let Some(superblock) = &mut self.superblock else { return };
        superblock.run += 1;
        let superblock = *superblock;
        let Superblock { store, segment_blocks, segments, run, .. } = superblock;
        let found: Vec<Found> = std::mem::take(&mut self.found).into_values().collect();
        let mut log = Log::new(store, &self.disk, segment_blocks, segments, run);
        log.note_heads(found.iter().map(|found| (found.number, found.sequence)));
        let bits = self.settings.partition_bits(log.bytes());
        let flash = Flash {
            log,
            jobs: Jobs::new(&self.disk),
            reclaims: Reclaims::default(),
            superblock,
            is_flushing: false,
            wanted: 0,
            has_dirty_superblock: true,
        };
        let mut engine = Engine::new(self.settings, superblock.seed, Some(flash), run);
        let items = found.iter().filter_map(|found| found.foot).map(|foot| u64::from(foot.entries)).sum();
        engine.index.reserve(items);
        engine.recovery = (!found.is_empty()).then(|| Recovery::new(found, bits));
        self.engine = Some(engine);
    }
}

/// Segments whose heads are read at a time.
const AT_A_TIME: u64 = 32;
