//! A read request for stored blocks, and its result.

use super::{SealAge, seal_of};
use crate::Block;
use crate::array::DriveId;
use crate::array::drives::{Answered, Ask, Priority};
use crate::placement::WriteKind;
use std::ops::Range;
use tailcut_base::{Class, Nanos, Op, Spans, Status};

/// A read of blocks of one drive.
#[derive(Clone, Copy, Debug)]
pub struct BlockRead {
    /// The drive that holds the blocks.
    pub drive: DriveId,
    /// First block on the drive, in blocks of 4 KiB.
    pub block: u64,
    /// Number of blocks of 4 KiB to read.
    pub blocks: u32,
    /// Age of the blocks: the value under which they were sealed, see [`seal_of`].
    pub age: SealAge,
    /// The blocks may never have been written: zeros without a seal are valid as well.
    pub unwritten: bool,
    /// Latency class of the reads of drives.
    pub class: Class,
    /// Priority of the read among the requests that wait for its drive.
    pub urgency: Priority,
    /// When to read from the other members of the group instead.
    pub around: ReconstructWhen,
    /// A number of the issuer's choice that comes back with the result.
    pub token: u64,
}

impl BlockRead {
    /// The range of this length that starts at `block`.
    #[inline]
    pub(super) fn range_from(&self, block: u64) -> Range<u64> {
        block..block + u64::from(self.blocks)
    }
}

/// When to reconstruct a read from the other members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconstructWhen {
    /// Never: the stripe is incomplete, or being changed.
    Never,
    /// Not by this read: if it fails, the issuer retries. The data does not count as lost.
    Later,
    /// If the drive is missing, fails, or returns wrong data, however long it takes: to verify its content.
    WhenWrong,
    /// As `Later`, with fail-fast: the issuer is notified if the drive declines, and for how long it stays
    /// busy.
    Told,
    /// If the drive is missing, fails, or returns wrong data. Where drives share a token, the read waits
    /// until its drive has it: bulk reads are as heavy as writes, and no other reads go to that drive then.
    InTurn,
    /// If the drive is missing, fails, is late, or returns wrong data.
    AtNeed,
    /// As `AtNeed`, and also if the drive declines: the read uses fail-fast.
    WhenContended,
    /// At once: the drive is known to be busy.
    Now,
    /// Always, without a read of the drive itself: the issuer has reason to distrust its content. If this
    /// fails, the data does not count as lost.
    Always,
}

/// Result of a read.
#[derive(Clone, Debug)]
pub struct ReadResult<B> {
    /// The read that the result belongs to.
    pub wanted: BlockRead,
    /// Success, or why the data cannot be read.
    pub status: Status,
    /// The content of each block; of no meaning unless the read succeeded.
    pub data: Vec<B>,
    /// With [`Status::Contended`]: how much longer the drive expects to stay busy.
    pub busy_for: Nanos,
    /// Attribution to causes of the time from the start of the read to its result.
    pub spans: Spans,
    /// The data was reconstructed because of the drive's result or delay.
    pub reconstructed: bool,
    /// The drive failed or returned wrong data: the issuer rewrites the range, in order with other writes.
    pub damaged: bool,
}

/// The drive request for this range, starting at `block`.
pub(super) fn ask<B>(wanted: &BlockRead, block: u64, fail_fast: bool) -> Ask<B> {
    let BlockRead { class, blocks, .. } = *wanted;
    Ask { op: Op::Read, fua: false, fail_fast, class, kind: WriteKind::Data, block, blocks, data: Vec::new() }
}

/// True if a drive has returned the data that was written.
pub(super) fn is_intact<B: Block>(wanted: &BlockRead, answer: &Answered<B>) -> bool {
    answer.data.iter().zip(answer.block..).all(|(block, address)| {
        let seal = seal_of(answer.drive, address, wanted.age);
        block.is_intact(seal) || (wanted.unwritten && *block == B::default())
    })
}
