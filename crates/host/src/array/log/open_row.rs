//! A row being written: its appended blocks, and which of them are on the drives.

use super::descriptor::Aged;
use super::geometry::{Geometry, Row, nth_data_column};
use crate::Block;
use crate::array::Column;
use crate::array::requests::RequestSlot;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::cast::to_u32;
use tailcut_base::id;
use tailcut_base::ids::IdVec;

id! {
    /// A row being written.
    pub struct OpenRowId;
}

impl OpenRowId {
    /// No row.
    pub const NONE: OpenRowId = OpenRowId(u32::MAX);
}

/// Content of a position without a block of the host.
pub(super) const NO_BLOCK: u64 = 0;

/// A row being written.
#[derive(Clone, Debug)]
pub(super) struct OpenRow<B> {
    /// The row and its age.
    pub here: Aged,
    /// The stream that appends to the row.
    pub stream: usize,
    /// The next position to append.
    pub next: u32,
    /// Stripes before this one are on the drives, with their parity.
    pub complete: u32,
    /// Nothing more is appended; the rest is being written.
    is_closing: bool,
    /// Block of the host at each position plus 1, or [`NO_BLOCK`].
    pub blocks: Vec<u64>,
    width: u32,
    segment: u32,
    data: u32,
    parity: Option<Column>,
    /// Content of the incomplete stripes, stripe by stripe.
    content: Vec<B>,
    /// Host request that waits for each block, or [`RequestSlot::NONE`].
    waiters: Vec<RequestSlot>,
    parts: IdVec<Column, ColumnPart>,
}

/// The part of a row on one column.
#[derive(Clone, Debug, Default)]
struct ColumnPart {
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

impl ColumnPart {
    /// Blocks before this one are on the drive.
    fn done(&self) -> u32 {
        self.flights.front().map_or(self.sent, |flight| flight.start)
    }
}

impl<B: Block> OpenRow<B> {
    /// An empty row.
    pub(super) fn new(geometry: &Geometry) -> OpenRow<B> {
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
            waiters: vec![RequestSlot::NONE; slots],
            parts: IdVec::filled(geometry.width as usize, ColumnPart::default()),
        }
    }

