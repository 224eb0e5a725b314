//! The content of a block: bytes, or a fingerprint in place of them.

use crate::crc::crc32c;
use crate::disk::BLOCK_BYTES;
use std::cell::RefCell;
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

    /// True when the content is the same, whatever the seals.
    fn is_same(&self, other: &Self) -> bool {
        match (self.decode(), other.decode()) {
            (Some(one), Some(other)) => one == other,
            _ => self == other,
        }
    }

    /// Binds the content to `seal`, a name for the place and age of the block.
    fn seal(&mut self, seal: u64);

    /// The checksum of the content as it was when it was sealed; none if it has no seal.
    fn guard(&self) -> Option<u32> {
        Some(self.checksum())
    }

    /// False for content of a drive that keeps no seals: it counts as intact, whatever it is.
    fn has_seal(&self) -> bool;

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

    fn has_seal(&self) -> bool {
        false
    }

    fn is_intact(&self, _: u64) -> bool {
        true
    }
}

/// 4 KiB of bytes. Copies share them; a block of zeros holds none. Memory that nobody has any more is used
/// again by the thread that has let go of it.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    bytes: Option<Arc<Content>>,
    seal: Seal,
}

/// What is known of a block's seal.
#[derive(Clone, Copy, Debug, Default)]
enum Seal {
    /// It has none.
    #[default]
    Missing,
    /// Guard (CRC-32C of the bytes) and seal.
    Kept(u32, u64),
    /// It comes from a drive that keeps none.
    NotKept,
}

type Content = [u8; BLOCK_BYTES as usize];

static ZEROS: Content = [0; BLOCK_BYTES as usize];

thread_local! {
    /// Memory that is not needed at the moment: blocks come and go too fast for an allocator that looks for
    /// room each time.
    static SPARE: RefCell<Vec<Arc<Content>>> = const { RefCell::new(Vec::new()) };
}

/// Of a thread: 4 MiB, as many as a segment of a log that is given back at once.
const MOST_SPARE: usize = 1024;

/// Memory with this content.
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
        // A thread that ends keeps nothing.
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

    /// What a drive returns that keeps no seals beside its blocks: such a block counts as intact, whatever
    /// seal is asked for, and what was flipped or misplaced is noticed by nobody.
    pub fn unsealed(bytes: &[u8; BLOCK_BYTES as usize]) -> Bytes {
        let bytes = (*bytes != ZEROS).then(|| shared(bytes));
        Bytes { bytes, seal: Seal::NotKept }
    }

    /// True when it is known to be zeros without a look at the bytes.
    pub fn is_hole(&self) -> bool {
        self.bytes.is_none()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8; BLOCK_BYTES as usize] {
        self.bytes.as_deref().unwrap_or(&ZEROS)
    }

    /// The bytes, to be changed behind the back of their seal.
    pub fn as_mut_slice(&mut self) -> &mut [u8; BLOCK_BYTES as usize] {
        Arc::make_mut(self.bytes.get_or_insert_with(|| shared(&ZEROS)))
    }

    /// A block of zeros that holds bytes of its own, to be changed.
    pub fn zeroed() -> Bytes {
        Bytes { bytes: Some(shared(&ZEROS)), seal: Seal::Missing }
    }

    /// The block without its seal, if it holds bytes that no copy shares: it can be written without a copy.
    pub fn reclaim(mut self) -> Option<Bytes> {
        let is_alone = self.bytes.as_mut().is_some_and(|bytes| Arc::get_mut(bytes).is_some());
        self.seal = Seal::Missing;
        is_alone.then_some(self)
    }
}

/// The same bytes under the same seal. A seal that was never made and one that was not kept are alike here:
/// a block of zeros is one, whichever drive it comes from.
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

    fn checksum(&self) -> u32 {
        crc32c(self.as_slice())
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
        let mut block = Bytes::unsealed(&[7; BLOCK_BYTES as usize]);
        assert!(block.is_intact(1) && block.is_intact(2) && !block.is_hole());
        block.seal(1);
        assert!(block.is_intact(1) && !block.is_intact(2));
        assert!(Bytes::unsealed(&ZEROS).is_hole() && Bytes::unsealed(&ZEROS) == Bytes::default());
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
