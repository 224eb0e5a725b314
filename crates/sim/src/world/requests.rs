//! The way of a request: issued when it is due, submitted, completed, checked and counted.

use super::issuer::Due;
use super::{Finished, Flight, FlightId, Observer, RunError, World};
use tailcut_base::{Cause, Command, CommandId, Completion, Device, Nanos, Spans, Status, Submit, Time};

impl<D: Device> World<D> {
    /// The issuer of the earliest arrival issues its due requests.
    pub(super) fn serve_arrival(&mut self) {
        let (now, issuer) = self.arrivals.first().expect("there is an arrival");
        self.arrivals.clear(issuer);
        self.issue(now, issuer as u32);
        if self.groups_left {
            self.end_group(now);
        }
    }

    /// Issues the requests of an issuer that are due, and notes when the next will be.
    #[inline]
    fn issue(&mut self, now: Time, issuer: u32) {
        loop {
            if self.closed || self.is_finished(now, issuer) {
                return;
            }
            let l = &mut self.issuers[issuer as usize];
            if l.is_blocked {
                // A full device delays the requests of an application, not the application.
                if let Some(at) = l.drive_blocked(now) {
                    self.arrivals.set(issuer as usize, at);
                }
                return;
            }
            match l.next_due(now) {
                Due::Now(due) => {
                    if !self.submit(now, issuer, due) {
                        self.block(now, issuer);
                        return;
                    }
                }
                Due::At(at) => return self.arrivals.set(issuer as usize, at),
                Due::AfterCompletion | Due::Never => return,
                Due::AfterAnswer => return self.arrivals.clear(issuer as usize),
            }
        }
    }

    fn is_finished(&mut self, now: Time, issuer: u32) -> bool {
        if now >= self.end || self.issued >= self.most {
            self.close(now);
        }
        self.closed || self.issuers[issuer as usize].is_finished(now)
    }

    /// Nothing more is issued.
    pub(super) fn close(&mut self, now: Time) {
        if !self.closed {
            self.backlogs = self.backlogs_at(now);
        }
        self.closed = true;
        for issuer in 0..self.issuers.len() {
            self.arrivals.clear(issuer);
        }
    }

    /// Submits the next request of an issuer; false when the device is full.
    #[inline]
    fn submit(&mut self, now: Time, issuer: u32, due: Time) -> bool {
        let l = &mut self.issuers[issuer as usize];
        let mut command = *l.peek();
        if let Some(placer) = &self.placer {
            command = placer.placed(command);
        }
        let eligible = l.eligible(now, due);
        let id = self.flights.insert(Flight {
            number: self.issued,
            due,
            submitted: now,
            eligible,
            expected: 0,
            issuer,
            op: command.op,
            fua: command.fua,
            class: command.class,
            sector: command.sector,
            sectors: command.sectors,
        });
        command.id = CommandId(id.get());
        let answer = self.device.submit(now, &command);
        if answer == Submit::Busy {
            self.flights.release(id);
            return false;
        }
        if let Some(placer) = &mut self.placer {
            placer.record(&command);
        }
        self.account_area(now);
        self.in_flight += 1;
        self.issued += 1;
        if answer == Submit::Accepted {
            self.flights[id].expected = self.checker.submitted(&command);
            self.alignment.count(&command);
        }
        if self.issuers[issuer as usize].advance(id.get()) {
            self.look_ahead(issuer);
        }
        if let Submit::Refused(status) = answer {
            // Answered by the main loop: a source full of such requests would else nest as deep.
            self.refused.push(Completion {
                id: command.id,
                status,
                at: now,
                content: 0,
                busy_for: Nanos::ZERO,
                spans: Spans::new(),
            });
        }
        true
    }

    /// Draws the next requests of an issuer and brings their map entries into the cache.
    pub(super) fn look_ahead(&mut self, issuer: u32) {
        let l = &mut self.issuers[issuer as usize];
        if let Err((request, due)) = l.refill() {
            self.error =
                Some(RunError::TimeRanBackwards { source_name: l.source().name().to_string(), request, due });
        }
        let ahead = self.issuers[issuer as usize].ahead();
        self.warmth ^= self.device.expect(ahead) ^ self.checker.expect(ahead);
        std::hint::black_box(self.warmth);
    }

    pub(super) fn take_completions(
        &mut self,
        completions: &mut Vec<Completion>,
        observer: &mut impl Observer<D>,
    ) {
        for completion in completions.iter_mut() {
            self.now = completion.at;
            self.take_completion(completion, observer);
        }
        completions.clear();
        let now = self.now;
        while let Some(&issuer) = self.blocked.front() {
            let due = match self.issuers[issuer as usize].next_due(now) {
                Due::Now(due) if !self.is_finished(now, issuer) => due,
                _ => {
                    self.unblock(issuer);
                    continue;
                }
            };
            if !self.submit(now, issuer, due) {
                break;
            }
            self.unblock(issuer);
            self.issue(now, issuer);
        }
    }

