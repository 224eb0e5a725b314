use super::*;
use std::fs::File;
use std::path::PathBuf;
use tailcut_base::Class;
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_host::{Block, Mirror};
use tempfile::TempDir;

/// A file of some blocks in its own folder, which is removed when the test ends.
fn file(blocks: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("drive");
    FileDrive::create(&path, blocks).expect("it is made");
    (folder, path)
}

/// With io_uring, where this machine allows it, and without.
const WAYS: [FileOptions; 2] = [
    FileOptions {
        is_read_only: false,
        is_exclusive: false,
        without_uring: false,
        is_hasty: true,
        depth: None,
    },
    FileOptions {
        is_read_only: false,
        is_exclusive: false,
        without_uring: true,
        is_hasty: true,
        depth: None,
    },
];

fn request(id: u32, op: Op, block: u64, blocks: u32, data: Vec<Bytes>) -> Request<Bytes> {
    Request {
        id,
        op,
        fua: false,
        class: Class::DEFAULT,
        fail_fast: false,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block,
        blocks,
        data,
    }
}

fn content(number: u64) -> Bytes {
    Bytes::encode(&number.to_le_bytes())
}

/// Waits for completions, as a server does.
fn wait(drive: &mut impl Drive, answers: &mut Answers) {
    drive.poll(Time::ZERO, answers);
    if answers.responses.is_empty() && drive.arm() {
        let wakes = drive.wakes().expect("something wakes");
        let mut descriptors = [rustix::event::PollFd::new(&wakes, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut descriptors, None).expect("it wakes");
    }
}

/// Waits for completions in addition to those in `answers`.
fn wait_for_more(drive: &mut impl Drive, answers: &mut Answers) {
    let mut more = Answers::default();
    wait(drive, &mut more);
    answers.responses.append(&mut more.responses);
}

fn ask(drive: &mut impl Drive, asked: Request<Bytes>) -> Response<Bytes> {
    drive.submit(Time::ZERO, asked);
    let mut answers = Answers::default();
    while answers.responses.is_empty() {
        wait(drive, &mut answers);
    }
    assert_eq!(answers.responses.len(), 1);
    answers.responses.remove(0)
}

#[test]
fn it_holds_what_is_written_and_says_so_after_a_restart() {
    for options in WAYS {
        let (_folder, path) = file(300);
        let mut drive = FileDrive::open(&path, options).expect("it is a file");
        let (mut model, mut random) = (vec![Bytes::ZEROS; 300], Stream::new(1, "file"));
        let mut expected: Vec<Option<Vec<Bytes>>> = vec![None; DEPTH as usize];
        let mut free: Vec<u32> = (0..u32::from(DEPTH)).collect();
        let (mut step, mut answers) = (0, Answers::default());
        while step < 3000 || free.len() < DEPTH as usize {
            if step < 3000
                && let Some(id) = free.pop()
            {
                // Few enough blocks for requests to overlap.
                let (block, count) = (random.below(280), 1 + random.below(20) as usize);
                let range = block as usize..block as usize + count;
                let (op, data) = match random.below(6) {
                    0..3 => (Op::Read, Vec::new()),
                    3..5 => (Op::Write, vec![content(step + 1); count]),
                    _ => (Op::Trim, Vec::new()),
                };
                let mut returned = Vec::new();
                match op {
                    Op::Read => returned = model[range].to_vec(),
                    Op::Write => model[range].clone_from_slice(&data),
                    _ => model[range].fill(Bytes::ZEROS),
                }
                expected[id as usize] = Some(returned);
                let fua = random.below(8) == 0;
                drive.submit(Time::ZERO, Request { fua, ..request(id, op, block, count as u32, data) });
                step += 1;
                continue;
            }
            wait(&mut drive, &mut answers);
            for response in answers.responses.drain(..) {
                let expected = expected[response.id as usize].take();
                assert_eq!(
                    (response.status, Some(response.data)),
                    (Status::Success, expected),
                    "{}",
                    drive.identify().model
                );
                free.push(response.id);
            }
        }
        assert_eq!(ask(&mut drive, request(0, Op::Flush, 0, 0, Vec::new())).status, Status::Success);
        drop(drive);
        let mut drive = FileDrive::open(&path, options).expect("it is a file");
        for (block, expected) in model.iter().enumerate() {
            let read = ask(&mut drive, request(0, Op::Read, block as u64, 1, Vec::new()));
            assert_eq!(read.data, std::slice::from_ref(expected));
        }
    }
}

#[test]
fn trims_give_room_back_and_read_as_zeros() {
    for (punches, options) in [true, false].into_iter().flat_map(|punches| WAYS.map(|way| (punches, way))) {
        let (_folder, path) = file(200);
        let mut drive = FileDrive::open(&path, options).expect("it is a file");
        drive.inner_mut().target.punches &= punches;
        for first in (0..192).step_by(32) {
            ask(&mut drive, request(1, Op::Write, first, 32, vec![content(first + 1); 32]));
        }
        assert!(drive.extent(0, 200).is_allocated);
        assert_eq!(ask(&mut drive, request(1, Op::Trim, 10, 100, Vec::new())).status, Status::Success);
        for (block, is_zero) in [(9, false), (10, true), (70, true), (109, true), (110, false)] {
            let read = ask(&mut drive, request(1, Op::Read, block, 1, Vec::new()));
            assert_eq!(read.data == [Bytes::ZEROS], is_zero, "block {block}");
        }
        if drive.inner().target.punches && !drive.extent(10, 100).is_allocated {
            assert_eq!(drive.extent(0, 200), Extent { blocks: 10, is_allocated: true, is_zero: false });
            assert_eq!(drive.extent(10, 190), Extent { blocks: 100, is_allocated: false, is_zero: true });
        }
    }
}

/// A drive on a file of 32 MiB, with a trim of all of it and, behind that, a read of its first block in
/// flight. The trim takes at least four pieces.
fn trimming(options: FileOptions, punches: bool) -> (TempDir, FileDrive) {
    let (folder, path) = file(8192);
    let mut drive = FileDrive::open(&path, options).expect("it is a file");
    drive.inner_mut().target.punches &= punches;
    drive.inner_mut().piece_size = PieceSize::new();
    drive.submit(Time::ZERO, request(1, Op::Trim, 0, 8192, Vec::new()));
    drive.submit(Time::ZERO, request(2, Op::Read, 0, 1, Vec::new()));
    assert_eq!(drive.inner().waiting.len(), 1, "it waits for the trim");
    (folder, drive)
}

#[test]
fn reads_of_what_is_trimmed_already_do_not_wait_for_the_rest() {
    for (punches, options) in [true, false].into_iter().flat_map(|punches| WAYS.map(|way| (punches, way))) {
        let (_folder, mut drive) = trimming(options, punches);
        let mut answers = Answers::default();
        while !drive.inner().waiting.is_empty() {
            wait(&mut drive, &mut answers);
        }
        let is_trim = |flight: &&Flight| flight.op == Op::Trim;
        let trim =
            drive.inner().flights.iter().map(|(_, flight)| flight).find(is_trim).expect("it has pieces left");
        assert!(trim.blocks.start > 0 && trim.blocks.end == 8192, "{trim:?}");
        while answers.responses.len() < 2 {
            wait(&mut drive, &mut answers);
        }
        assert!(answers.responses.iter().all(|response| response.status == Status::Success));
    }
}

#[test]
fn trims_take_turns_piece_by_piece() {
    for options in WAYS {
        let (_folder, mut drive) = trimming(options, true);
        if !drive.inner().target.punches {
            continue;
        }
        let second = request(3, Op::Trim, 8180, 10, Vec::new());
        let third = request(4, Op::Trim, 100, 1, Vec::new());
        drive.submit(Time::ZERO, second);
        drive.submit(Time::ZERO, third);
        assert_eq!(drive.inner().trims.len(), 0, "those that overlap wait for the first one");
        let mut answers = Answers::default();
        while answers.responses.len() < 4 {
            wait(&mut drive, &mut answers);
        }
        let order: Vec<u32> = answers.responses.iter().map(|response| response.id).collect();
        let place = |id: u32| order.iter().position(|&other| other == id);
        assert!(place(4) < place(1) && place(1) < place(3), "{order:?}");
    }
}

/// To repair what cannot be read would extend the file, and what lies between would read as zeros.
#[test]
fn a_file_that_has_shrunk_is_not_used_any_more() {
    for options in WAYS {
        let (_folder, path) = file(100);
        let mut drive = FileDrive::open(&path, options).expect("it is a file");
        File::options().write(true).open(&path).and_then(|file| file.set_len(50 * 4096)).expect("it shrinks");
        let read = |block, blocks| request(1, Op::Read, block, blocks, Vec::new());
        assert_eq!(ask(&mut drive, read(40, 10)).status, Status::Success);
        assert_eq!(drive.failure(), None);
        assert_eq!(ask(&mut drive, read(40, 20)).status, Status::Gone);
        let write = request(1, Op::Write, 99, 1, vec![content(1)]);
        for later in [read(40, 10), write, request(1, Op::Flush, 0, 0, Vec::new())] {
            assert_eq!(ask(&mut drive, later).status, Status::Gone);
        }
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 50 * 4096);
        assert!(
            drive.failure().is_some_and(|why| why.contains("shorter than when")),
            "{:?}",
            drive.failure()
        );
    }
}

