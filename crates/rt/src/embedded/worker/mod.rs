//! The thread of a store, which has exclusive access to the engine and its drive.
//!
//! An iteration executes new operations, submits the engine's requests to the drive, processes the drive's
//! completions, and delivers completions to callers. Without work, the thread sleeps until the drive or a
//! caller wakes it.

mod admin;
mod attempt;
mod ending;

pub(super) use admin::AdminRequest;
pub(super) use ending::WorkerResult;

use super::error::Error;
use super::operation::{Operation, Outcome};
use super::queue::{CompletionBatch, Requester};
use super::statistics::Statistics;
use super::store::Settings;
use crate::Clock;
use crate::ctl::Steered;
use crate::drive::Answers;
use crate::reactor::{self, EDGE, EventLoop, Mailbox, Reactor, Spin, Token};
use admin::Calls;
use attempt::Attempt;
use ending::Ending;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::ids::Slab;
use tailcut_base::{Nanos, Time, id};
use tailcut_host::kv::{Engine, Fetched, WriteNumber};

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// An operation to execute.
    Operation(Operation, Requester),
    /// An administrative request.
    AdminRequest(AdminRequest),
}

id! {
    /// A waiting operation.
    struct OperationId;
}

/// An engine, and the drive below it.
pub(super) struct Worker<D> {
    engine: Engine,
    /// None if all items are in memory.
    drive: Option<D>,
    answers: Answers,
    settings: Settings,
    /// Seconds of Unix time in this iteration.
    unix: u32,
    reactor: Reactor<Message>,
    /// Dropped with the worker, however that ends.
    _closing: Closing,
    /// Operations that wait for an item on flash, or for a drive that is behind, by id.
    waiting: Slab<OperationId, (Operation, Requester)>,
    /// Those of them that wait for a drive that is behind.
    stuck: VecDeque<OperationId>,
    /// Executed operations that wait to be durable, in the order of their points; `None` before the next
    /// sync.
    undurable: VecDeque<(Option<WriteNumber>, Outcome, Operation, Requester)>,
    /// Batch of completions to deliver.
    news: CompletionBatch,
    calls: Calls,
    statistics: Statistics,
    ending: Ending,
}

/// Closes the mailbox when the thread ends for any reason.
struct Closing(Arc<Mailbox<Message>>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.stop();
        // Dropping the messages completes the operations that they carry.
        self.0.take(&mut Vec::new());
    }
}

impl<D: Steered> Worker<D> {
    /// A worker. Fails if the system is out of descriptors.
    pub(super) fn new(
        engine: Engine,
        drive: Option<D>,
        settings: Settings,
        mailbox: Arc<Mailbox<Message>>,
        clock: Clock,
    ) -> io::Result<Worker<D>> {
        let reactor = Reactor::new(Arc::clone(&mailbox), Spin::new(Nanos::ZERO), clock)?;
        if let Some(wakes) = drive.as_ref().and_then(|drive| drive.wakes()) {
            reactor.watch(wakes, Token::source(0), EDGE)?;
        }
        Ok(Worker {
            engine,
            drive,
            answers: Answers::default(),
            settings,
            unix: 0,
            reactor,
            _closing: Closing(mailbox),
            waiting: Slab::new(),
            stuck: VecDeque::new(),
            undurable: VecDeque::new(),
            news: CompletionBatch::default(),
            calls: Calls::default(),
            statistics: Statistics::default(),
            ending: Ending::Not,
        })
    }

    /// Serves until it is asked to stop. Then completes operations in flight, and makes changes durable.
    pub(super) fn run(mut self) -> WorkerResult {
        reactor::run(&mut self);
        let is_durable = self.ending == Ending::Done { is_durable: true };
        WorkerResult { statistics: self.statistics(), is_durable }
    }

    fn receive(&mut self, now: Time) {
        let mut messages = self.reactor.receive();
        if self.reactor.is_stopping() {
            self.begin_end(now);
        }
        for message in messages.drain(..) {
            match message {
                Message::Operation(operation, requester) => self.try_once(operation, requester, None),
                Message::AdminRequest(request) => self.answer(request, now),
            }
        }
        self.reactor.recycle(messages);
        self.news.deliver();
    }

    /// Submits requests to the drive, and processes its completions.
    fn carry_out(&mut self, now: Time) {
        loop {
            let (mut has_moved, mut has_room) = (false, false);
            self.sync();
            while let Some(request) = self.engine.next_request() {
                let drive = self.drive.as_mut().expect("an engine in memory asks for nothing");
                drive.submit(now, request);
                has_moved = true;
            }
            if let Some(drive) = &mut self.drive {
                drive.poll(now, &mut self.answers);
            }
            for response in self.answers.responses.drain(..) {
                has_room |= self.engine.respond(response);
                has_moved = true;
            }
            self.note_replies(now);
            while let Some(fetched) = self.engine.next_fetched() {
                self.resume(fetched);
                has_moved = true;
            }
            if has_moved {
                self.note_progress(now);
            }
            has_moved |= self.retry(has_room);
            self.tell_durable();
            self.news.deliver();
            if !has_moved {
                break;
            }
        }
    }

