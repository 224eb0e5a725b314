//! The host's requests and the answers that are allowed: the checker of content. It knows requests and
//! answers, and nothing about the subject.
//!
//! Each block is a register. A read may return what a write has written that was submitted before the read
//! was answered, unless another write came in between: submitted after the one was answered, and answered
//! before the read was submitted. Requests that were in flight together may have been carried out in either
//! order; but once a read has told the order, it stays. A write that was answered with an error may have
//! happened or not.
//!
//! Of a subject that *keeps order* more is asked than of a disk: requests for one block take effect in
//! the order in which they were submitted, answered or not. So a read returns what the last write before
//! it has written, or a later one, and never an earlier one.
//!
//! A power cut leaves of each block any version that is not older than the last durable one: written with
//! force unit access, or answered before a flush was submitted that was answered. What it has left it has
//! left: reads afterwards agree with each other, also across the next power cut. Trims count as writes of
//! zeros.
//!
//! A *cache* may miss: any block may read as zeros, and be there again. What it does return is as right as
//! that of a disk.

mod reads;
#[cfg(test)]
mod tests;
mod version;

use super::stamp::Stamp;
use std::collections::BTreeSet;
use tailcut_base::Op;
use tailcut_host::{Bytes, Request};
use version::{Version, decide};

/// A moment in the order of submissions and answers.
type Moment = u64;

/// The versions that the host may see.
#[derive(Clone, Debug)]
pub struct History {
    blocks: Vec<Vec<Version>>,
    /// The last version of each block that was durable at a power cut.
    durable: Vec<u32>,
    /// When the requests in flight were submitted.
    in_flight: BTreeSet<Moment>,
    now: Moment,
    versions: u32,
    keeps_order: bool,
    /// A write that is not answered may still fail, of which a part may show already.
    writes_may_fail: bool,
    /// A block may be as it was at any time before.
    may_be_stale: bool,
    /// Anything may be missed at any time.
    may_miss: bool,
}

/// A request of the host in flight.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What the host requested: read, write, trim or flush.
    pub op: Op,
    /// First block of the request, in blocks of the host.
    pub block: u64,
    /// Number of blocks of the request.
    pub blocks: u32,
    fua: bool,
    submitted: Moment,
    /// The version of its first block; the others follow.
    first: u32,
}

/// Additional findings from a correct read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Blocks that a write in flight is about to change.
    pub contested: u64,
    /// Blocks that had been open between versions, and are not any more.
    pub decided: u64,
    /// Blocks of the read that had been trimmed.
    pub trimmed: u64,
    /// Blocks that a cache has missed, or never had.
    pub missed: u64,
}

impl History {
    /// The history of a host with `blocks` blocks, all zeros and durable.
    pub fn new(blocks: u64) -> History {
        let durable = vec![0; blocks as usize];
        let blocks = vec![vec![Version::zeros()]; blocks as usize];
        let (in_flight, now, versions) = (BTreeSet::new(), 0, 0);
        History {
            blocks,
            durable,
            in_flight,
            now,
            versions,
            keeps_order: false,
            writes_may_fail: false,
            may_be_stale: false,
            may_miss: false,
        }
    }

    /// The history of a subject that keeps the order of requests.
    pub fn in_order(self) -> History {
        History { keeps_order: true, ..self }
    }

    /// From now on writes may be answered with errors: only an answered write hides earlier ones.
    pub fn let_writes_fail(&mut self) {
        self.writes_may_fail = true;
    }

    /// A write has gone astray: from now on a block may hold any of its own versions, but nothing else.
    pub fn let_be_stale(&mut self) {
        self.may_be_stale = true;
    }

    /// From now on any block may read as zeros at any time, which reveals nothing about its content: a
    /// cache may miss.
    pub fn let_misses(&mut self) {
        self.may_miss = true;
    }

    /// A copy of this history that diverges from `other`: its later versions differ from every version that
    /// `other` has.
    pub fn apart_from(&self, other: &History) -> History {
        History { versions: self.versions.max(other.versions), ..self.clone() }
    }

