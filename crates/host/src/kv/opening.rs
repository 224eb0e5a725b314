//! A store is made on a disk, or found there.

use super::engine::Engine;
use super::fetch::{is_intact, key_in, record_in};
use super::flash::Flash;
use super::hash::KeyHash;
use super::index::Entry as Known;
use super::jobs::{Haste, Jobs};
use super::log::format::{Entry, Foot, Head, NotOurs, Superblock, summary, summary_blocks};
use super::log::{Log, place_of};
use super::place::{Place, UNIT};
use super::reclaim::{Reclaims, entries_in};
use super::record::{Header, State};
use super::settings::Settings;
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, Disk, Request, Response};
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
    /// The disk does not suit the settings.
    #[error("{0}")]
    Unsuitable(String),
    /// The disk has failed.
    #[error("block {0} cannot be read or written")]
    Disk(u64),
}

/// The way to an engine: give the disk what [`Opening::next_request`] returns and each of its answers to [`Opening::respond`], until there is
/// nothing to ask, and then call [`Opening::end`]. Nothing is written before the superblocks were read and understood.
#[derive(Debug)]
pub struct Opening {
    settings: Settings,
    disk: Disk,
    making: Making,
    jobs: Jobs<Job>,
    step: Step,
    superblocks: [Option<Result<Superblock, NotOurs>>; 2],
    superblock: Option<Superblock>,
    /// By their sequences: segments that hold something.
    found: BTreeMap<u64, Found>,
    next_head: u32,
    /// Segments up to this sequence were on the disk for good.
    durable: u64,
    reading: u64,
    engine: Option<Engine>,
    failure: Option<CannotOpen>,
    /// Summaries that are written for segments that have none.
    sealing: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Superblocks,
    Heads,
    Summaries,
    Writing,
    Flushing,
    Done,
}

#[derive(Debug)]
enum Job {
    Superblock(usize),
    Head(u32),
    Foot { number: u32, sequence: u64 },
    Summary { sequence: u64, at: u64 },
    Seal,
    Write,
    Flush,
}

