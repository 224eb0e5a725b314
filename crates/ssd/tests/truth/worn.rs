//! End of life: a worn-out drive reports why, completes every command, and still returns all accepted data.

use crate::drives;
use crate::naive::Pair;
use tailcut_base::{Nanos, Op};
use tailcut_ssd::SsdConfig;

/// Writes, with several commands in flight, until the drive refuses, and then a few more times.
fn wear_out(config: &SsdConfig, seed: u64) {
    let mut pair = Pair::new(config, seed);
    let (pages, page) = (pair.pages(), u64::from(config.geometry.page_sectors()));
    for n in 0..100_000u64 {
        if pair.ssd.read_only().is_some() {
            break;
        }
        pair.submit(Op::Write, n * 7919 % pages * page, page as u32, n % 5 == 0, 0);
        pair.pass(Nanos::micros(n % 3 * 40));
    }
    let reason = pair.ssd.read_only().expect("blocks go bad until there are too few").to_string();
    assert!(reason.contains("gone bad") && reason.contains("spare"), "{reason}");
    for n in 0..3 * pages {
        pair.submit(
            [Op::Read, Op::Write, Op::Flush][n as usize % 3],
            n / 3 * page,
            page as u32,
            n % 2 == 0,
            0,
        );
    }
    // Compares all pages that no refused write touched.
    pair.finish();
}

#[test]
fn a_drive_that_runs_out_of_good_blocks_says_why_and_stays_readable() {
    for (program_fail, erase_fail) in [(0.02, 0.0), (0.0, 0.05), (0.01, 0.02)] {
        for buffer in [0, 4] {
            for capacitor in [false, true] {
                for seed in 0..20 {
                    let mut config = drives::plane(24, 8);
                    config.geometry.planes = 2;
                    config.faults.program_fail = program_fail;
                    config.faults.erase_fail = erase_fail;
                    config.buffer.size = buffer * 512;
                    config.buffer.capacitor = capacitor;
                    config.ftl.spare = 500_000;
                    wear_out(&config, seed);
                }
            }
        }
    }
}

#[test]
fn factory_bad_blocks_are_never_used_and_cost_only_room() {
    for seed in 0..20 {
        let mut config = drives::plane(32, 8);
        config.faults.factory_bad = 0.1;
        config.ftl.spare = 600_000;
        let mut pair = Pair::new(&config, seed);
        for n in 0..2000 {
            pair.submit(Op::Write, n * 31 % pair.pages(), 1, false, 0);
            pair.pass(Nanos::micros(50));
        }
        // The NAND array asserts that a bad block is neither programmed nor erased.
        assert!(pair.finish().ssd.read_only().is_none());
    }
}
