//! Disk requests of the engine and the handling of their completions.

use super::engine::Engine;
use super::fetch::Fetching;
use super::jobs::{Haste, Jobs};
use super::log::format::{End, Superblock};
use super::log::{Log, SegmentId, Write, WriteNumber};
use super::reclaim::{Part, Reclaims};
use super::record::{Header, State};
use super::recovery::Stretch;
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use crate::pool::Pool;
use tailcut_base::{Nanos, Status, Time};

/// The engine's state on flash.
#[derive(Debug)]
pub(super) struct Flash {
    pub log: Log,
    pub jobs: Jobs<Job>,
    pub reclaims: Reclaims,
    pub superblock: Superblock,
    pub is_flushing: bool,
    /// The write up to which durability is requested.
    pub wanted: WriteNumber,
    pub has_dirty_superblock: bool,
    /// The latest superblock write; once it is durable, the mirror superblock is written.
    pub mirrored_after: Option<WriteNumber>,
    pub superblock_writes: SuperblockWrites,
    /// Block of the durable superblock, 0 or 1; not overwritten until the other one is durable.
    pub durable_superblock: u64,
    /// Blocks to write once the superblock is durable.
    pub repairs: Vec<(u64, Bytes)>,
    /// The last of these writes.
    pub repaired_after: WriteNumber,
    /// Writes that failed for lack of space; `next_try` is when they are retried.
    pub stalled: Vec<Writing>,
    pub next_try: Time,
    /// Once this write is durable, the superblock records the close.
    pub closing: Option<WriteNumber>,
    pub timers: Timers,
}

/// Writes of the superblock.
#[derive(Debug)]
pub(super) struct SuperblockWrites {
    /// The last one, and its block: 0 or 1.
    last: (WriteNumber, u64),
    /// The first one with the latest [`Engine::flush_all`], if there was any; None if it is still to be
    /// submitted.
    of_flush: Option<WriteNumber>,
}

impl SuperblockWrites {
    /// None yet; `block` has the newest superblock.
    pub(super) fn since(block: u64) -> SuperblockWrites {
        SuperblockWrites { last: (WriteNumber::NONE, block), of_flush: Some(WriteNumber::NONE) }
    }
}

/// Timers of the log.
#[derive(Debug)]
pub(super) struct Timers {
    /// When to mark the log's records as durable; see [`Flash::mark_durable`].
    marks_at: Time,
    /// When to flush although no user waits for it; see [`Flash::flush_in_time`].
    flushes_at: Time,
    /// When to retry a flush that was refused for lack of space; nothing is lost by that.
    retries_flush_at: Time,
}

impl Timers {
    /// No timer is set.
    pub(super) const IDLE: Timers =
        Timers { marks_at: Time::NEVER, flushes_at: Time::NEVER, retries_flush_at: Time::NEVER };
}

/// The purpose of a disk request, which determines how its completion is handled.
#[derive(Debug)]
pub(super) enum Job {
    /// A read of a record for a user.
    Fetch(Fetching),
    /// A write of a part of the log, or of its metadata.
    Write(Writing),
    /// A flush that makes writes up to this number durable.
    Flush(WriteNumber),
    /// A read or erase of a part of the victim in this reclaim slot.
    Reclaim(usize, Part),
    /// A read for recovery.
    Recover(Stretch),
    /// A repair of copies of blocks in this segment.
    Repair(SegmentId),
}

/// A write in flight.
#[derive(Debug)]
pub(super) struct Writing {
    number: WriteNumber,
    kind: WriteKind,
    block: u64,
    /// Kept for a retry when the disk is out of space.
    data: Vec<Bytes>,
    /// The write may fail: its content can be reconstructed.
    is_optional: bool,
}

