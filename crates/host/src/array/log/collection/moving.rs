//! Moves the valid blocks of a victim: they are read and appended to a separate stream.

use super::job::{Job, Phase};
use crate::Block;
use crate::array::core::Core;
use crate::array::log::Log;
use crate::array::log::open_row::NO_BLOCK;
use crate::array::log::space::PARTS;
use crate::array::log::stream::MOVED;
use crate::array::log::token::Token;
use crate::array::reads::ReadResult;
use crate::mutation::{Invariant, holds};
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::{Status, Time};

/// Largest number of blocks per read of collection.
const RUN_MAX: u32 = 32;

impl<B: Block> Log<B> {
    /// Reads the remaining valid blocks, and ends when all have been moved.
    pub(super) fn resume(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        self.move_held(now, core, job);
        let all = core.config.log.collect_depth * self.geometry.width;
        // Each victim has its share: two of them use more dies than one.
        let most = all.div_ceil(to_u32(self.collection.count(Job::is_moving).max(1)));
        let longest = RUN_MAX.min(core.drives.most_blocks());
        let has_room = self.collection.jobs[job].held.is_empty() && self.has_room_to_move(core);
        while has_room && self.collection.reads < all && self.collection.jobs[job].reads < most {
            let Some((k, stripes)) = self.next_valid(job, longest) else { break };
            self.collection.jobs[job].reads += 1;
            self.collection.reads += 1;
            let row = self.collection.jobs[job].row;
            let column = self.geometry.data_column(row, k);
            self.read(now, core, (row, column, stripes), Token::Valid { job: to_u8(job) });
        }
        let stripes = self.geometry.stripes();
        let this = &self.collection.jobs[job];
        if this.reads == 0 && this.held.is_empty() && this.stripes.iter().all(|&stripe| stripe == stripes) {
            self.all_moved(now, core, job);
        }
    }

    /// The read of blocks of a victim has completed, successfully or not.
    pub(in crate::array::log) fn valid_read(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        job: usize,
        done: &mut ReadResult<B>,
    ) {
        let this = &mut self.collection.jobs[job];
        let row = this.row;
        this.reads -= 1;
        self.collection.reads -= 1;
        self.rows.get_mut(row).readers -= 1;
        if done.status != Status::Success {
            self.collection.jobs[job].is_stuck = true;
            return self.resume(now, core, job);
        }
        let first = to_u32(done.wanted.block - self.geometry.address(row));
        let (_, column) = self.geometry.column_of(done.wanted.drive);
        for (stripe, content) in (first..).zip(done.data.drain(..)) {
            let block =
                self.collection.jobs[job].blocks[self.geometry.position_of(row, column, stripe) as usize] - 1;
            let source = self.geometry.place_of(row, column, stripe);
            self.collection.jobs[job].held.push_back((block, source, content));
        }
        self.resume(now, core, job);
    }

    fn move_held(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let (gain, valid) =
            (u64::from(self.collection.jobs[job].gain), u64::from(self.collection.jobs[job].valid));
        let mut moved = 0;
        while let Some(&(block, source, _)) = self.collection.jobs[job].held.front() {
            let is_valid = self.map.get(block) == Some(source);
            if is_valid && !self.make_room(now, core, MOVED) {
                break;
            }
            let (_, _, content) = self.collection.jobs[job].held.pop_front().expect("it is there");
            moved += 1;
            if is_valid {
                self.append(core, MOVED, block, content, Some(source), None);
                self.figures.moved_blocks += 1;
            }
        }
        if moved > 0 {
            self.collection.spend(job, to_u32(moved));
            self.earn(gain * moved * PARTS / valid.max(1));
            self.send(now, core, MOVED);
        }
    }

    /// A victim has valid blocks that its summaries do not list: these, or the map, were wrong when they were
    /// written. Looks them up in the map; false if that finds nothing new, and the row is stuck.
    #[cold]
    fn look_again(&mut self, job: usize) -> bool {
        let valid = self.rows.get(self.collection.jobs[job].row).valid;
        let this = &mut self.collection.jobs[job];
        if this.is_stuck || valid >= this.unnamed {
            this.is_stuck = true;
            return false;
        }
        this.unnamed = valid;
        this.stripes.fill(0);
        this.blocks.fill(NO_BLOCK);
        self.look_up(job);
        true
    }

    fn all_moved(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        // Blocks overwritten meanwhile need no move.
        self.collection.spend(job, u32::MAX);
        if self.rows.get(self.collection.jobs[job].row).valid > 0 && self.look_again(job) {
            return self.resume(now, core, job);
        }
        if self.collection.jobs[job].is_stuck {
            // The row stays as it is: its readable blocks remain readable.
            self.collection.jobs[job].phase = Phase::Idle;
            self.figures.rows_stuck += 1;
            return;
        }
        if !holds(Invariant::BarrierBeforeTrim) {
            self.collection.jobs[job].phase = Phase::Read;
            return self.trim(now, core, job);
        }
        self.collection.jobs[job].phase = Phase::Moved;
    }
}
