//! Arrays with block checksums on drives without protection information: a corrupt block is never returned.

use crate::log::crash::lives;
use crate::log::harness::{Harness, LAYOUTS, cases, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::LayoutKind;
use tailcut_host::array::log::BlockChecksums;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Block, Bytes, Mirror};

/// A full array that has collected garbage, with all data durable.
fn full(layout: LayoutKind, groups: u32, width: u32, seed: u64, checksums: BlockChecksums) -> Harness {
    let mut config = config(layout, groups, width);
    config.log.checksums = checksums;
    let mut harness = Harness::create(config, 600, seed);
    harness.machines.iter_mut().for_each(|machine| machine.is_unsealed = true);
    let region = harness.blocks();
    for block in 0..region {
        harness.must_submit(Op::Write, block, 1);
    }
    harness.run(2 * region, 16, region, [60, 10, 1, 1]);
    harness.flush();
    harness.rest();
    harness
}

/// Flips a bit in every `one_of`-th block on a drive, starting at a random one; returns the number of blocks.
fn spoil(harness: &mut Harness, drive: usize, one_of: u64) -> u64 {
    let written = harness.machines[drive].written();
    let (mut spoilt, first) = (0, harness.random.below(one_of));
    for block in written.into_iter().filter(|block| *block >= SUPERBLOCK_BLOCKS && block % one_of == first) {
        harness.machines[drive].spoil(block);
        spoilt += 1;
    }
    spoilt
}

/// Reads every block; returns the numbers of wrong blocks and of errors.
fn wrong_and_errors(harness: &mut Harness) -> (u64, u64) {
    let (mut wrong, mut errors) = (0, 0);
    for block in 0..harness.blocks() {
        let right = Bytes::encode(&harness.model.current(block).to_le_bytes());
        let answer = harness.read_copy(Mirror::Any, block, Vec::new());
        match answer.status {
            Status::Success => wrong += u64::from(!answer.data[0].is_same(&right)),
            _ => errors += 1,
        }
    }
    (wrong, errors)
}

#[test]
fn a_wrong_block_is_computed_from_its_stripe_or_an_error() {
    for (layout, groups, width) in LAYOUTS {
        let mut harness = full(layout, groups, width, 1, BlockChecksums::On);
        let spoilt = spoil(&mut harness, 0, 3);
        let (wrong, errors) = wrong_and_errors(&mut harness);
        assert_eq!(wrong, 0, "{layout}");
        assert!(spoilt > 100 && (errors > 0) != layout.is_redundant(), "{layout}: {errors} of {spoilt}");
        if layout.is_redundant() {
            harness.rest();
            // All corrupt blocks have been rewritten, so reading them no longer needs the other drives.
            let corrupt = harness.array.core().reads.counts().corrupt;
            assert_eq!(wrong_and_errors(&mut harness), (0, 0), "{layout}");
            assert!(corrupt > 0 && harness.array.core().reads.counts().corrupt == corrupt, "{layout}");
        }
    }
}

#[test]
fn without_checksums_a_wrong_block_is_served() {
    let mut harness = full(LayoutKind::LogRaid5, 1, 4, 1, BlockChecksums::Off);
    spoil(&mut harness, 0, 3);
    let (wrong, errors) = wrong_and_errors(&mut harness);
    assert!(wrong > 0 && errors == 0);
}

/// Checksums of blocks that a checkpoint covers are read with it; those of later writes come from
/// descriptors.
#[test]
fn checksums_survive_a_restart() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(4) {
            let mut harness = full(layout, groups, width, seed, BlockChecksums::On);
            if !layout.is_redundant() {
                // Without redundancy, damage to the most recent writes is mistaken for the end of the log.
                harness.cut_and_open();
                harness.rest();
            }
            harness.cut();
            let drive = harness.random.below(u64::from(width)) as usize;
            let spoilt = if layout.is_redundant() {
                spoil(&mut harness, drive, 3)
            } else {
                let blocks: Vec<u64> = harness.machines[drive].written();
                let behind = blocks[blocks.len() / 2];
                blocks
                    .iter()
                    .filter(|&&block| block >= behind)
                    .for_each(|&block| harness.machines[drive].spoil(block));
                blocks.len() as u64 / 2
            };
            harness.open();
            let (wrong, errors) = wrong_and_errors(&mut harness);
            assert_eq!(wrong, 0, "{layout} {seed}");
            assert!(
                spoilt > 50 && (errors > 0) != layout.is_redundant(),
                "{layout} {seed}: {errors} of {spoilt}"
            );
            // Collection also copies the data as written.
            let region = harness.blocks();
            if layout.is_redundant() {
                harness.run(2 * region, 16, region, [60, 20, 1, 1]);
                harness.settle();
                assert_eq!(wrong_and_errors(&mut harness), (0, 0), "{layout} {seed}");
            }
        }
    }
}