#[test]
fn what_is_read_only_takes_no_writes() {
    let (_folder, path) = file(10);
    let mut drive =
        FileDrive::open(&path, FileOptions { is_read_only: true, ..WAYS[0] }).expect("it is a file");
    for op in [Op::Write, Op::Trim] {
        let data = if op == Op::Write { vec![content(1)] } else { Vec::new() };
        assert_eq!(ask(&mut drive, request(1, op, 0, 1, data)).status, Status::WriteProtected);
    }
    assert_eq!(ask(&mut drive, request(1, Op::Read, 0, 1, Vec::new())).data, [Bytes::ZEROS]);
    assert_eq!(ask(&mut drive, request(1, Op::Flush, 0, 0, Vec::new())).status, Status::Success);
}

#[test]
fn a_file_has_one_user() {
    let (folder, path) = file(10);
    let first = FileDrive::open(&path, WAYS[0]).expect("it is free");
    let refused = FileDrive::open(&path, WAYS[0]).expect_err("it is taken");
    let told = refused.to_string();
    // Not everywhere does /proc/locks have the numbers of the file.
    let names_this = told.ends_with("is in use by this process already: take another file");
    let names_none = told.contains("is in use by another process, which has locked it: stop that one");
    assert!(names_this || names_none, "{told}");
    drop(first);
    FileDrive::open(&path, WAYS[0]).expect("it is free again");
    let opened = FileDrive::open(folder.path(), FileOptions { is_read_only: true, ..WAYS[1] });
    assert!(matches!(opened, Err(FileError::Kind { .. })), "{opened:?}");
}

