//! Clients of a store: shares and keys are YCSB's, the contents of files match a model with every key,
//! inserts are neither lost nor invented, and caches save reads from the device.

use super::plain_device::{entries, run};
use super::stores::{KEYS, counts, ycsb};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use tailcut_base::digest::Digest;
use tailcut_base::{Nanos, Op, SECTOR_BYTES};
use tailcut_workload::Source;
use tailcut_workload::lsm::client::Clients;
use tailcut_workload::lsm::law::Law;
use tailcut_workload::lsm::popularity::{Popularity, THETA};
use tailcut_workload::lsm::tree::LEVELS;
use tailcut_workload::lsm::{LsmConfig, Mix, Operation, Store};
use tailcut_workload::zipf::zeta;

const ROOM: u64 = 256 << 20;

fn store(config: &LsmConfig, seed: u64) -> Store {
    config.source(ROOM / SECTOR_BYTES, seed, Nanos::ZERO).expect("a good store")
}

#[test]
fn every_operation_is_done_in_the_shares_of_its_mix() {
    for (mix, shares) in [
        (Mix::Load, [0.0, 0.0, 1.0]),
        (Mix::YcsbA, [0.5, 0.5, 0.0]),
        (Mix::YcsbB, [0.95, 0.05, 0.0]),
        (Mix::YcsbC, [1.0, 0.0, 0.0]),
        (Mix::YcsbD, [0.95, 0.0, 0.05]),
    ] {
        let mut store = store(&ycsb(mix), 1);
        run(&mut store, Nanos::micros(100), &mut |_, _| {});
        store.check();
        assert_eq!(store.failure(), None);
        let operations = if mix == Mix::Load { KEYS } else { 40_000 };
        let done = counts(&store);
        assert_eq!(done.iter().sum::<u64>(), operations, "{mix}");
        assert_eq!(store.figures().puts, done[1] + done[2], "{mix}");
        for (share, count) in shares.into_iter().zip(done) {
            let (mean, n) = (operations as f64 * share, operations as f64);
            let bound = 4.0 * (n * share * (1.0 - share)).sqrt();
            assert!((count as f64 - mean).abs() <= bound, "{mix}: {count} for {mean}");
        }
    }
}

#[test]
fn a_load_ends_with_every_key_in_the_store() {
    for (clients, discard, sync_every) in [(1, false, 0), (16, true, 0), (4, false, 50)] {
        let config = LsmConfig { clients, discard, sync_every, ..ycsb(Mix::Load) };
        let mut store = store(&config, 1);
        assert_eq!((entries(&store), store.inserted()), (0, Some(0)));
        let mut at_work = 0;
        run(&mut store, Nanos::micros(200), &mut |store, _| {
            if store.figures().compactions != at_work {
                at_work = store.figures().compactions;
                store.check();
                assert_eq!(Some(entries(store) + store.puts_in_memory()), store.inserted());
            }
        });
        assert!(at_work > 20, "{at_work} compactions");
        assert_eq!(store.inserted(), Some(KEYS));
        assert_eq!(entries(&store) + store.puts_in_memory(), KEYS);
    }
}

#[test]
fn what_is_inserted_is_found_by_its_age() {
    let mut store = store(&LsmConfig { operations: 200_000, ..ycsb(Mix::YcsbD) }, 1);
    assert_eq!(entries(&store), KEYS);
    run(&mut store, Nanos::micros(50), &mut |_, _| {});
    let inserts = counts(&store)[2];
    assert!(store.figures().compactions > 5, "{:?}", store.figures());
    assert_eq!(store.inserted(), Some(KEYS + inserts));
    assert_eq!(entries(&store) + store.puts_in_memory(), KEYS + inserts);
    // Nothing is lost between two levels: entries that are not in memory are in a file.
    let filed = KEYS + inserts - store.puts_in_memory();
    let mut clients = Clients::new(store.plan(), 1, KEYS + inserts);
    for _ in 0..30_000 {
        let key = clients.key(store.law(), KEYS);
        let mut files = (0..LEVELS).flat_map(|level| store.tree().level(level));
        assert!(key.age >= filed || files.any(|file| file.holds(key, store.law())), "{key:?}");
    }
    // The latest records are read most often, and are in memory: a share of 1 / zeta for each rank's power.
    let in_memory: f64 = (1..=store.puts_in_memory()).map(|rank| (rank as f64).powf(-THETA)).sum();
    let in_memory = in_memory / zeta(KEYS, THETA);
    let blocks = store.figures().blocks_per_get();
    assert!(blocks < 1.1 * (1.0 - in_memory * 0.7), "{blocks} blocks, {in_memory} in memory at the end");
}

/// The largest difference between drawn and expected cumulative shares, over all ranks below `ranks`.
fn distance(drawn: &[u64], ranks: u64, expected: impl Fn(u64) -> f64) -> f64 {
    let all: u64 = drawn.iter().sum();
    let (mut a, mut b, mut most) = (0.0, 0.0, 0.0f64);
    for (rank, count) in drawn.iter().enumerate().take(ranks as usize) {
        a += *count as f64 / all as f64;
        b += expected(rank as u64);
        most = most.max((a - b).abs());
    }
    most
}