impl Engine {
    /// The next request for the disk.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.resume();
        let flash = self.flash.as_mut()?;
        flash.jobs.next()
    }

    /// Handles a completion from the disk. True if a change that was refused as
    /// [`Refused::Busy`](super::Refused::Busy) may succeed now; a read of an item makes no room for one.
    pub fn respond(&mut self, response: Response<Bytes>) -> bool {
        let Some(flash) = &mut self.flash else { return false };
        let is_good = response.status == Status::Success;
        match flash.jobs.end(response.id) {
            Job::Fetch(fetching) => {
                self.note_fetched(fetching, is_good, response.data);
                return false;
            }
            Job::Write(writing) => {
                flash.note_written(self.now, writing, response.status, &mut self.pool);
                self.pool.recycle(response.data);
            }
            Job::Flush(settled) => {
                flash.is_flushing = false;
                if is_good {
                    flash.note_room();
                    flash.log.note_flushed(settled);
                } else if response.status == Status::NoSpace {
                    flash.log.set_full(true);
                    flash.timers.retries_flush_at = self.now + TRY_AGAIN;
                } else {
                    // A later flush that succeeds proves nothing: the data may be gone.
                    flash.log.fail();
                }
            }
            Job::Reclaim(slot, part) => self.note_reclaimed(slot, part, is_good, response.data),
            Job::Recover(stretch) => self.note_stretch(stretch, response.status, response.data),
            Job::Repair(segment) => {
                flash.log.end_read(segment);
                self.figures.repaired += u64::from(is_good);
                self.pool.recycle(response.data);
            }
        }
        true
    }

    /// Queues all requests that are due.
    fn resume(&mut self) {
        self.advance_reclaim();
        let (now, patience) = (self.now, self.settings.patience);
        let Some(flash) = &mut self.flash else { return };
        if flash.log.dirty_since().is_some_and(|since| now.since(since) >= patience) {
            flash.log.sync(&mut self.pool);
        }
        flash.try_again(now);
        flash.send_writes();
        flash.note_closed();
        flash.send_superblock(&mut self.pool);
        flash.mark_durable(now, patience, &mut self.pool);
        flash.flush_in_time(now, patience);
        flash.send_flush();
    }

    /// When the engine's next timer expires; [`Time::NEVER`] if none is set.
    pub fn next_event(&self) -> Time {
        let Some(flash) = &self.flash else { return Time::NEVER };
        let since = flash.log.dirty_since().map_or(Time::NEVER, |since| since + self.settings.patience);
        match flash.log.is_full() {
            // Stalled writes are retried, and no other write is issued until there is space.
            true if flash.stalled.is_empty() => flash.timers.retries_flush_at,
            true => flash.next_try.min(flash.timers.retries_flush_at),
            false => since.min(flash.timers.marks_at).min(flash.timers.flushes_at),
        }
    }

    /// Starts making everything written so far durable. It is durable once [`Engine::durable`] has reached
    /// the returned number.
    pub fn sync(&mut self) -> WriteNumber {
        let Some(flash) = &mut self.flash else { return WriteNumber::NONE };
        flash.send_superblock(&mut self.pool);
        let point = flash.log.sync(&mut self.pool);
        flash.wanted = flash.wanted.max(point);
        point
    }

    /// Like [`Engine::sync`], before an orderly shutdown: also seals the open segment, so that the next start
    /// trusts all of it without a search. Later writes go to another segment.
    pub fn close(&mut self) -> WriteNumber {
        let Some(flash) = &mut self.flash else { return WriteNumber::NONE };
        flash.log.close(&mut self.pool);
        let point = self.sync();
        self.flash.iter_mut().for_each(|flash| flash.closing = Some(point));
        point
    }

    /// True while the disk accepts no writes: it has failed, or is out of space ([`Engine::is_full`]).
    pub fn has_failed(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| flash.log.has_failed() || flash.log.is_full())
    }

    /// True while the disk is out of space, like a sparse file on a full file system. Writes are retried
    /// every second; until one succeeds, nothing is written. Items are still read, and deleted as long as
    /// tombstones fit in the open segment.
    pub fn is_full(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| flash.log.is_full())
    }

    /// The write up to which all are durable; see [`Engine::sync`].
    pub fn durable(&self) -> WriteNumber {
        self.flash.as_ref().map_or(WriteNumber::NONE, |flash| flash.log.durable())
    }

    /// Most changes that may not be durable, such as when the disk has failed or is out of space. A
    /// [`Engine::flush_all`] is one of them.
    pub fn undurable_changes(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| {
            let is_flush = flash.superblock_writes.of_flush.is_none_or(|number| number > flash.log.durable());
            flash.log.undurable_records() as u64 + u64::from(is_flush)
        })
    }

    /// First block of a request in flight, and whether the request may fail.
    pub(super) fn block_of(&self, id: u32) -> Option<(u64, bool)> {
        match self.flash.as_ref()?.jobs.job(id)? {
            Job::Recover(stretch) => Some((stretch.block, true)),
            Job::Write(writing) => Some((writing.block, writing.is_optional)),
            Job::Repair(_) => Some((0, true)),
            _ => None,
        }
    }

    /// Length of the disk, or of this part's range of it, when the store was created, in blocks; None for a
    /// store in memory.
    pub fn disk_blocks(&self) -> Option<u64> {
        self.flash.as_ref().map(|flash| flash.superblock.blocks)
    }

    /// True once repaired ends of segments are durable: heads written from now on state that all older
    /// segments are durable.
    pub(super) fn is_repaired(&self) -> bool {
        self.flash
            .as_ref()
            .is_none_or(|flash| flash.repairs.is_empty() && flash.log.durable() >= flash.repaired_after)
    }

    /// Records in the superblock that every segment found by the opening has a durable summary, unless the
    /// write of one has failed. True if the superblock changes; it is durable after an [`Engine::sync`].
    pub(super) fn record_durable(&mut self) -> bool {
        self.flash.as_mut().is_some_and(Flash::record_durable)
    }

    /// True if no disk request is in flight.
    pub(super) fn is_quiet(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| flash.jobs.is_quiet())
    }

    /// True if no disk request is queued, in flight or due.
    pub fn is_idle(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| {
            // A failed log never writes what is left.
            let has_nothing_to_write = || {
                flash.log.durable() >= flash.wanted
                    && !flash.has_dirty_superblock
                    && flash.mirrored_after.is_none()
                    && flash.closing.is_none()
            };
            flash.jobs.is_idle() && !flash.is_flushing && (flash.log.has_failed() || has_nothing_to_write())
        })
    }
}