/// A segment that holds something.
#[derive(Debug)]
struct Found {
    number: u32,
    foot: Option<Foot>,
    /// Its summary, or all of it if it has none; as far as it was read.
    blocks: Vec<Bytes>,
    /// Requests that are under way.
    under_way: u32,
    is_asked_for: bool,
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
            jobs,
            step: Step::Superblocks,
            superblocks: [None, None],
            superblock: None,
            found: BTreeMap::new(),
            next_head: 1,
            durable: 0,
            reading: 0,
            engine: None,
            failure: None,
            sealing: 0,
        }
    }

    /// The next request for the disk.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        if self.failure.is_some() {
            return None;
        }
        self.jobs.next()
    }

    /// How far it is, in segments looked at and all of them.
    pub fn progress(&self) -> (u32, u32) {
        let all = self.superblock.map_or(0, |superblock| superblock.segments);
        (self.next_head, all)
    }

    /// True when nothing is under way any more.
    pub fn is_done(&self) -> bool {
        self.step == Step::Done || self.failure.is_some() && self.jobs.is_quiet()
    }

    /// The engine, when it is done.
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
        let Response { id, status, mut data, .. } = response;
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
            Job::Summary { sequence, at } => self.note_summary(sequence, at, &mut data),
            Job::Seal => {
                self.sealing -= 1;
                self.end_summaries();
            }
            Job::Write => self.flush(),
            Job::Flush => self.step = Step::Done,
        }
    }

    fn block_of(&self, job: &Job) -> u64 {
        let blocks = u64::from(self.settings.segment_blocks);
        match *job {
            Job::Superblock(block) => block as u64,
            Job::Head(number) => u64::from(number) * blocks,
            Job::Foot { number, .. } => u64::from(number) * blocks + blocks - 1,
            Job::Summary { at, .. } => at,
            Job::Seal | Job::Write | Job::Flush => 0,
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
            (Making::Create { .. }, Ok(_)) => self.fail(CannotOpen::Taken),
            (Making::Create { .. }, Err(newer @ NotOurs::Newer(_))) => self.fail(newer.into()),
            (Making::Create { store, seed }, Err(_)) => self.create(store, seed),
            (Making::Open, Err(error)) => self.fail(error.into()),
            (Making::Open, Ok(superblock)) => self.open(superblock),
        }
    }

    fn create(&mut self, store: u128, seed: u64) {
        match self.settings.segments_on(&self.disk) {
            Err(why) => self.fail(CannotOpen::Unsuitable(why)),
            Ok(segments) => {
                let segment_blocks = self.settings.segment_blocks;
                self.superblock =
                    Some(Superblock { store, seed, segment_blocks, segments, run: 0, count: 0, flushed: 0 });
                self.begin_run();
            }
        }
    }

    fn open(&mut self, superblock: Superblock) {
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
        self.step = Step::Heads;
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
            self.step = Step::Summaries;
            self.begin_run();
            let known = self.found.values().filter_map(|found| found.foot);
            let items = known.map(|foot| u64::from(foot.entries)).sum();
            self.engine.iter_mut().for_each(|engine| engine.index.reserve(items));
            self.read_summaries();
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
        let found = Found { number, foot, blocks: Vec::new(), under_way: 0, is_asked_for: false };
        self.found.insert(sequence, found);
        self.reading -= 1;
        self.read_heads();
    }

    /// The number of the next run is written before anything else, so that no sequence and no CAS value is used twice.
    fn begin_run(&mut self) {
        let Some(superblock) = &mut self.superblock else { return };
        superblock.run += 1;
        superblock.count += 1;
        let superblock = *superblock;
        let Superblock { store, segment_blocks, segments, run, .. } = superblock;
        let log = Log::new(store, &self.disk, segment_blocks, segments, run);
        let flash = Flash {
            log,
            jobs: Jobs::new(&self.disk),
            reclaims: Reclaims::default(),
            superblock,
            is_flushing: false,
            wanted: 0,
            has_dirty_superblock: false,
        };
        self.engine = Some(Engine::new(self.settings, superblock.seed, Some(flash), run));
        if self.found.is_empty() {
            self.write_superblock();
        }
    }

    fn write_superblock(&mut self) {
        let Some(superblock) = self.superblock else { return };
        self.step = Step::Writing;
        self.jobs.write(Job::Write, Haste::Urgent, superblock.count % 2, vec![superblock.encode()]);
    }

    fn flush(&mut self) {
        self.step = Step::Flushing;
        self.jobs.flush(Job::Flush, Haste::Urgent);
    }

    /// Summaries are read some segments ahead of the one whose turn it is.
    fn read_summaries(&mut self) {
        let Some(superblock) = self.superblock else { return };
        if self.step != Step::Summaries {
            return;
        }
        let blocks = u64::from(superblock.segment_blocks);
        let most = u64::from(self.jobs.most_blocks());
        for (&sequence, found) in self.found.iter_mut().take(AHEAD).filter(|(_, found)| !found.is_asked_for) {
            found.is_asked_for = true;
            let end = (u64::from(found.number) + 1) * blocks;
            let count = found.foot.map_or(blocks, |foot| summary_blocks(foot.entries as usize).min(blocks));
            found.blocks = vec![Bytes::ZEROS; count as usize];
            let mut at = end - count;
            while at < end {
                let part = (end - at).min(most);
                self.jobs.read(Job::Summary { sequence, at }, Haste::Urgent, at, part as u32, Vec::new());
                found.under_way += 1;
                at += part;
            }
        }
    }

    fn note_summary(&mut self, sequence: u64, at: u64, data: &mut Vec<Bytes>) {
        let Some(superblock) = self.superblock else { return };
        if let Some(found) = self.found.get_mut(&sequence) {
            let end = (u64::from(found.number) + 1) * u64::from(superblock.segment_blocks);
            let first = (at - (end - found.blocks.len() as u64)) as usize;
            found.blocks[first..first + data.len()]
                .iter_mut()
                .zip(data.drain(..))
                .for_each(|(to, from)| *to = from);
            found.under_way -= 1;
        }
        while let Some((&sequence, found)) = self.found.iter().next() {
            if !found.is_asked_for || found.under_way > 0 {
                break;
            }
            let found = self.found.remove(&sequence).expect("it is the first");
            self.take_in(sequence, found);
        }
        self.read_summaries();
        self.end_summaries();
    }

    fn end_summaries(&mut self) {
        if self.step == Step::Summaries && self.found.is_empty() && self.sealing == 0 {
            self.engine
                .iter_mut()
                .flat_map(|engine| &mut engine.flash)
                .for_each(|flash| flash.log.note_all_found());
            self.write_superblock();
        }
    }

    /// What a segment holds, in the order of the log.
    fn take_in(&mut self, sequence: u64, found: Found) {
        let Some(engine) = &mut self.engine else { return };
        let Some(foot) = found.foot else {
            // It was open when the store came to its end: now it gets a summary.
            let (entries, buried) = engine.search(sequence, &found.blocks);
            engine.take_in(found.number, sequence, &entries, buried);
            return self.seal(found.number, sequence, &entries, buried);
        };
        let entries = entries_in(&found.blocks, &foot);
        if entries.len() == foot.entries as usize {
            return engine.take_in(found.number, sequence, &entries, foot.buried);
        }
        // Its summary is not what was written: its records are searched for.
        engine.figures.damaged += 1;
        self.found.insert(sequence, Found { foot: None, is_asked_for: false, ..found });
    }

    fn seal(&mut self, number: u32, sequence: u64, entries: &[Entry], buried: u64) {
        let Some(superblock) = self.superblock else { return };
        let blocks = summary(entries, sequence, buried, superblock.store);
        let mut at = (u64::from(number) + 1) * u64::from(superblock.segment_blocks) - blocks.len() as u64;
        for part in blocks.chunks(self.jobs.most_blocks() as usize) {
            self.sealing += 1;
            self.jobs.write(Job::Seal, Haste::Urgent, at, part.to_vec());
            at += part.len() as u64;
        }
    }
}

