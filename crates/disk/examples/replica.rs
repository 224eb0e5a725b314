//! A log of a replica with callbacks, in the manner of TigerBeetle: prepares are pipelined, and a prepare is
//! acknowledged when it is durable. With `--forget` it is acknowledged when it is written.
//!
//!     cargo run --package tailcut-disk --example replica -- --forget

use std::collections::BTreeSet;
use tailcut_disk::ring::Ring;
use tailcut_disk::{Choice, Disk, DiskConfig, Operation, Personality, Sector, Stream};

/// Slots of the log; prepare `n` is in slot `n` modulo this.
const SLOTS: u64 = 64;

/// Sectors of a slot: a prepare of 4 KiB.
const SLOT_SECTORS: u64 = 8;

/// Prepares in flight at the most.
const PIPELINE: usize = 8;

/// A replica.
struct Replica {
    /// Whether a prepare is flushed before it is acknowledged.
    flushes: bool,
    next: u64,
    last: u64,
    in_flight: usize,
    /// Prepares that the primary counts on.
    acknowledged: BTreeSet<u64>,
}

impl Replica {
    fn new(flushes: bool) -> Replica {
        Replica { flushes, next: 1, last: 40, in_flight: 0, acknowledged: BTreeSet::new() }
    }

    /// Begins as many prepares as the pipeline takes.
    fn fill_pipeline(&mut self, ring: &mut Ring<Replica>) {
        while self.in_flight < PIPELINE && self.next <= self.last {
            let prepare = self.next;
            self.next += 1;
            self.in_flight += 1;
            let slot = Sector::new(prepare % SLOTS * SLOT_SECTORS);
            let data = prepare.to_le_bytes().repeat(512);
            ring.submit(Operation::write(slot, data), move |replica: &mut Replica, ring, completion| {
                completion.result().expect("a sound disk");
                replica.written(prepare, ring);
            })
            .expect("the queue is longer than the pipeline");
        }
    }

    fn written(&mut self, prepare: u64, ring: &mut Ring<Replica>) {
        if !self.flushes {
            return self.acknowledge(prepare, ring);
        }
        ring.submit(Operation::flush(), move |replica: &mut Replica, ring, completion| {
            completion.result().expect("a sound disk");
            replica.acknowledge(prepare, ring);
        })
        .expect("the queue is longer than the pipeline");
    }

    fn acknowledge(&mut self, prepare: u64, ring: &mut Ring<Replica>) {
        self.acknowledged.insert(prepare);
        self.in_flight -= 1;
        self.fill_pipeline(ring);
    }
}

/// Runs a replica, cuts the power at a random event, and returns an acknowledged prepare that is not in the
/// log, if there is one.
pub(crate) fn violation(flushes: bool, seed: u64) -> Option<String> {
    let mut random = Stream::new(seed, "test");
    let personality = Personality::all()[random.index(Personality::all().len())];
    let config = DiskConfig::new(personality).capacity(1 << 20).volatile_cache(1 << 20);
    let mut ring = Ring::new(Disk::new(config, seed));
    let mut replica = Replica::new(flushes);
    replica.fill_pipeline(&mut ring);
    for _ in 0..random.below(400) {
        ring.tick(&mut replica);
    }
    ring.power_cut(&mut random);
    let is_lost = |prepare: &&u64| {
        let slot = ring.disk().peek(Sector::new(*prepare % SLOTS * SLOT_SECTORS), 8);
        slot != prepare.to_le_bytes().repeat(512)
    };
    let lost = replica.acknowledged.iter().find(is_lost)?;
    Some(format!(
        "prepare {lost} of {} was acknowledged and is lost on {personality}",
        replica.acknowledged.len()
    ))
}

#[allow(dead_code, reason = "the test of the examples has its own")]
fn main() {
    let flushes = !std::env::args().any(|argument| argument == "--forget");
    match (0..1000).find_map(|seed| Some((seed, violation(flushes, seed)?))) {
        Some((seed, message)) => println!("seed {seed}: {message}"),
        None => println!("1000 seeds: no acknowledged prepare was lost"),
    }
}
