//! Corrupt reads count for the drive that returned them, since an operator replaces the drive that is named.

use crate::rig::{Rig, config};
use tailcut_base::Op;
use tailcut_base::ids::Id;
use tailcut_host::array::DriveId;
use tailcut_host::array::{LayoutKind, ReadPolicy};

/// A full RAID4 array whose reads go to the data drives, never to the last one, which holds parity.
fn full() -> Rig {
    let mut config = config(LayoutKind::Raid4, 4);
    config.reads = ReadPolicy::Direct;
    let mut rig = Rig::new(&config, 1);
    let all = rig.array.disk().blocks as u32;
    rig.submit(Op::Write, 0, all, true);
    rig.rest();
    rig
}

/// Reads every block individually; returns the number of corrupt reads counted for each drive.
fn corrupt_after_reading_all(rig: &mut Rig) -> Vec<u64> {
    for block in 0..rig.array.disk().blocks {
        rig.submit(Op::Read, block, 1, false);
        rig.rest();
    }
    let reads = &rig.array.core().reads;
    DriveId::first(rig.drives.len()).map(|drive| reads.faults(drive).corrupt).collect()
}

#[test]
fn corrupt_reads_are_counted_for_the_drive_that_returned_them() {
    for culprit in 0..3 {
        let mut rig = full();
        assert_eq!(corrupt_after_reading_all(&mut rig), [0; 4], "before anything is damaged");
        let first = rig.data_start();
        (0..3).for_each(|row| rig.drives[culprit].corrupt(first + row));
        let found = corrupt_after_reading_all(&mut rig);
        // The repair reads corrupt blocks once more.
        assert!(found[culprit] >= 3, "drive {culprit}: {found:?}");
        assert_eq!(found.iter().sum::<u64>(), found[culprit], "drive {culprit}: {found:?}");
        assert_eq!(rig.array.core().reads.counts().corrupt, found[culprit]);
        assert_eq!(corrupt_after_reading_all(&mut rig), found, "what was rewritten is not corrupt any more");
        rig.is_right();
    }
}

/// If a drive fails a request, the request is reconstructed from the others as a whole, not block by block.
#[test]
fn a_failed_read_goes_around_its_drive_in_one_piece() {
    let mut rig = full();
    let (first, blocks) = (rig.data_start(), 3);
    (0..u64::from(blocks)).for_each(|row| rig.drives[0].corrupt(first + row));
    let before = rig.array.core().reads.counts().begun;
    rig.submit(Op::Read, 0, blocks, false);
    rig.rest();
    let begun = rig.array.core().reads.counts().begun - before;
    assert_eq!(begun, 2, "one from the drive, one from the others");
    rig.is_right();
}
