//! The key-value engine as a subject: a key is a block, a `set` a write, a `delete` a trim, `flush_all` a
//! trim of all keys, and making durable what was acknowledged a flush. Some deletions are a `touch` with a
//! time that is over: an item that has expired is as gone as a deleted one. Some items expire in the far
//! future, and are touched whenever they are read. A write with force unit access is a `set` of a server with
//! `--durable`: it is acknowledged when the log has it for good.
//!
//! The value of a key is the beginning of what the host writes to its block, or all of it and more: its
//! length in bytes is drawn by a hash of its version, so records of every length meet the ends of blocks
//! and segments. Returned values are compared byte by byte; where a value is right, the host gets the whole
//! block back, otherwise data that no write has written.
//!
//! A *store* misses nothing; a *cache* may miss anything at any time, so its checker learns nothing from a
//! miss. Neither returns what had been replaced or deleted, nor after a power cut what is older than what
//! was durable. Where the drive has no protection information and no second copy, a flipped bit may cost a
//! store the items that it strikes, reported as an error or missed, and nothing else.

pub(crate) mod task;

use super::backed::{Backed, Backing};
use super::plan::{KvKeep, Plan};
use super::subject::Subject;
use tailcut_base::{Nanos, Status, Time};
use tailcut_host::kv::{AdmissionSettings, Append, Engine, Keep, OpenMode, Opening, Settings, WriteNumber};
use tailcut_host::{Bytes, Disk, Request};

/// A key-value engine over an array or a drive.
#[derive(Debug)]
pub struct Keys {
    backing: Backing,
    settings: Settings,
    making: OpenMode,
    /// Keys that the plan asks for; there are fewer where they would not fit.
    most_keys: u64,
    phase: Phase,
    /// Requests of the host under way, in the order in which they came.
    tasks: Vec<Task>,
    tickets: u32,
    now: Time,
    /// When it goes on with finding what is on flash, if there is anything for it to go on with.
    recovers_at: Time,
    may_recover: bool,
}

#[derive(Debug)]
enum Phase {
    /// The array is not there yet.
    Waiting,
    Opening(Box<Opening>),
    Serving(Box<Engine>),
    Refused(String),
}

/// A request of the host under way.
#[derive(Debug)]
struct Task {
    request: Request<Bytes>,
    /// Keys that are done.
    done: u32,
    found: Vec<Bytes>,
    /// What it waits for.
    ticket: Option<u32>,
    /// It is answered when so much is durable.
    point: Option<WriteNumber>,
}

/// How far one key of a task has come.
enum Progress {
    Done,
    /// The engine is behind, or an item is being fetched.
    Waits,
    /// The engine evicted the item to make room for its successor: the key is looked up again.
    Evicted,
    Failed(Status),
}

impl Phase {
    fn next_request(&mut self) -> Option<Request<Bytes>> {
        match self {
            Phase::Opening(opening) => opening.next_request(),
            Phase::Serving(engine) => engine.next_request(),
            Phase::Waiting | Phase::Refused(_) => None,
        }
    }
}

impl Keys {
    /// Keys for which there is room three times over.
    fn keys(&self) -> u64 {
        keys(&self.settings, &self.backing.below().disk(), self.most_keys)
    }

    /// Takes answers from the disk and gives it requests. True if there were any.
    fn exchange(&mut self, now: Time) -> bool {
        let mut has_moved = false;
        for response in self.backing.take_answers() {
            (has_moved, self.may_recover) = (true, true);
            match &mut self.phase {
                Phase::Opening(opening) => opening.respond(response),
                Phase::Serving(engine) => _ = engine.respond(response),
                Phase::Waiting | Phase::Refused(_) => {}
            }
        }
        has_moved |= self.backing.submit(now, || self.phase.next_request());
        if let Phase::Opening(opening) = &mut self.phase
            && opening.is_done()
        {
            let Phase::Opening(opening) = std::mem::replace(&mut self.phase, Phase::Waiting) else {
                return true;
            };
            self.phase = match opening.end() {
                Ok(mut engine) => {
                    engine.tick(now, unix(now));
                    self.may_recover = true;
                    Phase::Serving(Box::new(engine))
                }
                Err(why) => Phase::Refused(why.to_string()),
            };
            return true;
        }
        has_moved
    }

    /// Goes on with the requests of the host. True if the engine may have something for the disk.
    fn serve(&mut self) -> bool {
        let Phase::Serving(engine) = &mut self.phase else { return false };
        let mut has_moved = false;
        while let Some(fetched) = engine.next_fetched() {
            has_moved = true;
            let ticket = Some(fetched.ticket);
            let task = self.tasks.iter_mut().position(|task| task.ticket == ticket);
            let task = task.expect("somebody waits for what is fetched");
            self.tasks[task].ticket = None;
            if let Some(answer) = self.tasks[task].fetched(&fetched, &self.settings) {
                self.backing.answer([answer]);
                self.tasks.remove(task);
            }
            engine.give_back(fetched);
        }
        let keys = self.keys();
        let Phase::Serving(engine) = &mut self.phase else { return false };
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.retain_mut(|task| {
            let before = (task.done, task.ticket, task.point);
            let answer = task.advance(engine, keys, &mut self.tickets);
            has_moved |= (task.done, task.ticket, task.point) != before || answer.is_some();
            self.backing.answer(answer);
            !task.is_finished()
        });
        self.tasks = tasks;
        has_moved
    }
}

