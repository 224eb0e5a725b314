//! Blocks and lists of blocks that are not needed at the moment.

use crate::block::Bytes;

/// Keeps what was used, so that requests need no allocation once a few were served. Bounded: what is too much
/// is given back to the system.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Vec<Bytes>,
    lists: Vec<Vec<Bytes>>,
}

impl Pool {
    /// A block of its own, with unspecified content.
    pub fn block(&mut self) -> Bytes {
        self.blocks.pop().unwrap_or_else(Bytes::zeroed)
    }

    /// An empty list.
    pub fn list(&mut self) -> Vec<Bytes> {
        self.lists.pop().unwrap_or_default()
    }

    /// Takes a list back, and those of its blocks that nobody else has.
    pub fn take_back(&mut self, mut list: Vec<Bytes>) {
        for block in list.drain(..) {
            if self.blocks.len() < MOST_BLOCKS
                && let Some(block) = block.reclaim()
            {
                self.blocks.push(block);
            }
        }
        if self.lists.len() < MOST_LISTS && (1..=MOST_LENGTH).contains(&list.capacity()) {
            self.lists.push(list);
        }
    }
}

/// 16 MiB.
const MOST_BLOCKS: usize = 4096;
const MOST_LISTS: usize = 1024;
/// Lists of 1 MiB of data; longer ones are rare and large.
const MOST_LENGTH: usize = 256;
