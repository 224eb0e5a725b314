//! From the socket of a connection to its requests.

use super::super::connection::Received;
use super::{Seat, Service};
use crate::ctl::Steered;
use tailcut_base::Time;
use tailcut_host::wire::nbd::{Command, Header, Refusal};

impl<D: Steered> Service<D> {
    /// Takes requests of one connection: one receive, and what was left of the last.
    pub(super) fn receive(&mut self, seat: u32, now: Time) {
        let Some(connection) = &mut self.seats[seat as usize].connection else { return };
        connection.is_listed = false;
        if connection.is_waiting() {
            let (bytes, from) = std::mem::take(&mut connection.leftover);
            let left = self.take_requests(seat, &bytes[from..], now);
            let from = bytes.len() - left;
            self.keep(seat, left, || (bytes, from));
        }
        self.receive_more(seat, now);
        let Some(connection) = &mut self.seats[seat as usize].connection else { return };
        if connection.is_over() {
            self.close(seat);
        } else if connection.is_readable && !connection.is_ending && !connection.is_waiting() {
            self.list(seat);
        }
    }

    fn receive_more(&mut self, seat: u32, now: Time) {
        let Some(connection) = &mut self.seats[seat as usize].connection else { return };
        if connection.is_ending || connection.is_waiting() || !connection.is_readable {
            return;
        }
        match connection.receive(&mut self.buffer, &mut self.pool) {
            Received::Nothing => connection.is_readable = false,
            Received::End => connection.is_ending = true,
            Received::Bytes { count, more } => {
                connection.is_readable = more || connection.is_hung;
                connection.progress = now;
                let buffer = std::mem::take(&mut self.buffer);
                let left = self.take_requests(seat, &buffer[..count], now);
                self.keep(seat, left, || (buffer[count - left..count].to_vec(), 0));
                self.buffer = buffer;
            }
        }
    }

    /// What was received but not taken stays with its connection.
    fn keep(&mut self, seat: u32, left: usize, bytes: impl FnOnce() -> (Vec<u8>, usize)) {
        let Some(connection) = &mut self.seats[seat as usize].connection else { return };
        if left > 0 {
            connection.leftover = bytes();
        }
        if connection.is_waiting() && !connection.is_blocked {
            connection.is_blocked = true;
            self.blocked.push_back(seat);
        }
    }

    /// Takes the requests in `input` as far as they are let in. Returns how many bytes are left.
    fn take_requests(&mut self, seat: u32, mut input: &[u8], now: Time) -> usize {
        loop {
            let Seat { connection, held, .. } = &mut self.seats[seat as usize];
            let Some(connection) = connection else { return 0 };
            if connection.is_ending {
                return 0;
            }
            let (budget, in_machine) = (&mut self.budget, self.machine.in_flight());
            let under_way = &mut connection.under_way;
            let admits = |header: &Header, command| {
                let admits = *under_way < MOST_UNDER_WAY
                    && in_machine < MOST_IN_MACHINE
                    && budget.take(held, charge(header, command));
                *under_way += u32::from(admits);
                admits
            };
            match connection.receiver.next(&mut input, &mut self.pool, admits) {
                Err(_) => {
                    self.figures.expelled += 1;
                    self.close(seat);
                    return 0;
                }
                Ok(Some(incoming)) => self.take(seat, incoming, now),
                Ok(None) => return input.len(),
            }
        }
    }
}

/// Bytes of the budget that a request takes.
pub(super) fn charge(header: &Header, command: Result<Command, Refusal>) -> u64 {
    match command {
        Ok(Command::Read | Command::Write) => u64::from(header.length),
        _ => 0,
    }
}

/// Requests of one connection that are let in and not answered.
const MOST_UNDER_WAY: u32 = 1024;
/// Requests of all connections that are with the drive or wait for it; see `Unaligned`.
const MOST_IN_MACHINE: usize = 65_000;
