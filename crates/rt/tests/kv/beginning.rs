//! Stores are opened, created, or left unchanged.

use crate::kv::faulty::Failing;
use crate::kv::{SMALL, memory_drive};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Time};
use tailcut_host::kv::CannotOpen;
use tailcut_host::kv::log::SegmentId;
use tailcut_host::kv::log::format::{End, EndOf, Head};
use tailcut_host::{Block, Bytes, Mirror, Request};
use tailcut_rt::kv::StoreMode;
use tailcut_rt::kv::finding::{CannotFind, find, find_whole};
use tailcut_rt::{Answers, Clock, Drive, MemoryDrive};

fn attempt(drive: &mut MemoryDrive, making: StoreMode) -> Result<(), CannotFind> {
    attempt_parts(drive, making, 1).map(|_| ())
}

fn write(drive: &mut MemoryDrive, block: u64, data: Vec<Bytes>) {
    let (class, fua, fail_fast, blocks) = (Class::DEFAULT, false, false, data.len() as u32);
    drive.submit(
        Time::ZERO,
        Request {
            id: 0,
            op: Op::Write,
            fua,
            class,
            fail_fast,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        },
    );
    drive.poll(Time::ZERO, &mut Answers::default());
}

fn read(drive: &mut MemoryDrive, block: u64, blocks: u32) -> Vec<Bytes> {
    let (class, fua, fail_fast, data) = (Class::DEFAULT, false, false, Vec::new());
    drive.submit(
        Time::ZERO,
        Request {
            id: 0,
            op: Op::Read,
            fua,
            class,
            fail_fast,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        },
    );
    let mut answers = Answers::default();
    drive.poll(Time::ZERO, &mut answers);
    answers.responses.remove(0).data
}

/// Opens or creates a store; returns its number of parts.
fn attempt_parts<D: Drive>(drive: &mut D, making: StoreMode, parts: u32) -> Result<usize, CannotFind> {
    find(drive, |_| SMALL, (making, parts), &mut Clock::start(), |_, _| {}).map(|engines| engines.len())
}

#[test]
fn a_store_has_the_parts_that_it_was_made_with() {
    let mut drive = memory_drive();
    assert_eq!(attempt_parts(&mut drive, StoreMode::OpenOrCreate, 4).expect("a new one"), 4);
    assert_eq!(attempt_parts(&mut drive, StoreMode::OpenOrCreate, 1).expect("the same"), 4);
    let taken = attempt_parts(&mut drive, StoreMode::Create, 2);
    assert!(matches!(taken, Err(CannotFind::Open(CannotOpen::Taken))), "{taken:?}");
}

#[test]
fn who_wants_it_whole_is_told_of_parts() {
    let mut drive = memory_drive();
    attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("a new one");
    let before = read(&mut drive, 0, 2);
    let whole = find_whole(&mut drive, SMALL, StoreMode::OpenOrCreate, &mut Clock::start(), |_, _| {});
    assert!(matches!(whole, Err(CannotFind::InParts(2))), "{whole:?}");
    assert!(read(&mut drive, 0, 2) == before, "nothing was written");
}

#[test]
fn a_store_that_was_not_made_to_the_end_is_made_again() {
    let mut drive = memory_drive();
    attempt_parts(&mut drive, StoreMode::OpenOrCreate, 3).expect("a new one");
    write(&mut drive, 0, vec![Bytes::ZEROS, Bytes::ZEROS]);
    assert_eq!(attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("a new one"), 2);
    assert_eq!(attempt_parts(&mut drive, StoreMode::OpenOrCreate, 3).expect("the same"), 2);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let mut drive = memory_drive();
    attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("a new one");
    let (first, disk) = (read(&mut drive, 0, 2), drive.disk());
    write(&mut drive, disk.blocks / 2, first);
    let why = attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2)
        .expect_err("the second part is the first")
        .to_string();
    assert!(why.contains("part 1 of 2") && why.contains("part 2 of 2"), "{why}");
}

#[test]
fn an_empty_drive_gets_a_store_that_is_found_from_then_on() {
    let mut drive = memory_drive();
    attempt(&mut drive, StoreMode::OpenOrCreate).expect("a new one");
    attempt(&mut drive, StoreMode::OpenOrCreate).expect("the same");
    let taken = attempt(&mut drive, StoreMode::Create);
    assert!(matches!(taken, Err(CannotFind::Open(CannotOpen::Taken))), "{taken:?}");
}

