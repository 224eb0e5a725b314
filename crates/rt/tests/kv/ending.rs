//! Shutdown of a server.

use crate::kv::faulty::{Failing, RestsLate};
use crate::kv::{Harness, SMALL, emulated, hit, memory_drive, set, value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::{Nanos, Op};
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{CurrentCounters, Limits, ListenOptions, Obstacle, Served};

impl<D: Steered + Send + 'static> Harness<D> {
    /// Stops the server as soon as its counters meet a condition.
    pub(crate) fn stop_when(self, is_time: impl Fn(&CurrentCounters) -> bool) -> Served<D> {
        while !is_time(&self.server.glance()) {
            std::thread::yield_now();
        }
        self.stop()
    }
}

#[test]
fn what_was_received_is_answered_before_the_end() {
    let harness = Harness::on(emulated());
    let mut client = harness.client();
    for number in 0..100 {
        client.say(set(&format!("key{number}"), &value(number, 20_000)), "STORED\r\n");
    }
    let gets: String = (0..100).map(|number| format!("get key{number}\r\n")).collect();
    client.send(format!("mn\r\n{gets}set last 0 0 1\r\n1\r\n"));
    // The first reply to a batch that was sent in one piece.
    client.hear("MN\r\n");
    let stopping = std::thread::spawn(move || harness.stop());
    for number in 0..100 {
        client.hear([&hit(&format!("key{number}"), &value(number, 20_000))[..], b"END\r\n"].concat());
    }
    client.hear("STORED\r\n");
    assert!(client.rest().is_empty());
    let served = stopping.join().expect("it ends");
    assert!(served.figures.is_durable());
    assert_eq!(served.figures.sums.items, 101);
}

#[test]
fn who_does_not_read_holds_up_nobody_at_the_end() {
    let limits = Limits { patience: Nanos::millis(1), ..Limits::default() };
    let harness = Harness::in_memory(limits);
    let mut client = harness.client();
    client.say(set("large", &value(1, 50_000)), "STORED\r\n");
    client.send("get large\r\n".repeat(100));
    let served = harness.stop_when(|glance| glance.sums.statistics.cmd_get > 10);
    assert_eq!(served.figures.sums.items, 1);
}

/// Nothing is left to be done but to wait for a client, for which an hour would be too long.
#[test]
fn the_end_waits_for_nobody_who_has_stopped_reading() {
    for threads in [1, 2] {
        let limits = Limits { threads, patience: Nanos::secs(3600), ..Limits::default() };
        let harness = Harness::in_memory(limits);
        let mut client = harness.client();
        client.say(set("large", &value(1, 50_000)), "STORED\r\n");
        client.send("get large\r\n".repeat(100));
        let served = harness.stop_when(|glance| glance.sums.statistics.cmd_get > 10);
        assert_eq!(served.figures.sums.items, 1);
    }
}

/// Retries of writes to a full drive do not keep the server from stopping. What is lost is what was
/// acknowledged before it was durable.
#[test]
fn a_full_drive_does_not_hold_up_the_end() {
    for is_durable in [false, true] {
        let is_full = Arc::new(AtomicBool::new(false));
        let told = is_full.clone();
        let fails = move |request: &Request<Bytes>| request.op == Op::Write && told.load(Ordering::SeqCst);
        let drive = Failing::new(memory_drive(), fails);
        let limits = Limits { patience: Nanos::millis(1), ..Limits::default() };
        let harness = Harness::with(Some(drive), SMALL, ListenOptions::default(), limits, is_durable);
        let mut client = harness.client();
        is_full.store(true, Ordering::SeqCst);
        // The only item: once a write has failed, further ones are refused.
        let answer = if is_durable { "SERVER_ERROR the drive is full\r\n" } else { "STORED\r\n" };
        client.say(set("a", b"1"), answer);
        let unwritten = harness.stop().figures.unwritten.expect("the item");
        assert_eq!(unwritten.why(), Obstacle::Full);
        assert_eq!(unwritten.lost(), Some(u64::from(!is_durable)));
    }
}

/// The drive has room when the first write that it has refused is tried for the fourth time, after three
/// seconds.
#[test]
fn the_end_waits_for_room_on_a_full_drive() {
    let is_full = Arc::new(AtomicBool::new(false));
    let told = is_full.clone();
    let (mut refused, mut attempts) = (None, 0);
    let fails = move |request: &Request<Bytes>| {
        if request.op != Op::Write || !told.load(Ordering::SeqCst) {
            return false;
        }
        attempts += u32::from(*refused.get_or_insert(request.block) == request.block);
        attempts <= 3
    };
    let drive = Failing::new(memory_drive(), fails);
    let limits = Limits { patience: Nanos::secs(3600), ..Limits::default() };
    let harness = Harness::with(Some(drive), SMALL, ListenOptions::default(), limits, false);
    is_full.store(true, Ordering::SeqCst);
    harness.client().say(set("a", b"1"), "STORED\r\n");
    assert_eq!(harness.stop().figures.unwritten, None);
}

#[test]
fn the_drive_comes_to_rest_before_the_end() {
    let harness = Harness::on(RestsLate { drive: memory_drive(), asked: 0 });
    harness.client().say(set("a", b"1"), "STORED\r\n");
    let served = harness.stop();
    assert!(served.figures.is_durable() && served.drive.is_some_and(|drive| drive.asked == 3));
}

#[test]
fn an_end_without_clients_comes_at_once() {
    let served = Harness::on(memory_drive()).stop();
    assert!(served.figures.is_durable() && served.drive.is_some());
}