    /// An issuer has found the device full: the device's queue stalls from now on.
    fn block(&mut self, now: Time, issuer: u32) {
        self.issuers[issuer as usize].is_blocked = true;
        if self.blocked.is_empty() {
            self.blocked_since = now;
        }
        self.blocked.push_back(issuer);
    }

    fn unblock(&mut self, issuer: u32) {
        self.blocked.pop_front();
        self.issuers[issuer as usize].is_blocked = false;
        if self.blocked.is_empty() {
            self.account_stall(self.now);
        }
    }

    /// Counts the stall that lasts until `now`, as far as it lies in the measurement.
    fn account_stall(&mut self, now: Time) {
        if let Some(from) = self.measured_from {
            self.stats.queue_stall += now.since(self.blocked_since.max(from));
        }
        self.blocked_since = now;
    }

    /// A request has been answered: it is checked, counted, and followed by the next.
    #[inline]
    pub(super) fn take_completion(&mut self, completion: &mut Completion, observer: &mut impl Observer<D>) {
        let CommandId(slot) = completion.id;
        let flight = self.flights[FlightId::new(slot)];
        self.flights.release(FlightId::new(slot));
        let now = completion.at;
        self.account_area(now);
        if self.measured_from.is_some() {
            self.stats.in_device += u128::from(now.since(flight.submitted).0);
        }
        self.in_flight -= 1;
        self.completed += 1;
        self.note_moment(now);
        self.checker.completed(flight.op, completion, flight.expected, flight.number);
        let spans = &mut completion.spans;
        spans.add(Cause::HostQueue, flight.eligible.since(flight.due));
        spans.add(Cause::Tag, flight.submitted.since(flight.eligible));
        let spans = &completion.spans;
        let latency = now.since(flight.due);
        assert_eq!(spans.total(), latency, "request {}: the spans add up to the latency", flight.number);
        self.digest.add(flight.number);
        self.digest.add(now.0 ^ completion.content.rotate_left(32) ^ ((completion.status as u64) << 56));
        let request = Finished {
            number: flight.number,
            id: completion.id,
            source: flight.issuer,
            op: flight.op,
            fua: flight.fua,
            class: flight.class,
            status: completion.status,
            sector: flight.sector,
            sectors: flight.sectors,
            due: flight.due,
            submitted: flight.submitted,
            completed: now,
            latency,
            spans,
            counts: self.issuers[flight.issuer as usize].counts(flight.due)
                && self.measured_from.is_some_and(|from| flight.due >= from),
        };
        if request.counts {
            self.stats.record(&request);
        } else if self.measured_from.is_some() {
            self.stats.record_due_before(&request);
        }
        if is_success(request.status) {
            self.rounds.record(now, latency, u64::from(flight.sectors));
        }
        observer.request(&request);
        if self.limits.until_steady && self.rounds.has_just_become_steady() {
            self.close(now);
        }
        if let Some(at) = self.issuers[flight.issuer as usize].completed(now, slot, request.status) {
            if at <= now {
                self.issue(now, flight.issuer);
            } else if !self.closed {
                self.arrivals.set(flight.issuer as usize, at);
            }
        }
        if self.groups_left {
            self.end_group(now);
        }
    }

    /// Ends a run in which no time passes any more.
    #[inline]
    fn note_moment(&mut self, now: Time) {
        let (at, requests) = self.completed_at;
        self.completed_at = if now == at { (at, requests + 1) } else { (now, 1) };
        if self.completed_at.1 == super::AT_ONCE {
            self.error = Some(RunError::NoTimePasses { at: now, requests: super::AT_ONCE });
            self.close(now);
        }
    }

    /// Requests in flight, integrated over time, for Little's law.
    #[inline]
    fn account_area(&mut self, now: Time) {
        if self.measured_from.is_some() && now > self.area_since {
            self.stats.in_flight_area +=
                u128::from(now.since(self.area_since).0) * u128::from(self.in_flight);
            self.area_since = now;
        }
    }
}

/// A source's request as a command in a submission queue; `content` marks its data.
#[inline]
pub(crate) fn command_of(request: &tailcut_workload::Request, queue: u16, content: u32) -> Command {
    Command {
        id: CommandId(0),
        op: request.op,
        fua: request.fua,
        class: request.class,
        fail_fast: false,
        stream: request.stream,
        queue,
        sector: request.sector,
        sectors: request.sectors,
        content,
    }
}

/// True for an answer that is not an error.
pub(crate) fn is_success(status: Status) -> bool {
    status == Status::Success
}
