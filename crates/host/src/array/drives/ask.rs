//! Requests to drives and their completions.

use super::Owner;
use crate::array::DriveId;
use std::ops::Range;
use tailcut_base::{Class, Nanos, Op, Spans, Status};

/// A request to a drive, before it has an identifier.
#[derive(Clone, Debug)]
pub struct Ask<B> {
    /// Operation.
    pub op: Op,
    /// Force unit access: durable at completion.
    pub fua: bool,
    /// Fail rather than wait.
    pub fail_fast: bool,
    /// Latency class.
    pub class: Class,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Content of a write, with protection information; empty otherwise.
    pub data: Vec<B>,
}

impl<B> Ask<B> {
    /// The range of blocks.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}

/// A completion of a drive request, with its issuer.
#[derive(Clone, Debug)]
pub struct Answered<B> {
    /// Issuer of the request.
    pub owner: Owner,
    /// The drive.
    pub drive: DriveId,
    /// Operation.
    pub op: Op,
    /// The write was with force unit access.
    pub fua: bool,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Status of the completion.
    pub status: Status,
    /// Content of a read.
    pub data: Vec<B>,
    /// For a request that the drive declined, how long it expects to stay busy.
    pub busy_for: Nanos,
    /// Attribution of the time from the request to now.
    pub spans: Spans,
}

impl<B> Answered<B> {
    /// The range of blocks.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}
