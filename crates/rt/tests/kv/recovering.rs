//! A server that serves during recovery.

use crate::kv::faulty::Failing;
use crate::kv::{Client, Harness, hit, memory_drive, set, value};
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Class, Nanos, Op, Time};
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::{Answers, Drive, MemoryDrive};

/// Enough items for full segments that were durable, in each part of the store.
const ITEMS: usize = 500;

/// A drive that does not start background reads while `is_holding` is set: the read-ahead of segment
/// summaries by recovery.
struct HeldReads {
    drive: MemoryDrive,
    is_holding: Arc<AtomicBool>,
    held: Vec<Request<Bytes>>,
    next: Time,
}

impl Steered for HeldReads {}

impl Drive for HeldReads {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        match is_background_read(&request) {
            true => self.held.push(request),
            false => self.drive.submit(now, request),
        }
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        if !self.is_holding.load(Ordering::SeqCst) {
            self.held.drain(..).for_each(|request| self.drive.submit(now, request));
        }
        self.drive.poll(now, answers);
        self.next = if self.held.is_empty() { Time::NEVER } else { now + Nanos::millis(1) };
    }

    fn next_event(&self) -> Time {
        self.drive.next_event().min(self.next)
    }
}

fn is_background_read(request: &Request<Bytes>) -> bool {
    request.op == Op::Read && request.class != Class::DEFAULT
}

/// A drive with a store in which some segments are full.
fn drive_with_items() -> MemoryDrive {
    let harness = Harness::on(memory_drive());
    let mut client = harness.client();
    for number in 0..ITEMS {
        client.say(set(&format!("key{number}"), &value(number, 50_000)), "STORED\r\n");
    }
    drop(client);
    harness.stop().drive.expect("it had one")
}

fn is_recovering(client: &Client) -> bool {
    let mut client = Client(client.0.try_clone().expect("a descriptor"));
    client.send("stats\r\n");
    let lines = BufReader::new(client.0).lines().map(|line| line.expect("it is text"));
    let lines: Vec<String> = lines.take_while(|line| line != "END").collect();
    lines.iter().any(|line| line == "STAT recovering 1")
}

#[test]
fn who_needs_what_was_not_found_yet_waits_and_others_do_not() {
    let is_holding = Arc::new(AtomicBool::new(true));
    let held = Arc::clone(&is_holding);
    let drive =
        HeldReads { drive: drive_with_items(), is_holding: held, held: Vec::new(), next: Time::NEVER };
    let harness = Harness::on(drive);
    let (mut one, mut other, mut third) = (harness.client(), harness.client(), harness.client());
    third.say("mn\r\n", "MN\r\n");
    third.send("get key4\r\n");
    one.send("get key0\r\nincr key0 1\r\nadd key1 0 0 1\r\n1\r\ndelete no_such\r\n");
    other.say(set("new", b"5"), "STORED\r\n");
    other.say("incr new 1\r\nget new\r\n", "6\r\nVALUE new 0 1\r\n6\r\nEND\r\n");
    other.say(set("key2", b"newer"), "STORED\r\n");
    // It makes no difference whether the item is requested before or after this change.
    other.say(set("key4", b"newer"), "STORED\r\n");
    other.say("delete new\r\nget new\r\n", "DELETED\r\nEND\r\n");
    assert!(is_recovering(&other));
    is_holding.store(false, Ordering::SeqCst);
    third.hear([&hit("key4", b"newer")[..], b"END\r\n"].concat());
    let found = [&hit("key0", &value(0, 50_000))[..], b"END\r\n"].concat();
    one.hear(found);
    one.hear("CLIENT_ERROR cannot increment or decrement non-numeric value\r\nNOT_STORED\r\nNOT_FOUND\r\n");
    while is_recovering(&other) {}
    other.say("get key2 new\r\n", [&hit("key2", b"newer")[..], b"END\r\n"].concat());
    for number in (3..ITEMS).filter(|&number| number != 4) {
        let found = [&hit(&format!("key{number}"), &value(number, 50_000))[..], b"END\r\n"].concat();
        other.say(format!("get key{number}\r\n"), found);
    }
}

#[test]
fn a_drive_that_does_not_give_back_what_is_on_it_is_not_served() {
    // The drive fails from the first read of a summary on.
    let mut has_failed = false;
    let fails = move |request: &Request<Bytes>| {
        has_failed |= is_background_read(request);
        has_failed && request.op == Op::Read
    };
    let harness = Harness::on(Failing::new(drive_with_items(), fails));
    let mut client = harness.client();
    // The write may fail, if the connection is closed already; otherwise the server replies.
    let _ = std::io::Write::write_all(&mut client.0, b"get key0\r\n");
    client.rest();
    let figures = harness.stop().figures;
    assert!(figures.unreadable.is_some() && figures.is_durable(), "{figures:?}");
}
