//! A wrapper that stops writes to a drive once a flush has failed.
//!
//! When `fdatasync` fails, Linux has marked the pages that it could not write as clean, and reports the error
//! once: the next `fdatasync` succeeds although the data is lost (Rebello et al., "Can Applications Recover
//! from fsync Failures?", USENIX ATC 2020). A drive that failed to write its cache is no better. So a flush
//! that succeeds after a failed one proves nothing, and neither does one that was in flight at the same time:
//! the error is reported to only one of them.
//!
//! After the first failed flush or write with force unit access:
//! - every flush, write and trim fails with [`Status::MediaError`], until the drive is opened again;
//! - reads continue;
//! - [`Drive::failure`] names the drive and the reason.
//!
//! A successful flush or durable write completes only after all others in flight at the same time: if one of
//! them fails, all fail.

use crate::drive::{Announcement, Answers, Drive, Extent};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::{Bytes, Disk, Request, Response};

/// A drive that accepts no more writes once a flush has failed.
#[derive(Debug)]
pub struct FailStop<D> {
    drive: D,
    /// A rejected durable write implies nothing about earlier writes.
    refusals_are_harmless: bool,
    /// Why no more writes are accepted.
    failure: Option<String>,
    /// Flushes and durable writes in flight at the drive, in order of submission.
    under_way: VecDeque<Durable>,
    serial: u64,
    /// Those that have succeeded, with the first serial number submitted after their completion.
    held: VecDeque<(u64, Response<Bytes>)>,
    /// Completions of requests that are not passed to the drive.
    refused: Vec<Response<Bytes>>,
}

/// A flush or a durable write.
#[derive(Clone, Copy, Debug)]
struct Durable {
    serial: u64,
    id: u32,
    op: Op,
}

impl<D: Drive> FailStop<D> {
    /// Wraps a drive that may reject durable writes for lack of space without harm to earlier writes.
    pub fn new(drive: D) -> FailStop<D> {
        FailStop {
            drive,
            refusals_are_harmless: true,
            failure: None,
            under_way: VecDeque::new(),
            serial: 0,
            held: VecDeque::new(),
            refused: Vec::new(),
        }
    }

    /// Wraps a drive behind a write-back cache: a durable write may report the error of an earlier one.
    pub fn behind_a_cache(drive: D) -> FailStop<D> {
        FailStop { refusals_are_harmless: false, ..FailStop::new(drive) }
    }

    /// The drive that this layer wraps.
    pub fn inner(&self) -> &D {
        &self.drive
    }

    /// The drive that this layer wraps; requests made through it bypass the layer.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.drive
    }

    fn fail(&mut self, what: &str, status: Status) {
        if self.failure.is_none() {
            let model = self.drive.identify().model;
            self.failure = Some(format!(
                "{model}: {what} failed ({status}); what was not flushed before may be lost, and nothing \
                 more is written to it: check the device, and start again"
            ));
        }
    }

    /// Handles the completion of a flush or durable write.
    fn ended(&mut self, at: usize, response: Response<Bytes>, answers: &mut Answers) {
        let Some(Durable { op, .. }) = self.under_way.remove(at) else { return };
        let status = response.status;
        if status == Status::Success {
            return self.held.push_back((self.serial, response));
        }
        let is_harmless = match status {
            // Of this write alone.
            Status::NoSpace => true,
            Status::WriteProtected | Status::InvalidField => self.refusals_are_harmless,
            _ => false,
        };
        if op == Op::Flush || !is_harmless {
            self.fail(if op == Op::Flush { "a flush" } else { "a durable write" }, status);
        }
        answers.responses.push(response);
    }

    /// Completes what can no longer be revoked.
    fn release(&mut self, answers: &mut Answers) {
        let oldest = self.under_way.front().map_or(u64::MAX, |durable| durable.serial);
        let has_failed = self.failure.is_some();
        while self.held.front().is_some_and(|&(until, _)| has_failed || until <= oldest) {
            let Some((_, mut response)) = self.held.pop_front() else { return };
            if has_failed {
                response.status = Status::MediaError;
            }
            answers.responses.push(response);
        }
    }
}

impl<D: Drive> Drive for FailStop<D> {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn disk(&self) -> Disk {
        self.drive.disk()
    }

    fn has_protection_information(&self) -> bool {
        self.drive.has_protection_information()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn come_to_rest(&mut self, now: Time) -> bool {
        self.drive.come_to_rest(now)
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        if self.failure.is_some() && request.op != Op::Read {
            let Request { id, data, .. } = request;
            let (status, busy_for, spans) = (Status::MediaError, Nanos::ZERO, Spans::new());
            return self.refused.push(Response { id, status, data, busy_for, spans });
        }
        if request.op == Op::Flush || request.fua && request.op == Op::Write {
            self.under_way.push_back(Durable { serial: self.serial, id: request.id, op: request.op });
            self.serial += 1;
        }
        self.drive.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        let first = answers.responses.len();
        self.drive.poll(now, answers);
        answers.responses.append(&mut self.refused);
        if self.under_way.is_empty() {
            return;
        }
        for response in answers.responses.split_off(first) {
            match self.under_way.iter().position(|durable| durable.id == response.id) {
                Some(at) => self.ended(at, response, answers),
                None => answers.responses.push(response),
            }
        }
        self.release(answers);
    }

    fn next_event(&self) -> Time {
        if self.refused.is_empty() { self.drive.next_event() } else { Time::ZERO }
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.drive.wakes()
    }

    fn arm(&mut self) -> bool {
        self.refused.is_empty() && self.drive.arm()
    }

    fn announce(&mut self, announcements: &mut Vec<Announcement>) {
        self.drive.announce(announcements);
    }

    fn extent(&self, block: u64, blocks: u64) -> Extent {
        self.drive.extent(block, blocks)
    }

    fn abandon_trims(&mut self) {
        self.drive.abandon_trims();
    }

    fn bytes(&self) -> u64 {
        self.drive.bytes()
    }

    fn failure(&self) -> Option<&str> {
        // The reason of the drive itself is more precise.
        self.drive.failure().or(self.failure.as_deref())
    }
}

#[cfg(test)]
mod tests;
