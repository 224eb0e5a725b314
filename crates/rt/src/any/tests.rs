//! Drives of every kind, and arrays of files.

use super::*;
use std::ops::Range;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Status};
use tailcut_host::array::{InPlaceChecksums, LayoutKind};
use tailcut_host::{Block, Mirror, Response};
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;

/// Builds an array of `members` members on these files.
fn build(members: u32, paths: &[PathBuf], making: ArrayMode) -> Result<AnyDrive, BuildError> {
    build_with(members, paths, making, InPlaceChecksums::Off)
}

fn build_with(
    members: u32,
    paths: &[PathBuf],
    making: ArrayMode,
    checksums: InPlaceChecksums,
) -> Result<AnyDrive, BuildError> {
    let mut device = Preset::G.config();
    device.geometry.blocks = 24;
    build_of(device, members, paths, making, checksums)
}

fn build_of(
    device: SsdConfig,
    members: u32,
    paths: &[PathBuf],
    making: ArrayMode,
    checksums: InPlaceChecksums,
) -> Result<AnyDrive, BuildError> {
    let precondition = Precondition { state: PreparedState::Empty, fill: 0 };
    let layout = LayoutKind::Raid5;
    let mut array = ArrayConfig { drives: members, layout, checksums, ..ArrayConfig::default() };
    (array.raid.chunk, array.raid.journal) = (8192, 40 * 4096);
    let files = FileOptions { is_hasty: true, ..FileOptions::default() };
    let plan = Plan {
        device: &device,
        precondition: &precondition,
        array: &array,
        seed: 1,
        paths,
        files,
        making,
        consent: Consent::Refuse,
        placement: Placement::Inline,
    };
    // Without checksums in the plan, the array may have them or not.
    let check = |made: &ArrayConfig| match checksums == InPlaceChecksums::On && made.checksums != checksums {
        true => Err("it has no checksums".into()),
        false => Ok(()),
    };
    plan.build(Clock::start(), check)
}

#[test]
fn without_files_drives_are_emulated() {
    assert!(matches!(build(0, &[], ArrayMode::Open), Ok(AnyDrive::Emulated(_))));
    let array = build(4, &[], ArrayMode::Open).expect("a new array");
    // The drives are smaller than their preset, and their name says so.
    let name = array.identify().model;
    let (start, capacity) = name.split_once(" (").expect("a capacity");
    assert!(start == "raid5 over 4 x g-1g" && capacity.ends_with("iB)"), "{name}");
}

#[test]
fn a_drive_of_several_reclaim_groups_is_not_served() {
    let mut device = Preset::Pm9a3.config();
    device.fdp.groups = 2;
    let refused = build_of(device, 0, &[], ArrayMode::Open, InPlaceChecksums::Off);
    let why = refused.err().map(|error| error.to_string()).expect("clients name no group");
    assert!(why.contains("device.fdp.groups") && why.contains("set groups = 1"), "{why}");
}

#[test]
fn an_array_on_files_is_made_once_and_opened_from_then_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> = (0..4).map(|number| folder.path().join(number.to_string())).collect();
    paths.iter().for_each(|path| FileDrive::create(path, 2000).expect("a file"));
    assert!(build(4, &paths, ArrayMode::Open).is_err());
    for making in [ArrayMode::OpenOrCreate, ArrayMode::OpenOrCreate, ArrayMode::Open] {
        assert!(matches!(build(4, &paths, making), Ok(AnyDrive::Array(..))));
    }
    let AnyDrive::Array(array, _) = build(4, &paths[1..], ArrayMode::Open).expect("one may be missing")
    else {
        panic!("it is an array")
    };
    assert!(array.member(0).is_none());
    let name = array.identify().model;
    let second = format!("raid5 over 4 drives: missing, {} (", paths[1].display());
    assert!(name.starts_with(&second), "{name}");
    drop(array);
    let taken = build(4, &paths, ArrayMode::Create);
    assert!(matches!(taken, Err(BuildError::Members { why: ArrayError::Taken { .. }, .. })));
}

/// Executes a request and returns its response.
fn ask(drive: &mut AnyDrive, clock: Clock, op: Op, blocks: Range<u64>, data: Vec<Bytes>) -> Response<Bytes> {
    let (id, class, mirror) = (1, Class::DEFAULT, Mirror::Any);
    let (block, blocks) = (blocks.start, (blocks.end - blocks.start) as u32);
    let fua = op == Op::Write;
    drive.submit(
        clock.now(),
        Request {
            id,
            op,
            fua,
            class,
            fail_fast: false,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        },
    );
    let mut answers = Answers::default();
    loop {
        drive.poll(clock.now(), &mut answers);
        if let Some(response) = answers.responses.pop() {
            return response;
        }
    }
}

/// Flips a bit of every block with host data in a file; these begin with a marker.
fn spoil(path: &Path) -> u64 {
    let mut bytes = std::fs::read(path).expect("the file is there");
    let blocks = bytes.chunks_exact_mut(4096).filter(|block| block.starts_with(SIGN));
    let spoilt = blocks.map(|block| block[4000] ^= 1).count() as u64;
    std::fs::write(path, bytes).expect("there is room");
    spoilt
}

const SIGN: &[u8] = b"a block of the host";

#[test]
fn a_wrong_byte_in_a_file_is_never_served() {
    let clock = Clock::start();
    for checksums in [InPlaceChecksums::On, InPlaceChecksums::Off] {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = (0..4).map(|number| folder.path().join(number.to_string())).collect();
        paths.iter().for_each(|path| FileDrive::create(path, 2000).expect("a file"));
        let mut drive = build_with(4, &paths, ArrayMode::Create, checksums).expect("a new array");
        let content = |block: u64| Bytes::encode(&[SIGN, &block.to_le_bytes()].concat());
        for first in (0..300).step_by(6) {
            let written = ask(
                &mut drive,
                clock,
                Op::Write,
                first..first + 6,
                (first..first + 6).map(content).collect(),
            );
            assert_eq!(written.status, Status::Success);
        }
        while !drive.come_to_rest(clock.now()) {
            drive.poll(clock.now(), &mut Answers::default());
        }
        drop(drive);
        assert!(spoil(&paths[1]) > 50);
        // The settings from its creation count.
        let mut drive = build(4, &paths, ArrayMode::Open).expect("the array");
        let mut wrong = 0;
        for block in 0..300 {
            let read = ask(&mut drive, clock, Op::Read, block..block + 1, Vec::new());
            assert_eq!(read.status, Status::Success);
            wrong += u64::from(!read.data[0].is_same(&content(block)));
        }
        assert_eq!(wrong > 0, checksums == InPlaceChecksums::Off, "{wrong} wrong blocks");
        drop(drive);
        let bytes = || paths.iter().map(|path| std::fs::read(path).expect("a file")).collect::<Vec<_>>();
        let before = bytes();
        let again = build_with(4, &paths, ArrayMode::Open, InPlaceChecksums::On);
        match checksums {
            InPlaceChecksums::On => assert!(again.is_ok()),
            InPlaceChecksums::Off => {
                assert_eq!(again.expect_err("it has none").to_string(), "it has no checksums");
                assert!(bytes() == before, "an array that is not opened is not written");
            }
        }
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    let paths = vec![PathBuf::from("a"), PathBuf::from("b")];
    let why = build(0, &paths, ArrayMode::Open).expect_err("two files and no array").to_string();
    assert!(why.contains("array.drives is 0: set it to 2"), "{why}");
    let why = build(4, &paths, ArrayMode::Create).expect_err("two files for four").to_string();
    assert!(why.contains("2 files are given for an array of 4"), "{why}");
}
