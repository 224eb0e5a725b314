//! The thread that serves: all sockets, the engine and its drive.
//!
//! A turn: receive from those who have sent something; hand what the engine wants to the drive, and take what it has ready; send.
//! If there is nothing to do, it looks out for a while where that pays ([`Spin`]), and sleeps.

mod datagrams;
mod door;
mod ending;
mod receiving;
mod resting;
mod sending;

pub use datagrams::Datagrams;
pub use door::Door;

use super::client::Client;
use super::figures::{Figures, Live, Traffic};
use super::server::Limits;
use crate::Clock;
use crate::drive::{Answers, Drive};
use crate::serve::mailbox::Mailbox;
use crate::serve::spin::Spin;
use datagrams::Letters;
use ending::Stopping;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::Service;
use tailcut_host::wire::memcached::Users;

/// Where clients come in.
#[derive(Debug)]
pub struct Entries {
    /// For connections.
    pub door: Door,
    /// For datagrams.
    pub datagrams: Vec<Datagrams>,
    /// Those who have to say who they are.
    pub users: Option<Users>,
}

/// An engine with its clients, and the drive below it.
pub struct Worker<D> {
    service: Service,
    /// None where everything is in memory.
    drive: Option<D>,
    answers: Answers,
    clock: Clock,
    limits: Limits,
    /// Those who have to say who they are.
    users: Option<Users>,
    epoll: OwnedFd,
    /// Whoever writes here wants it to end.
    stop: Arc<Mailbox<()>>,
    door: Door,
    letters: Letters,
    seats: Vec<Seat>,
    vacant: Vec<u32>,
    /// Who has each name in the service.
    origins: Vec<Origin>,
    /// To be received from.
    listed: VecDeque<u32>,
    /// With something to be sent.
    answering: Vec<u32>,
    /// Names of those who can go on.
    movers: Vec<u32>,
    buffer: Vec<u8>,
    spin: Spin,
    turns: u32,
    /// There is something for the next turn.
    is_told: bool,
    /// When those are looked for who have said nothing for long.
    idle_check: Time,
    traffic: Traffic,
    live: Arc<Live>,
    stopping: Stopping,
}

/// A place for a connection. The generation tells one that sits there from one that sat there.
#[derive(Debug, Default)]
struct Seat {
    generation: u32,
    client: Option<Client>,
}

/// Who has a name in the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The client on this seat.
    Seat(u32),
    /// A request that came as a datagram, by its place.
    Letter(u32),
    /// Nobody any more.
    Nobody,
}

impl<D: Drive> Worker<D> {
    /// A worker. Fails when the system has no descriptors left.
    pub fn new(
        service: Service,
        drive: Option<D>,
        entries: Entries,
        limits: Limits,
        stop: Arc<Mailbox<()>>,
        live: Arc<Live>,
        clock: Clock,
    ) -> io::Result<Worker<D>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        if let Some(wakes) = drive.as_ref().and_then(Drive::wakes) {
            epoll::add(&epoll, wakes, EventData::new_u64(DRIVE), EventFlags::IN)?;
        }
        let Entries { door, datagrams, users } = entries;
        let letters = Letters::new(datagrams);
        door.open(&epoll)?;
        letters.open(&epoll)?;
        Ok(Worker {
            service,
            drive,
            answers: Answers::default(),
            clock,
            limits,
            users,
            epoll,
            stop,
            door,
            letters,
            seats: Vec::new(),
            vacant: Vec::new(),
            origins: Vec::new(),
            listed: VecDeque::new(),
            answering: Vec::new(),
            movers: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            spin: Spin::new(limits.busy_poll),
            turns: 0,
            is_told: false,
            idle_check: Time::NEVER,
            traffic: Traffic::default(),
            live,
            stopping: Stopping::Not,
        })
    }

    /// Serves until it is told to stop. Then what was written is made durable, and what was served is returned.
    pub fn run(mut self) -> (Figures, Option<D>) {
        loop {
            self.turn();
            if let Stopping::Done { is_durable } = self.stopping {
                return self.end(is_durable);
            }
            self.rest();
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.turns = self.turns.wrapping_add(1);
        self.is_told = false;
        self.service.tick(now, unix_seconds());
        for _ in 0..self.listed.len() {
            let Some(seat) = self.listed.pop_front() else { break };
            self.receive(seat, now);
        }
        self.recover();
        self.carry_out(now);
        self.is_told |= self.can_recover();
        self.answer();
        self.open_door_again(now);
        self.see_off_the_idle(now);
        self.wind_down(now);
        let clients = (self.seats.len() - self.vacant.len()) as u64;
        self.live.set(clients, self.service.statistics(), self.service.engine());
    }

    /// What the drive takes, and what it has ready.
    fn carry_out(&mut self, now: Time) {
        loop {
            let mut has_moved = false;
            while let Some(request) = self.service.next_request() {
                let drive = self.drive.as_mut().expect("an engine in memory asks for nothing");
                drive.submit(now, request);
                has_moved = true;
            }
            if let Some(drive) = &mut self.drive {
                drive.poll(now, &mut self.answers);
            }
            for response in self.answers.responses.drain(..) {
                self.service.respond(response);
                has_moved = true;
            }
            if has_moved {
                self.note_progress(now);
            }
            self.service.turn(&mut self.movers);
            self.go_on_with_movers();
            if !has_moved {
                break;
            }
        }
    }

    /// Those who have more to be sent, or take more.
    fn go_on_with_movers(&mut self) {
        let mut movers = std::mem::take(&mut self.movers);
        for name in movers.drain(..) {
            match self.origins[name as usize] {
                Origin::Seat(seat) => {
                    self.note_answer(seat);
                    self.list(seat);
                }
                Origin::Letter(place) => self.answer_letter(place),
                Origin::Nobody => {}
            }
        }
        self.movers = movers;
    }

    /// Gives a name in the service.
    fn name(&mut self, origin: Origin) -> u32 {
        let name = self.service.open();
        if name as usize >= self.origins.len() {
            self.origins.resize(name as usize + 1, Origin::Nobody);
        }
        self.origins[name as usize] = origin;
        name
    }

    fn forget(&mut self, name: u32) {
        self.service.close(name);
        self.origins[name as usize] = Origin::Nobody;
    }
}

/// By the clock on the wall, which may be set.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn token(seat: u32, generation: u32) -> u64 {
    u64::from(generation & GENERATIONS) << 32 | u64::from(seat)
}

/// What a connection is always watched for. Only edges: what has come is received until nothing is left.
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
/// Of a generation; so no seat has a token of those below.
const GENERATIONS: u32 = u32::MAX >> 1;
const STOP: u64 = u64::MAX;
const DRIVE: u64 = u64::MAX - 1;
/// And those behind it, one for each socket that is listened to.
const DOORS: u64 = 1 << 63;
/// The same for datagrams.
const LETTERS: u64 = 1 << 63 | 1 << 62;
/// Most bytes of one receive, and so of what is left over where a client is not served for now.
const BUFFER_BYTES: usize = 64 << 10;
/// A busy worker looks for others every this many turns.
const LOOK_EVERY: u32 = 16;
/// How often it looks for clients that have said nothing for long.
const IDLE_EVERY: Nanos = Nanos::millis(500);
