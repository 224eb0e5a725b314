//! Tags, the requests bound to them, and unfetched completions.

use super::hal::{QueueId, RequestId, Tag, Vector};
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::{Nanos, Time};

/// State of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Taken, not bound.
    Taken,
    Bound,
    Issued,
    /// Completed; its completion is not fetched yet.
    Done,
    /// Fetched, still bound.
    Fetched,
    /// Unbound, to be released.
    Detached,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    request: RequestId,
}

/// State common to both drivers: `queues` queues of `depth` tags, and the completions of each vector in
/// order.
#[derive(Clone, Debug)]
pub(super) struct Tags {
    depth: u32,
    slots: Vec<Slot>,
    free: Vec<Vec<u32>>,
    done: Vec<VecDeque<Tag>>,
    raised: Vec<bool>,
    masked: Vec<bool>,
    /// Start time of each request, by request.
    begun: Vec<Time>,
    in_flight: u32,
}

/// The hardware queues of a controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct HardwareQueues {
    /// Number of queues over all drives.
    pub count: u32,
    /// Number of tags of each queue.
    pub depth: u32,
    /// Number of interrupts of the controller.
    pub vectors: u32,
}

impl Tags {
    pub(super) fn new(hardware: HardwareQueues) -> Tags {
        let HardwareQueues { count: queues, depth, vectors } = hardware;
        let vectors = vectors as usize;
        let slot = Slot { state: State::Free, request: 0 };
        let room = (queues * depth) as usize / vectors.max(1);
        Tags {
            depth,
            slots: vec![slot; (queues * depth) as usize],
            free: (0..queues).map(|_| (0..depth).rev().collect()).collect(),
            done: (0..vectors).map(|_| VecDeque::with_capacity(room)).collect(),
            raised: vec![false; vectors],
            masked: vec![false; vectors],
            begun: Vec::new(),
            in_flight: 0,
        }
    }

    pub(super) fn queues(&self) -> u32 {
        to_u32(self.free.len())
    }

    pub(super) fn vectors(&self) -> u32 {
        to_u32(self.done.len())
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    #[inline]
    fn slot(&mut self, tag: Tag) -> &mut Slot {
        &mut self.slots[(tag.queue * self.depth + tag.number) as usize]
    }

    /// Changes a tag's state; panics from any other state than `from`, which is a bug of the strategy.
    #[inline]
    fn step(&mut self, tag: Tag, from: State, to: State) {
        let slot = self.slot(tag);
        assert_eq!(slot.state, from, "{tag:?} on its way to {to:?}");
        slot.state = to;
    }

    #[inline]
    pub(super) fn get_free(&mut self, queue: QueueId, count: u32, tags: &mut Vec<Tag>) {
        for _ in 0..count {
            let Some(number) = self.free[queue as usize].pop() else { return };
            let tag = Tag { queue, number };
            self.step(tag, State::Free, State::Taken);
            self.in_flight += 1;
            tags.push(tag);
        }
    }

    #[inline]
    pub(super) fn bind(&mut self, tag: Tag, request: RequestId) {
        self.step(tag, State::Taken, State::Bound);
        self.slot(tag).request = request;
    }

    #[inline]
    pub(super) fn begin(&mut self, tag: Tag, now: Time) {
        let request = self.slot(tag).request as usize;
        if self.begun.len() <= request {
            self.begun.resize(request + 1, Time::NEVER);
        }
        self.begun[request] = now;
    }

    #[inline]
    pub(super) fn issue(&mut self, tags: &[Tag]) {
        tags.iter().for_each(|&tag| self.step(tag, State::Bound, State::Issued));
    }

    #[inline]
    pub(super) fn events(&self, vector: Vector) -> u32 {
        to_u32(self.done[vector as usize].len())
    }

    #[inline]
    pub(super) fn notice(&mut self, tag: Tag, vector: Vector, is_quiet: bool) -> Option<Vector> {
        self.step(tag, State::Issued, State::Done);
        let v = vector as usize;
        self.done[v].push_back(tag);
        let raises = !is_quiet && !self.masked[v] && !self.raised[v];
        self.raised[v] |= raises;
        raises.then_some(vector)
    }

    #[inline]
    pub(super) fn check(&self, vector: Vector) -> bool {
        !self.done[vector as usize].is_empty()
    }

    #[inline]
    pub(super) fn fetch(&mut self, vector: Vector) -> Option<Tag> {
        let tag = self.done[vector as usize].pop_front()?;
        self.step(tag, State::Done, State::Fetched);
        Some(tag)
    }

    /// Linear search: pending completions are at most the tags of the vector, and usually few.
    pub(super) fn fetch_tag(&mut self, tag: Tag, vector: Vector) -> bool {
        let done = &mut self.done[vector as usize];
        let Some(at) = done.iter().position(|&waiting| waiting == tag) else { return false };
        done.remove(at);
        self.step(tag, State::Done, State::Fetched);
        true
    }

    #[inline]
    pub(super) fn detach(&mut self, tag: Tag) -> RequestId {
        self.step(tag, State::Fetched, State::Detached);
        self.slot(tag).request
    }

    #[inline]
    pub(super) fn release(&mut self, tags: &[Tag]) {
        for &tag in tags {
            self.step(tag, State::Detached, State::Free);
            self.free[tag.queue as usize].push(tag.number);
            self.in_flight -= 1;
        }
    }

    #[inline]
    pub(super) fn end(&mut self, request: RequestId, now: Time) -> Nanos {
        let begun = std::mem::replace(&mut self.begun[request as usize], Time::NEVER);
        assert_ne!(begun, Time::NEVER, "request {request} ends once, after it has begun");
        now.since(begun)
    }

    pub(super) fn timed_out(&self, now: Time, limit: Nanos, requests: &mut Vec<RequestId>) {
        let late = |&&begun: &&Time| begun != Time::NEVER && now >= begun + limit;
        let all = self.begun.iter().zip(0..);
        requests.extend(all.filter(|(begun, _)| late(begun)).map(|(_, request)| request));
    }

    #[inline]
    pub(super) fn acknowledge(&mut self, vector: Vector) -> bool {
        self.raised[vector as usize] = false;
        self.check(vector)
    }

    /// Completions that arrived during the handler have raised the interrupt already; this is for those that
    /// were pending before it.
    #[inline]
    pub(super) fn raise_again(&mut self, vector: Vector) -> bool {
        let v = vector as usize;
        let raises = self.check(vector) && !self.raised[v] && !self.masked[v];
        self.raised[v] |= raises;
        raises
    }

    pub(super) fn mask(&mut self, vector: Vector, is_masked: bool) -> bool {
        self.masked[vector as usize] = is_masked;
        self.raise_again(vector)
    }
}
