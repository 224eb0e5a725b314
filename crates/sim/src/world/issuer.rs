//! An issuer: one source at work, with the requests drawn ahead of their time.

use super::command_of;
use std::collections::VecDeque;
use tailcut_base::{Command, Nanos, Op, Status, Time};
use tailcut_workload::{DrivenRequest, Pace, Request, Schedule, Source};

/// How many requests are drawn ahead, so that their map entries can be fetched together.
const AHEAD: usize = 48;

/// When the next request of a issuer is issued.
pub(super) enum Due {
    /// It is due; its latency counts from the moment given.
    Now(Time),
    /// A request is due at that moment.
    At(Time),
    /// When one of its requests completes.
    AfterCompletion,
    /// There is none.
    Never,
    /// When a request of a driven source completes: it has nothing to do by itself.
    AfterAnswer,
}

/// How far an open loop is behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Time in which it has issued.
    run: Nanos,
    /// By how much the next request is late; where all have been issued, the last.
    lateness: Nanos,
    /// Since the last request that was on time.
    age: Nanos,
    /// Requests issued.
    issued: u64,
    /// Its source has no further request.
    is_complete: bool,
    /// Requests that its source has in all, if known.
    most: Option<u64>,
}

impl Backlog {
    pub(super) fn lateness(&self) -> Nanos {
        self.lateness
    }

    pub(super) fn age(&self) -> Nanos {
        self.age
    }

    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// True if its source has ended, and all of its requests have been issued.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// True if the next request is late by more than a twentieth of the run.
    pub(super) fn is_late(&self) -> bool {
        self.lateness * 20 > self.run && self.lateness < self.run
    }

    /// True if it is late, and no request was on time in the last half of the run. A device that has been
    /// behind for less may have stalled, and catch up.
    pub(super) fn is_overload(&self) -> bool {
        self.is_late() && self.age * 2 >= self.run
    }

    /// Requests due in the run, about. What was due beyond the requests issued is taken from those.
    pub(super) fn due(&self) -> u64 {
        if self.is_complete {
            return self.issued;
        }
        let issued_by = self.run.0 - self.lateness.0.min(self.run.0 - 1);
        let due = (self.issued as f64 * self.run.0 as f64 / issued_by as f64) as u64;
        self.most.map_or(due, |most| due.min(most).max(self.issued))
    }
}

/// The group of sources that prepare the device; those of all others come behind it.
pub(super) const PREPARING: u32 = 0;

pub(super) struct Issuer {
    source: Box<dyn Source>,
    /// The submission queue that its commands are in.
    queue: u16,
    pace: Pace,
    depth: u32,
    drawn: Vec<Request>,
    commands: Vec<Command>,
    at: usize,
    number: u64,
    in_flight: u32,
    /// Closed loop: when each free place may issue again.
    ready: Ready,
    /// Since when the issuer has had room for another request.
    room_since: Time,
    /// Open loop: when a request was last on time.
    on_time: Time,
    /// Open loop: when the last request was issued, and when it was due.
    last_issue: (Time, Time),
    last_due: Time,
    /// When it begins and stops to issue; known when its group starts.
    start: Time,
    stop: Time,
    schedule: Schedule,
    /// Closed loop: requests that share one pause, and how many of them have been issued.
    think_every: u32,
    batch: u32,
    /// Its source has no further request.
    ended: bool,
    driven: Driven,
    /// Sectors of a logical block of the device.
    block_sectors: u32,
    /// Requests that were widened to whole blocks.
    widened: u64,
    pub(super) is_blocked: bool,
}

/// What only the issuer of a [`Pace::Driven`] source needs.
#[derive(Debug, Default)]
struct Driven {
    /// Tokens of the commands that have not been submitted yet, beside them.
    waiting: Vec<u64>,
    /// Tokens of those in flight, by slot.
    in_flight: Vec<u64>,
    asked: Vec<DrivenRequest>,
}

