//! Operations in flight, and their completions.

use super::deaf::{deaf, opened};
use super::{on_memory, value};
use crate::volatile::Volatile;
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tailcut_rt::FailStop;
use tailcut_rt::embedded::{Completion, Error, Operation, Outcome, Queue, Wait};

fn operation(kind: u8, key: u64) -> Operation {
    let name = key.to_le_bytes();
    match kind {
        0..4 => Operation::set(&name, &value(key, 0)),
        4..8 => Operation::get(&name),
        8 => Operation::delete(&name),
        9 => Ok(Operation::flush()),
        10 => Operation::touch(&name),
        // The engine rejects it, so one of the completions is an error.
        _ => Operation::set(&name, &vec![0; 1 << 16]),
    }
    .expect("it is a key")
}

/// Submits an operation; takes completions while the queue is full, as a caller would.
fn submit(queue: &Queue, mut operation: Operation, user_data: u64, completions: &mut Vec<Completion>) {
    while let Err(refused) = queue.submit(operation, user_data) {
        assert_eq!(refused.why, Error::Busy);
        operation = refused.operation;
        queue.completions(completions, Wait::ForOne);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_operation_completes_once(
        kinds in prop::collection::vec((0u8..12, 0u64..200), 1..600),
        room in 1usize..40,
        takers in 1usize..3,
    ) {
        let store = on_memory();
        let queue = store.queue(room);
        let (is_over, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut completions = Vec::new();
        std::thread::scope(|scope| {
            let take = || {
                let mut taken = Vec::new();
                while !is_over.load(Ordering::Acquire) || queue.under_way() > 0 {
                    let most = queue.take(&mut taken, 3, Wait::AtMost(Duration::from_millis(1)));
                    seen.fetch_add(most, Ordering::Relaxed);
                }
                taken
            };
            let others: Vec<_> = (1..takers).map(|_| scope.spawn(take)).collect();
            for (&(kind, key), user_data) in kinds.iter().zip(0..) {
                submit(&queue, operation(kind, key), user_data, &mut completions);
                assert!(queue.under_way() <= room);
            }
            is_over.store(true, Ordering::Release);
            while queue.under_way() > 0 {
                queue.completions(&mut completions, Wait::ForOne);
            }
            others.into_iter().for_each(|other| completions.extend(other.join().expect("it takes")));
        });
        let mut times = BTreeMap::new();
        for completion in &completions {
            *times.entry(completion.user_data).or_insert(0) += 1;
            let (kind, key) = kinds[completion.user_data as usize];
            match completion.result {
                Ok(Outcome::Found { .. }) => prop_assert_eq!(completion.value(), value(key, 0)),
                Err(why) => prop_assert!(kind == 11 && matches!(why, Error::TooLarge { .. }), "{why}"),
                Ok(_) => prop_assert!(kind < 11),
            }
        }
        prop_assert_eq!(times.len(), kinds.len());
        prop_assert!(times.values().all(|&count| count == 1));
    }
}

#[test]
fn a_full_queue_says_busy_and_gives_the_operation_back() {
    let store = on_memory();
    let queue = store.queue(3);
    let get = || Operation::get(b"some key").expect("it is a key");
    (0..3).for_each(|number| queue.submit(get(), number).expect("there is room"));
    let refused = queue.submit(get(), 3).expect_err("there is none");
    assert_eq!((refused.why, refused.operation.key()), (Error::Busy, &b"some key"[..]));
    assert_eq!((queue.under_way(), queue.room()), (3, 3));
    let mut completions = Vec::new();
    assert_eq!(queue.take(&mut completions, 1, Wait::ForOne), 1);
    queue.submit(refused.operation, 3).expect("there is room again");
    // Other queues have their own room.
    store.queue(1).submit(get(), 0).expect("there is room");
    while queue.under_way() > 0 {
        queue.completions(&mut completions, Wait::ForOne);
    }
    assert_eq!(completions.iter().map(|completion| completion.user_data).sum::<u64>(), 6);
}

#[test]
fn nobody_waits_where_nothing_is_under_way() {
    let store = on_memory();
    let queue = store.queue(1);
    assert_eq!(queue.completions(&mut Vec::new(), Wait::ForOne), 0);
    assert_eq!(queue.completions(&mut Vec::new(), Wait::Not), 0);
}

#[test]
fn a_descriptor_is_readable_as_long_as_there_are_completions() {
    let store = on_memory();
    let queue = store.queue(4);
    let get = || Operation::get(b"key").expect("it is a key");
    queue.submit(get(), 0).expect("there is room");
    let is_readable = |millis: i64| {
        let wakes = queue.wakes().expect("there is a descriptor");
        let time = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        poll(&mut [PollFd::from_borrowed_fd(wakes, PollFlags::IN)], Some(&time)).expect("it can be asked") > 0
    };
    let mut completions = Vec::new();
    for round in 1..4 {
        // The descriptor becomes readable whenever the operation was submitted, and stays so until all
        // completions are taken.
        assert!(is_readable(60_000));
        queue.submit(get(), round).expect("there is room");
        while queue.under_way() > 1 {
            assert!(is_readable(60_000));
            assert_eq!(queue.take(&mut completions, 1, Wait::Not), 1);
        }
        assert!(is_readable(60_000));
        queue.completions(&mut completions, Wait::Not);
        assert!(!is_readable(0));
        queue.submit(get(), round).expect("there is room");
    }
    assert_eq!(completions.len(), 6);
}

#[test]
fn memory_of_a_completion_is_used_again() {
    let store = on_memory();
    let queue = store.queue(1);
    let mut completions = Vec::new();
    let mut buffer = Vec::with_capacity(4096);
    let place = buffer.as_ptr();
    for round in 0..4u64 {
        let set = Operation::set_in(buffer, b"key", &round.to_le_bytes()).expect("it is a key");
        queue.submit(set, round).expect("there is room");
        queue.completions(&mut completions, Wait::ForOne);
        buffer = completions.pop().expect("it has ended").into_buffer();
        let get = Operation::get_in(buffer, b"key").expect("it is a key");
        queue.submit(get, round).expect("there is room");
        queue.completions(&mut completions, Wait::ForOne);
        let found = completions.pop().expect("it has ended");
        assert_eq!((found.key(), found.value()), (&b"key"[..], &round.to_le_bytes()[..]));
        buffer = found.into_buffer();
    }
    assert_eq!(buffer.as_ptr(), place);
}

#[test]
fn the_end_completes_what_is_under_way_and_takes_nothing_more() {
    let store = on_memory();
    let queue = store.queue(100);
    (0..100u64).for_each(|number| {
        let set = Operation::set(&number.to_le_bytes(), &[1; 20_000]).expect("it is a key");
        queue.submit(set, number).expect("there is room");
    });
    let all = store.close().expect("the drive takes everything");
    let mut completions = Vec::new();
    assert_eq!(queue.completions(&mut completions, Wait::Not), 100);
    assert!(completions.iter().all(|completion| matches!(completion.result, Ok(Outcome::Stored { .. }))));
    assert_eq!(all.sets, 100);
    let refused = queue.submit(Operation::flush(), 0).expect_err("it is closed");
    assert_eq!((refused.why, queue.under_way()), (Error::Closed, 0));
}

#[test]
fn a_drive_that_says_nothing_is_given_up_at_the_end_and_everybody_is_told() {
    let (drive, is_deaf) = deaf();
    let store = opened(drive, true);
    store.set(b"before", b"it").expect("it answers");
    is_deaf.store(true, Ordering::Relaxed);
    let queue = store.queue(8);
    (0..8u64).for_each(|number| {
        let set = Operation::set(&number.to_le_bytes(), b"never durable").expect("it is a key");
        queue.submit(set, number).expect("there is room");
    });
    assert_eq!(queue.completions(&mut Vec::new(), Wait::AtMost(Duration::from_millis(20))), 0);
    assert_eq!(store.close().map(|_| ()), Err(Error::DriveFailed));
    let mut completions = Vec::new();
    assert_eq!(queue.completions(&mut completions, Wait::ForOne), 8);
    assert!(completions.iter().all(|completion| completion.result == Err(Error::Closed)));
}

#[test]
fn a_drive_that_refuses_writes_fails_what_was_to_be_durable() {
    let (mut drive, _) = deaf();
    drive.writes_left = 20;
    let store = opened(drive, true);
    let failed = (0..200u64).find_map(|key| store.set(&key.to_le_bytes(), &[0; 2000]).err());
    assert_eq!(failed, Some(Error::Full));
    assert_eq!(store.flush(), Err(Error::Full));
    assert_eq!(store.close().map(|_| ()), Err(Error::DriveFailed));
}

/// The drive's second flush would succeed, without the data written before the first one.
#[test]
fn after_a_flush_that_failed_nothing_is_durable_and_reads_go_on() {
    let (drive, fails) = Volatile::new((64 << 20) / 4096);
    let store = opened(FailStop::new(drive), true);
    store.set(b"before", b"it").expect("it is durable");
    fails.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(store.set(b"after", b"it"), Err(Error::DriveFailed));
        assert_eq!(store.flush(), Err(Error::DriveFailed));
    }
    assert_eq!(store.get(b"before").expect("it can be read").as_deref(), Some(&b"it"[..]));
    assert_eq!(store.close().map(|_| ()), Err(Error::DriveFailed));
}
