//! Comparison of the copies of a block after a power loss: the newest one overwrites the others.

use super::descriptor::Mark;
use super::geometry::Place;
use super::mutation::{Invariant, holds};
use super::recovery::Stage;
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::{MOST_COPIES, SealAge, seal_of};
use crate::placement::WriteKind;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::IdVec;
use tailcut_base::{Class, Op, Status, Time, id};

id! {
    /// A comparison in progress.
    pub struct ComparisonId;
}

/// A copy of a block whose copies are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ComparedCopy {
    comparison: ComparisonId,
    /// The copy number.
    copy: usize,
}

impl ComparedCopy {
    /// Packs it into a number.
    pub(super) fn pack(self) -> u32 {
        self.comparison.get() * to_u32(MOST_COPIES) + to_u32(self.copy)
    }

    /// Unpacks a number.
    pub(super) fn unpack(number: u32) -> ComparedCopy {
        let (comparison, copy) = (number / to_u32(MOST_COPIES), number as usize % MOST_COPIES);
        ComparedCopy { comparison: ComparisonId::new(comparison), copy }
    }
}

/// A block whose copies are compared.
#[derive(Debug)]
pub(super) struct Comparison<B> {
    block: u64,
    marks: Vec<Mark>,
    found: [Option<B>; MOST_COPIES],
    pending: u32,
    is_writing: bool,
}

/// Concurrent comparisons.
const AT_ONCE: usize = 64;

impl<B: Block> Epochs<B> {
    /// Starts further comparisons; enters the next stage when all are done.
    pub(super) fn compare_more(&mut self, now: Time, core: &mut Core<B>) {
        while self.recovery.comparisons.len() < AT_ONCE
            && let Some((block, marks)) = self.next_to_compare()
        {
            let places = self.shape.places(block);
            if places.iter().filter(|place| core.drives.is_in_sync(place.drive)).count() > 1 {
                self.begin_comparison(now, core, block, marks);
            }
        }
        if self.recovery.comparisons.is_empty() && self.recovery.stage == Stage::Compare {
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
        let found = std::array::from_fn(|_| None);
        let comparison = Comparison { block, marks, found, pending: 0, is_writing: false };
        let id = self.recovery.comparisons.insert(comparison);
        for (copy, place) in self.shape.places(block).iter().enumerate() {
            if core.drives.is_in_sync(place.drive) {
                let copy = ComparedCopy { comparison: id, copy };
                self.ask_to_compare(now, core, copy, Op::Read, Vec::new());
            }
        }
    }

    fn ask_to_compare(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        compared: ComparedCopy,
        op: Op,
        data: Vec<B>,
    ) {
        let comparison = &mut self.recovery.comparisons[compared.comparison];
        comparison.pending += 1;
        let place = self.shape.places(comparison.block)[compared.copy];
        let (class, block) = (Class::DEFAULT, place.block);
        let ask =
            Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks: 1, data };
        let owner = Owner::Layout(RequestPurpose::Compare(compared).pack());
        core.drives.ask(now, place.drive, Priority::Write, owner, ask);
    }

    /// The read or write of a copy has completed.
    pub(super) fn compare_answered(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        ComparedCopy { comparison: id, copy }: ComparedCopy,
        answer: &Answered<B>,
    ) {
        let comparison = &mut self.recovery.comparisons[id];
        if answer.op == Op::Read && answer.status == Status::Success {
            let seal = seal_of(answer.drive, answer.block, SealAge::IN_PLACE);
            let content = answer.data.first().cloned();
            let is_accepted =
                |block: &B| core.drives.accept(answer.drive, answer.block, std::slice::from_ref(block));
            let is_right =
                |block: &B| (block.is_intact(seal) || *block == B::default()) && is_accepted(block);
            comparison.found[copy] = content.filter(is_right);
        }
        comparison.pending -= 1;
        if comparison.pending > 0 {
            return;
        }
        if comparison.is_writing || !self.make_equal(now, core, id) {
            self.recovery.comparisons.remove(id);
            self.compare_more(now, core);
        }
    }

    /// Overwrites older copies with the newest content; false if they are equal, or if nothing tells which of
    /// them is damaged.
    fn make_equal(&mut self, now: Time, core: &mut Core<B>, id: ComparisonId) -> bool {
        let comparison = &mut self.recovery.comparisons[id];
        let places = self.shape.places(comparison.block);
        let is_listing_whole = places.iter().all(|place| !self.recovery.is_damaged[place.drive]);
        if is_listing_whole && is_unknown(&comparison.found, &comparison.marks) {
            return false;
        }
        let Some(good) = newest(&comparison.found, &comparison.marks, &places, &self.recovery.is_damaged)
        else {
            return false;
        };
        let content = comparison.found[good].take().expect("it was found");
        let differs =
            |copy: usize| comparison.found[copy].as_ref().is_none_or(|there| !there.is_same(&content));
        let older: Vec<usize> = (0..places.len())
            .filter(|&copy| copy != good && core.drives.is_in_sync(places[copy].drive) && differs(copy))
            .collect();
        comparison.is_writing = true;
        for &copy in &older {
            self.report.resynced += 1;
            let compared = ComparedCopy { comparison: id, copy };
            if content == B::default() {
                self.ask_to_compare(now, core, compared, Op::Trim, Vec::new());
            } else {
                let mut content = content.clone();
                content.seal(seal_of(places[copy].drive, places[copy].block, SealAge::IN_PLACE));
                self.ask_to_compare(now, core, compared, Op::Write, vec![content]);
            }
        }
        !older.is_empty()
    }
}

/// True if the copies read differ and none of them is a listed version. Each version is listed before it is
/// written, until all copies of it are durable. So the listing is an earlier one, and one of the copies was
/// damaged since.
fn is_unknown<B: Block>(found: &[Option<B>], marks: &[Mark]) -> bool {
    let mut there = found.iter().flatten();
    let Some(first) = there.next() else { return false };
    there.any(|other| !other.is_same(first))
        && found.iter().flatten().all(|content| version(marks, content) == 0)
}

/// The newest of the copies read. Several versions may be unlisted only if a descriptor is lost: then the
/// drive that has lost it is the doubtful one.
fn newest<B: Block>(
    found: &[Option<B>],
    marks: &[Mark],
    places: &[Place],
    is_damaged: &IdVec<DriveId, bool>,
) -> Option<usize> {
    let age = |copy: &usize| {
        let content = found[*copy].as_ref().expect("it was found");
        (std::cmp::Reverse(version(marks, content)), is_damaged[places[*copy].drive])
    };
    let there = || (0..places.len()).filter(|&copy| found[copy].is_some());
    if holds(Invariant::NewestCounts) { there().min_by_key(age) } else { there().max_by_key(age) }
}

/// The version of a content: the latest listed one with its checksum, 0 if none.
fn version<B: Block>(marks: &[Mark], content: &B) -> u64 {
    let sum = content.checksum();
    marks.iter().filter(|mark| mark.sum == sum).map(|mark| mark.version).max().unwrap_or(0)
}
