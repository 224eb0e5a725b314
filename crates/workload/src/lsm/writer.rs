//! The thread that puts; or, of a store with clients, the put that is being done.

use super::memtable::Memtable;
use super::plan::LOG_DEPTH;
use super::space::Extent;
use super::store::{Owner, Store};
use super::table::locate;
use tailcut_base::{Nanos, Op, Time};

/// The state of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It computes, or waits for the next put to be due.
    Computing,
    /// Its put is slowed down and continues at its time.
    Delayed,
    /// No memtable takes its put, level 0 has too many files, or the region is nearly full.
    Stalled {
        /// Since when.
        since: Time,
    },
    /// Too much of the log is in flight.
    LogFull,
    /// It waits until the log has been written to the device.
    Syncing,
    /// It waits until the log is durable.
    Flushing,
    /// All puts are done; of a store with clients, none is being done.
    Done,
}

/// The thread that puts.
#[derive(Clone, Debug)]
pub struct Writer {
    /// What the thread does at the moment, or what it waits for.
    pub state: State,
    /// Number of puts that are still to be done.
    pub left: u64,
    /// When the last put that was begun was due, from which the rate gives the next.
    pub begun: Time,
    /// Writes of the log in flight.
    pub log_writes: u32,
    /// Puts since the log was made durable.
    pub unsynced: u64,
}

/// Puts.
impl Store {
    pub(super) fn begin_put(&mut self, now: Time) {
        if self.writer.left == 0 {
            self.writer.state = State::Done;
            return;
        }
        let interval = 1_000_000_000u64.checked_div(self.plan.put_rate).unwrap_or(0);
        let first = self.writer.left == self.plan.puts;
        let due = if first { now } else { now.max(self.writer.begun + Nanos(interval)) };
        self.writer.begun = due;
        self.writer.state = State::Computing;
        let timer = self.writer_timer();
        self.timers.set(timer, due + self.plan.put_time);
    }

    /// The put has computed, or may go on after a stall.
    pub(super) fn make_room(&mut self, now: Time) {
        let level0 = self.tree.files(0) as u32;
        if self.is_short() || level0 >= self.plan.l0_stop || (self.is_full() && !self.can_seal()) {
            self.writer.state = State::Stalled { since: now };
            return;
        }
        if level0 >= self.plan.l0_slowdown {
            let delay = Nanos::for_bytes(self.plan.entry, self.plan.delayed_rate);
            if self.counts(now) {
                self.figures.delayed += delay;
            }
            self.writer.state = State::Delayed;
            let timer = self.writer_timer();
            return self.timers.set(timer, now + delay);
        }
        self.put(now);
    }

    /// True when compactions could run out of room if puts went on. RocksDB would go on until the
    /// file system is full, and fail; a store at rest is far from it.
    fn is_short(&self) -> bool {
        self.space.free_blocks() < self.reserve
    }

    fn is_full(&self) -> bool {
        self.memtable.puts >= self.plan.memtable_puts()
    }

    pub(super) fn can_seal(&self) -> bool {
        self.sealed.len() as u32 + 1 < self.plan.write_buffers
    }

    /// A stalled put continues when there is room again.
    pub(super) fn end_stall(&mut self, now: Time) {
        let State::Stalled { since } = self.writer.state else { return };
        self.make_room(now);
        if let State::Stalled { since: again } = &mut self.writer.state {
            *again = since;
        } else if self.counts(now) {
            self.figures.stalled += now.since(since.max(self.figures.from));
        }
    }

    pub(super) fn put(&mut self, now: Time) {
        if self.is_full() && self.can_seal() {
            self.seal(now);
        }
        self.memtable.puts += 1;
        self.memtable.log_bytes += self.plan.log_entry();
        match &mut self.clients {
            Some(clients) => clients.inserted += u64::from(self.plan.mix.inserts()),
            None => self.writer.left -= 1,
        }
        self.writer.unsynced += 1;
        if self.counts(now) {
            self.figures.puts += 1;
            self.figures.last_put = now;
            self.figures.put_bytes += self.plan.entry;
        }
        self.write_log(now);
    }

    /// The memtable is full: another takes its place, with a log of its own.
    pub(super) fn seal(&mut self, now: Time) {
        let next = Memtable::new(self.memtable.id + 1, self.memtable.births().end);
        let sealed = std::mem::replace(&mut self.memtable, next);
        self.sealed.push_back(sealed);
        self.begin_flush(now);
    }

    /// Hands whole blocks of the log to the device, then decides what the writer waits for.
    pub(super) fn write_log(&mut self, now: Time) {
        while self.memtable.log_bytes / self.plan.block > self.memtable.log_written {
            if self.writer.log_writes == LOG_DEPTH {
                self.writer.state = State::LogFull;
                return;
            }
            if !self.write_log_block(now) {
                return;
            }
            self.memtable.log_written += 1;
        }
        if self.plan.sync_every > 0 && self.writer.unsynced >= self.plan.sync_every {
            // The last block goes as far as it is filled, and again when it is full.
            let has_rest = !self.memtable.log_bytes.is_multiple_of(self.plan.block);
            if has_rest && !self.write_log_block(now) {
                return;
            }
            self.writer.state = State::Syncing;
            return self.sync(now);
        }
        self.has_put(now);
    }

    /// Writes the first block of the log that has not been written whole; false without room.
    pub(super) fn write_log_block(&mut self, now: Time) -> bool {
        if self.memtable.log_written == self.memtable.log_blocks() {
            match self.space.take(self.plan.log_piece()) {
                Some(extents) => self.memtable.log.extend(extents),
                None => {
                    self.fail();
                    return false;
                }
            }
        }
        let at = locate(&self.memtable.log, self.memtable.log_written);
        let block = Extent { blocks: 1, ..at };
        self.page_cache.insert(block);
        self.ask(now, Op::Write, self.plan.log_class, block, Owner::Log);
        self.writer.log_writes += 1;
        if self.counts(now) {
            self.figures.log_bytes += self.plan.block;
        }
        true
    }

    /// The log is made durable once all of it has been written.
    pub(super) fn sync(&mut self, now: Time) {
        if self.writer.log_writes == 0 {
            self.writer.state = State::Flushing;
            let nothing = Extent { first: 0, blocks: 0 };
            self.ask(now, Op::Flush, self.plan.log_class, nothing, Owner::LogFlush);
        }
    }

    pub(super) fn has_written_log(&mut self, now: Time) {
        self.writer.log_writes -= 1;
        match self.writer.state {
            State::LogFull => self.write_log(now),
            State::Syncing => self.sync(now),
            _ => {}
        }
    }

    pub(super) fn has_flushed_log(&mut self, now: Time) {
        self.writer.unsynced = 0;
        self.has_put(now);
    }
}
