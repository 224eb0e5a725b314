//! Opening disks that hold a store or other data.

use super::disk::TestDisk;
use super::harness::{open, settings};
use tailcut_host::kv::log::format::NotOurs;
use tailcut_host::kv::{CannotOpen, Keep, OpenMode, Opening, Settings};

const NEW: OpenMode = OpenMode::Create { store: 7, seed: 9 };

#[test]
fn what_is_not_ours_is_not_written() {
    let mut disk = TestDisk::new(16 * 20, false, 1);
    let settings = settings(Keep::Everything);
    assert_eq!(open(settings, &mut disk, OpenMode::Open).err(), Some(NotOurs::Foreign.into()));
    assert!(disk.read(0).is_hole() && disk.read(1).is_hole());
    open(settings, &mut disk, NEW).expect("a new store");
    assert_eq!(open(settings, &mut disk, NEW).err(), Some(CannotOpen::Taken));
    disk.shape.blocks = 16 * 10;
    let larger = NotOurs::Larger { store: 16 * 20, disk: 16 * 10 };
    assert_eq!(open(settings, &mut disk, OpenMode::Open).err(), Some(larger.into()));
    // Both superblocks are of an unsupported version.
    disk.shape.blocks = 16 * 20;
    open(settings, &mut disk, OpenMode::Open).expect("it is ours");
    (0..2).for_each(|block| disk.flip(block, 8));
    assert_eq!(open(settings, &mut disk, OpenMode::Open).err(), Some(NotOurs::Older(4).into()));
}

#[test]
fn a_disk_that_is_too_small_is_refused() {
    let mut disk = TestDisk::new(16 * 5, false, 1);
    let error = open(settings(Keep::Everything), &mut disk, NEW).expect_err("too small").to_string();
    assert_eq!(error, "768 KiB are needed on flash, and there are 320 KiB");
    assert!(disk.read(0).is_hole());
}

#[test]
fn one_superblock_is_enough() {
    let mut disk = TestDisk::new(16 * 20, false, 1);
    let settings = settings(Keep::Everything);
    open(settings, &mut disk, NEW).expect("a new store");
    open(settings, &mut disk, OpenMode::Open).expect("it is there");
    for block in 0..2 {
        disk.flip(block, 100);
        open(settings, &mut disk, OpenMode::Open).expect("bytes behind it are none of it");
        disk.flip(block, 20);
        open(settings, &mut disk, OpenMode::Open).expect("the other one is good");
    }
}

#[test]
fn progress_counts_segments_up_to_all_of_them() {
    let mut disk = TestDisk::new(16 * 20, false, 1);
    let settings = settings(Keep::Everything);
    open(settings, &mut disk, NEW).expect("a new store");
    let mut opening = Opening::new(settings, disk.shape.clone(), OpenMode::Open);
    let mut seen = vec![opening.progress()];
    while !opening.is_done() {
        while let Some(request) = opening.next_request() {
            disk.submit(request);
        }
        opening.respond(disk.answer().expect("something is under way"));
        seen.push(opening.progress());
    }
    assert!(seen.is_sorted() && seen[0].1 == 0, "{seen:?}");
    let (looked_at, all) = seen[seen.len() - 1];
    assert_eq!((looked_at, all), (20, 20));
}

/// The index has partitions for the largest number of items that fit on the disk.
#[test]
fn the_index_grows_with_the_disk() {
    let bytes = |blocks| {
        let mut disk = TestDisk::new(blocks, false, 1);
        open(settings(Keep::Everything), &mut disk, NEW).expect("a new store").index_bytes()
    };
    let (small, large) = (bytes(16 * 200), bytes(16 * 3200));
    assert_eq!(large, 16 * small, "16 times the disk");
}

/// A store evicts nothing. A cache that is opened in its place by mistake would evict its items.
#[test]
fn a_store_is_not_opened_as_a_cache_without_consent() {
    let mut disk = TestDisk::new(16 * 20, false, 1);
    open(settings(Keep::Everything), &mut disk, NEW).expect("a new store");
    let cache = settings(Keep::WhatIsUsed);
    assert_eq!(open(cache, &mut disk, OpenMode::Open).err(), Some(CannotOpen::KeepsAll));
    open(settings(Keep::Everything), &mut disk, OpenMode::Open).expect("it is as it was");
    let consents = Settings { may_evict_store: true, ..cache };
    open(consents, &mut disk, OpenMode::Open).expect("it may become a cache");
    open(cache, &mut disk, OpenMode::Open).expect("it is a cache now");
    open(settings(Keep::Everything), &mut disk, OpenMode::Open).expect("nothing is evicted from now on");
    assert_eq!(open(cache, &mut disk, OpenMode::Open).err(), Some(CannotOpen::KeepsAll));
}
