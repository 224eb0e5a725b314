//! What the first seeds of each subject do, down to each command: a change of behaviour under load and faults
//! shows here even if it breaks no promise, and has to be meant. `TAILCUT_BLESS=1` accepts it.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tailcut_base::digest::Digest;
use tailcut_torture::{attempt, seeds};

/// Subjects, and how many seeds of each.
const SUBJECTS: [(&str, u64); 14] = [
    ("raid0", 30),
    ("raid4", 30),
    ("raid5", 30),
    ("log-raid0", 30),
    ("log-raid4", 30),
    ("log-raid5", 30),
    ("swan0", 30),
    ("swan4", 30),
    ("swan5", 30),
    ("epochs", 60),
    ("kv", 40),
    ("kv-damage", 40),
    ("block", 60),
    ("ssd", 60),
];

const RECORDED: &str = include_str!("digests.txt");

fn digest_of(subject: &str, count: u64) -> u64 {
    let target = seeds::target(subject).expect("it is there");
    let mut all = Digest::new();
    for seed in 1..=count {
        let outcome = attempt(&target.plan(seed), None);
        assert!(outcome.wrong.is_none(), "{subject}, seed {seed}: {:?}", outcome.wrong);
        all.add(outcome.digest);
    }
    all.value()
}

#[test]
fn the_first_seeds_do_what_they_did() {
    let (next, digests) = (AtomicUsize::new(0), Mutex::new([0; SUBJECTS.len()]));
    std::thread::scope(|scope| {
        let work = || {
            while let Some(&(subject, count)) = SUBJECTS.get(next.fetch_add(1, Relaxed)) {
                let digest = digest_of(subject, count);
                let at = SUBJECTS.iter().position(|&(name, _)| name == subject).expect("it is one of them");
                digests.lock().unwrap_or_else(PoisonError::into_inner)[at] = digest;
            }
        };
        (0..2).for_each(|_| drop(scope.spawn(work)));
    });
    let mut now = String::new();
    for ((subject, count), digest) in SUBJECTS.iter().zip(digests.into_inner().expect("no thread panicked")) {
        writeln!(now, "{subject} {count} {digest:016x}").expect("memory takes all");
    }
    if std::env::var_os("TAILCUT_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");
        std::fs::write(path, &now).expect("the folder can be written");
        return;
    }
    let changed: Vec<_> = now.lines().zip(RECORDED.lines()).filter(|(now, then)| now != then).collect();
    assert!(now == RECORDED, "changed (now, recorded): {changed:?}; TAILCUT_BLESS=1 accepts it");
}
