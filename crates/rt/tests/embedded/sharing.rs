//! Several threads share one store.

use super::{on_memory, value};
use std::collections::HashMap;
use tailcut_base::random::Stream;
use tailcut_rt::embedded::{PutCondition, Store};

/// Compares a store with a map, in a thread with its own keys.
fn compare(store: &Store, thread: u64, steps: u64) {
    let mut random = Stream::new(thread, "sharing");
    let mut map: HashMap<u64, Vec<u8>> = HashMap::new();
    for step in 0..steps {
        let key = thread << 32 | random.below(300);
        let name = key.to_le_bytes();
        match random.below(8) {
            0..3 => {
                store.set(&name, &value(key, step)).expect("there is room");
                map.insert(key, value(key, step));
            }
            3 => assert_eq!(store.delete(&name), Ok(map.remove(&key).is_some())),
            4 => {
                let stored = store.set_only(PutCondition::IfAbsent, &name, &value(key, step));
                assert_eq!(stored.expect("there is room").is_some(), !map.contains_key(&key));
                map.entry(key).or_insert_with(|| value(key, step));
            }
            _ => {
                let found = store.get(&name).expect("it can be read");
                assert_eq!(found.as_deref(), map.get(&key).map(Vec::as_slice), "{key:x} in step {step}");
            }
        }
    }
    for (key, value) in &map {
        let found = store.get(&key.to_le_bytes()).expect("it can be read");
        assert_eq!(found.as_deref(), Some(value.as_slice()), "{key:x} at the end");
    }
}

#[test]
fn each_of_several_threads_finds_what_a_map_would_hold() {
    let store = on_memory();
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| {
            drop(scope.spawn({
                let store = &store;
                move || compare(store, thread, 4000)
            }))
        });
    });
    let all = store.close().expect("the drive takes everything");
    assert!(all.engine.hits_on_flash > 0, "most items are on flash: {all:?}");
}

#[test]
fn one_of_several_threads_that_compare_versions_wins_each_time() {
    let store = on_memory();
    store.set(b"count", &0u64.to_le_bytes()).expect("there is room");
    let add = || loop {
        let found = store.get(b"count").expect("it can be read").expect("it is there");
        let count = u64::from_le_bytes((*found).try_into().expect("eight bytes"));
        let case = PutCondition::IfVersion(found.version);
        let stored = store.set_only(case, b"count", &(count + 1).to_le_bytes());
        if stored.expect("there is room").is_some() {
            return;
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| (0..500).for_each(|_| add()))));
    });
    let count = store.get(b"count").expect("it can be read").expect("it is there");
    assert_eq!(&*count, 2000u64.to_le_bytes());
}
