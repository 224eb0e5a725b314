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
    /// Ways to read each block that do not share a drive: 1 without redundancy, 2 with a parity. See
    /// [`Mirror`].
    pub copies: u8,
}

impl Disk {
    /// What a device says of itself, in blocks; a part of a block at its end is left unused.
    pub fn of(identity: &Identify) -> Disk {
        Disk {
            blocks: identity.sectors / BLOCK_SECTORS,
            depth: identity.queue_depth.max(1),
            most_blocks: (u64::from(identity.max_sectors) / BLOCK_SECTORS).max(1) as u32,
            volatile_cache: identity.volatile_cache,
            copies: 1,
        }
    }
}

/// Which of a block's copies serves a read.
///
/// A drive without protection information returns wrong bytes with success, and an array believes it. A
/// reader with checksums of its own knows better: it reads copies 0, 1, … below [`Disk::copies`] in turn, as
/// a file system does with the mirror numbers of btrfs, and has the bad ones rewritten once it has found a
/// good one. Where there is a parity, copy 0 is the block itself and copy 1 is computed from the rest of its
/// stripe. Blocks that the array holds in memory come from there, whichever copy is asked for.
///
/// Devices with a single copy ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mirror {
    /// Whichever is best.
    #[default]
    Any,
    /// This one and no other: [`Status::MediaError`] if its drive is missing or fails, or a drive that it is
    /// computed from. [`Status::InvalidField`] for a number at or above [`Disk::copies`].
    Only(u8),
    /// As `Only`, and the other copies are rewritten with it, if it equals the content that the request
    /// brings in its data: what the reader has found to be right. Otherwise nothing is written, because the
    /// blocks have changed since, or the copy has gone bad. The rewritten copies are durable after a flush.
    Repair(u8),
}

impl Mirror {
    /// The copy, if a certain one is asked for.
    #[inline]
    pub fn copy(self) -> Option<usize> {
        match self {
            Mirror::Any => None,
            Mirror::Only(copy) | Mirror::Repair(copy) => Some(usize::from(copy)),
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
    /// Which copy serves a read; [`Mirror::Any`] for everything else.
    pub mirror: Mirror,
    /// First block; 0 for a flush.
    pub block: u64,
    /// Number of blocks; at least 1 except for a flush.
    pub blocks: u32,
    /// Of a write, and of a read that repairs: the content of each block. Otherwise empty; its memory is used
    /// for the answer.
    pub data: Vec<B>,
}

impl<B> Request<B> {
    /// What it is to a drive, under another name: the blocks count from the drive's first sector, and what is
    /// written has no fingerprint yet.
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
