//! The written data: every block contains its own number and version in each of its words, so that any read
//! identifies the write that it comes from, or proves that no write can have made it.

use tailcut_base::random::mix64;
use tailcut_host::disk::BLOCK_BYTES;
use tailcut_host::{Block, Bytes};

/// A write of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the block that was written.
    pub block: u64,
    /// Number of the write among those of the run, from 1.
    pub version: u32,
}

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but zeros: never written, or trimmed.
    Zeros,
    /// The content of one write, whole.
    Written(Stamp),
    /// What no write has written; it begins as this one would, and differs at this byte.
    Foreign {
        /// The stamp in its first words, whether or not it is true.
        claims: Stamp,
        /// The first byte that such a write would not have written.
        differs_at: usize,
    },
}

const WORD: usize = 8;
const WORDS: usize = BLOCK_BYTES as usize / WORD;

impl Stamp {
    /// The content that the write gives its block.
    pub fn content(self) -> Bytes {
        let mut bytes = Bytes::default();
        for (index, word) in bytes.as_mut_slice().chunks_exact_mut(WORD).enumerate() {
            word.copy_from_slice(&self.word(index).to_le_bytes());
        }
        bytes
    }

    /// The first two words contain block and version, the others follow from them.
    fn word(self, index: usize) -> u64 {
        match index {
            0 => self.block | MARK,
            1 => u64::from(self.version),
            _ => mix64(self.block << 32 ^ u64::from(self.version) ^ (index as u64) << 55),
        }
    }

    /// The write that the first words of a block name, whether or not that is true.
    #[expect(clippy::missing_panics_doc, reason = "the slices are words of eight bytes")]
    pub fn claimed(block: &Bytes) -> Stamp {
        let word = |index: usize| {
            let bytes = &block.as_slice()[index * WORD..][..WORD];
            u64::from_le_bytes(bytes.try_into().expect("a word has eight bytes"))
        };
        Stamp { block: word(0) & !MARK, version: word(1) as u32 }
    }

    /// Identifies the content of a block.
    #[expect(clippy::missing_panics_doc, reason = "a block of bytes has words of eight bytes")]
    pub fn read(block: &Bytes) -> Content {
        let bytes = block.decode().expect("bytes are kept");
        let word = |index: usize| {
            u64::from_le_bytes(bytes[index * WORD..][..WORD].try_into().expect("a word has eight bytes"))
        };
        if (0..WORDS).all(|index| word(index) == 0) {
            return Content::Zeros;
        }
        let claims = Stamp { block: word(0) & !MARK, version: word(1) as u32 };
        match (0..WORDS).find(|&index| word(index) != claims.word(index)) {
            None => Content::Written(claims),
            Some(index) => Content::Foreign { claims, differs_at: index * WORD },
        }
    }
}

/// Set in the first word, so that block 0 does not look unwritten.
const MARK: u64 = 0x7A11_C070 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_which_write_it_comes_from() {
        let stamp = Stamp { block: 0, version: 1 };
        assert_eq!(Stamp::read(&stamp.content()), Content::Written(stamp));
        assert_eq!(Stamp::read(&Bytes::default()), Content::Zeros);
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let stamp = Stamp { block: 12, version: 99 };
        for at in 0..BLOCK_BYTES as usize {
            let mut bytes = stamp.content();
            bytes.as_mut_slice()[at] ^= 4;
            assert!(matches!(Stamp::read(&bytes), Content::Foreign { .. } | Content::Written(_)));
            assert_ne!(Stamp::read(&bytes), Content::Written(stamp), "byte {at}");
        }
    }

    #[test]
    fn two_versions_in_one_block_are_noticed() {
        let (old, new) = (Stamp { block: 5, version: 1 }, Stamp { block: 5, version: 2 });
        let mut torn = old.content();
        torn.as_mut_slice()[..512].copy_from_slice(&new.content().as_slice()[..512]);
        assert_eq!(Stamp::read(&torn), Content::Foreign { claims: new, differs_at: 512 });
    }
}
