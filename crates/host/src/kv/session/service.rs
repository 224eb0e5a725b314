//! Clients of one engine in one thread.
//!
//! The owner of the sockets and the disk calls, in this order: [`Service::tick`]; [`Service::receive`] for
//! each client with input; [`Service::recover`]; [`Service::next_request`] until there is none, submitting
//! each to the disk; [`Service::respond`] with its completions; [`Service::turn`], which returns the clients
//! that can continue; all of that again if there were any, as they may need the disk. Then it sends the
//! content of [`Service::send_queue`].

use super::clients::Clients;
use super::hand_over::ThreadOf;
use super::latency::Latencies;
use super::send_queue::SendQueue;
use super::shard::{ServiceSettings, Shard};
use super::shard_request::Division;
use super::statistics::Statistics;
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::kv::Engine;
use crate::wire::memcached::Reason;
use tailcut_base::Time;

/// An engine with its clients, for one thread.
///
/// # Examples
/// ```
/// use tailcut_base::Time;
/// use tailcut_host::kv::session::{Service, ServiceSettings};
/// use tailcut_host::kv::{Engine, Settings};
///
/// let engine = Engine::in_memory(Settings::default(), 7);
/// let (most_item, client_memory) = (1 << 20, 16 << 20);
/// let settings = ServiceSettings { most_item, is_durable: false, client_memory, process: 1 };
/// let mut service = Service::new(engine, settings);
/// service.tick(Time::ZERO, 1_800_000_000);
/// let client = service.open();
/// let mut input: &[u8] = b"set key 0 0 5\r\nvalue\r\nget key\r\n";
/// service.receive(client, &mut input);
/// let mut sent = Vec::new();
/// service.send_queue(client).empty_into(&mut sent);
/// assert_eq!(sent, b"STORED\r\nVALUE key 0 5\r\nvalue\r\nEND\r\n");
/// ```
#[derive(Debug)]
pub struct Service {
    clients: Clients,
    shard: Shard,
    now: Time,
}

impl Service {
    /// A service for an engine.
    pub fn new(engine: Engine, settings: ServiceSettings) -> Service {
        Service {
            clients: Clients::new(ThreadOf::ONLY, Division::WHOLE, settings),
            shard: Shard::new(engine, settings),
            now: Time::ZERO,
        }
    }

    /// Sets the time: on the process's clock, and in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        self.now = now;
        self.clients.tick(unix);
        self.clients.note_receipt(now);
        self.shard.tick(now, unix);
    }

    /// Adds a client and returns its identifier, which is unique among connected clients.
    pub fn open(&mut self) -> u32 {
        self.clients.open()
    }

    /// Removes a client that disconnects.
    pub fn close(&mut self, client: u32) {
        self.clients.close(client);
    }

    /// Executes a client's commands and advances `input` past them. The rest must be passed again.
    pub fn receive(&mut self, client: u32, input: &mut &[u8]) {
        let Service { clients, shard, .. } = self;
        loop {
            let before = input.len();
            *input = shard.serve(clients.receive(client, input));
            // Replies of the shard that are complete already.
            let has_replies = self::deliver(clients, shard, |_| {});
            if !has_replies || input.len() == before {
                return;
            }
        }
    }

    /// The queue of replies that are to be sent to a client.
    pub fn send_queue(&mut self, client: u32) -> &mut SendQueue {
        self.clients.send_queue(client)
    }

    /// True while a client accepts input.
    pub fn can_accept(&self, client: u32) -> bool {
        self.clients.can_accept(client)
    }

    /// True if no reply to a client is pending.
    pub fn is_answered(&self, client: u32) -> bool {
        self.clients.is_answered(client)
    }

    /// Why a client's connection must be closed; None while replies are pending.
    pub fn closing(&self, client: u32) -> Option<Reason> {
        self.clients.closing(client)
    }

    /// The next request for the disk. Includes the writes that make acknowledged changes durable.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.shard.next_request()
    }

    /// Handles a completion from the disk.
    pub fn respond(&mut self, response: Response<Bytes>) {
        self.shard.respond(response);
    }

    /// Advances recovery by a small step while the engine serves; see [`Engine::recover`].
    pub fn recover(&mut self) {
        self.shard.recover();
    }

    /// Continues requests that were waiting for a fetch, durability, or the disk. Appends the clients that
    /// have more to send or accept more input to `movers`.
    pub fn turn(&mut self, movers: &mut Vec<u32>) {
        self.shard.turn();
        deliver(&mut self.clients, &mut self.shard, |client| movers.push(client));
        self.clients.note_sending(self.now);
    }

    /// When the service's next timer expires; [`Time::NEVER`] if none is set.
    pub fn next_event(&self) -> Time {
        self.shard.next_event()
    }

    /// Counters of client commands since the start or the last `stats reset`.
    pub fn statistics(&self) -> Statistics {
        self.shard.sums().statistics
    }

    /// Takes the latencies of the commands answered since the last call.
    pub fn take_latencies(&mut self) -> Latencies {
        self.clients.take_latencies()
    }

    /// The storage engine of the only shard.
    pub fn engine(&self) -> &Engine {
        self.shard.engine()
    }

    /// The engine, for shutdown: [`Engine::sync`] and [`Engine::is_idle`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        self.shard.engine_mut()
    }
}

/// Delivers the shard's replies to clients. True if there were any.
fn deliver(clients: &mut Clients, shard: &mut Shard, mut moved: impl FnMut(u32)) -> bool {
    let mut has_any = false;
    while let Some(reply) = shard.next_reply() {
        has_any = true;
        let client = reply.requester.client;
        shard.serve(clients.take(reply));
        if clients.is_connected(client) {
            moved(client);
        }
    }
    has_any
}
