//! The encoding of checksums and marks in blocks of a drive.
//!
//! Format 1, little-endian: magic (8 bytes; `tailcutB` for checksums, `tailcutG` for marks), CRC-32C of the
//! rest (u32), format (u32), identity of the array (u128), identity of the member (u128), number of the
//! region or of the block of marks (u32), generation of the checksums (u32, 0 in marks), 8 bytes of zeros.
//! Then 1008 checksums (u32, 0 for unknown), or 2016 marks (u16): the generation of the checksums of a region
//! that can be relied on, 0 for a region that is being written.

use super::area::{MarkId, RegionId};
use crate::array::MemberId;
use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;

const FORMAT: u32 = 1;
const HEAD: usize = 8 + 4 + 4 + 16 + 16 + 4 + 4 + 8;

const SUMS_MAGIC: [u8; 8] = *b"tailcutB";
const MARKS_MAGIC: [u8; 8] = *b"tailcutG";

/// Checksums per block: the number of blocks of a region.
pub(super) const SUMS: usize = (BLOCK_LEN - HEAD) / 4;

/// Marks per block.
pub(super) const MARKS: usize = (BLOCK_LEN - HEAD) / 2;

/// Version of a region's checksums: counts how often they were written, modulo 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(u16);

impl Generation {
    /// The checksums on the drive are not valid: the region is dirty.
    pub(super) const NONE: Generation = Generation(0);

    /// The next version; never `NONE`.
    pub(super) fn next(self) -> Generation {
        Generation(self.0.checked_add(1).unwrap_or(1))
    }
}

/// The array and the member that a block of checksums or marks belongs to; a replaced drive has another
/// member identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    array: u128,
    member: MemberId,
}

impl Owner {
    /// The owner of the blocks of this member of an array.
    pub(super) fn new(array: u128, member: MemberId) -> Owner {
        Owner { array, member }
    }

    /// The owner after the member has been replaced by another drive.
    pub(super) fn renewed(self, member: MemberId) -> Owner {
        Owner { member, ..self }
    }

    fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.array.to_le_bytes());
        bytes[16..].copy_from_slice(&self.member.bits().to_le_bytes());
        bytes
    }

    /// Encodes the block of a region's checksums.
    pub(super) fn sums(self, region: RegionId, of: Generation, sums: impl Iterator<Item = u32>) -> Vec<u8> {
        self.block(Kind::Sums(region, of), sums.flat_map(u32::to_le_bytes))
    }

    /// Decodes the checksums of a region; None if the block does not hold those of this generation.
    pub(super) fn sums_of(
        self,
        region: RegionId,
        of: Generation,
        block: &[u8],
    ) -> Option<impl Iterator<Item = u32>> {
        let body = self.body(Kind::Sums(region, of), block)?;
        Some(body.chunks_exact(4).map(|sum| u32::from_le_bytes(sum.try_into().expect("they are 4"))))
    }

    /// Encodes a block of marks.
    pub(super) fn marks(self, mark: MarkId, marks: impl Iterator<Item = Generation>) -> Vec<u8> {
        self.block(Kind::Marks(mark), marks.flat_map(|generation| generation.0.to_le_bytes()))
    }

    /// Decodes the marks in a block; None if it does not hold them.
    pub(super) fn marks_of(self, mark: MarkId, block: &[u8]) -> Option<impl Iterator<Item = Generation>> {
        let body = self.body(Kind::Marks(mark), block)?;
        let generation = |mark: &[u8]| Generation(u16::from_le_bytes(mark.try_into().expect("they are 2")));
        Some(body.chunks_exact(2).map(generation))
    }

    fn block(self, kind: Kind, body: impl Iterator<Item = u8>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_LEN);
        bytes.extend(kind.magic());
        bytes.extend([0; 4]);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(self.bytes());
        bytes.extend(kind.numbers());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes.resize(BLOCK_LEN, 0);
        let sum = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn body(self, kind: Kind, block: &[u8]) -> Option<&[u8]> {
        let is_whole = block.len() == BLOCK_LEN && block[..8] == kind.magic();
        if !is_whole || crc32c(&block[12..]).to_le_bytes() != block[8..12] {
            return None;
        }
        let is_ours = block[12..16] == FORMAT.to_le_bytes() && block[16..48] == self.bytes();
        (is_ours && block[48..56] == kind.numbers()).then(|| &block[HEAD..])
    }
}

/// The type of a block.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Sums(RegionId, Generation),
    Marks(MarkId),
}

impl Kind {
    fn magic(self) -> [u8; 8] {
        match self {
            Kind::Sums(..) => SUMS_MAGIC,
            Kind::Marks(_) => MARKS_MAGIC,
        }
    }

    fn numbers(self) -> [u8; 8] {
        let (number, generation) = match self {
            Kind::Sums(region, generation) => (region.get(), u32::from(generation.0)),
            Kind::Marks(mark) => (mark.get(), 0),
        };
        (u64::from(number) | u64::from(generation) << 32).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner::new(77, MemberId::new(5))
    }

    #[test]
    fn checksums_come_back_for_their_region_and_generation_only() {
        let (region, of) = (RegionId::new(3), Generation(9));
        let block = owner().sums(region, of, (0..1008).map(|sum| sum * 7));
        assert_eq!((block.len(), SUMS, MARKS), (4096, 1008, 2016));
        let sums: Vec<u32> = owner().sums_of(region, of, &block).expect("it is whole").collect();
        assert_eq!((sums[0], sums[1], sums[1007]), (0, 7, 7049));
        assert!(owner().sums_of(RegionId::new(4), of, &block).is_none(), "of another region");
        assert!(owner().sums_of(region, Generation(8), &block).is_none(), "older or newer");
        assert!(owner().renewed(MemberId::new(6)).sums_of(region, of, &block).is_none(), "of another drive");
        assert!(Owner::new(78, MemberId::new(5)).sums_of(region, of, &block).is_none(), "of another array");
        assert!(owner().marks_of(MarkId::new(3), &block).is_none(), "no marks");
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let region = RegionId::new(0);
        let sums = owner().sums(region, Generation(1), (1..=1008).rev());
        let marks = owner().marks(MarkId::new(1), [Generation(4), Generation::NONE].into_iter());
        let found: Vec<Generation> = owner().marks_of(MarkId::new(1), &marks).expect("it is whole").collect();
        assert_eq!((found[0], found[1], found.len()), (Generation(4), Generation::NONE, 2016));
        for at in 0..4096 {
            let (mut sums, mut marks) = (sums.clone(), marks.clone());
            sums[at] ^= 0x20;
            marks[at] ^= 0x20;
            assert!(owner().sums_of(region, Generation(1), &sums).is_none(), "byte {at}");
            assert!(owner().marks_of(MarkId::new(1), &marks).is_none(), "byte {at}");
        }
    }

    #[test]
    fn generations_go_round_without_none() {
        assert_eq!(Generation::NONE.next(), Generation(1));
        assert_eq!(Generation(65_535).next(), Generation(1));
    }
}