#[test]
fn popular_keys_are_drawn_as_ycsb_draws_them() {
    let plan = store(&ycsb(Mix::YcsbC), 1).plan().clone();
    let popularity = Popularity::ycsb(KEYS);
    let law = Law::Skewed(popularity.clone());
    let mut clients = Clients::new(&plan, 1, KEYS);
    // Each place of the order belongs to one rank; a key that is never drawn has no weight here and sorts
    // last.
    let mut places = vec![(0u64, 0.0f64); KEYS as usize];
    for _ in 0..400_000 {
        let key = clients.key(&law, KEYS);
        let place = &mut places[key.place as usize];
        *place = (place.0 + 1, key.weight);
    }
    places.sort_by(|a, b| b.1.total_cmp(&a.1));
    let drawn: Vec<u64> = places.iter().map(|(count, _)| *count).collect();
    // YCSB's formula is off by half a percentage point at the third rank.
    let off = distance(&drawn, 1000, |rank| popularity.weight(rank));
    assert!(off < 0.012, "{off}");
    assert!((drawn[0] as f64 / 400_000.0 - 1.0 / 26.469).abs() < 0.002, "{}", drawn[0]);
    // Half of the draws are ranks beyond the keys, distributed evenly over all keys.
    let half = KEYS / 2;
    let is_cold = |(_, weight): &&(u64, f64)| *weight > 0.0 && *weight <= popularity.weight(half);
    let cold: u64 = places.iter().filter(is_cold).map(|(count, _)| count).sum();
    let expected: f64 = (half..KEYS).map(|rank| popularity.weight(rank)).sum();
    assert!((cold as f64 / 400_000.0 / expected - 1.0).abs() < 0.03, "{cold} for {expected}");
}

#[test]
fn the_latest_keys_are_drawn_most_often() {
    let plan = store(&ycsb(Mix::YcsbD), 1).plan().clone();
    let mut clients = Clients::new(&plan, 1, KEYS + 7);
    let mut drawn = vec![0u64; KEYS as usize];
    for _ in 0..200_000 {
        let key = clients.key(&Law::Growing, KEYS);
        drawn[(KEYS + 6 - key.age) as usize] += 1;
        assert!(key.place < plan.places());
    }
    let all = zeta(KEYS, THETA);
    let off = distance(&drawn, KEYS, |rank| ((rank + 1) as f64).powf(-THETA) / all);
    assert!(off < 0.015, "{off}");
}

#[test]
fn files_hold_what_a_model_with_every_key_says() {
    // Actual sets from actual draws compared with the law: the content of one file, of two files, and how
    // often the newest file serves a read.
    let plan = store(&ycsb(Mix::YcsbA), 1).plan().clone();
    let law = Law::Skewed(Popularity::ycsb(KEYS));
    let mut clients = Clients::new(&plan, 3, KEYS);
    let mut file =
        |puts: u64| -> BTreeSet<u64> { (0..puts).map(|_| clients.key(&law, KEYS).place).collect() };
    let (older, newer) = (file(30_000), file(2_000));
    let of = |count: usize| count as f64 / KEYS as f64;
    for (puts, set) in [(30_000, &older), (2_000, &newer)] {
        let expected = law.distinct(puts, KEYS) as f64;
        assert!((set.len() as f64 / expected - 1.0).abs() < 0.02, "{} for {expected}", set.len());
    }
    let merged = law.union([of(older.len()), of(newer.len())].into_iter());
    let real = of(older.union(&newer).count());
    assert!((real / merged - 1.0).abs() < 0.02, "{real} for {merged}");
    let puts = law.puts(of(newer.len()));
    assert!((puts / 2_000.0 - 1.0).abs() < 0.05, "{puts}");
    let (mut found, mut expected) = (0.0, 0.0);
    for _ in 0..100_000 {
        let key = clients.key(&law, KEYS);
        found += f64::from(u8::from(newer.contains(&key.place)));
        expected += Law::hit(2_000.0, key.weight);
    }
    assert!((found / expected - 1.0f64).abs() < 0.03, "{found} for {expected}");
}

#[test]
fn hot_records_are_found_higher_than_cold_ones() {
    let mut store = store(&ycsb(Mix::YcsbA), 1);
    run(&mut store, Nanos::micros(100), &mut |_, _| {});
    let mut clients = Clients::new(store.plan(), 9, KEYS);
    let (mut hot, mut cold) = ([0u32; LEVELS], [0u32; LEVELS]);
    for _ in 0..20_000 {
        let key = clients.key(store.law(), KEYS);
        let level =
            (0..LEVELS).find(|&level| store.tree().level(level).any(|file| file.holds(key, store.law())));
        let level = level.expect("every key is somewhere");
        if key.weight > 1e-3 { hot[level] += 1 } else { cold[level] += 1 }
    }
    let last = (0..LEVELS).rfind(|&level| store.tree().files(level) > 0).expect("files");
    let share = |found: [u32; LEVELS]| f64::from(found[last]) / f64::from(found.iter().sum::<u32>());
    assert!(share(hot) < 0.01 && share(cold) > 0.4, "{hot:?} {cold:?}");
    // Fewer entries than puts are flushed from memtables, because hot records are put repeatedly.
    let figures = store.figures();
    assert!(figures.flushed_bytes < figures.put_bytes * 93 / 100, "{figures:?}");
}

