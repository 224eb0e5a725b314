//! From a socket to the service.

use super::super::client::{Client, Moved};
use super::super::shards::Reach;
use super::{Stopping, Worker};
use crate::ctl::Steered;
use tailcut_host::kv::session::Clients;
use tailcut_host::wire::memcached::reply::{self, Stored};
use tailcut_host::wire::memcached::{Attempt, Users};

impl<D: Steered> Worker<D> {
    /// Receives from a client that has sent something, once: others come first then.
    pub(super) fn receive(&mut self, seat: u32) {
        let Some(client) = &mut self.seats[seat as usize].client else { return };
        client.is_listed = false;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut intake = Intake {
            clients: &mut self.clients,
            reach: &mut self.reach,
            users: self.users.as_ref(),
            not_let_in: 0,
        };
        if client.is_held {
            let kept = std::mem::take(&mut client.input);
            intake.clients.note_receipt(client.heard);
            let mut input = &kept[..];
            intake.take(client, &mut input);
            client.keep(input);
        }
        let is_wanted = client.is_readable && intake.clients.is_willing(client.name);
        let mut moved = Moved::Nothing;
        if is_wanted && self.stopping == Stopping::Not {
            // What is left of a client that is served is half a command: there is room for more.
            let before = client.input.len();
            buffer[..before].copy_from_slice(&client.input);
            moved = client.receive(&mut buffer[before..]);
            if let Moved::Bytes(count) = moved {
                client.heard = self.clock.now();
                intake.clients.note_receipt(client.heard);
                self.traffic.received += count as u64;
                let mut input = &buffer[..before + count];
                intake.take(client, &mut input);
                client.keep(input);
            }
        }
        self.traffic.not_let_in += intake.not_let_in;
        self.buffer = buffer;
        if moved == Moved::Gone {
            return self.close(seat);
        }
        self.note_answer(seat);
        self.list(seat);
    }

    /// Puts a client on the list of those that are received from, if it has something that would be taken.
    pub(super) fn list(&mut self, seat: u32) {
        let Some(client) = &mut self.seats[seat as usize].client else { return };
        let may_receive = client.is_readable && self.stopping == Stopping::Not;
        if (may_receive || client.is_held) && !client.is_listed && self.clients.is_willing(client.name) {
            client.is_listed = true;
            self.listed.push_back(seat);
        }
    }
}

/// Where input goes.
struct Intake<'a> {
    clients: &'a mut Clients,
    reach: &'a mut Reach,
    users: Option<&'a Users>,
    not_let_in: u64,
}

impl Intake<'_> {
    /// Takes of the input what is understood, and what there is room for.
    fn take(&mut self, client: &mut Client, input: &mut &[u8]) {
        while let (Some(login), Some(users)) = (&mut client.login, self.users) {
            client.is_held = !self.clients.is_willing(client.name);
            if client.is_held {
                return;
            }
            match login.next(users, input) {
                Attempt::More => return,
                Attempt::Welcome => {
                    client.login = None;
                    reply::stored(self.clients.outbox(client.name).tail(), Stored::Stored, false);
                }
                Attempt::Refused(line) => {
                    self.not_let_in += 1;
                    self.clients.outbox(client.name).tail().extend_from_slice(line);
                }
                Attempt::Close => {
                    (client.has_ended, client.is_readable) = (true, false);
                    *input = &[];
                    return;
                }
            }
        }
        self.clients.receive(client.name, input, &mut self.reach.visit());
        client.is_held = !self.clients.is_willing(client.name);
    }
}
