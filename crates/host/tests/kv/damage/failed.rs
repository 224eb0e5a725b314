//! Disks that have failed or are out of space.

use super::*;

/// A sparse file on a full file system: written blocks can be overwritten, but no new blocks can be
/// allocated.
#[test]
fn a_disk_without_room_is_full_until_it_has_some() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 7);
    store.disk = TestDisk::new(SEGMENT * SEGMENTS, true, 7);
    let making = OpenMode::Create { store: 5, seed: 7 };
    store.engine = open(store.settings, &mut store.disk, making).expect("a new store");
    (0..60).for_each(|number| store.put(number));
    store.settle();
    store.disk.is_full = true;
    let mut refused = 0;
    for _ in 0..300 {
        let number = store.random.below(60);
        let before = store.versions;
        store.put(number);
        let is_put =
            store.last[&number].as_ref().is_some_and(|value| value.starts_with(&(before + 1).to_le_bytes()));
        refused += u32::from(!is_put);
    }
    assert!(refused > 0 && store.engine.is_full(), "{refused}");
    assert_eq!(store.check(), (0, 0), "everything is read");
    store.delete(3);
    assert_eq!((store.said(3), store.last[&3].as_ref()), (Said::Nothing, None), "and deleted");
    // A restart finds what was durable, or reports why it cannot.
    store.disk.is_full = false;
    store.time += 2_000_000_000;
    store.tick();
    store.settle();
    assert!(!store.engine.is_full(), "there is room again");
    (0..60).for_each(|number| store.put(number));
    assert_eq!(store.check(), (0, 0));
    store.close();
    store.reopen().expect("a store");
    assert_eq!(store.check(), (0, 0));
}

/// A flush without room has lost nothing: it is repeated, and what was written before is durable then.
#[test]
fn a_flush_without_room_is_repeated() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 8);
    (0..60).for_each(|number| store.put(number));
    store.settle();
    store.disk.refuses_flushes = true;
    store.put(1);
    let point = store.engine.sync();
    (0..100).for_each(|_| store.run());
    assert!(store.engine.is_full() && store.engine.durable() < point);
    assert_eq!(store.check(), (0, 0), "everything is read");
    store.time += 2_000_000_000;
    store.tick();
    (0..100).for_each(|_| store.run());
    assert!(store.engine.is_full(), "it is refused again");
    store.disk.refuses_flushes = false;
    store.time += 2_000_000_000;
    store.tick();
    store.settle();
    assert!(!store.engine.has_failed() && store.engine.durable() >= point, "it is durable");
    (0..60).for_each(|number| store.put(number));
    assert_eq!(store.check(), (0, 0));
}

/// A cache whose oldest segment cannot be read drops the items in it.
#[test]
fn a_cache_drops_the_items_of_a_segment_that_cannot_be_read() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::WhatIsUsed) }, 9);
    (0..60).for_each(|number| store.put_bytes(number, 5000));
    store.settle();
    store.disk.unreadable.extend(SEGMENT..2 * SEGMENT);
    // Larger than the disk, and none replaced before the log has come round: no other segment is dead.
    let mut numbers = (60..KEYS).cycle();
    while store.engine.figures().evicted == 0 {
        store.put_bytes(numbers.next().expect("it is endless"), 19_000);
        store.settle();
    }
    let figures = store.engine.figures();
    assert!(figures.damaged_segments > 0 && figures.evicted > 0, "{figures:?}");
    store.check();
}

/// Reclaims that were under way when the disk became full do not end the reclaiming of space.
#[test]
fn space_is_reclaimed_after_a_full_disk_has_room_again() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 9);
    for _ in 0..60 {
        let before = store.random.below(40);
        (0..before).for_each(|_| store.put_any());
        store.disk.refuses_writes = true;
        (0..10).for_each(|_| store.put_any());
        (0..100).for_each(|_| store.run());
        store.disk.refuses_writes = false;
        store.time += 2_000_000_000;
        store.tick();
        store.settle();
        assert!(!store.engine.is_full(), "there is room again");
    }
    for _ in 0..1000 {
        store.put_any();
        let latest = store.versions.to_le_bytes();
        let is_put = store.last.values().flatten().any(|value| value.starts_with(&latest));
        assert!(is_put, "there is room for every item");
    }
    assert_eq!(store.check(), (0, 0));
}

