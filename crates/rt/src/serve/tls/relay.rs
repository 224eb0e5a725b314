//! The thread between TLS clients and the server.
//!
//! An iteration polls all sockets, transfers a piece of data for each client that has some, and advances one
//! of the handshakes. Handshakes are expensive: a signature takes as long as the encryption of some
//! megabytes. So clients that begin many handshakes slow each other down, and established clients only by a
//! part of an iteration.

use super::certificates::Certificates;
use super::link::{Buffers, Link, LinkState};
use super::side::WatchedSocket;
use super::{Crossing, Handshakes, Message};
use crate::Clock;
use crate::serve::mailbox::Mailbox;
use crate::serve::server::Limits;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use tailcut_base::Time;

/// The running relay.
#[derive(Debug)]
pub struct Relay {
    mailbox: Arc<Mailbox<Message>>,
    thread: JoinHandle<Handshakes>,
}

/// State of the relay's thread.
struct Links {
    certificates: Certificates,
    mailbox: Arc<Mailbox<Message>>,
    limits: Limits,
    clock: Clock,
    epoll: OwnedFd,
    places: Vec<Place>,
    vacant: Vec<u32>,
    /// Established links with data to transfer.
    listed: VecDeque<u32>,
    /// Links in their handshake with data to transfer.
    shaking: VecDeque<u32>,
    /// Slots and generations of links whose server has closed, with the deadline by which the client may take
    /// the rest; by time.
    left: VecDeque<(u32, u32, Time)>,
    buffers: Buffers,
    handshakes: Handshakes,
    is_stopping: bool,
}

/// A slot for a link. The generation distinguishes a link from earlier ones on this slot.
#[derive(Debug, Default)]
struct Place {
    generation: u32,
    link: Option<Link>,
    is_listed: bool,
    /// It is in `left`.
    is_left: bool,
}

