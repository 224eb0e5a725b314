//! The clients of one thread.

use super::about::ServerProperties;
use super::latency::{Latencies, Stopwatch};
use super::pool::{Holding, Pool};
use super::send_queue::{SendQueue, Texts};
use super::shard::{Permissions, ServiceSettings};
use super::shard_request::{Reply, Shards};
use super::{Session, Ways};
use crate::wire::memcached::Reason;
use tailcut_base::Time;
use tailcut_base::cast::to_u32;

/// All clients of one thread.
#[derive(Debug)]
pub struct Clients {
    /// Number of the thread among those that share the shards.
    group: u32,
    settings: ServiceSettings,
    permissions: Permissions,
    sessions: Vec<Option<Session>>,
    vacant: Vec<u32>,
    /// For each client slot, the first reply number of its next client: late replies to a closed client match
    /// no current one.
    numbers: Vec<u64>,
    texts: Texts,
    pool: Pool,
    /// Bytes of replies until only small commands are executed in this iteration.
    ration: usize,
    unix: u64,
    tally: Tally,
    watch: Stopwatch,
}

/// An upper bound of the reply numbers that a client has in use at a time.
const MOST_NUMBERS: u64 = 1 << 10;

/// Counters of clients and threads for `stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Start of the service in seconds of Unix time; 0 before that.
    pub started: u64,
    /// Clients connected.
    pub clients: u64,
    /// Clients accepted since the start.
    pub connections: u64,
    /// Worker threads.
    pub threads: u64,
    /// Bytes of memory that clients hold.
    pub client_memory: u64,
    /// Peak of `client_memory` in bytes; for several threads, the sum of their peaks.
    pub most_client_memory: u64,
    /// Counters of sockets.
    pub sockets: SocketCounters,
}

impl Tally {
    /// Adds the clients of another thread.
    pub fn add(&mut self, other: &Tally) {
        self.clients += other.clients;
        self.connections += other.connections;
        self.client_memory += other.client_memory;
        self.most_client_memory += other.most_client_memory;
        self.sockets.add(&other.sockets);
    }
}

/// Counters of a thread's sockets for `stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Maximum number of connections, in the counters of the thread that accepts them; 0 elsewhere.
    pub most_connections: u64,
    /// Connections refused because the maximum number was open.
    pub rejected: u64,
    /// Connections closed because they were idle for too long.
    pub idle: u64,
    /// Logins with a name and a password, right or wrong.
    pub logins: u64,
    /// Logins with a wrong name or password.
    pub wrong_logins: u64,
    /// Times that accepting was paused for lack of descriptors or memory.
    pub accept_pauses: u64,
    /// Times that a client with further input waited for the turns of others.
    pub yields: u64,
}

counters!(SocketCounters: received, sent, most_connections, rejected, idle, logins, wrong_logins, accept_pauses, yields);

impl Clients {
    /// No clients yet, in thread `group` of `threads` that share the shards.
    pub fn new(group: u32, threads: u32, settings: ServiceSettings) -> Clients {
        let tally = Tally { threads: u64::from(threads), ..Tally::default() };
        Clients {
            group,
            settings,
            permissions: Permissions::default(),
            sessions: Vec::new(),
            vacant: Vec::new(),
            numbers: Vec::new(),
            texts: Texts::default(),
            pool: Pool::new(&settings, threads),
            ration: usize::MAX,
            unix: 0,
            tally,
            watch: Stopwatch::default(),
        }
    }

    /// Sets what clients may do.
    pub fn with_permissions(self, permissions: Permissions) -> Clients {
        Clients { permissions, ..self }
    }

    /// Sets the time, in seconds of Unix time.
    pub fn tick(&mut self, unix: u64) {
        self.unix = unix;
        if self.tally.started == 0 {
            self.tally.started = unix;
        }
    }

    /// Begins an iteration over clients. Once it has produced `bytes` bytes of replies, only small commands are
    /// executed until the next call; clients with others [yield](Clients::has_yielded). So an iteration has an
    /// end soon, and clients with small items do not wait for the large items of others. Without a call, there
    /// is no such limit.
    pub fn begin_iteration(&mut self, bytes: usize) {
        self.ration = bytes;
    }

    /// Adds a client. Returns its identifier.
    pub fn open(&mut self) -> u32 {
        self.tally.connections += 1;
        self.tally.clients += 1;
        let client = self.vacant.pop().unwrap_or(to_u32(self.sessions.len()));
        if client as usize == self.sessions.len() {
            self.sessions.push(None);
            self.numbers.push(0);
        }
        let first = self.numbers[client as usize];
        self.sessions[client as usize] = Some(Session { first, ..Session::default() });
        client
    }

    /// Removes a client that disconnects. Its identifier is reused once no request of it is pending.
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

    /// Discards a client whose session has panicked: none of its state is used. Its identifier is free; late
    /// replies to it are dropped.
    pub fn discard(&mut self, client: u32) {
        let Some(torn) = self.sessions[client as usize].take() else { return };
        self.pool.release(torn.charged);
        self.tally.clients -= u64::from(!torn.is_gone);
        self.numbers[client as usize] = torn.first + MOST_NUMBERS;
        self.vacant.push(client);
    }

    /// A shard has failed: clients that wait for it get an error. Appends those with more to send to
    /// `movers`.
    pub fn fail_shard(&mut self, shard: u32, movers: &mut Vec<u32>) {
        for client in 0..to_u32(self.sessions.len()) {
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
            self.pool.release(over.charged);
            self.vacant.push(client);
        }
    }

