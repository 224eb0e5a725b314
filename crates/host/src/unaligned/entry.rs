//! A request for bytes in progress, executed in blocks.

use super::order::Claim;
use super::{Answer, Ask, Kind};
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, BLOCK_LEN, Disk, Mirror, Request};
use crate::mutation::{Invariant, holds};
use crate::pool::Pool;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Op, Status};

/// A request and its progress.
#[derive(Debug)]
pub(super) struct Entry {
    ask: Ask,
    /// Bytes of the first block before the request, and bytes of the last block up to its end (1 … 4096).
    skip: usize,
    end: usize,
    first: u64,
    blocks: u64,
    phase: Phase,
    /// Steps of the current phase that were issued, in blocks.
    issued: u64,
    in_flight: u32,
    trims: bool,
    flushes: bool,
    status: Status,
    /// For a request for zeros, its first and last block if only a part of it becomes zeros.
    edges: [Bytes; 2],
}

/// Phase of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Read-modify-write: reading the first and last block.
    Edges,
    /// Reading, writing or trimming the blocks of its body.
    Body,
    /// For a request for zeros, writing the first and last block.
    ZeroEdges,
    /// Flushing, which makes the trim durable.
    Flush,
    /// Complete.
    Over,
}

/// Purpose of a disk request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// The block at one end (0 or 1).
    Edge(usize),
    /// Blocks of the request from this index on.
    Blocks(u64),
    /// A flush.
    #[default]
    Flush,
}

impl Entry {
    /// A request that has not started.
    pub(super) fn new(ask: Ask, trims_to_zeros: bool, volatile_cache: bool) -> Entry {
        let last = ask.offset + ask.bytes;
        let (mut first, mut until) = (ask.offset / BLOCK_BYTES, last.div_ceil(BLOCK_BYTES));
        if ask.kind == Kind::Trim {
            (first, until) = (ask.offset.div_ceil(BLOCK_BYTES), last / BLOCK_BYTES);
        }
        let blocks = if ask.kind == Kind::Flush { 0 } else { until.saturating_sub(first) };
        if ask.kind == Kind::Write {
            assert_eq!(ask.data.len() as u64, blocks, "a write brings each block that it touches");
        }
        let trims = match ask.kind {
            Kind::Zero { takes_room } => trims_to_zeros && !takes_room,
            kind => kind == Kind::Trim,
        };
        Entry {
            skip: (ask.offset % BLOCK_BYTES) as usize,
            end: ((last + BLOCK_BYTES - 1) % BLOCK_BYTES) as usize + 1,
            first: if blocks == 0 { 0 } else { first },
            blocks,
            phase: Phase::Over,
            issued: 0,
            in_flight: 0,
            trims,
            flushes: ask.fua && trims && volatile_cache && holds(Invariant::TrimsAreFlushed),
            status: Status::Success,
            edges: Default::default(),
            ask,
        }
    }

    /// The blocks that overlapping requests must wait for.
    pub(super) fn claim(&self) -> Claim {
        Claim { first: self.first, blocks: self.blocks, writes: self.ask.kind != Kind::Read }
    }

    /// True if it trims or writes zeros.
    pub(super) fn clears(&self) -> bool {
        matches!(self.ask.kind, Kind::Zero { .. } | Kind::Trim)
    }

    /// True if some of its blocks are changed in part.
    pub(super) fn is_widened(&self) -> bool {
        self.edge(0).is_some() || self.edge(1).is_some()
    }

    /// Byte range of the block at one end that it changes; None if it changes the whole block.
    fn edge(&self, end: usize) -> Option<(usize, usize)> {
        if !matches!(self.ask.kind, Kind::Write | Kind::Zero { .. }) {
            return None;
        }
        let is_alone = self.blocks == 1;
        let bytes = match end {
            0 => (self.skip, if is_alone { self.end } else { BLOCK_LEN }),
            _ if is_alone => (0, BLOCK_LEN),
            _ => (0, self.end),
        };
        (bytes != (0, BLOCK_LEN)).then_some(bytes)
    }

