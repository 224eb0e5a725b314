//! The key-value server as a subject: clients send commands in memcached's protocol to simulated [threads],
//! which share the shards of a store.
//!
//! As of [`super::keys`], a key is a block; each request of the host is sent over one connection, as one
//! command for each key. Which thread has its turn when, which pieces its clients' commands come in, and which
//! shard it finds taken is drawn by the seed.
//!
//! A server with `--durable` has made durable what it has acknowledged, so there is nothing left for a flush.
//! One without makes everything durable when it stops; a flush is that, without the end.

mod client;
mod threads;

use super::below::Below;
use super::keys;
use super::plan::{KvKeep, Plan};
use super::stamp::{Content, Stamp};
use super::subject::{Findings, Subject, SubjectHealth};
use client::Outcome;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::kv::session::{ServiceSettings, Shard};
use tailcut_host::kv::{Append, Engine, Keep, OpenMode, Opening, Settings, WriteNumber};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Request, Response};
use threads::Server;

/// A key-value server over an array or a drive.
#[derive(Debug)]
pub struct Served {
    below: Below,
    settings: Settings,
    service: ServiceSettings,
    seed: u64,
    is_new: bool,
    threads: u32,
    shards: u32,
    most_keys: u64,
    phase: Phase,
    tasks: Vec<Task>,
    answers: Vec<Response<Bytes>>,
    /// What the array did not take.
    held: Option<Request<Bytes>>,
    now: Time,
    /// Retries of the engines since they last had room.
    retries: u32,
}

#[derive(Debug)]
enum Phase {
    /// The array is not there yet.
    Waiting,
    Opening(Vec<Opening>),
    Serving(Box<Server>),
    Refused(String),
}

/// A request of the host under way.
#[derive(Debug)]
struct Task {
    request: Request<Bytes>,
    /// Commands without a reply.
    left: u32,
    found: Vec<Bytes>,
    has_failed: bool,
    /// It is answered when so much of each shard is durable.
    points: Option<Vec<WriteNumber>>,
}

impl Served {
    fn new(plan: &Plan, below: Below, is_new: bool) -> Served {
        let settings = keys::settings(plan);
        // As memcached counts items: a little more than the engine does.
        let most_item = settings.most_item + 1024;
        let is_durable = plan.keep == KvKeep::Store && plan.seed.is_multiple_of(3);
        let service = ServiceSettings { most_item, is_durable, client_memory: 1 << 20, process: 1 };
        Served {
            below,
            settings,
            service,
            seed: plan.seed,
            is_new,
            threads: plan.threads,
            shards: plan.shards(),
            most_keys: plan.keys,
            phase: Phase::Waiting,
            tasks: Vec::new(),
            answers: Vec::new(),
            held: None,
            now: Time::ZERO,
            retries: 0,
        }
    }

    /// The part of the disk that a shard has. Segments of all parts lie as those of one store do.
    fn part(&self) -> Disk {
        let disk = self.below.disk();
        let segment = u64::from(self.settings.segment_blocks);
        let blocks = disk.blocks / u64::from(self.shards) / segment * segment;
        Disk { blocks, depth: (disk.depth / self.shards).max(1), ..disk }
    }

    fn keys(&self) -> u64 {
        // What is made durable by itself takes blocks of its own.
        let least = if self.service.is_durable { 2 * BLOCK_BYTES } else { 0 };
        let settings = Settings { most_item: self.settings.most_item.max(least), ..self.settings };
        keys::keys(&settings, &self.part(), self.most_keys)
    }

    fn server(&self) -> Option<&Server> {
        if let Phase::Serving(server) = &self.phase { Some(server) } else { None }
    }

    fn engines(&self) -> impl Iterator<Item = &Engine> {
        self.server().into_iter().flat_map(|server| server.shards().map(Shard::engine))
    }

    /// Continues until nothing can be done without time or a drive.
    fn resume(&mut self, now: Time) {
        self.now = now;
        if self.below.is_ready() && matches!(self.phase, Phase::Waiting) {
            let part = self.part();
            let mode = |shard: u32| match self.is_new {
                true => {
                    OpenMode::Create { store: u128::from(self.seed + u64::from(shard)) + 1, seed: self.seed }
                }
                false => OpenMode::Open,
            };
            let opening = |shard| Opening::new(self.settings, part.clone(), mode(shard));
            self.phase = Phase::Opening((0..self.shards).map(opening).collect());
        }
        if let Phase::Serving(server) = &mut self.phase {
            server.tick(now, u64::from(keys::unix(now)));
            server.advance();
        }
        self.settle();
        while self.below.is_ready() && self.exchange(now) {}
    }