    /// Updates the memory charged to a client.
    fn charge(&mut self, client: u32) {
        let Some(session) = &mut self.sessions[client as usize] else { return };
        let memory = session.memory();
        if session.charged == 0 {
            session.since = self.watch.received();
        }
        self.pool.release(session.charged);
        self.pool.charge(memory);
        session.charged = memory;
    }

    /// Memory limit in bytes of all clients of this thread.
    pub fn memory_limit(&self) -> u64 {
        self.pool.limit() as u64
    }

    /// True if more than half of the memory for clients is in use.
    pub fn is_short_of_memory(&self) -> bool {
        self.pool.held() > self.pool.limit() / 2
    }

    /// Number of waiting clients that can now get memory.
    pub fn vacancies(&self) -> usize {
        self.pool.vacancies()
    }

    /// True if a client that holds no memory itself waits for memory held by others.
    pub fn waits_for_memory(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| {
            session.charged == 0 && session.is_ready() && !session.can_accept(self.pool.room_beside(0))
        })
    }

    /// True if the last input of a client was not taken because its shard was in use, or the ration of the
    /// iteration used up: pass it again in the next iteration.
    pub fn has_yielded(&self, client: u32) -> bool {
        self.sessions[client as usize].as_ref().is_some_and(|session| session.has_yielded)
    }

    /// The memory that a client holds; None if it holds none.
    pub fn holding(&self, client: u32) -> Option<Holding> {
        self.sessions[client as usize].as_ref()?.holding()
    }

    /// Number of connected clients and of closed ones with pending requests.
    pub fn count(&self) -> usize {
        self.sessions.len() - self.vacant.len()
    }

    /// The counters of clients and threads.
    pub fn tally(&self) -> Tally {
        let (held, most) = (self.pool.held() as u64, self.pool.most_held() as u64);
        Tally { client_memory: held, most_client_memory: most, ..self.tally }
    }

    /// Replaces the counters of sockets by those of their owner, which also counts what is no command.
    pub fn set_sockets(&mut self, sockets: SocketCounters) {
        self.tally.sockets = sockets;
    }

    /// Sets the receive time of later input to [`Clients::receive`].
    pub fn note_receipt(&mut self, moment: Time) {
        self.watch.receive(moment);
    }

    /// True if there are replies since the last [`Clients::note_sending`].
    pub fn has_answered(&self) -> bool {
        self.watch.has_ready()
    }

    /// Sets the send time of the replies that are ready.
    pub fn note_sending(&mut self, moment: Time) {
        self.watch.send(moment);
    }

    /// Takes the latencies of the commands answered since the last call.
    pub fn take_latencies(&mut self) -> Latencies {
        self.watch.take()
    }

    /// Executes a client's commands and advances `input` past them. The rest must be passed again.
    pub fn receive<S: Shards>(&mut self, client: u32, input: &mut &[u8], shards: &mut S) {
        let before = input.len();
        self.with(client, shards, |session, ways| session.receive(input, ways));
        self.tally.sockets.received += (before - input.len()) as u64;
        self.watch.end_batch();
    }

    /// Handles a reply from a shard. Returns its client, if still connected: it may have more to send or
    /// accept more input.
    pub fn take<S: Shards>(&mut self, reply: Reply, shards: &mut S) -> Option<u32> {
        let Reply { requester, content } = reply;
        debug_assert_eq!(requester.group, self.group);
        // The client may have been discarded.
        self.sessions[requester.client as usize].as_ref()?;
        self.with(requester.client, shards, |session, ways| {
            session.note_reply(requester.number, content, ways)
        });
        self.forget_if_over(requester.client);
        let session = self.sessions[requester.client as usize].as_ref();
        session.is_some_and(|session| !session.is_gone).then_some(requester.client)
    }

    /// A client's send queue.
    pub fn send_queue(&mut self, client: u32) -> &mut SendQueue {
        &mut self.sessions[client as usize].as_mut().expect("a client that is sent something is there").out
    }

    /// `bytes` bytes of a client's send queue were sent.
    pub fn note_sent(&mut self, client: u32, bytes: usize) {
        let session = self.sessions[client as usize].as_mut();
        session.expect("a client that was sent something is there").out.note_sent(bytes, &mut self.texts);
        self.tally.sockets.sent += bytes as u64;
        self.charge(client);
    }

    /// True while a client accepts input.
    pub fn can_accept(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| session.can_accept(self.pool.room_beside(session.charged)))
    }

    /// True if no reply to a client is pending.
    pub fn is_answered(&self, client: u32) -> bool {
        self.sessions[client as usize].as_ref().is_none_or(Session::is_answered)
    }

    /// Why a client's connection must be closed; None while replies are pending.
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
        let about = ServerProperties {
            unix: self.unix,
            tally: self.tally(),
            settings: self.settings,
            permissions: self.permissions,
        };
        let session =
            self.sessions[client as usize].as_mut().expect("a client keeps its place until it is answered");
        let (watch, texts, room) = (&mut self.watch, &mut self.texts, self.pool.room_beside(session.charged));
        let (group, is_rationed) = (self.group, self.ration == 0);
        let (is_short, before) = (false, session.reply_memory());
        work(session, &mut Ways { shards, about, watch, texts, room, is_rationed, is_short, group, client });
        self.ration = self.ration.saturating_sub(session.reply_memory().saturating_sub(before));
        self.charge(client);
    }
}
