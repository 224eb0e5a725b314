//! Arrays over files whose process is killed while it writes: all flushed data survives.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::array::{ArrayConfig, Consent, LayoutKind};
use tailcut_host::{Block, Bytes, Mirror, Request};
use tailcut_rt::array::{ArrayError, Pace, ServedArray, create, open};
use tailcut_rt::file::{FileDrive, FileOptions};
use tailcut_rt::{Answers, Clock, Drive};

/// Blocks per drive.
const DRIVE: u64 = 2000;

/// Blocks of the array that are written.
const BLOCKS: u64 = 500;

/// Writes in flight; a flush follows every fourth batch.
const BATCH: u64 = 8;

/// Environment variable with the folder of the child's drives, the layout and the writes.
const TASK: &str = "TAILCUT_KILLED_TASK";

const LAYOUTS: [LayoutKind; 4] =
    [LayoutKind::Raid5, LayoutKind::LogRaid5, LayoutKind::Swan5, LayoutKind::Epochs];

fn config(layout: LayoutKind) -> ArrayConfig {
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    let drives = if layout.is_swan() { 6 } else { 4 };
    let mut config =
        ArrayConfig { drives, layout, groups, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.log.segment) = (8192, 40 * 4096, 16 * 4096);
    assert_eq!(config.problems(), []);
    config
}

fn drives(folder: &Path, layout: LayoutKind) -> Vec<FileDrive> {
    let path = |number: u32| folder.join(number.to_string());
    let open = |number| FileDrive::open(&path(number), FileOptions::default()).expect("it is a drive");
    (0..config(layout).drives).map(open).collect()
}

/// Block of the write with this number, from 1 on; no block is written twice in a batch.
fn place(seed: u64, write: u64) -> u64 {
    let batch = (write - 1) / BATCH;
    let first = Stream::new(seed ^ batch, "killed").below(BLOCKS);
    (first + (write - 1) % BATCH * 61) % BLOCKS
}

fn content(block: u64, write: u64) -> Bytes {
    let mut bytes = [0; 4096];
    bytes[..8].copy_from_slice(&block.to_le_bytes());
    bytes[8..16].copy_from_slice(&write.to_le_bytes());
    bytes[4088..].copy_from_slice(&write.to_le_bytes());
    Bytes::encode(&bytes)
}

/// The user of an array.
struct User {
    array: ServedArray<FileDrive>,
    clock: Clock,
}

impl User {
    /// Submits these requests and waits for all of them.
    fn ask(&mut self, requests: Vec<Request<Bytes>>) -> Vec<Vec<Bytes>> {
        let mut left = requests.len();
        let mut data = vec![Vec::new(); left];
        for request in requests {
            self.array.submit(self.clock.now(), request);
        }
        let mut answers = Answers::default();
        while left > 0 {
            self.array.poll(self.clock.now(), &mut answers);
            for response in answers.responses.drain(..) {
                assert_eq!(response.status, Status::Success);
                data[response.id as usize] = response.data;
                left -= 1;
            }
            if left > 0 {
                self.clock.advance(self.array.next_event().max(Time(1)));
            }
        }
        data
    }
}

fn request(id: u32, op: Op, block: u64, data: Vec<Bytes>) -> Request<Bytes> {
    let (class, fua, fail_fast) = (Class::DEFAULT, false, false);
    let blocks = u32::from(op != Op::Flush);
    Request {
        id,
        op,
        fua,
        class,
        fail_fast,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block,
        blocks,
        data,
    }
}

/// The child: writes until it is killed, and reports what is durable. Does nothing when run on its own.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut words = task.splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (layout, seed) = (LAYOUTS[number() as usize], number());
    let folder = PathBuf::from(words.next().expect("a folder"));
    let mut clock = Clock::start();
    let array = open(&config(layout), drives(&folder, layout), Consent::Refuse, |_| Ok(()), &mut clock)
        .expect("it is an array");
    let mut user = User { array, clock };
    for batch in 0.. {
        let writes = batch * BATCH + 1..=(batch + 1) * BATCH;
        let write = |(write, id): (u64, u32)| {
            let block = place(seed, write);
            request(id, Op::Write, block, vec![content(block, write)])
        };
        user.ask(writes.clone().zip(0..).map(write).collect());
        if batch % 4 == 3 {
            user.ask(vec![request(0, Op::Flush, 0, Vec::new())]);
            println!("\nflushed {}", writes.end());
            std::io::stdout().flush().expect("somebody listens");
        }
    }
}

/// Runs a child until it has flushed `flushes` times, and kills it. Returns the number of flushed writes.
fn kill(task: &str, flushes: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program has a name"))
        .args(["killed::child", "--exact", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let flushed = |line: std::io::Result<String>| line.ok()?.strip_prefix("flushed ")?.parse().ok();
    let last = lines.filter_map(flushed).nth(flushes);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    last.expect("it has flushed so often")
}

/// Checks that every block holds its last flushed write or a later one.
fn check(user: &mut User, seed: u64, flushed: u64, before: &mut [Bytes]) {
    for block in 0..BLOCKS {
        let found = user.ask(vec![request(0, Op::Read, block, Vec::new())]).remove(0).remove(0);
        let number = u64::from_le_bytes(found.as_slice()[8..16].try_into().expect("eight bytes"));
        let last = (1..=flushed).rev().find(|&write| place(seed, write) == block);
        let is_newer = number > flushed
            && place(seed, number) == block
            && found.as_slice() == content(block, number).as_slice();
        let kept = last.map_or_else(|| before[block as usize].clone(), |write| content(block, write));
        assert!(
            is_newer || found.as_slice() == kept.as_slice(),
            "block {block}: write {number}, not {last:?} of {flushed}"
        );
        before[block as usize] = found;
    }
}

fn survive(which: usize) {
    let layout = LAYOUTS[which];
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..config(layout).drives {
        FileDrive::create(&folder.path().join(number.to_string()), DRIVE).expect("a file");
    }
    let mut clock = Clock::start();
    drop(create(&config(layout), drives(folder.path(), layout), 7, &mut clock).expect("a new array"));
    let mut before = vec![Bytes::ZEROS; BLOCKS as usize];
    let mut random = Stream::new(5, "kills");
    for round in 0..4 {
        let seed = 1000 + round;
        let task = format!("{which} {seed} {}", folder.path().display());
        let flushed = kill(&task, random.below(12) as usize);
        let array: Result<_, ArrayError> =
            open(&config(layout), drives(folder.path(), layout), Consent::Refuse, |_| Ok(()), &mut clock);
        let mut user = User { array: array.expect("it is found again"), clock };
        check(&mut user, seed, flushed, &mut before);
    }
}

#[test]
fn raid5_survives_being_killed() {
    survive(0);
}

#[test]
fn log_raid5_survives_being_killed() {
    survive(1);
}

#[test]
fn swan5_survives_being_killed() {
    survive(2);
}

#[test]
fn epochs_survive_being_killed() {
    survive(3);
}
