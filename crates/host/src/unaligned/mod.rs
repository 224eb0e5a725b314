//! Alignment layer: a disk of bytes on a disk of blocks. Requests of any offset and length in, requests for
//! whole blocks out.
//!
//! - A request is split to the maximum size of the disk; the parts of several requests are interleaved.
//! - A write that is not aligned to blocks uses *read-modify-write*: its first and last block are read,
//!   merged, and written.
//! - Zeros are trimmed if the disk reads trimmed blocks as zeros and the request permits it; otherwise they
//!   are written.
//! - Overlapping requests are executed in the order of submission ([`order`]), so a read-modify-write cannot
//!   undo another write.
//!
//! A flush waits for no request but another flush: it makes writes durable that were completed before its
//! submission. One flush is at the disk at a time, and those that come meanwhile share the next one, so any
//! number of them takes the time of two.

mod entry;
pub mod order;

use crate::block::Bytes;
use crate::disk::{Disk, Request, Response};
use crate::pool::Pool;
use entry::{Entry, Work};
use order::Order;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::{Class, Status};

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Read the bytes of the range.
    Read,
    /// Write the bytes of the range.
    Write,
    /// Write zeros over the range.
    Zero {
        /// The zeros must be allocated.
        takes_room: bool,
    },
    /// Trim the blocks that lie completely within; parts of blocks stay.
    Trim,
    /// Make completed writes durable.
    Flush,
}

/// A request for bytes.
#[derive(Debug)]
pub struct Ask {
    /// The caller's identifier, which the answer repeats.
    pub name: u32,
    /// What is requested: read, write, zero, trim or flush.
    pub kind: Kind,
    /// Force unit access: durable at completion.
    pub fua: bool,
    /// Latency class, passed on to the disk.
    pub class: Class,
    /// Offset of the first byte on the disk; need not be a multiple of a block.
    pub offset: u64,
    /// Number of bytes; at least 1 except for a flush.
    pub bytes: u64,
    /// For a write, each block that it touches, with its bytes in their places and anything around them.
    pub data: Vec<Bytes>,
}

/// Completion of a request.
#[derive(Debug)]
pub struct Answer {
    /// The caller's identifier, as the request gave it.
    pub name: u32,
    /// Status; of several parts, that of the first failure.
    pub status: Status,
    /// For a successful read, each block that it touches. Otherwise blocks for reuse.
    pub data: Vec<Bytes>,
}

/// The alignment layer. Call [`Unaligned::submit`] for each request, then [`Unaligned::next_request`] until
/// there is none; pass each completion from the disk to [`Unaligned::respond`], and collect
/// [`Unaligned::next_answer`].
///
/// # Examples
/// ```
/// use tailcut_base::{Class, Op};
/// use tailcut_host::unaligned::{Ask, Kind};
/// use tailcut_host::{Disk, Pool, Unaligned};
///
/// let (volatile_cache, copies, handles) = (false, 1, 1);
/// let disk = Disk { blocks: 100, depth: 8, most_blocks: 32, volatile_cache, copies, handles };
/// let (mut layer, mut pool) = (Unaligned::new(disk, true), Pool::default());
/// let (kind, class, data) = (Kind::Read, Class::DEFAULT, Vec::new());
/// layer.submit(Ask { name: 1, kind, fua: false, class, offset: 5000, bytes: 4000, data });
/// // Bytes 5000 to 8999 are in blocks 1 and 2.
/// let request = layer.next_request(&mut pool).expect("the disk is idle");
/// assert_eq!((request.op, request.block, request.blocks), (Op::Read, 1, 2));
/// ```
#[derive(Debug)]
pub struct Unaligned {
    disk: Disk,
    trims_to_zeros: bool,
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// Entries with disk requests to be issued.
    ready: VecDeque<u32>,
    order: Order,
    /// Scratch: entries that need not wait any more.
    resumed: Vec<u32>,
    /// The flush at the disk, and behind it those that share it.
    flushing: Vec<u32>,
    /// Flushes that wait for its end, and share the next one.
    flushes: Vec<u32>,
    /// An entry has ended that others may have waited for.
    is_wanted: bool,
    pieces: Vec<Piece>,
    vacant_pieces: Vec<u32>,
    answers: VecDeque<Answer>,
    widened: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    entry: u32,
    work: Work,
}

impl Unaligned {
    /// A layer over `disk`. `trims_to_zeros`: its trimmed blocks read as zeros.
    pub fn new(disk: Disk, trims_to_zeros: bool) -> Unaligned {
        let depth = disk.depth;
        Unaligned {
            disk,
            trims_to_zeros,
            entries: Vec::new(),
            vacant: Vec::new(),
            ready: VecDeque::new(),
            order: Order::new(),
            resumed: Vec::new(),
            flushing: Vec::new(),
            flushes: Vec::new(),
            is_wanted: false,
            pieces: vec![Piece::default(); depth as usize],
            vacant_pieces: (0..depth).rev().collect(),
            answers: VecDeque::new(),
            widened: 0,
        }
    }