    /// Index of the block at one end, counted from its first.
    fn edge_block(&self, end: usize) -> u64 {
        if end == 0 { 0 } else { self.blocks - 1 }
    }

    /// Range of the blocks of its body, counted from its first. For zeros, without partially changed blocks.
    fn body(&self) -> (u64, u64) {
        match self.ask.kind {
            Kind::Zero { .. } => {
                let from = u64::from(self.edge(0).is_some());
                (from, (self.blocks - u64::from(self.edge(1).is_some())).max(from))
            }
            _ => (0, self.blocks),
        }
    }

    /// Starts the request; false if there is nothing to do, or it has been abandoned.
    pub(super) fn begin(&mut self) -> bool {
        self.status == Status::Success
            && self.enter(if self.ask.kind == Kind::Flush { Phase::Flush } else { Phase::Edges })
    }

    /// Enters the next phase once all disk requests have completed; false if the request is complete.
    pub(super) fn advance(&mut self, pool: &mut Pool) -> bool {
        if self.status != Status::Success {
            self.phase = Phase::Over;
            return false;
        }
        if self.phase == Phase::Edges && matches!(self.ask.kind, Kind::Zero { .. }) {
            self.clear_edges(pool);
        }
        let next = self.after();
        self.enter(next)
    }

    fn after(&self) -> Phase {
        match self.phase {
            Phase::Edges => Phase::Body,
            Phase::Body => Phase::ZeroEdges,
            Phase::ZeroEdges if self.flushes => Phase::Flush,
            _ => Phase::Over,
        }
    }

    /// Enters the first phase from `phase` on that has work to do.
    fn enter(&mut self, phase: Phase) -> bool {
        self.phase = phase;
        while self.phase != Phase::Over {
            self.issued = if self.phase == Phase::Body { self.body().0 } else { 0 };
            self.pass_whole_edges();
            if self.has_more() {
                return true;
            }
            self.phase = self.after();
        }
        false
    }

    /// Skips the ends that need no disk request of their own.
    fn pass_whole_edges(&mut self) {
        if matches!(self.phase, Phase::Edges | Phase::ZeroEdges) {
            while self.issued < 2 && self.edge(to_usize(self.issued)).is_none() {
                self.issued += 1;
            }
        }
    }

    /// True if disk requests are left to be issued.
    pub(super) fn has_more(&self) -> bool {
        match self.phase {
            Phase::Edges => self.issued < 2,
            Phase::ZeroEdges => self.issued < 2 && self.ask.kind != Kind::Write,
            Phase::Body => self.issued < self.body().1,
            Phase::Flush => self.issued == 0,
            Phase::Over => false,
        }
    }

    /// True if disk requests are in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// The next request for the disk, with identifier `id`.
    pub(super) fn issue(&mut self, id: u32, disk: &Disk, pool: &mut Pool) -> (Work, Request<Bytes>) {
        self.in_flight += 1;
        let (op, work, blocks, data) = match self.phase {
            Phase::Edges | Phase::ZeroEdges => self.issue_edge(pool),
            Phase::Body => self.issue_body(disk.most_blocks, pool),
            Phase::Flush => {
                self.issued = 1;
                (Op::Flush, Work::Flush, 0, Vec::new())
            }
            Phase::Over => panic!("a request that is over asks for nothing"),
        };
        let block = match work {
            Work::Edge(end) => self.first + self.edge_block(end),
            Work::Blocks(at) => self.first + at,
            Work::Flush => 0,
        };
        let fua = self.ask.fua && op == Op::Write;
        let class = self.ask.class;
        (
            work,
            Request {
                id,
                op,
                fua,
                class,
                fail_fast: false,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block,
                blocks,
                data,
            },
        )
    }

    fn issue_edge(&mut self, pool: &mut Pool) -> (Op, Work, u32, Vec<Bytes>) {
        let end = to_usize(self.issued);
        self.issued += 1;
        self.pass_whole_edges();
        let mut data = pool.list();
        if self.phase == Phase::Edges {
            return (Op::Read, Work::Edge(end), 1, data);
        }
        data.push(std::mem::take(&mut self.edges[end]));
        (Op::Write, Work::Edge(end), 1, data)
    }

