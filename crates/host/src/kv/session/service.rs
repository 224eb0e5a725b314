//! All clients of one engine.
//!
//! Whoever has the sockets and the disk calls, in this order: [`Service::tick`]; for each client that has sent something
//! [`Service::receive`]; [`Service::recover`]; [`Service::next_request`] until there is none, giving them to the disk; [`Service::respond`] with its answers;
//! [`Service::turn`], which names the clients that can go on; and sends what [`Service::output`] holds.

use super::about::About;
use super::statistics::Statistics;
use super::tickets::Tickets;
use super::{Session, Shared};
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::kv::Engine;
use crate::wire::memcached::Reason;
use tailcut_base::Time;

/// Settings of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The most bytes of an item, as memcached counts them (`-I`).
    pub most_item: u64,
    /// What is changed is durable when it is answered.
    pub is_durable: bool,
    /// The number of the process, for `stats`.
    pub process: u32,
}

/// An engine with its clients.
#[derive(Debug)]
pub struct Service {
    engine: Engine,
    settings: ServiceSettings,
    sessions: Vec<Option<Session>>,
    vacant: Vec<u32>,
    tickets: Tickets,
    generations: Vec<u32>,
    /// Clients that wait for a disk that is behind.
    stuck: Vec<u32>,
    /// Clients with something to be made durable, and those that wait for that.
    undurable: Vec<u32>,
    durable: u64,
    statistics: Statistics,
    scratch: Vec<u8>,
    unix: u64,
    started: u64,
    flush_at: Option<u64>,
    connections: u64,
    has_moved: bool,
}

impl Service {
    /// Over an engine.
    pub fn new(engine: Engine, settings: ServiceSettings) -> Service {
        Service {
            engine,
            settings,
            sessions: Vec::new(),
            vacant: Vec::new(),
            tickets: Tickets::default(),
            generations: Vec::new(),
            stuck: Vec::new(),
            undurable: Vec::new(),
            durable: 0,
            statistics: Statistics::default(),
            scratch: Vec::new(),
            unix: 0,
            started: 0,
            flush_at: None,
            connections: 0,
            has_moved: false,
        }
    }

