//! One request of a trace.

use tailcut_base::{Nanos, Op, SECTOR_BYTES};

/// A request as a trace recorded it, before it is fitted to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, since the first record of the trace. Never decreases within a trace:
    /// a record that is older than one before it takes that one's moment.
    pub at: Nanos,
    /// The disk that it went to: the trace's own number, or the place in the order of appearance
    /// where the format has names ([`super::Trace::disk_label`]).
    pub disk: u32,
    /// What was requested: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: the write had to be durable before it completed.
    pub fua: bool,
    /// First byte on the disk; 0 for a flush.
    pub offset: u64,
    /// Number of bytes; 0 only for a flush. `offset + len` never overflows.
    pub len: u32,
    /// The time that the request took on the traced system; `None` if the trace has no response times.
    pub response: Option<Nanos>,
}

impl Record {
    /// Number of the first sector that the request touches, in whole or in part.
    #[inline]
    pub fn sector(&self) -> u64 {
        self.offset / SECTOR_BYTES
    }

    /// How many sectors it touches: a request that begins or ends within a sector is widened.
    #[inline]
    pub fn sectors(&self) -> u32 {
        let end = self.end().div_ceil(SECTOR_BYTES);
        // At most 2^32 bytes and two parts of sectors: below 2^24.
        (end - self.sector()) as u32
    }

    /// The byte behind the last one of the request.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }

    /// True when it begins and ends on sector boundaries.
    #[inline]
    pub fn is_whole_sectors(&self) -> bool {
        (self.offset | u64::from(self.len)).is_multiple_of(SECTOR_BYTES)
    }
}

/// A request as a line describes it, its time still in the trace's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raw {
    /// Nanoseconds of the trace's clock, whatever its epoch.
    pub clock: u64,
    pub disk: u32,
    pub op: Op,
    pub fua: bool,
    /// A flush of this disk comes before it.
    pub preflush: bool,
    pub offset: u64,
    pub len: u64,
    pub response: Option<Nanos>,
}

impl Raw {
    /// A plain request.
    #[inline]
    pub(super) fn new(clock: u64, disk: u32, op: Op, offset: u64, len: u64) -> Raw {
        Raw { clock, disk, op, fua: false, preflush: false, offset, len, response: None }
    }

    /// A flush of `disk`.
    pub(super) fn flush(clock: u64, disk: u32) -> Raw {
        Raw::new(clock, disk, Op::Flush, 0, 0)
    }
}
