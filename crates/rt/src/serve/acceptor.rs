//! The acceptor's thread: accepts connections, carries out their handshakes, and hands them to the services.
//!
//! The cost of pending connections is bounded: their number is limited, one too many disconnects the oldest,
//! and each handshake has a deadline. A slow handshake delays no other connection.

use super::heartbeats::Heartbeats;
use super::server::Limits;
use super::service::{Arrival, Message};
use super::tls::Gate;
use crate::Clock;
use crate::listener::Listener;
use crate::reactor::{
    self, Accepted, Event, EventLoop, Listeners, Mailbox, READABLE, Reactor, Slots, Spin, Token, WRITABLE,
};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tailcut_base::{Class, Nanos, Time};
use tailcut_host::wire::nbd::{Handshake, Offer, Rules, Step, Terms};

/// The service that gets the connections of an export.
#[derive(Clone, Debug)]
pub struct Route {
    /// The mailbox of the service that serves the export.
    pub mailbox: Arc<Mailbox<Message>>,
    /// The latency class of reads through this variant of the export.
    pub class: Class,
}

/// Accepts connections and carries out their handshakes.
pub struct Acceptor {
    listeners: Listeners,
    offer: Offer,
    routes: Vec<Route>,
    /// The gate to the relay, if TLS is offered.
    gate: Option<Gate>,
    open_connections: Arc<AtomicUsize>,
    limits: Limits,
    clock: Clock,
    reactor: Reactor<()>,
    pending: Slots<PendingConnection>,
    /// Pending connections, oldest first; some have been closed.
    order: VecDeque<Token>,
    turned_away: u64,
    /// How often accepting was paused.
    exhausted: Arc<AtomicU64>,
    /// Heartbeats of this thread; a message requests one.
    heartbeats: Arc<Heartbeats>,
    buffer: Vec<u8>,
}

/// A connection in its handshake.
struct PendingConnection {
    socket: OwnedFd,
    handshake: Handshake,
    /// Input received but not parsed, because output has to be sent first.
    input: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    verdict: Step,
    waits_for_room: bool,
    deadline: Time,
}

/// What becomes of a pending connection.
enum HandshakeState {
    Stays,
    Goes,
    /// It continues behind the TLS relay.
    Encrypts,
    Enters(Terms),
}

