//! Collection: what is valid in a row is moved, and the row is trimmed as a whole (SWAN, sections 3.4
//! and 4.2).
//!
//! Several victims are under way: the first are being read while what was in others is appended, and while
//! that of others becomes durable. One barrier serves all victims that have been moved when it begins.

use super::Log;
use super::commit::Waiter;
use super::descriptor::Summary;
use super::figures::{Collected, RECENT_MAX};
use super::geometry::{JOBS_ALWAYS, Place, RESERVE, Row};
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
    /// It waits for the next barrier.
    Moved,
    /// It waits for the one under way.
    Barrier,
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
    /// Of those, what has not been moved.
    left: u32,
    /// Blocks of it cannot be read.
    is_stuck: bool,
}

/// What is being collected.
#[derive(Debug)]
pub struct Collection<B> {
    jobs: Vec<Job<B>>,
    /// Valid blocks that have not been moved, of all victims.
    left: u64,
    /// Reads of valid blocks in flight.
    reads: u32,
    /// Commits of the barrier that have not ended.
    commits: u32,
}

impl<B: Block> Collection<B> {
    /// Nothing, of at most so many victims at a time.
    pub fn new(victims: u32) -> Collection<B> {
        let jobs = (0..victims).map(|_| Job::idle()).collect();
        Collection { jobs, left: 0, reads: 0, commits: 0 }
    }

    /// True when this row is being collected.
    pub fn holds(&self, row: Row) -> bool {
        self.jobs.iter().any(|job| !job.is_idle() && job.row == row)
    }

    /// True while some victim has not been moved.
    pub fn is_moving(&self) -> bool {
        self.jobs.iter().any(Job::is_moving)
    }

    /// Valid blocks that have not been moved, of all victims.
    pub fn left(&self) -> u64 {
        self.left
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
            left: 0,
            is_stuck: false,
        }
    }

    /// True when it has no victim.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Summaries(_) | Phase::Moving)
    }
}

/// The most blocks of one read of collection.
const RUN_MAX: u32 = 32;

/// Rows of moved blocks that may wait to be wholly on the drives.
const CLOSING_MAX: usize = 2;

impl<B: Block> Log<B> {
    /// True when something is being collected.
    pub(super) fn is_collecting(&self) -> bool {
        self.collection.count(|job| !job.is_idle()) > 0
    }

    /// True when something of the group is being collected.
    pub(super) fn is_busy(&self, group: u32) -> bool {
        self.collection.count(|job| !job.is_idle() && self.geometry.group_of(job.row) == group) > 0
    }

    /// Goes on with collection, as far as that is possible now.
    pub(super) fn collect(&mut self, now: Time, core: &mut Core<B>) {
        if self.failed.is_some() {
            return;
        }
        for job in 0..self.collection.jobs.len() {
            if self.collection.jobs[job].phase == Phase::Moving {
                self.go_on(now, core, job);
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
        if self.geometry.group_of(self.open_row(MOVED).here.row) != group
            && (self.collection.is_moving() || !self.hop(now, core, group))
        {
            return false;
        }
        let Some(row) = self.rows.victim(group, self.geometry.user_positions()) else {
            return false;
        };
        let valid = self.rows.get(row).valid;
        let (data, positions) = (self.geometry.data, self.geometry.positions());
        let this = &mut self.collection.jobs[job];
        (this.row, this.valid, this.gain, this.left) = (row, valid, positions - valid, valid);
        (this.turn, this.reads, this.is_blind, this.is_stuck) = (0, 0, false, false);
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
            self.go_on(now, core, job);
        }
        true
    }

    /// True when one more victim leaves the room that those under way need.
    fn has_room_to_collect(&self, group: u32) -> bool {
        let moving = self.collection.count(Job::is_moving) as u32;
        if moving < JOBS_ALWAYS {
            return true;
        }
        let candidate = self.rows.candidate(group).map_or(0, |row| self.rows.get(row).valid);
        self.rows.free(group) > RESERVE + self.claimed_rows(candidate)
    }

    /// Rows that the victims under way need, with one more of so many valid blocks.
    pub(super) fn claimed_rows(&self, more: u32) -> u32 {
        let blocks = self.collection.left() + u64::from(more);
        let rows = blocks.div_ceil(u64::from(self.geometry.user_positions())) as u32;
        rows.saturating_sub(JOBS_ALWAYS)
    }

    fn read_summaries(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let row = self.collection.jobs[job].row;
        if !self.rows.get(row).has_summary {
            self.look_up(job);
            self.collection.jobs[job].phase = Phase::Moving;
            return;
        }
        self.collection.jobs[job].phase = Phase::Summaries(self.geometry.data);
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
            Some(s) if s.array == array && (s.here.row, s.here.age, s.member) == (row, age, k) => {
                let positions = this.blocks.iter_mut().skip(k as usize).step_by(data);
                positions.zip(s.blocks).for_each(|(position, block)| *position = block);
            }
            _ => this.is_blind = true,
        }
        if is_last {
            if self.collection.jobs[job].is_blind {
                self.look_up(job);
            }
            self.collection.jobs[job].phase = Phase::Moving;
        }
    }

