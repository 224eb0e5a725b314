//! The host's requests that an array works on: their parts, their data and where their time goes.

use crate::Block;
use crate::disk::{Mirror, Request, Response};
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};

/// A request of the host.
#[derive(Clone, Debug)]
pub struct HostRequest<B> {
    /// The host's name for it.
    pub id: u32,
    /// What it asks for.
    pub op: Op,
    /// A write is durable when it completes.
    pub fua: bool,
    /// Latency class.
    pub class: Class,
    /// Which copy serves a read.
    pub mirror: Mirror,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Content of a write; of a read, what is known so far.
    pub data: Vec<B>,
    /// Of a read that repairs: what is right.
    pub right: Vec<B>,
    pending: u32,
    status: Status,
    spans: Spans,
    /// Up to when its time is accounted for.
    mark: Time,
}

/// All requests of the host in an array.
#[derive(Debug)]
pub struct Requests<B> {
    slots: Vec<HostRequest<B>>,
    free: Vec<u32>,
    answers: Vec<Response<B>>,
}

impl<B> Default for Requests<B> {
    fn default() -> Requests<B> {
        Requests { slots: Vec::new(), free: Vec::new(), answers: Vec::new() }
    }
}

impl<B: Clone + Default> Requests<B> {
    /// A request has come; returns its place here. A read has room for its data.
    pub fn open(&mut self, now: Time, request: Request<B>) -> u32 {
        let Request { id, op, fua, class, mirror, block, blocks, mut data, .. } = request;
        let right = match mirror {
            Mirror::Repair(_) => std::mem::take(&mut data),
            Mirror::Any | Mirror::Only(_) => Vec::new(),
        };
        if op == Op::Read {
            data.clear();
            data.resize(blocks as usize, B::default());
        }
        let status = Status::Success;
        let spans = Spans::new();
        let (pending, mark) = (0, now);
        let request = HostRequest {
            id,
            op,
            fua,
            class,
            mirror,
            block,
            blocks,
            data,
            right,
            pending,
            status,
            spans,
            mark,
        };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = request;
                slot
            }
            None => {
                self.slots.push(request);
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Requests that have not been answered.
    pub fn in_flight(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// The request in a place.
    pub fn get(&self, slot: u32) -> &HostRequest<B> {
        &self.slots[slot as usize]
    }

    /// The request in a place.
    pub fn get_mut(&mut self, slot: u32) -> &mut HostRequest<B> {
        &mut self.slots[slot as usize]
    }

    /// It waits for so many parts more.
    pub fn expect(&mut self, slot: u32, parts: u32) {
        self.slots[slot as usize].pending += parts;
    }

    /// One of its parts has ended, whose own time since it began is `spans`; time before that was
    /// spent waiting inside of the array. Returns true with the last one.
    pub fn part_done(&mut self, now: Time, slot: u32, status: Status, spans: &Spans) -> bool {
        let request = &mut self.slots[slot as usize];
        request.pending -= 1;
        request.worsen(status);
        let is_last = request.pending == 0;
        if is_last {
            self.account(now, slot, spans);
        }
        is_last
    }

    /// A stage of a request has ended, whose last part took `spans`; what they leave open up to now
    /// was spent waiting inside of the array.
    pub fn account(&mut self, now: Time, slot: u32, spans: &Spans) {
        let request = &mut self.slots[slot as usize];
        let passed = now.since(request.mark);
        if spans.total() <= passed {
            request.spans.extend(spans);
            request.spans.add(Cause::ArrayQueue, Nanos(passed.0 - spans.total().0));
        } else {
            // The part had begun before this stage did: only its end was waited for.
            request.spans.add(Cause::ArrayQueue, passed);
        }
        request.mark = now;
    }

    /// The time of a request up to now was spent on `cause`.
    pub fn account_cause(&mut self, now: Time, slot: u32, cause: Cause) {
        let request = &mut self.slots[slot as usize];
        request.spans.add(cause, now.since(request.mark));
        request.mark = now;
    }

    /// Something about it went wrong; the first failure stays.
    pub fn fail(&mut self, slot: u32, status: Status) {
        self.slots[slot as usize].worsen(status);
    }

    /// Answers it.
    pub fn finish(&mut self, now: Time, slot: u32) {
        self.account(now, slot, &Spans::new());
        let request = &mut self.slots[slot as usize];
        assert_eq!(request.pending, 0, "a request ends with its last part");
        let data = std::mem::take(&mut request.data);
        request.right = Vec::new();
        let (id, status, spans) = (request.id, request.status, request.spans);
        self.free.push(slot);
        self.answers.push(Response { id, status, data, busy_for: Nanos::ZERO, spans });
    }

    /// Answers that the host has not seen yet.
    pub fn answers(&mut self) -> &mut Vec<Response<B>> {
        &mut self.answers
    }
}

impl<B> HostRequest<B> {
    /// True when no part of it has failed.
    pub fn is_good(&self) -> bool {
        self.status == Status::Success
    }

    /// True when a read repairs, and what it has found at these places of its data is right.
    pub fn repairs_with(&self, places: impl Iterator<Item = usize>, content: &[B]) -> bool
    where
        B: Block,
    {
        let is_right = |(place, there): (usize, &B)| self.right[place].is_same(there);
        matches!(self.mirror, Mirror::Repair(_)) && places.zip(content).all(is_right)
    }

    fn worsen(&mut self, status: Status) {
        if self.status == Status::Success {
            self.status = status;
        }
    }
}
