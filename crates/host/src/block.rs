//! The content of a block: bytes, or a fingerprint in their place.

use crate::disk::BLOCK_LEN;
use std::cell::RefCell;
use std::sync::Arc;
use tailcut_base::cast::low_u32;
use twox_hash::XxHash3_64;

/// The content of a block of 4 KiB with its *seal*: metadata that a drive keeps beside the data of each block
/// to verify that it is still the block that was written (protection information: NVMe base specification,
/// end-to-end data protection). The default is a block of zeros without a seal.
pub trait Block: Clone + Default + PartialEq + std::fmt::Debug {
    /// Combines the content with `other` by exclusive or. The seal is dropped.
    fn xor(&mut self, other: &Self);

    /// A checksum of the content, which tells its versions apart wherever metadata describes a block: block
    /// checksums, journals, descriptors, summaries.
    fn checksum(&self) -> u32;

    /// A block with `bytes` (at most [`BLOCK_LEN`]), padded with zeros.
    fn encode(bytes: &[u8]) -> Self;

    /// The bytes; None if the block keeps a fingerprint only.
    fn decode(&self) -> Option<&[u8]>;

    /// True if the contents are equal, whatever the seals.
    fn is_same(&self, other: &Self) -> bool {
        match (self.decode(), other.decode()) {
            (Some(one), Some(other)) => one == other,
            _ => self == other,
        }
    }

    /// Binds the content to `seal`, which identifies the place and age of the block.
    fn seal(&mut self, seal: u64);

    /// Checksum of the content at the time it was sealed; None without a seal.
    fn guard(&self) -> Option<u32> {
        Some(self.checksum())
    }

    /// False for content from a drive without protection information: it counts as intact, whatever it is.
    fn has_seal(&self) -> bool;

    /// True if the content is unchanged since it was sealed with exactly this seal; a block that was never
    /// written has no seal and is not intact.
    fn is_intact(&self, seal: u64) -> bool;
}

/// A number in place of the data, for runs that only measure time. It has no metadata and no seal.
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

    fn has_seal(&self) -> bool {
        false
    }

    fn is_intact(&self, _: u64) -> bool {
        true
    }
}

/// A block of 4 KiB of bytes. Clones share them; a block of zeros holds none. Memory without references is
/// reused by the thread that dropped it.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    bytes: Option<Arc<Content>>,
    seal: Seal,
}

/// State of a block's seal.
#[derive(Clone, Copy, Debug, Default)]
enum Seal {
    /// No seal.
    #[default]
    Missing,
    /// Guard (checksum of the bytes) and seal.
    Kept(u32, u64),
    /// The block comes from a drive without protection information.
    NotKept,
}

type Content = [u8; BLOCK_LEN];

static ZEROS: Content = [0; BLOCK_LEN];

thread_local! {
    /// Spare memory of a thread: blocks come and go too fast for a general allocator.
    static SPARE: RefCell<Vec<Arc<Content>>> = const { RefCell::new(Vec::new()) };
}

/// Spare blocks per thread: 4 MiB, as many as a segment of a log that is freed at once.
const MOST_SPARE: usize = 1024;

/// Shared memory with this content.
fn shared(content: &Content) -> Arc<Content> {
    let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
    let Some(mut spare) = spare else { return Arc::new(*content) };
    Arc::get_mut(&mut spare).expect("nobody else has it").copy_from_slice(content);
    spare
}

impl Drop for Bytes {
    fn drop(&mut self) {
        let Some(mut bytes) = self.bytes.take() else { return };
        if Arc::get_mut(&mut bytes).is_none() {
            return;
        }
        // A thread that is ending keeps no spare memory.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MOST_SPARE {
                spare.push(bytes);
            }
        });
    }
}

impl Bytes {
    /// A block of zeros without a seal, which takes no memory.
    pub const ZEROS: Bytes = Bytes { bytes: None, seal: Seal::Missing };

    /// A block from a drive without protection information: it counts as intact for any seal, and flipped or
    /// misplaced data is not detected.
    pub fn unsealed(bytes: &[u8; BLOCK_LEN]) -> Bytes {
        let bytes = (*bytes != ZEROS).then(|| shared(bytes));
        Bytes { bytes, seal: Seal::NotKept }
    }

