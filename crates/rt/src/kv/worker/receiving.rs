//! Input from sockets to the service.

use super::super::client::Client;
use super::super::events::Event;
use super::super::shards::ShardHandle;
use super::super::throttle::Throttle;
use super::{Stopping, Worker};
use crate::Clock;
use crate::ctl::Steered;
use crate::reactor::Received;
use tailcut_base::Time;
use tailcut_host::kv::session::Clients;
use tailcut_host::wire::memcached::login::AUTHENTICATION_FAILURE;
use tailcut_host::wire::memcached::reply::{self, Stored};
use tailcut_host::wire::memcached::{Attempt, Users};

impl<D: Steered> Worker<D> {
    /// Receives once from a readable client: others have their turn then.
    pub(super) fn receive(&mut self, slot: u32) {
        let Some(client) = self.slots.get_mut(slot) else { return };
        client.is_listed = false;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut intake = Intake {
            clients: &mut self.clients,
            shards: &mut self.shards,
            users: self.users.as_ref(),
            throttle: &mut self.throttle,
            clock: self.clock,
            not_let_in: 0,
            logins: 0,
            wrong_logins: 0,
        };
        if client.is_held {
            let kept = std::mem::take(&mut client.input);
            intake.clients.note_receipt(client.heard);
            let mut input = &kept[..];
            intake.take(client, &mut input);
            client.keep(input);
        }
        let is_wanted = client.socket.is_readable
            && !client.is_held
            && client.slowed_until.is_none()
            && intake.clients.can_accept(client.name);
        let mut received = Received::Nothing;
        if is_wanted && self.stopping == Stopping::Not {
            // The leftover input of a client that is being served is an incomplete command: there is room for
            // more.
            let before = if client.is_binary() { 0 } else { client.input.len() };
            buffer[..before].copy_from_slice(&client.input[..before]);
            received = client.socket.receive(&mut buffer[before..]);
            client.has_ended |= received == Received::End;
            if let Received::Bytes(count) = received {
                client.note_receipt(self.clock.now());
                intake.clients.note_receipt(client.heard);
                self.traffic.received += count as u64;
                self.traffic.yields += u64::from(before + count == buffer.len());
                let lines = client.translate(&buffer[before..before + count], intake.users.is_some());
                let mut input = lines.as_deref().unwrap_or(&buffer[..before + count]);
                intake.take(client, &mut input);
                client.keep(input);
            }
        }
        self.traffic.not_let_in += intake.not_let_in;
        self.traffic.logins += intake.logins;
        self.traffic.wrong_logins += intake.wrong_logins;
        self.slowed_check = self.slowed_check.min(client.slowed_until.unwrap_or(Time::NEVER));
        self.buffer = buffer;
        if received == Received::Failed {
            return self.close(slot);
        }
        self.note_answer(slot);
        self.list(slot);
    }

    /// Lists a client to be received from, if it has input that would be accepted.
    pub(super) fn list(&mut self, slot: u32) {
        let Some(client) = self.slots.get_mut(slot) else { return };
        let may_receive = client.socket.is_readable && self.stopping == Stopping::Not;
        let may_go_on = client.slowed_until.is_none() && (may_receive || client.is_held);
        if !may_go_on || client.is_listed || client.awaits_memory {
            return;
        }
        if self.clients.can_accept(client.name) {
            client.is_listed = true;
            self.listed.push_back(slot);
        } else if self.clients.waits_for_memory(client.name) {
            client.awaits_memory = true;
            self.pressure.add(slot, self.clock.now());
        }
    }
}

impl<D: Steered> Worker<D> {
    /// Resumes throttled clients whose time has come.
    pub(super) fn go_on_with_the_slowed(&mut self, now: Time) {
        if self.slowed_check > now {
            return;
        }
        self.slowed_check = Time::NEVER;
        for slot in self.slots.all() {
            let Some(client) = self.slots.get_mut(slot) else { continue };
            match client.slowed_until {
                // A disconnected client does not delay others.
                Some(_) if client.socket.is_hung() => self.close(slot),
                Some(until) if until <= now => {
                    client.slowed_until = None;
                    self.list(slot);
                }
                Some(until) => self.slowed_check = self.slowed_check.min(until),
                None => {}
            }
        }
    }
}

/// Consumes the input of a client.
struct Intake<'a> {
    clients: &'a mut Clients,
    shards: &'a mut ShardHandle,
    users: Option<&'a Users>,
    throttle: &'a mut Throttle,
    clock: Clock,
    not_let_in: u64,
    logins: u64,
    wrong_logins: u64,
}

impl Intake<'_> {
    /// Takes complete commands from the input, as far as memory allows.
    fn take(&mut self, client: &mut Client, input: &mut &[u8]) {
        while let (true, Some(users)) = (client.login.is_some(), self.users) {
            client.is_held = !self.clients.can_accept(client.name);
            if client.is_held {
                return;
            }
            let (peer, now) = (client.peer(), self.clock.now());
            client.slowed_until = Some(self.throttle.opens(&peer)).filter(|&opens| opens > now);
            if client.slowed_until.is_some() {
                // Input sent so far is processed when the throttle opens.
                client.is_held = true;
                return;
            }
            let Some(login) = &mut client.login else { return };
            match login.next(users, input) {
                Attempt::More => return,
                Attempt::Welcome => {
                    self.logins += 1;
                    client.login = None;
                    reply::stored(self.clients.send_queue(client.name).tail(), Stored::Stored, false);
                }
                Attempt::Refused(line) => {
                    self.not_let_in += 1;
                    if line == AUTHENTICATION_FAILURE {
                        self.logins += 1;
                        self.wrong_logins += 1;
                        self.throttle.note_failure(&peer, now);
                        self.shards.common().log(Event::LoginFailed(peer));
                    }
                    self.clients.send_queue(client.name).tail().extend_from_slice(line);
                }
                Attempt::Close => {
                    (client.has_ended, client.socket.is_readable) = (true, false);
                    *input = &[];
                    return;
                }
            }
        }
        *input = self.shards.serve(self.clients.receive(client.name, input));
        client.is_held = self.clients.has_yielded(client.name) || !self.clients.can_accept(client.name);
    }
}
