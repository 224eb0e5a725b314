//! Stores that were closed cleanly and damaged afterwards.
//!
//! The guarantees: whatever the damage, a store never returns an item older than the last version written,
//! nor a deleted one. If a single block is damaged, the store returns every item outside it and reports the
//! others as unreadable.

mod copies;
mod ends;
mod failed;

use super::disk::TestDisk;
use super::harness::{open, settings};
use super::random::cases;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_base::Time;
use tailcut_base::random::Stream;
use tailcut_host::kv::log::SegmentId;
use tailcut_host::kv::log::format::{End, EndOf, Head, Superblock};
use tailcut_host::kv::{
    Append, CannotOpen, Change, Content, Damage, DamageKind, Engine, Keep, Lookup, OpenMode, Put, Refused,
    Settings, State,
};
use tailcut_host::mutation::{Invariant, broken};
use tailcut_host::{Block, Bytes};

/// A store and its expected content.
pub(super) struct Store {
    engine: Engine,
    pub disk: TestDisk,
    settings: Settings,
    random: Stream,
    time: u64,
    /// The last version of each key; None if deleted.
    last: BTreeMap<u64, Option<Vec<u8>>>,
    versions: u32,
    damages: Vec<Damage>,
}

/// A store's answer for a key.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Value(Vec<u8>),
    Nothing,
    /// The item is unreadable.
    Lost,
}

/// Damage to a block.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip(usize),
    Zeros,
    Noise,
    /// The block gets the data written to another block.
    Misdirected(u64),
    Unreadable,
}

pub(super) const SEGMENT: u64 = 16;
pub(super) const SEGMENTS: u64 = 40;
const KEYS: u64 = 150;

fn any_harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        6 => (0usize..4096).prop_map(Harm::Flip),
        // Headers and footers of segments.
        3 => (0usize..48).prop_map(Harm::Flip),
        3 => (4048usize..4096).prop_map(Harm::Flip),
        2 => Just(Harm::Zeros),
        2 => Just(Harm::Noise),
        2 => Just(Harm::Unreadable),
        2 => (1u64..SEGMENT * SEGMENTS).prop_map(Harm::Misdirected),
    ]
}

/// A block, often the first or last of a segment.
fn any_block() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..SEGMENT * SEGMENTS,
        (1u64..SEGMENTS).prop_map(|segment| segment * SEGMENT),
        (1u64..SEGMENTS).prop_map(|segment| segment * SEGMENT + SEGMENT - 1),
    ]
}

fn any_keep() -> impl Strategy<Value = Settings> {
    prop_oneof![Just(Keep::Everything), Just(Keep::WhatIsUsed)]
        .prop_map(|keep| Settings { append: Append::AtOnce, ..settings(keep) })
}

impl Store {
    fn new(settings: Settings, seed: u64) -> Store {
        let mut disk = TestDisk::new(SEGMENT * SEGMENTS, seed.is_multiple_of(2), seed);
        // The disk held other data before.
        (2..SEGMENT * SEGMENTS).for_each(|block| disk.set(block, noise(block)));
        let making = OpenMode::Create { store: 77 << 64 | u128::from(seed), seed };
        let engine = open(settings, &mut disk, making).expect("a new store");
        let (last, damages) = (BTreeMap::new(), Vec::new());
        let random = Stream::new(seed, "user");
        let mut store = Store { engine, disk, settings, random, time: 1, last, versions: 0, damages };
        store.tick();
        store
    }

    fn tick(&mut self) {
        self.time += 10_000;
        self.engine.tick(Time(self.time), 1000);
    }

    fn run(&mut self) {
        while let Some(request) = self.engine.next_request() {
            self.disk.submit(request);
        }
        if let Some(response) = self.disk.answer() {
            self.engine.respond(response);
        }
        self.engine.recover(50);
        self.damages.extend(std::iter::from_fn(|| self.engine.next_damage()));
    }

    /// True if the change was made; false if it was refused because the store is full.
    fn change(&mut self, number: u64, change: Change<'_>) -> bool {
        self.tick();
        for _ in 0..100_000 {
            self.run();
            match self.engine.change(&key(number), None, change) {
                Ok(_) => return true,
                Err(Refused::Busy) => {}
                Err(_) => return false,
            }
        }
        panic!("a disk that answers is not behind for ever");
    }

