//! A drive with media errors.

use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Op, Status, Time};
use tailcut_host::{Bytes, Request};
use tailcut_rt::ctl::Steered;
use tailcut_rt::{Answers, Drive, MemoryDrive};

/// A drive in memory that completes some reads with a media error.
pub struct FailingReads<F> {
    pub drive: MemoryDrive,
    /// Decides, when a read is submitted, whether it fails.
    fails: F,
    /// Ids of the failing reads in flight.
    failing: Vec<u32>,
}

impl<F: FnMut(&Request<Bytes>) -> bool> FailingReads<F> {
    pub fn new(drive: MemoryDrive, fails: F) -> FailingReads<F> {
        FailingReads { drive, fails, failing: Vec::new() }
    }
}

impl<F> Steered for FailingReads<F> where FailingReads<F>: Drive {}

impl<F: FnMut(&Request<Bytes>) -> bool> Drive for FailingReads<F> {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        if request.op == Op::Read && (self.fails)(&request) {
            self.failing.push(request.id);
        }
        self.drive.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
        for response in &mut answers.responses {
            if let Some(at) = self.failing.iter().position(|&id| id == response.id) {
                self.failing.swap_remove(at);
                (response.status, response.data) = (Status::MediaError, Vec::new());
            }
        }
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
}

/// A drive in memory without room for any write.
pub struct Full {
    pub drive: MemoryDrive,
    pub is_full: std::sync::Arc<std::sync::atomic::AtomicBool>,
    /// Ids of the writes in flight.
    refused: Vec<u32>,
}

impl Full {
    pub fn new(drive: MemoryDrive) -> Full {
        Full { drive, is_full: Default::default(), refused: Vec::new() }
    }
}

impl Steered for Full {}

impl Drive for Full {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        let is_full = self.is_full.load(std::sync::atomic::Ordering::SeqCst);
        if request.op == Op::Write && is_full {
            self.refused.push(request.id);
            // Read in its place: what is answered has the same shape.
            return self.drive.submit(now, Request { op: Op::Read, ..request });
        }
        self.drive.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
        for response in &mut answers.responses {
            if let Some(at) = self.refused.iter().position(|&id| id == response.id) {
                self.refused.swap_remove(at);
                (response.status, response.data) = (Status::WriteProtected, Vec::new());
            }
        }
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
}

/// A drive in memory that has something to write before the end, as an array with block checksums has.
pub struct RestsLate {
    pub drive: MemoryDrive,
    /// How often it was asked to come to rest; it has the third time.
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
