//! A row that is being written: what has been appended to it, and how much of that is on the drives.

use super::descriptor::Aged;
use super::geometry::{Geometry, Row, nth_data_column};
use crate::Block;
use crate::array::Column;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::ids::IdVec;

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
    parity: Option<Column>,
    /// Content of the stripes that are not complete, stripe by stripe.
    content: Vec<B>,
    /// The request of the host that waits for each block.
    waiters: Vec<u32>,
    lanes: IdVec<Column, Lane>,
}

/// The part of a row on one column.
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
            lanes: IdVec::filled(geometry.width as usize, Lane::default()),
        }
    }

    /// Begins a row; `is_present` says which columns there are.
    pub fn begin(
        &mut self,
        geometry: &Geometry,
        here: Aged,
        stream: usize,
        is_present: impl Fn(Column) -> bool,
    ) {
        (self.here, self.stream, self.next, self.complete) = (here, stream, 0, 0);
        self.is_closing = false;
        self.parity = geometry.parity(here.row);
        self.blocks.clear();
        for column in self.lanes.ids() {
            let lane = &mut self.lanes[column];
            (lane.filled, lane.sent) = (0, 0);
            lane.flights.clear();
            lane.is_absent = !is_present(column);
            (lane.until, lane.announced, lane.gone, lane.waited, lane.kept) = (u32::MAX, 0, 0, 0, 0);
            lane.since.clear();
        }
    }

    fn slot(&self, column: Column, stripe: u32) -> usize {
        (stripe * self.width + column.get()) as usize
    }

    fn column(&self, k: u32) -> Column {
        nth_data_column(self.parity, k)
    }

    /// Appends a block; returns its position, and false when its drive is missing, so that it is on
    /// none. The parity of a stripe is known with its last block.
    pub fn put(&mut self, content: B, waiter: u32, block: u64) -> (u32, bool) {
        let position = self.next;
        let (stripe, k) = (position / self.data, position % self.data);
        let column = self.column(k);
        if let Some(parity) = self.parity {
            let sum = self.slot(parity, stripe);
            self.content[sum].xor(&content);
            if k + 1 == self.data {
                self.lanes[parity].filled = stripe + 1;
            }
        }
        let slot = self.slot(column, stripe);
        self.content[slot] = content;
        let lane = &mut self.lanes[column];
        let is_kept = !lane.is_absent;
        self.waiters[slot] = if is_kept { waiter } else { NOBODY };
        lane.filled = stripe + 1;
        self.blocks.push(block);
        self.next += 1;
        (position, is_kept)
    }

    /// Ends the row behind a full stripe with the summaries of its data columns, in their order.
    pub fn close(&mut self, summaries: impl Iterator<Item = B>) {
        assert!(self.next.is_multiple_of(self.data) && !self.is_closing);
        self.is_closing = true;
        let last = self.segment - 1;
        for (k, summary) in summaries.enumerate() {
            if let Some(parity) = self.parity {
                let sum = self.slot(parity, last);
                self.content[sum].xor(&summary);
            }
            let slot = self.slot(self.column(k as u32), last);
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
    pub fn content(&self, column: Column, stripe: u32) -> &B {
        assert!(stripe >= self.complete);
        &self.content[self.slot(column, stripe)]
    }

    /// A column that is missing takes everything at once.
    pub fn skip(&mut self, column: Column) {
        let lane = &mut self.lanes[column];
        assert!(lane.is_absent, "a column that is there is written");
        lane.sent = if self.is_closing { self.segment } else { lane.filled };
    }

    /// True when a column that is there has fewer than `depth` writes in flight.
    pub fn has_room(&self, column: Column, depth: u32) -> bool {
        (self.lanes[column].flights.len() as u32) < depth
    }

    /// The stripes to be written next on a column that is there, at most `most`.
    pub fn take(&mut self, column: Column, most: u32) -> Option<Range<u32>> {
        let lane = &mut self.lanes[column];
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
        Some(start..start + blocks)
    }

    /// What has become known of a column since the last time waits for its token from `now` on.
    pub fn announce(&mut self, now: Time, column: Column) {
        let end = self.is_closing.then(|| self.stripes() + 1);
        let lane = &mut self.lanes[column];
        let known = end.unwrap_or(lane.filled);
        if known > lane.announced {
            lane.announced = known;
            lane.since.push_back((known, now));
        }
    }

    /// The gate of a drive counts all that waits: how much more that is than it did.
    pub fn keep(&mut self, column: Column) -> u32 {
        let lane = &mut self.lanes[column];
        let before = std::mem::replace(&mut lane.kept, lane.announced - lane.gone);
        lane.kept - before
    }

    /// It counts no more than what waits: how much less that is than it did.
    pub fn release(&mut self, column: Column) -> u32 {
        let lane = &mut self.lanes[column];
        let released = lane.kept.saturating_sub(lane.announced - lane.gone);
        lane.kept -= released;
        released
    }

    /// What is known of a column now may be sent.
    pub fn permit(&mut self, column: Column) {
        let lane = &mut self.lanes[column];
        lane.until = if self.is_closing { self.segment } else { lane.filled };
    }

    /// The next of those that have gone since the last time: how many have waited, and since when.
    pub fn waited(&mut self, column: Column) -> Option<(u32, Time)> {
        let lane = &mut self.lanes[column];
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

    /// The content of some stripes on a column, for its drive.
    pub fn copy(&self, column: Column, stripes: Range<u32>, into: &mut Vec<B>) {
        into.extend(stripes.map(|stripe| self.content[self.slot(column, stripe)].clone()));
    }

    /// Who waits for a block; nobody after that.
    pub fn take_waiter(&mut self, column: Column, stripe: u32) -> Option<u32> {
        let slot = self.slot(column, stripe);
        let waiter = std::mem::replace(&mut self.waiters[slot], NOBODY);
        (waiter != NOBODY).then_some(waiter)
    }

    /// True when a column gets nothing of this row.
    pub fn is_absent(&self, column: Column) -> bool {
        self.lanes[column].is_absent
    }

    /// A column gets nothing more of this row.
    pub fn set_absent(&mut self, column: Column) {
        self.lanes[column].is_absent = true;
    }

    /// Who waits for a block that has not been sent; nobody after that.
    pub fn take_unsent(&mut self, column: Column, stripe: u32) -> Option<u32> {
        let is_unsent = stripe >= self.lanes[column].sent;
        if is_unsent { self.take_waiter(column, stripe) } else { None }
    }

    /// A write has ended.
    pub fn ended(&mut self, column: Column, start: u32) {
        let lane = &mut self.lanes[column];
        let flight = lane.flights.iter_mut().find(|flight| flight.start == start);
        flight.expect("it was in flight").has_ended = true;
        while lane.flights.front().is_some_and(|flight| flight.has_ended) {
            lane.flights.pop_front();
        }
        self.forget();
    }

    /// Forgets the content of stripes that are complete.
    pub fn forget(&mut self) {
        let done = self.lanes.iter().map(Lane::done).min().expect("a row has columns");
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