    /// Number of blocks of the subject.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// Gives a write its content; to be called before it is submitted, and before [`History::submitted`].
    pub fn content(&self, block: u64, blocks: u32) -> Vec<Bytes> {
        let stamp = |index: u32| {
            Stamp { block: block + u64::from(index), version: self.versions + 1 + index }.content()
        };
        (0..blocks).map(stamp).collect()
    }

    /// A request was submitted. Also returns whether another write of one of its blocks is in flight.
    pub fn submitted<B>(&mut self, request: &Request<B>) -> (Pending, bool) {
        let (op, block, blocks, fua) = (request.op, request.block, request.blocks, request.fua);
        let submitted = self.tick();
        self.in_flight.insert(submitted);
        let first = self.versions + 1;
        let mut is_contested = false;
        if matches!(op, Op::Write | Op::Trim) {
            self.versions += blocks;
            for index in 0..blocks {
                let versions = &mut self.blocks[(block + u64::from(index)) as usize];
                is_contested |= versions.iter().any(|version| version.answered == Moment::MAX);
                versions.push(Version {
                    number: first + index,
                    is_zeros: op == Op::Trim,
                    submitted,
                    answered: Moment::MAX,
                    is_certain: false,
                    is_durable: false,
                    is_carried: false,
                    past: None,
                });
            }
        }
        (Pending { op, block, blocks, fua, submitted, first }, is_contested)
    }

    /// A request was answered; of a read, [`History::read`] is to be asked before.
    ///
    /// # Panics
    /// If the request was answered before.
    pub fn answered(&mut self, pending: &Pending, success: bool) {
        let now = self.tick();
        self.in_flight.remove(&pending.submitted);
        match pending.op {
            Op::Read => {}
            Op::Flush if success => self.flushed(pending.submitted),
            Op::Flush => {}
            Op::Write | Op::Trim => {
                for index in 0..pending.blocks {
                    let versions = &mut self.blocks[(pending.block + u64::from(index)) as usize];
                    let version = versions.iter_mut().find(|v| v.number == pending.first + index);
                    let version = version.expect("what is not answered is not forgotten");
                    version.answered = now;
                    version.is_certain = success;
                    version.is_durable = success && pending.fua;
                }
                self.forget(pending.block..pending.block + u64::from(pending.blocks));
            }
        }
    }

    /// Everything that was answered has become durable, although the host has not asked for that.
    pub fn at_rest(&mut self) {
        let now = self.tick();
        self.flushed(now);
    }

    /// All that was answered before `by` is durable.
    fn flushed(&mut self, by: Moment) {
        for version in self.blocks.iter_mut().flatten() {
            version.is_durable |= version.is_certain && version.answered < by;
        }
        self.forget(0..self.blocks.len() as u64);
    }

    /// Forgets versions that neither a read in flight nor a later one may return, under any circumstances.
    fn forget(&mut self, blocks: std::ops::Range<u64>) {
        let oldest = self.in_flight.first().copied().unwrap_or(Moment::MAX);
        for versions in &mut self.blocks[blocks.start as usize..blocks.end as usize] {
            let bar = versions.iter().filter(|version| version.is_durable && version.answered < oldest);
            let bar = bar.map(|version| version.submitted).max().unwrap_or(0);
            versions.retain(|version| version.answered >= bar);
        }
    }

    /// The power is gone: of each block there is any version that is not older than the last durable
    /// one, and what is there stays.
    pub fn power_cut(&mut self) {
        let now = self.tick();
        self.in_flight.clear();
        for (versions, last) in self.blocks.iter_mut().zip(&mut self.durable) {
            let durable: Vec<(u32, Moment)> =
                versions.iter().filter(|v| v.is_durable).map(|v| (v.number, v.submitted)).collect();
            *last = durable.iter().map(|&(number, _)| number).fold(*last, u32::max);
            versions.retain(|version| {
                let is_before = |&(number, submitted): &(u32, Moment)| {
                    version.answered < submitted || version.past.is_some_and(|(_, later)| later == number)
                };
                !durable.iter().any(is_before)
            });
            for version in versions.iter_mut() {
                (version.submitted, version.answered) = (now, now);
                (version.is_certain, version.is_durable) = (false, false);
                (version.is_carried, version.past) = (true, None);
            }
            decide(versions);
        }
    }
}