    /// Takes answers from the disk and gives it requests. True if there were any.
    fn exchange(&mut self, now: Time) -> bool {
        let (of, blocks) = (self.shards, self.part().blocks);
        let mut has_moved = false;
        for response in self.below.answers() {
            has_moved = true;
            let (shard, response) = (response.id % of, Response { id: response.id / of, ..response });
            match &mut self.phase {
                Phase::Opening(openings) => openings[shard as usize].respond(response),
                Phase::Serving(server) => server.respond(shard, response),
                Phase::Waiting | Phase::Refused(_) => {}
            }
        }
        while let Some(request) = self.held.take().or_else(|| {
            let (shard, request) = self.phase.next_request()?;
            let (id, block) = (request.id * of + shard, request.block + u64::from(shard) * blocks);
            Some(Request { id, block, ..request })
        }) {
            if let Err(request) = self.below.submit(now, request) {
                self.held = Some(request);
                break;
            }
            has_moved = true;
        }
        if let Phase::Opening(openings) = &mut self.phase
            && openings.iter().all(Opening::is_done)
        {
            has_moved = true;
            let engines: Result<Vec<Engine>, _> =
                std::mem::take(openings).into_iter().map(Opening::end).collect();
            self.phase = match engines {
                Ok(engines) => Phase::Serving(Box::new(self.serve(engines))),
                Err(why) => Phase::Refused(why.to_string()),
            };
        }
        has_moved
    }

    fn serve(&self, engines: Vec<Engine>) -> Server {
        let shards = engines.into_iter().map(|engine| Shard::new(engine, self.service)).collect();
        let random = Stream::new(self.seed ^ self.now.0, "torture turns");
        let connections = 1 + (self.seed / 7 % 3) as usize;
        let mut server = Server::new(shards, (self.threads, connections), self.service, random);
        server.tick(self.now, u64::from(keys::unix(self.now)));
        server
    }

    /// Takes the replies of the server, and answers requests that are done.
    fn settle(&mut self) {
        let Phase::Serving(server) = &mut self.phase else { return };
        let most = self.settings.most_item;
        for connection in server.connections() {
            let mut lost = Vec::new();
            while let Some((id, outcome)) = connection.next_reply(most) {
                // Its task may have ended with the server.
                let Some(task) = self.tasks.iter_mut().find(|task| task.request.id == id) else { continue };
                match outcome {
                    Outcome::Lost(block) => lost.push((id, block)),
                    outcome => task.note(outcome),
                }
            }
            lost.into_iter().for_each(|(id, block)| connection.get(id, block));
        }
        // A server ends where its drive is gone.
        let is_gone = server.shards().any(|shard| shard.engine().unreadable().is_some());
        let is_durable = self.service.is_durable;
        let answers = &mut self.answers;
        self.tasks.retain_mut(|task| {
            let answer = task.answer(server, is_durable, is_gone);
            let is_over = answer.is_some();
            answers.extend(answer);
            !is_over
        });
    }
}

impl Task {
    fn note(&mut self, outcome: Outcome) {
        self.left -= 1;
        match outcome {
            Outcome::Read(block, content) => self.found[(block - self.request.block) as usize] = content,
            Outcome::Failed => self.has_failed = true,
            Outcome::Done | Outcome::Lost(_) => {}
        }
    }

    fn answer(&mut self, server: &mut Server, is_durable: bool, is_gone: bool) -> Option<Response<Bytes>> {
        if self.left > 0 && !is_gone {
            return None;
        }
        let mut status = Status::Success;
        if self.has_failed || is_gone {
            status = Status::MediaError;
        } else if !is_durable && (self.request.op == Op::Flush || self.request.fua) {
            let sync = |shard: &mut Shard| {
                shard.touch();
                shard.engine_mut().sync()
            };
            let points = self.points.get_or_insert_with(|| server.shards_mut().map(sync).collect());
            let mut late =
                server.shards().zip(points).filter(|(shard, point)| shard.engine().durable() < **point);
            match late.next() {
                Some((shard, _)) if shard.engine().has_failed() => status = Status::MediaError,
                Some(_) => return None,
                None => {}
            }
        }
        let data = if status == Status::Success { std::mem::take(&mut self.found) } else { Vec::new() };
        Some(Response { id: self.request.id, status, data, busy_for: Nanos::ZERO, spans: Default::default() })
    }
}

impl Phase {
    fn next_request(&mut self) -> Option<(u32, Request<Bytes>)> {
        match self {
            Phase::Opening(openings) => {
                (0..).zip(openings).find_map(|(shard, opening)| Some((shard, opening.next_request()?)))
            }
            Phase::Serving(server) => server.next_request(),
            Phase::Waiting | Phase::Refused(_) => None,
        }
    }
}

impl Subject for Served {
    fn create(now: Time, plan: &Plan, drives: &[Disk]) -> Served {
        Served::new(plan, Below::create(now, plan, drives), true)
    }

