//! Disks of 4 KiB blocks: what an array offers to the layer above, and what it is made of.
//!
//! Both sides of an array have one shape. Data travels with requests and answers as a list of
//! [`Block`](crate::Block)s, so the same code moves bytes and fingerprints.

use tailcut_base::device::Identify;
use tailcut_base::{Class, Command, CommandId, Nanos, Op, Spans, Status};

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4096;

/// Sectors of a block.
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / tailcut_base::SECTOR_BYTES;

/// What a disk says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Blocks that it has.
    pub blocks: u64,
    /// Requests that it takes at a time; at least 1.
    pub depth: u32,
    /// The most blocks of one read or write; at least 1.
    pub most_blocks: u32,
    /// Completed writes can be lost with the power until they are flushed.
    pub volatile_cache: bool,
}

impl Disk {
    /// What a device says of itself, in blocks; a part of a block at its end is left unused.
    pub fn of(identity: &Identify) -> Disk {
        Disk {
            blocks: identity.sectors / BLOCK_SECTORS,
            depth: identity.queue_depth.max(1),
            most_blocks: (u64::from(identity.max_sectors) / BLOCK_SECTORS).max(1) as u32,
            volatile_cache: identity.volatile_cache,
        }
    }
}

/// What a disk is asked for.
#[derive(Clone, Debug)]
pub struct Request<B> {
    /// The asker's name for it; unique among those in flight.
    pub id: u32,
    /// What it asks for.
    pub op: Op,
    /// Force unit access: a write is durable when it completes.
    pub fua: bool,
    /// Latency class.
    pub class: Class,
    /// A read rather fails than waits for the disk's own work; see
    /// [`Command::fail_fast`](tailcut_base::Command::fail_fast).
    pub fail_fast: bool,
    /// First block; 0 for a flush.
    pub block: u64,
    /// Number of blocks; at least 1 except for a flush.
    pub blocks: u32,
    /// Of a write: the content of each block. Otherwise empty; its memory is used for the answer.
    pub data: Vec<B>,
}

impl<B> Request<B> {
    /// What it is to a drive, under another name: the blocks count from the drive's first sector, and what is written has no fingerprint yet.
    #[inline]
    pub fn command(&self, id: CommandId) -> Command {
        Command {
            id,
            op: self.op,
            fua: self.fua,
            class: self.class,
            fail_fast: self.fail_fast,
            stream: 0,
            sector: self.block * BLOCK_SECTORS,
            sectors: self.blocks * BLOCK_SECTORS as u32,
            content: 0,
        }
    }
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Response<B> {
    /// The asker's name for it.
    pub id: u32,
    /// How it ended.
    pub status: Status,
    /// Of a successful read: the content of each block. Otherwise what the request brought along.
    pub data: Vec<B>,
    /// With [`Status::Contended`]: how much longer the disk expects to be taken.
    pub busy_for: Nanos,
    /// Where the time went, from submission to now.
    pub spans: Spans,
}
