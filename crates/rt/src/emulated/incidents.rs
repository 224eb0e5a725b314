//! Incidents of an emulated drive: times at which it stops fetching requests for a while, or begins to fetch
//! them late.

use std::collections::VecDeque;
use tailcut_base::fetch_gate::FetchGate;
use tailcut_base::{Nanos, Time};
use tailcut_host::{Bytes, Request};
use tailcut_ssd::presets::Stalls;

/// What happens to an emulated drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It fetches no requests for this long.
    Stall(Nanos),
    /// From now on it fetches each request this much after it was submitted; zero ends that.
    Delay(Nanos),
}

/// Incidents of a drive, by the time since it was taken into service.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// In order of time.
    script: VecDeque<(Nanos, Incident)>,
    /// Beside them, and without end.
    stalls: Option<Stalls>,
}

impl Schedule {
    /// Incidents in order of time, and stalls beside them.
    pub fn new(script: Vec<(Nanos, Incident)>, stalls: Option<Stalls>) -> Schedule {
        Schedule { script: script.into(), stalls }
    }

    /// True if nothing will happen.
    pub fn is_empty(&self) -> bool {
        self.script.is_empty() && self.stalls.is_none()
    }

    /// The next incident that is due after `passed`, with its time.
    fn take(&mut self, passed: Nanos) -> Option<(Nanos, Incident)> {
        let scripted = self.script.front().map_or(Nanos(u64::MAX), |&(at, _)| at);
        let stall = self.stalls.as_ref().map_or(Nanos(u64::MAX), |stalls| stalls.next().since(Time::ZERO));
        if scripted.min(stall) > passed {
            return None;
        }
        if scripted <= stall {
            return self.script.pop_front();
        }
        let (at, length) = self.stalls.as_mut()?.take();
        Some((at.since(Time::ZERO), Incident::Stall(length)))
    }
}

/// The incidents to come, and the requests that they hold back.
#[derive(Debug)]
pub(super) struct Incidents {
    schedule: Schedule,
    began: Time,
    gate: FetchGate<Request<Bytes>>,
}

impl Incidents {
    /// A schedule that begins now.
    pub(super) fn new(schedule: Schedule, now: Time) -> Incidents {
        Incidents { schedule, began: now, gate: FetchGate::default() }
    }

    /// A request is submitted: returned if the drive fetches it at once.
    pub(super) fn offer(&mut self, now: Time, request: Request<Bytes>) -> Option<Request<Bytes>> {
        self.begin_due(now);
        self.gate.offer(now, request)
    }

    /// The next request that the drive fetches by now, and how long it was held.
    pub(super) fn fetch(&mut self, now: Time) -> Option<(Request<Bytes>, Nanos)> {
        self.begin_due(now);
        self.gate.fetch(now)
    }

    /// When the next request is fetched; incidents themselves wait for one.
    pub(super) fn next_event(&self) -> Time {
        self.gate.next_event()
    }

    /// Ends stalls and delays, and lets no more incidents happen.
    pub(super) fn end(&mut self) {
        self.schedule = Schedule::default();
        self.gate.open();
    }

    /// Begins the incidents that are due. A stall counts from when it was due, however late it is noticed.
    fn begin_due(&mut self, now: Time) {
        while let Some((at, incident)) = self.schedule.take(now.since(self.began)) {
            match incident {
                Incident::Stall(time) => self.gate.stall_until(self.began + at + time),
                Incident::Delay(delay) => self.gate.set_delay(delay),
            }
        }
    }
}