#[test]
fn changes_that_are_not_durable_are_counted() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 8);
    (0..60).for_each(|number| store.put(number));
    let settle = |store: &mut Store| {
        store.engine.sync();
        store.time += 2_000_000_000;
        store.tick();
        store.settle();
        assert_eq!(store.engine.undurable_changes(), 0);
    };
    settle(&mut store);
    let run = |store: &mut Store| {
        store.engine.sync();
        (0..100).for_each(|_| store.run());
        assert!(store.engine.is_full());
        store.engine.undurable_changes()
    };
    store.disk.refuses_writes = true;
    (1..4).for_each(|number| store.put(number));
    store.delete(5);
    assert_eq!(run(&mut store), 4, "three items and a tombstone");
    store.disk.refuses_writes = false;
    settle(&mut store);
    store.disk.refuses_writes = true;
    store.engine.flush_all().expect("it is not known yet that there is no room");
    assert_eq!(run(&mut store), 1);
    store.disk.refuses_writes = false;
    settle(&mut store);
}

impl Store {
    /// Puts one of 60 items.
    fn put_any(&mut self) {
        let number = self.random.below(60);
        self.put(number);
    }
}

/// A store or cache with 60 durable items, on a disk that has failed since.
fn on_a_failed_disk(keep: Keep) -> Store {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(keep) }, 8);
    (0..60).for_each(|number| store.put(number));
    store.settle();
    store.disk.fails_writes = true;
    store.put(KEYS - 1);
    store.engine.sync();
    (0..100).for_each(|_| store.run());
    assert!(store.engine.has_failed() && !store.engine.is_full());
    store
}

#[test]
fn a_store_on_a_failed_disk_deletes_nothing() {
    let mut store = on_a_failed_disk(Keep::Everything);
    (0..60).for_each(|number| store.delete(number));
    assert!(store.last.values().all(Option::is_some), "deletes are refused, as sets are");
    assert!(store.engine.flush_all().is_err(), "and so is forgetting everything");
    assert_eq!(store.check(), (0, 0), "everything is read as before");
    store.disk.fails_writes = false;
    (0..100).for_each(|_| store.run());
    store.reopen().expect("a store");
    // Data written to the failed disk never became durable.
    if store.said(KEYS - 1) == Said::Nothing {
        store.last.remove(&(KEYS - 1));
    }
    assert_eq!(store.check(), (0, 0), "and after a restart");
}

#[test]
fn a_cache_on_a_failed_disk_deletes_from_memory() {
    let mut store = on_a_failed_disk(Keep::WhatIsUsed);
    store.delete(3);
    assert_eq!((store.said(3), store.last[&3].as_ref()), (Said::Nothing, None));
    store.engine.flush_all().expect("a cache may lose everything");
    assert!((0..60).all(|number| store.said(number) == Said::Nothing));
}

#[test]
fn a_store_is_opened_again_without_room() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 7);
    store.disk = TestDisk::new(SEGMENT * SEGMENTS, false, 7);
    let making = OpenMode::Create { store: 5, seed: 7 };
    store.engine = open(store.settings, &mut store.disk, making).expect("a new store");
    (0..60).for_each(|number| store.put(number));
    store.settle();
    store.disk.is_full = true;
    store.reopen().expect("all that has to be written has room");
    assert_eq!(store.check(), (0, 0));
    store.disk.is_full = false;
    store.reopen().expect("a store");
    assert_eq!(store.check(), (0, 0));
}
