//! Operations on a store, one after another.

use super::{on_file, on_memory, small};
use std::time::Duration;
use tailcut_base::control::{Control, ControlReply};
use tailcut_host::array::LayoutKind;
use tailcut_host::array::epoch::EpochMode;
use tailcut_rt::embedded::{
    CannotOpen, Error, Keep, Operation, Options, Outcome, Place, PutCondition, Store,
};

#[test]
fn what_is_set_is_had_until_it_is_deleted() {
    let store = on_memory();
    assert!(store.get(b"a").expect("it can be asked").is_none());
    let first = store.set(b"a", b"one").expect("there is room");
    let second = store.set(b"a", b"two").expect("there is room");
    assert_ne!(first, second);
    let found = store.get(b"a").expect("it can be asked").expect("it is there");
    assert_eq!((&*found, found.flags, found.version), (&b"two"[..], 0, second));
    assert_eq!(store.delete(b"a"), Ok(true));
    assert_eq!(store.delete(b"a"), Ok(false));
    assert_eq!(store.set(b"empty", b"").map(|_| ()), Ok(()));
    assert_eq!(store.get(b"empty").expect("it can be asked").as_deref(), Some(&b""[..]));
    let all = store.close().expect("the drive takes everything");
    assert_eq!((all.hits, all.misses, all.sets, all.deletes, all.items), (2, 1, 3, 1, 1));
}

#[test]
fn what_is_set_only_in_a_case_is_left_alone_in_others() {
    let store = on_memory();
    assert_eq!(store.set_only(PutCondition::IfPresent, b"k", b"1"), Ok(None));
    let version =
        store.set_only(PutCondition::IfAbsent, b"k", b"2").expect("it can be set").expect("there is none");
    assert_eq!(store.set_only(PutCondition::IfAbsent, b"k", b"3"), Ok(None));
    assert_eq!(store.set_only(PutCondition::IfVersion(version + 1), b"k", b"4"), Ok(None));
    let next =
        store.set_only(PutCondition::IfVersion(version), b"k", b"5").expect("it can be set").expect("it is");
    assert_eq!(store.set_only(PutCondition::IfVersion(version), b"k", b"6"), Ok(None));
    assert!(
        store
            .set_only(PutCondition::IfPresent, b"k", b"7")
            .expect("it can be set")
            .is_some_and(|it| it > next)
    );
    assert_eq!(store.get(b"k").expect("it can be asked").as_deref(), Some(&b"7"[..]));
    assert_eq!(store.statistics().map(|all| (all.sets, all.not_stored)), Ok((3, 4)));
}

#[test]
fn flags_stay_and_time_goes() {
    let store = on_memory();
    let outcome = |operation| store.carry_out(operation).expect("it is open").result.expect("it is done");
    let day = Duration::from_secs(86_400);
    let set = Operation::set(b"k", b"v").expect("a key").with_flags(7).for_a_time(day);
    assert!(matches!(outcome(set), Outcome::Stored { .. }));
    assert_eq!(store.get(b"k").expect("it can be asked").map(|found| found.flags), Some(7));
    assert_eq!(outcome(Operation::touch(b"k").expect("a key")), Outcome::Done);
    assert_eq!(outcome(Operation::touch(b"none").expect("a key").for_a_time(day)), Outcome::NotFound);
    assert_eq!(store.get(b"k").expect("it can be asked").map(|found| found.flags), Some(7));
    assert_eq!(outcome(Operation::clear()), Outcome::Done);
    assert!(store.get(b"k").expect("it can be asked").is_none());
}

#[test]
fn what_cannot_be_is_told() {
    let store = on_memory();
    assert_eq!(store.set(b"", b"v"), Err(Error::Key(0)));
    assert_eq!(store.get(&[1; 251]).map(|_| ()), Err(Error::Key(251)));
    assert!(store.set(&[1; 250], b"v").is_ok());
    let error = store.set(b"k", &vec![0; 1 << 16]).expect_err("it is too large");
    assert_eq!(error, Error::TooLarge { bytes: 65_584 });
    assert!(error.to_string().contains("65584"), "{error}");
    assert_eq!(store.control(0, Control::FreeBlocks), Ok(ControlReply::Unsupported));
    assert_eq!(store.control(1, Control::FreeBlocks), Err(Error::NoDrive(1)));
}

