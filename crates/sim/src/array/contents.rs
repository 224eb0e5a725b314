//! The content of a simulated drive, as fingerprints.

use tailcut_base::table::Table;
use tailcut_base::{CommandId, Op};
use tailcut_host::{Fingerprint, Request};

/// The fingerprint of each block of a drive, and the data of requests in flight.
#[derive(Debug)]
pub(super) struct Contents {
    blocks: Table<u32>,
    /// The data with which each request in flight will be answered, by its name.
    in_flight: Vec<Vec<Fingerprint>>,
}

impl Contents {
    /// An empty drive of `blocks` blocks.
    pub(super) fn new(blocks: u64) -> Contents {
        Contents { blocks: Table::new(blocks as usize), in_flight: Vec::new() }
    }

    /// The drive has taken a request.
    #[inline]
    pub(super) fn submitted(&mut self, request: Request<Fingerprint>) {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        match op {
            Op::Read => data.extend(self.blocks[range].iter().map(|&block| Fingerprint(block))),
            Op::Write => {
                for (block, content) in self.blocks[range].iter_mut().zip(&data) {
                    *block = content.0;
                }
            }
            Op::Trim => self.blocks[range].fill(0),
            Op::Flush => {}
        }
        let slot = id as usize;
        if slot >= self.in_flight.len() {
            self.in_flight.resize_with(slot + 1, Vec::new);
        }
        self.in_flight[slot] = data;
    }

    /// The drive has completed a request: the data that goes back with the answer.
    #[inline]
    pub(super) fn completed(&mut self, id: CommandId) -> Vec<Fingerprint> {
        std::mem::take(&mut self.in_flight[id.0 as usize])
    }
}