    fn put(&mut self, number: u64) {
        let most = [40, 400, 9000][self.random.below(3) as usize];
        let bytes = 8 + self.random.below(most) as usize;
        self.put_bytes(number, bytes);
    }

    /// Writes a value of `bytes` bytes, which must be at least those of a version number.
    fn put_bytes(&mut self, number: u64, bytes: usize) {
        self.versions += 1;
        let mut value = self.versions.to_le_bytes().to_vec();
        value.resize(bytes, number as u8);
        let content = Content::New(&value);
        let put = Put { content, flags: 0, expires: 0, state: State::default(), cas: None };
        if self.change(number, Change::Put(put)) {
            self.last.insert(number, Some(value));
        }
    }

    fn delete(&mut self, number: u64) {
        if self.change(number, Change::Remove) {
            self.last.insert(number, None);
        }
    }

    pub(super) fn step(&mut self) {
        let number = self.random.below(KEYS);
        match self.random.below(5) {
            0 => self.delete(number),
            _ => self.put(number),
        }
    }

    fn said(&mut self, number: u64) -> Said {
        self.tick();
        match self.engine.find(&key(number), false) {
            Lookup::Nothing => return Said::Nothing,
            Lookup::Item(item) => {
                let mut value = Vec::new();
                item.value.append_to(&mut value);
                return Said::Value(value);
            }
            Lookup::OnFlash | Lookup::Unknown => {}
        }
        self.engine.fetch(&key(number), 7, false);
        for _ in 0..100_000 {
            if let Some(fetched) = self.engine.next_fetched() {
                let said = match (fetched.is_there(), fetched.is_lost) {
                    (true, _) => {
                        let mut value = Vec::new();
                        fetched.item().value.append_to(&mut value);
                        Said::Value(value)
                    }
                    (_, true) => Said::Lost,
                    _ => Said::Nothing,
                };
                self.engine.give_back(fetched);
                return said;
            }
            self.run();
        }
        panic!("a fetch ends");
    }

    /// Closes the store cleanly.
    pub(super) fn close(&mut self) {
        self.engine.close();
        self.settle();
    }

    /// Syncs, then runs the engine until it is idle and recovery is complete.
    fn settle(&mut self) {
        self.engine.sync();
        for _ in 0..100_000 {
            self.run();
            if self.disk.is_idle() && self.engine.is_idle() && self.engine.recovered().is_none() {
                self.engine.check_at_rest().expect("index, memory and log agree");
                return;
            }
        }
        panic!("it comes to an end");
    }

    /// Makes everything written so far durable.
    fn sync(&mut self) {
        let point = self.engine.sync();
        while self.engine.durable() < point {
            self.run();
        }
    }

    /// Lets two idle seconds pass.
    fn rest(&mut self) {
        self.settle();
        self.time += 2_000_000_000;
        self.tick();
        self.settle();
    }

    /// Runs the engine, without a sync, until it has no request in flight and no timer.
    fn idle(&mut self) {
        loop {
            self.run();
            if !self.disk.is_idle() {
                continue;
            }
            // The last completion may have queued more work.
            self.run();
            if !self.disk.is_idle() {
                continue;
            }
            match self.engine.next_event() {
                Time::NEVER => return,
                next => self.engine.tick(next, 1000),
            }
        }
    }

    pub(super) fn reopen(&mut self) -> Result<(), CannotOpen> {
        self.engine = open(self.settings, &mut self.disk, OpenMode::Open)?;
        self.tick();
        Ok(())
    }

    fn make_unreadable(&mut self, block: u64) {
        self.disk.unreadable.insert(block);
    }

    fn harm(&mut self, block: u64, harm: Harm) {
        match harm {
            Harm::Flip(byte) => self.disk.flip(block, byte),
            Harm::Zeros => self.disk.set(block, Bytes::ZEROS),
            Harm::Noise => self.disk.set(block, noise(block)),
            Harm::Unreadable => self.make_unreadable(block),
            Harm::Misdirected(other) => {
                let bytes = self.disk.read(other);
                self.disk.set(block, bytes);
            }
        }
    }

