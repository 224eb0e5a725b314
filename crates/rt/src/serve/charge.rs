//! Cost of a request: bytes of memory until its reply is sent, and work of the service's thread.

use tailcut_host::BLOCK_BYTES;
use tailcut_host::wire::nbd::{Command, Header, Refusal};

/// Bytes of the [`budget`](super::budget) that a request is charged until its reply is sent: the blocks that
/// its data covers, the extents of a block status, and [`OVERHEAD`] for each request and its reply.
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

/// Blocks that the drive has to visit for a trim or a request for zeros; zero for other requests.
pub fn blocks_to_clear(header: &Header, command: Result<Command, Refusal>) -> u64 {
    match command {
        Ok(Command::Trim | Command::Zero) => u64::from(header.length).div_ceil(BLOCK_BYTES),
        _ => 0,
    }
}

/// Extents looked up for block status requests in one iteration of a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups {
    extents: u64,
    blocks: u64,
}

impl Lookups {
    /// True if another request may be answered in this iteration. A request looks up at most [`MOST_EXTENTS`]
    /// and [`MOST_LOOKED_AT`], so an iteration costs less than twice that.
    pub fn has_room(&self) -> bool {
        self.extents < MOST_EXTENTS as u64 && self.blocks < MOST_LOOKED_AT
    }

    /// Counts an extent that was looked up.
    pub fn count(&mut self, blocks: u64) {
        self.extents += 1;
        self.blocks += blocks;
    }
}

/// Maximum extents looked up for one block status request, and so in one reply. Some file systems take a few
/// microseconds for each, others a hundred. A server may return less than was requested (the standard,
/// `NBD_CMD_BLOCK_STATUS`).
pub const MOST_EXTENTS: usize = 64;
/// Maximum blocks looked up for one block status request: 256 MiB.
pub const MOST_LOOKED_AT: u64 = 65_536;
/// Maximum blocks of trims and requests for zeros in flight, unless a single one has more: 256 MiB. What the
/// drive has been given is carried out, also by a shutdown, and an array writes parity for it.
pub const MOST_CLEARED: u64 = 65_536;
/// Bytes per extent in a reply.
const EXTENT_BYTES: u64 = 8;
/// Bytes that a request and its reply take in this server's queues, beside data and extents.
pub const OVERHEAD: u64 = 512;
