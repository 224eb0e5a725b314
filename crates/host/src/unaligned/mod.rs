//! A disk of bytes on a disk of blocks: requests of any offset and length in, requests for whole blocks out.
//!
//! - A request is cut into pieces that the disk takes; pieces of several requests take turns.
//! - A write that does not begin and end on blocks is *widened*: what is missing of its first and last block
//!   is read, put together with it, and written.
//! - Zeros are trimmed where the disk reads them as zeros afterwards and the asker does not mind; else
//!   written.
//! - Requests that overlap are carried out in the order in which they came ([`order`]), so a widened write
//!   cannot undo another.
//!
//! A flush waits for nothing: it makes durable what was answered before it came.

mod entry;
pub mod order;

use crate::block::Bytes;
use crate::disk::{Disk, Request, Response};
use crate::planted::{Rule, holds};
use crate::pool::Pool;
use entry::{Entry, Work};
use order::Order;
use std::collections::VecDeque;
use tailcut_base::{Class, Status};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make zeros.
    Zero {
        /// They shall take room.
        takes_room: bool,
    },
    /// Forget the blocks that lie within; parts of blocks are left.
    Trim,
    /// Make durable what was answered.
    Flush,
}

/// A request for bytes.
#[derive(Debug)]
pub struct Ask {
    /// The asker's name for it.
    pub name: u32,
    /// What is asked for.
    pub kind: Kind,
    /// It is durable when it is answered.
    pub fua: bool,
    /// Latency class.
    pub class: Class,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; at least 1 except of a flush.
    pub bytes: u64,
    /// Of a write: each block that it touches, with the bytes in their places and anything around them.
    pub data: Vec<Bytes>,
}

/// How it ended.
#[derive(Debug)]
pub struct Answer {
    /// The asker's name for it.
    pub name: u32,
    /// How it ended; of several pieces, the first that failed.
    pub status: Status,
    /// Of a successful read: each block that it touches. Else blocks that nobody needs.
    pub data: Vec<Bytes>,
}

/// The machine. Per request: [`Unaligned::submit`]; then [`Unaligned::next_request`] until there is none;
/// each answer of the disk to [`Unaligned::respond`]; and [`Unaligned::next_answer`].
#[derive(Debug)]
pub struct Unaligned {
    disk: Disk,
    trims_to_zeros: bool,
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// Entries with something to be issued.
    ready: VecDeque<u32>,
    /// Entries that overlap with others, in the order in which they came.
    waiting: VecDeque<u32>,
    order: Order,
    /// Something has ended that others may have waited for.
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
    /// Over `disk`, whose trimmed blocks read as zeros or not.
    pub fn new(disk: Disk, trims_to_zeros: bool) -> Unaligned {
        let depth = disk.depth;
        Unaligned {
            disk,
            trims_to_zeros,
            entries: Vec::new(),
            vacant: Vec::new(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            order: Order::new(),
            is_wanted: false,
            pieces: vec![Piece::default(); depth as usize],
            vacant_pieces: (0..depth).rev().collect(),
            answers: VecDeque::new(),
            widened: 0,
        }
    }

    /// Takes a request, which must lie within the disk.
    pub fn submit(&mut self, ask: Ask) {
        let entry = Entry::new(ask, self.trims_to_zeros, self.disk.volatile_cache);
        let claim = entry.claim();
        assert!(claim.first + claim.blocks <= self.disk.blocks, "a request lies within the disk");
        self.widened += u64::from(entry.is_widened());
        let id = self.place(entry);
        if self.order.admits(claim) || !holds(Rule::OverlapsKeepOrder) {
            self.order.start(claim);
            self.begin(id);
        } else {
            self.order.wait(claim);
            self.waiting.push_back(id);
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
                self.entries.len() as u32 - 1
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

    /// The next request for the disk, if there is one and the disk takes it.
    pub fn next_request(&mut self, pool: &mut Pool) -> Option<Request<Bytes>> {
        while std::mem::take(&mut self.is_wanted) {
            self.resume();
        }
        let id = loop {
            let &id = self.ready.front()?;
            if self.entries[id as usize].has_more() {
                break id;
            }
            // It has failed while it stood here, and may be over.
            self.ready.pop_front();
        };
        let piece = self.vacant_pieces.pop()?;
        let entry = &mut self.entries[id as usize];
        let (work, request) = entry.issue(piece, self.disk.most_blocks, pool);
        self.pieces[piece as usize] = Piece { entry: id, work };
        self.ready.pop_front();
        if entry.has_more() {
            self.ready.push_back(id);
        }
        Some(request)
    }

    /// The disk has answered.
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
        let entry = &mut self.entries[id as usize];
        let claim = entry.claim();
        self.answers.push_back(entry.answer());
        self.vacant.push(id);
        self.is_wanted |= self.order.end(claim);
    }

    /// Lets those start that nobody is before any more. It looks at all that wait, so it is done once for all
    /// that has ended since.
    fn resume(&mut self) {
        self.order.begin_walk();
        for _ in 0..self.waiting.len() {
            let Some(id) = self.waiting.pop_front() else { break };
            if self.order.resumes(self.entries[id as usize].claim()) {
                // Whoever waits has something to do: what has nothing to do claims nothing.
                self.begin(id);
            } else {
                self.waiting.push_back(id);
            }
        }
    }

    /// The next request that has ended.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// There may be something for the disk.
    pub fn has_requests(&self) -> bool {
        !self.ready.is_empty() || self.is_wanted
    }

    /// Requests that wait for others that they overlap with. Each time one of those ends, all that wait are
    /// looked at.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Requests that have not ended.
    pub fn in_flight(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    /// Requests so far that had to be widened.
    pub fn widened(&self) -> u64 {
        self.widened
    }
}

/// More than counters of 16 bits can count.
const MOST_REQUESTS: usize = 65535;

#[cfg(test)]
mod tests;
