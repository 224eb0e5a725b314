//! The thread of a store: it has the engine and its drive, and nobody else does.
//!
//! A turn: carry out what has come; hand what the engine wants to the drive, and take what it has ready; tell
//! who asked. If there is nothing to do, it sleeps until the drive or a caller wakes it.

mod admin;
mod attempt;
mod ending;
mod resting;

pub use admin::AdminRequest;
pub use ending::Ended;

use super::error::Error;
use super::inbox::Inbox;
use super::operation::{Operation, Outcome};
use super::queue::{News, Requester};
use super::statistics::Statistics;
use super::store::Settings;
use crate::Clock;
use crate::ctl::Steered;
use crate::drive::Answers;
use admin::Calls;
use attempt::Attempt;
use ending::Ending;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::ids::Slab;
use tailcut_base::{Time, id};
use tailcut_host::kv::{Engine, Fetched};

/// What comes to the thread.
#[derive(Debug)]
pub enum Message {
    /// Something is to be done.
    Operation(Operation, Requester),
    /// Something is to be known.
    AdminRequest(AdminRequest),
}

id! {
    /// A waiting operation.
    struct OperationId;
}

/// An engine, and the drive below it.
pub struct Worker<D> {
    engine: Engine,
    /// None where everything is in memory.
    drive: Option<D>,
    answers: Answers,
    settings: Settings,
    clock: Clock,
    /// Seconds of Unix time in this turn.
    unix: u32,
    epoll: OwnedFd,
    inbox: Closing,
    /// What was taken from it.
    messages: Vec<Message>,
    /// Operations that wait for an item on flash, or for a drive that is behind; by their ids.
    waiting: Slab<OperationId, (Operation, Requester)>,
    /// Those of them that wait for a drive that is behind.
    stuck: VecDeque<OperationId>,
    /// Operations that are done, and wait until it is durable, in the order of their points; without one
    /// before the next sync.
    undurable: VecDeque<(Option<u64>, Outcome, Operation, Requester)>,
    /// Operations that have ended.
    news: News,
    calls: Calls,
    statistics: Statistics,
    ending: Ending,
}

/// The inbox, which takes nothing more when the thread has ended, however it has.
struct Closing(Arc<Inbox<Message>>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
        // Dropping the messages completes the operations that they carry.
        self.0.take(&mut Vec::new());
    }
}

impl<D: Steered> Worker<D> {
    /// A worker. Fails when the system has no descriptors left.
    pub fn new(
        engine: Engine,
        drive: Option<D>,
        settings: Settings,
        inbox: Arc<Inbox<Message>>,
        clock: Clock,
    ) -> io::Result<Worker<D>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*inbox, EventData::new_u64(0), EventFlags::IN)?;
        if let Some(wakes) = drive.as_ref().and_then(|drive| drive.wakes()) {
            epoll::add(&epoll, wakes, EventData::new_u64(1), EventFlags::IN)?;
        }
        Ok(Worker {
            engine,
            drive,
            answers: Answers::default(),
            settings,
            clock,
            unix: 0,
            epoll,
            inbox: Closing(inbox),
            messages: Vec::new(),
            waiting: Slab::new(),
            stuck: VecDeque::new(),
            undurable: VecDeque::new(),
            news: News::default(),
            calls: Calls::default(),
            statistics: Statistics::default(),
            ending: Ending::Not,
        })
    }

    /// Serves until nothing more comes. Then what is under way is completed, and what was changed is made
    /// durable.
    pub fn run(mut self) -> Ended {
        loop {
            self.turn();
            if let Ending::Done { is_durable } = self.ending {
                return Ended { statistics: self.statistics(), is_durable };
            }
            self.rest();
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.unix = unix_seconds();
        self.engine.tick(now, self.unix);
        self.receive(now);
        self.carry_out(now);
        self.wind_down(now);
    }

    fn receive(&mut self, now: Time) {
        let mut messages = std::mem::take(&mut self.messages);
        if !self.inbox.0.take(&mut messages) {
            self.begin_end(now);
        }
        for message in messages.drain(..) {
            match message {
                Message::Operation(operation, requester) => self.try_once(operation, requester, None),
                Message::AdminRequest(request) => self.answer(request, now),
            }
        }
        self.messages = messages;
        self.news.tell();
    }

    /// What the drive takes, and what it has ready.
    fn carry_out(&mut self, now: Time) {
        loop {
            let mut has_moved = false;
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
                self.engine.respond(response);
                has_moved = true;
            }
            self.note_replies(now);
            while let Some(fetched) = self.engine.next_fetched() {
                self.go_on(fetched);
                has_moved = true;
            }
            if has_moved {
                self.note_progress(now);
            }
            has_moved |= self.retry(has_moved);
            self.tell_durable();
            self.news.tell();
            if !has_moved {
                break;
            }
        }
    }

    /// An item has come for who waits for it.
    fn go_on(&mut self, fetched: Fetched) {
        let (operation, requester) = self.waiting.remove(OperationId::new(fetched.ticket));
        self.try_once(operation, requester, Some(&fetched));
        self.engine.give_back(fetched);
    }

    /// Those who wait for a drive that is behind try again when it has moved, or has nothing to do; who has
    /// waited longest is first. True if one has got on.
    fn retry(&mut self, has_moved: bool) -> bool {
        let before = self.stuck.len();
        if before == 0 || !(has_moved || self.engine.is_idle()) {
            return false;
        }
        for _ in 0..before {
            let ticket = self.stuck.pop_front().expect("there were so many");
            let (operation, requester) = self.waiting.remove(ticket);
            self.try_once(operation, requester, None);
        }
        self.stuck.len() < before
    }

    /// Tries an operation, which ends, or waits for what is missing.
    fn try_once(&mut self, mut operation: Operation, requester: Requester, fetched: Option<&Fetched>) {
        match self.attempt(&mut operation, fetched) {
            Attempt::Done(result) => self.tell(result, operation, requester),
            Attempt::Changed(outcome) => self.undurable.push_back((None, outcome, operation, requester)),
            Attempt::OnFlash { counts } => {
                let ticket = self.waiting.insert((operation, requester));
                self.engine.fetch(self.waiting[ticket].0.key(), ticket.get(), counts);
            }
            // Where nothing is written any more, nobody waits for room.
            Attempt::Behind if self.engine.has_failed() => {
                self.tell(Err(Error::DriveFailed), operation, requester)
            }
            Attempt::Behind => {
                self.stuck.push_back(self.waiting.insert((operation, requester)));
            }
        }
    }

    fn tell(&mut self, result: Result<Outcome, Error>, operation: Operation, requester: Requester) {
        self.note(&operation, result);
        self.news.add(requester, result, operation.data);
    }

    /// What was done is on its way to the drive.
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
        let is_over = |(point, ..): &(Option<u64>, Outcome, Operation, Requester)| {
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
            self.tell(result, operation, requester);
        }
    }
}

/// By the clock on the wall, which may be set.
fn unix_seconds() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    u32::try_from(since).unwrap_or(u32::MAX)
}
