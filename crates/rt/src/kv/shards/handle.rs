//! Access of one thread to the shards.

use super::guard::ShardGuard;
use super::place::{Deferred, Place, Recovery};
use super::{Common, Message};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tailcut_base::Time;
use tailcut_host::kv::session::shard_request::{Content, Progress, Reply};
use tailcut_host::kv::session::{Shard, Turn};
use tailcut_host::{Bytes, Request, Response};

/// A thread's handle to the shards.
#[derive(Debug)]
pub struct ShardHandle {
    common: Arc<Common>,
    now: Time,
    unix: u64,
    outputs: Outputs,
}

/// Outputs of shards: replies, and requests to the drive.
#[derive(Debug)]
pub(super) struct Outputs {
    pub(super) thread: u32,
    /// Replies to clients of this thread.
    replies: VecDeque<Reply>,
    /// Replies to clients of other threads, by thread.
    outgoing: Vec<Vec<Reply>>,
    /// Requests to the drive, with their shards.
    requests: Vec<(u32, Request<Bytes>)>,
    /// Shards that may have requests to the drive and have not been polled.
    touched: Vec<u32>,
    /// The next event of a shard has become earlier.
    has_appointment: bool,
}

impl ShardHandle {
    /// A handle for the thread with this number.
    pub fn new(common: Arc<Common>, thread: u32) -> ShardHandle {
        let outgoing = (0..common.threads()).map(|_| Vec::new()).collect();
        let (replies, requests, touched) = (VecDeque::new(), Vec::new(), Vec::new());
        let outputs = Outputs { thread, replies, outgoing, requests, touched, has_appointment: false };
        ShardHandle { common, now: Time::ZERO, unix: 0, outputs }
    }

    /// State that all threads share.
    pub fn common(&self) -> &Common {
        &self.common
    }

    /// Sets the current time: `now` by the clock of the process, `unix` in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u64) {
        (self.now, self.unix) = (now, unix);
    }

    /// The next reply to a client of this thread.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.outputs.replies.pop_front()
    }

    /// Receives replies from another thread.
    pub fn take_replies(&mut self, replies: Vec<Reply>) {
        self.outputs.replies.extend(replies);
    }

    /// Polls the shards used since the last call for requests to the drive: once for many commands. A thread
    /// that has used shards calls this before it sleeps.
    pub fn ask_touched(&mut self) {
        while let Some(shard) = self.outputs.touched.pop() {
            if self.guarded(|visit| visit.ask(shard)) == Some(false) {
                self.leave(shard, Deferred::Tick);
            }
        }
    }

    /// Drains the shards' requests to the drive; also returns the state that all threads share.
    pub fn take_requests(&mut self) -> (std::vec::Drain<'_, (u32, Request<Bytes>)>, &Common) {
        (self.outputs.requests.drain(..), &self.common)
    }

    /// Receives requests to the drive from another thread.
    pub fn take_over(&mut self, requests: Vec<(u32, Request<Bytes>)>) {
        self.outputs.requests.extend(requests);
    }

    /// Passes a completion of the drive to a shard.
    pub fn respond(&mut self, shard: u32, response: Response<Bytes>) {
        let mut response = Some(response);
        let done = self.with(shard, |shard| {
            shard.respond(response.take().expect("it is there once"));
            shard.turn();
        });
        if let (None, Some(response)) = (done, response) {
            self.leave(shard, Deferred::Response(Box::new(response)));
        }
    }

    /// Advances recovery of all shards by a step.
    pub fn recover(&mut self) {
        for shard in 0..self.common.shards() {
            if self.common.places[shard as usize].recovery() != Recovery::Over {
                self.with(shard, Shard::recover);
            }
        }
    }

    /// Runs the shards whose next event is due.
    pub fn resume(&mut self) {
        for shard in 0..self.common.shards() {
            if self.common.places[shard as usize].next_event() <= self.now
                && self.with(shard, resume_shard).is_none()
            {
                self.leave(shard, Deferred::Tick);
            }
        }
    }

    /// Runs all shards, due or not: operations were deferred to them, or the server stops.
    pub fn go_on_everywhere(&mut self) {
        for shard in 0..self.common.shards() {
            if self.with(shard, resume_shard).is_none() {
                self.leave(shard, Deferred::Tick);
            }
        }
    }

    /// Sends replies and requests to the threads that own the clients and the drive.
    pub fn send_replies(&mut self) {
        let outputs = &mut self.outputs;
        for (thread, replies) in (0..).zip(&mut outputs.outgoing).filter(|(_, replies)| !replies.is_empty()) {
            self.common.post(thread, Message::Replies(std::mem::take(replies)));
        }
        let is_news = std::mem::take(&mut outputs.has_appointment);
        if outputs.thread == 0 {
            return;
        }
        if !outputs.requests.is_empty() {
            self.common.post(0, Message::Requests(std::mem::take(&mut outputs.requests)));
        } else if is_news {
            self.common.post(0, Message::Poll);
        }
    }

    /// Carries out the effects of a client's turn. Returns the rest of its input.
    #[inline]
    pub fn serve<'i>(&mut self, turn: Turn<'_, 'i>) -> &'i [u8] {
        self.visit().serve(turn)
    }

    /// A guard for a series of operations on shards.
    #[inline]
    fn visit(&mut self) -> ShardGuard<'_> {
        ShardGuard::new(&self.common, &mut self.outputs, self.now, self.unix)
    }

    /// Runs `work` on a shard; `None` if another thread has it.
    #[inline]
    fn with<R>(&mut self, shard: u32, work: impl FnOnce(&mut Shard) -> R) -> Option<R> {
        self.guarded(|visit| visit.with(shard, work)).flatten()
    }

    /// Defers an operation to a shard that is taken; dropped if the shard has failed.
    fn leave(&mut self, shard: u32, left: Deferred) {
        if !self.common.has_failed(shard) {
            self.guarded(|visit| visit.leave(shard, left));
        }
    }

    /// Runs `work` that serves no client of its own: a panic in it ends `work` and fails the shard in use.
    fn guarded<R>(&mut self, work: impl FnOnce(&mut ShardGuard<'_>) -> R) -> Option<R> {
        // A shard in use is marked as failed; the rest of `self` are queues, to which whole entries are
        // appended.
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut self.visit())));
        done.map_err(|panic| self.common.note_panic(&*panic)).ok()
    }
}

