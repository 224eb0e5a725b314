//! How many gets of a cache find their item, beside a list of the items used last.

use std::collections::{BTreeMap, BTreeSet};
use tailcut_base::Time;
use tailcut_base::random::Stream;
use tailcut_host::kv::{Change, Content, Engine, Lookup, Put, Settings, State};

const MEMORY: u64 = 32 << 20;
/// Items of a 14-byte key and 100 bytes, as `bench/kv.sh` stores them; all of them need twice the memory.
const ITEMS: usize = 400_000;
const VALUE: [u8; 100] = [b'v'; 100];
/// What such an item takes in memcached: a chunk of 192 bytes.
const CHUNK: u64 = 192;
const REQUESTS: u32 = 3_000_000;

/// Draws ranks of a Zipf distribution.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(theta: f64) -> Zipf {
        let mut sum = 0.0;
        let weights = (1..=ITEMS).map(|rank| {
            sum += (rank as f64).powf(-theta);
            sum
        });
        Zipf(weights.collect())
    }

    fn draw(&self, random: &mut Stream) -> usize {
        let at = random.unit() * self.0[ITEMS - 1];
        self.0.partition_point(|&sum| sum < at).min(ITEMS - 1)
    }
}

/// A cache of a number of items that evicts the one used least recently.
struct Lru {
    capacity: usize,
    used: BTreeMap<usize, u64>,
    order: BTreeSet<(u64, usize)>,
    clock: u64,
}

impl Lru {
    fn get(&mut self, item: usize) -> bool {
        let is_there = self.used.contains_key(&item);
        if is_there {
            self.put(item);
        }
        is_there
    }

    fn put(&mut self, item: usize) {
        self.clock += 1;
        if let Some(before) = self.used.insert(item, self.clock) {
            self.order.remove(&(before, item));
        } else if self.used.len() > self.capacity {
            let (at, oldest) = self.order.pop_first().expect("it is full");
            assert_eq!(self.used.remove(&oldest), Some(at));
        }
        self.order.insert((self.clock, item));
    }
}

/// Gets of which a miss is stored, and `sets` of 100 requests that are writes: hits of the engine and of LRU
/// among the last half of the gets, in per cent.
fn hits(sets: u64, theta: f64) -> [f64; 2] {
    let mut engine = Engine::in_memory(Settings { memory: MEMORY, ..Settings::default() }, 7);
    engine.tick(Time(1), 1000);
    let capacity = (MEMORY / CHUNK) as usize;
    let mut lru = Lru { capacity, used: BTreeMap::new(), order: BTreeSet::new(), clock: 0 };
    let (zipf, mut random) = (Zipf::new(theta), Stream::new(1, "quality"));
    let (mut gets, mut found) = (0, [0; 2]);
    for request in 0..REQUESTS {
        let item = zipf.draw(&mut random);
        let key = format!("key:{item:010}");
        let content = Content::New(&VALUE);
        let put = Change::Put(Put { content, flags: 0, expires: 0, state: State::default(), cas: None });
        if random.below(100) < sets {
            engine.change(key.as_bytes(), None, put).expect("a cache has room");
            lru.put(item);
            continue;
        }
        let hit = matches!(engine.find(key.as_bytes(), true), Lookup::Item(_));
        if !hit {
            engine.change(key.as_bytes(), None, put).expect("a cache has room");
        }
        let hits = [hit, lru.get(item)];
        if !hits[1] {
            lru.put(item);
        }
        if request >= REQUESTS / 2 {
            gets += 1;
            (0..2).for_each(|which| found[which] += u64::from(hits[which]));
        }
    }
    found.map(|found| 100.0 * found as f64 / f64::from(gets))
}

#[test]
fn more_gets_find_their_item_than_in_a_list_of_the_items_used_last() {
    for (sets, theta) in [(10, 0.99), (50, 0.99), (10, 0.8)] {
        let [ours, lru] = hits(sets, theta);
        println!("{sets} % sets, theta {theta}: {ours:.2} % found, {lru:.2} % by LRU");
        assert!(ours > lru, "{sets} % sets, theta {theta}: {ours:.2} % found, {lru:.2} % by LRU");
    }
}

/// Room for a long item is made where older ones are.
#[test]
fn what_was_stored_last_is_found_after_long_items() {
    for reads in [false, true] {
        let mut engine = Engine::in_memory(Settings { memory: 8 << 20, ..Settings::default() }, 7);
        engine.tick(Time(1), 1000);
        let put = |engine: &mut Engine, key: &str, value: &[u8]| {
            let content = Content::New(value);
            let put = Put { content, flags: 0, expires: 0, state: State::default(), cas: None };
            engine.change(key.as_bytes(), None, Change::Put(put)).expect("a cache has room");
        };
        for item in 0..100_000 {
            put(&mut engine, &format!("old:{item}"), &VALUE);
            if reads && item % 2 == 0 {
                assert!(matches!(engine.find(format!("old:{item}").as_bytes(), true), Lookup::Item(_)));
            }
        }
        for round in 0..40 {
            let key = format!("fresh:{round}");
            put(&mut engine, &key, b"0123456789");
            for long in 0..2 {
                put(&mut engine, &format!("long:{long}"), &vec![b'v'; 1_000_000]);
                let found = engine.find(key.as_bytes(), false);
                assert!(matches!(found, Lookup::Item(_)), "round {round}, after {} long items", long + 1);
            }
        }
    }
}
