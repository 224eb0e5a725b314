//! Clients whose bytes come in one place, such as a thread.

use super::about::About;
use super::latency::{Latencies, Stopwatch};
use super::pool::{Holding, Pool};
use super::send_queue::{SendQueue, Texts};
use super::shard::ServiceSettings;
use super::shard_request::{Reply, Shards};
use super::{Session, Ways};
use crate::wire::memcached::Reason;
use tailcut_base::Time;

/// Everybody who is served in one place.
#[derive(Debug)]
pub struct Clients {
    /// Which place it is, among all that share the shards.
    group: u32,
    settings: ServiceSettings,
    sessions: Vec<Option<Session>>,
    vacant: Vec<u32>,
    /// Where the next client in each place begins to number its answers: late replies to one that was given
    /// up are nobody's.
    numbers: Vec<u64>,
    texts: Texts,
    pool: Pool,
    unix: u64,
    tally: Tally,
    watch: Stopwatch,
}

/// More than a client's answers that are numbered at a time.
const MOST_NUMBERS: u64 = 1 << 10;

/// What `stats` tells beside what is counted of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// When serving began, in seconds of Unix time; 0 before that.
    pub started: u64,
    /// Clients that are there.
    pub clients: u64,
    /// Clients that have ever come.
    pub connections: u64,
    /// Bytes received and understood.
    pub bytes_read: u64,
    /// Threads that serve.
    pub threads: u64,
    /// Bytes of memory that clients hold, and the most that they ever held.
    pub client_memory: u64,
    /// See there; of several threads, the sum of what each had at its worst.
    pub most_client_memory: u64,
}

impl Clients {
    /// Nobody yet, in one place of so many that share the shards.
    pub fn new(group: u32, threads: u32, settings: ServiceSettings) -> Clients {
        let tally = Tally { threads: u64::from(threads), ..Tally::default() };
        Clients {
            group,
            settings,
            sessions: Vec::new(),
            vacant: Vec::new(),
            numbers: Vec::new(),
            texts: Texts::default(),
            pool: Pool::new(&settings, threads),
            unix: 0,
            tally,
            watch: Stopwatch::default(),
        }
    }

    /// What time it is, in seconds of Unix time.
    pub fn tick(&mut self, unix: u64) {
        self.unix = unix;
        if self.tally.started == 0 {
            self.tally.started = unix;
        }
    }

    /// A client has come; its name.
    pub fn open(&mut self) -> u32 {
        self.tally.connections += 1;
        self.tally.clients += 1;
        let client = self.vacant.pop().unwrap_or(self.sessions.len() as u32);
        if client as usize == self.sessions.len() {
            self.sessions.push(None);
            self.numbers.push(0);
        }
        let first = self.numbers[client as usize];
        self.sessions[client as usize] = Some(Session { first, ..Session::default() });
        client
    }

    /// A client has gone, or goes. Its name is given to others when nothing is done for it any more.
    pub fn close(&mut self, client: u32) {
        let Some(session) = &mut self.sessions[client as usize] else { return };
        assert!(!session.is_gone, "a client goes once");
        self.tally.clients -= 1;
        session.is_gone = true;
        session.out = SendQueue::default();
        session.drop_value();
        self.charge(client);
        self.forget_if_over(client);
    }

    /// A client's session has panicked and is in no order any more: nothing of it is used. Its name is free;
    /// late replies to it are nobody's.
    pub fn discard(&mut self, client: u32) {
        let Some(torn) = self.sessions[client as usize].take() else { return };
        self.pool.note(torn.charged, 0);
        self.tally.clients -= u64::from(!torn.is_gone);
        self.numbers[client as usize] = torn.first + MOST_NUMBERS;
        self.vacant.push(client);
    }

    /// A shard has failed: clients that wait for it are told so. Appends those that have more to be sent.
    pub fn fail_shard(&mut self, shard: u32, movers: &mut Vec<u32>) {
        for client in 0..self.sessions.len() as u32 {
            let Some(session) = &mut self.sessions[client as usize] else { continue };
            session.fail_shard(shard);
            let is_gone = session.is_gone;
            self.charge(client);
            self.forget_if_over(client);
            if !is_gone {
                movers.push(client);
            }
        }
    }

    fn forget_if_over(&mut self, client: u32) {
        let session = &mut self.sessions[client as usize];
        if let Some(over) = session.take_if(|session| session.is_gone && session.is_answered()) {
            self.numbers[client as usize] = over.first;
            self.pool.note(over.charged, 0);
            self.vacant.push(client);
        }
    }