#[test]
fn a_file_without_a_block_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("small");
    std::fs::write(&path, b"not much").expect("it is made");
    let refused = FileDrive::open(&path, WAYS[0]).expect_err("it is too small");
    assert!(
        refused.to_string().contains("has 8 bytes") && refused.to_string().contains("truncate"),
        "{refused}"
    );
}

#[test]
fn it_says_how_it_reads_and_writes() {
    let (_folder, path) = file(10);
    let drive = FileDrive::open(
        &path,
        FileOptions {
            is_read_only: false,
            is_exclusive: false,
            without_uring: true,
            is_hasty: true,
            depth: None,
        },
    )
    .expect("a file");
    assert!(
        drive.identify().model.contains("8 threads: io_uring is switched off"),
        "{}",
        drive.identify().model
    );
}

#[test]
fn it_takes_as_many_requests_at_a_time_as_it_is_asked_to() {
    let (_folder, path) = file(40);
    for options in WAYS {
        let mut drive = FileDrive::open(&path, FileOptions { depth: Some(200), ..options }).expect("a file");
        assert_eq!(drive.disk().depth, 200);
        (0..200).for_each(|id| {
            drive.submit(Time::ZERO, request(id, Op::Read, u64::from(id) % 40, 1, Vec::new()))
        });
        let mut answers = Answers::default();
        let mut responses = Vec::new();
        while responses.len() < 200 {
            wait(&mut drive, &mut answers);
            responses.append(&mut answers.responses);
        }
        assert!(responses.iter().all(|response| response.status == Status::Success));
    }
}

