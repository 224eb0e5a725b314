//! The block cache: the least recently used block goes first.

use foldhash::fast::FixedState;
use lru::LruCache;
use std::num::NonZeroUsize;

/// Which blocks of files are in memory. A block that is read by a get enters; merging reads past the
/// cache, and blocks of files that are gone leave by age (both as RocksDB does it).
#[derive(Debug)]
pub struct BlockCache {
    /// By file and block; `None` for a cache without room.
    blocks: Option<LruCache<(u32, u64), (), FixedState>>,
}

impl BlockCache {
    /// An empty cache with room for `blocks` blocks.
    pub fn new(blocks: u64) -> BlockCache {
        let room = NonZeroUsize::new(blocks as usize);
        BlockCache { blocks: room.map(|room| LruCache::with_hasher(room, FixedState::default())) }
    }

    /// True when the block is there; it is then the most recent one.
    pub fn touch(&mut self, file: u32, block: u64) -> bool {
        self.blocks.as_mut().is_some_and(|blocks| blocks.get(&(file, block)).is_some())
    }

    /// The block has been read.
    pub fn insert(&mut self, file: u32, block: u64) {
        if let Some(blocks) = &mut self.blocks {
            blocks.put((file, block), ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_block_leaves() {
        let mut cache = BlockCache::new(2);
        cache.insert(1, 1);
        cache.insert(1, 2);
        assert!(cache.touch(1, 1));
        cache.insert(2, 1);
        assert!(cache.touch(1, 1) && cache.touch(2, 1) && !cache.touch(1, 2));
    }

    #[test]
    fn a_cache_without_room_holds_nothing() {
        let mut cache = BlockCache::new(0);
        cache.insert(1, 1);
        assert!(!cache.touch(1, 1));
    }
}
