//! Receives requests from a connection's socket.

use super::super::charge::{MOST_CLEARED, blocks_to_clear, charge};
use super::{ConnectionSlot, Service};
use crate::ctl::Steered;
use crate::reactor::Received;
use tailcut_base::Time;
use tailcut_host::wire::nbd::{Command, Header};

impl<D: Steered> Service<D> {
    /// Processes requests of one connection: one receive, and the leftover of the previous one.
    pub(super) fn receive(&mut self, slot: u32, now: Time) {
        let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { return };
        if connection.is_waiting() {
            let (bytes, from) = std::mem::take(&mut connection.leftover);
            let left = self.take_requests(slot, &bytes[from..], now);
            let from = bytes.len() - left;
            self.keep(slot, left, || (bytes, from));
        }
        self.receive_more(slot, now);
        let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { return };
        if connection.is_finished() {
            self.close(slot);
        } else if connection.socket.is_readable && !connection.is_ending && !connection.is_waiting() {
            self.list(slot);
        }
    }

    fn receive_more(&mut self, slot: u32, now: Time) {
        let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { return };
        if connection.is_ending || connection.is_waiting() || !connection.socket.is_readable {
            return;
        }
        match connection.receive(&mut self.buffer, &mut self.pool) {
            Received::Nothing => {}
            Received::End | Received::Failed => connection.is_ending = true,
            Received::Bytes(count) => {
                connection.progress = now;
                let buffer = std::mem::take(&mut self.buffer);
                let left = self.take_requests(slot, &buffer[..count], now);
                self.keep(slot, left, || (buffer[count - left..count].to_vec(), 0));
                self.buffer = buffer;
            }
        }
    }

    /// Keeps received but unprocessed bytes with their connection.
    fn keep(&mut self, slot: u32, left: usize, bytes: impl FnOnce() -> (Vec<u8>, usize)) {
        let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { return };
        if left > 0 {
            connection.leftover = bytes();
        }
        if !connection.is_waiting() || connection.is_ending {
            return;
        }
        if connection.socket.is_gone() {
            // The client has gone, so its requests are not executed.
            return self.close(slot);
        }
        if connection.awaits_lookup {
            if !std::mem::replace(&mut connection.is_queued_for_lookup, true) {
                self.awaiting_lookup.push_back(slot);
            }
        } else if !std::mem::replace(&mut connection.is_blocked, true) {
            self.blocked.push_back(slot);
        }
    }

    /// Processes the requests in `input` as far as they are admitted. Returns the number of bytes left.
    fn take_requests(&mut self, slot: u32, mut input: &[u8], now: Time) -> usize {
        loop {
            let Some(ConnectionSlot { connection: Some(connection), held, .. }) = self.slots.get_mut(slot)
            else {
                return 0;
            };
            if connection.is_ending {
                return 0;
            }
            let (budget, in_machine) = (&mut self.budget, self.machine.in_flight());
            let (under_way, clearing) = (&mut connection.under_way, &mut self.clearing);
            let (has_room, awaits_lookup) = (self.lookups.has_room(), &mut connection.awaits_lookup);
            *awaits_lookup = false;
            let admits = |header: &Header, command| {
                if command == Ok(Command::Status) && !has_room {
                    *awaits_lookup = true;
                    return false;
                }
                let to_clear = blocks_to_clear(header, command);
                let admits = *under_way < MOST_UNDER_WAY
                    && in_machine < MOST_IN_MACHINE
                    && (to_clear == 0 || *clearing == 0 || *clearing + to_clear <= MOST_CLEARED)
                    && budget.take(held, charge(header, command));
                if admits {
                    *under_way += 1;
                    *clearing += to_clear;
                }
                admits
            };
            match connection.receiver.next(&mut input, &mut self.pool, admits) {
                Err(_) => {
                    self.figures.expelled += 1;
                    self.close(slot);
                    return 0;
                }
                Ok(Some(incoming)) => self.take(slot, incoming, now),
                Ok(None) => return input.len(),
            }
        }
    }
}

/// Maximum number of admitted, unanswered requests per connection.
const MOST_UNDER_WAY: u32 = 1024;
/// Maximum number of requests of all connections that are at the drive or wait for it; see `Unaligned`.
const MOST_IN_MACHINE: usize = 65_000;
