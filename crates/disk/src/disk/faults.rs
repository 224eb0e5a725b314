//! What a test can make go wrong.

use super::{Disk, InFlight};
use crate::clock::Slowdown;
use crate::completion::Completion;
use crate::operation::{Error, Sector};
use std::ops::Range;
use tailcut_base::cast::{low_u8, to_usize};
use tailcut_base::random::mix64;
use tailcut_base::{Cause, Nanos, Spans, Time};

/// How stored data is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Corruption {
    /// One bit changes, bit 0 being the lowest one of the first byte.
    FlipBit(u64),
    /// All bytes become zero.
    Zeros,
    /// All bytes become others, which the seed decides.
    Garbage(u64),
}

/// Faults that wait for an operation, or are in effect.
#[derive(Debug, Default)]
pub(super) struct Faults {
    is_dead: bool,
    /// Where the next write goes.
    write_to: Option<u64>,
    /// Where the next read comes from.
    read_from: Option<u64>,
}

impl Faults {
    pub(super) fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Where a write goes: its own sectors, unless it is the one to be misdirected.
    pub(super) fn target_of_write(&mut self, sectors: Range<u64>, end: u64) -> Range<u64> {
        elsewhere(self.write_to.take(), sectors, end)
    }

    /// Where a read comes from: its own sectors, unless it is the one to be misdirected. The range is as
    /// long.
    pub(super) fn source_of_read(&mut self, sectors: Range<u64>, end: u64) -> Range<u64> {
        let len = sectors.end - sectors.start;
        let from = self.read_from.take().map(|from| from.min(end - len));
        elsewhere(from, sectors, end)
    }
}

/// The sectors moved to begin at `start`, as far as the disk has them.
fn elsewhere(start: Option<u64>, sectors: Range<u64>, end: u64) -> Range<u64> {
    match start {
        Some(start) => start..(start + sectors.end - sectors.start).min(end),
        None => sectors,
    }
}

impl Disk {
    /// Damages stored data; reads return it without an error, until the sectors are written again. Both the
    /// durable copy and that in the volatile cache are damaged.
    ///
    /// # Panics
    /// If the disk does not have all of these sectors, or [`Corruption::FlipBit`] names a bit beyond them.
    pub fn corrupt(&mut self, sector: Sector, sectors: u32, corruption: Corruption) {
        let range = self.range(sector, sectors);
        match corruption {
            Corruption::FlipBit(bit) => {
                let flipped = range.start + bit / SECTOR_BITS;
                assert!(flipped < range.end, "{sectors} sectors have no bit {bit}");
                let byte = to_usize(bit % SECTOR_BITS / 8);
                self.contents.damage(flipped..flipped + 1, |_, bytes| bytes[byte] ^= 1 << (bit % 8));
            }
            Corruption::Zeros => self.contents.damage(range, |_, bytes| bytes.fill(0)),
            Corruption::Garbage(seed) => self.contents.damage(range, |sector, bytes| {
                for (at, byte) in (0..).zip(bytes) {
                    // Never zero, so that each byte changes.
                    *byte ^= low_u8(mix64(seed ^ mix64(sector << 16 | at))).max(1);
                }
            }),
        }
    }

    /// The next write goes to `sector` instead of its own address, and completes as if nothing had happened.
    /// What would go beyond the end of the disk is lost.
    ///
    /// # Panics
    /// If the disk does not have this sector.
    pub fn misdirect_write(&mut self, sector: Sector) {
        self.faults.write_to = Some(self.range(sector, 1).start);
    }

    /// The next read returns the data at `sector` instead of that at its own address, or that at the end of
    /// the disk if it is longer than what is there.
    ///
    /// # Panics
    /// If the disk does not have this sector.
    pub fn misdirect_read(&mut self, sector: Sector) {
        self.faults.read_from = Some(self.range(sector, 1).start);
    }

    /// Reads of these sectors fail with [`Error::Unreadable`] until the sectors have been written again,
    /// durably; meanwhile reads of newer data in the volatile cache succeed.
    ///
    /// # Panics
    /// If the disk does not have all of these sectors.
    pub fn fail_reads(&mut self, sector: Sector, sectors: u32) {
        let range = self.range(sector, sectors);
        self.contents.make_unreadable(range);
    }

    /// The drive stops at `now` for `length`: everything in flight completes that much later, and the time is
    /// attributed to [`Cause::Controller`]. A stall that begins during another is added to it.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn stall(&mut self, now: Time, length: Nanos) {
        self.run_to(now);
        self.clock.stall(now, length);
    }

    /// Everything in the drive takes longer from `now` on, until the next call: [`Slowdown::NONE`] ends it.
    /// Causes of latency are stretched alike.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn slow_by(&mut self, now: Time, slowdown: Slowdown) {
        self.run_to(now);
        self.clock.slow_by(now, slowdown);
    }

    /// The disk dies at `now`: everything in flight, and everything submitted from now on, completes at once
    /// with [`Error::Gone`]. Its data can still be [peeked](Disk::peek).
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn die(&mut self, now: Time) {
        self.run_to(now);
        self.faults.is_dead = true;
        self.drive = None;
        let in_flight = std::mem::take(&mut self.in_flight);
        let mut in_flight: Vec<&InFlight> = in_flight.iter().map(|(_, operation)| operation).collect();
        in_flight.sort_unstable_by_key(|operation| operation.ticket);
        for &InFlight { ticket, submitted, ref kind } in in_flight {
            let mut spans = Spans::new();
            spans.add(Cause::Controller, now.since(submitted));
            let completion = Completion::new(ticket, kind.op(), submitted, now, spans);
            self.ready.push(completion.with(Err(Error::Gone), None));
        }
    }

    /// True if the disk has died.
    pub fn is_dead(&self) -> bool {
        self.faults.is_dead
    }
}

/// Bits of a sector.
const SECTOR_BITS: u64 = tailcut_base::SECTOR_BYTES * 8;
