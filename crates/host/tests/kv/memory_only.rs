//! An engine in memory only: the space of replaced and deleted items is used again before anything is
//! refused or evicted.

use std::collections::BTreeMap;
use tailcut_base::Time;
use tailcut_base::random::Stream;
use tailcut_host::kv::{Change, Content, Engine, Keep, Lookup, Put, Refused, Settings, State};

/// Segments have 64 KiB: 256 of them.
const MEMORY: u64 = 16 << 20;
const MOST_ITEM: u64 = 40_000;
const NOW: u32 = 1000;

struct Cache {
    engine: Engine,
    values: BTreeMap<String, Vec<u8>>,
}

impl Cache {
    fn new(keep: Keep) -> Cache {
        let settings = Settings { memory: MEMORY, most_item: MOST_ITEM, keep, ..Settings::default() };
        let mut engine = Engine::in_memory(settings, 7);
        engine.tick(Time(1), NOW);
        Cache { engine, values: BTreeMap::new() }
    }

    fn put(&mut self, key: &str, value: Vec<u8>, expires: u32) -> Result<u64, Refused> {
        let content = Content::New(&value);
        let put = Put { content, flags: 0, expires, state: State::default(), cas: None };
        let done = self.engine.change(key.as_bytes(), None, Change::Put(put));
        if done.is_ok() {
            self.values.insert(key.to_owned(), value);
        }
        done
    }

    fn remove(&mut self, key: &str) {
        self.engine.change(key.as_bytes(), None, Change::Remove).expect("deleting needs no room");
        self.values.remove(key);
    }

    fn value(&mut self, key: &str) -> Option<Vec<u8>> {
        let Lookup::Item(item) = self.engine.find(key.as_bytes(), true) else { return None };
        let mut value = Vec::new();
        item.value.append_to(&mut value);
        Some(value)
    }

    /// Asserts that every item is there with its last value, and nothing else.
    fn check(&mut self) {
        for (key, value) in self.values.clone() {
            assert_eq!(self.value(&key).as_ref(), Some(&value), "{key}");
        }
        assert_eq!(self.engine.items(), self.values.len() as u64);
    }

    /// Bytes of live records.
    fn live(&self) -> u64 {
        let room = |(key, value): (&String, &Vec<u8>)| {
            (40 + key.len() as u64 + value.len() as u64).next_multiple_of(16)
        };
        self.values.iter().map(room).sum()
    }
}

fn value(version: u64, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (version as usize * 31 + at) as u8).collect()
}

/// Puts new items until one is refused.
fn fill(cache: &mut Cache, bytes: usize, expires: u32) {
    for number in cache.values.len().. {
        if let Err(refused) = cache.put(&format!("key-{number}"), value(number as u64, bytes), expires) {
            assert_eq!(refused, Refused::Full);
            return;
        }
    }
}

#[test]
fn a_store_refuses_no_overwriting_of_few_keys() {
    for bytes in [40, 1000, 20_000, 39_000] {
        let mut cache = Cache::new(Keep::Everything);
        for version in 0..3 * MEMORY / bytes {
            let key = format!("key-{}", version % 10);
            cache.put(&key, value(version, bytes as usize), 0).expect("ten items fit");
        }
        cache.check();
        assert_eq!(cache.engine.memory_used(), cache.live());
    }
}

#[test]
fn a_store_refuses_nothing_at_85_percent_of_its_memory() {
    let mut cache = Cache::new(Keep::Everything);
    let mut random = Stream::new(1, "overwrites");
    let keys = MEMORY * 85 / 100 / 1056;
    for version in 0..keys {
        cache.put(&format!("key-{version}"), value(version, 1000), 0).expect("they fit");
    }
    for version in keys..4 * keys {
        let key = format!("key-{}", random.below(keys));
        cache.put(&key, value(version, 1000), 0).expect("the live items are no more than before");
    }
    cache.check();
    assert_eq!(cache.engine.memory_used(), cache.live());
}

#[test]
fn a_cache_half_full_of_live_items_evicts_nothing_when_they_are_overwritten() {
    let mut cache = Cache::new(Keep::WhatIsUsed);
    let mut random = Stream::new(2, "overwrites");
    let keys = MEMORY / 2 / 1056;
    for version in 0..keys {
        cache.put(&format!("key-{version}"), value(version, 1000), 0).expect("they fit");
    }
    for version in 0..3 * keys {
        // Most of them go to a tenth of the keys.
        let of = if random.below(10) == 0 { keys } else { keys / 10 };
        let key = format!("key-{}", random.below(of));
        cache.put(&key, value(version, 1000), 0).expect("there is room");
    }
    assert_eq!(cache.engine.figures().evicted, 0);
    cache.check();
}

#[test]
fn a_cache_evicts_when_live_items_do_not_fit() {
    let mut cache = Cache::new(Keep::WhatIsUsed);
    let keys = 2 * MEMORY / 1056;
    for version in 0..keys {
        cache.put(&format!("key-{version}"), value(version, 1000), 0).expect("others are evicted");
    }
    assert!(cache.engine.figures().evicted > 0);
    let share = cache.engine.memory_used() * 100 / MEMORY;
    assert!(share >= 90, "{share} % of the memory are used");
}

