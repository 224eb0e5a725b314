//! A row being written: its appended blocks, and which of them are on the drives.

use super::descriptor::Aged;
use super::geometry::{Geometry, Row, nth_data_column};
use crate::Block;
use crate::array::Column;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::ids::IdVec;

/// No request waits for a block.
pub const NOBODY: u32 = u32::MAX;

/// Content of a position without a block of the host.
pub const NO_BLOCK: u64 = 0;

/// A row being written.
#[derive(Clone, Debug)]
pub struct OpenRow<B> {
    /// The row and its age.
    pub here: Aged,
    /// Its stream.
    pub stream: usize,
    /// The next position to append.
    pub next: u32,
    /// Stripes before this one are on the drives, with their parity.
    pub complete: u32,
    /// Nothing more is appended; the rest is being written.
    pub is_closing: bool,
    /// Block of the host at each position plus 1, or [`NO_BLOCK`].
    pub blocks: Vec<u64>,
    width: u32,
    segment: u32,
    data: u32,
    parity: Option<Column>,
    /// Content of the incomplete stripes, stripe by stripe.
    content: Vec<B>,
    /// Host request that waits for each block.
    waiters: Vec<u32>,
    lanes: IdVec<Column, Lane>,
}

/// The part of a row on one column.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// Blocks before this one are appended.
    filled: u32,
    /// Blocks before this one have been sent to the drive.
    sent: u32,
    /// Writes in flight, and completed ones behind the first of them.
    flights: VecDeque<Flight>,
    /// The drive has been missing while the row was written: it gets no part of it.
    is_absent: bool,
    /// Only blocks before this one may be sent: the others wait for the drive's token.
    until: u32,
    /// Blocks announced as waiting for the token; `gone` counts how many of these blocks were sent.
    announced: u32,
    gone: u32,
    /// Number of blocks whose wait has been reported.
    waited: u32,
    /// Number of blocks counted by the drive's gate.
    kept: u32,
    /// For each announcement, the number of blocks announced by then, and the time.
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
    /// An empty row.
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

    /// Begins a row; `is_present` selects the columns that are present.
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

    /// Appends a block. Returns its position, and false if its drive is missing, so that it is on no drive.
    /// The last block of a stripe completes its parity.
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

    /// Closes the row behind a full stripe with the summaries of its data columns, in order.
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

    /// Number of full stripes of data.
    pub fn stripes(&self) -> u32 {
        self.next / self.data
    }

    /// The content of an incomplete block.
    pub fn content(&self, column: Column, stripe: u32) -> &B {
        assert!(stripe >= self.complete);
        &self.content[self.slot(column, stripe)]
    }

    /// Marks all blocks of a missing column as sent.
    pub fn skip(&mut self, column: Column) {
        let lane = &mut self.lanes[column];
        assert!(lane.is_absent, "a column that is there is written");
        lane.sent = if self.is_closing { self.segment } else { lane.filled };
    }

    /// True if a present column has fewer than `depth` writes in flight.
    pub fn has_room(&self, column: Column, depth: u32) -> bool {
        (self.lanes[column].flights.len() as u32) < depth
    }

    /// The next stripes to write on a present column, at most `most`.
    pub fn take(&mut self, column: Column, most: u32) -> Option<Range<u32>> {
        let lane = &mut self.lanes[column];
        if lane.sent >= lane.filled {
            if !self.is_closing || lane.sent >= self.segment || lane.until < self.segment {
                return None;
            }
            // The stripes in between are skipped.
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

    /// Announces the new blocks of a column: they wait for its token from `now` on.
    pub fn announce(&mut self, now: Time, column: Column) {
        let end = self.is_closing.then(|| self.stripes() + 1);
        let lane = &mut self.lanes[column];
        let known = end.unwrap_or(lane.filled);
        if known > lane.announced {
            lane.announced = known;
            lane.since.push_back((known, now));
        }
    }

    /// Makes the gate of a drive count all waiting blocks. Returns the increase.
    pub fn keep(&mut self, column: Column) -> u32 {
        let lane = &mut self.lanes[column];
        let before = std::mem::replace(&mut lane.kept, lane.announced - lane.gone);
        lane.kept - before
    }

    /// Makes the gate of a drive count no more than the waiting blocks. Returns the decrease.
    pub fn release(&mut self, column: Column) -> u32 {
        let lane = &mut self.lanes[column];
        let released = lane.kept.saturating_sub(lane.announced - lane.gone);
        lane.kept -= released;
        released
    }

    /// Permits sending the blocks of a column that are known by now.
    pub fn permit(&mut self, column: Column) {
        let lane = &mut self.lanes[column];
        lane.until = if self.is_closing { self.segment } else { lane.filled };
    }

    /// The next group of blocks sent since the last call: how many have waited, and since when.
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

    /// Copies the content of some stripes on a column, for its drive.
    pub fn copy(&self, column: Column, stripes: Range<u32>, into: &mut Vec<B>) {
        into.extend(stripes.map(|stripe| self.content[self.slot(column, stripe)].clone()));
    }

    /// Takes the request that waits for a block, if any.
    pub fn take_waiter(&mut self, column: Column, stripe: u32) -> Option<u32> {
        let slot = self.slot(column, stripe);
        let waiter = std::mem::replace(&mut self.waiters[slot], NOBODY);
        (waiter != NOBODY).then_some(waiter)
    }

    /// True if a column gets no part of this row.
    pub fn is_absent(&self, column: Column) -> bool {
        self.lanes[column].is_absent
    }

    /// Excludes a column from the rest of this row.
    pub fn set_absent(&mut self, column: Column) {
        self.lanes[column].is_absent = true;
    }

    /// Takes the request that waits for an unsent block, if any.
    pub fn take_unsent(&mut self, column: Column, stripe: u32) -> Option<u32> {
        let is_unsent = stripe >= self.lanes[column].sent;
        if is_unsent { self.take_waiter(column, stripe) } else { None }
    }

    /// A write has completed.
    pub fn ended(&mut self, column: Column, start: u32) {
        let lane = &mut self.lanes[column];
        let flight = lane.flights.iter_mut().find(|flight| flight.start == start);
        flight.expect("it was in flight").has_ended = true;
        while lane.flights.front().is_some_and(|flight| flight.has_ended) {
            lane.flights.pop_front();
        }
        self.forget();
    }

    /// Drops the content of complete stripes.
    pub fn forget(&mut self) {
        let done = self.lanes.iter().map(Lane::done).min().expect("a row has columns");
        while self.complete < done {
            let first = (self.complete * self.width) as usize;
            self.content[first..first + self.width as usize].fill(B::default());
            self.complete += 1;
        }
    }

    /// True if the whole row is on the drives.
    pub fn is_finished(&self) -> bool {
        self.is_closing && self.complete == self.segment
    }

    /// True if writes are in flight.
    pub fn in_flight(&self) -> bool {
        self.lanes.iter().any(|lane| lane.flights.iter().any(|flight| !flight.has_ended))
    }
}