    /// True if the block is known to be zeros without an examination of its bytes.
    pub fn is_hole(&self) -> bool {
        self.bytes.is_none()
    }

    /// The content of the block; zeros for a hole.
    pub fn as_slice(&self) -> &[u8; BLOCK_LEN] {
        self.bytes.as_deref().unwrap_or(&ZEROS)
    }

    /// The bytes, mutable; does not update the seal.
    pub fn as_mut_slice(&mut self) -> &mut [u8; BLOCK_LEN] {
        Arc::make_mut(self.bytes.get_or_insert_with(|| shared(&ZEROS)))
    }

    /// A block of zeros with its own memory, to be modified.
    pub fn zeroed() -> Bytes {
        Bytes { bytes: Some(shared(&ZEROS)), seal: Seal::Missing }
    }

    /// The block without its seal, if its bytes are not shared, so that it can be modified without a copy.
    pub fn reclaim(mut self) -> Option<Bytes> {
        let is_alone = self.bytes.as_mut().is_some_and(|bytes| Arc::get_mut(bytes).is_some());
        self.seal = Seal::Missing;
        is_alone.then_some(self)
    }
}

/// Equal bytes and equal seals. A missing seal equals one that was not kept: blocks of zeros are equal,
/// whichever drive they come from.
impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        let kept = |seal: Seal| if let Seal::Kept(guard, seal) = seal { Some((guard, seal)) } else { None };
        kept(self.seal) == kept(other.seal) && self.bytes == other.bytes
    }
}

impl Eq for Bytes {}

impl Block for Bytes {
    fn xor(&mut self, other: &Bytes) {
        self.seal = Seal::Missing;
        if let Some(other) = &other.bytes {
            for (mine, theirs) in self.as_mut_slice().iter_mut().zip(other.iter()) {
                *mine ^= theirs;
            }
        }
    }

    /// The lower half of XXH3-64. Not a CRC: content that ends with its own CRC, as that of databases and
    /// file systems often does, would have the same one in all of its versions.
    fn checksum(&self) -> u32 {
        low_u32(XxHash3_64::oneshot(self.as_slice()))
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
        self.seal = Seal::Kept(self.checksum(), seal);
    }

    fn guard(&self) -> Option<u32> {
        if let Seal::Kept(guard, _) = self.seal { Some(guard) } else { None }
    }

    fn has_seal(&self) -> bool {
        !matches!(self.seal, Seal::NotKept)
    }

    fn is_intact(&self, seal: u64) -> bool {
        match self.seal {
            Seal::Missing => false,
            Seal::Kept(guard, kept) => (guard, kept) == (self.checksum(), seal),
            Seal::NotKept => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc::crc32c;

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
    fn a_drive_without_seals_is_believed_until_its_block_is_sealed() {
        let mut block = Bytes::unsealed(&[7; BLOCK_LEN]);
        assert!(block.is_intact(1) && block.is_intact(2) && !block.is_hole());
        block.seal(1);
        assert!(block.is_intact(1) && !block.is_intact(2));
        assert!(Bytes::unsealed(&ZEROS).is_hole() && Bytes::unsealed(&ZEROS) == Bytes::default());
    }

    /// A CRC-32C of all that precedes it, or inverted: both are common, and either makes a CRC-32C constant.
    #[test]
    fn versions_that_end_with_a_checksum_of_their_own_differ() {
        let version = |number: u8, end: usize, flip: u32| {
            let mut block = Bytes::encode(&vec![number; end]);
            let own = crc32c(&block.as_slice()[..end]) ^ flip;
            block.as_mut_slice()[end..end + 4].copy_from_slice(&own.to_le_bytes());
            block
        };
        for (end, flip) in [(96, 0), (4092, 0), (96, u32::MAX), (4092, u32::MAX)] {
            let [one, other] = [1, 2].map(|number| version(number, end, flip));
            assert_eq!(crc32c(one.as_slice()), crc32c(other.as_slice()), "CRC-32C at {end}");
            assert_ne!(one.checksum(), other.checksum(), "at {end}");
        }
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
