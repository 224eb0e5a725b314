//! Damage found on flash, for reports to the operator.

use super::engine::Engine;
use super::settings::Keep;
use std::collections::VecDeque;
use std::fmt;

/// Damaged data on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// First block affected, on the disk or on this part's range of it.
    pub block: u64,
    /// The structure that is damaged: a superblock, a segment's head, ends or summary, or records.
    pub what: DamageKind,
}

/// The damaged structure, and the consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// One of the two superblocks: it is rewritten.
    Superblock,
    /// The head of a segment: it is rewritten.
    Head,
    /// The summary of a segment: its records are searched for, and it is rewritten.
    Summary,
    /// Both ends of a segment, and possibly records in it.
    Ends(Doubt),
    /// Records of a segment with unknown keys.
    Hole(Doubt),
    /// A record: its item is lost until it is rewritten.
    Record,
    /// A copy of a record or a summary: it is rewritten from another copy.
    Copy,
}

/// Treatment of items that are older than lost records, which may have been newer versions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A store returns an error until the item is rewritten or deleted.
    Refused,
    /// A cache drops the item.
    Forgotten,
}

impl From<Keep> for Doubt {
    fn from(keep: Keep) -> Doubt {
        match keep {
            Keep::Everything => Doubt::Refused,
            Keep::WhatIsUsed => Doubt::Forgotten,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { block, what } = self;
        match what {
            DamageKind::Superblock => {
                write!(f, "block {block}: a damaged superblock, written again from the other one")
            }
            DamageKind::Head => {
                write!(f, "block {block}: a damaged head of a segment, written again from its foot")
            }
            DamageKind::Summary => {
                write!(f, "block {block}: a damaged summary of a segment, written again from its records")
            }
            DamageKind::Ends(doubt) => {
                write!(f, "block {block}: a segment whose head and foot are damaged; {doubt}")
            }
            DamageKind::Hole(doubt) => write!(f, "block {block}: damaged records of unknown keys; {doubt}"),
            DamageKind::Record => write!(f, "block {block}: a damaged record"),
            DamageKind::Copy => {
                write!(f, "block {block}: a damaged copy, written again from another one")
            }
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Refused => {
                "what was written before them may be out of date, and is answered with an error until it is \
                 written again or deleted"
            }
            Doubt::Forgotten => "what was written before them may be out of date, and is forgotten",
        })
    }
}

/// Damage not reported yet.
#[derive(Debug, Default)]
pub(super) struct Damages {
    found: VecDeque<Damage>,
}

impl Damages {
    pub(super) fn add(&mut self, damage: Damage) {
        // After this many reports, further ones add nothing.
        if self.found.len() < MOST_DAMAGES {
            self.found.push_back(damage);
        }
    }
}

impl Engine {
    /// The next damage to report, in the order of discovery. Beyond [`MOST_DAMAGES`] unreported ones, new
    /// damage is dropped.
    pub fn next_damage(&mut self) -> Option<Damage> {
        self.damages.found.pop_front()
    }

    pub(super) fn report(&mut self, damage: Damage) {
        self.damages.add(damage);
    }
}

/// Most unreported damages kept.
pub const MOST_DAMAGES: usize = 64;
