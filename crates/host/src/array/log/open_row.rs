//! A row that is being written: what has been appended to it, and how much of that is on the drives.

use super::descriptor::Aged;
use super::geometry::{Geometry, Row};
use crate::Block;
use std::collections::VecDeque;
use tailcut_base::Time;

/// Nobody waits for a block.
pub const NOBODY: u32 = u32::MAX;

/// What a position holds that is no block of the host.
pub const NO_BLOCK: u64 = 0;

/// A row that is being written.
#[derive(Clone, Debug)]
pub struct OpenRow<B> {
    /// Which.
    pub here: Aged,
    /// The stream that it belongs to.
    pub stream: usize,
    /// The next position.
    pub next: u32,
    /// Stripes before this one are on the drives, with their parity.
    pub complete: u32,
    /// Nothing more is appended: the rest is on its way.
    pub is_closing: bool,
    /// The block of the host at each position plus 1, or [`NO_BLOCK`].
    pub blocks: Vec<u64>,
    width: u32,
    segment: u32,
    data: u32,
    parity: Option<u32>,
    /// Content of the stripes that are not complete, stripe by stripe.
    content: Vec<B>,
    /// The request of the host that waits for each block.
    waiters: Vec<u32>,
    lanes: Vec<Lane>,
}

/// The part of a row on one member.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// Blocks before this one are known.
    filled: u32,
    /// Blocks before this one have been sent to the drive.
    sent: u32,
    /// What is in flight, and what has ended behind it.
    flights: VecDeque<Flight>,
    /// The drive has been missing while the row was written: it gets nothing of it.
    is_absent: bool,
    /// Only blocks before this one may be sent: the others wait for the drive's token.
    until: u32,
    /// Blocks that are known to wait for it or have gone, and of those the ones that have gone.
    announced: u32,
    gone: u32,
    /// Those of which is known how long they have waited.
    waited: u32,
    /// Those that the gate of the drive counts.
    kept: u32,
    /// Since when: blocks announced up to then, and the moment.
    since: VecDeque<(u32, Time)>,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    start: u32,
    has_ended: bool,
}

impl Lane {
    /// Blocks before this one are on the drive.
    fn done(&self) -> u32 {
        self.flights.front().map_or(self.sent, |flight| flight.start)
    }
}

impl<B: Block> OpenRow<B> {
    /// A row with nothing in it.
    pub fn new(geometry: &Geometry) -> OpenRow<B> {
        let slots = (geometry.segment * geometry.width) as usize;
        OpenRow {
            here: Aged { row: Row::FIRST, age: 0 },
            stream: 0,
            next: 0,
            complete: 0,
            is_closing: false,
            blocks: Vec::with_capacity(geometry.positions() as usize),
            width: geometry.width,
            segment: geometry.segment,
            data: geometry.data,
            parity: None,
            content: vec![B::default(); slots],
            waiters: vec![NOBODY; slots],
            lanes: vec![Lane::default(); geometry.width as usize],
        }
    }

    /// Begins a row; `is_present` says which members there are.
    pub fn begin(
        &mut self,
        geometry: &Geometry,
        here: Aged,
        stream: usize,
        is_present: impl Fn(u32) -> bool,
    ) {
        (self.here, self.stream, self.next, self.complete) = (here, stream, 0, 0);
        self.is_closing = false;
        self.parity = geometry.parity(here.row);
        self.blocks.clear();
        for (member, lane) in self.lanes.iter_mut().enumerate() {
            (lane.filled, lane.sent) = (0, 0);
            lane.flights.clear();
            lane.is_absent = !is_present(member as u32);
            (lane.until, lane.announced, lane.gone, lane.waited, lane.kept) = (u32::MAX, 0, 0, 0, 0);
            lane.since.clear();
        }
    }

    fn slot(&self, member: u32, stripe: u32) -> usize {
        (stripe * self.width + member) as usize
    }

    fn member(&self, k: u32) -> u32 {
        match self.parity {
            Some(parity) if k >= parity => k + 1,
            _ => k,
        }
    }

    /// Appends a block; returns its position, and false when its drive is missing, so that it is on
    /// none. The parity of a stripe is known with its last block.
    pub fn put(&mut self, content: B, waiter: u32, block: u64) -> (u32, bool) {
        let position = self.next;
        let (stripe, k) = (position / self.data, position % self.data);
        let member = self.member(k);
        if let Some(parity) = self.parity {
            let sum = self.slot(parity, stripe);
            self.content[sum].xor(&content);
            if k + 1 == self.data {
                self.lanes[parity as usize].filled = stripe + 1;
            }
        }
        let slot = self.slot(member, stripe);
        self.content[slot] = content;
        let lane = &mut self.lanes[member as usize];
        let is_kept = !lane.is_absent;
        self.waiters[slot] = if is_kept { waiter } else { NOBODY };
        lane.filled = stripe + 1;
        self.blocks.push(block);
        self.next += 1;
        (position, is_kept)
    }

    /// Ends the row behind a full stripe with the summaries of its data members, in their order.
    pub fn close(&mut self, summaries: impl Iterator<Item = B>) {
        assert!(self.next.is_multiple_of(self.data) && !self.is_closing);
        self.is_closing = true;
        let last = self.segment - 1;
        for (k, summary) in summaries.enumerate() {
            if let Some(parity) = self.parity {
                let sum = self.slot(parity, last);
                self.content[sum].xor(&summary);
            }
            let slot = self.slot(self.member(k as u32), last);
            self.content[slot] = summary;
        }
        if self.stripes() == last {
            for lane in &mut self.lanes {
                lane.filled = self.segment;
            }
        }
    }

