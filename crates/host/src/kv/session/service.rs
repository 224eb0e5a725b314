//! Clients of one engine, in one thread.
//!
//! Whoever has the sockets and the disk calls, in this order: [`Service::tick`]; for each client that has
//! sent something [`Service::receive`]; [`Service::recover`]; [`Service::next_request`] until there is none,
//! giving them to the disk; [`Service::respond`] with its answers; [`Service::turn`], which names the clients
//! that can go on; all that again if it named any, as they may want something from the disk; and sends what
//! [`Service::send_queue`] holds.

use super::clients::Clients;
use super::latency::Latencies;
use super::send_queue::SendQueue;
use super::shard::{ServiceSettings, Shard};
use super::statistics::Statistics;
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::kv::Engine;
use crate::wire::memcached::Reason;
use tailcut_base::Time;

/// An engine with its clients.
#[derive(Debug)]
pub struct Service {
    clients: Clients,
    shard: Shard,
    now: Time,
}

impl Service {
    /// Over an engine.
    pub fn new(engine: Engine, settings: ServiceSettings) -> Service {
        Service {
            clients: Clients::new(0, 1, settings),
            shard: Shard::new(engine, settings),
            now: Time::ZERO,
        }
    }

    /// What time it is: by the clock of the process, and in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        self.now = now;
        self.clients.tick(unix);
        self.clients.note_receipt(now);
        self.shard.tick(now, unix);
    }

    /// A client has come; its name.
    pub fn open(&mut self) -> u32 {
        self.clients.open()
    }

    /// A client has gone, or goes.
    pub fn close(&mut self, client: u32) {
        self.clients.close(client);
    }

    /// Does what a client says, as far as it goes; the rest of the input is wanted again.
    pub fn receive(&mut self, client: u32, input: &mut &[u8]) {
        let Service { clients, shard, .. } = self;
        loop {
            let before = input.len();
            clients.receive(client, input, shard);
            // What was asked of the shard itself is there already.
            let has_replies = self::deliver(clients, shard, |_| {});
            if !has_replies || input.len() == before {
                return;
            }
        }
    }

    /// What a client is to be sent.
    pub fn send_queue(&mut self, client: u32) -> &mut SendQueue {
        self.clients.send_queue(client)
    }

    /// True while a client's input is taken.
    pub fn is_willing(&self, client: u32) -> bool {
        self.clients.is_willing(client)
    }

    /// True when nothing is missing of a client's answers.
    pub fn is_answered(&self, client: u32) -> bool {
        self.clients.is_answered(client)
    }

    /// Why a client's connection is to be closed, when everything was answered.
    pub fn closing(&self, client: u32) -> Option<Reason> {
        self.clients.closing(client)
    }

    /// The next request for the disk. What has to be durable is on its way with those that come.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.shard.next_request()
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        self.shard.respond(response);
    }

    /// Goes on with finding what is on flash, a little, while the engine serves; see [`Engine::recover`].
    pub fn recover(&mut self) {
        self.shard.recover();
    }

    /// Goes on with what was fetched, made durable, or waited for the disk. Appends the clients that have
    /// more to send, or take more.
    pub fn turn(&mut self, movers: &mut Vec<u32>) {
        self.shard.turn();
        deliver(&mut self.clients, &mut self.shard, |client| movers.push(client));
        self.clients.note_sending(self.now);
    }

    /// When it wants to go on by itself.
    pub fn next_event(&self) -> Time {
        self.shard.next_event()
    }

    /// What clients have asked for since the start, or since one of them has said `stats reset`.
    pub fn statistics(&self) -> Statistics {
        self.shard.sums().statistics
    }

    /// How long commands took that were answered since the last time.
    pub fn take_latencies(&mut self) -> Latencies {
        self.clients.take_latencies()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.shard.engine()
    }

    /// The engine, for who ends the service: [`Engine::sync`] and [`Engine::is_idle`].
    pub fn engine_mut(&mut self) -> &mut Engine {
        self.shard.engine_mut()
    }
}

/// Gives clients what has come for them. True if there was something.
fn deliver(clients: &mut Clients, shard: &mut Shard, mut moved: impl FnMut(u32)) -> bool {
    let mut has_any = false;
    while let Some(reply) = shard.next_reply() {
        has_any = true;
        clients.take(reply, shard).into_iter().for_each(&mut moved);
    }
    has_any
}
