//! The log-structured merge store: nothing is lost, levels keep their shape, and results are close to the
//! textbook's; on a device with a constant latency.

use super::plain_device::{entries, run};
use super::stores::{MIB, cases, fitted, odd, small};
use proptest::prelude::*;
use tailcut_base::digest::Digest;
use tailcut_base::{Nanos, Op, SECTOR_BYTES, Time};
use tailcut_workload::Source;
use tailcut_workload::lsm::tree::LEVELS;
use tailcut_workload::lsm::{LsmConfig, Plan, Store};

/// The size of the device for the stores.
const ROOM: u64 = 128 * MIB;

fn store(config: &LsmConfig, seed: u64) -> Store {
    config.source(ROOM / SECTOR_BYTES, seed, Nanos::ZERO).expect("a good store")
}

#[test]
fn nothing_is_lost_and_no_block_has_two_owners() {
    for discard in [false, true] {
        let mut store = store(&LsmConfig { discard, puts: 60_000, ..small() }, 1);
        let before = entries(&store);
        let mut bytes = [0u64; 6];
        let (mut seen, mut trimmed) = (0, 0);
        run(&mut store, Nanos::micros(100), &mut |store, request| {
            let block = store.plan().block_sectors();
            let end = request.sector + u64::from(request.sectors);
            assert!(end <= store.space().blocks() * block, "the region is not left");
            bytes[usize::from(request.class.number())] += u64::from(request.sectors) * SECTOR_BYTES;
            trimmed += u64::from(request.op == Op::Trim);
            if request.op == Op::Write {
                // Files on a level are never overwritten.
                let files = (0..LEVELS).flat_map(|level| store.tree().level(level));
                for extent in files.flat_map(|table| &table.extents) {
                    let (first, behind) = (extent.first * block, (extent.first + extent.blocks) * block);
                    assert!(end <= first || behind <= request.sector, "a file is overwritten");
                }
            }
            let done = store.figures().compactions + store.figures().flushes;
            if done != seen {
                seen = done;
                store.check();
            }
        });
        store.check();
        let figures = store.figures();
        assert!(figures.flushes > 10 && figures.compactions > 10, "{figures:?}");
        assert_eq!(figures.puts, 60_000);
        assert_eq!(figures.gets.count(), 20_000);
        // The counters match the writes; a job at the end is not yet counted.
        assert!(bytes[4] >= figures.flushed_bytes && bytes[4] < figures.flushed_bytes + MIB);
        assert!(bytes[5] >= figures.compaction_written_bytes);
        assert!(bytes[2] >= figures.compaction_read_bytes);
        assert!(bytes[5] - figures.compaction_written_bytes < 8 * MIB);
        // Every entry is on a level or was replaced by a newer one; the last level has every key.
        let flushed = figures.flushed_bytes / 116;
        assert!(entries(&store) <= before + flushed && entries(&store) >= 140_000);
        assert_eq!(trimmed > 0, discard);
    }
}

#[test]
fn blocks_per_get_are_those_of_levels_and_filters() {
    for bloom_bits in [0, 4, 10] {
        // Only one entry is put: the tree stays as it is.
        let config = LsmConfig { bloom_bits, puts: 1, gets: 40_000, readers: 1, ..small() };
        let mut store = store(&config, 3);
        let plan = store.plan().clone();
        let files = plan.levels();
        let wrong = plan.false_positives();
        // Each file of level 0, then the density of each level.
        let mut densities: Vec<f64> =
            files[0].iter().map(|span| span.entries as f64 / plan.keys as f64).collect();
        let dense = |level: &Vec<_>| {
            level.iter().map(|s: &tailcut_workload::lsm::merge::Span| s.entries).sum::<u64>()
        };
        densities.extend(files[1..].iter().map(|level| dense(level) as f64 / plan.keys as f64));
        let (mut left, mut expected) = (1.0, 0.0);
        for density in densities {
            expected += left * (density + (1.0 - density) * wrong);
            left *= 1.0 - density;
        }
        assert!(left.abs() < 1e-9, "the last level has every key");
        run(&mut store, Nanos::micros(100), &mut |_, _| {});
        let measured = store.figures().blocks_per_get();
        assert!((measured / expected - 1.0).abs() < 0.02, "{bloom_bits}: {measured} for {expected}");
    }
}

#[test]
fn a_cache_hits_as_often_as_its_share_of_the_blocks() {
    // A single level, so that all blocks are accessed equally often.
    let config = LsmConfig {
        scale: 1.0 / 8.0,
        block_cache: 32 * MIB,
        l0_trigger: 1,
        l0_slowdown: 2,
        l0_stop: 2,
        puts: 1,
        gets: 60_000,
        ..small()
    };
    let mut store = config.source(4 * ROOM / SECTOR_BYTES, 1, Nanos::ZERO).expect("a good store");
    let levels: Vec<usize> = store.plan().levels().iter().map(Vec::len).collect();
    assert_eq!((levels.len(), levels[0]), (2, 0));
    run(&mut store, Nanos::micros(100), &mut |_, _| {});
    let blocks: u64 = store.tree().level(1).map(|table| table.data_blocks).sum();
    let (share, hits) = (1024.0 / blocks as f64, store.figures().cache_hit_share());
    assert!((hits / share - 1.0).abs() < 0.05, "{hits} for {share}");
}

