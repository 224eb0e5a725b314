//! Healthy arrays.

use crate::raid::harness::{Harness, config};
use tailcut_base::Op;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{Condition, LayoutKind};

pub(super) const LAYOUTS: [LayoutKind; 3] = [LayoutKind::Raid0, LayoutKind::Raid4, LayoutKind::Raid5];

/// Seeds of a random test: `TAILCUT_CASES` multiplies their number, `TAILCUT_SEED` shifts them.
pub(super) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("TAILCUT_SEED").unwrap_or(0) * 1_000_000;
    first..first + count * number("TAILCUT_CASES").unwrap_or(1)
}

#[test]
fn reads_return_what_was_written_last() {
    for layout in LAYOUTS {
        for seed in seeds(6) {
            for (drives, write_hole) in [(3, WriteHole::Journal), (5, WriteHole::Resync)] {
                let mut config = config(layout, drives);
                config.raid.write_hole = write_hole;
                let mut harness = Harness::new(&config, seed);
                harness.work(400, 1 + (seed as usize * 7) % 40);
                harness.rest();
                harness.check_parity();
                harness.is_right();
                assert_eq!(harness.array.condition(), Condition::Optimal);
            }
        }
    }
}

/// Data blocks that drives read and write for some writes, with no other load.
fn traffic(layout: LayoutKind, writes: &[(u64, u32)]) -> (u64, u64) {
    let mut config = config(layout, 5);
    config.raid.write_hole = WriteHole::Resync;
    let mut harness = Harness::new(&config, 1);
    // Writes the bitmap of the only region first.
    harness.submit(Op::Write, 0, 16, false);
    harness.rest();
    let count = |harness: &Harness| harness.drives.iter().map(|d| (d.reads, d.writes)).collect::<Vec<_>>();
    let before = count(&harness);
    for &(block, blocks) in writes {
        harness.submit(Op::Write, block, blocks, false);
    }
    harness.rest();
    harness.is_right();
    let after = count(&harness);
    let sum =
        |of: fn(&(u64, u64)) -> u64| after.iter().map(of).sum::<u64>() - before.iter().map(of).sum::<u64>();
    (sum(|c| c.0), sum(|c| c.1))
}

#[test]
fn writes_read_as_little_as_they_can() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5] {
        // One block of a chunk of four: read-modify-write of the data and the parity.
        assert_eq!(traffic(layout, &[(1, 1)]), (2, 2));
        // Two of the four chunks of a row, on two drives: reconstruct-write also reads two chunks.
        assert_eq!(traffic(layout, &[(0, 8)]), (8, 12));
        assert_eq!(traffic(layout, &[(0, 12)]), (4, 16));
        assert_eq!(traffic(layout, &[(0, 16)]), (0, 20));
    }
    assert_eq!(traffic(LayoutKind::Raid0, &[(1, 1)]), (0, 1));
}

#[test]
fn writes_that_wait_for_a_stripe_are_taken_together() {
    let writes: Vec<(u64, u32)> = (0..16).map(|block| (block, 1)).collect();
    let (reads, written) = traffic(LayoutKind::Raid5, &writes);
    // The first write goes alone; the writes that arrive meanwhile fill all but one block of the stripe.
    assert_eq!((reads, written), (2 + 1, 2 + 15 + 4));
}

#[test]
fn unrelated_reads_do_not_wait_for_a_write() {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), 3);
    harness.submit(Op::Write, 0, 1, false);
    let writes = harness.in_flight();
    harness.submit(Op::Read, 1, 1, false);
    harness.submit(Op::Read, 4, 1, false);
    while harness.in_flight() > writes {
        assert!(harness.step());
    }
    assert_eq!(harness.model.acknowledged()[0], 0, "the write is still under way");
    harness.rest();
    harness.is_right();
}

#[test]
fn trimmed_stripes_are_trimmed_on_all_drives() {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), 3);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    harness.submit(Op::Trim, 0, 12, false);
    harness.submit(Op::Trim, 13, 1, false);
    harness.rest();
    let start = harness.data_start();
    for drive in &harness.drives {
        (start..start + 4).for_each(|block| assert_eq!(drive.get(block), tailcut_host::Bytes::default()));
    }
    harness.submit(Op::Read, 0, 24, false);
    harness.rest();
    harness.check_parity();
    harness.is_right();
}
