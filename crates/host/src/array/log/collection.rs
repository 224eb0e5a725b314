//! Collection: what is valid in a row is moved, and the row is trimmed as a whole (SWAN, sections 3.4
//! and 4.2).

use super::Log;
use super::commit::Waiter;
use super::descriptor::Summary;
use super::figures::{Collected, RECENT_MAX};
use super::geometry::{JOBS, Place, Row};
use super::open_row::{NO_BLOCK, NOBODY};
use super::stream::{HOST, MOVED};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Urgency};
use crate::array::reads::{Around, Done, Wanted};
use crate::planted::{Rule, holds};
use std::collections::VecDeque;
use tailcut_base::{Class, Op, Status, Time};

/// How far the collection of a victim has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// So many summaries have not been read.
    Summaries(u32),
    Moving,
    /// So many commits have not ended.
    Barrier(u32),
    /// Somebody reads it still.
    Read,
    /// So many trims have not ended.
    Trimming(u32),
}

/// The collection of a victim.
#[derive(Debug)]
pub struct Job<B> {
    /// The victim.
    pub row: Row,
    phase: Phase,
    /// The block of the host at each position plus 1.
    blocks: Vec<u64>,
    /// A summary could not be read.
    is_blind: bool,
    /// The next stripe to look at on each data member, and the member whose turn it is.
    stripes: Vec<u32>,
    turn: u32,
    reads: u32,
    /// What has been read and finds no room.
    held: VecDeque<(u64, Place, B)>,
    /// Valid blocks when it was chosen, and what it frees.
    valid: u32,
    gain: u32,
    /// Blocks of it cannot be read.
    is_stuck: bool,
}

impl<B: Block> Job<B> {
    /// Nothing to do.
    pub fn idle() -> Job<B> {
        Job {
            row: 0,
            phase: Phase::Idle,
            blocks: Vec::new(),
            is_blind: false,
            stripes: Vec::new(),
            turn: 0,
            reads: 0,
            held: VecDeque::new(),
            valid: 0,
            gain: 0,
            is_stuck: false,
        }
    }

    /// True when it has no victim.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }
}

/// The most blocks of one read of collection.
const RUN_MAX: u32 = 32;

/// Rows of moved blocks that may wait to be wholly on the drives.
const CLOSING_MAX: usize = 2;

impl<B: Block> Log<B> {
    /// True when something is being collected.
    pub(super) fn is_collecting(&self) -> bool {
        self.jobs.iter().any(|job| !job.is_idle())
    }

    /// True when something of the group is being collected.
    pub(super) fn is_busy(&self, group: u32) -> bool {
        self.jobs.iter().any(|job| !job.is_idle() && self.geometry.group_of(job.row) == group)
    }

    /// Goes on with collection, as far as that is possible now.
    pub(super) fn collect(&mut self, now: Time, core: &mut Core<B>) {
        if self.failed.is_some() {
            return;
        }
        for job in 0..JOBS {
            if self.jobs[job].is_idle() {
                self.begin_job(now, core, job);
            }
            if self.jobs[job].phase == Phase::Moving {
                self.go_on(now, core, job);
            }
            if self.jobs[job].phase == Phase::Read {
                self.trim(now, core, job);
            }
        }
    }

    fn begin_job(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let Some(group) = self.group_to_collect() else { return };
        let others = self.jobs.iter().any(|job| !job.is_idle());
        if self.geometry.group_of(self.open_row(MOVED).here.row) != group
            && (others || !self.hop(now, core, group))
        {
            return;
        }
        let Some(row) = self.rows.victim(group, self.geometry.user_positions()) else { return };
        let valid = self.rows.get(row).valid;
        let (data, positions) = (self.geometry.data, self.geometry.positions());
        let this = &mut self.jobs[job];
        (this.row, this.valid, this.gain) = (row, valid, positions - valid);
        (this.turn, this.reads, this.is_blind, this.is_stuck) = (0, 0, false, false);
        this.stripes.clear();
        this.stripes.resize(data as usize, 0);
        this.blocks.clear();
        this.blocks.resize(positions as usize, NO_BLOCK);
        if valid == 0 {
            self.jobs[job].phase = Phase::Moving;
        } else {
            self.read_summaries(now, core, job);
        }
    }

    fn read_summaries(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let row = self.jobs[job].row;
        if !self.rows.get(row).has_summary {
            self.look_up(job);
            self.jobs[job].phase = Phase::Moving;
            return;
        }
        self.jobs[job].phase = Phase::Summaries(self.geometry.data);
        for k in 0..self.geometry.data {
            let stripe = self.geometry.segment - 1;
            let token = Token::Summary { job: job as u8, k: k as u8 };
            let member = self.geometry.data_member(row, k);
            self.read(now, core, (row, member, stripe, 1), token);
        }
    }