impl Flash {
    /// Submits a numbered write of ends of segments or superblocks.
    pub(super) fn write(&mut self, number: WriteNumber, block: u64, data: Vec<Bytes>) {
        self.send(Writing { number, kind: WriteKind::Metadata, block, data, is_optional: false });
    }

    /// Submits a numbered write of ends or summaries of segments, which may fail.
    pub(super) fn write_optional(&mut self, number: WriteNumber, block: u64, data: Vec<Bytes>) {
        self.send(Writing { number, kind: WriteKind::Metadata, block, data, is_optional: true });
    }

    fn send(&mut self, writing: Writing) {
        let (kind, block, data) = (writing.kind, writing.block, writing.data.clone());
        self.jobs.write(Job::Write(writing), Haste::Later, kind, block, data);
    }

    fn note_written(&mut self, now: Time, writing: Writing, status: Status, pool: &mut Pool) {
        let Writing { number, is_optional, .. } = writing;
        match status {
            Status::WriteProtected | Status::NoSpace if !is_optional => {
                self.log.set_full(true);
                self.stalled.push(writing);
                self.next_try = now + TRY_AGAIN;
                return;
            }
            Status::Success if !self.is_flush_stalled() => self.note_room(),
            _ => {}
        }
        drop(writing);
        if is_optional && status != Status::Success {
            self.log.stop_vouching();
        }
        self.log.note_written(number, status == Status::Success || is_optional, pool);
    }

    /// A request that needs space has succeeded.
    fn note_room(&mut self) {
        if self.stalled.is_empty() && self.log.is_full() {
            self.log.set_full(false);
            self.reclaims.note_room()
        }
    }

    fn is_flush_stalled(&self) -> bool {
        self.timers.retries_flush_at != Time::NEVER
    }

    /// Retries writes and a flush that were stalled for lack of space.
    fn try_again(&mut self, now: Time) {
        if now >= self.timers.retries_flush_at {
            self.timers.retries_flush_at = Time::NEVER;
        }
        if now >= self.next_try {
            std::mem::take(&mut self.stalled).into_iter().for_each(|writing| self.send(writing));
        }
    }

    /// Invalidates everything that is on the disk.
    pub(super) fn begin_anew(&mut self, pool: &mut Pool) {
        self.superblock.flushed = self.log.begin_anew(pool);
        (self.has_dirty_superblock, self.superblock_writes.of_flush) = (true, None);
    }

    fn send_writes(&mut self) {
        while let Some(write) = self.log.next_write() {
            let kind = write.kind();
            let Write { number, block, data, .. } = write;
            self.send(Writing { number, kind, block, data, is_optional: false });
        }
    }

    /// Updates the superblock once the log is durable up to the point that [`Engine::close`] has set.
    fn note_closed(&mut self) {
        if self.closing.take_if(|point| self.log.durable() >= *point).is_some() {
            self.record_durable();
        }
    }

    /// Raises the durable sequence in the superblock to that of the log. An opening trusts the summaries of
    /// segments up to it. False if it has not changed.
    fn record_durable(&mut self) -> bool {
        let durable = self.log.durable_sequence();
        let is_news = durable > self.superblock.durable;
        if is_news {
            self.superblock.durable = durable;
            self.superblock.used = self.superblock.used.max(self.log.highest().get());
            self.has_dirty_superblock = true;
        }
        is_news
    }

    /// Once the log has been idle for [`MARK_AFTER`], appends a marker that its latest records are durable,
    /// and makes the marker durable: from then on, damage there is not mistaken for a write cut off by a
    /// power loss. The superblock records it for full segments, which therefore need no marker in the open
    /// one. Under load the next record and the head of the next segment record it.
    fn mark_durable(&mut self, now: Time, patience: Nanos, pool: &mut Pool) {
        if !self.log.wants_mark() || !holds(Invariant::DurableIsMarked) {
            self.timers.marks_at = Time::NEVER;
            return;
        }
        self.timers.marks_at = self.timers.marks_at.min(now + patience * MARK_AFTER);
        if self.timers.marks_at > now {
            return;
        }
        self.timers.marks_at = Time::NEVER;
        if !self.log.mark_durable(pool) {
            // The segment is full: the superblock records it.
            self.log.close(pool);
            self.closing = Some(self.log.sync(pool));
        }
        self.record_durable();
        self.wanted = self.wanted.max(self.log.sync(pool));
        self.send_writes();
    }

