//! A pool of spare blocks and lists of blocks.

use crate::block::Bytes;

/// Keeps used blocks and lists, so that requests need no allocations after a warm-up. Bounded: the excess is
/// returned to the allocator.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Vec<Bytes>,
    lists: Vec<Vec<Bytes>>,
}

impl Pool {
    /// A block with unshared memory and unspecified content.
    pub fn block(&mut self) -> Bytes {
        self.blocks.pop().unwrap_or_else(Bytes::zeroed)
    }

    /// An empty list of blocks, with memory of a recycled one if there is any.
    pub fn list(&mut self) -> Vec<Bytes> {
        self.lists.pop().unwrap_or_default()
    }

    /// Takes back a list and those of its blocks that are not shared.
    pub fn recycle(&mut self, mut list: Vec<Bytes>) {
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

/// Spare blocks kept: 16 MiB.
const MOST_BLOCKS: usize = 4096;
const MOST_LISTS: usize = 1024;
/// Longest spare list: 1 MiB of data; longer ones are rare and large.
const MOST_LENGTH: usize = 256;