#[test]
fn a_full_store_says_so_and_a_cache_gives_up() {
    let fill = |store: &Store| (0..4000u32).find_map(|key| store.set(&key.to_le_bytes(), &[7; 30_000]).err());
    let store = on_memory();
    assert_eq!(fill(&store), Some(Error::Full));
    let cache = Options { keep: Keep::WhatIsUsed, ..small(Place::MemoryDrive(64 << 20)) };
    let cache = Store::open(cache).expect("it is made");
    assert_eq!(fill(&cache), None);
    assert!(cache.statistics().expect("it is open").engine.evicted > 0);
}

#[test]
fn options_that_do_not_fit_are_all_told() {
    let wrong = Options { is_durable: true, most_item: 32 << 20, ..Options::in_memory() };
    let Err(CannotOpen::Options(why)) = Store::open(wrong) else { panic!("it is in memory") };
    assert!(why.contains("durable") && why.contains("134217728"), "{why}");
    let Err(CannotOpen::Options(why)) = Store::open(Options::on_devices(Vec::new(), None)) else {
        panic!("it has no device")
    };
    assert!(why.contains("give one"), "{why}");
}

#[test]
fn a_store_is_found_again_and_nothing_else_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let store = Store::open(on_file(&path)).expect("it is made");
    for key in 0..500u32 {
        store.set(&key.to_le_bytes(), &[key as u8; 5000]).expect("it fits");
    }
    // Dropping a store closes it as well.
    drop(store);
    let store = Store::open(on_file(&path)).expect("it is there");
    for key in 0..500u32 {
        let found = store.get(&key.to_le_bytes()).expect("it can be read").expect("it is there");
        assert!(found.len() == 5000 && found.iter().all(|&byte| byte == key as u8));
    }
    assert!(matches!(Store::open(on_file(&path)), Err(CannotOpen::Drive(_))), "it is in use");
    store.close().expect("the file takes everything");

    let other = folder.path().join("other");
    std::fs::write(&other, vec![b'x'; 64 << 20]).expect("it can be written");
    let Err(why @ CannotOpen::NotEmpty(_)) = Store::open(on_file(&other)) else { panic!("it is no store") };
    assert!(why.to_string().contains("other") && why.to_string().contains("create"), "{why}");
    let made = Store::open(Options { create: true, ..on_file(&other) }).expect("it is to be overwritten");
    made.close().expect("the file takes everything");
}

/// A store over an array of emulated drives in this mode.
fn emulated(mode: EpochMode) -> Store {
    let mut options = Options::emulated(4, Some((LayoutKind::Epochs, 2)));
    if let Place::Emulated { array, .. } = &mut options.place {
        array.epoch.mode = mode;
    }
    Store::open(options).expect("they are emulated")
}

#[test]
fn the_drives_of_an_array_are_asked_and_steered() {
    let store = emulated(EpochMode::Epoch);
    store.set(b"k", b"v").expect("there is room");
    store.flush().expect("they take it");
    for drive in 0..4 {
        let Ok(ControlReply::Blocks(blocks)) = store.control(drive, Control::FreeBlocks) else {
            panic!("it has blocks")
        };
        assert!(blocks > 0);
        assert!(matches!(store.control(drive, Control::UserCapacity), Ok(ControlReply::Bytes(1..))));
        let until = store.now() + tailcut_base::Nanos::millis(1);
        assert_eq!(store.control(drive, Control::RunGc { until }), Ok(ControlReply::Done));
    }
    assert_eq!(store.control(4, Control::FreeBlocks), Err(Error::NoDrive(4)));
    assert!(store.status().expect("it is open").contains("condition optimal"));
    assert!(store.close().expect("they take everything").drive_bytes > 0);
}

#[test]
fn an_array_that_steers_its_drives_is_left_to_it() {
    let store = emulated(EpochMode::GcControl);
    assert!(matches!(store.control(0, Control::FreeBlocks), Ok(ControlReply::Blocks(_))));
    assert_eq!(store.control(0, Control::IsReadyForRead), Err(Error::Steered));
    assert_eq!(store.control(0, Control::ClearWindows), Err(Error::Steered));
}
