//! The progress of the collection of one victim.

use crate::Block;
use crate::array::log::geometry::{Place, Row};
use std::collections::VecDeque;

/// The collection of a victim.
#[derive(Debug)]
pub(super) struct Job<B> {
    /// The row that is being collected.
    pub row: Row,
    pub(super) phase: Phase,
    /// Block of the host at each position plus 1.
    pub(super) blocks: Vec<u64>,
    /// A summary was unreadable.
    pub(super) is_blind: bool,
    /// The next stripe to examine on each data column, and the next column in turn.
    pub(super) stripes: Vec<u32>,
    pub(super) turn: u32,
    pub(super) reads: u32,
    /// Blocks that have been read but find no room.
    pub(super) held: VecDeque<(u64, Place, B)>,
    /// Number of valid blocks when it was chosen, and the number of positions it frees.
    pub(super) valid: u32,
    pub(super) gain: u32,
    /// Valid blocks that have not been moved.
    pub(super) left: u32,
    /// It has unreadable blocks.
    pub(super) is_stuck: bool,
    /// Valid blocks missing from the summaries at the last look-up; more than any row has if there was none.
    pub(super) unnamed: u32,
}

/// Progress of the collection of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No victim.
    Idle,
    /// Number of summaries that have not been read.
    Summaries(u32),
    /// Its valid blocks are being read and appended.
    Moving,
    /// It waits for the next barrier.
    Moved,
    /// It waits for the current barrier.
    Barrier,
    /// Reads of it are in flight.
    Read,
    /// Number of trims that have not completed.
    Trimming(u32),
}

impl<B: Block> Job<B> {
    /// An idle job.
    pub(super) fn idle() -> Job<B> {
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

    /// True if it has no victim.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// True while valid blocks of its victim have not been moved.
    pub(super) fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Summaries(_) | Phase::Moving)
    }
}