    fn issue_body(&mut self, most_blocks: u32, pool: &mut Pool) -> (Op, Work, u32, Vec<Bytes>) {
        let (at, (from, until)) = (self.issued, self.body());
        let op = match self.ask.kind {
            Kind::Read => Op::Read,
            _ if self.trims => Op::Trim,
            _ => Op::Write,
        };
        let most = if op == Op::Trim { u32::MAX } else { most_blocks };
        let blocks = to_u32((until - at).min(u64::from(most)));
        self.issued += u64::from(blocks);
        let is_whole = at == from && self.issued == until;
        let data = match self.ask.kind {
            Kind::Read | Kind::Write if is_whole => std::mem::take(&mut self.ask.data),
            Kind::Write => {
                let mut data = pool.list();
                let blocks = &mut self.ask.data[to_usize(at)..to_usize(at + u64::from(blocks))];
                data.extend(blocks.iter_mut().map(std::mem::take));
                data
            }
            Kind::Zero { .. } if op == Op::Write => {
                let mut data = pool.list();
                data.resize(blocks as usize, Bytes::default());
                data
            }
            _ => Vec::new(),
        };
        (op, Work::Blocks(at), blocks, data)
    }

    /// A disk request has completed.
    pub(super) fn settle(&mut self, work: Work, status: Status, data: Vec<Bytes>, pool: &mut Pool) {
        self.in_flight -= 1;
        if status != Status::Success {
            self.fail(status);
        }
        if status != Status::Success {
            return pool.recycle(data);
        }
        match (self.phase, work) {
            (Phase::Edges, Work::Edge(end)) => self.merge(end, data, pool),
            (Phase::Body, Work::Blocks(at)) => self.collect(at, data, pool),
            _ => pool.recycle(data),
        }
    }

    /// The status so far.
    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Issues no more disk requests: the request fails with `status`, unless it has failed before.
    pub(super) fn fail(&mut self, status: Status) {
        if self.status == Status::Success {
            self.status = status;
        }
        self.issued = u64::MAX;
    }

    /// Merges the read block with the bytes to be written.
    fn merge(&mut self, end: usize, mut data: Vec<Bytes>, pool: &mut Pool) {
        let Some((from, until)) = self.edge(end) else { panic!("a block that is not whole was read") };
        let at = to_usize(self.edge_block(end));
        if self.ask.kind == Kind::Write && holds(Invariant::RestsOfBlocksStay) {
            let (old, new) = (data[0].as_slice(), self.ask.data[at].as_mut_slice());
            new[..from].copy_from_slice(&old[..from]);
            new[until..].copy_from_slice(&old[until..]);
        } else {
            self.edges[end] = std::mem::take(&mut data[0]);
        }
        pool.recycle(data);
    }

    /// Zeroes the changed bytes of the blocks at both ends.
    fn clear_edges(&mut self, pool: &mut Pool) {
        for end in 0..2 {
            let Some((from, until)) = self.edge(end) else { continue };
            let mut block = pool.block();
            let (new, old) = (block.as_mut_slice(), self.edges[end].as_slice());
            new.copy_from_slice(old);
            new[from..until].fill(0);
            self.edges[end] = block;
        }
    }

    /// Stores the data read.
    fn collect(&mut self, at: u64, mut data: Vec<Bytes>, pool: &mut Pool) {
        let is_whole = data.len() as u64 == self.blocks;
        if self.ask.kind != Kind::Read {
            return pool.recycle(data);
        }
        if is_whole {
            pool.recycle(std::mem::replace(&mut self.ask.data, data));
            return;
        }
        self.ask.data.resize(to_usize(self.blocks), Bytes::default());
        for (place, block) in self.ask.data[to_usize(at)..].iter_mut().zip(&mut data) {
            *place = std::mem::take(block);
        }
        pool.recycle(data);
    }

    /// The completion of the request.
    pub(super) fn answer(&mut self) -> Answer {
        Answer { name: self.ask.name, status: self.status, data: std::mem::take(&mut self.ask.data) }
    }
}
