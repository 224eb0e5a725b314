//! Durability of the log: which writes have completed, and which are durable.

use super::format::{End, OpenEnd};
use super::open::Open;
use super::{Log, Undurable, Write, WriteNumber};
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use crate::pool::Pool;
use tailcut_base::Time;

impl Log {
    /// True if all records of the open segment are durable and none of its headers records that yet.
    pub fn wants_mark(&self) -> bool {
        !self.has_failed && !self.is_full && self.open.as_ref().is_some_and(Open::wants_mark)
    }

    /// Records on the disk that all records of the open segment are durable: in a header behind them, and in
    /// the last block of the segment, in case the header gets damaged. False if there is no room for the
    /// header.
    pub fn mark_durable(&mut self, pool: &mut Pool) -> bool {
        let Some(open) = &mut self.open else { return false };
        if !open.append_durable_mark(pool) {
            return false;
        }
        if holds(Invariant::DurableIsMarkedTwice) {
            self.mark_last_block(pool);
        }
        self.write_out();
        true
    }

    fn mark_last_block(&mut self, pool: &mut Pool) {
        let Some(open) = &self.open else { return };
        let (number, opened) = (open.number, open.opened);
        let end = End::Open(OpenEnd { sequence: open.sequence, durable: open.stamped() });
        let mut data = pool.list();
        data.push(end.last_block(self.end_of(number)));
        let opened = self.write(WriteKind::Metadata, self.end_block(number) - 1, data, opened);
        self.open.iter_mut().for_each(|open| open.opened = opened);
    }

    /// Submits everything appended so far. Returns the write number that [`Log::durable`] reaches once it is
    /// durable.
    pub fn sync(&mut self, pool: &mut Pool) -> WriteNumber {
        if let Some(open) = self.open.as_mut().filter(|open| open.dirty_since.is_some()) {
            open.close_block(pool);
            self.write_out();
        }
        self.settling.issued()
    }

    /// When the oldest data not submitted to the disk was appended; None if all is submitted.
    pub fn dirty_since(&self) -> Option<Time> {
        self.open.as_ref().and_then(|open| open.dirty_since)
    }

    /// The next write for the disk. A block is rewritten only after its previous write has completed.
    pub fn next_write(&mut self) -> Option<Write> {
        let is_due = self.writes.front().is_some_and(|write| write.after <= self.settling.settled());
        if is_due { self.writes.pop_front() } else { None }
    }

    /// Write `number` has completed, successfully or not. After a failure the log accepts no more records.
    pub fn note_written(&mut self, number: WriteNumber, is_done: bool, pool: &mut Pool) {
        if !is_done {
            self.has_failed = true;
            return;
        }
        self.settling.note_done(number);
        if !self.volatile_cache {
            self.note_flushed(self.settling.settled());
        }
        let settled = self.settling.settled();
        let mut at = 0;
        while at < self.resting.len() {
            if self.resting[at].last > settled {
                at += 1;
                continue;
            }
            pool.recycle(self.resting.swap_remove(at).blocks);
        }
    }

    /// All writes up to this number have completed.
    pub fn settled(&self) -> WriteNumber {
        self.settling.settled()
    }

    /// All writes up to this number are durable.
    pub fn durable(&self) -> WriteNumber {
        self.settling.durable()
    }

    /// A flush that was issued at `settled` has completed.
    pub fn note_flushed(&mut self, settled: WriteNumber) {
        self.settling.note_durable(settled);
        self.open.iter_mut().for_each(|open| open.note_durable(settled));
        while let Some(&Undurable { number, sequence, last, .. }) = self.undurable.front()
            && last <= settled
        {
            self.durable_sequence = sequence;
            self.highest = self.highest.max(number);
            self.undurable.pop_front();
        }
    }

    /// Most records that may not be durable: those of a full segment that were not when it was sealed count
    /// until all of it is.
    pub fn undurable_records(&self) -> usize {
        let full = self.undurable.iter().filter(|segment| self.is_believed(segment.sequence));
        let of_full: usize = full.map(|segment| segment.records).sum();
        of_full + self.open.as_ref().map_or(0, Open::undurable_records)
    }

    /// Last write of the full segments that a power loss may still destroy.
    pub fn undurable(&self) -> WriteNumber {
        self.undurable.back().map_or(WriteNumber::NONE, |segment| segment.last)
    }

    /// True while too many full segments wait for the disk, so that more writes should wait. False on a disk
    /// that has failed or is out of space: it refuses writes.
    pub fn is_busy(&self) -> bool {
        !self.has_failed && !self.is_full && self.resting.len() >= MOST_RESTING
    }

    /// True while writes of full segments are in flight: one of these may be the emptiest.
    pub fn is_settling(&self) -> bool {
        !self.resting.is_empty()
    }
}

/// Full segments that may wait for the disk before the log is busy.
const MOST_RESTING: usize = 8;
