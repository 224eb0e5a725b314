//! The clients of one thread.

use super::dispatch::Dispatch;
use super::hand_over::ThreadOf;
use super::latency::{Latencies, Stopwatch};
use super::pool::{Holding, Pool};
use super::send_queue::{SendQueue, Texts};
use super::shard::{Permissions, ServiceSettings};
use super::shard_request::{Division, Reply};
use super::{Group, Session};
use crate::wire::memcached::{Reason, Receiver};
use tailcut_base::Time;
use tailcut_base::cast::to_u32;

/// All clients of one thread.
#[derive(Debug)]
pub struct Clients {
    sessions: Vec<Option<Session>>,
    /// For each client slot.
    receivers: Vec<Receiver>,
    group: Group,
}

/// An upper bound of the reply numbers that a client has in use at a time.
const MOST_NUMBERS: u64 = 1 << 10;

/// Counters of clients and threads for `stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Start of the service in seconds of Unix time; 0 before that.
    pub started: u64,
    /// Clients that are connected now.
    pub clients: u64,
    /// Clients accepted since the start.
    pub connections: u64,
    /// Worker threads that serve clients.
    pub threads: u64,
    /// Bytes of memory that clients hold now.
    pub client_memory: u64,
    /// Peak of `client_memory` in bytes; for several threads, the sum of their peaks.
    pub most_client_memory: u64,
    /// Counters of the sockets of these clients.
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
    /// Bytes received from clients since the start.
    pub received: u64,
    /// Bytes sent to clients since the start.
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

impl Group {
    /// The counters of clients and threads.
    pub(super) fn tally(&self) -> Tally {
        let (held, most) = (self.pool.held() as u64, self.pool.most_held() as u64);
        Tally { client_memory: held, most_client_memory: most, ..self.tally }
    }

    /// Updates the memory charged to a client.
    #[inline]
    pub(super) fn charge(&mut self, session: &mut Session) {
        let memory = session.memory();
        if session.charged == 0 {
            session.since = self.watch.received();
        }
        self.pool.release(session.charged);
        self.pool.charge(memory);
        session.charged = memory;
    }

    /// Forgets a client that has disconnected, once no reply to it is pending.
    #[inline]
    pub(super) fn forget_if_over(&mut self, client: u32, session: &mut Option<Session>) {
        if let Some(over) = session.take_if(|session| session.is_gone && session.is_answered()) {
            self.numbers[client as usize] = over.first;
            self.pool.release(over.charged);
            self.vacant.push(client);
        }
    }
}

impl Clients {
    /// No clients yet, in a thread that shares the shards of this division.
    pub fn new(thread: ThreadOf, division: Division, settings: ServiceSettings) -> Clients {
        let tally = Tally { threads: u64::from(thread.of), ..Tally::default() };
        let group = Group {
            number: thread.number,
            settings,
            permissions: Permissions::default(),
            division,
            vacant: Vec::new(),
            numbers: Vec::new(),
            texts: Texts::default(),
            pool: Pool::new(&settings, thread.of),
            ration: usize::MAX,
            unix: 0,
            tally,
            watch: Stopwatch::default(),
        };
        Clients { sessions: Vec::new(), receivers: Vec::new(), group }
    }

    /// Sets what clients may do.
    pub fn with_permissions(self, permissions: Permissions) -> Clients {
        let group = Group { permissions, ..self.group };
        Clients { group, ..self }
    }

    /// Sets the time, in seconds of Unix time.
    pub fn tick(&mut self, unix: u64) {
        self.group.unix = unix;
        if self.group.tally.started == 0 {
            self.group.tally.started = unix;
        }
    }

    /// Begins an iteration over clients. Once it has produced `bytes` bytes of replies, only small commands
    /// are executed until the next call; clients with others [yield](Clients::has_yielded). So an iteration
    /// has an end soon, and clients with small items do not wait for the large items of others. Without a
    /// call, there is no such limit.
    pub fn begin_iteration(&mut self, bytes: usize) {
        self.group.ration = bytes;
    }

    /// Adds a client and returns its identifier, which is unique among connected clients of the thread.
    pub fn open(&mut self) -> u32 {
        self.group.tally.connections += 1;
        self.group.tally.clients += 1;
        let client = self.group.vacant.pop().unwrap_or(to_u32(self.sessions.len()));
        if client as usize == self.sessions.len() {
            self.sessions.push(None);
            self.receivers.push(Receiver::default());
            self.group.numbers.push(0);
        }
        self.receivers[client as usize] = Receiver::default();
        let first = self.group.numbers[client as usize];
        self.sessions[client as usize] = Some(Session { first, ..Session::default() });
        client
    }

    /// Removes a client that disconnects. Its identifier is reused once no request of it is pending.
    ///
    /// # Panics
    /// If the client has been removed already and its requests are still pending.
    pub fn close(&mut self, client: u32) {
        let Some(session) = &mut self.sessions[client as usize] else { return };
        assert!(!session.is_gone, "a client goes once");
        self.group.tally.clients -= 1;
        session.is_gone = true;
        session.out = SendQueue::default();
        session.drop_value();
        self.group.charge(session);
        self.group.forget_if_over(client, &mut self.sessions[client as usize]);
    }