    /// Every value returned for a key was once written for it.
    pub(super) fn look_at_all(&mut self) {
        for number in 0..KEYS {
            if let Said::Value(value) = self.said(number) {
                assert!(
                    value[4..].iter().all(|&byte| byte == number as u8),
                    "key {number}: that of another one"
                );
            }
        }
    }

    /// Verifies that no value is older than the last version written. Returns the number of unreadable keys,
    /// and the number of keys that are missing although they exist.
    fn check(&mut self) -> (usize, usize) {
        let (mut lost, mut missing) = (0, 0);
        for number in 0..KEYS {
            let wanted = self.last.get(&number).cloned().flatten();
            match self.said(number) {
                Said::Value(value) => {
                    let version =
                        |value: &[u8]| u32::from_le_bytes(*value.first_chunk().expect("four bytes"));
                    assert!(
                        wanted.as_ref() == Some(&value),
                        "key {number}: version {}, and not {:?}",
                        version(&value),
                        wanted.as_deref().map(version)
                    );
                }
                Said::Lost => lost += 1,
                Said::Nothing => missing += usize::from(wanted.is_some()),
            }
        }
        (lost, missing)
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

fn noise(seed: u64) -> Bytes {
    let mut random = Stream::new(seed, "noise");
    let words: Vec<u8> = (0..512).flat_map(|_| random.bits().to_le_bytes()).collect();
    Bytes::encode(&words)
}

/// A closed store whose items were overwritten several times, with some items deleted and some segments
/// reclaimed.
pub(super) fn closed(settings: Settings, seed: u64) -> Store {
    let mut store = Store::new(settings, seed);
    let steps = 300 + store.random.below(900);
    (0..steps).for_each(|_| store.step());
    store.close();
    if store.random.below(2) == 0 {
        store.reopen().expect("it is whole");
        (0..store.random.below(200)).for_each(|_| store.step());
        store.close();
    }
    store
}

/// Damages one block of a closed store built from `seed` and checks the store's answers, repeatedly, with
/// more writes in between.
fn one_block(settings: Settings, seed: u64, block: u64, harm: Harm) {
    let mut store = closed(settings, seed);
    store.harm(block, harm);
    store.reopen().expect("one block is not enough to lose a store");
    let is_cache = settings.keep == Keep::WhatIsUsed;
    let (lost, missing) = store.check();
    // A damaged record also loses the other keys in its block.
    assert!(lost <= 4096 / 64 && (is_cache || missing == 0), "{lost} lost, {missing} missing");
    // The damage is repaired: the next start finds nothing damaged, and segments can be reclaimed again.
    store.close();
    store.damages.clear();
    store.reopen().expect("it is put right");
    // An unreadable block is not rewritten, since it may hold other records.
    let is_repaired = store.engine.figures().damaged_segments == 0;
    assert!(is_repaired || matches!(harm, Harm::Unreadable), "{:?}", store.damages);
    store.check();
    (0..900).for_each(|_| store.step());
    store.check();
    store.close();
    store.reopen().expect("it is put right");
    store.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20 * cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_block_costs_no_more_than_its_records(
        settings in any_keep(),
        seed in any::<u64>(),
        block in any_block(),
        harm in any_harm(),
    ) {
        one_block(settings, seed, block, harm);
    }

    #[test]
    fn nothing_older_is_answered_whatever_is_damaged(
        settings in any_keep(),
        seed in any::<u64>(),
        harms in prop::collection::vec((any_block(), any_harm()), 1..12),
        segments in prop::collection::vec((1..SEGMENTS, any_harm(), 1..SEGMENT, any_harm()), 0..3),
    ) {
        let mut store = closed(settings, seed);
        harms.iter().for_each(|&(block, harm)| store.harm(block, harm));
        for (segment, end, record, harm) in segments {
            // Damages the segment's summary and also one of its records.
            store.harm(segment * SEGMENT + SEGMENT - 1, end);
            store.harm(segment * SEGMENT + record, harm);
        }
        let Ok(()) = store.reopen() else { return Ok(()) };
        store.check();
        (0..600).for_each(|_| store.step());
        store.check();
        store.close();
        store.reopen().expect("it was opened before");
        store.check();
    }
}

/// Builds segments, some with newer versions of items in older ones, and damages them with `harm`, which gets
/// the first block of a segment and the offset of another block in it.
fn segments_with_news(harm: impl Fn(&mut Store, u64, u64)) {
    for (segment, block) in (2..8).flat_map(|segment| (1..SEGMENT - 2).map(move |block| (segment, block))) {
        let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 9);
        for _ in 0..2 {
            (0..100).for_each(|number| store.put(number));
        }
        (0..100).step_by(7).for_each(|number| store.delete(number));
        store.close();
        harm(&mut store, segment * SEGMENT, block);
        store.reopen().expect("a store");
        store.check();
    }
}

fn finds(rule: Invariant, check: impl Fn() + std::panic::UnwindSafe) {
    check();
    let result = std::panic::catch_unwind(|| broken(rule, check));
    assert!(result.is_err(), "{rule:?} can be broken, and nobody notices");
}

#[test]
fn a_damaged_head_makes_no_segment_free() {
    let check = || segments_with_news(|store, first, _| store.disk.flip(first, 9));
    finds(Invariant::DamagedHeadsAreNotFree, check);
}

#[test]
fn a_damaged_value_behind_a_damaged_summary_counts() {
    let check = || {
        segments_with_news(|store, first, block| {
            store.disk.flip(first + SEGMENT - 1, 4095 - 20);
            store.disk.flip(first + block, 2000);
        });
    };
    finds(Invariant::DamagedRecordsCount, check);
}

#[test]
fn a_hole_behind_a_damaged_summary_casts_doubt() {
    let check = || {
        segments_with_news(|store, first, block| {
            store.disk.flip(first + SEGMENT - 1, 4095 - 20);
            store.disk.set(first + block, Bytes::ZEROS);
        });
    };
    finds(Invariant::HolesCastDoubt, check);
}

/// A record in doubt stays in doubt when collection moves it: the copy is younger than the damage.
#[test]
fn doubt_survives_collection() {
    let (mut lost, mut copied) = (0, 0);
    for (segment, block) in [(2, 3), (3, 1), (4, 7), (5, 12), (6, 5), (7, 9)] {
        let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 9);
        for _ in 0..2 {
            (0..100).for_each(|number| store.put(number));
        }
        store.close();
        store.disk.flip(segment * SEGMENT + SEGMENT - 1, 4095 - 20);
        store.disk.set(segment * SEGMENT + block, Bytes::ZEROS);
        store.reopen().expect("a store");
        let odd = |store: &mut Store| {
            (1..100).step_by(2).filter(|&number| store.said(number) == Said::Lost).count()
        };
        let before = odd(&mut store);
        // Tombstones make collection take the oldest segments, too, those with records in doubt among them.
        for _ in 0..4000 {
            let number = 2 * store.random.below(50);
            match store.random.below(4) {
                0 => store.delete(number),
                _ => store.put(number),
            }
        }
        store.check();
        assert_eq!(odd(&mut store), before, "segment {segment}: nothing has resolved the doubt");
        copied += store.engine.figures().copied;
        store.close();
        store.reopen().expect("a store");
        store.check();
        assert_eq!(odd(&mut store), before, "segment {segment}: nor does a restart");
        lost += before;
    }
    assert!(lost > 0 && copied > 0, "something in doubt was moved: {lost}, {copied}");
}

