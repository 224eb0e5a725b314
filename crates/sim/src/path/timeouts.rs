//! Drives that do not answer. The HAL notes when each command began (`begin_cmd`, Shin 2017, section 3.3.2);
//! one that takes longer than `host.timeout` fails, and its drive is taken to be gone: what else it has fails
//! when its own time is over, and what comes later at once.

use super::SimulatedHost;
use super::host_timers::HostTimer;
use tailcut_base::{Cause, Completion, Nanos, Status, Time};
use tailcut_host::path::{LowLevelDriver, RequestId};
use tailcut_ssd::Probe;

/// The host's view of drives that are late.
#[derive(Clone, Debug)]
pub(super) struct TimeOuts {
    limit: Nanos,
    /// A timer is set.
    is_armed: bool,
    /// Commands that a drive has been given and not answered, all drives together.
    pending: u64,
    is_gone: Vec<bool>,
    /// From when on the answers of a drive are lost.
    silent_from: Vec<Time>,
    late: Vec<RequestId>,
}

impl TimeOuts {
    pub(super) fn new(limit: Nanos, drives: usize) -> TimeOuts {
        TimeOuts {
            limit,
            is_armed: false,
            pending: 0,
            is_gone: vec![false; drives],
            silent_from: vec![Time::NEVER; drives],
            late: Vec::new(),
        }
    }

    /// True when the host receives the answers of a drive.
    #[inline]
    pub(super) fn is_heard(&self, now: Time, drive: usize) -> bool {
        !self.is_gone[drive] && now < self.silent_from[drive]
    }

    /// True when a drive is not asked any more.
    #[inline]
    pub(super) fn is_gone(&self, drive: usize) -> bool {
        self.is_gone[drive]
    }

    #[inline]
    pub(super) fn note_answered(&mut self) {
        self.pending -= 1;
    }
}

impl<P: Probe> SimulatedHost<P> {
    /// From `from` on nothing is heard of a drive, though it carries commands out: a fault.
    pub fn silence(&mut self, drive: usize, from: Time) {
        self.timeouts.silent_from[drive] = from;
    }

    /// A drive has been given a command.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time) {
        self.timeouts.pending += 1;
        if !self.timeouts.is_armed {
            self.timeouts.is_armed = true;
            self.host_timers.set(now + self.timeouts.limit, HostTimer::TimeOuts);
        }
    }

    /// Fails what has been with its drive for too long. Looks four times within the limit, so that it finds
    /// that a quarter late at the most.
    pub(super) fn look_for_late(&mut self, now: Time) {
        let mut late = std::mem::take(&mut self.timeouts.late);
        self.path.controller().timed_out(now, self.timeouts.limit, &mut late);
        for request in late.drain(..) {
            let flight = &self.flights[request as usize];
            // One that has come waits for its thread.
            if !flight.is_visible && flight.is_sent {
                self.timeouts.is_gone[flight.drive] = true;
                self.timeouts.pending -= 1;
                self.fail(now, request);
            }
        }
        self.timeouts.late = late;
        self.timeouts.is_armed = self.timeouts.pending > 0;
        if self.timeouts.is_armed {
            self.host_timers.set(now + self.timeouts.limit / 4, HostTimer::TimeOuts);
        }
    }

    /// A request to a drive that is gone.
    pub(super) fn refuse(&mut self, now: Time, request: RequestId) {
        self.host_timers.set(now, HostTimer::Gone { request });
    }

    /// The host ends a request by itself: the drive is gone.
    pub(super) fn fail(&mut self, now: Time, request: RequestId) {
        let flight = &mut self.flights[request as usize];
        flight.is_sent = false;
        flight.account.lap(now, Cause::Controller);
        (flight.status, flight.content) = (Status::Gone, 0);
        let completion = Completion {
            id: flight.command.id,
            status: Status::Gone,
            at: now,
            content: 0,
            busy_for: Nanos::ZERO,
            spans: flight.account.spans,
        };
        let op = flight.command.op;
        self.checkers[flight.drive].completed(op, &completion, flight.expected, u64::from(request));
        self.arrives(now, request);
    }
}