#[test]
fn a_full_store_has_room_again_after_deletions() {
    let mut cache = Cache::new(Keep::Everything);
    fill(&mut cache, 1000, 0);
    let (items, live) = (cache.values.len(), cache.live());
    assert!(live * 100 >= MEMORY * 95, "full at {live} bytes");
    cache.check();
    for number in (0..items).step_by(4) {
        cache.remove(&format!("key-{number}"));
    }
    for number in 0..items / 5 {
        cache.put(&format!("new-{number}"), value(number as u64, 1000), 0).expect("a quarter is free");
    }
    cache.check();
}

#[test]
fn the_room_of_expired_items_of_a_full_store_is_used_again() {
    let mut cache = Cache::new(Keep::Everything);
    fill(&mut cache, 100, NOW + 10);
    assert!(cache.put("late", value(1, 100), 0).is_err());
    cache.engine.tick(Time(2), NOW + 10);
    // Each refused write searches a few records, so the first ones may still be refused.
    let many = cache.values.len();
    let refused = (0..many).filter(|number| cache.put(&format!("new-{number}"), value(1, 100), 0).is_err());
    let refused = refused.count();
    assert!(refused < 8, "{refused} of {many} were refused");
}

#[test]
fn appending_and_amending_survive_compaction() {
    let mut cache = Cache::new(Keep::Everything);
    fill(&mut cache, 3000, 0);
    for number in 0..60 {
        cache.remove(&format!("key-{number}"));
    }
    for round in 0..200u64 {
        let key = format!("key-{}", 60 + round % 7);
        let added = value(round, 10);
        let put =
            Put { content: Content::After(&added), flags: 0, expires: 0, state: State::default(), cas: None };
        cache.engine.change(key.as_bytes(), None, Change::Put(put)).expect("room for one more");
        cache.values.get_mut(&key).expect("it is there").extend_from_slice(&added);
    }
    cache.check();
}

/// Values of all sizes, deletions, expiry, reads and changes of both kinds, near the limit of the memory.
#[test]
fn items_are_those_of_a_map_whatever_is_moved() {
    for (seed, keep) in (0..6).zip([Keep::Everything, Keep::WhatIsUsed].into_iter().cycle()) {
        let mut cache = Cache::new(keep);
        let mut random = Stream::new(seed, "operations");
        let (mut refused, mut wrong_once) = (0u32, false);
        for version in 0..30_000 {
            let key = format!("key-{}", random.below(9000));
            match random.below(10) {
                0 => cache.remove(&key),
                1 => {
                    wrong_once |=
                        cache.value(&key).is_some_and(|value| cache.values.get(&key) != Some(&value))
                }
                2..5 => refused += u32::from(cache.put(&key, value(version, 60), 0).is_err()),
                5..9 => {
                    let bytes = random.below(4000) as usize;
                    refused += u32::from(cache.put(&key, value(version, bytes), 0).is_err());
                }
                _ => {
                    let bytes = random.below(39_000) as usize;
                    refused += u32::from(cache.put(&key, value(version, bytes), 0).is_err());
                }
            }
        }
        assert!(!wrong_once, "seed {seed}");
        match keep {
            Keep::Everything => {
                assert!(refused > 0, "seed {seed}: the memory was never full");
                cache.check();
                assert_eq!(cache.engine.memory_used(), cache.live(), "seed {seed}");
            }
            Keep::WhatIsUsed => {
                assert_eq!(refused, 0, "seed {seed}");
                assert!(cache.engine.figures().evicted > 0, "seed {seed}: the memory was never full");
                for (key, value) in cache.values.clone() {
                    let found = cache.value(&key);
                    assert!(found.is_none_or(|found| found == value), "seed {seed}: {key}");
                }
            }
        }
    }
}

#[test]
fn a_limit_on_memory_takes_effect_as_items_come_and_is_taken_back() {
    let mut cache = Cache::new(Keep::WhatIsUsed);
    let put = |cache: &mut Cache, from: u64, count: u64| {
        for number in from..from + count {
            cache.put(&format!("key-{number}"), value(number, 1000), 0).expect("a cache has room");
        }
        cache.engine.memory_used()
    };
    let full = put(&mut cache, 0, 2 * MEMORY / 1056);
    assert!(full > MEMORY * 9 / 10, "{full}");
    assert!(!cache.engine.set_memory_limit(MEMORY + 1), "more than it was opened with");
    assert!(!cache.engine.set_memory_limit(15 * MOST_ITEM), "less than its largest items need");
    assert!(cache.engine.set_memory_limit(MEMORY / 4));
    // Overwriting leaves dead records, whose segments are compacted meanwhile.
    let mut random = Stream::new(3, "overwrites");
    for version in 0..MEMORY / 1056 {
        let key = format!("key-{}", 2 * MEMORY / 1056 - 1 - random.below(10_000));
        cache.put(&key, value(version, 1000), 0).expect("a cache has room");
    }
    let small = put(&mut cache, 1_000_000, 2 * MEMORY / 1056);
    assert!((MEMORY / 5..=MEMORY / 4).contains(&small), "{small}");
    let mut returned = 0;
    while let Some(memory) = cache.engine.next_retired() {
        memory.fill(0xff);
        returned += memory.len() as u64;
    }
    assert_eq!(returned, MEMORY * 3 / 4);
    cache.engine.check().expect("it is consistent");
    cache.engine.flush_all().expect("there is no disk");
    assert!(cache.engine.set_memory_limit(MEMORY));
    let full = put(&mut cache, 2_000_000, 2 * MEMORY / 1056);
    assert!(full > MEMORY * 9 / 10, "{full}");
    assert!(cache.engine.next_retired().is_none());
    cache.engine.check().expect("it is consistent");
}
