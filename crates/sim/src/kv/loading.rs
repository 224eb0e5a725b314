//! Loads a server's items before the measurement: it receives sets, over a disk that takes no time.
//!
//! Its log goes round once, items being set again at random, so that from the first moment on what is written
//! needs room that was used before.

use super::config::KvConfig;
use super::content::{append_key, append_value};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::kv::{Change, Content, Engine, OpenMode, Opening, Put, Refused, State};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Request, Response};

/// A server with its items, and what is on its disk.
#[derive(Debug)]
pub struct Loaded {
    /// The server, which holds all of its items.
    pub service: Service,
    /// The content of the server's disk, block by block.
    pub blocks: Vec<Bytes>,
    /// The version that was last set of each item, by number.
    pub versions: Vec<u64>,
    /// The version that was set last, of all items; versions count up.
    pub last: u64,
}

/// Loads a server whose disk is like this one.
pub fn load(config: &KvConfig, disk: &Disk, seed: u64) -> Loaded {
    let mut random = Stream::new(seed, "key-value server");
    let mut blocks = vec![Bytes::ZEROS; disk.blocks as usize];
    let engine = make(config, disk, &mut blocks, &mut random);
    let mut loading = Loading { engine, blocks, versions: vec![0; config.items as usize], last: 0 };
    loading.fill(config, disk, &mut random);
    // As memcached counts an item, with room for its key.
    let most_item = config.value + 1024;
    let settings =
        ServiceSettings { most_item, is_durable: config.durable, client_memory: u64::MAX, process: 0 };
    let service = Service::new(loading.engine, settings);
    Loaded { service, blocks: loading.blocks, versions: loading.versions, last: loading.last }
}

/// A new store on a disk of zeros.
fn make(config: &KvConfig, disk: &Disk, blocks: &mut [Bytes], random: &mut Stream) -> Engine {
    let store = u128::from(random.bits()) << 64 | u128::from(random.bits());
    let making = OpenMode::Create { store, seed: random.bits() };
    let mut opening = Opening::new(config.settings(), disk.clone(), making);
    while let Some(request) = opening.next_request() {
        opening.respond(answer_at_once(request, blocks));
    }
    opening.end().expect("the disk has been looked at")
}

/// A server's engine that is being filled.
struct Loading {
    engine: Engine,
    blocks: Vec<Bytes>,
    versions: Vec<u64>,
    last: u64,
}

impl Loading {
    fn fill(&mut self, config: &KvConfig, disk: &Disk, random: &mut Stream) {
        self.engine.tick(Time::ZERO, UNIX as u32);
        (0..config.items).for_each(|item| self.set(item, config.value));
        let around = disk.blocks * BLOCK_BYTES / config.footprint();
        (config.items..around).for_each(|_| self.set(random.below(config.items), config.value));
        self.engine.sync();
        while !self.engine.is_idle() {
            self.settle();
        }
    }

    fn set(&mut self, item: u64, bytes: u64) {
        self.last += 1;
        self.versions[item as usize] = self.last;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        append_key(item, &mut key);
        append_value(item, self.last, bytes as usize, &mut value);
        let content = Content::New(&value);
        let put = Put { content, flags: 0, expires: 0, state: State::default(), cas: None };
        while let Err(refused) = self.engine.change(&key, None, Change::Put(put)) {
            assert_eq!(refused, Refused::Busy, "item {item} of a store that has room for it");
            self.settle();
        }
        self.settle();
    }

    /// Lets the disk answer everything.
    fn settle(&mut self) {
        while let Some(request) = self.engine.next_request() {
            self.engine.respond(answer_at_once(request, &mut self.blocks));
        }
    }
}

/// A disk that takes no time.
fn answer_at_once(request: Request<Bytes>, blocks: &mut [Bytes]) -> Response<Bytes> {
    let Request { id, op, block, blocks: count, mut data, .. } = request;
    let range = block as usize..block as usize + count as usize;
    match op {
        Op::Read => data.extend_from_slice(&blocks[range]),
        Op::Write => blocks[range].clone_from_slice(&data),
        Op::Trim | Op::Flush => {}
    }
    Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans: Spans::new() }
}

/// When virtual time begins, in seconds of Unix time: any moment will do, as long as it is the same.
pub(super) const UNIX: u64 = 1_700_000_000;
