//! Random operations in any order, with occasional power loss.

use super::harness::{Harness, KEYS, settings};
use tailcut_host::kv::{Append, Change, Content, Engine, Keep, Lookup, Put, Refused, Settings, State};

pub(super) fn cases() -> u32 {
    std::env::var("TAILCUT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12)
}

#[test]
fn a_store_keeps_everything_whatever_happens() {
    for seed in 0..u64::from(cases()) {
        let mut harness = Harness::new(settings(Keep::Everything), 16 * 140, seed % 2 == 0, seed);
        for round in 0..6 {
            (0..2000).for_each(|_| harness.step());
            harness.reopen(round % 3 != 2);
        }
        (0..KEYS).for_each(|number| drop(harness.check(number, false)));
        assert!(
            harness.engine.figures().reclaimed > 0 || harness.refused == 0,
            "{:?}",
            harness.engine.figures()
        );
    }
}

/// Items are requested while cleaning moves them, and vice versa.
#[test]
fn a_store_that_always_makes_room_loses_nothing() {
    for seed in 0..u64::from(cases()) {
        let mut harness = Harness::new(settings(Keep::Everything), 16 * 50, seed % 2 == 0, 5000 + seed);
        for _ in 0..4 {
            (0..3000).for_each(|_| harness.step());
            assert!(harness.engine.figures().reclaimed > 0, "{:?}", harness.engine.figures());
            harness.reopen(true);
        }
    }
}

#[test]
fn power_that_is_lost_again_and_again_costs_nothing_that_was_durable() {
    let mut early = 0;
    for seed in 0..u64::from(cases()) {
        let keep = if seed % 3 == 0 { Keep::WhatIsUsed } else { Keep::Everything };
        let blocks = if seed % 3 == 0 { 16 * 16 } else { 16 * 100 };
        let append = if seed % 6 < 3 { Append::AtOnce } else { Append::OnLeaving };
        let mut harness =
            Harness::new(Settings { append, ..settings(keep) }, blocks, seed % 2 == 0, 2000 + seed);
        for round in 0..40 {
            let most = [50, 700][harness.any_below(2) as usize];
            (0..harness.any_below(most)).for_each(|_| harness.step());
            harness.reopen(round % 8 != 7);
        }
        early += harness.early;
    }
    assert!(early > 200 * u64::from(cases()), "only {early} commands were answered before all was found");
}

#[test]
fn a_cache_that_writes_at_once_keeps_what_it_has_room_for() {
    for seed in 0..u64::from(cases()) {
        let settings = Settings { append: Append::AtOnce, ..settings(Keep::WhatIsUsed) };
        let mut harness = Harness::new(settings, 16 * 300, seed % 2 == 0, 3000 + seed);
        harness.may_lose = false;
        for round in 0..10 {
            (0..harness.any_below(300)).for_each(|_| harness.step());
            harness.reopen(round % 4 != 3);
        }
        assert_eq!(harness.engine.figures().evicted, 0, "there was room");
    }
}

#[test]
fn a_cache_never_returns_what_is_not_valid() {
    let (mut reclaimed, mut hits) = (0, 0);
    for seed in 0..u64::from(cases()) {
        let append = if seed % 4 < 2 { Append::AtOnce } else { Append::OnLeaving };
        let settings = Settings { append, ..settings(Keep::WhatIsUsed) };
        let mut harness = Harness::new(settings, 16 * 16, seed % 2 == 0, 1000 + seed);
        for round in 0..6 {
            (0..4000).for_each(|_| harness.step());
            reclaimed += harness.engine.figures().reclaimed;
            harness.reopen(round % 3 != 2);
        }
        hits += harness.hits;
    }
    assert!(reclaimed > 10 * u64::from(cases()) && hits > 1000 * u64::from(cases()), "{reclaimed} {hits}");
}

#[test]
fn a_full_store_says_so_and_loses_nothing() {
    let mut harness = Harness::new(settings(Keep::Everything), 16 * 40, true, 7);
    let mut written = 0;
    while harness.refused == 0 {
        harness.put(written);
        harness.run(1);
        written += 1;
        assert!(written < 100_000, "a disk is full at some time");
    }
    let (items, bytes) = (harness.engine.items(), 16 * 40 * 4096);
    assert!(harness.model.bytes() > bytes / 2, "{} of {bytes}", harness.model.bytes());
    (0..written).for_each(|number| drop(harness.check(number, false)));
    assert_eq!(harness.misses, 0);
    // Refused changes were not written; once space is available, writes succeed again.
    (0..written).step_by(2).for_each(|number| _ = harness.remove(number));
    assert!(harness.engine.items() <= items / 2 + 1);
    harness.settle();
    let refused = harness.refused;
    (0..written / 4).for_each(|number| {
        harness.put(number * 2);
        harness.run(2);
    });
    assert_eq!(harness.refused, refused);
    (0..written).for_each(|number| drop(harness.check(number, false)));
    harness.reopen(false);
    (0..written).for_each(|number| drop(harness.check(number, false)));
    assert_eq!(harness.misses, 0);
}

/// Users write at full speed: every segment is written again as soon as it is free.
#[test]
fn a_store_with_room_never_says_that_it_is_full() {
    for seed in 0..cases() {
        let mut harness = Harness::new(settings(Keep::Everything), 16 * 28, true, 7000 + u64::from(seed));
        (0..KEYS).for_each(|number| harness.put(number));
        for _ in 0..3000 {
            let number = harness.any_below(KEYS);
            harness.put(number);
            assert_eq!(harness.refused, 0, "seed {seed}");
        }
        assert!(harness.engine.figures().reclaimed > 10, "seed {seed}: it has been used again and again");
        let [records, copies, ends] = harness.disk.written;
        assert!(records > 0 && copies > 0 && ends > 0, "seed {seed}: {:?}", harness.disk.written);
    }
}

#[test]
fn reads_that_fail_and_bytes_that_change_make_nothing_wrong() {
    let (mut failed, mut damaged) = (0, 0);
    for seed in 0..u64::from(cases()) {
        let keep = if seed % 2 == 0 { Keep::WhatIsUsed } else { Keep::Everything };
        let mut harness = Harness::new(settings(keep), 16 * 60, false, 4000 + seed);
        harness.disk.bad_reads = Some(7);
        for _ in 0..300 {
            (0..60).for_each(|_| harness.step());
            let (block, byte) = (2 + harness.any_below(16 * 60 - 2), harness.any_below(4096));
            harness.disk.flip(block, byte as usize);
        }
        let figures = harness.engine.figures();
        (failed, damaged) = (failed + figures.failed_reads, damaged + figures.damaged);
    }
    assert!(failed > 10 * u64::from(cases()) && damaged > 0, "{failed} {damaged}");
}

/// Making room for the successor of an item may evict the item. Without a disk there is no completion to wait
/// for, so the change is never refused as [`Refused::Busy`].
#[test]
fn an_item_that_makes_room_for_its_successor_is_looked_up_again() {
    let mut engine = Engine::in_memory(settings(Keep::WhatIsUsed), 1);
    let key = |number: u32| number.to_le_bytes();
    let change =
        |content| Change::Put(Put { content, flags: 0, expires: 0, state: State::default(), cas: None });
    let mut evicted = 0;
    for number in 0..20_000u32 {
        engine.change(&key(number), None, change(Content::New(&[1; 900]))).expect("a cache has room");
        let older = key(number.saturating_sub(number.wrapping_mul(7919) % 1200));
        if !matches!(engine.find(&older, false), Lookup::Item(_)) {
            continue;
        }
        match engine.change(&older, None, change(Content::After(b"more"))) {
            Ok(_) => assert!(matches!(engine.find(&older, false), Lookup::Item(_))),
            Err(refused) => {
                assert_eq!(refused, Refused::Evicted);
                assert!(matches!(engine.find(&older, false), Lookup::Nothing));
                evicted += 1;
            }
        }
    }
    assert!(evicted > 0, "no item made room for its own successor");
}
