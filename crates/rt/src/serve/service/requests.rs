//! Submits requests to the drive, and turns its completions into replies.

use super::super::charge::{MOST_EXTENTS, MOST_LOOKED_AT, OVERHEAD, blocks_to_clear, charge};
use super::super::figures::Kind;
use super::{MOST_ROUNDS, MOST_WAITING_SEEN, NOBODY, Pending, PendingId, Service, Stopping, THE_KERNEL};
use crate::ctl::Steered;
use tailcut_base::{Class, Nanos, Status, Time};
use tailcut_host::unaligned::{Answer, Ask};
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::wire::nbd::{Command, Header, Incoming, Refusal, Reply};
use tailcut_host::{BLOCK_BYTES, Bytes, unaligned};

impl<D: Steered> Service<D> {
    pub(super) fn take(&mut self, slot: u32, incoming: Incoming, now: Time) {
        let Incoming { header, command, data } = incoming;
        match command {
            Err(refusal) => {
                self.figures.refused += 1;
                self.refuse(slot, &header, refusal, charge(&header, command));
            }
            Ok(Command::Disconnect) => {
                if let Some(connection) = self.slots[slot].open() {
                    connection.is_ending = true;
                    connection.under_way -= 1;
                }
            }
            Ok(Command::Cache) => {
                // A hint; there is no cache between this server and its drive to fill.
                self.figures.count(Kind::Other, 0, Nanos::ZERO, false);
                self.reply(slot, Reply::done(&header), charge(&header, command));
            }
            Ok(Command::Status) => {
                self.figures.count(Kind::Other, 0, Nanos::ZERO, false);
                self.look_at_extents(&header);
                let reply = Reply::status(&header, &self.extents);
                self.reply(slot, reply, charge(&header, command));
            }
            Ok(command) => self.ask(slot, header, command, data, now),
        }
    }

    /// Submits a request of a connection to the alignment layer in front of the drive.
    fn ask(&mut self, slot: u32, header: Header, command: Command, data: Vec<Bytes>, now: Time) {
        let place = &mut self.slots[slot];
        place.with_drive += 1;
        let class = place.connection.as_ref().map_or(Class::DEFAULT, |connection| connection.class);
        let charge = charge(&header, Ok(command));
        self.hand_in(Pending { slot, header, command, charge, since: now }, class, data);
    }

    /// Submits a request to the alignment layer in front of the drive.
    pub(super) fn hand_in(&mut self, pending: Pending, class: Class, mut data: Vec<Bytes>) {
        let Pending { header, command, .. } = pending;
        let kind = match command {
            Command::Read => unaligned::Kind::Read,
            Command::Write => unaligned::Kind::Write,
            Command::Zero => unaligned::Kind::Zero { takes_room: header.has(NBD_CMD_FLAG_NO_HOLE) },
            Command::Trim => unaligned::Kind::Trim,
            _ => unaligned::Kind::Flush,
        };
        if command == Command::Read {
            data = self.pool.list();
        }
        let name = self.note(pending);
        let fua = header.has(NBD_CMD_FLAG_FUA);
        let (offset, bytes) = (header.offset, u64::from(header.length));
        self.machine.submit(Ask { name, kind, fua, class, offset, bytes, data });
    }

    pub(super) fn note(&mut self, pending: Pending) -> u32 {
        self.pending.insert(pending).get()
    }

    /// Submits requests to the drive and processes its completions, within the bounds of an iteration.
    pub(super) fn carry_out(&mut self, now: Time) {
        let rounds = (MOST_WAITING_SEEN / self.machine.waiting().max(1)).clamp(1, MOST_ROUNDS);
        let mut has_moved = true;
        for _ in 0..rounds {
            has_moved = false;
            while let Some(mut request) = self.machine.next_request(&mut self.pool) {
                self.placer.place(&mut request);
                self.drive.submit(now, request);
                has_moved = true;
            }
            self.drive.poll(now, &mut self.answers);
            for response in self.answers.responses.drain(..) {
                self.machine.respond(response, &mut self.pool);
                has_moved = true;
            }
            self.steering.replied(self.answers.replies.drain(..));
            if !has_moved {
                break;
            }
        }
        self.has_unfinished = has_moved;
        self.finish_ended();
    }

    fn finish_ended(&mut self) {
        let Some(mut answer) = self.machine.next_answer() else { return };
        let now = self.clock.now();
        let (mut requests, mut bytes) = (0, 0);
        loop {
            requests += 1;
            bytes += self.finish(answer, now);
            match self.machine.next_answer() {
                Some(next) => answer = next,
                None => break,
            }
        }
        self.live.add(requests, bytes);
    }

