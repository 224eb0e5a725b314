//! Drives with faults, and a drive that needs several calls of `come_to_rest`.

use crate::kv::memory::figure;
use crate::kv::{Harness, SMALL, memory_drive, set};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Op, Status, Time};
use tailcut_host::kv::{Keep, Settings};
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{Limits, ListenOptions};
use tailcut_rt::{Answers, Drive, MemoryDrive};

/// A drive in memory that fails some requests: reads with a media error, writes for lack of space.
pub(super) struct Failing<F> {
    pub drive: MemoryDrive,
    /// Decides, when a request is submitted, whether it fails.
    fails: F,
    /// Failing requests in flight, by id.
    failing: Vec<(u32, Status)>,
}

impl<F: FnMut(&Request<Bytes>) -> bool> Failing<F> {
    pub(super) fn new(drive: MemoryDrive, fails: F) -> Failing<F> {
        Failing { drive, fails, failing: Vec::new() }
    }
}

impl<F> Steered for Failing<F> where Failing<F>: Drive {}

impl<F: FnMut(&Request<Bytes>) -> bool> Drive for Failing<F> {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        if !(self.fails)(&request) {
            return self.drive.submit(now, request);
        }
        let is_read = request.op == Op::Read;
        self.failing.push((request.id, if is_read { Status::MediaError } else { Status::WriteProtected }));
        // A read, which changes nothing, completes in its place.
        self.drive.submit(now, Request { op: Op::Read, ..request });
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
        for response in &mut answers.responses {
            if let Some(at) = self.failing.iter().position(|&(id, _)| id == response.id) {
                let (_, status) = self.failing.swap_remove(at);
                (response.status, response.data) = (status, Vec::new());
            }
        }
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
}

#[test]
fn a_full_drive_is_in_the_statistics_until_it_has_room() {
    let is_full = Arc::new(AtomicBool::new(false));
    let told = is_full.clone();
    let fails = move |request: &Request<Bytes>| request.op == Op::Write && told.load(Ordering::SeqCst);
    let drive = Failing::new(memory_drive(), fails);
    let settings = Settings { keep: Keep::Everything, ..SMALL };
    let harness = Harness::with(Some(drive), settings, ListenOptions::default(), Limits::default(), false);
    let mut client = harness.client();
    client.say(set("a", b"1"), "STORED\r\n");
    for is_now in [true, false] {
        is_full.store(is_now, Ordering::SeqCst);
        client.send(set("b", b"1"));
        client.first_answers(1);
        while figure(&mut client, "drive_full") != u64::from(is_now) {}
    }
    assert!(harness.stop().figures.is_durable());
}

/// A drive in memory with metadata to write before it closes, like an array with block checksums.
pub(super) struct RestsLate {
    pub drive: MemoryDrive,
    /// Number of calls to `come_to_rest`; the third one succeeds.
    pub asked: u32,
}

impl Steered for RestsLate {}

impl Drive for RestsLate {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        assert_eq!(self.asked, 0, "nothing is written after that");
        self.drive.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
    }

    fn next_event(&self) -> Time {
        if self.asked > 0 { Time::ZERO } else { self.drive.next_event() }
    }

    fn come_to_rest(&mut self, _: Time) -> bool {
        self.asked += 1;
        self.asked >= 3
    }
}
