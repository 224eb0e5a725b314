//! Drives without protection information that return wrong data: a reader with checksums requests another
//! copy.

use crate::raid::harness::{Harness, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::{DriveId, LayoutKind, ReadPolicy};
use tailcut_host::{Bytes, Mirror};

const LAYOUTS: [LayoutKind; 2] = [LayoutKind::Raid4, LayoutKind::Raid5];

fn unsealed(layout: LayoutKind, reads: ReadPolicy) -> Harness {
    let mut config = config(layout, 4);
    config.reads = reads;
    let mut harness = Harness::new(&config, 1);
    harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    let all = harness.array.disk().blocks;
    harness.submit(Op::Write, 0, all as u32, true);
    harness.rest();
    harness
}

#[test]
fn a_wrong_block_is_computed_from_its_stripe_and_rewritten() {
    for layout in LAYOUTS {
        for reads in [ReadPolicy::Direct, ReadPolicy::FailFast] {
            let mut harness = unsealed(layout, reads);
            let (first, all) = (harness.data_start(), harness.array.disk().blocks);
            for row in 0..12 {
                harness.drives[row as usize % 4].corrupt(first + row);
            }
            let (wrong, lost) = harness.read_as_a_file_system(0..all);
            assert!(wrong >= 8 && lost == 0, "{layout} {reads:?}: {wrong} wrong, {lost} lost");
            assert_eq!(harness.read_as_a_file_system(0..all), (0, 0), "{layout} {reads:?}");
            harness.rest();
            // Each is counted as wrong data of its drive.
            let reads_of = &harness.array.core().reads;
            let of_drives: u64 = (0..4).map(|drive| reads_of.faults(DriveId::new(drive)).corrupt).sum();
            assert_eq!((of_drives, reads_of.counts().repaired), (wrong, wrong), "{layout} {reads:?}");
            // Only a scrub finds corrupt parity.
            harness.scrub();
            harness.rest();
            harness.check_parity();
            harness.is_right();
        }
    }
}

#[test]
fn nothing_is_rewritten_with_what_is_not_there() {
    let mut harness = unsealed(LayoutKind::Raid5, ReadPolicy::Direct);
    let written = |harness: &Harness| harness.drives.iter().map(|drive| drive.writes).sum::<u64>();
    let before = written(&harness);
    let other: Bytes = tailcut_host::Block::encode(b"other");
    for copy in 0..2 {
        let answer = harness.read_copy(Mirror::Repair(copy), 5, 1, vec![other.clone()]);
        assert_eq!(answer.status, Status::Success);
    }
    // The block itself is correct: nothing needs to be rewritten.
    let right = harness.model.expected(5);
    harness.read_copy(Mirror::Repair(0), 5, 1, vec![right]);
    harness.rest();
    assert_eq!(written(&harness), before);
}

#[test]
fn copies_that_cannot_be_had_are_errors() {
    let mut harness = unsealed(LayoutKind::Raid5, ReadPolicy::Direct);
    let status = |harness: &mut Harness, mirror| harness.read_copy(mirror, 0, 1, Vec::new()).status;
    assert_eq!(status(&mut harness, Mirror::Only(2)), Status::InvalidField);
    // Without the correct content there is nothing to compare with.
    assert_eq!(status(&mut harness, Mirror::Repair(1)), Status::InvalidField);
    for lost in 0..4 {
        let mut harness = unsealed(LayoutKind::Raid5, ReadPolicy::Direct);
        harness.drives[lost].is_gone = true;
        let both = [status(&mut harness, Mirror::Only(0)), status(&mut harness, Mirror::Only(1))];
        let served = both.iter().filter(|&&status| status == Status::Success).count();
        assert_eq!(served, 1, "without drive {lost}: {both:?}");
    }
    let mut harness = unsealed(LayoutKind::Raid0, ReadPolicy::Direct);
    assert_eq!(status(&mut harness, Mirror::Only(0)), Status::Success);
    assert_eq!(status(&mut harness, Mirror::Only(1)), Status::InvalidField);
}