    /// A request has completed. Returns the bytes that it transferred.
    fn finish(&mut self, answer: Answer, now: Time) -> u64 {
        let Answer { name, status, data } = answer;
        let Pending { slot, header, command, charge, since } = self.pending.remove(PendingId::new(name));
        if slot == NOBODY {
            self.pool.recycle(data);
            self.last_flush_ended(status, now);
            return 0;
        }
        self.figures.count(Kind::of(command), header.length, now.since(since), status != Status::Success);
        if slot == THE_KERNEL {
            return self.finish_for_kernel(&header, command, status, data);
        }
        let cleared = blocks_to_clear(&header, Ok(command));
        self.clearing -= cleared;
        // Clients that wait for trims of others need not wait until the replies to those are sent.
        self.has_released |= cleared > 0;
        let place = &mut self.slots[slot];
        place.with_drive -= 1;
        let Some(connection) = &place.connection else {
            self.budget.give_back(&mut place.held, charge);
            self.has_released = true;
            self.pool.recycle(data);
            self.vacate(slot);
            return 0;
        };
        let is_structured = connection.rules.has_structured_replies;
        let refusal = match error(status, command) {
            Some(_) if status == Status::Gone && self.stopping != Stopping::Not => Some(SHUTDOWN),
            refusal => refusal,
        };
        let reply = match (refusal, command) {
            (None, Command::Read) => Reply::content(&header, data, is_structured),
            (None, _) => {
                self.pool.recycle(data);
                Reply::done(&header)
            }
            (Some(refusal), _) => {
                self.pool.recycle(data);
                Reply::error(&header, refusal, is_structured)
            }
        };
        self.reply(slot, reply, charge);
        u64::from(header.length)
    }

    /// The flush before shutdown has ended. A full drive may have space soon.
    fn last_flush_ended(&mut self, status: Status, now: Time) {
        self.stopping = match self.stopping {
            Stopping::Flushing(deadline) if status == Status::NoSpace && now < deadline => {
                Stopping::Until(deadline)
            }
            _ => Stopping::Done,
        };
        self.figures.note_last_flush(status);
    }

    fn refuse(&mut self, slot: u32, header: &Header, refusal: Refusal, charge: u64) {
        let Some(connection) = &self.slots[slot].connection else { return };
        let reply = Reply::error(header, refusal, connection.rules.has_structured_replies);
        self.reply(slot, reply, charge);
    }

    fn reply(&mut self, slot: u32, reply: Reply, charge: u64) {
        let Some(connection) = self.slots[slot].open() else { return };
        connection.reply(reply, charge);
        if !connection.is_replying {
            connection.is_replying = true;
            self.replying.push(slot);
        }
    }

    /// Looks up the extents of a block status request, and merges adjacent ones with equal status.
    fn look_at_extents(&mut self, header: &Header) {
        self.extents.clear();
        let (from, to) = (header.offset, header.offset + u64::from(header.length));
        let first = from / BLOCK_BYTES;
        let last = to.div_ceil(BLOCK_BYTES).min(first + MOST_LOOKED_AT);
        let most = if header.has(NBD_CMD_FLAG_REQ_ONE) { 1 } else { MOST_EXTENTS };
        let mut block = first;
        for _ in 0..MOST_EXTENTS {
            if block >= last {
                break;
            }
            let extent = self.drive.extent(block, last - block);
            self.lookups.count(extent.blocks);
            let begin = (block * BLOCK_BYTES).max(from);
            block += extent.blocks;
            let bytes = ((block * BLOCK_BYTES).min(to) - begin) as u32;
            let hole = if extent.is_allocated { 0 } else { NBD_STATE_HOLE };
            let state = hole | if extent.is_zero { NBD_STATE_ZERO } else { 0 };
            let count = self.extents.len();
            match self.extents.last_mut() {
                Some((length, same)) if *same == state => *length += bytes,
                _ if count == most => break,
                _ => self.extents.push((bytes, state)),
            }
        }
    }
}

/// The NBD error for a request that the drive failed; None for success.
fn error(status: Status, command: Command) -> Option<Refusal> {
    let (error, text) = match status {
        Status::Success => return None,
        Status::InvalidField => (Error::Invalid, "the drive takes no such request"),
        Status::WriteProtected => (Error::NoSpace, "the drive has become read-only: no good blocks are left"),
        Status::MediaError if command == Command::Read => {
            (Error::InputOutput, "the data could not be read back")
        }
        Status::MediaError => (Error::InputOutput, UNDURABLE),
        Status::Contended => (Error::InputOutput, "the drive is busy with work of its own"),
        Status::Gone => (Error::InputOutput, "the drive does not answer any more"),
        Status::NoSpace => (Error::NoSpace, "the drive is full: its file system has no room"),
    };
    Some(Refusal { error, text })
}

/// Reply to a trim that a shutdown does not wait for.
const SHUTDOWN: Refusal = Refusal { error: Error::Shutdown, text: "the server is shutting down" };

/// Bounds the size of a request on its way to the drive and back, without its data.
const _: () =
    assert!(size_of::<(Reply, u64)>() + size_of::<Pending>() + size_of::<Ask>() <= OVERHEAD as usize);

/// Message after a failed flush; the server's status names the drive.
const UNDURABLE: &str = "the drive has failed a write or a flush, and takes no writes after a failed flush";