/// Power is lost after some versions were made durable one by one; then one block is damaged.
fn synced_and_damaged(sync: impl Fn(&mut Store), harm: impl Fn(&mut Store, u64)) {
    for block in SEGMENT..4 * SEGMENT {
        for count in [3, 9, 40] {
            let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 6);
            for _ in 0..2 {
                for number in 0..count {
                    store.put(number);
                    sync(&mut store);
                }
            }
            store.rest();
            store.disk.lose_power();
            harm(&mut store, block);
            store.reopen().expect("a store");
            store.check();
        }
    }
}

#[test]
fn what_was_durable_last_is_not_taken_for_a_write_that_was_cut_off() {
    let check = || synced_and_damaged(Store::sync, |store, block| store.disk.flip(block, 70));
    finds(Invariant::DurableIsMarked, check);
}

/// Two versions written a second apart without a sync, and damage to one block after a power loss.
#[test]
fn a_store_at_rest_is_durable_and_says_so() {
    let check = || {
        for block in SEGMENT..2 * SEGMENT {
            for deletes in [false, true] {
                let keep = settings(Keep::Everything);
                let mut store = Store::new(Settings { append: Append::AtOnce, ..keep }, 6);
                store.put(1);
                store.idle();
                if deletes {
                    store.delete(1)
                } else {
                    store.put(1)
                }
                store.idle();
                store.disk.lose_power();
                store.disk.set(block, Bytes::ZEROS);
                store.reopen().expect("a store");
                assert_eq!(store.check().1, 0, "block {block}");
            }
        }
    };
    finds(Invariant::WritesAreFlushedInTime, check);
}