/// A device that is always full, in place of a full file system.
#[test]
fn a_full_file_system_takes_no_writes() {
    for options in WAYS {
        let file =
            std::sync::Arc::new(File::options().read(true).write(true).open("/dev/full").expect("a device"));
        let target = Target { file, blocks: 10, is_file: false, is_direct: false, punches: false };
        let mut drive = SystemFile::over(target, "/dev/full", options).expect("it is open");
        for op in [Op::Write, Op::Trim] {
            let data = if op == Op::Write { vec![content(1)] } else { Vec::new() };
            let response = ask(&mut drive, request(1, op, 0, 1, data.clone()));
            assert_eq!((response.status, response.data), (Status::NoSpace, data));
        }
        // Neither has a durable write lost anything that was written before it.
        let mut drive = FailStop::behind_a_cache(drive);
        let write = Request { fua: true, ..request(2, Op::Write, 0, 1, vec![content(1)]) };
        assert_eq!(ask(&mut drive, write).status, Status::NoSpace);
        assert_eq!(drive.failure(), None);
    }
}

/// A device without support for flush, in place of one whose flush fails.
#[test]
fn a_failed_flush_is_the_last_and_reads_go_on() {
    for options in WAYS {
        let file =
            std::sync::Arc::new(File::options().read(true).write(true).open("/dev/zero").expect("a device"));
        let target = Target { file, blocks: 10, is_file: false, is_direct: false, punches: false };
        let file = SystemFile::over(target, "/dev/zero", options).expect("it is open");
        let mut drive = FailStop::behind_a_cache(file);
        let write = |id| request(id, Op::Write, 0, 1, vec![content(1)]);
        assert_eq!(ask(&mut drive, write(1)).status, Status::Success);
        assert_ne!(ask(&mut drive, request(2, Op::Flush, 0, 0, Vec::new())).status, Status::Success);
        assert_eq!(ask(&mut drive, write(3)).status, Status::MediaError);
        assert_eq!(ask(&mut drive, request(4, Op::Flush, 0, 0, Vec::new())).status, Status::MediaError);
        assert_eq!(ask(&mut drive, request(5, Op::Read, 0, 1, Vec::new())).status, Status::Success);
        assert!(drive.failure().is_some_and(|why| why.starts_with("/dev/zero")), "{:?}", drive.failure());
    }
}

/// Before a shutdown: only the piece in progress is completed.
#[test]
fn abandoned_trims_keep_the_rest_of_their_blocks() {
    for options in WAYS {
        let (_folder, path) = file(100_000);
        let mut drive = FileDrive::open(&path, options).expect("it is a file");
        let last = [9_999, 19_999, 29_999];
        for block in last {
            let write = request(0, Op::Write, block, 1, vec![content(block)]);
            assert_eq!(ask(&mut drive, write).status, Status::Success);
        }
        for (id, block) in [(1, 0), (2, 10_000), (3, 20_000)] {
            drive.submit(Time::ZERO, request(id, Op::Trim, block, 10_000, Vec::new()));
        }
        // It waits for the last trim, and a trim for it.
        drive.submit(Time::ZERO, request(4, Op::Read, 29_999, 1, Vec::new()));
        drive.submit(Time::ZERO, request(5, Op::Trim, 29_999, 1, Vec::new()));
        drive.abandon_trims();
        let mut answers = Answers::default();
        while answers.responses.len() < 5 {
            wait_for_more(&mut drive, &mut answers);
        }
        answers.responses.sort_by_key(|response| response.id);
        let statuses: Vec<Status> = answers.responses.iter().map(|response| response.status).collect();
        assert_eq!(statuses, [Status::Gone, Status::Gone, Status::Gone, Status::Success, Status::Gone]);
        assert_eq!(answers.responses[3].data, [content(29_999)]);
        for block in last {
            let read = ask(&mut drive, request(0, Op::Read, block, 1, Vec::new()));
            assert_eq!(read.data, [content(block)], "{}", drive.identify().model);
        }
        assert_eq!(drive.inner().changes, 0);
    }
}
