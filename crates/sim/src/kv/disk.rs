//! A simulated drive or array as a disk of bytes.
//!
//! Drives and arrays in virtual time carry fingerprints, and both promise that a read returns what the last
//! write submitted before it wrote. So the bytes are kept beside, and taken at the moment at which a
//! request is submitted; the fingerprints returned by the drive or array, which are made of these bytes,
//! are checked.

use crate::storage::Storage;
use crate::world::Checker;
use std::collections::VecDeque;
use tailcut_base::{Cause, Command, CommandId, Completion, Op, Status, Submit, Time};
use tailcut_host::{Block, Bytes, Disk, Request, Response};

/// A disk of bytes.
pub struct ByteDisk<S> {
    storage: S,
    checker: Checker,
    shape: Disk,
    blocks: Vec<Bytes>,
    /// The expected answer of each request in flight, by its name below, with its fingerprints.
    in_flight: Vec<Flight>,
    /// Names below that no request has; the one that was freed last is the first to be used again.
    free: Vec<u32>,
    /// Requests for which there was no room, and since when.
    waiting: VecDeque<(Time, Request<Bytes>)>,
    completions: Vec<Completion>,
    /// Requests so far.
    asked: u64,
}

/// A request to the storage below, under a name of its own: hosts have a thread for each name, so the
/// lowest free one is used.
#[derive(Debug, Default)]
struct Flight {
    /// Its name above.
    id: u32,
    op: Option<Op>,
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
            in_flight: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            completions: Vec::new(),
            asked: 0,
        }
    }

    /// The identity of the storage as a disk.
    pub fn shape(&self) -> &Disk {
        &self.shape
    }

    /// The storage below.
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
            let name = self.free.last().copied().unwrap_or(self.in_flight.len() as u32);
            let command = Command { content: fingerprint_of(request), ..request.command(CommandId(name)) };
            match self.storage.submit(now, &command) {
                Submit::Accepted => {}
                Submit::Busy => return,
                Submit::Refused(status) => panic!("a server asks for what its disk has: {status:?}"),
            }
            let since = *since;
            let expected = self.checker.submitted(&command);
            let (_, request) = self.waiting.pop_front().expect("it is there");
            let (id, op, data) = self.carry_out(request);
            if self.free.pop().is_none() {
                self.in_flight.push(Flight::default());
            }
            self.in_flight[name as usize] = Flight { id, op: Some(op), data, expected, since };
            self.asked += 1;
        }
    }

    /// A request takes effect in the order in which it was submitted: its name, and the blocks that it is
    /// answered with.
    fn carry_out(&mut self, request: Request<Bytes>) -> (u32, Op, Vec<Bytes>) {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        match op {
            Op::Read => data.extend_from_slice(&self.blocks[range]),
            Op::Write => self.blocks[range].clone_from_slice(&data),
            Op::Trim => self.blocks[range].fill(Bytes::ZEROS),
            Op::Flush => {}
        }
        (id, op, data)
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
        let CommandId(name) = completion.id;
        let flight = std::mem::take(&mut self.in_flight[name as usize]);
        self.free.push(name);
        let op = flight.op.expect("the disk answers what it was asked");
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
