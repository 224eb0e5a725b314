//! Drives with a control interface for collection, and drives without one.

use crate::epoch::bench::{FOUR, check_copies, config, harness, seeds, wrong};
use crate::raid::drive::Interface;
use crate::raid::harness::Harness;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::DriveId;
use tailcut_host::array::epoch::EpochMode;

fn controlled(seed: u64, interface: Option<Interface>) -> Harness {
    let mut config = config(FOUR);
    config.epoch.mode = EpochMode::GcControl;
    let mut harness = harness(&config, seed);
    harness.drives.iter_mut().for_each(|drive| drive.interface = interface);
    harness
}

#[test]
fn a_drive_collects_before_it_writes_and_rests_before_the_token_passes() {
    for seed in seeds(4) {
        let mut harness = controlled(seed, Some(Interface { free: 40, ..Interface::default() }));
        for _ in 0..20 {
            harness.work(20, 8);
            harness.rest();
        }
        let figures = harness.array.epoch_figures().expect("it has epochs");
        assert!(figures.collections > 10 && figures.polls > figures.epochs, "{figures:?}");
        assert_eq!((figures.without_control, figures.restless), (0, 0));
        for drive in &harness.drives {
            let interface = drive.interface.expect("it has one");
            assert!(interface.collections > 0 && interface.collects_since.is_none());
        }
        check_copies(&mut harness, 2);
        assert!(wrong(harness).is_empty());
    }
}

#[test]
fn drives_without_the_interface_get_epochs_all_the_same() {
    let mut harness = controlled(1, None);
    harness.work(200, 8);
    harness.rest();
    let figures = harness.array.epoch_figures().expect("it has epochs");
    assert_eq!((figures.without_control, figures.collections), (4, 0));
    check_copies(&mut harness, 2);
    assert!(wrong(harness).is_empty());
}

#[test]
fn a_drive_that_never_rests_does_not_keep_the_token() {
    let mut harness = controlled(1, Some(Interface { free: 40, is_restless: true, ..Interface::default() }));
    harness.submit(Op::Write, 0, 8, true);
    harness.rest();
    let figures = harness.array.epoch_figures().expect("it has epochs");
    assert!(figures.restless > 0);
    assert!(figures.longest_epoch <= Nanos::millis(30), "{figures:?}");
    assert!(figures.times.settling > figures.times.writing, "{figures:?}");
    assert!(wrong(harness).is_empty());
}

#[test]
fn a_drive_that_is_done_serves_reads_while_others_of_its_group_go_on() {
    let mut harness = controlled(1, Some(Interface { free: 40, ..Interface::default() }));
    harness.drives[0].interface = Some(Interface { free: 40, is_restless: true, ..Interface::default() });
    // Three chunks of four blocks, on drives 0 and 1, 1 and 2, 2 and 3.
    harness.submit(Op::Write, 0, 12, true);
    let has_been_asked = |harness: &Harness, drive: usize| {
        let interface = harness.drives[drive].interface.expect("it has one");
        interface.asked_to_rest.is_some()
    };
    while !has_been_asked(&harness, 0) || !has_been_asked(&harness, 2) {
        assert!(harness.step(), "drives are asked to come to rest");
    }
    // Drive 2 reports after a while that it has quiesced; drive 0 never does.
    let before = harness.drives[2].reads;
    while harness.drives[2].reads == before
        && !harness.array.epochs().expect("it has epochs").holders().is_empty()
    {
        harness.submit(Op::Read, 24, 1, false);
        while harness.in_flight() > 1 && harness.step() {}
    }
    let holders = harness.array.epochs().expect("it has epochs").holders();
    assert_eq!(holders, [0, 2].map(DriveId::new), "drive 2 was read while drive 0 had the token");
    harness.rest();
    assert!(harness.array.epoch_figures().expect("it has epochs").waiting > Nanos::millis(1));
    assert!(wrong(harness).is_empty());
}
