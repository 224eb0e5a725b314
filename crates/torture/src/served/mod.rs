//! The key-value server as a subject: clients send commands in memcached's protocol to simulated [threads],
//! which share the shards of a store.
//!
//! As of [`super::keys`], a key is a block; each request of the host is sent over one connection, as one
//! command for each key. Which thread has its turn when, which pieces its clients' commands come in, and
//! which shard it finds taken is drawn by the seed.
//!
//! A server with `--durable` has made durable what it has acknowledged, so there is nothing left for a flush.
//! One without makes everything durable when it stops; a flush is that, without the end.

mod client;
mod threads;

use super::backed::{Backed, Backing};
use super::keys;
use super::plan::{KvKeep, Plan};
use super::stamp::{Content, Stamp};
use super::subject::Subject;
use client::Outcome;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::kv::session::{ServiceSettings, Shard};
use tailcut_host::kv::{Engine, OpenMode, Opening, Settings, WriteNumber};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Request, Response};
use threads::Server;

/// A key-value server over an array or a drive.
#[derive(Debug)]
pub struct Served {
    backing: Backing,
    settings: Settings,
    service: ServiceSettings,
    seed: u64,
    is_new: bool,
    threads: u32,
    shards: u32,
    most_keys: u64,
    phase: Phase,
    tasks: Vec<Task>,
    now: Time,
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
    /// The part of the disk that a shard has. Segments of all parts lie as those of one store do.
    fn part(&self) -> Disk {
        let disk = self.backing.below().disk();
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

    /// Takes answers from the disk and gives it requests. True if there were any.
    fn exchange(&mut self, now: Time) -> bool {
        let (of, blocks) = (self.shards, self.part().blocks);
        let mut has_moved = false;
        for response in self.backing.take_answers() {
            has_moved = true;
            let (shard, response) = (response.id % of, Response { id: response.id / of, ..response });
            match &mut self.phase {
                Phase::Opening(openings) => openings[shard as usize].respond(response),
                Phase::Serving(server) => server.respond(shard, response),
                Phase::Waiting | Phase::Refused(_) => {}
            }
        }
        has_moved |= self.backing.submit(now, || {
            let (shard, request) = self.phase.next_request()?;
            let (id, block) = (request.id * of + shard, request.block + u64::from(shard) * blocks);
            Some(Request { id, block, ..request })
        });
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
        let backing = &mut self.backing;
        self.tasks.retain_mut(|task| {
            let answer = task.answer(server, is_durable, is_gone);
            let is_over = answer.is_some();
            backing.answer(answer);
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

impl Backed for Served {
    fn over(plan: &Plan, backing: Backing, is_new: bool) -> Served {
        let settings = keys::settings(plan);
        // As memcached counts items: a little more than the engine does.
        let most_item = settings.most_item + 1024;
        let is_durable = plan.keep == KvKeep::Store && plan.seed.is_multiple_of(3);
        let service = ServiceSettings { most_item, is_durable, client_memory: 1 << 20, process: 1 };
        Served {
            backing,
            settings,
            service,
            seed: plan.seed,
            is_new,
            threads: plan.threads,
            shards: plan.shards(),
            most_keys: plan.keys,
            phase: Phase::Waiting,
            tasks: Vec::new(),
            now: Time::ZERO,
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
        while self.backing.below().is_ready() && self.exchange(now) {}
    }

    fn own_refusal(&self) -> Option<String> {
        if let Phase::Refused(why) = &self.phase { Some(why.clone()) } else { None }
    }

    fn is_serving(&self) -> bool {
        self.server().is_some()
    }

    fn export(&self) -> Disk {
        Disk { blocks: self.keys(), volatile_cache: true, ..self.backing.below().disk() }
    }

    fn engines(&self) -> Vec<&Engine> {
        self.server().into_iter().flat_map(|server| server.shards().map(Shard::engine)).collect()
    }

    fn writes_at_once(&self) -> bool {
        keys::writes_at_once(&self.settings)
    }

    fn own_counts(&self) -> String {
        format!("{:?}", self.server().map(Server::deferred))
    }

    fn accept(&mut self, _: Time, request: Request<Bytes>) {
        let (keys, most) = (self.keys(), self.settings.most_item);
        let Phase::Serving(server) = &mut self.phase else { return };
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
    }

    fn own_event(&self) -> Time {
        match &self.phase {
            Phase::Serving(server) => server.next_event(self.backing.may_retry()),
            // The drive of a store without an array is there at once.
            Phase::Waiting if self.backing.below().is_ready() => self.now,
            _ => Time::NEVER,
        }
    }
}
