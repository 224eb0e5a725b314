//! The barrier behind moved victims: they are trimmed once all replacements of their blocks are durable and
//! no reads of them are in flight.

use super::job::{Job, Phase};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Priority};
use crate::array::log::Log;
use crate::array::log::commit::Waiter;
use crate::array::log::figures::{Collected, RECENT_MAX};
use crate::array::log::space::PARTS;
use crate::array::log::stream::{HOST, MOVED};
use crate::array::log::token::Token;
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use tailcut_base::cast::to_u8;
use tailcut_base::{Class, Op, Time};

impl<B: Block> Log<B> {
    /// Starts making the replacements of moved victims durable, once these are three quarters of all, or
    /// nothing else is in progress: drives flush for it, and some do nothing else meanwhile.
    pub(super) fn begin_barrier(&mut self, now: Time, core: &mut Core<B>) {
        let moved = self.collection.count(|job| job.phase == Phase::Moved);
        if moved == 0 || self.collection.commits > 0 {
            return;
        }
        let goes_on = |job: &Job<B>| job.is_moving() && job.held.is_empty();
        if 4 * moved < 3 * self.collection.jobs.len() && !self.is_short && self.collection.count(goes_on) > 0
        {
            return;
        }
        for job in self.collection.jobs.iter_mut().filter(|job| job.phase == Phase::Moved) {
            job.phase = Phase::Barrier;
        }
        self.collection.commits = 2;
        self.commit(now, core, MOVED, Waiter::Collection);
        self.commit(now, core, HOST, Waiter::Collection);
    }

    /// All replacements in one stream are durable.
    pub(in crate::array::log) fn barrier_done(&mut self, now: Time, core: &mut Core<B>) {
        self.collection.commits -= 1;
        if self.collection.commits > 0 {
            return;
        }
        for job in 0..self.collection.jobs.len() {
            if self.collection.jobs[job].phase == Phase::Barrier {
                self.collection.jobs[job].phase = Phase::Read;
                self.trim(now, core, job);
            }
        }
    }

    /// Trims a victim once no reads of it are in flight. After a failure the copies of its blocks may not be
    /// durable: it stays as it is, and so does the job.
    pub(super) fn trim(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        if self.failed.is_some() {
            return;
        }
        let row = self.collection.jobs[job].row;
        if self.rows.get(row).readers > 0 && holds(Invariant::ReadersKeepRows) {
            return;
        }
        self.collection.jobs[job].phase = Phase::Trimming(self.geometry.width);
        let token = Token::Trimmed { job: to_u8(job) };
        for column in self.geometry.columns() {
            let drive = self.geometry.drive(row, column);
            let class = Class::new(5).expect("a class");
            let (block, blocks) = (self.geometry.address(row), self.geometry.segment);
            let (op, data) = (Op::Trim, Vec::new());
            let ask =
                Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
            core.drives.ask(now, drive, Priority::Background, Owner::Layout(token.into()), ask);
        }
    }

    /// A drive has trimmed its part of a victim.
    pub(in crate::array::log) fn trimmed(&mut self, job: usize) {
        let Phase::Trimming(left) = &mut self.collection.jobs[job].phase else {
            unreachable!("it waits for them")
        };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let this = &mut self.collection.jobs[job];
        this.phase = Phase::Idle;
        let (row, valid, gain) = (this.row, this.valid, u64::from(this.gain));
        self.rows.release(row);
        if valid == 0 {
            self.earn(gain * PARTS);
        }
        self.figures.rows_collected += 1;
        self.figures.victim_blocks += u64::from(valid);
        let free_rows = self.geometry.group_ids().map(|group| self.rows.free(group)).sum();
        if self.recent.len() < RECENT_MAX {
            self.recent.push(Collected { row, valid, free_rows });
        }
    }
}