    /// Submits a request.
    ///
    /// # Panics
    /// If the request reaches beyond the end of the disk.
    pub fn submit(&mut self, ask: Ask) {
        let is_flush = ask.kind == Kind::Flush;
        let entry = Entry::new(ask, self.trims_to_zeros, self.disk.volatile_cache);
        let claim = entry.claim();
        assert!(claim.first + claim.blocks <= self.disk.blocks, "a request lies within the disk");
        self.widened += u64::from(entry.is_widened());
        let id = self.place(entry);
        let is_free = self.order.submit(id, claim);
        if is_flush {
            self.flushes.push(id);
            self.flush();
        } else if is_free {
            self.begin(id);
        }
    }

    /// Begins one flush for all that wait, unless another is at the disk.
    fn flush(&mut self) {
        if self.flushing.is_empty()
            && let Some(&first) = self.flushes.first()
        {
            std::mem::swap(&mut self.flushing, &mut self.flushes);
            self.begin(first);
        }
    }

    fn place(&mut self, entry: Entry) -> u32 {
        match self.vacant.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                assert!(self.entries.len() < MOST_REQUESTS, "the asker has a limit below 65536 requests");
                self.entries.push(entry);
                to_u32(self.entries.len()) - 1
            }
        }
    }

    fn begin(&mut self, id: u32) {
        if self.entries[id as usize].begin() {
            self.ready.push_back(id);
        } else {
            self.end(id);
        }
    }

    /// The next request for the disk; None if there is none or the disk's queue is full.
    pub fn next_request(&mut self, pool: &mut Pool) -> Option<Request<Bytes>> {
        while std::mem::take(&mut self.is_wanted) {
            self.resume();
        }
        let id = loop {
            let &id = self.ready.front()?;
            if self.entries[id as usize].has_more() {
                break id;
            }
            // It has failed while it was queued, and may be complete.
            self.ready.pop_front();
        };
        let piece = self.vacant_pieces.pop()?;
        let entry = &mut self.entries[id as usize];
        let (work, request) = entry.issue(piece, &self.disk, pool);
        self.pieces[piece as usize] = Piece { entry: id, work };
        self.ready.pop_front();
        if entry.has_more() {
            self.ready.push_back(id);
        }
        Some(request)
    }

    /// Handles a completion from the disk.
    pub fn respond(&mut self, response: Response<Bytes>, pool: &mut Pool) {
        let Piece { entry: id, work } = self.pieces[response.id as usize];
        self.vacant_pieces.push(response.id);
        let entry = &mut self.entries[id as usize];
        entry.settle(work, response.status, response.data, pool);
        if entry.is_busy() || entry.has_more() {
            return;
        }
        if entry.advance(pool) {
            self.ready.push_back(id);
        } else {
            self.end(id);
        }
    }

    fn end(&mut self, id: u32) {
        if self.flushing.first() != Some(&id) {
            return self.answer(id);
        }
        let status = self.entries[id as usize].status();
        let mut flushed = std::mem::take(&mut self.flushing);
        for id in flushed.drain(..) {
            self.entries[id as usize].fail(status);
            self.answer(id);
        }
        self.flushing = flushed;
        self.flush();
    }

    fn answer(&mut self, id: u32) {
        self.answers.push_back(self.entries[id as usize].answer());
        self.vacant.push(id);
        self.is_wanted |= self.order.end(id);
    }

    /// Starts the waiting entries that no earlier one overlaps. Examines all that wait, so it runs once for
    /// all entries that have ended since.
    fn resume(&mut self) {
        let mut resumed = std::mem::take(&mut self.resumed);
        self.order.resume(&mut resumed);
        resumed.drain(..).for_each(|id| self.begin(id));
        self.resumed = resumed;
    }

    /// Abandons trims and writes of zeros, before a shutdown: what was not passed to the disk yet is not, and
    /// they fail with [`Status::Gone`].
    pub fn abandon_trims(&mut self) {
        // Vacant entries too, which changes nothing. Those in flight at the disk end with their completion,
        // those that wait for others when they resume.
        self.entries.iter_mut().filter(|entry| entry.clears()).for_each(|entry| entry.fail(Status::Gone));
        for id in std::mem::take(&mut self.ready) {
            let entry = &self.entries[id as usize];
            if !entry.clears() {
                self.ready.push_back(id);
            } else if !entry.is_busy() {
                self.end(id);
            }
        }
    }

    /// Takes the oldest completion that has not been taken; `None` if there is none.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// True if there may be a request for the disk.
    pub fn has_requests(&self) -> bool {
        !self.ready.is_empty() || self.is_wanted
    }

    /// Number of requests blocked by overlapping requests. Each completion examines all blocked requests.
    pub fn waiting(&self) -> usize {
        self.order.waiting()
    }

    /// Number of requests that have not completed.
    pub fn in_flight(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    /// Number of requests so far that needed read-modify-write.
    pub fn widened(&self) -> u64 {
        self.widened
    }
}

/// Largest number of requests that 16-bit counters can count.
const MOST_REQUESTS: usize = 65535;

#[cfg(test)]
mod tests;
