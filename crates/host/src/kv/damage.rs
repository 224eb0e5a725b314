//! What was found damaged on flash, for who has to be told.

use super::engine::Engine;
use super::settings::Keep;
use std::collections::VecDeque;
use std::fmt;

/// Something on flash that is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The first block of the disk, or of this part's stretch of it, that it concerns.
    pub block: u64,
    /// What it is.
    pub what: DamageKind,
}

/// What is damaged, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// One of the two superblocks: it is written again.
    Superblock,
    /// The head of a segment: it is written again.
    Head,
    /// The summary of a segment: its records are searched, and it is written again.
    Summary,
    /// Both ends of a segment, and records in it may be damaged, too.
    Ends(Doubt),
    /// Records of a segment whose keys are not known.
    Hole(Doubt),
    /// A record: its item is lost, until it is written again.
    Record,
    /// A copy of a record or a summary: it is written again from another one.
    Copy,
}

/// What becomes of everything that was written before something that was lost, because there may have been
/// newer versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A store answers an error, until the item is written again or deleted.
    Refused,
    /// A cache forgets it.
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
                "what was written before them may be out of date, and is answered with an error until it is written \
                 again or deleted"
            }
            Doubt::Forgotten => "what was written before them may be out of date, and is forgotten",
        })
    }
}

/// Damage that nobody was told of.
#[derive(Debug, Default)]
pub(super) struct Damages {
    found: VecDeque<Damage>,
}

impl Damages {
    pub fn add(&mut self, damage: Damage) {
        // Who is told of so much needs no more.
        if self.found.len() < MOST_DAMAGES {
            self.found.push_back(damage);
        }
    }
}

impl Engine {
    /// Damage that was found, in the order in which it was; the first [`MOST_DAMAGES`] that nobody has asked
    /// for.
    pub fn next_damage(&mut self) -> Option<Damage> {
        self.damages.found.pop_front()
    }

    pub(super) fn report(&mut self, damage: Damage) {
        self.damages.add(damage);
    }
}

/// More is not remembered.
pub const MOST_DAMAGES: usize = 64;
