//! The choice between copies of an end of a segment, or of a superblock, on a disk that has several.

use super::{Job, Opening};
use crate::block::Bytes;
use crate::disk::Mirror;
use crate::kv::damage::{Damage, DamageKind};
use crate::kv::log::format::End;
use crate::planted::{Rule, holds};

/// An end of a segment that is nothing is read again from each copy of the disk, because zeros in one of them
/// would pass for a segment that was never used.
#[derive(Debug, Default)]
pub(super) struct Reread {
    /// The copy that is read; whichever the disk chooses at first.
    copy: Option<u8>,
    /// What was read at first.
    first: Option<Bytes>,
    /// A copy that is empty, where others are damaged.
    blank: Option<(u8, Bytes)>,
}

impl Reread {
    /// The copy to read.
    pub fn mirror(&self) -> Mirror {
        self.copy.map_or(Mirror::Any, Mirror::Only)
    }

    /// The next of `copies` copies to read; none after the last, or if there is a single copy.
    fn next(&self, copies: u8) -> Option<u8> {
        let next = self.copy.map_or(0, |copy| copy + 1);
        (copies > 1 && next < copies && holds(Rule::OtherCopiesAreRead)).then_some(next)
    }
}

/// What an end of a segment, or a superblock, is in one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Right,
    Blank,
    Damaged,
}

impl Judgement {
    pub fn of(end: End) -> Judgement {
        match end {
            End::Blank => Judgement::Blank,
            End::Damaged => Judgement::Damaged,
            _ => Judgement::Right,
        }
    }
}

impl Opening {
    /// Decides on an end of a segment that was read: what is there, and, where it is nothing and there are
    /// other copies, whether one of them is to be read. A copy that is right is written over the others.
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
                // Of a segment that was never used one copy is damaged. That no used one is taken for it, see
                // `judge_blank`.
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
