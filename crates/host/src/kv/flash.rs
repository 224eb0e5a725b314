//! What the disk is asked for, and what becomes of its answers.

use super::engine::Engine;
use super::fetch::Fetching;
use super::jobs::{Haste, Jobs};
use super::log::Log;
use super::log::format::Superblock;
use super::reclaim::{Part, Reclaims};
use super::recovery::Stretch;
use crate::block::Bytes;
use crate::disk::{Request, Response};
use crate::pool::Pool;
use tailcut_base::{Status, Time};

/// What an engine has on flash.
#[derive(Debug)]
pub(super) struct Flash {
    pub log: Log,
    pub jobs: Jobs<Job>,
    pub reclaims: Reclaims,
    pub superblock: Superblock,
    pub is_flushing: bool,
    /// Somebody wants to know when what was written before this point is durable.
    pub wanted: u64,
    pub has_dirty_superblock: bool,
}

/// What becomes of an answer of the disk.
#[derive(Debug)]
pub(super) enum Job {
    /// A user wants a record.
    Fetch(Fetching),
    /// A part of the log.
    Write(u64),
    /// Writes up to this one become durable.
    Flush(u64),
    /// A part of a segment that is to be used again, by the place of what is done with it.
    Reclaim(usize, Part),
    /// A part of one in which something may be found.
    Recover(Stretch),
}

impl Engine {
    /// The next request for the disk.
    pub fn next_request(&mut self) -> Option<Request<Bytes>> {
        self.go_on();
        let flash = self.flash.as_mut()?;
        flash.jobs.next()
    }

    /// The disk has answered.
    pub fn respond(&mut self, response: Response<Bytes>) {
        let Some(flash) = &mut self.flash else { return };
        let is_good = response.status == Status::Success;
        match flash.jobs.end(response.id) {
            Job::Fetch(fetching) => self.note_fetched(fetching, is_good, response.data),
            Job::Write(number) => {
                flash.log.note_written(number, is_good, &mut self.pool);
                self.pool.take_back(response.data);
            }
            Job::Flush(settled) => {
                flash.is_flushing = false;
                if is_good {
                    flash.log.note_flushed(settled);
                } else {
                    // A later flush that succeeds proves nothing: what was to become durable may be gone.
                    flash.log.fail();
                }
            }
            Job::Reclaim(slot, part) => self.note_reclaimed(slot, part, is_good, response.data),
            Job::Recover(stretch) => self.note_stretch(stretch, is_good, response.data),
        }
    }

    /// Gives the disk what there is.
    fn go_on(&mut self) {
        self.advance_reclaim();
        let (now, patience) = (self.now, self.settings.patience);
        let Some(flash) = &mut self.flash else { return };
        if flash.log.dirty_since().is_some_and(|since| now.since(since) >= patience) {
            flash.log.sync();
        }
        flash.send_writes();
        flash.send_superblock(&mut self.pool);
        flash.send_flush();
    }

    /// When it wants to go on by itself.
    pub fn next_event(&self) -> Time {
        let since = self.flash.as_ref().and_then(|flash| flash.log.dirty_since());
        since.map_or(Time::NEVER, |since| since + self.settings.patience)
    }

    /// Everything that was written so far shall become durable. It is when [`Engine::durable`] has reached what is returned.
    pub fn sync(&mut self) -> u64 {
        let Some(flash) = &mut self.flash else { return 0 };
        flash.send_superblock(&mut self.pool);
        let point = flash.log.sync();
        flash.wanted = flash.wanted.max(point);
        point
    }

    /// True once the disk has refused a write: nothing more is written to it.
    pub fn has_failed(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| flash.log.has_failed())
    }

    /// How far what was written is durable; see [`Engine::sync`].
    pub fn durable(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.log.durable())
    }

    /// The first block of a request that finds what is on flash, while the disk has it.
    pub(super) fn block_read_by(&self, id: u32) -> Option<u64> {
        match self.flash.as_ref()?.jobs.job(id)? {
            Job::Recover(stretch) => Some(stretch.block),
            _ => None,
        }
    }

    /// True when the disk is asked for nothing.
    pub(super) fn is_quiet(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| flash.jobs.is_quiet())
    }

    /// True when nothing is to be done for the disk.
    pub fn is_idle(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| {
            flash.jobs.is_idle()
                && !flash.is_flushing
                && (flash.log.durable() >= flash.wanted || flash.log.has_failed())
                && !flash.has_dirty_superblock
        })
    }
}

impl Flash {
    fn send_writes(&mut self) {
        while let Some(write) = self.log.next_write() {
            self.jobs.write(Job::Write(write.number), Haste::Later, write.block, write.data);
        }
    }

    fn send_superblock(&mut self, pool: &mut Pool) {
        if !std::mem::take(&mut self.has_dirty_superblock) {
            return;
        }
        self.superblock.count += 1;
        let mut data = pool.list();
        data.push(self.superblock.encode());
        let number = self.log.count_write();
        self.jobs.write(Job::Write(number), Haste::Later, self.superblock.count % 2, data);
    }

    fn send_flush(&mut self) {
        let settled = self.log.settled();
        // A full segment is believed after a loss of power only when it is on the disk for good.
        self.wanted = self.wanted.max(self.log.undurable());
        let is_wanted = self.wanted > self.log.durable() && settled >= self.wanted;
        if is_wanted && !self.is_flushing && !self.log.has_failed() {
            self.is_flushing = true;
            self.jobs.flush(Job::Flush(settled), Haste::Urgent);
        }
    }
}