impl Engine {
    /// The records of a segment come after all that were taken in before.
    fn take_in(&mut self, number: u32, sequence: u64, entries: &[Entry], buried: u64) {
        let Some(flash) = &mut self.flash else { return };
        let tombstones = entries.iter().filter(|entry| entry.is_tombstone).count();
        let counts = (entries.len() as u32, tombstones as u32);
        flash.log.note_found(number, sequence, counts, buried);
        let segment_blocks = flash.log.segment_blocks();
        for (at, entry) in entries.iter().enumerate() {
            if let Some(soon) = entries.get(at + SOON) {
                self.index.draw_near(soon.hash);
            }
            let is_over = entry.is_tombstone || entry.expires != 0 && entry.expires <= self.unix;
            let place = place_of(number, segment_blocks, entry.unit, u64::from(entry.bytes));
            let before = match is_over {
                true => self.index.remove(entry.hash),
                false => self.index.set(entry.hash, Known { place, heat: 0 }),
            };
            let forgotten = before.map(|known| known.place);
            if let Some(Place::Log { unit, .. }) = forgotten {
                flash.log.forget(unit);
            }
            if let (false, Place::Log { unit, .. }) = (is_over, place) {
                flash.log.note_valid(unit);
            }
        }
    }

    /// The records in a segment that has no summary: all whose checksums are right.
    fn search(&self, sequence: u64, blocks: &[Bytes]) -> (Vec<Entry>, u64) {
        let end = blocks.len() * BLOCK_BYTES as usize;
        let (mut entries, mut buried) = (Vec::new(), 0);
        let mut at = Head::BYTES;
        while at + Header::BYTES <= end {
            let header = record_in(blocks, at, sequence, (end - at) as u64);
            let Some(header) = header.filter(|header| is_intact(blocks, at, header)) else {
                at += UNIT as usize;
                continue;
            };
            let is_tombstone = header.state.has(State::TOMBSTONE);
            let mut room = [0; 256];
            let key = key_in(blocks, at, &header, &mut room);
            let hash = match is_tombstone {
                true => KeyHash(u128::from_le_bytes(key.try_into().unwrap_or_default())),
                false => self.hash(key),
            };
            if is_tombstone {
                buried = buried.max(header.cas);
            }
            let (unit, bytes) = ((at as u64 / UNIT) as u32, header.record_bytes() as u32);
            entries.push(Entry { hash, unit, bytes, expires: header.expires, is_tombstone });
            at += bytes as usize;
        }
        (entries, buried)
    }
}

/// Segments whose heads are read at a time.
const AT_A_TIME: u64 = 32;
/// Entries of a summary that are drawn near before their turn.
const SOON: usize = 8;
/// Segments whose summaries are read ahead.
const AHEAD: usize = 8;