    /// Charges a client with the memory that it takes now.
    fn charge(&mut self, client: u32) {
        let Some(session) = &mut self.sessions[client as usize] else { return };
        let memory = session.memory();
        if session.charged == 0 {
            session.since = self.watch.received();
        }
        self.pool.note(session.charged, memory);
        session.charged = memory;
    }

    /// Bytes of memory that all clients may take here.
    pub fn memory_limit(&self) -> u64 {
        self.pool.limit() as u64
    }

    /// True if more than half of the memory for clients is in use.
    pub fn is_short_of_memory(&self) -> bool {
        self.pool.held() > self.pool.limit() / 2
    }

    /// How many of the clients that wait for memory find some.
    pub fn vacancies(&self) -> usize {
        self.pool.vacancies()
    }

    /// True if a client's input would be taken if others held less memory, and it holds none itself.
    pub fn waits_for_memory(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| {
            session.charged == 0 && session.is_ready() && !session.is_willing(self.pool.room_beside(0))
        })
    }

    /// What a client holds of the memory for clients; nothing if that is none.
    pub fn holding(&self, client: u32) -> Option<Holding> {
        self.sessions[client as usize].as_ref()?.holding()
    }

    /// Clients that are there, and those for whom something is still done.
    pub fn count(&self) -> usize {
        self.sessions.len() - self.vacant.len()
    }

    /// What is told of them.
    pub fn tally(&self) -> Tally {
        let (held, most) = (self.pool.held() as u64, self.pool.most_held() as u64);
        Tally { client_memory: held, most_client_memory: most, ..self.tally }
    }

    /// When what is handed to [`Clients::receive`] from now on had been received.
    pub fn note_receipt(&mut self, moment: Time) {
        self.watch.receive(moment);
    }

    /// True if there are answers since [`Clients::note_sending`] was called last.
    pub fn has_answered(&self) -> bool {
        self.watch.has_ready()
    }

    /// When the sending of the answers that there are begins.
    pub fn note_sending(&mut self, moment: Time) {
        self.watch.send(moment);
    }

    /// How long commands took that were answered since the last time.
    pub fn take_latencies(&mut self) -> Latencies {
        self.watch.take()
    }

    /// Does what a client says, as far as it goes; the rest of the input is wanted again.
    pub fn receive<S: Shards>(&mut self, client: u32, input: &mut &[u8], shards: &mut S) {
        let before = input.len();
        self.with(client, shards, |session, ways| session.receive(input, ways));
        self.tally.bytes_read += (before - input.len()) as u64;
        self.watch.end_batch();
    }

    /// An answer has come. The client it was for, if it is still there: it may have more to be sent, or take
    /// more.
    pub fn take<S: Shards>(&mut self, reply: Reply, shards: &mut S) -> Option<u32> {
        let Reply { requester, content } = reply;
        debug_assert_eq!(requester.group, self.group);
        // Whoever has been given up is not there any more.
        self.sessions[requester.client as usize].as_ref()?;
        self.with(requester.client, shards, |session, ways| {
            session.note_reply(requester.number, content, ways)
        });
        self.forget_if_over(requester.client);
        let session = self.sessions[requester.client as usize].as_ref();
        session.is_some_and(|session| !session.is_gone).then_some(requester.client)
    }

    /// What a client is to be sent.
    pub fn send_queue(&mut self, client: u32) -> &mut SendQueue {
        &mut self.sessions[client as usize].as_mut().expect("a client that is sent something is there").out
    }

    /// So many bytes of it were sent.
    pub fn note_sent(&mut self, client: u32, bytes: usize) {
        let session = self.sessions[client as usize].as_mut();
        session.expect("a client that was sent something is there").out.note_sent(bytes, &mut self.texts);
        self.charge(client);
    }

    /// True while a client's input is taken.
    pub fn is_willing(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| session.is_willing(self.pool.room_beside(session.charged)))
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

    fn with<S: Shards>(
        &mut self,
        client: u32,
        shards: &mut S,
        work: impl FnOnce(&mut Session, &mut Ways<'_, S>),
    ) {
        let about = About { unix: self.unix, tally: self.tally(), settings: self.settings };
        let session =
            self.sessions[client as usize].as_mut().expect("a client keeps its place until it is answered");
        let (watch, texts, room) = (&mut self.watch, &mut self.texts, self.pool.room_beside(session.charged));
        work(session, &mut Ways { shards, about, watch, texts, room, group: self.group, client });
        self.charge(client);
    }
}
