//! What is read, and how that ended.

use super::seal_of;
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Ask, Urgency};
use std::ops::Range;
use tailcut_base::{Class, Nanos, Op, Spans, Status};

/// A read of blocks of one drive.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The drive.
    pub drive: DriveId,
    /// First block on it.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Age of the blocks: the value that they were sealed under, see [`seal_of`].
    pub age: u64,
    /// The blocks may never have been written: zeros without a seal are right, too.
    pub unwritten: bool,
    /// Latency class.
    pub class: Class,
    /// How urgent.
    pub urgency: Urgency,
    /// Whether the other members of the group may be read instead.
    pub around: Around,
    /// Told back with the result.
    pub token: u64,
}

impl Wanted {
    /// As many blocks as are wanted, from this one on.
    #[inline]
    pub(super) fn range_from(&self, block: u64) -> Range<u64> {
        block..block + u64::from(self.blocks)
    }
}

/// When a read may be reconstructed from the other members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Never: the stripe is incomplete, or being changed.
    Never,
    /// Not by this read: when it fails, whoever asked comes again. The data does not count as lost.
    Later,
    /// When the drive does not serve or returns something wrong, however long it takes: to see what is
    /// on it.
    WhenWrong,
    /// As `Later`, and the drive is asked to fail fast: that it would rather not serve now, and for how
    /// long, is told to whoever asked.
    Told,
    /// When the drive does not serve or returns something wrong. Where drives share a token the read waits
    /// until its drive has it: reading in bulk is as heavy as writing, and nobody else reads that drive then.
    InTurn,
    /// When the drive does not serve, serves slowly, or returns something wrong.
    AtNeed,
    /// Also when the drive would rather not serve now: it is asked to fail fast.
    WhenContended,
    /// At once: the drive is known to be taken.
    Now,
    /// Always, and the drive itself is not asked: whoever asked has reason to doubt what it has. When that
    /// fails, the data does not count as lost.
    Always,
}

/// How a read ended.
#[derive(Clone, Debug)]
pub struct Done<B> {
    /// What was wanted.
    pub wanted: Wanted,
    /// Success, or why the data cannot be had.
    pub status: Status,
    /// The content of each block.
    pub data: Vec<B>,
    /// With [`Status::Contended`]: how much longer the drive expects to be taken.
    pub busy_for: Nanos,
    /// From the beginning to now.
    pub spans: Spans,
    /// It was reconstructed, because of what the drive answered or did not.
    pub reconstructed: bool,
    /// The drive returned something wrong or nothing: it is to be written again, where
    /// [`Reads::leave_repairs`](super::Reads::leave_repairs) leaves that to whoever asked.
    pub damaged: bool,
}

/// What a drive is asked for, from this block on.
pub(super) fn ask<B>(wanted: &Wanted, block: u64, fail_fast: bool) -> Ask<B> {
    let Wanted { class, blocks, .. } = *wanted;
    Ask { op: Op::Read, fua: false, fail_fast, class, block, blocks, data: Vec::new() }
}

/// True when a drive has answered with what was written.
pub(super) fn is_intact<B: Block>(wanted: &Wanted, answer: &Answered<B>) -> bool {
    answer.data.iter().zip(answer.block..).all(|(block, address)| {
        let seal = seal_of(answer.drive, address, wanted.age);
        block.is_intact(seal) || (wanted.unwritten && *block == B::default())
    })
}