impl Relay {
    /// Starts the relay, which reads `mailbox`.
    ///
    /// # Errors
    /// If the system is out of threads or descriptors.
    pub fn start(
        certificates: &Certificates,
        mailbox: Arc<Mailbox<Message>>,
        limits: Limits,
        clock: Clock,
    ) -> io::Result<Relay> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*mailbox, EventData::new_u64(MAILBOX), EventFlags::IN)?;
        let links = Links {
            certificates: certificates.clone(),
            mailbox: Arc::clone(&mailbox),
            limits,
            clock,
            epoll,
            places: Vec::new(),
            vacant: Vec::new(),
            listed: VecDeque::new(),
            shaking: VecDeque::new(),
            left: VecDeque::new(),
            buffers: Buffers::default(),
            handshakes: Handshakes::default(),
            is_stopping: false,
        };
        let thread = Builder::new().name("tls".into()).spawn(|| links.run())?;
        Ok(Relay { mailbox, thread })
    }

    /// Stops the relay once clients have taken their pending output, or at their deadline. The server's ends
    /// of all links have to be closed; otherwise this waits for them.
    pub fn stop(self) -> Handshakes {
        self.mailbox.post(Message::Stop);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Links {
    fn run(mut self) -> Handshakes {
        while !(self.is_stopping && self.vacant.len() == self.places.len()) {
            self.poll();
            for _ in 0..self.listed.len() {
                let Some(place) = self.listed.pop_front() else { break };
                self.pump(place);
            }
            if let Some(place) = self.shaking.pop_front() {
                self.pump(place);
            }
            self.see_off_the_late();
        }
        self.handshakes
    }

    /// Polls all sockets; sleeps if there is no other work.
    fn poll(&mut self) {
        let timeout = self.patience();
        let mut events = [const { std::mem::MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((events, _)) => events.iter().for_each(|event| self.note(*event)),
            Err(Errno::INTR) => {}
            Err(error) => panic!("waiting for events failed: {error}"),
        }
    }

    fn patience(&self) -> Option<Timespec> {
        if !self.listed.is_empty() || !self.shaking.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let &(.., until) = self.left.front()?;
        let left = until.0.saturating_sub(self.clock.now().0);
        Some(Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 })
    }

    fn note(&mut self, event: Event) {
        let (flags, data) = (event.flags, event.data.u64());
        if data == MAILBOX {
            return self.receive_messages();
        }
        let (generation, place, is_inner) = ((data >> 32) as u32, (data as u32) >> 1, data & 1 == 1);
        let Place { generation: current, link: Some(link), .. } = &mut self.places[place as usize] else {
            return;
        };
        if *current == generation {
            let side = if is_inner { &mut link.inner } else { &mut link.outer };
            side.note(flags);
            self.list(place);
        }
    }

    fn receive_messages(&mut self) {
        for message in self.mailbox.empty() {
            match message {
                Message::Crossing(crossing) => self.join(crossing),
                Message::Stop => self.is_stopping = true,
            }
        }
    }

    /// Joins two sockets. If that fails, both are closed.
    fn join(&mut self, crossing: Crossing) {
        let link = match self.certificates.session() {
            Ok(session) => Link::new(crossing, session),
            Err(error) => return self.handshakes.fail(error.to_string()),
        };
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let generation = self.places[place as usize].generation;
        let watches = [(&link.outer, 0), (&link.inner, 1)].into_iter().all(|(side, which)| {
            let token = EventData::new_u64(token(place, generation, which));
            epoll::add(&self.epoll, &side.socket, token, side.interest()).is_ok()
        });
        if !watches {
            self.vacant.push(place);
            return self.handshakes.fail(String::from("the system cannot watch more sockets"));
        }
        self.places[place as usize].link = Some(link);
        self.list(place);
    }

    fn list(&mut self, place: u32) {
        let Place { link: Some(link), is_listed, .. } = &mut self.places[place as usize] else { return };
        if !*is_listed {
            *is_listed = true;
            let line = if link.is_handshaking() { &mut self.shaking } else { &mut self.listed };
            line.push_back(place);
        }
    }

    fn pump(&mut self, place: u32) {
        let Place { generation, link: Some(link), is_listed, is_left } = &mut self.places[place as usize]
        else {
            return;
        };
        *is_listed = false;
        let was_handshaking = link.is_handshaking();
        let fate = link.pump(&mut self.buffers);
        self.handshakes.done += u64::from(was_handshaking && !link.is_handshaking());
        if link.is_left() && !*is_left && fate != LinkState::Ends {
            *is_left = true;
            let until = Time(self.clock.now().0 + self.limits.patience.0);
            self.left.push_back((place, *generation, until));
        }
        match fate {
            LinkState::Busy => self.list(place),
            LinkState::Rests => {
                let tokens = [token(place, *generation, 0), token(place, *generation, 1)];
                watch(&self.epoll, &mut link.outer, tokens[0]);
                watch(&self.epoll, &mut link.inner, tokens[1]);
            }
            LinkState::Ends => self.part(place),
            LinkState::Fails(why) => {
                self.handshakes.fail(why);
                self.part(place);
            }
        }
    }

    fn part(&mut self, place: u32) {
        let room = &mut self.places[place as usize];
        if room.link.take().is_some() {
            *room = Place { generation: room.generation.wrapping_add(1), ..Place::default() };
            self.vacant.push(place);
        }
    }

    /// Closes links whose server has closed, at their deadline or beyond a maximum number.
    fn see_off_the_late(&mut self) {
        while let Some(&(place, generation, until)) = self.left.front() {
            let is_there = self.places[place as usize].generation == generation;
            let is_late = self.left.len() > self.limits.handshakes || until <= self.clock.now();
            if is_there && !is_late {
                break;
            }
            self.left.pop_front();
            if is_there {
                self.part(place);
            }
        }
    }
}

impl Handshakes {
    fn fail(&mut self, why: String) {
        self.failed += 1;
        self.last_failure = Some(why);
    }
}

/// Watches a socket for writability while it is full.
fn watch(epoll: &OwnedFd, side: &mut WatchedSocket, token: u64) {
    if side.awaits_room == side.has_room {
        side.awaits_room = !side.has_room;
        epoll::modify(epoll, &side.socket, EventData::new_u64(token), side.interest())
            .expect("a socket that is watched can be watched otherwise");
    }
}

fn token(place: u32, generation: u32, which: u64) -> u64 {
    u64::from(generation) << 32 | u64::from(place) << 1 | which
}

const MAILBOX: u64 = u64::MAX;
/// Maximum number of events per poll.
const EVENTS: usize = 64;
