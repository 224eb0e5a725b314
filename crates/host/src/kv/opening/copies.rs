//! The choice between copies of a segment end or a superblock on a disk with several copies.

use super::{Job, Opening};
use crate::block::Bytes;
use crate::disk::Mirror;
use crate::kv::damage::{Damage, DamageKind};
use crate::kv::log::format::End;
use crate::mutation::{Invariant, holds};

/// Progress of rereads: a blank or damaged segment end is reread from each copy, because zeros in one copy
/// would pass for a segment that was never used.
#[derive(Debug, Default)]
pub(super) struct Reread {
    /// The copy being read; None for the disk's choice, which comes first.
    copy: Option<u8>,
    /// The result of the first read.
    first: Option<Bytes>,
    /// A blank copy, while others are damaged.
    blank: Option<(u8, Bytes)>,
}

impl Reread {
    /// The copy to read.
    pub(super) fn mirror(&self) -> Mirror {
        self.copy.map_or(Mirror::Any, Mirror::Only)
    }

    /// The next of `copies` copies to read; None after the last, or if there is a single copy.
    fn next(&self, copies: u8) -> Option<u8> {
        let next = self.copy.map_or(0, |copy| copy + 1);
        (copies > 1 && next < copies && holds(Invariant::OtherCopiesAreRead)).then_some(next)
    }
}

/// State of a segment end or a superblock in one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Right,
    Blank,
    Damaged,
}

impl Judgement {
    pub(super) fn of(end: End) -> Judgement {
        match end {
            End::Blank => Judgement::Blank,
            End::Damaged => Judgement::Damaged,
            _ => Judgement::Right,
        }
    }
}

impl Opening {
    /// Evaluates a read of a segment end. `Ok` with the result, or, if that is blank or damaged and there are
    /// other copies, `Err` to read one of these. A right copy overwrites the others.
    pub(super) fn choose(
        &mut self,
        place: u64,
        reread: Reread,
        block: Option<Bytes>,
        judge: impl Fn(Option<&Bytes>) -> Judgement,
    ) -> Result<Option<Bytes>, Reread> {
        let is_first = reread.copy.is_none();
        let Reread { copy, first, mut blank } = reread;
        let first = if is_first { block.clone() } else { first };
        match (judge(block.as_ref()), copy, &block) {
            (Judgement::Right, Some(copy), Some(block)) => self.mend(place, copy, block.clone()),
            (Judgement::Right, ..) => {}
            (judgement, ..) => {
                if let (Judgement::Blank, Some(copy), Some(block)) = (judgement, copy, &block) {
                    blank = Some((copy, block.clone()));
                }
                if let Some(copy) = (Reread { copy, first: None, blank: None }).next(self.disk.copies) {
                    return Err(Reread { copy: Some(copy), first, blank });
                }
                // A segment that was never used has a damaged copy. `judge_blank` makes sure that no used one
                // is mistaken for it.
                let is_damaged = judge(first.as_ref()) == Judgement::Damaged;
                let Some((copy, blank)) = blank.filter(|_| is_damaged) else { return Ok(first) };
                self.mend(place, copy, blank.clone());
                return Ok(Some(blank));
            }
        }
        Ok(block)
    }

    fn mend(&mut self, place: u64, copy: u8, block: Bytes) {
        self.reading += 1;
        self.jobs.repair(Job::Mend, copy, place, vec![block]);
        self.damages.push(Damage { block: place, what: DamageKind::Copy });
    }
}