    /// Discards a client whose session has panicked: none of its state is used. Its identifier is free; late
    /// replies to it are dropped.
    pub fn discard(&mut self, client: u32) {
        let Some(torn) = self.sessions[client as usize].take() else { return };
        self.group.pool.release(torn.charged);
        self.group.tally.clients -= u64::from(!torn.is_gone);
        self.group.numbers[client as usize] = torn.first + MOST_NUMBERS;
        self.group.vacant.push(client);
    }

    /// A shard has failed: clients that wait for it get an error. Appends those with more to send to
    /// `movers`.
    pub fn fail_shard(&mut self, shard: u32, movers: &mut Vec<u32>) {
        for client in 0..to_u32(self.sessions.len()) {
            let Some(session) = &mut self.sessions[client as usize] else { continue };
            session.fail_shard(shard);
            let is_gone = session.is_gone;
            self.group.charge(session);
            self.group.forget_if_over(client, &mut self.sessions[client as usize]);
            if !is_gone {
                movers.push(client);
            }
        }
    }

    /// Memory limit in bytes of all clients of this thread.
    pub fn memory_limit(&self) -> u64 {
        self.group.pool.limit() as u64
    }

    /// True if more than half of the memory for clients is in use.
    pub fn is_short_of_memory(&self) -> bool {
        self.group.pool.held() > self.group.pool.limit() / 2
    }

    /// Number of waiting clients that can now get memory.
    pub fn vacancies(&self) -> usize {
        self.group.pool.vacancies()
    }

    /// True if a client that holds no memory itself waits for memory held by others.
    pub fn waits_for_memory(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| {
            session.charged == 0 && session.is_ready() && !session.can_accept(self.group.pool.room_beside(0))
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
        self.sessions.len() - self.group.vacant.len()
    }

    /// The counters of clients and threads.
    pub fn tally(&self) -> Tally {
        self.group.tally()
    }

    /// Replaces the counters of sockets by those of their owner, which also counts what is no command.
    pub fn set_sockets(&mut self, sockets: SocketCounters) {
        self.group.tally.sockets = sockets;
    }

    /// Sets the receive time of later input to [`Clients::receive`].
    pub fn note_receipt(&mut self, moment: Time) {
        self.group.watch.receive(moment);
    }

    /// True if there are replies since the last [`Clients::note_sending`].
    pub fn has_answered(&self) -> bool {
        self.group.watch.has_ready()
    }

    /// Sets the send time of the replies that are ready.
    pub fn note_sending(&mut self, moment: Time) {
        self.group.watch.send(moment);
    }

    /// Takes the latencies of the commands answered since the last call.
    pub fn take_latencies(&mut self) -> Latencies {
        self.group.watch.take()
    }

    /// Dispatches a client's commands in this input.
    ///
    /// # Panics
    /// If no client has this identifier.
    #[inline]
    pub fn receive<'i>(&mut self, client: u32, input: &'i [u8]) -> Dispatch<'_, 'i> {
        let session = &mut self.sessions[client as usize];
        session.as_mut().expect("a client keeps its place until it is answered").has_yielded = false;
        Dispatch::new(session, &mut self.receivers[client as usize], (&mut self.group, client), input)
    }

    /// Dispatches further commands of a client for which a shard has replied. Afterwards it may have more to
    /// send or accept more input, if it [is connected](Clients::is_connected).
    pub fn take(&mut self, reply: Reply) -> Dispatch<'_, 'static> {
        let Reply { requester, content } = reply;
        debug_assert_eq!(requester.group, self.group.number);
        let client = requester.client as usize;
        // The client may have been discarded.
        let (session, receiver) = (&mut self.sessions[client], &mut self.receivers[client]);
        let dispatch = Dispatch::new(session, receiver, (&mut self.group, requester.client), &[]);
        dispatch.after(|session, ways| session.note_reply(requester.number, content, ways))
    }

    /// True until a client disconnects.
    pub fn is_connected(&self, client: u32) -> bool {
        self.sessions[client as usize].as_ref().is_some_and(|session| !session.is_gone)
    }

    /// A client's send queue.
    ///
    /// # Panics
    /// If no client has this identifier.
    pub fn send_queue(&mut self, client: u32) -> &mut SendQueue {
        &mut self.sessions[client as usize].as_mut().expect("a client that is sent something is there").out
    }

    /// `bytes` bytes of a client's send queue were sent.
    ///
    /// # Panics
    /// If no client has this identifier.
    pub fn note_sent(&mut self, client: u32, bytes: usize) {
        let session = self.sessions[client as usize].as_mut();
        let session = session.expect("a client that was sent something is there");
        session.out.note_sent(bytes, &mut self.group.texts);
        self.group.tally.sockets.sent += bytes as u64;
        self.group.charge(session);
    }

    /// True while a client accepts input.
    pub fn can_accept(&self, client: u32) -> bool {
        let session = self.sessions[client as usize].as_ref();
        session.is_some_and(|session| session.can_accept(self.group.pool.room_beside(session.charged)))
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
}
