//! A drive whose flush fails once and succeeds from then on.

use crate::raid::harness::{Harness, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::DriveId;
use tailcut_host::array::{Condition, LayoutKind};

#[test]
fn without_redundancy_nothing_is_acknowledged_after_a_flush_that_failed() {
    for durable_write_fails in [false, true] {
        let mut harness = Harness::new(&config(LayoutKind::Raid0, 4), 1);
        harness.submit(Op::Write, 0, 16, false);
        harness.rest();
        harness.may_fail = true;
        harness.drives[2].fails_flush = true;
        match durable_write_fails {
            true => harness.submit(Op::Write, 0, 16, true),
            false => harness.submit(Op::Flush, 0, 0, false),
        }
        harness.rest();
        let failed = if durable_write_fails { Op::Write } else { Op::Flush };
        let ops: Vec<Op> = std::mem::take(&mut harness.failed).into_iter().map(|(op, _)| op).collect();
        assert_eq!(ops, [failed]);
        for (op, blocks, fua) in [(Op::Flush, 0, false), (Op::Write, 4, true), (Op::Trim, 4, false)] {
            harness.submit(op, 0, blocks, fua);
            harness.rest();
            assert_eq!(std::mem::take(&mut harness.failed), [(op, Status::MediaError)]);
        }
        harness.submit(Op::Read, 20, 4, false);
        harness.rest();
        assert!(harness.failed.is_empty(), "reads go on: {:?}", harness.failed);
        let condition = harness.array.condition();
        let is_named = |why: &str| why.contains("drive 2 could not be flushed");
        assert!(matches!(&condition, Condition::Failed { why } if is_named(why)), "{condition:?}");
    }
}

#[test]
fn with_a_parity_the_array_goes_on_without_the_drive() {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), 1);
    harness.submit(Op::Write, 0, 16, false);
    harness.rest();
    harness.drives[2].fails_flush = true;
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    assert!(!harness.array.core().drives.is_present(DriveId::new(2)), "{:?}", harness.array.condition());
    let all = harness.array.disk().blocks;
    harness.submit(Op::Read, 0, all as u32, false);
    harness.rest();
    harness.is_right();
}
