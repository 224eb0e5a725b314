//! How far the collection of one victim has got.

use crate::Block;
use crate::array::log::geometry::{Place, Row};
use std::collections::VecDeque;

/// The collection of a victim.
#[derive(Debug)]
pub struct Job<B> {
    /// The victim.
    pub row: Row,
    pub(super) phase: Phase,
    /// The block of the host at each position plus 1.
    pub(super) blocks: Vec<u64>,
    /// A summary could not be read.
    pub(super) is_blind: bool,
    /// The next stripe to look at on each data column, and the column whose turn it is.
    pub(super) stripes: Vec<u32>,
    pub(super) turn: u32,
    pub(super) reads: u32,
    /// What has been read and finds no room.
    pub(super) held: VecDeque<(u64, Place, B)>,
    /// Valid blocks when it was chosen, and what it frees.
    pub(super) valid: u32,
    pub(super) gain: u32,
    /// Of those, what has not been moved.
    pub(super) left: u32,
    /// Blocks of it cannot be read.
    pub(super) is_stuck: bool,
    /// Valid blocks that no summary names, when they were last looked up; more than any row has if they were
    /// not.
    pub(super) unnamed: u32,
}

/// How far the collection of a victim has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is none.
    Idle,
    /// So many summaries have not been read.
    Summaries(u32),
    /// Its valid blocks are read and appended.
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

impl<B: Block> Job<B> {
    /// Nothing to do.
    pub fn idle() -> Job<B> {
        Job {
            row: Row::FIRST,
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
            unnamed: u32::MAX,
        }
    }

    /// True when it has no victim.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// True while something of its victim has not been moved.
    pub fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Summaries(_) | Phase::Moving)
    }
}
