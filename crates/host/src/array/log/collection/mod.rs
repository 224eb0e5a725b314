//! Garbage collection: valid blocks of a row are moved, and the row is trimmed as a whole (SWAN, sections 3.4
//! and 4.2).
//!
//! Several victims are in progress: some are being read while the blocks of others are appended, and while
//! those of others become durable. One barrier serves all victims that have been moved when it starts.

mod barrier;
mod job;
mod moving;
mod victim;

use super::Log;
use super::geometry::{JOBS_ALWAYS, RESERVE, Row};
use super::open_row::NO_BLOCK;
use super::stream::MOVED;
use crate::Block;
use crate::array::GroupId;
use crate::array::core::Core;
use crate::check::ensure;
use job::{Job, Phase};
use tailcut_base::Time;
use tailcut_base::cast::to_u32;

/// The collections in progress.
#[derive(Debug)]
pub(super) struct Collection<B> {
    jobs: Vec<Job<B>>,
    /// Valid blocks of all victims that have not been moved.
    left: u64,
    /// Reads of valid blocks in flight.
    reads: u32,
    /// Outstanding commits of the barrier.
    commits: u32,
}

impl<B: Block> Collection<B> {
    /// No collections; at most `victims` concurrently.
    pub(super) fn new(victims: u32) -> Collection<B> {
        let jobs = (0..victims).map(|_| Job::idle()).collect();
        Collection { jobs, left: 0, reads: 0, commits: 0 }
    }

    /// True if this row is being collected.
    pub(super) fn holds(&self, row: Row) -> bool {
        self.jobs.iter().any(|job| !job.is_idle() && job.row == row)
    }

    /// True while some victim has not been moved completely.
    pub(super) fn is_moving(&self) -> bool {
        self.jobs.iter().any(Job::is_moving)
    }

    /// Valid blocks of all victims that have not been moved.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// No read or commit of a collection is in progress.
    pub(in crate::array::log) fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.reads == 0, "{} reads of victims are in progress", self.reads);
        ensure!(self.commits == 0, "{} commits of collection are in progress", self.commits);
        Ok(())
    }

    /// Blocks of victims that have not been moved add up.
    pub(in crate::array::log) fn check(&self) -> Result<(), String> {
        let left: u64 = self.jobs.iter().map(|job| u64::from(job.left)).sum();
        ensure!(left == self.left, "{left} blocks of victims are left, {} counted", self.left);
        Ok(())
    }

    fn count(&self, is_counted: impl Fn(&Job<B>) -> bool) -> usize {
        self.jobs.iter().filter(|job| is_counted(job)).count()
    }

    fn spend(&mut self, job: usize, blocks: u32) {
        let spent = blocks.min(self.jobs[job].left);
        self.jobs[job].left -= spent;
        self.left -= u64::from(spent);
    }
}

impl<B: Block> Log<B> {
    /// True if some row is being collected.
    pub(super) fn is_collecting(&self) -> bool {
        self.collection.count(|job| !job.is_idle()) > 0
    }

    /// True if a row of the group is being collected.
    pub(super) fn is_busy(&self, group: GroupId) -> bool {
        self.collection.count(|job| !job.is_idle() && self.geometry.group_of(job.row) == group) > 0
    }

    /// True if a victim that waited for reads of it can be trimmed.
    pub(super) fn has_unread_victim(&self) -> bool {
        let is_unread = |job: &Job<B>| job.phase == Phase::Read && self.rows.get(job.row).readers == 0;
        self.collection.count(is_unread) > 0
    }

    /// Advances collection as far as possible.
    pub(super) fn collect(&mut self, now: Time, core: &mut Core<B>) {
        if self.failed.is_some() {
            return;
        }
        for job in 0..self.collection.jobs.len() {
            if self.collection.jobs[job].phase == Phase::Moving {
                self.resume(now, core, job);
            }
            if self.collection.jobs[job].phase == Phase::Read {
                self.trim(now, core, job);
            }
        }
        while let Some(job) = self.collection.jobs.iter().position(Job::is_idle)
            && self.begin_job(now, core, job)
        {}
        self.begin_barrier(now, core);
    }

    fn begin_job(&mut self, now: Time, core: &mut Core<B>, job: usize) -> bool {
        let Some(group) = self.group_to_collect() else { return false };
        if !self.has_room_to_collect(group) {
            return false;
        }
        if !self.can_move_from(now, core, group) {
            return false;
        }
        let Some(row) = self.rows.victim(group, self.geometry.victim_most()) else {
            return false;
        };
        let valid = self.rows.get(row).valid;
        let (data, positions) = (self.geometry.data, self.geometry.positions());
        let this = &mut self.collection.jobs[job];
        (this.row, this.valid, this.gain, this.left) = (row, valid, positions - valid, valid);
        (this.turn, this.reads, this.is_blind, this.is_stuck) = (0, 0, false, false);
        this.unnamed = u32::MAX;
        this.stripes.clear();
        this.stripes.resize(data as usize, 0);
        this.blocks.clear();
        this.blocks.resize(positions as usize, NO_BLOCK);
        self.collection.left += u64::from(valid);
        if valid == 0 {
            self.collection.jobs[job].phase = Phase::Moving;
        } else {
            self.read_summaries(now, core, job);
        }
        if self.collection.jobs[job].phase == Phase::Moving {
            self.resume(now, core, job);
        }
        true
    }

    /// Makes sure that the stream of moved blocks is in the collected group, or, if that has no free row
    /// (power losses can leave many rows barely begun), in the group with the most. False if there is none,
    /// or if other victims are being moved.
    fn can_move_from(&mut self, now: Time, core: &mut Core<B>, group: GroupId) -> bool {
        if self.candidate_valid(group) == 0 {
            return true;
        }
        let here = self.geometry.group_of(self.open_row(MOVED).here.row);
        let most = self.geometry.group_ids().max_by_key(|&other| self.rows.free(other));
        let target = match group {
            group if self.rows.free(group) > 0 => group,
            // Stay as long as possible: each change costs a row.
            _ if self.rows.free(here) > 0 => here,
            _ => most.expect("there is a group"),
        };
        here == group || !self.collection.is_moving() && (here == target || self.hop(now, core, target))
    }

    /// Number of valid blocks of the row of a group that would be collected first.
    fn candidate_valid(&self, group: GroupId) -> u32 {
        self.rows.candidate(group).map_or(0, |row| self.rows.get(row).valid)
    }

    /// True if another victim leaves the room that those in progress need: they free theirs only when all
    /// moved blocks are durable.
    fn has_room_to_collect(&self, group: GroupId) -> bool {
        let needed = self.rows_to_move(self.candidate_valid(group));
        !self.is_collecting() || self.rows.free(group) >= RESERVE - JOBS_ALWAYS + needed
    }

    /// Rows that the victims in progress need, together with one of `more` valid blocks.
    fn rows_to_move(&self, more: u32) -> u32 {
        let blocks = self.collection.left() + u64::from(more);
        to_u32(blocks.div_ceil(u64::from(self.geometry.user_positions())))
    }

    /// Rows that the host must leave to the victims in progress, beyond the reserve.
    pub(super) fn claimed_rows(&self) -> u32 {
        self.rows_to_move(0).saturating_sub(JOBS_ALWAYS)
    }
}
