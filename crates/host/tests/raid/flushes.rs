//! A drive whose flush fails once and succeeds from then on.

use crate::rig::{Rig, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::DriveId;
use tailcut_host::array::{Condition, LayoutKind};

#[test]
fn without_redundancy_nothing_is_acknowledged_after_a_flush_that_failed() {
    for durable_write_fails in [false, true] {
        let mut rig = Rig::new(&config(LayoutKind::Raid0, 4), 1);
        rig.submit(Op::Write, 0, 16, false);
        rig.rest();
        rig.may_fail = true;
        rig.drives[2].fails_flush = true;
        match durable_write_fails {
            true => rig.submit(Op::Write, 0, 16, true),
            false => rig.submit(Op::Flush, 0, 0, false),
        }
        rig.rest();
        let failed = if durable_write_fails { Op::Write } else { Op::Flush };
        let ops: Vec<Op> = std::mem::take(&mut rig.failed).into_iter().map(|(op, _)| op).collect();
        assert_eq!(ops, [failed]);
        for (op, blocks, fua) in [(Op::Flush, 0, false), (Op::Write, 4, true), (Op::Trim, 4, false)] {
            rig.submit(op, 0, blocks, fua);
            rig.rest();
            assert_eq!(std::mem::take(&mut rig.failed), [(op, Status::MediaError)]);
        }
        rig.submit(Op::Read, 20, 4, false);
        rig.rest();
        assert!(rig.failed.is_empty(), "reads go on: {:?}", rig.failed);
        let condition = rig.array.condition();
        let is_named = |why: &str| why.contains("drive 2 could not be flushed");
        assert!(matches!(&condition, Condition::Failed { why } if is_named(why)), "{condition:?}");
    }
}

#[test]
fn with_a_parity_the_array_goes_on_without_the_drive() {
    let mut rig = Rig::new(&config(LayoutKind::Raid5, 4), 1);
    rig.submit(Op::Write, 0, 16, false);
    rig.rest();
    rig.drives[2].fails_flush = true;
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    assert!(!rig.array.core().drives.is_present(DriveId::new(2)), "{:?}", rig.array.condition());
    let all = rig.array.disk().blocks;
    rig.submit(Op::Read, 0, all as u32, false);
    rig.rest();
    rig.is_right();
}
