//! Writes that a power cut may undo.

use super::page::{PAGE_SECTORS, SharedPage};
use super::{FlushPoint, bytes_in};
use crate::operation::{Sector, Ticket};
use std::ops::Range;
use tailcut_base::cast::to_usize;
use tailcut_base::device::SECTOR_BYTES;

/// Which write, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteRange {
    ticket: Ticket,
    start: u64,
    end: u64,
}

impl WriteRange {
    pub(crate) fn new(ticket: Ticket, sectors: Range<u64>) -> WriteRange {
        WriteRange { ticket, start: sectors.start, end: sectors.end }
    }

    pub(crate) fn sectors(&self) -> Range<u64> {
        self.start..self.end
    }

    /// True if these are the sectors of one whole page.
    pub(super) fn is_page(&self) -> bool {
        self.start.is_multiple_of(PAGE_SECTORS) && self.end == self.start + PAGE_SECTORS
    }

    pub(super) fn bytes(&self) -> u64 {
        bytes_in(&self.sectors())
    }
}

/// What an unflushed write has written.
#[derive(Debug)]
pub(super) enum Payload {
    Zeros,
    Bytes(Vec<u8>),
    /// One whole page.
    Page(SharedPage),
}

/// An unflushed write.
#[derive(Debug)]
pub(super) struct Unflushed {
    range: WriteRange,
    data: Payload,
    /// Its place among completed writes; `None` while it is in flight.
    completed: Option<FlushPoint>,
    /// Sectors that a newer write has durably overwritten.
    superseded: Vec<Range<u64>>,
}

impl Unflushed {
    pub(super) fn new(range: WriteRange, data: Payload) -> Unflushed {
        Unflushed { range, data, completed: None, superseded: Vec::new() }
    }

    pub(super) fn range(&self) -> &WriteRange {
        &self.range
    }

    pub(super) fn complete(&mut self, at: FlushPoint) {
        self.completed = Some(at);
    }

    pub(super) fn is_covered_by(&self, flush: FlushPoint) -> bool {
        self.completed.is_some_and(|completed| completed <= flush)
    }

    /// Newer data of these sectors is durable.
    pub(super) fn supersede(&mut self, sectors: Range<u64>) {
        let common = sectors.start.max(self.range.start)..sectors.end.min(self.range.end);
        if !common.is_empty() {
            self.superseded.push(common);
        }
    }

    /// The ranges within `sectors`, which are of this write, whose data is not superseded.
    pub(super) fn valid_within(&self, sectors: Range<u64>) -> Vec<Range<u64>> {
        if self.superseded.is_empty() {
            return vec![sectors];
        }
        let is_valid = |sector: &u64| !self.superseded.iter().any(|range| range.contains(sector));
        sectors.filter(is_valid).map(|sector| sector..sector + 1).collect()
    }

    /// The data of sectors of this write; `None` for zeros.
    pub(super) fn data_of(&self, sectors: &Range<u64>) -> Option<&[u8]> {
        let byte = |sector: u64| to_usize((sector - self.range.start) * SECTOR_BYTES);
        let bytes: &[u8] = match &self.data {
            Payload::Zeros => return None,
            Payload::Bytes(bytes) => bytes,
            Payload::Page(page) => page.as_slice(),
        };
        Some(&bytes[byte(sectors.start)..byte(sectors.end)])
    }

    /// Bytes of memory beside those that it shares with its page.
    pub(super) fn memory(&self) -> usize {
        let bytes = if let Payload::Bytes(bytes) = &self.data { bytes.capacity() } else { 0 };
        bytes + self.superseded.capacity() * size_of::<Range<u64>>()
    }
}

/// A piece of a write that a power cut may lose, or leave, independently of all others: the part of an
/// unflushed write within one atomic unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnflushedPiece {
    range: WriteRange,
    acknowledged: bool,
}

impl UnflushedPiece {
    pub(super) fn range(&self) -> &WriteRange {
        &self.range
    }

    /// The write, or trim.
    pub fn ticket(&self) -> Ticket {
        self.range.ticket
    }

    /// The first sector of the piece: where its data has gone, which differs from the write's own address
    /// after a [misdirection](crate::Disk::misdirect_write).
    pub fn sector(&self) -> Sector {
        Sector::new(self.range.start)
    }

    /// Sectors of the piece, at least 1.
    pub fn sectors(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// True if the write has completed; false while it is in flight.
    pub fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }
}

/// The pieces of a write in aligned units of `unit` sectors.
pub(super) fn pieces(write: &Unflushed, unit: u64) -> impl Iterator<Item = UnflushedPiece> + use<> {
    let (range, acknowledged) = (write.range, write.completed.is_some());
    (range.start / unit..range.end.div_ceil(unit)).map(move |number| {
        let (start, end) = (range.start.max(number * unit), range.end.min((number + 1) * unit));
        UnflushedPiece { range: WriteRange { start, end, ..range }, acknowledged }
    })
}
