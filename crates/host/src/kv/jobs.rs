//! Requests that are with the disk, and those that wait for it.

use crate::block::Bytes;
use crate::disk::{Disk, Mirror, Request};
use std::collections::VecDeque;
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Op, id};

id! {
    /// A job whose disk request is queued or in flight.
    struct JobId;
}

/// What becomes of an answer is in a job of kind `J`.
#[derive(Debug)]
pub struct Jobs<J> {
    jobs: Slab<JobId, J>,
    depth: usize,
    most_blocks: u32,
    copies: u8,
    /// What users wait for.
    urgent: VecDeque<Request<Bytes>>,
    /// What nobody waits for.
    later: VecDeque<Request<Bytes>>,
    under_way: usize,
    /// Urgent requests that went before others.
    in_a_row: u32,
}

/// Whether somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// A user.
    Urgent,
    /// Nobody.
    Later,
}

impl<J> Jobs<J> {
    /// For a disk.
    pub fn new(disk: &Disk) -> Jobs<J> {
        Jobs {
            jobs: Slab::new(),
            depth: disk.depth as usize,
            most_blocks: disk.most_blocks,
            copies: disk.copies,
            urgent: VecDeque::new(),
            later: VecDeque::new(),
            under_way: 0,
            in_a_row: 0,
        }
    }

    /// The most blocks of one request.
    pub fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// See [`Disk::copies`]; 0 where there is only one, which need not be read again.
    pub fn copies(&self) -> u8 {
        if self.copies > 1 { self.copies } else { 0 }
    }

    /// A read of at most [`Jobs::most_blocks`] blocks into the memory of `list`.
    pub fn read(&mut self, job: J, haste: Haste, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.add(job, haste, Op::Read, block, blocks, list);
    }

    /// The same of a certain copy.
    pub fn read_copy(
        &mut self,
        job: J,
        haste: Haste,
        block: u64,
        blocks: u32,
        (list, mirror): (Vec<Bytes>, Mirror),
    ) {
        self.add(job, haste, Op::Read, block, blocks, list);
        let queue = if haste == Haste::Urgent { &mut self.urgent } else { &mut self.later };
        queue.iter_mut().next_back().expect("it was added").mirror = mirror;
    }

    /// These blocks are what a copy has: the others are to have the same. Nobody waits for that.
    pub fn repair(&mut self, job: J, copy: u8, block: u64, data: Vec<Bytes>) {
        let blocks = data.len() as u32;
        self.read_copy(job, Haste::Later, block, blocks, (data, Mirror::Repair(copy)));
    }

    /// A write.
    pub fn write(&mut self, job: J, haste: Haste, block: u64, data: Vec<Bytes>) {
        self.add(job, haste, Op::Write, block, data.len() as u32, data);
    }

    /// A flush.
    pub fn flush(&mut self, job: J, haste: Haste) {
        self.add(job, haste, Op::Flush, 0, 0, Vec::new());
    }

    fn add(&mut self, job: J, haste: Haste, op: Op, block: u64, blocks: u32, data: Vec<Bytes>) {
        debug_assert!(blocks <= self.most_blocks);
        let id = self.jobs.insert(job).get();
        let class = if haste == Haste::Urgent { Class::DEFAULT } else { BACKGROUND };
        let request =
            Request { id, op, fua: false, class, fail_fast: false, mirror: Mirror::Any, block, blocks, data };
        match haste {
            Haste::Urgent => self.urgent.push_back(request),
            Haste::Later => self.later.push_back(request),
        }
    }

    /// The next request, as long as the disk takes one. The last places of its queue are for users.
    pub fn next(&mut self) -> Option<Request<Bytes>> {
        let room = self.depth - self.under_way;
        if room == 0 {
            return None;
        }
        let takes_later = !self.later.is_empty() && room > self.depth.min(FOR_USERS * 2) / 2;
        let is_turn = self.urgent.is_empty() || self.in_a_row >= MOST_IN_A_ROW;
        let request = match takes_later && is_turn {
            true => self.later.pop_front(),
            false => self.urgent.pop_front(),
        }?;
        self.in_a_row = if takes_later && !is_turn { self.in_a_row + 1 } else { 0 };
        self.under_way += 1;
        Some(request)
    }

    /// What a request is for that is with the disk.
    pub fn job(&self, id: u32) -> Option<&J> {
        self.jobs.get(JobId::new(id))
    }

    /// What is to become of the answer to a request.
    pub fn end(&mut self, id: u32) -> J {
        self.under_way -= 1;
        self.jobs.try_remove(JobId::new(id)).expect("the disk answers what it was asked")
    }

    /// True when the disk is asked for nothing.
    pub fn is_quiet(&self) -> bool {
        self.under_way == 0
    }

    /// True when the disk is asked for nothing and nothing waits for it.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.urgent.is_empty() && self.later.is_empty()
    }
}

/// Requests that nobody waits for leave so many places of the queue free.
const FOR_USERS: usize = 4;

/// After so many that go before them it is their turn, or writes would pile up.
const MOST_IN_A_ROW: u32 = 8;

/// The last of the classes of a user.
const BACKGROUND: Class = match Class::new(5) {
    Some(class) => class,
    None => panic!("classes are 1 to 5"),
};