#[test]
fn power_cuts_and_checksums_go_together() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(3) {
            let mut config = config(layout, groups, width);
            config.log.checksums = BlockChecksums::On;
            let mut harness = Harness::create(config, 600, seed);
            harness.machines.iter_mut().for_each(|machine| machine.is_unsealed = true);
            lives(&mut harness, 8, 2500, [60, 5, 10, 5]);
            assert_eq!(harness.failures, [], "{layout} {seed}");
            // For a row that was being closed, the summaries or their parity may have been lost.
            let report = harness.scrub();
            assert_eq!((report.repaired, report.unreadable), (0, 0), "{layout} {seed}: {report:?}");
            if layout.is_redundant() {
                let drive = harness.random.below(harness.machines.len() as u64) as usize;
                harness.machines[drive].is_gone = true;
                assert_eq!(wrong_and_errors(&mut harness), (0, 0), "{layout} {seed}");
            }
        }
    }
}

/// Without checksums, a scrub that finds a mismatch can only trust the data.
#[test]
fn a_scrub_repairs_the_block_that_is_wrong() {
    for (layout, groups, width) in LAYOUTS.into_iter().filter(|(layout, ..)| layout.is_redundant()) {
        let mut harness = full(layout, groups, width, 1, BlockChecksums::On);
        spoil(&mut harness, 0, 3);
        let report = harness.scrub();
        assert!(report.repaired > 0 && report.unreadable == 0, "{layout}: {report:?}");
        harness.machines[1].is_gone = true;
        assert_eq!(wrong_and_errors(&mut harness), (0, 0), "{layout}");
    }
}

/// A scrub rewrites a corrupt descriptor instead of its parity: otherwise the log would end there after the
/// next power cut.
#[test]
fn a_scrub_repairs_descriptors() {
    for (layout, groups, width) in LAYOUTS.into_iter().filter(|(layout, ..)| layout.is_redundant()) {
        for steps in (200..3000).step_by(400) {
            let mut harness = full(layout, groups, width, 1, BlockChecksums::On);
            spoil(&mut harness, 0, 1);
            harness.array.scrub(harness.now);
            harness.pump();
            for _ in 0..steps {
                harness.step();
            }
            let report = harness.array.log_scrub().expect("it writes a log");
            assert!(report.repaired > 0, "{layout}: {report:?}");
            harness.cut_and_open();
            assert_eq!(
                (harness.failures.len(), wrong_and_errors(&mut harness)),
                (0, (0, 0)),
                "{layout}, {steps}"
            );
        }
    }
}

/// A rebuild does not propagate corruption: it reports the blocks that cannot be reconstructed.
#[test]
fn a_rebuild_from_a_wrong_block_is_an_error() {
    for (layout, groups, width) in LAYOUTS.into_iter().filter(|(layout, ..)| layout.is_redundant()) {
        let mut harness = full(layout, groups, width, 1, BlockChecksums::On);
        harness.machines[1].is_gone = true;
        let region = harness.blocks();
        harness.run(region, 16, region, [1, 0, 0, 0]);
        harness.flush();
        spoil(&mut harness, 0, 3);
        harness.replace(1);
        harness.rest();
        let (wrong, errors) = wrong_and_errors(&mut harness);
        assert!(wrong == 0 && errors > 0, "{layout}: {wrong} wrong, {errors} errors");
    }
}

/// The setting from the array's creation persists, whatever is requested at opening.
#[test]
fn the_array_remembers_whether_it_keeps_checksums() {
    for made in [BlockChecksums::On, BlockChecksums::Off] {
        let mut harness = full(LayoutKind::LogRaid5, 1, 4, 1, made);
        let other = if made == BlockChecksums::On { BlockChecksums::Off } else { BlockChecksums::On };
        harness.config.log.checksums = other;
        harness.cut_and_open();
        assert_eq!(harness.array.core().config.log.checksums, made);
        spoil(&mut harness, 0, 2);
        assert_eq!(wrong_and_errors(&mut harness).0 > 0, made == BlockChecksums::Off);
    }
}
