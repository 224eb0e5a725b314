//! Corrupt reads count for the drive that returned them, since an operator replaces the drive that is named.

use crate::raid::harness::{Harness, config};
use tailcut_base::Op;
use tailcut_base::ids::Id;
use tailcut_host::array::DriveId;
use tailcut_host::array::{LayoutKind, ReadPolicy};

/// A full RAID4 array whose reads go to the data drives, never to the last one, which holds parity.
fn full() -> Harness {
    let mut config = config(LayoutKind::Raid4, 4);
    config.reads = ReadPolicy::Direct;
    let mut harness = Harness::new(&config, 1);
    let all = harness.array.disk().blocks as u32;
    harness.submit(Op::Write, 0, all, true);
    harness.rest();
    harness
}

/// Reads every block individually; returns the number of corrupt reads counted for each drive.
fn corrupt_after_reading_all(harness: &mut Harness) -> Vec<u64> {
    for block in 0..harness.array.disk().blocks {
        harness.submit(Op::Read, block, 1, false);
        harness.rest();
    }
    let reads = &harness.array.core().reads;
    DriveId::first(harness.drives.len()).map(|drive| reads.faults(drive).corrupt).collect()
}

#[test]
fn corrupt_reads_are_counted_for_the_drive_that_returned_them() {
    for culprit in 0..3 {
        let mut harness = full();
        assert_eq!(corrupt_after_reading_all(&mut harness), [0; 4], "before anything is damaged");
        let first = harness.data_start();
        (0..3).for_each(|row| harness.drives[culprit].corrupt(first + row));
        let found = corrupt_after_reading_all(&mut harness);
        // The repair reads corrupt blocks once more.
        assert!(found[culprit] >= 3, "drive {culprit}: {found:?}");
        assert_eq!(found.iter().sum::<u64>(), found[culprit], "drive {culprit}: {found:?}");
        assert_eq!(harness.array.core().reads.counts().corrupt, found[culprit]);
        assert_eq!(
            corrupt_after_reading_all(&mut harness),
            found,
            "what was rewritten is not corrupt any more"
        );
        harness.is_right();
    }
}

/// If a drive fails a request, the request is reconstructed from the others as a whole, not block by block.
#[test]
fn a_failed_read_goes_around_its_drive_in_one_piece() {
    let mut harness = full();
    let (first, blocks) = (harness.data_start(), 3);
    (0..u64::from(blocks)).for_each(|row| harness.drives[0].corrupt(first + row));
    let before = harness.array.core().reads.counts().begun;
    harness.submit(Op::Read, 0, blocks, false);
    harness.rest();
    let begun = harness.array.core().reads.counts().begun - before;
    assert_eq!(begun, 2, "one from the drive, one from the others");
    harness.is_right();
}
