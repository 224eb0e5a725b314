//! A simulated drive or array as a disk of bytes.
//!
//! Drives and arrays in virtual time carry fingerprints, and both promise that a read returns what the last
//! write submitted before it wrote. So the bytes are kept beside, and taken at the moment at which a
//! request is submitted; the fingerprints returned by the drive or array, which are made of these bytes,
//! are checked.

use crate::storage::Storage;
use crate::world::Checker;
use std::collections::VecDeque;
use tailcut_base::ids::Slab;
use tailcut_base::{Cause, Command, CommandId, Completion, Op, Status, Submit, Time, id};
use tailcut_host::{Block, Bytes, Disk, Request, Response};

/// A disk of bytes.
pub struct ByteDisk<S> {
    storage: S,
    checker: Checker,
    shape: Disk,
    blocks: Vec<Bytes>,
    /// Requests in flight, each with its expected reply.
    in_flight: Slab<FlightId, Flight>,
    /// Requests for which there was no room, and since when.
    waiting: VecDeque<(Time, Request<Bytes>)>,
    completions: Vec<Completion>,
    /// Requests so far.
    asked: u64,
}

id! {
    /// A command in flight to the storage below. Hosts have a thread for each id.
    struct FlightId;
}

/// A request whose command is in flight.
#[derive(Debug)]
struct Flight {
    /// Its id above.
    id: u32,
    op: Op,
    data: Vec<Bytes>,
    expected: u64,
    since: Time,
}

impl<S: Storage> ByteDisk<S> {
    /// Over the first blocks of a drive or an array, which hold these bytes. `checker` knows the
    /// fingerprints.
    pub fn new(storage: S, checker: Checker, blocks: Vec<Bytes>) -> ByteDisk<S> {
        let shape = Disk { blocks: blocks.len() as u64, ..Disk::of(&storage.identify()) };
        ByteDisk {
            storage,
            checker,
            shape,
            blocks,
            in_flight: Slab::new(),
            waiting: VecDeque::new(),
            completions: Vec::new(),
            asked: 0,
        }
    }

    /// The identity of the storage as a disk.
    pub fn shape(&self) -> &Disk {
        &self.shape
    }

    /// The drive, array or host to which the timing of requests is left.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Mutable access to the storage below.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// Returns the storage below without this layer.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// True while fingerprints are checked.
    pub fn is_checking(&self) -> bool {
        self.checker.is_on() || self.storage.checks_content()
    }

    /// A request; none before it may be in flight under its name.
    pub fn submit(&mut self, now: Time, request: Request<Bytes>) {
        self.waiting.push_back((now, request));
        self.send(now);
    }

    /// Submits a command to the storage below, before it serves as a disk.
    pub fn prepare(&mut self, now: Time, command: &Command) -> Submit {
        let answer = self.storage.submit(now, command);
        if answer == Submit::Accepted {
            self.checker.submitted(command);
        }
        answer
    }

    /// Hands over what there is room for.
    fn send(&mut self, now: Time) {
        while let Some((since, request)) = self.waiting.front() {
            let Request { id, op, .. } = *request;
            let flight = Flight { id, op, data: Vec::new(), expected: 0, since: *since };
            let flight = self.in_flight.insert(flight);
            let id = CommandId(flight.get());
            let command = Command { content: fingerprint_of(request), ..request.command(id) };
            match self.storage.submit(now, &command) {
                Submit::Accepted => {}
                Submit::Busy => {
                    self.in_flight.remove(flight);
                    return;
                }
                Submit::Refused(status) => panic!("a server asks for what its disk has: {status:?}"),
            }
            self.in_flight[flight].expected = self.checker.submitted(&command);
            let (_, request) = self.waiting.pop_front().expect("it is there");
            self.in_flight[flight].data = self.carry_out(request);
            self.asked += 1;
        }
    }

    /// A request takes effect in the order in which it was submitted. Returns the blocks of its reply.
    fn carry_out(&mut self, request: Request<Bytes>) -> Vec<Bytes> {
        let Request { op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        match op {
            Op::Read => data.extend_from_slice(&self.blocks[range]),
            Op::Write => self.blocks[range].clone_from_slice(&data),
            Op::Trim => self.blocks[range].fill(Bytes::ZEROS),
            Op::Flush => {}
        }
        data
    }

    /// When something happens by itself.
    pub fn next_event(&self) -> Time {
        self.storage.next_event()
    }

    /// Serves all events up to `now`; appends the answers that come of them. The spans of each add up to the
    /// time since it was submitted.
    pub fn advance(&mut self, now: Time, answers: &mut Vec<Response<Bytes>>) {
        let mut completions = std::mem::take(&mut self.completions);
        while !self.storage.advance(now, &mut completions) {}
        let has_room = !completions.is_empty();
        answers.extend(completions.drain(..).map(|completion| self.answer(now, completion)));
        self.completions = completions;
        if has_room {
            self.send(now);
        }
    }

    fn answer(&mut self, now: Time, completion: Completion) -> Response<Bytes> {
        let CommandId(id) = completion.id;
        let flight = self.in_flight.remove(FlightId::new(id));
        let op = flight.op;
        self.checker.completed(op, &completion, flight.expected, self.asked);
        let mut spans = completion.spans;
        let taken = now.since(flight.since);
        spans.add(Cause::Tag, taken.saturating_sub(spans.total()));
        assert_eq!(spans.total(), taken, "the account of the disk is complete");
        let Completion { status, busy_for, .. } = completion;
        let mut data = flight.data;
        if op == Op::Read && status != Status::Success {
            data.clear();
        }
        Response { id: flight.id, status, data, busy_for, spans }
    }
}

/// The data of a write, as a fingerprint.
fn fingerprint_of(request: &Request<Bytes>) -> u32 {
    let sum = |sum: u32, block: &Bytes| sum.rotate_left(5) ^ block.checksum();
    if request.op == Op::Write { request.data.iter().fold(0, sum) } else { 0 }
}