/// Zeros at the start of a drive do not make it blank.
#[test]
fn a_store_without_superblocks_is_not_taken_for_a_blank_drive() {
    for number in [1, 2, 3] {
        let mut drive = memory_drive();
        let number = SegmentId::new(number);
        let end = End::Head(Head { sequence: 1, durable: 0, is_cut: false });
        let head = end.encode(EndOf { store: 7, number });
        write(&mut drive, number.first_block(SMALL.segment_blocks), vec![Bytes::encode(&head)]);
        let refused = attempt(&mut drive, StoreMode::OpenOrCreate);
        assert!(matches!(refused, Err(CannotFind::NoSuperblocks(_))), "{refused:?}");
        assert!(drive.extent(0, 2).is_zero, "nothing was written");
        attempt(&mut drive, StoreMode::Create).expect("a new one");
    }
    let mut drive = memory_drive();
    // A file system that reserves the first 64 KiB, such as btrfs.
    write(&mut drive, 16, vec![Bytes::encode(b"_BHRfS_M")]);
    let refused = attempt(&mut drive, StoreMode::OpenOrCreate);
    assert!(matches!(refused, Err(CannotFind::NotEmpty)), "{refused:?}");
}

#[test]
fn what_is_something_else_is_left_alone_unless_somebody_says_so() {
    let mut drive = memory_drive();
    write(&mut drive, 1, vec![Bytes::encode(b"photographs")]);
    let refused = attempt(&mut drive, StoreMode::OpenOrCreate);
    assert!(matches!(refused, Err(CannotFind::NotEmpty)), "{refused:?}");
    assert!(drive.extent(0, 2).is_zero && !drive.extent(1, 1).is_zero, "nothing was written");
    attempt(&mut drive, StoreMode::Create).expect("a new one");
}

#[test]
fn a_drive_that_is_too_small_is_told() {
    let refused = attempt(&mut MemoryDrive::new(100, 16), StoreMode::OpenOrCreate);
    let why = refused.expect_err("twelve segments have no room").to_string();
    assert!(why.contains("KiB are needed"), "{why}");
    attempt(&mut MemoryDrive::new(12 * 32, 16), StoreMode::OpenOrCreate).expect("small segments");
}

/// Copies the content of a drive to one of another size.
fn moved(drive: &mut MemoryDrive, blocks: u64) -> MemoryDrive {
    let mut to = MemoryDrive::new(blocks, 64);
    for block in 0..blocks.min(drive.disk().blocks) {
        let data = read(drive, block, 1);
        if data.iter().any(|bytes| !bytes.is_hole()) {
            write(&mut to, block, data);
        }
    }
    to
}

#[test]
fn a_store_in_parts_is_where_it_was_when_its_drive_has_grown_and_refused_when_it_has_shrunk() {
    let mut drive = memory_drive();
    attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("a new one");
    let blocks = drive.disk().blocks;
    let mut grown = moved(&mut drive, blocks + 11 * 1024);
    assert_eq!(attempt_parts(&mut grown, StoreMode::OpenOrCreate, 2).expect("the same"), 2);
    let mut shrunk = moved(&mut drive, blocks - 1);
    let why = attempt_parts(&mut shrunk, StoreMode::OpenOrCreate, 2).expect_err("it has shrunk").to_string();
    let sizes = "a disk of at least 24576 blocks (96 MiB), and this one has only 24575 (95 MiB)";
    assert!(why.contains(sizes), "{why}");
}

#[test]
fn one_superblock_that_can_be_read_is_enough() {
    for block in 0..2 {
        let mut drive = memory_drive();
        // The second superblock is written when the store is opened again.
        attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("a new one");
        attempt_parts(&mut drive, StoreMode::OpenOrCreate, 2).expect("the same");
        let reads_it = move |request: &Request<Bytes>| {
            let blocks = request.block..request.block + u64::from(request.blocks);
            request.op == Op::Read && blocks.contains(&block)
        };
        let mut drive = Failing::new(drive, reads_it);
        assert_eq!(attempt_parts(&mut drive, StoreMode::OpenOrCreate, 1).expect("the same"), 2);
        // Without a readable superblock, the drive may hold a store.
        drive.drive = memory_drive();
        let refused = attempt_parts(&mut drive, StoreMode::OpenOrCreate, 1);
        assert!(matches!(refused, Err(CannotFind::Open(CannotOpen::Disk(at))) if at == block), "{refused:?}");
    }
}
