//! Hand-over of operations and replies between threads that share shards.
//!
//! One thread at a time holds a shard. A thread that finds it held appends its operation to the shard's
//! [`Backlog`] and does not wait. An operation that [cannot be
//! deferred](super::shard_request::ShardRequest::can_be_deferred) fails with [`Progress::Taken`]. The next
//! holder executes the backlog first, and checks it again after it has released the shard. Replies and
//! requests to the drive are collected in the [`Outputs`] of the holder, by destination thread.
//!
//! This module has no locks and no queues between threads: `rt` provides them, and `torture` simulates them.

use super::shard::Shard;
use super::shard_request::{Content, OwnedShardRequest, Progress, Reply, Requester};
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::mutation::{Invariant, holds};
use std::collections::VecDeque;

/// One of the threads that share shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadOf {
    /// Number of the thread, from 0.
    pub number: u32,
    /// Number of threads that share the shards, at least 1.
    pub of: u32,
}

impl ThreadOf {
    /// The only thread of a server with one.
    pub const ONLY: ThreadOf = ThreadOf { number: 0, of: 1 };
}

/// An operation deferred to a shard by a thread that found it taken.
#[derive(Debug)]
pub enum Deferred {
    /// A request of a client.
    ShardRequest(Requester, OwnedShardRequest),
    /// A completion of the drive.
    Response(Box<Response<Bytes>>),
    /// An event of the shard is due.
    Tick,
}

impl Deferred {
    /// Executes the operation. Returns the reply to a request that is done.
    fn carry_out(self, shard: &mut Shard) -> Option<Reply> {
        match self {
            Deferred::ShardRequest(requester, kept) => {
                let mut text = Vec::new();
                let Progress::Done(source) = shard.receive(requester, kept.request(), &mut text) else {
                    return None;
                };
                return Some(Reply { requester, content: Content::Text(text, source) });
            }
            Deferred::Response(response) => {
                shard.respond(*response);
                shard.turn();
            }
            Deferred::Tick => {
                shard.touch();
                shard.turn();
            }
        }
        None
    }
}

/// The operations deferred to a shard, in order.
#[derive(Debug, Default)]
pub struct Backlog {
    operations: Vec<Deferred>,
}

impl Backlog {
    /// Appends an operation, to be executed by the next holder of the shard.
    pub fn push(&mut self, operation: Deferred) {
        self.operations.push(operation);
    }

    /// Number of operations that wait for a holder of the shard.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True if no operation waits for a holder of the shard.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// What shards have put out while a thread held them.
#[derive(Debug)]
pub struct Outputs {
    thread: u32,
    /// Replies to clients of this thread.
    replies: VecDeque<Reply>,
    /// Replies to clients of other threads, by thread.
    outgoing: Vec<Vec<Reply>>,
    /// Requests to the drive, with their shards.
    requests: Vec<(u32, Request<Bytes>)>,
    /// Shards that may have requests to the drive and have not been polled.
    touched: Vec<u32>,
}

impl Outputs {
    /// Nothing yet, in a thread.
    pub fn new(thread: ThreadOf) -> Outputs {
        let outgoing = (0..thread.of).map(|_| Vec::new()).collect();
        let (replies, requests, touched) = (VecDeque::new(), Vec::new(), Vec::new());
        Outputs { thread: thread.number, replies, outgoing, requests, touched }
    }

    /// Number of the thread that the outputs are collected on.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Executes what was deferred to a shard; for its holder, before anything else.
    #[inline]
    pub fn carry_out(&mut self, backlog: Backlog, shard: &mut Shard) {
        let mut operations = backlog.operations;
        if !holds(Invariant::DeferredKeepOrder) {
            operations.reverse();
        }
        for operation in operations {
            if let Some(reply) = operation.carry_out(shard) {
                self.sort(reply);
            }
        }
    }

    /// Notes a shard that may have requests to the drive; for its holder.
    #[inline]
    pub fn note_touch(&mut self, number: u32, shard: &Shard) {
        if shard.is_touched() && !self.touched.contains(&number) {
            self.touched.push(number);
        }
    }

    /// Collects a shard's replies; for its holder, after anything else.
    #[inline]
    pub fn collect(&mut self, shard: &mut Shard) {
        while let Some(reply) = shard.next_reply() {
            self.sort(reply);
        }
    }

    /// Collects a shard's requests to the drive.
    pub fn ask(&mut self, number: u32, shard: &mut Shard) {
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
    }

    fn sort(&mut self, reply: Reply) {
        let mut group = reply.requester.group;
        if !holds(Invariant::RepliesGoToTheirThread) {
            group = (group + 1) % u32::try_from(self.outgoing.len()).unwrap_or(u32::MAX);
        }
        match group == self.thread {
            true => self.replies.push_back(reply),
            false => self.outgoing[group as usize].push(reply),
        }
    }

    /// A shard used since the last call that is to be polled for requests to the drive: once for many
    /// commands. A thread that has used shards polls all of them before it sleeps.
    pub fn next_touched(&mut self) -> Option<u32> {
        self.touched.pop()
    }

    /// The next reply to a client of this thread.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// Receives replies from another thread.
    pub fn take_replies(&mut self, replies: Vec<Reply>) {
        self.replies.extend(replies);
    }

    /// Replies to clients of other threads, with the thread, to be sent there.
    pub fn outgoing(&mut self) -> impl Iterator<Item = (u32, Vec<Reply>)> {
        let all = (0..).zip(&mut self.outgoing).filter(|(_, replies)| !replies.is_empty());
        all.map(|(thread, replies)| (thread, std::mem::take(replies)))
    }

    /// Requests to submit to the drive, each with the number of the shard that it comes from.
    pub fn requests(&mut self) -> &mut Vec<(u32, Request<Bytes>)> {
        &mut self.requests
    }
}

/// Maximum number of turns of a shard that waits for nothing but itself, before others have their turn.
const MOST_TURNS: u32 = 4;
