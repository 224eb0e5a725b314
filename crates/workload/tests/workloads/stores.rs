//! Configurations of stores: used here on a device of constant latency, and by the tests of `sim` on a drive.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tailcut_workload::lsm::{LsmConfig, Mix, Operation, Store};

/// 1 MiB.
pub(super) const MIB: u64 = 1 << 20;
/// Keys of [`ycsb`].
pub(super) const KEYS: u64 = 100_000;

/// 16 MiB of files of 256 KiB, level 1 of 1 MiB and level 2 of 10 MiB; classes distinguish requests.
pub(super) fn small() -> LsmConfig {
    LsmConfig {
        enabled: true,
        keys: 140_000,
        scale: 1.0 / 256.0,
        gets: 20_000,
        puts: 30_000,
        get_class: 1,
        compaction_read_class: 2,
        log_class: 3,
        flush_class: 4,
        compaction_write_class: 5,
        ..LsmConfig::default()
    }
}

/// Clients of YCSB. 98 MiB of records; memtables and files of 256 KiB.
pub(super) fn ycsb(mix: Mix) -> LsmConfig {
    LsmConfig {
        enabled: true,
        keys: KEYS,
        operations: 40_000,
        scale: 1.0 / 256.0,
        clients: 8,
        get_class: 1,
        compaction_read_class: 2,
        ..LsmConfig::of(mix)
    }
}

/// Reads, updates and inserts of clients.
pub(super) fn counts(store: &Store) -> [u64; 3] {
    [Operation::Read, Operation::Update, Operation::Insert]
        .map(|kind| store.figures().of(kind).expect("clients do it").latency.count())
}

/// Stores with unusual settings.
pub(super) fn odd() -> impl Strategy<Value = LsmConfig> {
    let load = (500u64..60_000, 1u64..3000, 1u64..20_000, 0u32..5);
    let sizes =
        (1u64..40, 0u64..6000, 0.000_1..0.005f64, prop::sample::select(vec![512u64, 4096, 5632, 16_384]));
    let tree = (0u64..16, 0u64..(64 << 20), 2u64..12, 1u32..8, 1u32..4);
    let how = (any::<bool>(), 0u64..50, 512u64..MIB, 512u64..MIB, 1u32..5);
    (load, sizes, tree, how).prop_map(|(load, sizes, tree, how)| LsmConfig {
        enabled: true,
        keys: load.0,
        gets: load.1,
        puts: load.2,
        readers: load.3,
        key_size: sizes.0,
        value_size: sizes.1,
        scale: sizes.2,
        block: sizes.3,
        bloom_bits: tree.0,
        block_cache: tree.1,
        multiplier: tree.2,
        l0_trigger: tree.3,
        compactions: tree.4,
        discard: how.0,
        sync_every: how.1,
        read_ahead: how.2,
        write_size: how.3,
        write_depth: how.4,
        ..small()
    })
}

/// A fixed number of cases, the same in every run.
pub(super) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Fewer keys where the store would not fit with some room to spare: one that just fits can fill its region
/// when its compactions overlap more than twice the average.
pub(super) fn fitted(config: LsmConfig, sectors: u64) -> LsmConfig {
    let keys = config.keys.min(config.most_keys(sectors) * 4 / 5).max(1);
    LsmConfig { keys, ..config }
}
