//! The content of a block: bytes, or a fingerprint in place of them.

use crate::disk::BLOCK_BYTES;
use std::sync::Arc;

/// The content of a block of 4 KiB with its *seal*: what a drive keeps beside the data of each
/// block to tell whether it is still the block that was written (protection information: NVMe base
/// specification, end-to-end data protection). The default is a block of zeros without a seal.
pub trait Block: Clone + Default + PartialEq + std::fmt::Debug {
    /// Adds `other` by exclusive or. The seal is none of the content and is lost.
    fn xor(&mut self, other: &Self);

    /// A checksum of the content, for summaries and journals.
    fn checksum(&self) -> u32;

    /// A block that holds `bytes` (at most [`BLOCK_BYTES`]) and zeros behind them.
    fn encode(bytes: &[u8]) -> Self;

    /// The bytes, where they are kept.
    fn decode(&self) -> Option<&[u8]>;

    /// Binds the content to `seal`, a name for the place and age of the block.
    fn seal(&mut self, seal: u64);

    /// True when the content is what was sealed, under this very seal; a block that was never
    /// written has none and is not intact.
    fn is_intact(&self, seal: u64) -> bool;
}

/// A number in place of the data, for runs that only want timing. It keeps no metadata and no seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(pub u32);

impl Block for Fingerprint {
    #[inline]
    fn xor(&mut self, other: &Fingerprint) {
        self.0 ^= other.0;
    }

    #[inline]
    fn checksum(&self) -> u32 {
        self.0
    }

    fn encode(bytes: &[u8]) -> Fingerprint {
        Fingerprint(bytes.iter().fold(1, |sum: u32, &byte| sum.wrapping_mul(0x0100_0193) ^ u32::from(byte)))
    }

    fn decode(&self) -> Option<&[u8]> {
        None
    }

    fn seal(&mut self, _: u64) {}

    fn is_intact(&self, _: u64) -> bool {
        true
    }
}

/// 4 KiB of bytes. Copies share them; a block of zeros holds none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    bytes: Option<Arc<[u8; BLOCK_BYTES as usize]>>,
    /// Guard (CRC-32C of the bytes) and seal.
    sealed: Option<(u32, u64)>,
}

static ZEROS: [u8; BLOCK_BYTES as usize] = [0; BLOCK_BYTES as usize];

impl Bytes {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8; BLOCK_BYTES as usize] {
        self.bytes.as_deref().unwrap_or(&ZEROS)
    }

    /// The bytes, to be changed behind the back of their seal.
    pub fn as_mut_slice(&mut self) -> &mut [u8; BLOCK_BYTES as usize] {
        Arc::make_mut(self.bytes.get_or_insert_with(|| Arc::new(ZEROS)))
    }
}

impl Block for Bytes {
    fn xor(&mut self, other: &Bytes) {
        self.sealed = None;
        if let Some(other) = &other.bytes {
            for (mine, theirs) in self.as_mut_slice().iter_mut().zip(other.iter()) {
                *mine ^= theirs;
            }
        }
    }

    fn checksum(&self) -> u32 {
        crc32c::crc32c(self.as_slice())
    }

    fn encode(bytes: &[u8]) -> Bytes {
        let mut block = Bytes::default();
        block.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        block
    }

    fn decode(&self) -> Option<&[u8]> {
        Some(self.as_slice())
    }

    fn seal(&mut self, seal: u64) {
        self.sealed = Some((self.checksum(), seal));
    }

    fn is_intact(&self, seal: u64) -> bool {
        self.sealed == Some((self.checksum(), seal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_notices_changed_bytes_and_another_place() {
        let mut block = Bytes::encode(b"content");
        assert!(!block.is_intact(7));
        block.seal(7);
        assert!(block.is_intact(7) && !block.is_intact(8));
        block.as_mut_slice()[4095] ^= 1;
        assert!(!block.is_intact(7));
    }

    #[test]
    fn exclusive_or_undoes_itself() {
        let (a, b) = (Bytes::encode(&[1, 2, 3]), Bytes::encode(&[9; 4096]));
        let mut parity = a.clone();
        parity.xor(&b);
        parity.xor(&a);
        assert_eq!(parity.as_slice(), b.as_slice());
        let mut zero = Bytes::default();
        zero.xor(&Bytes::default());
        assert_eq!(zero, Bytes::default());
    }
}
