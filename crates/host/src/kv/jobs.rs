//! Disk requests, queued and in flight.

use crate::block::Bytes;
use crate::disk::{Disk, Mirror, Request};
use crate::placement::WriteKind;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Op, id};

id! {
    /// A job whose disk request is queued or in flight.
    struct JobId;
}

/// Disk requests; each has a job of type `J` that identifies its purpose.
#[derive(Debug)]
pub(super) struct Jobs<J> {
    jobs: Slab<JobId, J>,
    depth: usize,
    most_blocks: u32,
    copies: u8,
    handles: u32,
    /// Requests that users wait for.
    urgent: VecDeque<Request<Bytes>>,
    /// Background requests.
    later: VecDeque<Request<Bytes>>,
    under_way: usize,
    /// Urgent requests issued in a row while background ones waited.
    in_a_row: u32,
}

/// Priority of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// A user waits for it.
    Urgent,
    /// Background: no user waits for it.
    Later,
}

impl<J> Jobs<J> {
    /// An empty queue for a disk.
    pub(super) fn new(disk: &Disk) -> Jobs<J> {
        Jobs {
            jobs: Slab::new(),
            depth: disk.depth as usize,
            most_blocks: disk.most_blocks,
            copies: disk.copies,
            handles: disk.handles,
            urgent: VecDeque::new(),
            later: VecDeque::new(),
            under_way: 0,
            in_a_row: 0,
        }
    }

    /// Largest number of blocks per request.
    pub(super) fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// See [`Disk::copies`]; 0 if there is only one copy, which is not worth a second read.
    pub(super) fn copies(&self) -> u8 {
        if self.copies > 1 { self.copies } else { 0 }
    }

    /// Queues a read of at most [`Jobs::most_blocks`] blocks into the memory of `list`.
    pub(super) fn read(&mut self, job: J, haste: Haste, block: u64, blocks: u32, list: Vec<Bytes>) {
        self.add(job, haste, Op::Read, block, blocks, list);
    }

    /// Queues a read from the given copy.
    pub(super) fn read_copy(
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

    /// Queues a background repair: overwrites the other copies with `data`, which is right on copy `copy`.
    pub(super) fn repair(&mut self, job: J, copy: u8, block: u64, data: Vec<Bytes>) {
        let blocks = to_u32(data.len());
        self.read_copy(job, Haste::Later, block, blocks, (data, Mirror::Repair(copy)));
    }

    /// Queues a write of data of this kind, to be placed by the handle of it.
    pub(super) fn write(&mut self, job: J, haste: Haste, kind: WriteKind, block: u64, data: Vec<Bytes>) {
        self.add(job, haste, Op::Write, block, to_u32(data.len()), data);
        let queue = if haste == Haste::Urgent { &mut self.urgent } else { &mut self.later };
        queue.iter_mut().next_back().expect("it was added").handle = kind.handle(self.handles);
    }

    /// Queues a flush.
    pub(super) fn flush(&mut self, job: J, haste: Haste) {
        self.add(job, haste, Op::Flush, 0, 0, Vec::new());
    }

    fn add(&mut self, job: J, haste: Haste, op: Op, block: u64, blocks: u32, data: Vec<Bytes>) {
        debug_assert!(blocks <= self.most_blocks);
        let id = self.jobs.insert(job).get();
        let class = if haste == Haste::Urgent { Class::DEFAULT } else { BACKGROUND };
        let request = Request {
            id,
            op,
            fua: false,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        match haste {
            Haste::Urgent => self.urgent.push_back(request),
            Haste::Later => self.later.push_back(request),
        }
    }

    /// The next request to submit, if the disk's queue has room. The last slots of the queue are for users.
    pub(super) fn next(&mut self) -> Option<Request<Bytes>> {
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

    /// The job of a request in flight.
    pub(super) fn job(&self, id: u32) -> Option<&J> {
        self.jobs.get(JobId::new(id))
    }

    /// Removes a completed request and returns its job.
    pub(super) fn end(&mut self, id: u32) -> J {
        self.under_way -= 1;
        self.jobs.try_remove(JobId::new(id)).expect("the disk answers what it was asked")
    }

    /// True if no request is in flight.
    pub(super) fn is_quiet(&self) -> bool {
        self.under_way == 0
    }

    /// True if no request is queued or in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.urgent.is_empty() && self.later.is_empty()
    }
}

/// Queue slots that background requests leave free for users.
const FOR_USERS: usize = 4;

/// After this many urgent requests in a row a background one is issued, so that writes do not pile up.
const MOST_IN_A_ROW: u32 = 8;

/// The lowest of the user's classes.
const BACKGROUND: Class = match Class::new(5) {
    Some(class) => class,
    None => panic!("classes are 1 to 5"),
};
