//! Requests to drives and their completions.

use super::Owner;
use crate::array::DriveId;
use crate::placement::WriteKind;
use std::ops::Range;
use tailcut_base::{Class, Nanos, Op, Spans, Status};

/// A request to a drive, before it has an identifier.
#[derive(Clone, Debug)]
pub struct Ask<B> {
    /// What the drive is to do: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: durable at completion.
    pub fua: bool,
    /// For a read: fail at once with [`Status::Contended`] rather than wait for the drive's own work.
    pub fail_fast: bool,
    /// Latency class, passed on to the drive.
    pub class: Class,
    /// What a write holds; [`WriteKind::Data`] for any other operation.
    pub kind: WriteKind,
    /// First block on the drive, in blocks of 4 KiB; 0 for a flush.
    pub block: u64,
    /// Number of blocks of 4 KiB; 0 for a flush.
    pub blocks: u32,
    /// Content of a write, with protection information; empty otherwise.
    pub data: Vec<B>,
}

impl<B> Ask<B> {
    /// The range of blocks of the request on the drive; empty for a flush.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}

/// A completion of a drive request, with its issuer.
#[derive(Clone, Debug)]
pub struct Answered<B> {
    /// The issuer of the request, to which the completion is delivered.
    pub owner: Owner,
    /// The drive that has completed the request.
    pub drive: DriveId,
    /// What the drive was asked to do: read, write, trim or flush.
    pub op: Op,
    /// Whether the request was a write with force unit access.
    pub fua: bool,
    /// First block of the request on the drive, in blocks of 4 KiB.
    pub block: u64,
    /// Number of blocks of the request.
    pub blocks: u32,
    /// Whether the request succeeded, or why it failed.
    pub status: Status,
    /// For a successful read, the content of each block with its protection information; otherwise memory for
    /// reuse.
    pub data: Vec<B>,
    /// For a request that the drive declined, how long it expects to stay busy.
    pub busy_for: Nanos,
    /// Attribution to causes of the time from the request to its completion.
    pub spans: Spans,
}

impl<B> Answered<B> {
    /// The range of blocks of the request on the drive; empty for a flush.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}
