//! The superblock of a member: its description of the array, in its first two blocks.
//!
//! Format 4, little-endian: magic (8 bytes), CRC-32C of the rest of the block (u32), format (u32), then
//! identity of the array (u128), generation (u64), blocks used on each drive (u64), layout, drives, groups
//! and own number (u32 each), 8 numbers of the layout that never change and 8 that do (u64 each), then for
//! each of [`MEMBERS_MAX`] members its identity (u128), and for each its presence (1 byte); zeros up to the
//! end. The two copies are written in turn, so one of them is always whole.
//!
//! Formats 1 to 3 had the format in place of the checksum, and identified blocks of data by their CRC-32C;
//! they are refused (docs/decisions/block-checksums.md).

use super::DriveId;
use super::config::LayoutKind;
use super::drives::Presence;
use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;
use tailcut_base::cast::{low_u64, to_u32};
use tailcut_base::config::Choice;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::mix64;

/// Blocks for the superblock at the start of a drive.
pub const SUPERBLOCK_BLOCKS: u64 = 2;

/// The superblock format that this program reads and writes.
pub const FORMAT: u32 = 4;

/// Largest number of members of an array that keeps superblocks: their identities must fit in one block.
pub const MEMBERS_MAX: usize = 224;

const MAGIC: [u8; 8] = *b"tailcutA";
const NUMBERS: usize = 8;

/// Index of the layout number that is 1 if a layout that writes in place keeps checksums.
pub(super) const CHECKSUMS: usize = 3;

/// Bytes before the tables: header, identity of the array, generation, blocks, four counts.
const HEAD: usize = 16 + 16 + 8 + 8 + 16;
const LENGTH: usize = HEAD + 2 * NUMBERS * 8 + MEMBERS_MAX * (16 + 1);

/// Identity of a member: random, assigned when the array is created and anew when the member is replaced. A
/// drive keeps it as long as it is this member, so a replaced drive is never mistaken for its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberId(u128);

impl MemberId {
    /// The first digits of the identity, by which an operator can tell drives apart.
    pub fn short(self) -> String {
        format!("{:08x}", (self.0 >> 96) as u32)
    }

    /// The identity as a number.
    pub(super) fn bits(self) -> u128 {
        self.0
    }

    /// An identity from 128 random bits.
    pub fn new(random: u128) -> MemberId {
        MemberId(random.max(1))
    }

    /// The first identity of a member, derived from that of its array, which is random.
    pub fn first(array: u128, member: DriveId) -> MemberId {
        let mixed = |half: u64| u128::from(mix64(half ^ mix64(u64::from(member.get()) + 1)));
        MemberId::new(mixed(low_u64(array >> 64)) << 64 | mixed(low_u64(array)))
    }
}

/// The superblock of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSuperblock {
    /// Random identity of the array, shared by the superblocks of all members.
    pub array: u128,
    /// Counts the changes of the superblock: the highest is the latest.
    pub generation: u64,
    /// Blocks of each drive that the array uses.
    pub drive_blocks: u64,
    /// How blocks of the host are placed on the members.
    pub layout: LayoutKind,
    /// Number of R-groups that the drives are divided into; 1 for a RAID.
    pub groups: u32,
    /// Number of the drive among the members, from 0.
    pub member: DriveId,
    /// State of each member: in sync, being rebuilt, or missing.
    pub presence: IdVec<DriveId, Presence>,
    /// Random identity of the drive in the place of each member.
    pub ids: IdVec<DriveId, MemberId>,
    /// Parameters of the layout that are fixed at creation.
    pub shape: [u64; NUMBERS],
    /// State that the layout needs at the next opening.
    pub state: [u64; NUMBERS],
}

/// Why a block is not a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSuperblock {
    /// The block holds other data, or none.
    Foreign,
    /// All zeros: the drive is blank.
    Blank,
    /// The block holds a superblock that is damaged.
    Damaged,
    /// A superblock of another format.
    Format(u32),
}

