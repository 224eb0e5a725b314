//! Drives with a control interface for collection, and drives without one.

use crate::bench::{FOUR, check_copies, config, rig, seeds, wrong};
use crate::drive::Interface;
use crate::rig::Rig;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::DriveId;
use tailcut_host::array::epoch::EpochMode;

fn controlled(seed: u64, interface: Option<Interface>) -> Rig {
    let mut config = config(FOUR);
    config.epoch.mode = EpochMode::GcControl;
    let mut rig = rig(&config, seed);
    rig.drives.iter_mut().for_each(|drive| drive.interface = interface);
    rig
}

#[test]
fn a_drive_collects_before_it_writes_and_rests_before_the_token_passes() {
    for seed in seeds(4) {
        let mut rig = controlled(seed, Some(Interface { free: 40, ..Interface::default() }));
        for _ in 0..20 {
            rig.work(20, 8);
            rig.rest();
        }
        let figures = rig.array.epoch_figures().expect("it has epochs");
        assert!(figures.collections > 10 && figures.polls > figures.epochs, "{figures:?}");
        assert_eq!((figures.without_control, figures.restless), (0, 0));
        for drive in &rig.drives {
            let interface = drive.interface.expect("it has one");
            assert!(interface.collections > 0 && interface.collects_since.is_none());
        }
        check_copies(&mut rig, 2);
        assert!(wrong(rig).is_empty());
    }
}

#[test]
fn drives_without_the_interface_get_epochs_all_the_same() {
    let mut rig = controlled(1, None);
    rig.work(200, 8);
    rig.rest();
    let figures = rig.array.epoch_figures().expect("it has epochs");
    assert_eq!((figures.without_control, figures.collections), (4, 0));
    check_copies(&mut rig, 2);
    assert!(wrong(rig).is_empty());
}

#[test]
fn a_drive_that_never_rests_does_not_keep_the_token() {
    let mut rig = controlled(1, Some(Interface { free: 40, is_restless: true, ..Interface::default() }));
    rig.submit(Op::Write, 0, 8, true);
    rig.rest();
    let figures = rig.array.epoch_figures().expect("it has epochs");
    assert!(figures.restless > 0);
    assert!(figures.longest_epoch <= Nanos::millis(30), "{figures:?}");
    assert!(figures.times.settling > figures.times.writing, "{figures:?}");
    assert!(wrong(rig).is_empty());
}

#[test]
fn a_drive_that_is_done_serves_reads_while_others_of_its_group_go_on() {
    let mut rig = controlled(1, Some(Interface { free: 40, ..Interface::default() }));
    rig.drives[0].interface = Some(Interface { free: 40, is_restless: true, ..Interface::default() });
    // Three chunks of four blocks, on drives 0 and 1, 1 and 2, 2 and 3.
    rig.submit(Op::Write, 0, 12, true);
    let has_been_asked = |rig: &Rig, drive: usize| {
        let interface = rig.drives[drive].interface.expect("it has one");
        interface.asked_to_rest.is_some()
    };
    while !has_been_asked(&rig, 0) || !has_been_asked(&rig, 2) {
        assert!(rig.step(), "drives are asked to come to rest");
    }
    // Drive 2 reports after a while that it has quiesced; drive 0 never does.
    let before = rig.drives[2].reads;
    while rig.drives[2].reads == before && !rig.array.epochs().expect("it has epochs").holders().is_empty() {
        rig.submit(Op::Read, 24, 1, false);
        while rig.in_flight() > 1 && rig.step() {}
    }
    let holders = rig.array.epochs().expect("it has epochs").holders();
    assert_eq!(holders, [0, 2].map(DriveId::new), "drive 2 was read while drive 0 had the token");
    rig.rest();
    assert!(rig.array.epoch_figures().expect("it has epochs").waiting > Nanos::millis(1));
    assert!(wrong(rig).is_empty());
}