    /// Resumes the operation that waits for a fetched item.
    fn resume(&mut self, fetched: Fetched) {
        let (operation, requester) = self.waiting.remove(OperationId::new(fetched.ticket));
        self.try_once(operation, requester, Some(&fetched));
        self.engine.give_back(fetched);
    }

    /// Retries operations that wait for a drive that is behind, longest wait first, when there may be room
    /// for them or the drive is idle. True if any operation made progress.
    fn retry(&mut self, has_room: bool) -> bool {
        let before = self.stuck.len();
        if before == 0 || !(has_room || self.engine.is_idle()) {
            return false;
        }
        for _ in 0..before {
            let ticket = self.stuck.pop_front().expect("there were so many");
            let (operation, requester) = self.waiting.remove(ticket);
            self.try_once(operation, requester, None);
        }
        self.stuck.len() < before
    }

    /// Attempts an operation, which completes, or waits for an item or the drive.
    fn try_once(&mut self, mut operation: Operation, requester: Requester, fetched: Option<&Fetched>) {
        match self.attempt(&mut operation, fetched) {
            Attempt::Done(result) => self.complete(result, operation, requester),
            Attempt::Changed(outcome) => self.undurable.push_back((None, outcome, operation, requester)),
            Attempt::OnFlash { counts } => {
                let ticket = self.waiting.insert((operation, requester));
                self.engine.fetch(self.waiting[ticket].0.key(), ticket.get(), counts);
            }
            // After a failure the drive accepts no more writes, so there is no room to wait for.
            Attempt::Behind if self.engine.has_failed() => {
                self.complete(Err(Error::DriveFailed), operation, requester)
            }
            Attempt::Behind => {
                self.stuck.push_back(self.waiting.insert((operation, requester)));
            }
        }
    }

    fn complete(&mut self, result: Result<Outcome, Error>, operation: Operation, requester: Requester) {
        self.note(&operation, result);
        self.news.add(requester, result, operation.data);
    }

    /// Starts making executed changes durable.
    fn sync(&mut self) {
        if self.undurable.back().is_none_or(|(point, ..)| point.is_some()) {
            return;
        }
        let now = Some(self.engine.sync());
        let new = self.undurable.iter_mut().rev().take_while(|(point, ..)| point.is_none());
        new.for_each(|(point, ..)| *point = now);
    }

    fn tell_durable(&mut self) {
        let (durable, has_failed) = (self.engine.durable(), self.engine.has_failed());
        let is_over = |(point, ..): &(Option<WriteNumber>, Outcome, Operation, Requester)| {
            has_failed || point.is_some_and(|point| point <= durable)
        };
        while self.undurable.front().is_some_and(is_over) {
            let (point, outcome, operation, requester) = self.undurable.pop_front().expect("there is one");
            let is_durable = point.is_some_and(|point| point <= durable);
            let result = match is_durable {
                true => Ok(outcome),
                false if self.engine.is_full() => Err(Error::Full),
                false => Err(Error::DriveFailed),
            };
            self.complete(result, operation, requester);
        }
    }
}

impl<D: Steered> EventLoop for Worker<D> {
    type Message = Message;

    /// Each iteration polls all sources, whether an event has announced work or not.
    const POLL_EVERY: u32 = u32::MAX;

    fn reactor(&mut self) -> &mut Reactor<Message> {
        &mut self.reactor
    }

    fn iterate(&mut self, now: Time) {
        self.unix = unix_seconds();
        self.engine.tick(now, self.unix);
        self.receive(now);
        self.carry_out(now);
        self.wind_down(now);
    }

    fn is_done(&mut self) -> bool {
        matches!(self.ending, Ending::Done { .. })
    }

    fn has_work(&mut self, now: Time) -> bool {
        self.deadline(now) <= now
    }

    fn deadline(&mut self, _: Time) -> Time {
        let of_drive = self.drive.as_ref().map_or(Time::NEVER, |drive| drive.next_event());
        of_drive.min(self.engine.next_event()).min(self.ending.deadline())
    }

    fn arm(&mut self) -> bool {
        self.drive.as_mut().is_none_or(|drive| drive.arm())
    }
}

/// Seconds of Unix time by the wall clock, which may be set at any time.
fn unix_seconds() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    u32::try_from(since).unwrap_or(u32::MAX)
}
