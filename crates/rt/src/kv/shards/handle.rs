//! Access of one thread to the shards.

use super::guard::ShardGuard;
use super::place::Recovery;
use super::{Common, Message};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tailcut_base::Time;
use tailcut_host::kv::session::hand_over::{Deferred, Outputs, ThreadOf};
use tailcut_host::kv::session::shard_request::Reply;
use tailcut_host::kv::session::{Dispatch, Shard};
use tailcut_host::{Bytes, Request, Response};

/// A thread's handle to the shards.
#[derive(Debug)]
pub(crate) struct ShardHandle {
    common: Arc<Common>,
    now: Time,
    unix: u64,
    outputs: Outputs,
    /// The next event of a shard has become earlier.
    has_appointment: bool,
}

impl ShardHandle {
    /// A handle for the thread with this number.
    pub(crate) fn new(common: Arc<Common>, thread: u32) -> ShardHandle {
        let outputs = Outputs::new(ThreadOf { number: thread, of: common.threads() });
        ShardHandle { common, now: Time::ZERO, unix: 0, outputs, has_appointment: false }
    }

    /// State that all threads share.
    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    /// Sets the current time: `now` by the clock of the process, `unix` in seconds of Unix time.
    pub(crate) fn tick(&mut self, now: Time, unix: u64) {
        (self.now, self.unix) = (now, unix);
    }

    /// The next reply to a client of this thread.
    pub(crate) fn next_reply(&mut self) -> Option<Reply> {
        self.outputs.next_reply()
    }

    /// Receives replies from another thread.
    pub(crate) fn take_replies(&mut self, replies: Vec<Reply>) {
        self.outputs.take_replies(replies);
    }

    /// Polls the shards used since the last call for requests to the drive: once for many commands. A thread
    /// that has used shards calls this before it sleeps.
    pub(crate) fn ask_touched(&mut self) {
        while let Some(shard) = self.outputs.next_touched() {
            match self.guarded(|visit| visit.ask(shard)) {
                Some(Some(is_earlier)) => self.has_appointment |= is_earlier,
                Some(None) => self.leave(shard, Deferred::Tick),
                None => {}
            }
        }
    }

    /// Drains the shards' requests to the drive; also returns the state that all threads share.
    pub(crate) fn take_requests(&mut self) -> (std::vec::Drain<'_, (u32, Request<Bytes>)>, &Common) {
        (self.outputs.requests().drain(..), &self.common)
    }

    /// Receives requests to the drive from another thread.
    pub(crate) fn take_over(&mut self, requests: Vec<(u32, Request<Bytes>)>) {
        self.outputs.requests().extend(requests);
    }

    /// Passes a completion of the drive to a shard.
    pub(crate) fn respond(&mut self, shard: u32, response: Response<Bytes>) {
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
    pub(crate) fn recover(&mut self) {
        for shard in 0..self.common.shards() {
            if self.common.places[shard as usize].recovery() != Recovery::Over {
                self.with(shard, Shard::recover);
            }
        }
    }

    /// Runs the shards whose next event is due.
    pub(crate) fn resume(&mut self) {
        for shard in 0..self.common.shards() {
            if self.common.places[shard as usize].next_event() <= self.now
                && self.with(shard, resume_shard).is_none()
            {
                self.leave(shard, Deferred::Tick);
            }
        }
    }

    /// Runs all shards, due or not: operations were deferred to them, or the server stops.
    pub(crate) fn go_on_everywhere(&mut self) {
        for shard in 0..self.common.shards() {
            if self.with(shard, resume_shard).is_none() {
                self.leave(shard, Deferred::Tick);
            }
        }
    }

    /// Sends replies and requests to the threads that own the clients and the drive.
    pub(crate) fn send_replies(&mut self) {
        let outputs = &mut self.outputs;
        for (thread, replies) in outputs.outgoing() {
            self.common.post(thread, Message::Replies(replies));
        }
        let is_news = std::mem::take(&mut self.has_appointment);
        if outputs.thread() == 0 {
            return;
        }
        if !outputs.requests().is_empty() {
            self.common.post(0, Message::Requests(std::mem::take(outputs.requests())));
        } else if is_news {
            self.common.post(0, Message::Poll);
        }
    }

    /// Carries out the effects of a client's commands. Returns the rest of its input.
    #[inline]
    pub(crate) fn serve<'i>(&mut self, dispatch: Dispatch<'_, 'i>) -> &'i [u8] {
        self.visit().serve(dispatch)
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
