//! The acceptor's thread: accepts connections, carries out their handshakes, and hands them to the services.
//!
//! The cost of pending connections is bounded: their number is limited, one too many disconnects the oldest,
//! and each handshake has a deadline. A slow handshake delays no other connection.

use super::mailbox::Mailbox;
use super::server::Limits;
use super::service::{Arrival, Message};
use super::tls::Gate;
use crate::Clock;
use crate::listener::{Listener, is_exhausted};
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Time, id};
use tailcut_host::wire::nbd::{Handshake, Offer, Rules, Step, Terms};

/// The service that gets the connections of an export.
#[derive(Clone, Debug)]
pub struct Route {
    /// The mailbox of its service.
    pub mailbox: Arc<Mailbox<Message>>,
    /// The class of its reads.
    pub class: Class,
}

/// Accepts connections and carries out their handshakes.
pub struct Acceptor {
    listener: Listener,
    offer: Offer,
    routes: Vec<Route>,
    /// The gate to the relay, if TLS is offered.
    gate: Option<Gate>,
    stop: Arc<Mailbox<()>>,
    open_connections: Arc<AtomicUsize>,
    limits: Limits,
    clock: Clock,
    epoll: OwnedFd,
    pending: Slab<PendingConnectionId, PendingConnection>,
    /// Pending connections by id and number, oldest first; some have been closed.
    order: VecDeque<(PendingConnectionId, u64)>,
    served: u64,
    turned_away: u64,
    /// Accepting is paused until this time, because the system has no descriptor or memory for connections.
    closed_until: Option<Time>,
    /// How often accepting was paused.
    exhausted: Arc<AtomicU64>,
    buffer: Vec<u8>,
}

id! {
    /// A connection in its handshake.
    struct PendingConnectionId;
}

impl PendingConnectionId {
    fn event(self) -> EventData {
        EventData::new_u64(self.get().into())
    }
}

/// A connection in its handshake.
struct PendingConnection {
    number: u64,
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
    /// offers TLS.
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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Acceptor {
            listener,
            offer,
            routes,
            gate,
            stop,
            open_connections,
            limits,
            clock,
            epoll,
            pending: Slab::new(),
            order: VecDeque::new(),
            served: 0,
            turned_away: 0,
            closed_until: None,
            exhausted: Arc::default(),
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    /// Accepts connections until its mailbox receives a message. Returns the number of connections it
    /// refused.
    pub fn run(mut self) -> u64 {
        let mut events = Vec::with_capacity(256);
        loop {
            let timeout = self.timeout();
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => panic!("waiting for events failed: {error}"),
            }
            for event in &events {
                let Event { data, .. } = *event;
                match data.u64() {
                    STOP => return self.turned_away,
                    LISTENER => self.accept_connections(),
                    pending => self.serve(PendingConnectionId::new(pending as u32)),
                }
            }
            self.see_off_the_late();
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        let oldest = self.order.front().map(|&(id, _)| id);
        let oldest = oldest.and_then(|id| self.pending.get(id));
        let until =
            [oldest.map(|pending| pending.deadline), self.closed_until].into_iter().flatten().min()?;
        let left = until.0.saturating_sub(self.clock.now().0);
        Some(Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 })
    }

    fn accept_connections(&mut self) {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok(socket) => self.welcome(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_exhausted(&error) => return self.close_door(),
                // The peer disconnected before it was accepted.
                Err(_) => {}
            }
        }
    }

    /// Pauses accepting, and disconnects the oldest pending connection.
    fn close_door(&mut self) {
        self.exhausted.fetch_add(1, Ordering::Relaxed);
        self.turn_away_oldest();
        if self.closed_until.is_none() && epoll::delete(&self.epoll, &self.listener).is_ok() {
            self.closed_until = Some(Time(self.clock.now().0 + PAUSE_NANOS));
        }
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
        let id = self.pending.insert(PendingConnection {
            number: self.served + 1,
            socket,
            handshake,
            input: Vec::new(),
            out,
            sent: 0,
            verdict: Step::More,
            waits_for_room: false,
            deadline: Time(self.clock.now().0 + self.limits.handshake.0),
        });
        let pending = &self.pending[id];
        if epoll::add(&self.epoll, &pending.socket, id.event(), EventFlags::IN).is_err() {
            self.pending.remove(id);
            return;
        }
        self.served += 1;
        self.order.push_back((id, self.served));
        self.serve(id);
    }

    fn serve(&mut self, id: PendingConnectionId) {
        let Some(pending) = self.pending.get_mut(id) else { return };
        match pending.serve(&self.offer, &mut self.buffer) {
            HandshakeState::Stays => {
                let flags = if pending.waits_for_room { EventFlags::OUT } else { EventFlags::IN };
                epoll::modify(&self.epoll, &pending.socket, id.event(), flags)
                    .expect("a socket that is watched can be watched otherwise");
            }
            HandshakeState::Goes => self.release(id),
            HandshakeState::Encrypts => self.encrypt(id),
            HandshakeState::Enters(terms) => self.hand_over(id, terms),
        }
    }

    /// Continues a handshake in the clear, behind the relay. The deadline of the handshake stays the same.
    fn encrypt(&mut self, id: PendingConnectionId) {
        let gate = self.gate.as_ref().expect("TLS is offered with a gate only");
        let Some(pending) = self.pending.get_mut(id) else { return };
        let is_moved = epoll::delete(&self.epoll, &pending.socket).is_ok()
            && gate.cross(&mut pending.socket).is_ok()
            && epoll::add(&self.epoll, &pending.socket, id.event(), EventFlags::IN).is_ok();
        pending.verdict = Step::More;
        if !is_moved {
            self.turned_away += 1;
            self.release(id);
        }
    }

    fn hand_over(&mut self, id: PendingConnectionId, terms: Terms) {
        let Some(pending) = self.pending.try_remove(id) else { return };
        let is_watched_no_more = epoll::delete(&self.epoll, &pending.socket).is_ok();
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

    fn release(&mut self, id: PendingConnectionId) {
        self.pending.try_remove(id);
    }

    /// The oldest pending connection.
    fn oldest(&mut self) -> Option<PendingConnectionId> {
        while let Some(&(id, number)) = self.order.front() {
            if self.pending.get(id).is_some_and(|pending| pending.number == number) {
                return Some(id);
            }
            self.order.pop_front();
        }
        None
    }

    fn turn_away_oldest(&mut self) {
        if let Some(id) = self.oldest() {
            self.turned_away += 1;
            self.release(id);
        }
    }

    fn see_off_the_late(&mut self) {
        let now = self.clock.now();
        while let Some(id) = self.oldest() {
            if self.pending[id].deadline > now {
                break;
            }
            self.turn_away_oldest();
        }
        if self.closed_until.is_some_and(|until| until <= now)
            && epoll::add(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN).is_ok()
        {
            self.closed_until = None;
        }
    }

    /// How often accepting was paused because the system had no descriptors or memory.
    pub fn exhausted(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.exhausted)
    }

    /// The listener.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// The mailbox that stops the acceptor.
    pub fn stop(&self) -> Arc<Mailbox<()>> {
        Arc::clone(&self.stop)
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

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// Maximum number of connections accepted before other events are handled.
const AT_ONCE: usize = 64;
/// Bytes of one receive, and the maximum buffered for a pending connection beside its handshake.
const RECEIVE_BYTES: usize = 4096;
/// How long accepting is paused when the system is out of descriptors or memory.
const PAUSE_NANOS: u64 = 100_000_000;
