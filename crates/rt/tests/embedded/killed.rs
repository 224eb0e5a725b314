//! A durable store whose process is killed while it writes: all completed writes survive.

use super::{on_file, value};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tailcut_rt::embedded::{Operation, Options, Store, Wait};

/// Environment variable with the path of the child's store and the number of its first write.
const TASK: &str = "TAILCUT_EMBEDDED_TASK";
/// Keys that are overwritten in turn.
const KEYS: u64 = 97;
/// Writes in flight; they never include two writes of one key.
const ROOM: u64 = 16;

fn options(path: PathBuf) -> Options {
    Options { is_durable: true, ..on_file(&path) }
}

/// The child: writes until it is killed, and reports completed writes. Does nothing when run on its own.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (first, path) = task.split_once(' ').expect("two words");
    let first: u64 = first.parse().expect("a number");
    let store = Store::open(options(path.into())).expect("it is there");
    let queue = store.queue(ROOM as usize);
    let mut completions = Vec::new();
    for batch in first.. {
        for write in batch * ROOM..(batch + 1) * ROOM {
            let key = write % KEYS;
            let set = Operation::set(&key.to_le_bytes(), &value(key, write)).expect("it is a key");
            queue.submit(set, write).expect("there is room");
        }
        while queue.under_way() > 0 {
            queue.completions(&mut completions, Wait::ForOne);
        }
        for completion in completions.drain(..) {
            completion.result.expect("it is stored");
            println!("\nstored {}", completion.user_data);
        }
        std::io::stdout().flush().expect("somebody listens");
    }
}

/// Runs a child until it has reported `after` completed writes, and kills it. Returns the completed writes.
fn kill(task: &str, after: usize) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().expect("this program has a name"))
        .args(["embedded::killed::child", "--exact", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let stored = |line: String| line.strip_prefix("stored ")?.parse::<u64>().ok();
    let mut all: Vec<u64> = lines.by_ref().map_while(Result::ok).filter_map(stored).take(after).collect();
    child.kill().expect("it can be killed");
    // Reports made before the kill count as well.
    all.extend(lines.map_while(Result::ok).filter_map(stored));
    child.wait().expect("it ends");
    assert!(all.len() >= after, "it has stored so much");
    all
}

#[test]
fn what_was_completed_outlives_its_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    Store::open(options(path.clone())).expect("it is made").close().expect("the file takes it");
    let mut last = BTreeMap::new();
    for (round, after) in [40, 1, 170].into_iter().enumerate() {
        let first = round as u64 * 100_000;
        let stored = kill(&format!("{first} {}", path.display()), after);
        for write in stored {
            let newest = last.entry(write % KEYS).or_insert(write);
            *newest = write.max(*newest);
        }
        let store = Store::open(options(path.clone())).expect("it is found again");
        for (&key, &write) in &last {
            let found = store.get(&key.to_le_bytes()).expect("it can be read").expect("it was stored");
            let number = u64::from_le_bytes(found[8..16].try_into().expect("eight bytes"));
            // A write that was in flight may have been stored as well.
            assert!(number >= write && number % KEYS == key, "key {key}: write {number}, not {write}");
            assert_eq!(&*found, value(key, number));
        }
        store.close().expect("the file takes everything");
    }
}