    /// Finds out what is in a victim without its summaries: where the array keeps nothing that could
    /// be read, from memory; otherwise by a walk through the map, which is rare.
    fn look_up(&mut self, job: usize) {
        let this = &mut self.collection.jobs[job];
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
        let all = core.config.log.collect_depth * self.geometry.width;
        // Each victim has its share: two of them lie on other chips than one.
        let most = all.div_ceil(self.collection.count(Job::is_moving).max(1) as u32);
        let longest = RUN_MAX.min(core.drives.most_blocks());
        let has_room =
            self.collection.jobs[job].held.is_empty() && self.streams[MOVED].closing.len() <= CLOSING_MAX;
        while has_room && self.collection.reads < all && self.collection.jobs[job].reads < most {
            let Some((k, stripe, blocks)) = self.next_valid(job, longest) else { break };
            self.collection.jobs[job].reads += 1;
            self.collection.reads += 1;
            let row = self.collection.jobs[job].row;
            let member = self.geometry.data_member(row, k);
            self.read(now, core, (row, member, stripe, blocks), Token::Valid { job: job as u8 });
        }
        let stripes = self.geometry.stripes();
        let this = &self.collection.jobs[job];
        if this.reads == 0 && this.held.is_empty() && this.stripes.iter().all(|&stripe| stripe == stripes) {
            self.all_moved(now, core, job);
        }
    }

    /// The next valid blocks that lie together, at most `longest`: data member, first stripe, number.
    fn next_valid(&mut self, job: usize, longest: u32) -> Option<(u32, u32, u32)> {
        let (data, stripes) = (self.geometry.data, self.geometry.stripes());
        for _ in 0..data {
            let k = self.collection.jobs[job].turn;
            self.collection.jobs[job].turn = (k + 1) % data;
            let mut stripe = self.collection.jobs[job].stripes[k as usize];
            while stripe < stripes && !self.is_valid(job, k, stripe) {
                stripe += 1;
            }
            let first = stripe;
            while stripe < stripes && stripe - first < longest && self.is_valid(job, k, stripe) {
                stripe += 1;
            }
            self.collection.jobs[job].stripes[k as usize] = stripe;
            if stripe > first {
                return Some((k, first, stripe - first));
            }
        }
        None
    }

    fn is_valid(&self, job: usize, k: u32, stripe: u32) -> bool {
        let this = &self.collection.jobs[job];
        let position = stripe * self.geometry.data + k;
        let block = this.blocks[position as usize];
        block != NO_BLOCK
            && block <= self.geometry.host_blocks
            && self.map.get(block - 1) == Some(self.geometry.place(this.row, position))
    }

    /// Blocks of a victim have been read, or cannot be.
    pub(super) fn valid_read(&mut self, now: Time, core: &mut Core<B>, job: usize, done: &mut Done<B>) {
        let this = &mut self.collection.jobs[job];
        let row = this.row;
        this.reads -= 1;
        self.collection.reads -= 1;
        self.rows.get_mut(row).readers -= 1;
        if done.status != Status::Success {
            self.collection.jobs[job].is_stuck = true;
            return self.go_on(now, core, job);
        }
        let first = (done.wanted.block - self.geometry.address(row)) as u32;
        let member = done.wanted.drive as u32 % self.geometry.width;
        let k = member - u32::from(self.geometry.parity(row).is_some_and(|parity| parity < member));
        for (stripe, content) in (first..).zip(done.data.drain(..)) {
            let block = self.collection.jobs[job].blocks[(stripe * self.geometry.data + k) as usize] - 1;
            let source = self.geometry.place_of(row, member, stripe);
            self.collection.jobs[job].held.push_back((block, source, content));
        }
        self.go_on(now, core, job);
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
                self.append(MOVED, block, content, Some(source), NOBODY);
                self.figures.moved_blocks += 1;
            }
        }
        if moved > 0 {
            self.collection.spend(job, moved as u32);
            self.earn(gain, moved, valid);
            self.send(now, core, MOVED);
        }
    }

    fn all_moved(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        // What was overwritten meanwhile did not have to be moved.
        self.collection.spend(job, u32::MAX);
        if self.collection.jobs[job].is_stuck {
            // The row stays as it is: what can be read of it still can.
            self.collection.jobs[job].phase = Phase::Idle;
            self.figures.rows_stuck += 1;
            return;
        }
        if !holds(Rule::BarrierBeforeTrim) {
            self.collection.jobs[job].phase = Phase::Read;
            return self.trim(now, core, job);
        }
        self.collection.jobs[job].phase = Phase::Moved;
    }

    /// Makes durable what replaces the blocks of the victims that have been moved, when they are a
    /// quarter of all or nothing else goes on.
    fn begin_barrier(&mut self, now: Time, core: &mut Core<B>) {
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

    /// Everything that replaces blocks of victims in one stream is durable.
    pub(super) fn barrier_done(&mut self, now: Time, core: &mut Core<B>) {
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

    /// Trims a victim when nobody reads it any more.
    fn trim(&mut self, now: Time, core: &mut Core<B>, job: usize) {
        let row = self.collection.jobs[job].row;
        if self.rows.get(row).readers > 0 && holds(Rule::ReadersKeepRows) {
            return;
        }
        self.collection.jobs[job].phase = Phase::Trimming(self.geometry.width);
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