/// Keys for which there is room three times over on a disk, and no more than `most`.
pub(crate) fn keys(settings: &Settings, disk: &Disk, most: u64) -> u64 {
    let segments = settings.segments_on(disk).unwrap_or(0).saturating_sub(SPARE_SEGMENTS);
    let bytes = u64::from(segments) * u64::from(settings.segment_blocks) * tailcut_host::BLOCK_BYTES;
    (bytes / 3 / settings.most_item).clamp(1, most)
}

/// Settings of the engine of a plan.
pub(crate) fn settings(plan: &Plan) -> Settings {
    let keep = if plan.keep == KvKeep::Store { Keep::Everything } else { Keep::WhatIsUsed };
    let append = if plan.keep == KvKeep::CacheAtOnce { Append::AtOnce } else { Append::OnLeaving };
    Settings {
        memory: u64::from(plan.item) * 16,
        most_item: u64::from(plan.item),
        keep,
        may_evict_store: false,
        append,
        // Of a cache some have bounds, which a run of seconds reaches.
        admission: AdmissionSettings {
            daily_bytes: if plan.seed.is_multiple_of(3) { 1 << 28 } else { 0 },
            least_ttl: if plan.seed.is_multiple_of(5) { 30 } else { 0 },
            least_item: 0,
        },
        segment_blocks: plan.kv_segment,
        patience: if plan.seed.is_multiple_of(2) { PATIENCE } else { LONG_PATIENCE },
    }
}

/// True if an engine with these settings writes what it has acknowledged by itself.
pub(crate) fn writes_at_once(settings: &Settings) -> bool {
    settings.keep == Keep::Everything || settings.append == Append::AtOnce
}

/// Seconds of Unix time.
pub(crate) fn unix(now: Time) -> u32 {
    1 + (now.0 / SECOND.0) as u32
}

impl Backed for Keys {
    fn over(plan: &Plan, backing: Backing, is_new: bool) -> Keys {
        let making = match is_new {
            true => OpenMode::Create { store: u128::from(plan.seed) + 1, seed: plan.seed },
            false => OpenMode::Open,
        };
        Keys {
            backing,
            settings: settings(plan),
            making,
            most_keys: plan.keys,
            phase: Phase::Waiting,
            tasks: Vec::new(),
            tickets: 0,
            now: Time::ZERO,
            recovers_at: Time::ZERO,
            may_recover: false,
        }
    }

    fn backing(&self) -> &Backing {
        &self.backing
    }

    fn backing_mut(&mut self) -> &mut Backing {
        &mut self.backing
    }

    fn resume(&mut self, now: Time) {
        self.now = now;
        if self.backing.below().is_ready() && matches!(self.phase, Phase::Waiting) {
            let opening = Opening::new(self.settings, self.backing.below().disk(), self.making);
            self.phase = Phase::Opening(Box::new(opening));
        }
        if let Phase::Serving(engine) = &mut self.phase {
            engine.tick(now, unix(now));
            if now >= self.recovers_at && (self.may_recover || engine.can_recover()) {
                self.may_recover = engine.recover(RECORDS);
                self.recovers_at = now + RECOVERS_EVERY;
            }
        }
        // What was refused may have given the engine something to do, too.
        while self.backing.below().is_ready() && (self.exchange(now) | self.serve() || self.exchange(now)) {}
    }

    fn own_refusal(&self) -> Option<String> {
        if let Phase::Refused(why) = &self.phase { Some(why.clone()) } else { None }
    }

    fn is_serving(&self) -> bool {
        matches!(self.phase, Phase::Serving(_))
    }

    fn export(&self) -> Disk {
        Disk { blocks: self.keys(), volatile_cache: true, ..self.backing.below().disk() }
    }

    fn engines(&self) -> Vec<&Engine> {
        if let Phase::Serving(engine) = &self.phase { vec![engine] } else { Vec::new() }
    }

    fn writes_at_once(&self) -> bool {
        writes_at_once(&self.settings)
    }

    fn accept(&mut self, _: Time, request: Request<Bytes>) {
        self.tasks.push(Task { request, done: 0, found: Vec::new(), ticket: None, point: None });
    }

    fn own_event(&self) -> Time {
        let of = |engine: &Engine| match engine.is_full() && !self.backing.may_retry() {
            true => Time::NEVER,
            false => engine.next_event(),
        };
        match &self.phase {
            Phase::Serving(engine) if self.may_recover || engine.can_recover() => {
                self.recovers_at.min(of(engine))
            }
            Phase::Serving(engine) => of(engine),
            // The drive of a store without an array is there at once.
            Phase::Waiting if self.backing.below().is_ready() => self.now,
            _ => Time::NEVER,
        }
    }
}

/// How long what is appended may wait for more: a few requests of the host.
const PATIENCE: Nanos = Nanos::millis(1);
const LONG_PATIENCE: Nanos = Nanos::millis(20);

/// A second of Unix time, for the sake of what happens in a short run.
const SECOND: Nanos = Nanos::millis(2);

/// Records that are found at a time, and how often: recovery runs beside the requests of the host.
const RECORDS: usize = 4;
const RECOVERS_EVERY: Nanos = Nanos::micros(20);

/// Segments that are never full: the first, and what the log keeps for itself.
const SPARE_SEGMENTS: u32 = 7;

const MOST_KEY: usize = tailcut_host::kv::MOST_KEY;
