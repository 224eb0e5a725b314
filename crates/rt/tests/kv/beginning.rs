//! Stores are found, made, or left alone.

use crate::{SMALL, memory_drive};
use tailcut_base::{Class, Op, Time};
use tailcut_host::kv::CannotOpen;
use tailcut_host::{Block, Bytes, Request};
use tailcut_rt::kv::Making;
use tailcut_rt::kv::finding::{CannotFind, find};
use tailcut_rt::{Answers, Clock, Drive, MemoryDrive};

fn attempt(drive: &mut MemoryDrive, making: Making) -> Result<(), CannotFind> {
    find(drive, SMALL, making, &mut Clock::start(), |_, _| {}).map(|_| ())
}

#[test]
fn an_empty_drive_gets_a_store_that_is_found_from_then_on() {
    let mut drive = memory_drive();
    attempt(&mut drive, Making::OpenOrCreate).expect("a new one");
    attempt(&mut drive, Making::OpenOrCreate).expect("the same");
    let taken = attempt(&mut drive, Making::Create);
    assert!(matches!(taken, Err(CannotFind::Open(CannotOpen::Taken))), "{taken:?}");
}

#[test]
fn what_is_something_else_is_left_alone_unless_somebody_says_so() {
    let mut drive = memory_drive();
    let (class, fua, fail_fast, data) = (Class::DEFAULT, false, false, vec![Bytes::encode(b"photographs")]);
    let write = Request { id: 0, op: Op::Write, fua, class, fail_fast, block: 1, blocks: 1, data };
    drive.submit(Time::ZERO, write);
    drive.poll(Time::ZERO, &mut Answers::default());
    let refused = attempt(&mut drive, Making::OpenOrCreate);
    assert!(matches!(refused, Err(CannotFind::NotEmpty)), "{refused:?}");
    assert!(drive.extent(0, 2).is_zero && !drive.extent(1, 1).is_zero, "nothing was written");
    attempt(&mut drive, Making::Create).expect("a new one");
}

#[test]
fn a_drive_that_is_too_small_is_told() {
    let refused = attempt(&mut MemoryDrive::new(100, 16), Making::OpenOrCreate);
    let why = refused.expect_err("twelve segments have no room").to_string();
    assert!(why.contains("KiB are needed"), "{why}");
    attempt(&mut MemoryDrive::new(12 * 32, 16), Making::OpenOrCreate).expect("small segments");
}
