//! The valid blocks of a victim, as listed in its readable summaries.

use super::job::Phase;
use crate::Block;
use crate::array::Column;
use crate::array::core::Core;
use crate::array::drives::Priority;
use crate::array::log::Log;
use crate::array::log::descriptor::Summary;
use crate::array::log::geometry::Row;
use crate::array::log::open_row::NO_BLOCK;
use crate::array::log::token::Token;
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen};
use std::ops::Range;
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::{Class, Time};

impl<B: Block> Log<B> {
    pub(super) fn read_summaries(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let row = self.collection.jobs[job].row;
        if !self.rows.get(row).has_summary {
            self.look_up(job);
            self.collection.jobs[job].phase = Phase::Moving;
            return;
        }
        self.collection.jobs[job].phase = Phase::Summaries(self.geometry.data);
        for k in 0..self.geometry.data {
            let stripe = self.geometry.segment - 1;
            let token = Token::Summary { job: to_u8(job), k: to_u8(k) };
            let column = self.geometry.data_column(row, k);
            self.read(now, core, (row, column, stripe..stripe + 1), token);
        }
    }

    /// Reads blocks of a row for internal work of the log.
    pub(super) fn read(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (row, column, stripes): (Row, Column, Range<u32>),
        token: Token,
    ) {
        self.rows.get_mut(row).readers += 1;
        let wanted = BlockRead {
            drive: self.geometry.drive(row, column),
            block: self.geometry.address(row) + u64::from(stripes.start),
            blocks: to_u32(stripes.len()),
            age: self.age(self.rows.get(row).age),
            unwritten: false,
            class: Class::new(5).expect("a class"),
            urgency: if self.is_short { Priority::Write } else { Priority::Background },
            around: if self.has_tokens { ReconstructWhen::InTurn } else { ReconstructWhen::AtNeed },
            token: token.into(),
        };
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// The read of the summary of a data column of a victim has completed, successfully or not.
    pub(in crate::array::log) fn summary_read(&mut self, job: usize, k: u32, done: &ReadResult<B>) {
        let array = self.array;
        let row = self.collection.jobs[job].row;
        self.rows.get_mut(row).readers -= 1;
        let age = self.rows.get(row).age;
        let data = self.geometry.data as usize;
        let this = &mut self.collection.jobs[job];
        let Phase::Summaries(left) = &mut this.phase else { unreachable!("it waits for them") };
        *left -= 1;
        let is_last = *left == 0;
        let summary = done.data.first().and_then(Block::decode).and_then(Summary::decode);
        match summary {
            Some(s) if s.array == array && (s.here.row, s.here.age, s.data_column) == (row, age, k) => {
                let positions = this.blocks.iter_mut().skip(k as usize).step_by(data);
                positions.zip(s.blocks).for_each(|(position, block)| *position = block);
            }
            _ => this.is_blind = true,
        }
        if is_last {
            if self.collection.jobs[job].is_blind {
                self.figures.rows_without_summary += 1;
                self.look_up(job);
            }
            self.collection.jobs[job].phase = Phase::Moving;
        }
    }

    /// Finds the blocks of a victim without its summaries: from memory in an array without superblocks,
    /// otherwise by a scan of the map, which is rare.
    pub(super) fn look_up(&mut self, job: usize) {
        let this = &mut self.collection.jobs[job];
        let row = this.row;
        if let Some(reverse) = &self.reverse {
            for (position, block) in (0..).zip(&mut this.blocks) {
                *block = reverse.raw(self.geometry.place(row, position).0).get();
            }
            return;
        }
        for block in 0..self.geometry.host_blocks {
            let Some(place) = self.map.get(block) else { continue };
            let (found, column, stripe) = self.geometry.locate(place);
            if found == row {
                this.blocks[self.geometry.position_of(row, column, stripe) as usize] = block + 1;
            }
        }
    }

    /// The next contiguous valid blocks, at most `longest`: data column, and stripes.
    pub(super) fn next_valid(&mut self, job: usize, longest: u32) -> Option<(u32, Range<u32>)> {
        let (data, stripes) = (self.geometry.data, self.geometry.stripes());
        for _ in 0..data {
            let k = self.collection.jobs[job].turn;
            self.collection.jobs[job].turn = (k + 1) % data;
            let mut stripe = self.collection.jobs[job].stripes[k as usize];
            while stripe < stripes && !self.is_valid(job, stripe * data + k) {
                stripe += 1;
            }
            let first = stripe;
            while stripe < stripes && stripe - first < longest && self.is_valid(job, stripe * data + k) {
                stripe += 1;
            }
            self.collection.jobs[job].stripes[k as usize] = stripe;
            if stripe > first {
                return Some((k, first..stripe));
            }
        }
        None
    }

    /// True if the map still points to a position of a victim.
    fn is_valid(&self, job: usize, position: u32) -> bool {
        let this = &self.collection.jobs[job];
        let block = this.blocks[position as usize];
        block != NO_BLOCK
            && block <= self.geometry.host_blocks
            && self.map.get(block - 1) == Some(self.geometry.place(this.row, position))
    }
}
