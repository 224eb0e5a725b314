//! The thread between TLS clients and the server.
//!
//! An iteration polls all sockets, transfers a piece of data for each client that has some, and advances one
//! of the handshakes. Handshakes are expensive: a signature takes as long as the encryption of some
//! megabytes. So clients that begin many handshakes slow each other down, and established clients only by a
//! part of an iteration.

use super::certificates::Certificates;
use super::link::{Buffers, Link, LinkState};
use super::{Crossing, Handshakes};
use crate::Clock;
use crate::reactor::{self, Event, EventLoop, Mailbox, Reactor, Slots, Spin, Token};
use crate::serve::server::{Limits, STOP_PATIENCE};
use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use tailcut_base::{Nanos, Time};

/// The running relay: the thread between TLS clients and the server.
#[derive(Debug)]
pub struct Relay {
    mailbox: Arc<Mailbox<Crossing>>,
    certificates: Arc<Mutex<Certificates>>,
    thread: JoinHandle<Handshakes>,
}

/// State of the relay's thread.
struct Links {
    /// For handshakes that begin; locked for one at a time.
    certificates: Arc<Mutex<Certificates>>,
    limits: Limits,
    clock: Clock,
    reactor: Reactor<Crossing>,
    slots: Slots<LinkSlot>,
    /// Established links with data to transfer.
    listed: VecDeque<u32>,
    /// Links in their handshake with data to transfer.
    shaking: VecDeque<u32>,
    /// Links whose server has closed, with the deadline by which the client may take the rest; by time.
    left: VecDeque<(Token, Time)>,
    buffers: Buffers,
    handshakes: Handshakes,
}

/// A link, and the lists that it is in.
struct LinkSlot {
    link: Link,
    /// It is in `listed` or `shaking`.
    is_listed: bool,
    /// It is in `left`.
    is_left: bool,
    /// When the client last took output.
    progress: Time,
}

impl Relay {
    /// Starts the relay, which reads `mailbox`.
    ///
    /// # Errors
    /// If the system is out of threads or descriptors.
    pub fn start(
        certificates: &Certificates,
        mailbox: Arc<Mailbox<Crossing>>,
        limits: Limits,
        clock: Clock,
    ) -> io::Result<Relay> {
        let certificates = Arc::new(Mutex::new(certificates.clone()));
        let links = Links {
            certificates: Arc::clone(&certificates),
            limits,
            clock,
            reactor: Reactor::new(Arc::clone(&mailbox), Spin::new(Nanos::ZERO), clock)?,
            slots: Slots::default(),
            listed: VecDeque::new(),
            shaking: VecDeque::new(),
            left: VecDeque::new(),
            buffers: Buffers::default(),
            handshakes: Handshakes::default(),
        };
        let thread = Builder::new().name("tls".into()).spawn(|| links.run())?;
        Ok(Relay { mailbox, certificates, thread })
    }

    /// Replaces the certificates for handshakes that begin from now on.
    pub fn renew(&self, certificates: Certificates) {
        *self.certificates.lock().unwrap_or_else(PoisonError::into_inner) = certificates;
    }