    /// What time it is: by the clock of the process, and in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        self.engine.tick(now, unix.min(u64::from(u32::MAX)) as u32);
        self.unix = unix;
        if self.started == 0 {
            self.started = unix;
        }
        if self.flush_at.is_some_and(|moment| moment <= unix) {
            self.flush_at = None;
            self.engine.flush_all();
        }
    }

    /// A client has come; its name.
    pub fn open(&mut self) -> u32 {
        self.connections += 1;
        let client = self.vacant.pop().unwrap_or(self.sessions.len() as u32);
        if client as usize == self.sessions.len() {
            self.sessions.push(None);
            self.generations.push(0);
        }
        self.sessions[client as usize] = Some(Session::default());
        client
    }

    /// A client has gone, or goes.
    pub fn close(&mut self, client: u32) {
        self.sessions[client as usize] = None;
        self.generations[client as usize] = self.generations[client as usize].wrapping_add(1);
        self.vacant.push(client);
        self.stuck.retain(|&other| other != client);
        self.undurable.retain(|&other| other != client);
    }

    /// Clients that are there.
    pub fn clients(&self) -> usize {
        self.sessions.len() - self.vacant.len()
    }

    /// Does what a client says, as far as it goes; the rest of the input is wanted again.
    pub fn receive(&mut self, client: u32, input: &mut &[u8]) {
        let is_there = self.with(client, |session, shared| session.receive(input, shared));
        assert!(is_there.is_some(), "a client that sends is there");
    }

    /// What a client is to be sent: taken from the front as it is sent.
    pub fn output(&mut self, client: u32) -> &mut Vec<u8> {
        &mut self.sessions[client as usize].as_mut().expect("a client that is sent something is there").out
    }

    /// True while a client's input is taken.
    pub fn is_willing(&self, client: u32) -> bool {
        self.sessions[client as usize].as_ref().is_some_and(Session::is_willing)
    }

    /// True when nothing is missing of a client's answers.
    pub fn is_answered(&self, client: u32) -> bool {
        self.sessions[client as usize].as_ref().is_none_or(Session::is_answered)
    }

    /// Why a client's connection is to be closed, when everything was answered.
    pub fn closing(&self, client: u32) -> Option<Reason> {
        let session = self.sessions[client as usize].as_ref()?;
        session.closing.filter(|_| session.is_answered())
    }

    /// The next request for the disk. What has to be durable is on its way with those that come.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.sync();
        self.engine.next_request()
    }

    fn sync(&mut self) {
        let sessions = &mut self.sessions;
        let needs_sync = |client: &u32| sessions[*client as usize].as_ref().is_some_and(Session::needs_sync);
        if !self.undurable.iter().any(needs_sync) {
            return;
        }
        let point = self.engine.sync();
        for &client in &self.undurable {
            if let Some(session) = &mut self.sessions[client as usize] {
                session.set_point(point);
            }
        }
        // Without flash, or with a disk that has failed, there is nothing to wait for.
        self.has_moved |= self.engine.durable() >= point || self.engine.has_failed();
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        self.has_moved = true;
        self.engine.respond(response);
    }

    /// Goes on with finding what is on flash, a little, while the engine serves; see [`Engine::recover`].
    pub fn recover(&mut self) {
        if self.engine.recovered().is_none() {
            return;
        }
        self.engine.recover(RECOVERED_AT_A_TIME);
        // Room may be made from now on.
        self.has_moved |= self.engine.recovered().is_none();
    }

    /// Goes on with what was fetched, made durable, or waited for the disk. Appends the clients that have more to send, or take more.
    pub fn turn(&mut self, movers: &mut Vec<u32>) {
        while let Some(fetched) = self.engine.next_fetched() {
            let (client, generation, number) = self.tickets.give_back(fetched.ticket);
            if self.generations[client as usize] == generation {
                self.with(client, |session, shared| session.note_fetched(number, &fetched, shared));
                movers.push(client);
            }
            self.engine.give_back(fetched);
        }
        if !std::mem::take(&mut self.has_moved) {
            return;
        }
        for client in std::mem::take(&mut self.stuck) {
            self.with(client, |session, shared| {
                session.is_stuck = false;
                session.retry(shared);
            });
            movers.push(client);
        }
        if self.engine.durable() > self.durable || !self.undurable.is_empty() {
            self.durable = self.engine.durable();
            for client in std::mem::take(&mut self.undurable) {
                self.with(client, |session, shared| {
                    session.is_undurable = false;
                    session.advance(shared);
                });
                movers.push(client);
            }
        }
    }

    /// When it wants to go on by itself.
    pub fn next_event(&self) -> Time {
        self.engine.next_event()
    }

    /// What clients have asked for since the start, or since one of them has said `stats reset`.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for who ends the service: [`Engine::sync`] and [`Engine::is_idle`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Lets a session work with what all share.
    fn with<R>(&mut self, client: u32, work: impl FnOnce(&mut Session, &mut Shared<'_>) -> R) -> Option<R> {
        let mut session = self.sessions[client as usize].take()?;
        let about = About {
            unix: self.unix,
            started: self.started,
            clients: self.clients() as u64,
            connections: self.connections,
            settings: self.settings,
        };
        let mut shared = Shared {
            engine: &mut self.engine,
            statistics: &mut self.statistics,
            scratch: &mut self.scratch,
            about,
            flush_at: &mut self.flush_at,
            tickets: &mut self.tickets,
            client: (client, self.generations[client as usize]),
        };
        let result = work(&mut session, &mut shared);
        if session.waits_for_disk() && !session.is_stuck {
            session.is_stuck = true;
            self.stuck.push(client);
            // An item that has left memory to make room for itself waits for nothing: with a disk that is idle nobody would try again.
            self.has_moved |= self.engine.is_idle();
        }
        if self.settings.is_durable && !session.is_answered() && !session.is_undurable {
            session.is_undurable = true;
            self.undurable.push(client);
        }
        self.sessions[client as usize] = Some(session);
        Some(result)
    }
}

/// Records of a step of recovery: some ten microseconds.
const RECOVERED_AT_A_TIME: usize = 256;
