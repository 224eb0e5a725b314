//! Drives without protection information that return wrong data: a reader with checksums requests another
//! copy.

use crate::log::harness::{Harness, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::LayoutKind;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Block, Bytes, Mirror};

/// Reads all blocks as a reader with checksums; returns how many were corrupt, and how many in both copies.
fn read_all(harness: &mut Harness) -> (u64, u64) {
    let (mut wrong, mut lost) = (0, 0);
    for block in 0..harness.blocks() {
        let right = Bytes::encode(&harness.model.current(block).to_le_bytes());
        let is_right = |answer: &tailcut_host::Response<Bytes>| {
            answer.status == Status::Success && answer.data[0].is_same(&right)
        };
        if is_right(&harness.read_copy(Mirror::Any, block, Vec::new())) {
            continue;
        }
        wrong += 1;
        assert!(!is_right(&harness.read_copy(Mirror::Only(0), block, Vec::new())), "it is the wrong one");
        let repaired = harness.read_copy(Mirror::Repair(1), block, vec![right.clone()]);
        lost += u64::from(!is_right(&repaired));
    }
    (wrong, lost)
}

#[test]
fn a_wrong_block_is_computed_from_its_stripe_and_rewritten() {
    let layouts = [(LayoutKind::LogRaid5, 1, 4), (LayoutKind::Swan4, 3, 3), (LayoutKind::Swan5, 2, 4)];
    for (layout, groups, width) in layouts {
        let mut harness = Harness::create(config(layout, groups, width), 600, 1);
        harness.machines.iter_mut().for_each(|machine| machine.is_unsealed = true);
        let all = harness.blocks();
        for block in 0..all {
            harness.must_submit(Op::Write, block, 1);
        }
        harness.flush();
        harness.rest();
        for block in harness.machines[0].written().into_iter().filter(|&block| block >= SUPERBLOCK_BLOCKS) {
            harness.machines[0].spoil(block);
        }
        let (wrong, lost) = read_all(&mut harness);
        assert!(wrong > all / 20 && lost == 0, "{layout}: {wrong} of {all} wrong, {lost} lost");
        harness.rest();
        assert_eq!(read_all(&mut harness), (0, 0), "{layout}");
    }
}

#[test]
fn a_copy_that_cannot_be_had_is_an_error() {
    let mut harness = Harness::create(config(LayoutKind::LogRaid5, 1, 4), 600, 1);
    for block in 0..harness.blocks() {
        harness.must_submit(Op::Write, block, 1);
    }
    harness.flush();
    harness.rest();
    harness.machines[0].is_gone = true;
    for block in 0..harness.blocks() {
        let both = [0, 1].map(|copy| harness.read_copy(Mirror::Only(copy), block, Vec::new()).status);
        assert!(both.contains(&Status::Success), "block {block}: {both:?}");
    }
    assert_eq!(harness.read_copy(Mirror::Only(2), 0, Vec::new()).status, Status::InvalidField);
}