    /// Full stripes of data.
    pub fn stripes(&self) -> u32 {
        self.next / self.data
    }

    /// A block that is not complete yet.
    pub fn content(&self, member: u32, stripe: u32) -> &B {
        assert!(stripe >= self.complete);
        &self.content[self.slot(member, stripe)]
    }

    /// The next blocks to be written on a member, with at most `depth` writes in flight of at most
    /// `most` blocks. A member that is missing takes everything at once.
    pub fn take(&mut self, member: u32, depth: u32, most: u32) -> Option<(u32, u32)> {
        let lane = &mut self.lanes[member as usize];
        if lane.is_absent {
            lane.sent = if self.is_closing { self.segment } else { lane.filled };
            return None;
        }
        if lane.flights.len() as u32 >= depth {
            return None;
        }
        if lane.sent >= lane.filled {
            if !self.is_closing || lane.sent >= self.segment || lane.until < self.segment {
                return None;
            }
            // The stripes between are left out.
            (lane.sent, lane.filled) = (self.segment - 1, self.segment);
        }
        let end = lane.filled.min(lane.until);
        if lane.sent >= end {
            return None;
        }
        let (start, blocks) = (lane.sent, (end - lane.sent).min(most));
        lane.sent += blocks;
        lane.gone += blocks;
        lane.flights.push_back(Flight { start, has_ended: false });
        Some((start, blocks))
    }

    /// What has become known of a member since the last time waits for its token from `now` on.
    pub fn announce(&mut self, now: Time, member: u32) {
        let end = self.is_closing.then(|| self.stripes() + 1);
        let lane = &mut self.lanes[member as usize];
        let known = end.unwrap_or(lane.filled);
        if known > lane.announced {
            lane.announced = known;
            lane.since.push_back((known, now));
        }
    }

    /// The gate of a drive counts all that waits: how much more that is than it did.
    pub fn keep(&mut self, member: u32) -> u32 {
        let lane = &mut self.lanes[member as usize];
        let before = std::mem::replace(&mut lane.kept, lane.announced - lane.gone);
        lane.kept - before
    }

    /// It counts no more than what waits: how much less that is than it did.
    pub fn release(&mut self, member: u32) -> u32 {
        let lane = &mut self.lanes[member as usize];
        let released = lane.kept.saturating_sub(lane.announced - lane.gone);
        lane.kept -= released;
        released
    }

    /// What is known of a member now may be sent.
    pub fn permit(&mut self, member: u32) {
        let lane = &mut self.lanes[member as usize];
        lane.until = if self.is_closing { self.segment } else { lane.filled };
    }

    /// The next of those that have gone since the last time: how many have waited, and since when.
    pub fn waited(&mut self, member: u32) -> Option<(u32, Time)> {
        let lane = &mut self.lanes[member as usize];
        let &(until, since) = lane.since.front()?;
        let before = lane.waited;
        if lane.gone == before {
            return None;
        }
        lane.waited = lane.gone.min(until);
        if lane.waited == until {
            lane.since.pop_front();
        }
        Some((lane.waited - before, since))
    }

    /// What goes to the drive: the blocks from `start` on.
    pub fn copy(&self, member: u32, start: u32, blocks: u32, into: &mut Vec<B>) {
        into.extend((start..start + blocks).map(|stripe| self.content[self.slot(member, stripe)].clone()));
    }

    /// Who waits for a block; nobody after that.
    pub fn take_waiter(&mut self, member: u32, stripe: u32) -> Option<u32> {
        let slot = self.slot(member, stripe);
        let waiter = std::mem::replace(&mut self.waiters[slot], NOBODY);
        (waiter != NOBODY).then_some(waiter)
    }

    /// True when a member gets nothing of this row.
    pub fn is_absent(&self, member: u32) -> bool {
        self.lanes[member as usize].is_absent
    }

    /// A member gets nothing more of this row.
    pub fn set_absent(&mut self, member: u32) {
        self.lanes[member as usize].is_absent = true;
    }

    /// Who waits for a block that has not been sent; nobody after that.
    pub fn take_unsent(&mut self, member: u32, stripe: u32) -> Option<u32> {
        let is_unsent = stripe >= self.lanes[member as usize].sent;
        if is_unsent { self.take_waiter(member, stripe) } else { None }
    }

    /// A write has ended.
    pub fn ended(&mut self, member: u32, start: u32) {
        let lane = &mut self.lanes[member as usize];
        let flight = lane.flights.iter_mut().find(|flight| flight.start == start);
        flight.expect("it was in flight").has_ended = true;
        while lane.flights.front().is_some_and(|flight| flight.has_ended) {
            lane.flights.pop_front();
        }
        self.forget();
    }

    /// Forgets the content of stripes that are complete.
    pub fn forget(&mut self) {
        let done = self.lanes.iter().map(Lane::done).min().expect("a row has members");
        while self.complete < done {
            let first = (self.complete * self.width) as usize;
            self.content[first..first + self.width as usize].fill(B::default());
            self.complete += 1;
        }
    }

    /// Everything is on the drives.
    pub fn is_finished(&self) -> bool {
        self.is_closing && self.complete == self.segment
    }

    /// Writes in flight.
    pub fn in_flight(&self) -> bool {
        self.lanes.iter().any(|lane| lane.flights.iter().any(|flight| !flight.has_ended))
    }
}