    /// Flushes writes within [`FLUSH_AFTER`] even if no user waits for them. Otherwise, after a power loss,
    /// nothing would prove that they had been on the disk, and damage would be mistaken for a write that was
    /// cut off.
    fn flush_in_time(&mut self, now: Time, patience: Nanos) {
        let settled = self.log.settled();
        let is_durable = settled == self.log.durable() || !holds(Invariant::WritesAreFlushedInTime);
        if self.log.has_failed() || self.log.is_full() || is_durable {
            self.timers.flushes_at = Time::NEVER;
            return;
        }
        self.timers.flushes_at = self.timers.flushes_at.min(now + patience * FLUSH_AFTER);
        if self.timers.flushes_at <= now {
            self.timers.flushes_at = Time::NEVER;
            self.wanted = self.wanted.max(settled);
        }
    }

    /// Writes a changed superblock to one of its two blocks, and to the other once that is durable. One of
    /// them is always complete and durable, even if a write fails and power is lost after it; both are when
    /// the store is idle.
    fn send_superblock(&mut self, pool: &mut Pool) {
        let durable = self.log.durable();
        let is_mirror = self.mirrored_after.take_if(|number| *number <= durable).is_some();
        if is_mirror {
            for (block, bytes) in std::mem::take(&mut self.repairs) {
                self.repaired_after = self.log.count_write();
                self.write(self.repaired_after, block, vec![bytes]);
            }
            self.wanted = self.wanted.max(self.repaired_after);
        }
        let is_dirty = std::mem::take(&mut self.has_dirty_superblock);
        let may_write = is_dirty || is_mirror && holds(Invariant::SuperblocksAreTwo);
        if !may_write {
            return;
        }
        self.superblock.count += 1;
        let mut data = pool.list();
        data.push(self.superblock.encode());
        let (before, block) = self.superblock_writes.last;
        if before <= durable || !holds(Invariant::DurableSuperblockStays) {
            self.durable_superblock = block;
        }
        let place = 1 - self.durable_superblock;
        // Concurrent writes of one block may complete in either order.
        let after = if place == block { before } else { WriteNumber::NONE };
        let number = self.log.write(WriteKind::Metadata, place, data, after);
        self.superblock_writes.last = (number, place);
        self.superblock_writes.of_flush.get_or_insert(number);
        self.send_writes();
        self.wanted = self.wanted.max(number);
        if is_dirty {
            self.mirrored_after = Some(number);
        }
    }

    /// Rewrites the head of a segment, or both ends if it is free. `first` is the content of its first block.
    pub(super) fn repair_ends(&mut self, number: SegmentId, end: End, mut first: Bytes) {
        let (of, block) = (self.log.end_of(number), self.log.first_block(number));
        first.as_mut_slice()[..End::BYTES].copy_from_slice(&end.encode(of));
        self.repairs.push((block, first));
        if matches!(end, End::Free(_)) {
            let last = block + u64::from(self.log.segment_blocks()) - 1;
            self.repairs.push((last, end.last_block(of)));
        }
    }

    /// True if an item may have had a newer version than this record, which was read from flash, or if its
    /// value was lost.
    pub(super) fn is_doubted(&self, header: &Header) -> bool {
        let is_marked = header.state.0 & (State::LOST.0 | State::DOUBTED.0) != 0;
        is_marked || header.home <= self.superblock.doubted
    }

    fn send_flush(&mut self) {
        let settled = self.log.settled();
        // After a power loss, a full segment is trusted only if it was durable.
        self.wanted = self.wanted.max(self.log.undurable());
        let is_wanted = self.wanted > self.log.durable() && settled >= self.wanted;
        if is_wanted && !self.is_flushing && !self.is_flush_stalled() && !self.log.has_failed() {
            self.is_flushing = true;
            self.jobs.flush(Job::Flush(settled), Haste::Urgent);
        }
    }
}

/// Idle time before the log marks its latest records as durable, in multiples of
/// [`Settings::patience`](super::Settings::patience).
const MARK_AFTER: u64 = 10;
/// Longest time between a write and its flush, in multiples of
/// [`Settings::patience`](super::Settings::patience): a second, as `appendfsync everysec` of Redis.
const FLUSH_AFTER: u64 = 10;
/// Retry interval while the disk is out of space.
const TRY_AGAIN: Nanos = Nanos::millis(1000);