    /// Reads blocks of a row for work of the log's own.
    fn read(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (row, member, stripe, blocks): (Row, u32, u32, u32),
        token: Token,
    ) {
        self.rows.get_mut(row).readers += 1;
        let wanted = Wanted {
            drive: self.geometry.drive(row, member),
            block: self.geometry.address(row) + u64::from(stripe),
            blocks,
            age: self.age(self.rows.get(row).age),
            unwritten: false,
            class: Class::new(5).expect("a class"),
            urgency: if self.is_short { Urgency::Write } else { Urgency::Background },
            around: Around::AtNeed,
            token: token.into(),
        };
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// The summary of a data member of a victim has been read, or cannot be.
    pub(super) fn summary_read(&mut self, job: usize, k: u32, done: &Done<B>) {
        let array = self.array;
        let row = self.jobs[job].row;
        self.rows.get_mut(row).readers -= 1;
        let age = self.rows.get(row).age;
        let data = self.geometry.data as usize;
        let this = &mut self.jobs[job];
        let Phase::Summaries(left) = &mut this.phase else { unreachable!("it waits for them") };
        *left -= 1;
        let is_last = *left == 0;
        let summary = done.data.first().and_then(Block::decode).and_then(Summary::decode);
        match summary {
            Some(s) if s.array == array && (s.here.row, s.here.age, s.member) == (row, age, k) => {
                let positions = this.blocks.iter_mut().skip(k as usize).step_by(data);
                positions.zip(s.blocks).for_each(|(position, block)| *position = block);
            }
            _ => this.is_blind = true,
        }
        if is_last {
            if self.jobs[job].is_blind {
                self.look_up(job);
            }
            self.jobs[job].phase = Phase::Moving;
        }
    }

    /// Finds out what is in a victim without its summaries: where the array keeps nothing that could
    /// be read, from memory; otherwise by a walk through the map, which is rare.
    fn look_up(&mut self, job: usize) {
        let this = &mut self.jobs[job];
        let row = this.row;
        if let Some(reverse) = &self.reverse {
            for (position, block) in (0..).zip(&mut this.blocks) {
                *block = reverse.raw(self.geometry.place(row, position).0);
            }
            return;
        }
        for block in 0..self.geometry.host_blocks {
            let Some(place) = self.map.get(block) else { continue };
            let (found, member, stripe) = self.geometry.locate(place);
            if found == row {
                let k = member - u32::from(self.geometry.parity(row).is_some_and(|parity| parity < member));
                this.blocks[(stripe * self.geometry.data + k) as usize] = block + 1;
            }
        }
    }

    /// Reads what is valid and has not been read, and ends when everything has been moved.
    fn go_on(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        self.move_held(now, core, job);
        let most = core.config.log.collect_depth;
        let longest = RUN_MAX.min(core.drives.most_blocks());
        let has_room = self.jobs[job].held.is_empty() && self.streams[MOVED].closing.len() <= CLOSING_MAX;
        while has_room && self.jobs[job].reads < most {
            let Some((k, stripe, blocks)) = self.next_valid(job, longest) else { break };
            self.jobs[job].reads += 1;
            let row = self.jobs[job].row;
            let member = self.geometry.data_member(row, k);
            self.read(now, core, (row, member, stripe, blocks), Token::Valid { job: job as u8 });
        }
        let stripes = self.geometry.stripes();
        let this = &self.jobs[job];
        if this.reads == 0 && this.held.is_empty() && this.stripes.iter().all(|&stripe| stripe == stripes) {
            self.all_moved(now, core, job);
        }
    }

    /// The next valid blocks that lie together, at most `longest`: data member, first stripe, number.
    fn next_valid(&mut self, job: usize, longest: u32) -> Option<(u32, u32, u32)> {
        let (data, stripes) = (self.geometry.data, self.geometry.stripes());
        for _ in 0..data {
            let k = self.jobs[job].turn;
            self.jobs[job].turn = (k + 1) % data;
            let mut stripe = self.jobs[job].stripes[k as usize];
            while stripe < stripes && !self.is_valid(job, k, stripe) {
                stripe += 1;
            }
            let first = stripe;
            while stripe < stripes && stripe - first < longest && self.is_valid(job, k, stripe) {
                stripe += 1;
            }
            self.jobs[job].stripes[k as usize] = stripe;
            if stripe > first {
                return Some((k, first, stripe - first));
            }
        }
        None
    }

    fn is_valid(&self, job: usize, k: u32, stripe: u32) -> bool {
        let this = &self.jobs[job];
        let position = stripe * self.geometry.data + k;
        let block = this.blocks[position as usize];
        block != NO_BLOCK
            && block <= self.geometry.host_blocks
            && self.map.get(block - 1) == Some(self.geometry.place(this.row, position))
    }

    /// Blocks of a victim have been read, or cannot be.
    pub(super) fn valid_read(&mut self, now: Time, core: &mut Core<B>, job: usize, done: &mut Done<B>) {
        let this = &mut self.jobs[job];
        let row = this.row;
        this.reads -= 1;
        self.rows.get_mut(row).readers -= 1;
        if done.status != Status::Success {
            self.jobs[job].is_stuck = true;
            return self.go_on(now, core, job);
        }
        let first = (done.wanted.block - self.geometry.address(row)) as u32;
        let member = done.wanted.drive as u32 % self.geometry.width;
        let k = member - u32::from(self.geometry.parity(row).is_some_and(|parity| parity < member));
        for (stripe, content) in (first..).zip(done.data.drain(..)) {
            let block = self.jobs[job].blocks[(stripe * self.geometry.data + k) as usize] - 1;
            let source = self.geometry.place_of(row, member, stripe);
            self.jobs[job].held.push_back((block, source, content));
        }
        self.go_on(now, core, job);
    }

    fn move_held(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let (gain, valid) = (u64::from(self.jobs[job].gain), u64::from(self.jobs[job].valid));
        let mut moved = 0;
        while let Some(&(block, source, _)) = self.jobs[job].held.front() {
            let is_valid = self.map.get(block) == Some(source);
            if is_valid && !self.make_room(now, core, MOVED) {
                break;
            }
            let (_, _, content) = self.jobs[job].held.pop_front().expect("it is there");
            moved += 1;
            if is_valid {
                self.append(MOVED, block, content, Some(source), NOBODY);
                self.figures.moved_blocks += 1;
            }
        }
        if moved > 0 {
            self.earn(gain, moved, valid);
            self.send(now, core, MOVED);
        }
    }

    fn all_moved(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        if self.jobs[job].is_stuck {
            // The row stays as it is: what can be read of it still can.
            self.jobs[job].phase = Phase::Idle;
            self.figures.rows_stuck += 1;
            return;
        }
        if !holds(Rule::BarrierBeforeTrim) {
            self.jobs[job].phase = Phase::Read;
            return self.trim(now, core, job);
        }
        self.jobs[job].phase = Phase::Barrier(2);
        self.commit(now, core, MOVED, Waiter::Job(job));
        self.commit(now, core, HOST, Waiter::Job(job));
    }

    /// Everything that replaces blocks of a victim in one stream is durable.
    pub(super) fn barrier_done(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let Phase::Barrier(left) = &mut self.jobs[job].phase else { unreachable!("it waits for two") };
        *left -= 1;
        if *left == 0 {
            self.jobs[job].phase = Phase::Read;
            self.trim(now, core, job);
        }
    }

    /// Trims a victim when nobody reads it any more.
    fn trim(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let row = self.jobs[job].row;
        if self.rows.get(row).readers > 0 && holds(Rule::ReadersKeepRows) {
            return;
        }
        self.jobs[job].phase = Phase::Trimming(self.geometry.width);
        let token = Token::Trimmed { job: job as u8 };
        for member in 0..self.geometry.width {
            let drive = self.geometry.drive(row, member);
            let class = Class::new(5).expect("a class");
            let (block, blocks) = (self.geometry.address(row), self.geometry.segment);
            let (op, data) = (Op::Trim, Vec::new());
            let ask = Ask { op, fua: false, fail_fast: false, class, block, blocks, data };
            core.drives.ask(now, drive, Urgency::Background, Owner::Layout(token.into()), ask);
        }
    }

    /// A drive has trimmed its part of a victim.
    pub(super) fn trimmed(&mut self, job: usize) {
        let Phase::Trimming(left) = &mut self.jobs[job].phase else { unreachable!("it waits for them") };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let this = &mut self.jobs[job];
        this.phase = Phase::Idle;
        let (row, valid, gain) = (this.row, this.valid, u64::from(this.gain));
        self.rows.release(row);
        if valid == 0 {
            self.earn(gain, 1, 1);
        }
        self.figures.rows_collected += 1;
        self.figures.victim_blocks += u64::from(valid);
        let free_rows = (0..self.geometry.groups).map(|group| self.rows.free(group)).sum();
        if self.recent.len() < RECENT_MAX {
            self.recent.push(Collected { row, valid, free_rows });
        }
    }
}
