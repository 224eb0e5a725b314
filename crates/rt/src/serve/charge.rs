//! What a request costs: bytes of memory until its reply is sent, and work of the service's thread.

use tailcut_host::BLOCK_BYTES;
use tailcut_host::wire::nbd::{Command, Header, Refusal};

/// Bytes of the [`budget`](super::budget) that a request takes until its reply is sent: the blocks that its
/// data touch, the extents of a block status, and for every request and its reply [`OVERHEAD`].
pub fn charge(header: &Header, command: Result<Command, Refusal>) -> u64 {
    let data = match command {
        Ok(Command::Disconnect) => return 0,
        Ok(Command::Read | Command::Write) => {
            (header.offset % BLOCK_BYTES + u64::from(header.length)).next_multiple_of(BLOCK_BYTES)
        }
        Ok(Command::Status) => EXTENT_BYTES * MOST_EXTENTS as u64,
        _ => 0,
    };
    data + OVERHEAD
}

/// Blocks that a trim or a request for zeros makes the drive go through; none for any other.
pub fn blocks_to_clear(header: &Header, command: Result<Command, Refusal>) -> u64 {
    match command {
        Ok(Command::Trim | Command::Zero) => u64::from(header.length).div_ceil(BLOCK_BYTES),
        _ => 0,
    }
}

/// What requests for block status have looked at in one turn of a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups {
    extents: u64,
    blocks: u64,
}

impl Lookups {
    /// Another request may be answered in this turn. It looks at [`MOST_EXTENTS`] and [`MOST_LOOKED_AT`] at
    /// the most, so a turn costs less than twice that.
    pub fn has_room(&self) -> bool {
        self.extents < MOST_EXTENTS as u64 && self.blocks < MOST_LOOKED_AT
    }

    /// An extent was looked at.
    pub fn count(&mut self, blocks: u64) {
        self.extents += 1;
        self.blocks += blocks;
    }
}

/// Most extents that are looked at for one request for block status, and so the most of one reply. A file
/// system takes some microseconds for each, some a hundred. A server may tell of less than was asked for (the
/// standard, `NBD_CMD_BLOCK_STATUS`).
pub const MOST_EXTENTS: usize = 64;
/// Most blocks that are looked at for one request for block status: 256 MiB.
pub const MOST_LOOKED_AT: u64 = 65_536;
/// Most blocks of trims and requests for zeros that are under way at a time, unless a single one has more: 4
/// GiB.
pub const MOST_CLEARED: u64 = 1 << 20;
/// Bytes of an extent in a reply.
const EXTENT_BYTES: u64 = 8;
/// Bytes that a request and its reply take beside data and extents, in this server's queues.
pub const OVERHEAD: u64 = 512;