impl Issuer {
    pub(super) fn new(source: Box<dyn Source>, queue: u16, block_sectors: u32) -> Issuer {
        let pace = source.pace();
        let (Pace::Closed { depth, .. } | Pace::Open { depth } | Pace::Driven { depth }) = pace;
        assert!(depth > 0, "a source has at least one request in flight");
        let schedule = source.schedule();
        let think_every = source.think_every();
        assert!(think_every > 0, "a pause is shared by one request at least");
        Issuer {
            source,
            queue,
            pace,
            depth,
            drawn: Vec::with_capacity(AHEAD),
            commands: Vec::with_capacity(AHEAD),
            at: 0,
            number: 0,
            in_flight: 0,
            ready: Ready::default(),
            room_since: Time::ZERO,
            on_time: Time::ZERO,
            last_issue: (Time::ZERO, Time::ZERO),
            last_due: Time::ZERO,
            start: Time::NEVER,
            stop: Time::NEVER,
            schedule,
            think_every,
            batch: 0,
            ended: false,
            driven: Driven::default(),
            block_sectors,
            widened: 0,
            is_blocked: false,
        }
    }

    pub(super) fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// The group that it runs in.
    pub(super) fn group(&self) -> u32 {
        if self.source.prepares() { PREPARING } else { PREPARING + 1 + self.schedule.group }
    }

    /// Requests that were widened to whole blocks of the device.
    pub(super) fn widened(&self) -> u64 {
        self.widened
    }

    /// A command for a device whose blocks are larger than a sector begins and ends on their bounds, as
    /// a file system keeps to them.
    fn widen(&mut self, index: usize) {
        let block = u64::from(self.block_sectors);
        let command = &mut self.commands[index];
        if !matches!(command.op, Op::Read | Op::Write) {
            return;
        }
        let (first, end) = (command.sector, command.sector + u64::from(command.sectors));
        command.sector = first / block * block;
        command.sectors = (end.next_multiple_of(block) - command.sector) as u32;
        self.widened += u64::from(command.sector != first || !end.is_multiple_of(block));
    }

    /// Does so with all that have been drawn and not been issued.
    #[cold]
    fn widen_drawn(&mut self) {
        for index in self.at..self.commands.len() {
            self.widen(index);
        }
    }

    /// Its group starts at `now`. Returns the moment of its first request.
    pub(super) fn open(&mut self, now: Time) -> Time {
        self.start = now + self.schedule.start;
        self.stop = self.schedule.until.map_or(Time::NEVER, |length| self.start + length);
        self.room_since = self.start;
        self.on_time = self.start;
        if matches!(self.pace, Pace::Closed { .. }) {
            self.ready.fill(self.depth, self.start);
        }
        self.start
    }

    /// True when it issues nothing more.
    #[inline]
    pub(super) fn is_finished(&self, now: Time) -> bool {
        now >= self.stop || (self.ended && self.start <= now)
    }