#[test]
fn an_update_reads_unless_it_is_told_not_to() {
    for update_reads in [true, false] {
        let mut store = store(&LsmConfig { update_reads, ..ycsb(Mix::YcsbA) }, 1);
        run(&mut store, Nanos::micros(100), &mut |_, _| {});
        let of = |kind| store.figures().of(kind).expect("clients do it").clone();
        let (reads, updates) = (of(Operation::Read), of(Operation::Update));
        assert_eq!(updates.disk_reads.count() > 0, update_reads);
        let searches = reads.latency.count() + if update_reads { updates.latency.count() } else { 0 };
        assert_eq!(store.figures().searches, searches);
        assert!(reads.disk_reads.mean() == 100_000.0, "a device that takes 100 us");
        assert!(reads.latency.max() >= Nanos::micros(105));
    }
}

#[test]
fn a_page_cache_keeps_reads_from_the_device() {
    let reads = |page_cache, mix| {
        let mut store = store(&LsmConfig { page_cache, ..ycsb(mix) }, 1);
        let mut reads = 0;
        run(&mut store, Nanos::micros(100), &mut |_, request| {
            reads += if request.op == Op::Read { u64::from(request.sectors) } else { 0 };
        });
        store.check();
        reads
    };
    for mix in [Mix::YcsbA, Mix::YcsbC] {
        let [none, some, most] = [0, 4 << 30, 1 << 40].map(|page_cache| reads(page_cache, mix));
        assert!(most < some && some < none * 9 / 10, "{mix}: {none} {some} {most}");
    }
    // The writes of a load are in memory, so that its compactions read nothing.
    assert_eq!(reads(1 << 40, Mix::Load), 0);
}

#[test]
fn one_seed_gives_one_stream_of_requests() {
    for mix in [Mix::Load, Mix::YcsbA, Mix::YcsbD] {
        let digest = |seed| {
            let (mut digest, mut store) = (Digest::new(), store(&ycsb(mix), seed));
            run(&mut store, Nanos::micros(100), &mut |_, request| {
                digest.add(request.sector ^ request.due.0 << 20 ^ u64::from(request.sectors) << 8);
            });
            digest.value()
        };
        assert_eq!(digest(1), digest(1));
        // A load draws nothing.
        assert_eq!(digest(1) == digest(2), mix == Mix::Load);
    }
}

fn odd() -> impl Strategy<Value = LsmConfig> {
    let mixes = [Mix::Load, Mix::YcsbA, Mix::YcsbB, Mix::YcsbC, Mix::YcsbD];
    let load = (prop::sample::select(mixes.to_vec()), 1u64..40_000, 1u64..20_000, 1u32..40, any::<bool>());
    let sizes = (1u64..40, 0u64..6000, 0.000_1..0.005f64, prop::sample::select(vec![512u64, 4096, 16_384]));
    let memory = (0u64..16, 0u64..(64 << 20), prop::sample::select(vec![0u64, 1 << 30, 1 << 38]));
    let how = (1u32..8, 1u32..4, any::<bool>(), 0u64..50);
    (load, sizes, memory, how).prop_map(|(load, sizes, memory, how)| LsmConfig {
        mix: load.0,
        keys: load.1,
        operations: load.2,
        clients: load.3,
        update_reads: load.4,
        key_size: sizes.0,
        value_size: sizes.1,
        scale: sizes.2,
        block: sizes.3,
        bloom_bits: memory.0,
        block_cache: memory.1,
        page_cache: memory.2,
        l0_trigger: how.0,
        compactions: how.1,
        discard: how.2,
        sync_every: how.3,
        ..ycsb(load.0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn odd_stores_do_every_operation(config in odd(), seed in 0u64..1000) {
        let sectors = ROOM / SECTOR_BYTES;
        // With room to spare, as compactions may overlap more than on average.
        let keys = config.keys.min(config.most_keys(sectors) * 4 / 5).max(1);
        let config = LsmConfig { keys, ..config };
        prop_assume!(config.source(sectors, seed, Nanos::ZERO).is_ok());
        let mut store = store(&config, seed);
        run(&mut store, Nanos::micros(100), &mut |_, _| {});
        store.check();
        prop_assert_eq!(store.failure(), None);
        let operations = if config.mix == Mix::Load { keys } else { config.operations };
        prop_assert_eq!(counts(&store).iter().sum::<u64>(), operations);
        if let Some(inserted) = store.inserted() {
            prop_assert_eq!(entries(&store) + store.puts_in_memory(), inserted);
        }
    }
}