/// What was durable in the open segment is recorded in two blocks, so that a record is not taken for a write
/// that was cut off if one of them is damaged with it.
#[test]
fn a_record_and_one_of_the_two_marks_that_it_was_durable_may_be_damaged() {
    let check = || {
        let blocks = SEGMENT..2 * SEGMENT;
        for (first, second) in
            blocks.clone().flat_map(|first| (first + 1..blocks.end).map(move |second| (first, second)))
        {
            let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 6);
            store.put(1);
            store.idle();
            store.put(1);
            store.idle();
            store.disk.lose_power();
            for byte in [9, 70, 4095 - 40] {
                store.disk.flip(first, byte);
                store.disk.flip(second, byte);
            }
            store.reopen().expect("a store");
            assert_eq!(store.check().1, 0, "blocks {first} and {second}");
        }
    };
    finds(Invariant::DurableIsMarkedTwice, check);
}

#[test]
fn blocks_that_cannot_be_read_are_damaged() {
    synced_and_damaged(Store::sync, Store::make_unreadable);
    synced_and_damaged(|_| {}, Store::make_unreadable);
}

/// If each record is made durable on its own, a segment is full once its last block is written.
#[test]
fn full_segments_are_searched_to_their_ends() {
    for most in [3, 2900] {
        let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 7);
        for number in 0..120 {
            store.put_bytes(number, most);
            store.sync();
        }
        store.close();
        (1..SEGMENTS).for_each(|segment| store.disk.flip(segment * SEGMENT + SEGMENT - 1, 4095 - 20));
        store.reopen().expect("a store");
        assert_eq!(store.check(), (0, 0));
    }
}

#[test]
fn a_drive_that_reads_nothing_is_gone_and_not_damaged() {
    let mut store = closed(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 8);
    let media = (0..SEGMENT * SEGMENTS).map(|block| store.disk.read(block));
    let before: Vec<Bytes> = media.collect();
    // The disk fails right after the segment headers were read.
    store.reopen().expect("a store");
    store.disk.unreadable.extend(2..SEGMENT * SEGMENTS);
    for _ in 0..10_000 {
        store.run();
    }
    assert!(store.engine.unreadable().is_some(), "it says so");
    let same = (2..SEGMENT * SEGMENTS).filter(|&block| store.disk.read(block) == before[block as usize]);
    assert_eq!(same.count() as u64, SEGMENT * SEGMENTS - 2, "and changes nothing");
}

#[test]
fn what_was_flushed_stays_so_with_one_superblock() {
    let check = || {
        for block in 0..2 {
            let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 5);
            (0..100).for_each(|number| store.put(number));
            store.engine.flush_all().expect("the disk works");
            store.last.clear();
            store.settle();
            store.disk.flip(block, 60);
            store.reopen().expect("one superblock is enough");
            assert_eq!(store.check(), (0, 0));
        }
    };
    finds(Invariant::SuperblocksAreTwo, check);
}