    /// True when it issues nothing more and all of its requests are answered.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        self.is_finished(now) && self.in_flight == 0
    }

    /// From the start of its group until its requests count; zero without a ramp.
    pub(super) fn ramp(&self) -> Nanos {
        let Schedule { start, ramp, .. } = self.schedule;
        if ramp == Nanos::ZERO { ramp } else { start + ramp }
    }

    /// True when a request that was due at `due` counts in statistics.
    #[inline]
    pub(super) fn counts(&self, due: Time) -> bool {
        due >= self.start + self.schedule.ramp
    }

    /// Draws the next requests, when the last of those drawn has been issued.
    pub(super) fn refill(&mut self) -> Result<(), (u64, Time)> {
        self.drawn.clear();
        self.commands.clear();
        self.at = 0;
        if matches!(self.pace, Pace::Driven { .. }) {
            self.driven.waiting.clear();
            return Ok(());
        }
        self.source.draw(AHEAD, &mut self.drawn);
        self.ended = self.drawn.is_empty();
        for request in &self.drawn {
            self.commands.push(command_of(request, self.queue, content_of(self.number)));
            self.number += 1;
            if matches!(self.pace, Pace::Open { .. }) {
                if request.due < self.last_due {
                    return Err((self.number - 1, request.due));
                }
                self.last_due = request.due;
            }
        }
        if self.block_sectors > 1 {
            self.widen_drawn();
        }
        Ok(())
    }

    /// The commands drawn ahead.
    pub(super) fn ahead(&self) -> &[Command] {
        &self.commands
    }

    /// The next command.
    #[inline]
    pub(super) fn peek(&self) -> &Command {
        &self.commands[self.at]
    }

    /// When the next request is issued.
    #[inline]
    pub(super) fn next_due(&mut self, now: Time) -> Due {
        let Some(request) = self.drawn.get(self.at) else { return self.drive(now) };
        match self.pace {
            Pace::Closed { .. } if self.batch == self.think_every && self.think_every > 1 => {
                Due::AfterCompletion
            }
            Pace::Closed { .. } => match self.ready.first {
                Some(at) if at <= now => Due::Now(at),
                Some(at) => Due::At(at.min(self.stop)),
                None => Due::AfterCompletion,
            },
            Pace::Open { .. } => {
                let due = self.start + Nanos(request.due.0);
                if due > now {
                    Due::At(due.min(self.stop))
                } else if self.in_flight < self.depth {
                    Due::Now(due)
                } else {
                    Due::AfterCompletion
                }
            }
            Pace::Driven { .. } => Due::Now(self.start + Nanos(request.due.0)),
        }
    }

    /// Lets a driven source do what it has to do up to `now`. Any other source, asked here, has come
    /// to its end.
    #[cold]
    pub(super) fn drive(&mut self, now: Time) -> Due {
        if !matches!(self.pace, Pace::Driven { .. }) {
            return Due::Never;
        }
        if now < self.start {
            return Due::At(self.start);
        }
        self.source.advance(Time(now.since(self.start).0), &mut self.driven.asked);
        for DrivenRequest { request, token } in self.driven.asked.drain(..) {
            assert!(self.start + Nanos(request.due.0) <= now, "a request is asked for when it is due");
            self.commands.push(command_of(&request, self.queue, content_of(self.number)));
            self.number += 1;
            self.drawn.push(request);
            self.driven.waiting.push(token);
        }
        if self.block_sectors > 1 {
            self.widen_drawn();
        }
        let next = self.source.next_event();
        if let Some(request) = self.drawn.get(self.at) {
            return Due::Now(self.start + Nanos(request.due.0));
        }
        if next != Time::NEVER {
            return Due::At((self.start + Nanos(next.0)).min(self.stop));
        }
        self.ended = self.in_flight == 0;
        if self.ended { Due::Never } else { Due::AfterAnswer }
    }

    /// When a driven source that waits for the device next has something to do by itself, after it
    /// has done what there was until `now`.
    #[cold]
    pub(super) fn drive_blocked(&mut self, now: Time) -> Option<Time> {
        if !matches!(self.pace, Pace::Driven { .. }) {
            return None;
        }
        self.drive(now);
        let next = self.source.next_event();
        (next != Time::NEVER).then(|| (self.start + Nanos(next.0)).min(self.stop))
    }

    /// How far an open loop is behind; None for other sources, and before its start.
    pub(super) fn backlog(&self, now: Time) -> Option<Backlog> {
        let end = now.min(self.stop);
        if !matches!(self.pace, Pace::Open { .. }) || self.group() == PREPARING || self.start >= end {
            return None;
        }
        let issued = self.number - (self.drawn.len() - self.at) as u64;
        if self.ended && issued > 0 {
            let (at, due) = self.last_issue;
            return Some(Backlog {
                run: at.since(self.start),
                lateness: at.since(due),
                age: at.since(self.on_time),
                issued,
                is_complete: true,
                most: None,
            });
        }
        // What is due after its end is not late.
        let due = self.drawn.get(self.at).map_or(end, |request| self.start + Nanos(request.due.0));
        Some(Backlog {
            run: end.since(self.start),
            lateness: end.since(due.min(end)),
            age: end.since(self.on_time.min(end)),
            issued,
            is_complete: false,
            most: self.source.len_hint(),
        })
    }

    /// When the issuer had room for a request that was due at `due`.
    #[inline]
    pub(super) fn eligible(&mut self, now: Time, due: Time) -> Time {
        match self.pace {
            Pace::Closed { .. } | Pace::Driven { .. } => due,
            Pace::Open { .. } => {
                if due == now {
                    self.on_time = now;
                }
                self.last_issue = (now, due);
                due.max(self.room_since).min(now)
            }
        }
    }

    /// The next request has been issued as the flight `slot`; true when more must be drawn.
    #[inline]
    pub(super) fn advance(&mut self, slot: u32) -> bool {
        self.at += 1;
        self.in_flight += 1;
        if matches!(self.pace, Pace::Closed { .. }) {
            self.ready.pop();
            self.batch += u32::from(self.think_every > 1);
        } else if matches!(self.pace, Pace::Driven { .. }) {
            self.remember(slot);
        }
        self.at == self.commands.len()
    }

    /// Keeps the token of the request that has just been issued.
    #[cold]
    fn remember(&mut self, slot: u32) {
        assert!(self.in_flight <= self.depth, "a driven source keeps to its depth");
        let slots = &mut self.driven.in_flight;
        slots.resize(slots.len().max(slot as usize + 1), 0);
        slots[slot as usize] = self.driven.waiting[self.at - 1];
    }

    /// The request in flight as `slot` has been answered; when the issuer may issue again because of
    /// it.
    #[inline]
    pub(super) fn completed(&mut self, now: Time, slot: u32, status: Status) -> Option<Time> {
        self.in_flight -= 1;
        match self.pace {
            Pace::Closed { think, .. } => {
                if self.think_every == 1 {
                    self.ready.push(now + think);
                } else {
                    self.end_batch(now, think);
                }
                self.ready.first
            }
            Pace::Open { .. } => {
                if self.in_flight + 1 == self.depth {
                    self.room_since = now;
                }
                // A request that is due waits for this place.
                (self.in_flight + 1 == self.depth).then_some(now)
            }
            Pace::Driven { .. } => {
                let token = self.driven.in_flight[slot as usize];
                self.source.answered(Time(now.since(self.start).0), token, status);
                Some(now)
            }
        }
    }

    /// One of several requests that share a pause has been answered: the last one begins it.
    fn end_batch(&mut self, now: Time, think: Nanos) {
        if self.batch < self.think_every {
            self.ready.push(now);
        } else if self.in_flight == 0 {
            self.batch = 0;
            self.ready.fill(self.depth, now + think);
        }
    }
}

/// What marks the data of a source's request: distinct for all requests of a run up to 2^32 of one
/// source.
#[inline]
fn content_of(number: u64) -> u32 {
    (number as u32).wrapping_mul(0x9E37_79B1).wrapping_add(0x51ED_270B)
}

/// Moments in ascending order. There is mostly one, which stands apart from the queue.
#[derive(Debug, Default)]
struct Ready {
    first: Option<Time>,
    rest: VecDeque<Time>,
}

impl Ready {
    #[inline]
    fn push(&mut self, at: Time) {
        match self.first {
            None => self.first = Some(at),
            Some(_) => self.rest.push_back(at),
        }
    }

    #[inline]
    fn pop(&mut self) {
        self.first = self.rest.pop_front();
    }

    fn fill(&mut self, count: u32, at: Time) {
        self.first = Some(at);
        self.rest = (1..count).map(|_| at).collect();
    }
}
