//! A server that serves while it finds what is on its drive.

use crate::{Client, Rig, hit, memory_drive, set, value};
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Class, Nanos, Op, Status, Time};
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::{Answers, Drive, MemoryDrive};

/// What becomes of reads that nobody waits for, those of summaries; and of all reads once one of them has failed.
#[derive(Default)]
struct Fate(AtomicU8);

const HELD: u8 = 1;
const FAILED: u8 = 2;
/// So many that there are full segments that were durable, in each part of the store.
const ITEMS: usize = 500;

impl Fate {
    fn new(fate: u8) -> Arc<Fate> {
        Arc::new(Fate(AtomicU8::new(fate)))
    }

    fn is(&self, fate: u8) -> bool {
        self.0.load(Ordering::SeqCst) == fate
    }
}

/// A drive that holds some reads back, or lets them fail.
struct Moody {
    drive: MemoryDrive,
    fate: Arc<Fate>,
    held: Vec<Request<Bytes>>,
    failing: Vec<u32>,
    has_failed: bool,
    next: Time,
}

impl Steered for Moody {}

impl Drive for Moody {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        let is_background = request.class != Class::DEFAULT || self.has_failed;
        match request.op == Op::Read && is_background {
            true => self.held.push(request),
            false => self.drive.submit(now, request),
        }
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        if !self.fate.is(HELD) {
            for request in std::mem::take(&mut self.held) {
                self.has_failed |= self.fate.is(FAILED);
                self.failing.extend(self.has_failed.then_some(request.id));
                self.drive.submit(now, request);
            }
        }
        self.drive.poll(now, answers);
        for response in &mut answers.responses {
            if self.failing.contains(&response.id) {
                self.failing.retain(|&id| id != response.id);
                response.status = Status::MediaError;
                response.data.clear();
            }
        }
        self.next = if self.held.is_empty() { Time::NEVER } else { now + Nanos::millis(1) };
    }

    fn next_event(&self) -> Time {
        self.drive.next_event().min(self.next)
    }
}

/// A drive with a store in which some segments are full.
fn moody(fate: &Arc<Fate>) -> Moody {
    let rig = Rig::on(memory_drive());
    let mut client = rig.client();
    for number in 0..ITEMS {
        client.say(set(&format!("key{number}"), &value(number, 50_000)), "STORED\r\n");
    }
    drop(client);
    let drive = rig.stop().drive.expect("it had one");
    Moody {
        drive,
        fate: Arc::clone(fate),
        held: Vec::new(),
        failing: Vec::new(),
        has_failed: false,
        next: Time::NEVER,
    }
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
    let fate = Fate::new(HELD);
    let rig = Rig::on(moody(&fate));
    let (mut one, mut other, mut third) = (rig.client(), rig.client(), rig.client());
    third.say("mn\r\n", "MN\r\n");
    third.send("get key4\r\n");
    one.send("get key0\r\nincr key0 1\r\nadd key1 0 0 1\r\n1\r\ndelete no_such\r\n");
    other.say(set("new", b"5"), "STORED\r\n");
    other.say("incr new 1\r\nget new\r\n", "6\r\nVALUE new 0 1\r\n6\r\nEND\r\n");
    other.say(set("key2", b"newer"), "STORED\r\n");
    // Whether it is asked for before that or behind it makes no difference.
    other.say(set("key4", b"newer"), "STORED\r\n");
    other.say("delete new\r\nget new\r\n", "DELETED\r\nEND\r\n");
    assert!(is_recovering(&other));
    fate.0.store(0, Ordering::SeqCst);
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
    let fate = Fate::new(FAILED);
    let rig = Rig::on(moody(&fate));
    let mut client = rig.client();
    // It comes too late, or is told.
    let _ = std::io::Write::write_all(&mut client.0, b"get key0\r\n");
    client.rest();
    let figures = rig.stop().figures;
    assert!(figures.unreadable.is_some() && figures.is_durable, "{figures:?}");
}