    fn open(now: Time, plan: &Plan, drives: &[(usize, Disk)]) -> Served {
        Served::new(plan, Below::open(now, plan, drives), false)
    }

    fn refused(&self) -> Option<String> {
        match &self.phase {
            Phase::Refused(why) => Some(why.clone()),
            _ => self.below.refused(),
        }
    }

    fn stale(&self) -> &[usize] {
        self.below.stale()
    }

    fn is_ready(&self) -> bool {
        self.server().is_some()
    }

    fn disk(&self) -> Disk {
        Disk { blocks: self.keys(), volatile_cache: true, ..self.below.disk() }
    }

    fn health(&self) -> SubjectHealth {
        self.below.health()
    }

    fn findings(&self) -> Findings {
        let mut findings = self.below.findings();
        for engine in self.engines() {
            findings.corrupt += engine.figures().damaged;
            findings.collected += engine.figures().reclaimed;
        }
        findings
    }

    fn counts(&self) -> String {
        let of = |engine: &Engine| (format!("{:?}", engine.figures()), engine.items(), engine.memory_used());
        let stores: Vec<_> = self.engines().map(of).collect();
        let deferred = self.server().map(Server::deferred);
        format!("{stores:?} {deferred:?} {}", self.below.counts())
    }

    fn can_write(&self) -> bool {
        !self.engines().any(Engine::has_failed)
    }

    fn is_durable_at_rest(&self) -> bool {
        let writes_at_once = self.settings.keep == Keep::Everything || self.settings.append == Append::AtOnce;
        writes_at_once
            && self.is_ready()
            && !self.engines().any(|engine| engine.has_failed() || engine.is_full())
    }

    fn check_at_rest(&self) -> Result<(), String> {
        for engine in self.engines() {
            if engine.is_idle() { engine.check_at_rest()? } else { engine.check()? }
        }
        self.below.check_at_rest()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) -> Result<(), Request<Bytes>> {
        let (keys, most) = (self.keys(), self.settings.most_item);
        let Phase::Serving(server) = &mut self.phase else { return Err(request) };
        let (id, op) = (request.id, request.op);
        // Some hosts send all requests for a key over one connection.
        let number = if self.seed.is_multiple_of(2) { id } else { (request.block / 4) as u32 };
        let connection = server.connection(number as usize);
        let mut left = if op == Op::Flush { 0 } else { request.blocks };
        if op == Op::Trim && u64::from(request.blocks) == keys {
            connection.flush_all(id, keys);
            left = 1;
        } else {
            for (index, block) in (request.block..).take(left as usize).enumerate() {
                match op {
                    Op::Write => {
                        let Content::Written(stamp) = Stamp::read(&request.data[index]) else {
                            panic!("a write has the content of its version")
                        };
                        connection.set(id, stamp, most);
                    }
                    Op::Read => connection.get(id, block),
                    _ => connection.delete(id, block),
                }
            }
        }
        let found = if op == Op::Read { vec![Bytes::default(); left as usize] } else { Vec::new() };
        self.tasks.push(Task { request, left, found, has_failed: false, points: None });
        self.resume(now);
        Ok(())
    }

    fn answered(&mut self, now: Time, drive: usize, response: Response<Bytes>) {
        self.below.answered(now, drive, response);
        self.resume(now);
    }

    fn next_event(&self) -> Time {
        let own = match &self.phase {
            // A drive that is full for good would be retried for ever.
            Phase::Serving(server) => server.next_event(self.retries < keys::MAX_RETRIES),
            // The drive of a store without an array is there at once.
            Phase::Waiting if self.below.is_ready() => self.now,
            _ => Time::NEVER,
        };
        own.min(self.below.next_event())
    }

    fn advance(&mut self, now: Time) {
        if self.below.next_event() <= now {
            self.below.advance(now);
        }
        let is_retry = self.engines().any(|engine| engine.is_full() && engine.next_event() <= now);
        let is_full = self.engines().any(Engine::is_full);
        let retries = (self.retries + u32::from(is_retry)).min(keys::MAX_RETRIES);
        self.retries = if is_full { retries } else { 0 };
        self.resume(now);
    }

    fn sent(&mut self) -> Vec<(usize, Request<Bytes>)> {
        self.below.sent()
    }

    fn answers(&mut self) -> Vec<Response<Bytes>> {
        std::mem::take(&mut self.answers)
    }

    fn controls(&mut self) -> Vec<(usize, Control)> {
        self.below.controls()
    }

    fn control_answered(&mut self, now: Time, drive: usize, call: Control, reply: ControlReply) {
        self.below.control_answered(now, drive, call, reply);
        self.resume(now);
    }

    fn replace(&mut self, now: Time, drive: usize, disk: Disk) {
        self.below.replace(now, drive, disk);
    }

    fn scrub(&mut self, now: Time) {
        self.below.scrub(now);
    }
}