    /// Stops the relay once clients have taken their pending output; a client that has read none of it for
    /// 500 ms loses the rest. The server's ends of all links have to be closed; otherwise this waits for
    /// them.
    pub fn stop(self) -> Handshakes {
        self.mailbox.stop();
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Links {
    fn run(mut self) -> Handshakes {
        reactor::run(&mut self);
        self.handshakes
    }

    /// Joins two sockets. If that fails, both are closed.
    fn join(&mut self, crossing: Crossing) {
        let session = self.certificates.lock().unwrap_or_else(PoisonError::into_inner).session();
        let link = match session {
            Ok(session) => Link::new(crossing, session),
            Err(error) => return self.handshakes.fail(error.to_string()),
        };
        let progress = self.clock.now();
        let slot = self.slots.insert(LinkSlot { link, is_listed: false, is_left: false, progress });
        let (token, LinkSlot { link, .. }) = (self.slots.token(slot), &self.slots[slot]);
        let watches = link.outer.watch(&self.reactor, token).is_ok()
            && link.inner.watch(&self.reactor, token.second()).is_ok();
        if !watches {
            self.slots.remove(slot);
            return self.handshakes.fail(String::from("the system cannot watch more sockets"));
        }
        self.list(slot);
    }

    fn list(&mut self, slot: u32) {
        let LinkSlot { link, is_listed, .. } = &mut self.slots[slot];
        if !*is_listed {
            *is_listed = true;
            let line = if link.is_handshaking() { &mut self.shaking } else { &mut self.listed };
            line.push_back(slot);
        }
    }

    fn pump(&mut self, slot: u32) {
        let Some((token, place)) = self.slots.entry(slot) else { return };
        let LinkSlot { link, is_listed, is_left, progress } = place;
        *is_listed = false;
        let (was_handshaking, sent) = (link.is_handshaking(), link.sent());
        let state = link.pump(&mut self.buffers);
        if link.sent() > sent {
            *progress = self.clock.now();
        }
        self.handshakes.done += u64::from(was_handshaking && !link.is_handshaking());
        let leaves = link.is_left() && !std::mem::replace(is_left, link.is_left());
        if leaves && state != LinkState::Ends {
            self.left.push_back((token, self.clock.now() + self.limits.patience));
        }
        match state {
            LinkState::Busy => self.list(slot),
            LinkState::Rests => {
                link.outer.watch_for_room(&self.reactor, token);
                link.inner.watch_for_room(&self.reactor, token.second());
            }
            LinkState::Ends => drop(self.slots.remove(slot)),
            LinkState::Fails(why) => {
                self.handshakes.fail(why);
                self.slots.remove(slot);
            }
        }
    }

    /// Closes links whose server has closed, at their deadline or beyond a maximum number.
    fn see_off_the_late(&mut self) {
        while let Some(&(token, until)) = self.left.front() {
            let slot = self.slots.find(token);
            let is_late = self.left.len() > self.limits.handshakes || until <= self.clock.now();
            if slot.is_some() && !is_late {
                break;
            }
            self.left.pop_front();
            slot.and_then(|slot| self.slots.remove(slot));
        }
    }

    /// While the relay stops, closes links whose clients do not read their output.
    fn close_stuck(&mut self) {
        let now = self.clock.now();
        for slot in self.slots.all() {
            if self.slots.get(slot).is_some_and(|place| place.stop_deadline() <= now) {
                self.slots.remove(slot);
            }
        }
    }
}

impl LinkSlot {
    /// When a relay that stops closes the link: never while the client reads.
    fn stop_deadline(&self) -> Time {
        if self.link.is_stuck() { self.progress + STOP_PATIENCE } else { Time::NEVER }
    }
}

impl EventLoop for Links {
    type Message = Crossing;

    /// An iteration may take long: it transfers a piece for each client that has some.
    const POLL_EVERY: u32 = 1;

    fn reactor(&mut self) -> &mut Reactor<Crossing> {
        &mut self.reactor
    }

    fn iterate(&mut self, _: Time) {
        let mut crossings = self.reactor.receive();
        crossings.drain(..).for_each(|crossing| self.join(crossing));
        self.reactor.recycle(crossings);
        for _ in 0..self.listed.len() {
            let Some(slot) = self.listed.pop_front() else { break };
            self.pump(slot);
        }
        if let Some(slot) = self.shaking.pop_front() {
            self.pump(slot);
        }
        self.see_off_the_late();
        if self.reactor.is_stopping() {
            self.close_stuck();
        }
    }

    fn is_done(&mut self) -> bool {
        self.reactor.is_stopping() && self.slots.is_empty()
    }

    fn note_event(&mut self, event: Event) {
        let Some(slot) = self.slots.find(event.token()) else { return };
        let LinkSlot { link, .. } = &mut self.slots[slot];
        let socket = if event.token().is_second() { &mut link.inner } else { &mut link.outer };
        socket.note(event);
        self.list(slot);
    }

    fn has_work(&mut self, _: Time) -> bool {
        !self.listed.is_empty() || !self.shaking.is_empty()
    }

    fn deadline(&mut self, _: Time) -> Time {
        let left = self.left.front().map_or(Time::NEVER, |&(_, until)| until);
        if !self.reactor.is_stopping() {
            return left;
        }
        let stuck = self.slots.all().filter_map(|slot| self.slots.get(slot)).map(LinkSlot::stop_deadline);
        stuck.fold(left, Time::min)
    }
}

impl Handshakes {
    fn fail(&mut self, why: String) {
        self.failed += 1;
        self.last_failure = Some(why);
    }
}
