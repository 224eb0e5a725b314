//! Two copies of a block after a power cut: the newer one counts, and the other becomes it.

use super::descriptor::Mark;
use super::planted::{Rule, holds};
use super::recovery::Stage;
use super::work::is_same;
use super::{Asked, Epochs};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Urgency};
use crate::array::reads::seal_of;
use tailcut_base::{Class, Op, Status, Time};

/// A block whose copies are compared.
#[derive(Debug)]
pub struct Comparison<B> {
    block: u64,
    marks: Vec<Mark>,
    found: [Option<B>; 2],
    pending: u32,
    is_writing: bool,
}

/// Comparisons at a time.
const AT_ONCE: u32 = 64;

impl<B: Block> Epochs<B> {
    /// Begins to compare more, or goes on when all are done.
    pub(super) fn compare_more(&mut self, now: Time, core: &mut Core<B>) {
        while self.recovery.comparing < AT_ONCE
            && let Some((block, marks)) = self.next_to_compare()
        {
            let places = self.shape.places(block);
            if places.iter().all(|place| core.drives.is_in_sync(place.drive)) {
                self.begin_comparison(now, core, block, marks);
            }
        }
        if self.recovery.comparing == 0 && self.recovery.stage == Stage::Compare {
            self.flush_all(now, core);
        }
    }

    fn next_to_compare(&mut self) -> Option<(u64, Vec<Mark>)> {
        let recovery = &mut self.recovery;
        while recovery.next < self.shape.blocks() {
            let block = recovery.next;
            recovery.next += 1;
            if self.shape.places(block).iter().any(|place| recovery.is_damaged[place.drive]) {
                return Some((block, recovery.listed.remove(&block).unwrap_or_default()));
            }
        }
        recovery.listed.pop_first()
    }

    fn begin_comparison(&mut self, now: Time, core: &mut Core<B>, block: u64, marks: Vec<Mark>) {
        let comparison = Comparison { block, marks, found: [None, None], pending: 2, is_writing: false };
        let recovery = &mut self.recovery;
        recovery.comparing += 1;
        let id = match recovery.free.pop() {
            Some(id) => {
                recovery.comparisons[id as usize] = comparison;
                id
            }
            None => {
                recovery.comparisons.push(comparison);
                (recovery.comparisons.len() - 1) as u32
            }
        };
        for copy in 0..2 {
            self.ask_to_compare(now, core, id, copy, Op::Read, Vec::new());
        }
    }

    fn ask_to_compare(&mut self, now: Time, core: &mut Core<B>, id: u32, copy: usize, op: Op, data: Vec<B>) {
        let place = self.shape.places(self.recovery.comparisons[id as usize].block)[copy];
        let (class, block) = (Class::DEFAULT, place.block);
        let ask = Ask { op, fua: false, fail_fast: false, class, block, blocks: 1, data };
        let owner = Owner::Layout(Asked::Compare(id * 2 + copy as u32).pack());
        core.drives.ask(now, place.drive, Urgency::Write, owner, ask);
    }

    /// A drive has read or written a copy.
    pub(super) fn compare_answered(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        name: u32,
        mut answer: Answered<B>,
    ) {
        let (id, copy) = (name / 2, (name % 2) as usize);
        let comparison = &mut self.recovery.comparisons[id as usize];
        if answer.op == Op::Read && answer.status == Status::Success {
            let seal = seal_of(answer.drive, answer.block, 0);
            let content = answer.data.pop();
            comparison.found[copy] = content.filter(|block| block.is_intact(seal) || *block == B::default());
        }
        core.drives.recycle(answer.data);
        comparison.pending -= 1;
        if comparison.pending > 0 {
            return;
        }
        if comparison.is_writing || !self.make_equal(now, core, id) {
            self.recovery.free.push(id);
            self.recovery.comparing -= 1;
            self.compare_more(now, core);
        }
    }

    /// Writes the newer content over the older one; false if there is nothing to write.
    fn make_equal(&mut self, now: Time, core: &mut Core<B>, id: u32) -> bool {
        let comparison = &mut self.recovery.comparisons[id as usize];
        let places = self.shape.places(comparison.block);
        let good = match &comparison.found {
            [None, None] => return false,
            [Some(one), Some(other)] if is_same(one, other) => return false,
            [Some(_), None] => 0,
            [None, Some(_)] => 1,
            [Some(one), Some(other)] => {
                let (one, other) = (version(&comparison.marks, one), version(&comparison.marks, other));
                // Nothing is known only where a descriptor is lost: then its drive is the doubtful one.
                let is_doubtful = self.recovery.is_damaged[places[0].drive];
                let newest = usize::from(one < other || one == other && is_doubtful);
                if holds(Rule::NewestCounts) { newest } else { 1 - newest }
            }
        };
        let mut content = comparison.found[good].take().expect("it was found");
        (comparison.is_writing, comparison.pending) = (true, 1);
        self.report.resynced += 1;
        let place = places[1 - good];
        if content == B::default() {
            self.ask_to_compare(now, core, id, 1 - good, Op::Trim, Vec::new());
        } else {
            content.seal(seal_of(place.drive, place.block, 0));
            self.ask_to_compare(now, core, id, 1 - good, Op::Write, vec![content]);
        }
        true
    }
}

/// The version of a content: the latest with its checksum, 0 if it is not listed.
fn version<B: Block>(marks: &[Mark], content: &B) -> u64 {
    let sum = content.checksum();
    marks.iter().filter(|mark| mark.sum == sum).map(|mark| mark.version).max().unwrap_or(0)
}