fn resume_shard(shard: &mut Shard) {
    shard.touch();
    shard.turn();
}

impl Outputs {
    #[inline]
    pub(super) fn do_what_was_left(&mut self, place: &Place, shard: &mut Shard) {
        for left in place.take_left() {
            self.do_one(left, shard);
        }
    }

    fn do_one(&mut self, left: Deferred, shard: &mut Shard) {
        match left {
            Deferred::ShardRequest(requester, kept) => {
                let mut text = Vec::new();
                if let Progress::Done(source) = shard.receive(requester, kept.request(), &mut text) {
                    self.sort(Reply { requester, content: Content::Text(text, source) });
                }
            }
            Deferred::Response(response) => {
                shard.respond(*response);
                shard.turn();
            }
            Deferred::Tick => resume_shard(shard),
        }
    }

    /// Records a shard that may have requests to the drive.
    #[inline]
    pub(super) fn note_touch(&mut self, number: u32, shard: &Shard) {
        if shard.is_touched() && !self.touched.contains(&number) {
            self.touched.push(number);
        }
    }

    /// Collects a shard's requests to the drive.
    pub(super) fn ask(&mut self, place: &Place, number: u32, shard: &mut Shard) {
        for _ in 0..MOST_TURNS {
            while let Some(request) = shard.next_request() {
                self.requests.push((number, request));
            }
            // Without a disk, or after its failure, pending changes are durable already, or never will be.
            shard.turn();
            if !shard.is_touched() {
                break;
            }
        }
        let before = place.set_next_event(shard.next_event());
        self.has_appointment |= before > shard.next_event();
    }

    /// Collects a shard's replies, and updates its recovery state.
    #[inline]
    pub(super) fn collect(&mut self, place: &Place, shard: &mut Shard) {
        place.note_recovery(shard);
        while let Some(reply) = shard.next_reply() {
            self.sort(reply);
        }
    }

    fn sort(&mut self, reply: Reply) {
        match reply.requester.group == self.thread {
            true => self.replies.push_back(reply),
            false => self.outgoing[reply.requester.group as usize].push(reply),
        }
    }
}

/// Maximum number of turns of a shard that waits for nothing but itself, before others have their turn.
const MOST_TURNS: u32 = 4;
