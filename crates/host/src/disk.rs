//! Disks of 4 KiB blocks: the interface of an array to the layer above, and of its drives.
//!
//! Both sides of an array use the same types. Data travels with requests and responses as a list of
//! [`Block`](crate::Block)s, so the same code moves bytes and fingerprints.

use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::device::Identify;
pub use tailcut_base::device::{BLOCK_BYTES, BLOCK_LEN, BLOCK_SECTORS};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Command, CommandId, Nanos, Op, Spans, Status};

/// Properties of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Number of blocks of 4 KiB that the disk holds.
    pub blocks: u64,
    /// Queue depth: concurrent requests; at least 1.
    pub depth: u32,
    /// Largest number of blocks of a read or write; at least 1.
    pub most_blocks: u32,
    /// Completed writes can be lost in a power loss until they are flushed.
    pub volatile_cache: bool,
    /// Number of ways to read each block that do not share a drive: 1 without redundancy, 2 with parity, and
    /// as many as there are copies. See [`Mirror`].
    pub copies: u8,
    /// Reclaim unit handles that writes can name; 1 on a disk without data placement. See
    /// [`tailcut_base::fdp`].
    pub handles: u32,
}

impl Disk {
    /// Converts the properties of a device to blocks; a partial block at its end is unused.
    pub fn of(identity: &Identify) -> Disk {
        Disk {
            blocks: identity.sectors / BLOCK_SECTORS,
            depth: identity.queue_depth.max(1),
            most_blocks: to_u32((u64::from(identity.max_sectors) / BLOCK_SECTORS).max(1)),
            volatile_cache: identity.volatile_cache,
            copies: 1,
            handles: identity.handles.max(1),
        }
    }
}

/// Which copy of a block serves a read.
///
/// A drive without protection information may return wrong bytes with success, which an array cannot detect.
/// A reader with its own checksums can: it reads copies 0, 1, … below [`Disk::copies`] in turn, as a file
/// system does with the mirror numbers of btrfs, and has the bad ones rewritten once it has found a good one.
/// With parity, copy 0 is the block itself and copy 1 is reconstructed from the rest of its stripe. Blocks
/// that the array holds in memory are returned from there, whichever copy is requested.
///
/// Devices with a single copy ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mirror {
    /// Any copy, chosen by the array.
    #[default]
    Any,
    /// This copy only: [`Status::MediaError`] if its drive, or one that it is reconstructed from, is missing
    /// or fails. [`Status::InvalidField`] for a number at or above [`Disk::copies`].
    Only(u8),
    /// Like `Only`, and overwrites the other copies with it if it equals the data of the request: the content
    /// that the reader has found to be right. Otherwise writes nothing, because the blocks have changed
    /// since, or the copy has gone bad. The rewritten copies are durable after a flush.
    Repair(u8),
}

impl Mirror {
    /// The requested copy; None for any.
    #[inline]
    pub fn copy(self) -> Option<usize> {
        match self {
            Mirror::Any => None,
            Mirror::Only(copy) | Mirror::Repair(copy) => Some(usize::from(copy)),
        }
    }
}

/// A request to a disk.
#[derive(Clone, Debug)]
pub struct Request<B> {
    /// The caller's identifier; unique among requests in flight.
    pub id: u32,
    /// What the disk is to do: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: a write is durable when it completes.
    pub fua: bool,
    /// Latency class, which matters to disks that let urgent reads preempt other work.
    pub class: Class,
    /// Fail-fast: a read fails rather than wait for the disk's own work; see
    /// [`Command::fail_fast`](tailcut_base::Command::fail_fast).
    pub fail_fast: bool,
    /// Which copy serves a read; [`Mirror::Any`] for any other operation.
    pub mirror: Mirror,
    /// The reclaim unit handle by which a write is placed; ignored for any other operation, and by disks
    /// without data placement.
    pub handle: HandleId,
    /// First block; 0 for a flush.
    pub block: u64,
    /// Number of blocks; at least 1 except for a flush.
    pub blocks: u32,
    /// For a write, and for a read that repairs, the content of each block. Otherwise empty; its memory is
    /// reused for the response.
    pub data: Vec<B>,
}

impl<B> Request<B> {
    /// The request as a drive command with identifier `id`: block numbers become sectors, and written data
    /// has no fingerprint yet.
    #[inline]
    pub fn command(&self, id: CommandId) -> Command {
        Command {
            id,
            op: self.op,
            fua: self.fua,
            class: self.class,
            fail_fast: self.fail_fast,
            stream: to_u8(self.handle.get()),
            queue: 0,
            sector: self.block * BLOCK_SECTORS,
            sectors: self.blocks * to_u32(BLOCK_SECTORS),
            content: 0,
        }
    }
}

/// Completion of a request.
#[derive(Clone, Debug)]
pub struct Response<B> {
    /// The caller's identifier, as the request gave it.
    pub id: u32,
    /// Whether the request succeeded, or why it failed.
    pub status: Status,
    /// For a successful read, the content of each block. Otherwise the data of the request.
    pub data: Vec<B>,
    /// With [`Status::Contended`]: how much longer the disk expects to be busy; zero otherwise.
    pub busy_for: Nanos,
    /// Attribution to causes of the time from submission to now.
    pub spans: Spans,
}