impl MemberSuperblock {
    /// Identity of the drive that this superblock is on.
    pub fn own_id(&self) -> MemberId {
        self.ids[self.member]
    }

    /// True for a layout that writes in place and keeps checksums of its blocks (see `integrity`).
    pub(super) fn has_checksums_in_place(&self) -> bool {
        self.layout.is_in_place() && self.shape[CHECKSUMS] != 0
    }

    /// What differs between superblocks of one array although it is fixed when an array is created.
    pub(super) fn fixed_difference(&self, other: &MemberSuperblock) -> Option<&'static str> {
        [
            (self.layout != other.layout, "layout"),
            (self.groups != other.groups, "number of R-groups"),
            (self.drive_blocks != other.drive_blocks, "number of blocks used of each drive"),
            (self.shape != other.shape, "geometry"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }

    /// Encodes the superblock as the bytes of a block.
    ///
    /// # Panics
    /// If the array has more than [`MEMBERS_MAX`] members.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.presence.len() <= MEMBERS_MAX, "checked when the array is made or opened");
        let mut bytes = Vec::with_capacity(BLOCK_LEN);
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(self.array.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.drive_blocks.to_le_bytes());
        let counts =
            [to_u32(self.layout.index()), to_u32(self.presence.len()), self.groups, self.member.get()];
        bytes.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        bytes.extend(self.shape.iter().chain(&self.state).flat_map(|number| number.to_le_bytes()));
        let id = |member| self.ids.get(member).map_or(0, |id: &MemberId| id.0).to_le_bytes();
        bytes.extend(DriveId::first(MEMBERS_MAX).flat_map(id));
        let presence = |member| self.presence.get(member).map_or(0, |&presence| 1 + presence as u8);
        bytes.extend(DriveId::first(MEMBERS_MAX).map(presence));
        assert_eq!(bytes.len(), LENGTH);
        bytes.resize(BLOCK_LEN, 0);
        seal(&mut bytes);
        bytes
    }

    /// Decodes a superblock from a block.
    ///
    /// # Errors
    /// Why the block is not a superblock.
    pub fn decode(bytes: &[u8]) -> Result<MemberSuperblock, NoSuperblock> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(NoSuperblock::Blank);
        }
        let mut fields = Fields { bytes, at: 0 };
        if fields.take::<8>()? != MAGIC {
            return Err(NoSuperblock::Foreign);
        }
        let sum = u32::from_le_bytes(fields.take()?);
        if (1..FORMAT).contains(&sum) {
            return Err(NoSuperblock::Format(sum));
        }
        if bytes.len() < LENGTH || crc32c(&bytes[COVERED..]) != sum {
            return Err(NoSuperblock::Damaged);
        }
        match u32::from_le_bytes(fields.take()?) {
            FORMAT => fields.body().ok_or(NoSuperblock::Damaged),
            other => Err(NoSuperblock::Format(other)),
        }
    }
}

/// Offset of the first byte that the checksum covers; it precedes that byte.
const COVERED: usize = MAGIC.len() + 4;

/// Computes the checksum of an encoded superblock.
fn seal(bytes: &mut [u8]) {
    let sum = crc32c(&bytes[COVERED..]);
    bytes[MAGIC.len()..COVERED].copy_from_slice(&sum.to_le_bytes());
}