#[test]
fn write_amplification_is_that_of_levelled_merging() {
    // Level 0 is merged with a level 1 of its size: 2. Below, the key pointer takes files where a level is
    // densest, at twice its mean density, so a file meets half of the ten times that the next level is
    // larger: 1 + 10 / 2 for each of two levels.
    let config = LsmConfig { scale: 1.0 / 2048.0, keys: 90_000, put_rate: 2_000, ..small() };
    let mut store = store(&LsmConfig { puts: 150_000, gets: 1, ..config }, 1);
    assert_eq!(store.plan().levels().len(), 4);
    run(&mut store, Nanos::micros(20), &mut |_, _| {});
    let textbook = 1.0 + 2.0 + 6.0 + 6.0;
    let measured = store.figures().write_amplification();
    assert!((measured / textbook - 1.0).abs() < 0.1, "{measured} for {textbook}");
    assert_eq!(store.figures().stalled, Nanos::ZERO);
    store.check();
}

#[test]
fn puts_stall_where_compactions_do_not_keep_up() {
    let mut config = LsmConfig { puts: 200_000, gets: 1, put_time: Nanos(1), ..small() };
    config.merge_rate = 5_000_000;
    let mut slow = store(&config, 1);
    let mut most = 0;
    run(&mut slow, Nanos::micros(50), &mut |store, _| most = most.max(store.tree().files(0)));
    assert!(slow.figures().stalled > Nanos::millis(100), "{:?}", slow.figures());
    assert!(most as u32 <= slow.plan().l0_stop + slow.plan().write_buffers, "{most} files on level 0");
    // A rate limit below the sustainable rate of the store leaves nothing to wait for.
    let mut steady = store(&LsmConfig { put_rate: 2000, merge_rate: 75_000_000, puts: 20_000, ..config }, 1);
    let end = run(&mut steady, Nanos::micros(50), &mut |_, _| {});
    assert_eq!((steady.figures().stalled, steady.figures().delayed), (Nanos::ZERO, Nanos::ZERO));
    assert!((end.as_secs_f64() - 10.0).abs() < 0.1, "{end}");
}

#[test]
fn a_durable_log_is_flushed_and_waited_for() {
    let mut store = store(&LsmConfig { sync_every: 10, puts: 1000, gets: 1, ..small() }, 1);
    let mut flushes = 0;
    let end = run(&mut store, Nanos::micros(100), &mut |_, request| {
        flushes += u64::from(request.op == Op::Flush);
    });
    assert_eq!(flushes, 100);
    // A write and a flush, 100 times.
    assert!(end >= Time::ZERO + Nanos::micros(200) * 100);
}

#[test]
fn one_seed_gives_one_stream_of_requests() {
    let digest = |seed| {
        let (mut digest, mut store) = (Digest::new(), store(&small(), seed));
        run(&mut store, Nanos::micros(100), &mut |_, request| {
            digest.add(request.sector ^ request.due.0 << 20 ^ u64::from(request.sectors) << 8);
        });
        digest.value()
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_store_that_does_not_fit_says_what_would() {
    let sectors = ROOM / SECTOR_BYTES;
    for scale in [0.0, 1.0 / 256.0] {
        let config = LsmConfig { keys: 10_000_000, scale, ..small() };
        let problems = config.source(sectors, 1, Nanos::ZERO).expect_err("too large");
        let most = config.most_keys(sectors);
        assert!(most > 100_000, "{most}");
        assert_eq!(problems[0].key, "keys");
        assert!(problems[0].message.contains(&format!("lsm.keys = {most}")), "{}", problems[0].message);
        let fits = |keys| LsmConfig { keys, ..config.clone() }.source(sectors, 1, Nanos::ZERO).is_ok();
        assert!(fits(most) && fits(0) && !fits(most + most / 10));
    }
    let problems = LsmConfig { keys: 0, scale: 100.0, ..small() }.source(sectors, 1, Nanos::ZERO);
    assert!(problems.expect_err("nothing fits")[0].message.contains("lsm.scale"));
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn odd_stores_keep_their_rules(config in odd(), seed in 0u64..1000) {
        let sectors = ROOM / SECTOR_BYTES;
        let config = fitted(config, sectors);
        prop_assume!(config.source(sectors, seed, Nanos::ZERO).is_ok());
        let mut store = store(&config, seed);
        let mut in_work = 0;
        run(&mut store, Nanos::micros(100), &mut |store, request| {
            assert!(request.op == Op::Flush || request.sectors > 0);
            let done = store.figures().compactions;
            if done != in_work {
                in_work = done;
                store.check();
            }
        });
        store.check();
        prop_assert_eq!(store.failure(), None);
        let plan: &Plan = store.plan();
        prop_assert_eq!(store.figures().puts, plan.puts);
        let gets = if plan.readers == 0 { 0 } else { plan.gets };
        prop_assert_eq!(store.figures().gets.count(), gets);
    }
}

#[test]
fn a_store_that_has_done_all_it_was_to_do_says_what_ended_the_run() {
    let ended = |config: &LsmConfig| {
        let mut store = store(config, 1);
        assert_eq!(store.notes().len(), 1, "it has not begun");
        run(&mut store, Nanos::micros(100), &mut |_, _| {});
        store.notes().split_off(1)
    };
    let few = LsmConfig { gets: 300, puts: 200, ..small() };
    let [note] = &ended(&few)[..] else { panic!("one note more") };
    assert!(note.contains("its 300 gets and 200 puts were done"), "{note}");
    assert!(note.contains("raise lsm.gets and lsm.puts"), "{note}");
    let [note] = &ended(&LsmConfig { readers: 0, ..few })[..] else { panic!("one note more") };
    assert!(note.contains("its 200 puts were done") && note.contains("raise lsm.puts"), "{note}");
}