/// The mirror write is in flight when the next superblock is written; if both are lost, the first copy must
/// still be intact.
#[test]
fn the_superblock_that_is_durable_stays_until_the_other_one_is() {
    let check = || {
        for answers in 0..40 {
            let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 6);
            (0..100).for_each(|number| store.put(number));
            store.sync();
            store.engine.flush_all().expect("the disk works");
            store.last.clear();
            store.sync();
            (0..answers).for_each(|_| store.run());
            store.engine.flush_all().expect("the disk works");
            store.engine.sync();
            while let Some(request) = store.engine.next_request() {
                store.disk.submit(request);
            }
            store.disk.fail_writes(0..2);
            store.reopen().expect("one superblock is enough");
            assert_eq!(store.check(), (0, 0), "after {answers} answers");
        }
    };
    finds(Invariant::DurableSuperblockStays, check);
}

/// A record found damaged when its segment is reclaimed, with an older version in an older segment.
#[test]
fn what_is_damaged_when_its_segment_is_reclaimed_does_not_leave_an_older_version() {
    let check = || {
        let mut lost = 0;
        for seed in 0..12 {
            let mut store = closed(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, seed);
            for segment in 1..SEGMENTS {
                let block = segment * SEGMENT + 1 + store.random.below(SEGMENT - 4);
                store.disk.flip(block, 2000);
            }
            store.reopen().expect("a store");
            (0..900).for_each(|_| {
                let number = KEYS + store.random.below(60);
                store.put(number);
            });
            let (before, _) = store.check();
            store.close();
            store.reopen().expect("a store");
            let (now, missing) = store.check();
            assert_eq!(now, before, "what is recorded as lost casts no doubt on anything else");
            assert_eq!(missing, 0, "what was lost is not taken for what never was");
            lost += now;
        }
        assert!(lost > 0, "something was lost");
    };
    finds(Invariant::LossesAreRecorded, check);
}

#[test]
fn damage_is_counted_and_told() {
    let mut store = closed(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 3);
    let segment = (1..SEGMENTS)
        .find(|segment| store.disk.read(segment * SEGMENT).as_slice().starts_with(b"segmentK"))
        .expect("one is used");
    store.disk.flip(segment * SEGMENT, 9);
    store.reopen().expect("a store");
    store.check();
    assert_eq!(store.engine.figures().damaged_segments, 1);
    assert_eq!(store.engine.figures().repaired, 1);
    assert_eq!(store.damages, [Damage { block: segment * SEGMENT, what: DamageKind::Head }]);
    let text = store.damages[0].to_string();
    assert!(text.contains("a damaged head of a segment, written again from its foot"), "{text}");
}

/// Power is lost when a segment was never written but the next one was. That must not count as damage, now or
/// later.
#[test]
fn a_segment_that_was_never_written_before_one_that_was_is_free() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 6);
    (0..60).for_each(|number| store.put(number));
    store.settle();
    let is_used =
        |store: &Store, segment: u64| store.disk.read(segment * SEGMENT).as_slice().starts_with(b"segmentK");
    let last = (1..SEGMENTS).rev().find(|&segment| is_used(&store, segment)).expect("one is used");
    (1..last).for_each(|segment| assert!(is_used(&store, segment)));
    // The segment before the last one never reached the media, so none of its items were durable.
    store.last.clear();
    (0..SEGMENT).for_each(|block| store.disk.set((last - 1) * SEGMENT + block, Bytes::ZEROS));
    for segment in 1..=last {
        let of = EndOf { store: superblock(&store).store, number: SegmentId::new(segment as u32) };
        let mut block = store.disk.read(segment * SEGMENT);
        let End::Head(head) = End::first(&block, of) else { continue };
        let head = End::Head(Head { durable: 0, ..head });
        block.as_mut_slice()[..End::BYTES].copy_from_slice(&head.encode(of));
        store.disk.set(segment * SEGMENT, block);
    }
    for _ in 0..3 {
        store.reopen().expect("a store");
        let lost = (0..KEYS).filter(|&number| store.said(number) == Said::Lost).count();
        assert_eq!((lost, &store.damages[..]), (0, &[][..]));
        store.close();
    }
}

fn superblock(store: &Store) -> Superblock {
    let both = (0..2).filter_map(|block| Superblock::decode(&store.disk.read(block)).ok());
    both.max_by_key(|superblock| superblock.count).expect("a store")
}
