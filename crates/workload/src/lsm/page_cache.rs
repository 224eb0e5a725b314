//! The page cache of the host: the least recently used block of the region goes first.

use super::space::Extent;

/// Which blocks of the region the host has in memory. What is read or written enters, what belongs to a
/// file that is gone leaves. Linux keeps two lists and moves a page to the second when it is used again;
/// here there is one.
///
/// A list through an array with an element per block, so that nothing is hashed or allocated.
#[derive(Clone, Debug, Default)]
pub struct PageCache {
    /// The block before and the block behind each block; an absent block is its own neighbour. The last
    /// element is the head: behind it is the most recent block, before it the oldest. Empty for no cache.
    links: Vec<[u32; 2]>,
    held: u64,
    room: u64,
}

const BEFORE: usize = 0;
const BEHIND: usize = 1;

impl PageCache {
    /// For a region of `blocks` blocks, with room for `room` of them; 0 for no cache.
    ///
    /// # Panics
    /// If `blocks` is 2^32 - 1 or more.
    pub fn new(blocks: u64, room: u64) -> PageCache {
        let elements =
            if room > 0 { u32::try_from(blocks + 1).expect("a region has fewer blocks") } else { 0 };
        PageCache { links: (0..elements).map(|block| [block, block]).collect(), held: 0, room }
    }

    /// Number of blocks in the cache.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// True if there is a page cache.
    pub fn is_on(&self) -> bool {
        self.room > 0
    }

    fn head(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    fn holds(&self, block: u64) -> bool {
        self.is_on() && self.links[block as usize][BEFORE] != block as u32
    }

    /// True when every block of the extent is there; they are then the most recent ones.
    pub fn touch(&mut self, extent: Extent) -> bool {
        let mut blocks = extent.first..extent.first + extent.blocks;
        if !blocks.clone().all(|block| self.holds(block)) {
            return false;
        }
        blocks.by_ref().for_each(|block| {
            self.unlink(block as u32);
            self.link(block as u32);
        });
        true
    }

    /// The blocks have been read or written.
    pub fn insert(&mut self, extent: Extent) {
        if !self.is_on() {
            return;
        }
        for block in extent.first..extent.first + extent.blocks {
            if self.holds(block) {
                self.unlink(block as u32);
            } else if self.held == self.room {
                let oldest = self.links[self.head() as usize][BEFORE];
                self.unlink(oldest);
            } else {
                self.held += 1;
            }
            self.link(block as u32);
        }
    }

    /// The blocks belong to no file any more.
    pub fn remove(&mut self, extent: Extent) {
        for block in extent.first..extent.first + extent.blocks {
            if self.holds(block) {
                self.unlink(block as u32);
                self.held -= 1;
            }
        }
    }

    fn unlink(&mut self, block: u32) {
        let [before, behind] = std::mem::replace(&mut self.links[block as usize], [block, block]);
        self.links[before as usize][BEHIND] = behind;
        self.links[behind as usize][BEFORE] = before;
    }

    fn link(&mut self, block: u32) {
        let head = self.head();
        let behind = self.links[head as usize][BEHIND];
        self.links[block as usize] = [head, behind];
        self.links[head as usize][BEHIND] = block;
        self.links[behind as usize][BEFORE] = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use tailcut_base::random::Stream;

    #[test]
    fn it_agrees_with_a_plain_list() {
        let mut stream = Stream::new(1, "page cache");
        let mut cache = PageCache::new(64, 20);
        let mut list: VecDeque<u64> = VecDeque::new();
        for _ in 0..20_000 {
            let first = stream.below(64);
            let extent = Extent { first, blocks: 1 + stream.below((64 - first).min(4)) };
            let blocks = extent.first..extent.first + extent.blocks;
            match stream.below(3) {
                0 => {
                    let all = blocks.clone().all(|block| list.contains(&block));
                    assert_eq!(cache.touch(extent), all);
                    if all {
                        list.retain(|block| !blocks.contains(block));
                        blocks.for_each(|block| list.push_front(block));
                    }
                }
                1 => {
                    cache.insert(extent);
                    for block in blocks {
                        list.retain(|other| *other != block);
                        list.push_front(block);
                        list.truncate(20);
                    }
                }
                _ => {
                    cache.remove(extent);
                    list.retain(|block| !blocks.contains(block));
                }
            }
            assert_eq!(cache.held(), list.len() as u64);
        }
    }

    #[test]
    fn a_cache_without_room_holds_nothing() {
        let mut cache = PageCache::new(1 << 40, 0);
        let block = Extent { first: 7, blocks: 1 };
        cache.insert(block);
        cache.remove(block);
        assert!(!cache.touch(block) && cache.held() == 0);
    }
}