impl Acceptor {
    /// An acceptor for `listener` that offers the exports of `offer`, each with its route; with a gate if it
    /// offers TLS. `stop` stops it.
    ///
    /// # Errors
    /// The error of epoll or an eventfd: the process has too many open files, or the system lacks memory.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        listener: Listener,
        offer: Offer,
        routes: Vec<Route>,
        gate: Option<Gate>,
        stop: Arc<Mailbox<()>>,
        open_connections: Arc<AtomicUsize>,
        limits: Limits,
        clock: Clock,
    ) -> io::Result<Acceptor> {
        let reactor = Reactor::new(stop, Spin::new(Nanos::ZERO), clock)?;
        let listeners = Listeners::new(vec![listener], LISTENER);
        listeners.watch(&reactor)?;
        Ok(Acceptor {
            listeners,
            offer,
            routes,
            gate,
            open_connections,
            limits,
            clock,
            reactor,
            pending: Slots::default(),
            order: VecDeque::new(),
            turned_away: 0,
            exhausted: Arc::default(),
            heartbeats: Arc::default(),
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    /// Accepts connections until it is asked to stop. Returns the number of connections it refused.
    pub fn run(mut self) -> u64 {
        reactor::run(&mut self);
        self.turned_away
    }

    fn accept_connections(&mut self) {
        for _ in 0..AT_ONCE {
            match self.listeners.accept(LISTENER) {
                Accepted::Connection(socket) => self.welcome(socket),
                Accepted::Nothing => return,
                Accepted::Exhausted => return self.pause(),
                Accepted::Aborted => {}
            }
        }
    }

    /// Pauses accepting, and disconnects the oldest pending connection.
    fn pause(&mut self) {
        self.exhausted.fetch_add(1, Ordering::Relaxed);
        self.turn_away_oldest();
        self.listeners.pause(&self.reactor, self.clock.now());
    }

    fn welcome(&mut self, socket: OwnedFd) {
        if self.open_connections.load(Ordering::Relaxed) >= self.limits.connections {
            self.turned_away += 1;
            return;
        }
        if self.pending.len() >= self.limits.handshakes {
            self.turn_away_oldest();
        }
        let mut out = Vec::new();
        let handshake = Handshake::begin(&mut out);
        let slot = self.pending.insert(PendingConnection {
            socket,
            handshake,
            input: Vec::new(),
            out,
            sent: 0,
            verdict: Step::More,
            waits_for_room: false,
            deadline: self.clock.now() + self.limits.handshake,
        });
        let token = self.pending.token(slot);
        if self.reactor.watch(&self.pending[slot].socket, token, READABLE).is_err() {
            return self.release(slot);
        }
        self.order.push_back(token);
        self.serve(slot);
    }

    fn serve(&mut self, slot: u32) {
        let token = self.pending.token(slot);
        let pending = &mut self.pending[slot];
        match pending.serve(&self.offer, &mut self.buffer) {
            HandshakeState::Stays => {
                let flags = if pending.waits_for_room { WRITABLE } else { READABLE };
                self.reactor.watch_for(&pending.socket, token, flags);
            }
            HandshakeState::Goes => self.release(slot),
            HandshakeState::Encrypts => self.encrypt(slot),
            HandshakeState::Enters(terms) => self.hand_over(slot, terms),
        }
    }

    /// Continues a handshake in the clear, behind the relay. The deadline of the handshake stays the same.
    fn encrypt(&mut self, slot: u32) {
        let gate = self.gate.as_ref().expect("TLS is offered with a gate only");
        let token = self.pending.token(slot);
        let pending = &mut self.pending[slot];
        let is_moved = self.reactor.forget(&pending.socket).is_ok()
            && gate.cross(&mut pending.socket).is_ok()
            && self.reactor.watch(&pending.socket, token, READABLE).is_ok();
        pending.verdict = Step::More;
        if !is_moved {
            self.turned_away += 1;
            self.release(slot);
        }
    }

    fn hand_over(&mut self, slot: u32, terms: Terms) {
        let Some(pending) = self.pending.remove(slot) else { return };
        let is_watched_no_more = self.reactor.forget(&pending.socket).is_ok();
        let has_slot = self.open_connections.fetch_add(1, Ordering::Relaxed) < self.limits.connections;
        if !has_slot || !is_watched_no_more {
            self.open_connections.fetch_sub(1, Ordering::Relaxed);
            self.turned_away += 1;
            return;
        }
        let (export, route) = (&self.offer.exports[terms.export], &self.routes[terms.export]);
        let rules = Rules {
            bytes: export.bytes,
            is_read_only: export.is_read_only,
            zeroes_fast: export.zeroes_fast,
            has_structured_replies: terms.has_structured_replies,
            has_allocation: terms.has_allocation,
        };
        let PendingConnection { socket, input, .. } = pending;
        route.mailbox.post(Message::Arrival(Arrival { socket, rules, class: route.class, leftover: input }));
    }

    fn release(&mut self, slot: u32) {
        self.pending.remove(slot);
    }

    /// The oldest pending connection.
    fn oldest(&mut self) -> Option<u32> {
        while let Some(&token) = self.order.front() {
            if let Some(slot) = self.pending.find(token) {
                return Some(slot);
            }
            self.order.pop_front();
        }
        None
    }

    fn turn_away_oldest(&mut self) {
        if let Some(slot) = self.oldest() {
            self.turned_away += 1;
            self.release(slot);
        }
    }

    /// How often accepting was paused because the system had no descriptors or memory.
    pub fn exhausted(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.exhausted)
    }

    /// Heartbeats of the acceptor, which confirms them in each iteration.
    pub(super) fn heartbeats(&self) -> Arc<Heartbeats> {
        Arc::clone(&self.heartbeats)
    }
}

impl EventLoop for Acceptor {
    type Message = ();

    fn reactor(&mut self) -> &mut Reactor<()> {
        &mut self.reactor
    }

    fn iterate(&mut self, now: Time) {
        let messages = self.reactor.receive();
        self.reactor.recycle(messages);
        self.heartbeats.confirm();
        while let Some(slot) = self.oldest()
            && self.pending[slot].deadline <= now
        {
            self.turn_away_oldest();
        }
        self.listeners.resume(&self.reactor, now);
    }

    fn note_event(&mut self, event: Event) {
        if event.token().as_source().is_some() {
            self.accept_connections();
        } else if let Some(slot) = self.pending.find(event.token()) {
            self.serve(slot);
        }
    }

    fn deadline(&mut self, _: Time) -> Time {
        let oldest = self.oldest().map_or(Time::NEVER, |slot| self.pending[slot].deadline);
        oldest.min(self.listeners.resumes())
    }
}

impl PendingConnection {
    /// Advances the handshake as far as possible without blocking.
    fn serve(&mut self, offer: &Offer, buffer: &mut [u8]) -> HandshakeState {
        loop {
            match self.send() {
                Ok(true) => {}
                Ok(false) => return HandshakeState::Stays,
                Err(_) => return HandshakeState::Goes,
            }
            match self.verdict {
                Step::Close => return HandshakeState::Goes,
                // Plaintext that follows the request for TLS may have been injected by an attacker.
                Step::Encrypt if !self.input.is_empty() => return HandshakeState::Goes,
                Step::Encrypt => return HandshakeState::Encrypts,
                Step::Go(terms) => return HandshakeState::Enters(terms),
                Step::More => {}
            }
            if self.input.is_empty() {
                match rustix::io::read(&self.socket, &mut *buffer) {
                    Ok(0) => return HandshakeState::Goes,
                    Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                    Err(Errno::AGAIN) => return HandshakeState::Stays,
                    Err(Errno::INTR) => continue,
                    Err(_) => return HandshakeState::Goes,
                }
            }
            let mut input = &self.input[..];
            self.verdict = self.handshake.receive(&mut input, offer, &mut self.out);
            let used = self.input.len() - input.len();
            self.input.drain(..used);
        }
    }

    /// Sends pending output; false when the socket takes no more for now.
    fn send(&mut self) -> Result<bool, Errno> {
        while self.sent < self.out.len() {
            match rustix::net::send(&self.socket, &self.out[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => {
                    self.waits_for_room = true;
                    return Ok(false);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        self.waits_for_room = false;
        Ok(true)
    }
}

const LISTENER: u32 = 0;
/// Maximum number of connections accepted before other events are handled.
const AT_ONCE: usize = 64;
/// Bytes of one receive, and the maximum buffered for a pending connection beside its handshake.
const RECEIVE_BYTES: usize = 4096;