/// Reads fields in sequence.
struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], NoSuperblock> {
        let field = self.bytes.get(self.at..self.at + N).ok_or(NoSuperblock::Foreign)?;
        self.at += N;
        Ok(field.try_into().expect("the length is N"))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().ok().map(u64::from_le_bytes)
    }

    fn numbers(&mut self) -> Option<[u64; NUMBERS]> {
        let mut numbers = [0; NUMBERS];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }

    fn presences(&mut self, drives: usize) -> Option<IdVec<DriveId, Presence>> {
        let all = self.take::<MEMBERS_MAX>().ok()?;
        all.get(..drives)?.iter().map(|&byte| presence_of(byte)).collect()
    }

    fn ids(&mut self, drives: usize) -> Option<IdVec<DriveId, MemberId>> {
        let all = self.take::<{ MEMBERS_MAX * 16 }>().ok()?;
        let id = |bytes: &[u8]| MemberId(u128::from_le_bytes(bytes.try_into().expect("they are 16")));
        Some(all.get(..drives * 16)?.chunks_exact(16).map(id).collect())
    }

    fn body(&mut self) -> Option<MemberSuperblock> {
        let array = u128::from_le_bytes(self.take().ok()?);
        let (generation, drive_blocks) = (self.u64()?, self.u64()?);
        let layout = *LayoutKind::all().get(self.u32()? as usize)?;
        let (drives, groups, member) = (self.u32()? as usize, self.u32()?, self.u32()?);
        if member as usize >= drives || groups == 0 || groups as usize > drives {
            return None;
        }
        let (shape, state) = (self.numbers()?, self.numbers()?);
        let (ids, presence) = (self.ids(drives)?, self.presences(drives)?);
        let member = DriveId::new(member);
        let superblock = MemberSuperblock {
            array,
            generation,
            drive_blocks,
            layout,
            groups,
            member,
            presence,
            ids,
            shape,
            state,
        };
        Some(superblock)
    }
}

fn presence_of(byte: u8) -> Option<Presence> {
    [Presence::InSync, Presence::Rebuilding, Presence::Missing].into_iter().find(|&p| 1 + p as u8 == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> MemberSuperblock {
        MemberSuperblock {
            array: 77,
            generation: 5,
            drive_blocks: 1000,
            layout: LayoutKind::Swan4,
            groups: 2,
            member: DriveId::new(3),
            presence: IdVec::from_iter([
                Presence::InSync,
                Presence::Missing,
                Presence::InSync,
                Presence::Rebuilding,
            ]),
            ids: DriveId::first(4).map(|member| MemberId::first(77, member)).collect(),
            shape: [1, 2, 3, 4, 5, 6, 7, 8],
            state: [9; 8],
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        assert_eq!(MemberSuperblock::decode(&superblock().encode()), Ok(superblock()));
        const { assert!(LENGTH <= 4096) };
    }

    #[test]
    fn members_have_identities_of_their_own() {
        let ids: Vec<MemberId> = (0..8).map(|n| MemberId::first(n / 4, DriveId::new(n as u32 % 4))).collect();
        let is_unique = |id: &MemberId| ids.iter().filter(|other| *other == id).count() == 1;
        assert!(ids.iter().all(is_unique), "{ids:?}");
        assert_ne!(MemberId::new(0).bits(), 0);
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        assert_eq!(MemberSuperblock::decode(&[0; 4096]), Err(NoSuperblock::Blank));
        assert_eq!(MemberSuperblock::decode(&[7; 4096]), Err(NoSuperblock::Foreign));
        let mut other = superblock().encode();
        other[COVERED] = 5;
        assert_eq!(
            MemberSuperblock::decode(&other),
            Err(NoSuperblock::Damaged),
            "the checksum covers the format"
        );
        seal(&mut other);
        assert_eq!(MemberSuperblock::decode(&other), Err(NoSuperblock::Format(5)));
        for old in 1..FORMAT {
            other[8..12].copy_from_slice(&old.to_le_bytes());
            assert_eq!(MemberSuperblock::decode(&other), Err(NoSuperblock::Format(old)));
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let good = superblock().encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(MemberSuperblock::decode(&bad).is_err(), "byte {at}");
        }
    }

    #[test]
    fn numbers_that_make_no_array_are_refused_whatever_their_checksum() {
        for (at, value) in [(52, 0), (52, 10_000), (56, 0), (56, 5), (60, 4), (48, 99)] {
            let mut bad = superblock().encode();
            bad[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            seal(&mut bad);
            assert_eq!(MemberSuperblock::decode(&bad), Err(NoSuperblock::Damaged), "{value} at {at}");
        }
    }
}
