//! Content of a drive in memory: blocks that share their bytes with writers and readers.

use crate::drive::Extent;
use tailcut_host::Bytes;

/// Blocks per leaf: 2 MiB of the drive.
const LEAF: u64 = 512;

/// The blocks of a drive. Unwritten ranges take 8 bytes per 2 MiB; an allocated block takes its entry in a
/// leaf and its bytes, which are those of the write: nothing is copied, neither on writes nor on reads.
#[derive(Debug)]
pub(super) struct Contents {
    leaves: Vec<Option<Box<Leaf>>>,
    blocks: u64,
}

#[derive(Debug)]
struct Leaf {
    blocks: [Bytes; LEAF as usize],
    /// Number of allocated blocks.
    allocated: u32,
}

impl Leaf {
    fn empty() -> Box<Leaf> {
        Box::new(Leaf { blocks: [const { Bytes::ZEROS }; LEAF as usize], allocated: 0 })
    }

    fn put(&mut self, at: usize, content: Bytes) {
        let before = std::mem::replace(&mut self.blocks[at], content);
        self.allocated += u32::from(is_allocated(&self.blocks[at]));
        self.allocated -= u32::from(is_allocated(&before));
    }
}

/// A trimmed or unwritten block is a block of zeros without protection information.
fn is_allocated(block: &Bytes) -> bool {
    *block != Bytes::ZEROS
}

/// Index of the leaf, and index within it.
fn place(block: u64) -> (usize, usize) {
    ((block / LEAF) as usize, (block % LEAF) as usize)
}

impl Contents {
    /// A drive of zeros with `blocks` blocks.
    pub(super) fn new(blocks: u64) -> Contents {
        let leaves = usize::try_from(blocks.div_ceil(LEAF)).expect("its table fits the address space");
        Contents { leaves: std::iter::repeat_with(|| None).take(leaves).collect(), blocks }
    }

    /// Appends the content of `count` blocks from `first` on.
    pub(super) fn read(&self, first: u64, count: u32, data: &mut Vec<Bytes>) {
        data.extend((first..first + u64::from(count)).map(|block| {
            let (leaf, at) = place(block);
            self.leaves[leaf].as_ref().map_or(Bytes::ZEROS, |leaf| leaf.blocks[at].clone())
        }));
    }

    /// Stores `data` in the blocks from `first` on.
    pub(super) fn write(&mut self, first: u64, data: impl Iterator<Item = Bytes>) {
        for (block, content) in (first..self.blocks).zip(data) {
            let (leaf, at) = place(block);
            self.leaves[leaf].get_or_insert_with(Leaf::empty).put(at, content);
        }
    }

    /// Deallocates these blocks, which read as zeros from now on.
    pub(super) fn trim(&mut self, first: u64, count: u64) {
        let end = first + count;
        let mut block = first;
        while block < end {
            let (leaf, at) = place(block);
            let next = end.min((leaf as u64 + 1) * LEAF);
            self.trim_in(leaf, at..at + (next - block) as usize);
            block = next;
        }
    }

    fn trim_in(&mut self, leaf: usize, range: std::ops::Range<usize>) {
        let Some(blocks) = &mut self.leaves[leaf] else { return };
        for at in range {
            blocks.put(at, Bytes::ZEROS);
        }
        if blocks.allocated == 0 {
            self.leaves[leaf] = None;
        }
    }

    /// The first extent among `count` blocks from `first` on.
    pub(super) fn extent(&self, first: u64, count: u64) -> Extent {
        let is_there = self.is_allocated(first);
        let end = first + count;
        let mut block = first;
        while block < end {
            let (leaf, at) = place(block);
            if self.leaves[leaf].is_some() {
                if self.is_allocated(block) != is_there {
                    break;
                }
                block += 1;
            } else if is_there {
                break;
            } else {
                block = (block - at as u64 + LEAF).min(end);
            }
        }
        Extent { blocks: block - first, is_allocated: is_there, is_zero: !is_there }
    }

    fn is_allocated(&self, block: u64) -> bool {
        let (leaf, at) = place(block);
        self.leaves[leaf].as_ref().is_some_and(|leaf| is_allocated(&leaf.blocks[at]))
    }

    /// Number of blocks that take memory.
    pub(super) fn allocated(&self) -> u64 {
        self.leaves.iter().flatten().map(|leaf| u64::from(leaf.allocated)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;
    use tailcut_host::Block;

    #[test]
    fn it_holds_what_a_plain_list_holds() {
        let blocks = 3 * LEAF + 100;
        let (mut contents, mut plain) = (Contents::new(blocks), vec![Bytes::ZEROS; blocks as usize]);
        let mut random = Stream::new(1, "contents");
        for step in 0..2000u64 {
            let first = random.below(blocks);
            let count = 1 + random.below((blocks - first).min(700));
            let range = first as usize..(first + count) as usize;
            if random.below(3) == 0 {
                contents.trim(first, count);
                plain[range].fill(Bytes::ZEROS);
            } else {
                let data = vec![Bytes::encode(&step.to_le_bytes()); count.min(20) as usize];
                contents.write(first, data.iter().cloned());
                plain[first as usize..first as usize + data.len()].clone_from_slice(&data);
            }
            agrees(&contents, &plain, random.below(blocks));
        }
        contents.trim(0, blocks);
        assert!(contents.leaves.iter().all(Option::is_none));
    }

    fn agrees(contents: &Contents, plain: &[Bytes], from: u64) {
        let mut data = Vec::new();
        contents.read(0, plain.len() as u32, &mut data);
        assert_eq!(data, plain);
        let there = |block: &Bytes| *block != Bytes::ZEROS;
        assert_eq!(contents.allocated(), plain.iter().filter(|block| there(block)).count() as u64);
        let rest = &plain[from as usize..];
        let alike = rest.iter().take_while(|block| there(block) == there(&rest[0])).count() as u64;
        let expected = Extent { blocks: alike, is_allocated: there(&rest[0]), is_zero: !there(&rest[0]) };
        assert_eq!(contents.extent(from, rest.len() as u64), expected);
    }
}