    /// Begins a row; `is_present` selects the columns that are present.
    pub(super) fn begin(
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
        for column in self.parts.ids() {
            let part = &mut self.parts[column];
            (part.filled, part.sent) = (0, 0);
            part.flights.clear();
            part.is_absent = !is_present(column);
            (part.until, part.announced, part.gone, part.waited, part.kept) = (u32::MAX, 0, 0, 0, 0);
            part.since.clear();
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
    pub(super) fn put(&mut self, content: B, waiter: Option<RequestSlot>, block: u64) -> (u32, bool) {
        let position = self.next;
        let (stripe, k) = (position / self.data, position % self.data);
        let column = self.column(k);
        if let Some(parity) = self.parity {
            let sum = self.slot(parity, stripe);
            self.content[sum].xor(&content);
            if k + 1 == self.data {
                self.parts[parity].filled = stripe + 1;
            }
        }
        let slot = self.slot(column, stripe);
        self.content[slot] = content;
        let part = &mut self.parts[column];
        let is_kept = !part.is_absent;
        self.waiters[slot] = waiter.filter(|_| is_kept).unwrap_or(RequestSlot::NONE);
        part.filled = stripe + 1;
        self.blocks.push(block);
        self.next += 1;
        (position, is_kept)
    }

    /// Closes the row behind a full stripe with the summaries of its data columns, in order.
    pub(super) fn close(&mut self, summaries: impl Iterator<Item = B>) {
        assert!(self.next.is_multiple_of(self.data) && !self.is_closing);
        self.is_closing = true;
        let last = self.segment - 1;
        for (k, summary) in summaries.enumerate() {
            if let Some(parity) = self.parity {
                let sum = self.slot(parity, last);
                self.content[sum].xor(&summary);
            }
            let slot = self.slot(self.column(to_u32(k)), last);
            self.content[slot] = summary;
        }
        if self.stripes() == last {
            for part in &mut self.parts {
                part.filled = self.segment;
            }
        }
    }

    /// Number of full stripes of data.
    pub(super) fn stripes(&self) -> u32 {
        self.next / self.data
    }

    /// The content of an incomplete block.
    pub(super) fn content(&self, column: Column, stripe: u32) -> &B {
        assert!(stripe >= self.complete);
        &self.content[self.slot(column, stripe)]
    }

    /// Marks all blocks of a missing column as sent.
    pub(super) fn skip(&mut self, column: Column) {
        let part = &mut self.parts[column];
        assert!(part.is_absent, "a column that is there is written");
        part.sent = if self.is_closing { self.segment } else { part.filled };
    }

    /// True if a present column has fewer than `depth` writes in flight.
    pub(super) fn has_room(&self, column: Column, depth: u32) -> bool {
        to_u32(self.parts[column].flights.len()) < depth
    }

    /// The next stripes to write on a present column, at most `most`.
    pub(super) fn take(&mut self, column: Column, most: u32) -> Option<Range<u32>> {
        let part = &mut self.parts[column];
        if part.sent >= part.filled {
            if !self.is_closing || part.sent >= self.segment || part.until < self.segment {
                return None;
            }
            // The stripes in between are skipped.
            (part.sent, part.filled) = (self.segment - 1, self.segment);
        }
        let end = part.filled.min(part.until);
        if part.sent >= end {
            return None;
        }
        let (start, blocks) = (part.sent, (end - part.sent).min(most));
        part.sent += blocks;
        part.gone += blocks;
        part.flights.push_back(Flight { start, has_ended: false });
        Some(start..start + blocks)
    }

    /// Announces the new blocks of a column: they wait for its token from `now` on.
    pub(super) fn announce(&mut self, now: Time, column: Column) {
        let end = self.is_closing.then(|| self.stripes() + 1);
        let part = &mut self.parts[column];
        let known = end.unwrap_or(part.filled);
        if known > part.announced {
            part.announced = known;
            part.since.push_back((known, now));
        }
    }

    /// Makes the gate of a drive count all waiting blocks. Returns the increase.
    pub(super) fn keep(&mut self, column: Column) -> u32 {
        let part = &mut self.parts[column];
        let before = std::mem::replace(&mut part.kept, part.announced - part.gone);
        part.kept - before
    }

    /// Makes the gate of a drive count no more than the waiting blocks. Returns the decrease.
    pub(super) fn release(&mut self, column: Column) -> u32 {
        let part = &mut self.parts[column];
        let released = part.kept.saturating_sub(part.announced - part.gone);
        part.kept -= released;
        released
    }

    /// Permits sending the blocks of a column that are known by now.
    pub(super) fn permit(&mut self, column: Column) {
        let part = &mut self.parts[column];
        part.until = if self.is_closing { self.segment } else { part.filled };
    }

    /// The next group of blocks sent since the last call: how many have waited, and since when.
    pub(super) fn waited(&mut self, column: Column) -> Option<(u32, Time)> {
        let part = &mut self.parts[column];
        let &(until, since) = part.since.front()?;
        let before = part.waited;
        if part.gone == before {
            return None;
        }
        part.waited = part.gone.min(until);
        if part.waited == until {
            part.since.pop_front();
        }
        Some((part.waited - before, since))
    }

    /// Copies the content of some stripes on a column, for its drive.
    pub(super) fn copy(&self, column: Column, stripes: Range<u32>, into: &mut Vec<B>) {
        into.extend(stripes.map(|stripe| self.content[self.slot(column, stripe)].clone()));
    }

    /// Takes the request that waits for a block, if any.
    pub(super) fn take_waiter(&mut self, column: Column, stripe: u32) -> Option<RequestSlot> {
        let slot = self.slot(column, stripe);
        let waiter = std::mem::replace(&mut self.waiters[slot], RequestSlot::NONE);
        (waiter != RequestSlot::NONE).then_some(waiter)
    }

    /// True if a column gets no part of this row.
    pub(super) fn is_absent(&self, column: Column) -> bool {
        self.parts[column].is_absent
    }

    /// Excludes a column from the rest of this row.
    pub(super) fn set_absent(&mut self, column: Column) {
        self.parts[column].is_absent = true;
    }

    /// Takes the request that waits for an unsent block, if any.
    pub(super) fn take_unsent(&mut self, column: Column, stripe: u32) -> Option<RequestSlot> {
        let is_unsent = stripe >= self.parts[column].sent;
        if is_unsent { self.take_waiter(column, stripe) } else { None }
    }

    /// A write has completed.
    pub(super) fn ended(&mut self, column: Column, start: u32) {
        let part = &mut self.parts[column];
        let flight = part.flights.iter_mut().find(|flight| flight.start == start);
        flight.expect("it was in flight").has_ended = true;
        while part.flights.front().is_some_and(|flight| flight.has_ended) {
            part.flights.pop_front();
        }
        self.forget();
    }

    /// Drops the content of complete stripes.
    pub(super) fn forget(&mut self) {
        let done = self.parts.iter().map(ColumnPart::done).min().expect("a row has columns");
        while self.complete < done {
            let first = (self.complete * self.width) as usize;
            self.content[first..first + self.width as usize].fill(B::default());
            self.complete += 1;
        }
    }

    /// True if the whole row is on the drives.
    pub(super) fn is_finished(&self) -> bool {
        self.is_closing && self.complete == self.segment
    }

    /// True if writes are in flight.
    pub(super) fn in_flight(&self) -> bool {
        self.parts.iter().any(|part| part.flights.iter().any(|flight| !flight.has_ended))
    }
}
