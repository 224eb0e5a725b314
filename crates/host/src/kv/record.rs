//! The encoding of an item: almost the same in memory and on flash.
//!
//! | bytes | what | |
//! | --- | --- | --- |
//! | 0–3 | on flash: CRC-32C of the header and the key, but for `accessed` | see [`Stamp`] |
//! | 4–7 | bytes of the value | |
//! | 8 | bytes of the key | 1 to 250 |
//! | 9 | kind and state | |
//! | 10–11 | on flash: blocks of its segment that were durable when it was appended | at most 65535 |
//! | 12–15 | the client's flags | |
//! | 16–19 | when it expires, in seconds of Unix time | 0 for never |
//! | 20–23 | when it was last asked for, in seconds of Unix time | |
//! | 24–31 | its CAS value | |
//! | 32–39 | in memory: its place on flash, if it has one there | |
//! | 32–35 | on flash: the lower half of the sequence of its segment | |
//! | 36–39 | on flash: CRC-32C of the value | |
//!
//! Key and value follow, and zeros up to a multiple of [`UNIT`]. All numbers are little-endian.
//!
//! Header and key have a checksum separate from the value's, so that a record with a damaged value still
//! proves that its key was written here. The checksum also covers the store's name, the segment number and
//! the whole sequence, so that data of another store, an earlier use of the segment, or a write meant for
//! another segment never counts as a record.

use super::log::SegmentId;
use super::place::UNIT;
use crate::crc::Crc32c;
use std::ops::Range;
use tailcut_base::cast::{low_u8, low_u32, low_u64};

/// The header of a record, before its key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Length of the value in bytes.
    pub value: u32,
    /// Length of the key in bytes; 1 to 250.
    pub key: u8,
    /// Record type and state; see [`State`].
    pub state: State,
    /// The client's flags: 32 bits that are stored with the item and not interpreted.
    pub flags: u32,
    /// Expiry time in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// Time of the last access in seconds of Unix time, as far as known.
    pub accessed: u32,
    /// CAS value of the item: a number that changes with it.
    pub cas: u64,
    /// In memory: encoded place of the same record on flash, or 0. Read from flash: sequence of the record's
    /// segment.
    pub home: u64,
}

/// Bit set of a record's type and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(pub u8);

impl State {
    /// A client has invalidated the item without deleting it (meta protocol: stale).
    pub const STALE: State = State(1);
    /// A client has been granted the right to recache the item (meta protocol: win).
    pub const WIN_SENT: State = State(2);
    /// The item has been read since it was written.
    pub const FETCHED: State = State(4);
    /// A tombstone: the key was deleted. Only on flash.
    pub const TOMBSTONE: State = State(8);

    /// The client sent the key in base64.
    pub const BASE64_KEY: State = State(16);

    /// The value was unreadable when its segment was reclaimed; the record's key is the hash of the item's
    /// key. Only on flash.
    pub const LOST: State = State(32);

    /// Damage may have destroyed a newer version of the item. Only on flash.
    pub const DOUBTED: State = State(64);

    /// An end marker: no record follows in the segment. Only on flash.
    pub const END: State = State(128);

    /// A padding marker: the next record begins in the next block. Zeros would look like lost records.
    /// Only on flash.
    pub const PADDING: State = State(128 | 8);

    /// True if all bits of `other` are set.
    #[inline]
    pub fn has(self, other: State) -> bool {
        self.0 & other.0 == other.0
    }

    /// The state with the bits of `other` set.
    #[inline]
    #[must_use]
    pub fn with(self, other: State) -> State {
        State(self.0 | other.0)
    }

    /// The state with the bits of `other` cleared.
    #[inline]
    #[must_use]
    pub fn without(self, other: State) -> State {
        State(self.0 & !other.0)
    }
}

impl Header {
    /// Length of a header in bytes.
    pub const BYTES: usize = 40;
    const WORDS: usize = Header::BYTES / 8;

    /// Length of the whole record in bytes, including its padding.
    #[inline]
    pub fn record_bytes(&self) -> u64 {
        Header::room(usize::from(self.key), u64::from(self.value))
    }

    /// Length in bytes of a record with a key of `key` bytes and a value of `value` bytes, including its
    /// padding.
    #[inline]
    pub fn room(key: usize, value: u64) -> u64 {
        (Header::BYTES as u64 + key as u64 + value).next_multiple_of(UNIT)
    }

    /// Byte offset of the value in the record.
    #[inline]
    pub fn value_at(&self) -> usize {
        Header::BYTES + usize::from(self.key)
    }

    /// Byte range of the key of a record at byte `at`.
    #[inline]
    pub fn key_range(&self, at: usize) -> Range<usize> {
        at + Header::BYTES..at + self.value_at()
    }

    /// Byte range of the value of a record at byte `at`.
    #[inline]
    pub fn value_range(&self, at: usize) -> Range<usize> {
        at + self.value_at()..at + self.value_at() + self.value as usize
    }

    /// True if the record has expired at `unix`, in seconds of Unix time.
    #[inline]
    pub fn is_expired(&self, unix: u32) -> bool {
        self.expires != 0 && self.expires <= unix
    }

    /// Encodes the header as 64-bit words, as in memory. A load of the same width as a recent store is
    /// forwarded from the store buffer; any other width waits until the store has reached the cache. So
    /// headers are written and read by the word.
    #[inline]
    pub fn words(&self) -> [u64; Header::WORDS] {
        self.words_with(0, 0, self.home)
    }

    /// Encodes the header as 64-bit words, as on flash. `sums` are the checksums of header and key, and of
    /// the value.
    #[inline]
    pub fn words_on_flash(&self, stamp: &Stamp, sums: (u32, u32)) -> [u64; Header::WORDS] {
        self.words_with(sums.0, stamp.durable, stamp.sequence & LOW | u64::from(sums.1) << 32)
    }

    #[inline]
    fn words_with(&self, checksum: u32, durable: u16, last: u64) -> [u64; Header::WORDS] {
        let [lengths, middle] = self.summed(durable);
        // The checksum and the access time surround the fields that the checksum covers.
        [
            u64::from(checksum) | lengths << 32,
            lengths >> 32 | middle << 32,
            middle >> 32 | u64::from(self.accessed) << 32,
            self.cas,
            last,
        ]
    }

    /// The header fields that the checksum covers: lengths, type and state, durable blocks, flags and expiry.
    #[inline]
    fn summed(&self, durable: u16) -> [u64; 2] {
        let kind = u64::from(self.key) | u64::from(self.state.0) << 8 | u64::from(durable) << 16;
        [u64::from(self.value) | kind << 32, u64::from(self.flags) | u64::from(self.expires) << 32]
    }

    /// Writes the header to the first [`Header::BYTES`] bytes of `bytes`, as in memory.
    #[inline]
    pub fn write(&self, bytes: &mut [u8]) {
        write_words(bytes, &self.words());
    }

    /// Decodes the header in the first [`Header::BYTES`] bytes of `bytes`, as in memory.
    ///
    /// # Panics
    /// If `bytes` has fewer than [`Header::BYTES`] bytes.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Header {
        let bytes: &[u8; Header::BYTES] = bytes.first_chunk().expect("a header is there");
        let word = |at: usize| u64::from_le_bytes(*bytes[8 * at..].first_chunk().expect("eight bytes"));
        let (first, second, third) = (word(0), word(1), word(2));
        Header {
            value: low_u32(first >> 32),
            key: low_u8(second),
            state: State(low_u8(second >> 8)),
            flags: low_u32(second >> 32),
            expires: low_u32(third),
            accessed: low_u32(third >> 32),
            cas: word(3),
            home: word(4),
        }
    }
}

/// The position and time of a record's write to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Sequence of its segment.
    sequence: u64,
    salt: Salt,
    /// Bytes from its start to the end of the segment, so that a block copied over another block of the
    /// segment fails its checksums.
    within: u64,
    /// Number of blocks at the start of its segment that were durable before, 65535 if there are more: a hole
    /// among them is damage, not a write cut off by a power loss.
    durable: u16,
}

impl Stamp {
    /// Stamp of a record in the segment with this sequence and salt. `within` is the distance in bytes from
    /// the start of the record to the end of the segment, `durable` the number of blocks at the start of the
    /// segment that were durable when it was written.
    #[inline]
    pub fn new(sequence: u64, salt: Salt, within: u64, durable: u16) -> Stamp {
        Stamp { sequence, salt, within, durable }
    }
}

/// Represents a store and a segment in record checksums: a record of another store or segment fails its
/// checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(u64);

impl Salt {
    /// Salt of a segment of a store.
    #[inline]
    pub fn of(store: u128, segment: SegmentId) -> Salt {
        // Numbers differ by an odd multiple of 2⁶⁴ / φ, so that no difference of sequences cancels it.
        let store = low_u64(store) ^ low_u64(store >> 64);
        Salt(store.wrapping_add(u64::from(segment.get()).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

/// A record's header as stored on flash, with the fields that only exist there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashHeader {
    /// The header; its `home` is the sequence of the segment.
    pub header: Header,
    /// Number of durable blocks of the segment when the record was written; see [`Stamp::durable`].
    pub durable: u16,
    /// Checksum of header and key.
    checksum: u32,
    /// Checksum of the value.
    value_checksum: u32,
}

impl FlashHeader {
    /// Decodes the header of a record in the segment with this sequence. None if the bytes cannot be one; the
    /// checksum is not verified.
    #[inline]
    pub fn decode(bytes: &[u8; Header::BYTES], sequence: u64) -> Option<FlashHeader> {
        let header = Header::decode(bytes);
        if header.home & LOW != sequence & LOW || header.key == 0 {
            return None;
        }
        let durable = u16::from_le_bytes([bytes[10], bytes[11]]);
        let checksum = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let value_checksum = (header.home >> 32) as u32;
        Some(FlashHeader { header: Header { home: sequence, ..header }, durable, checksum, value_checksum })
    }

    /// The lower half of the sequence in an encoded header. The checksum is not verified.
    pub fn low_sequence(bytes: &[u8; Header::BYTES]) -> u64 {
        Header::decode(bytes).home & LOW
    }

    /// True if header and key match their checksum for the store and segment of `salt` and the position
    /// `within`, in bytes to the end of the segment.
    #[inline]
    pub fn is_intact<'a>(&self, salt: Salt, within: u64, key: impl Iterator<Item = &'a [u8]>) -> bool {
        let stamp = Stamp { sequence: self.header.home, salt, within, durable: self.durable };
        header_checksum(&self.header, &stamp, key) == self.checksum
    }

    /// True if the value matches its checksum.
    #[inline]
    pub fn is_value<'a>(&self, value: impl Iterator<Item = &'a [u8]>) -> bool {
        checksum_of(value) == self.value_checksum
    }
}

/// Checksum of header and key.
#[inline]
pub fn header_checksum<'a>(header: &Header, stamp: &Stamp, key: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut bytes = [0; 40];
    let [lengths, middle] = header.summed(stamp.durable);
    write_words(&mut bytes, &[lengths, middle, header.cas, stamp.sequence ^ stamp.salt.0, stamp.within]);
    let mut sum = Crc32c::new();
    sum.add(&bytes);
    key.for_each(|piece| sum.add(piece));
    sum.value()
}

/// Checksum of a value, given in pieces.
#[inline]
pub fn checksum_of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut sum = Crc32c::new();
    pieces.for_each(|piece| sum.add(piece));
    sum.value()
}

/// Mask of the lower half of a 64-bit number.
const LOW: u64 = u32::MAX as u64;

/// Writes 64-bit words in little-endian order.
#[inline]
fn write_words(bytes: &mut [u8], words: &[u64]) {
    bytes.chunks_exact_mut(8).zip(words).for_each(|(chunk, word)| chunk.copy_from_slice(&word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(header: &Header) -> [u8; Header::BYTES] {
        let mut bytes = [0xFF; Header::BYTES];
        header.write(&mut bytes);
        bytes
    }

    #[test]
    fn stores_and_segments_have_salts_of_their_own() {
        let of = |store: u128, segment: u32| Salt::of(store, SegmentId::new(segment));
        let all = [
            of(0, 0),
            of(1, 0),
            of(2, 0),
            of(1 << 64, 1),
            of(3 << 64, 0),
            of(0b101 << 64 | 0b1000, 0),
            of(0, 1),
        ];
        for (at, salt) in all.iter().enumerate() {
            assert!(!all[..at].contains(salt), "{at}: {salt:?}");
        }
        // Each bit of an identity counts.
        let store = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210;
        assert!((0..128).all(|bit| of(store ^ 1 << bit, 3) != of(store, 3)));
    }

    #[test]
    fn a_header_is_found_again() {
        let header = Header {
            value: 1 << 20,
            key: 250,
            state: State::STALE.with(State::FETCHED),
            flags: u32::MAX,
            expires: 7,
            accessed: 9,
            cas: u64::MAX - 1,
            home: 12345,
        };
        assert_eq!(Header::decode(&encoded(&header)), header);
        assert_eq!(header.record_bytes(), (40u64 + 250 + (1 << 20)).next_multiple_of(16));
    }

    #[test]
    fn its_checksum_covers_all_but_the_last_access_and_the_value() {
        let header = Header { key: 3, value: 5, cas: 9, ..Header::default() };
        let (salt, other) = (Salt(5), Salt(6));
        let stamp = Stamp::new(7 << 32 | 8, salt, 4096, 77);
        let key = || [&b"key"[..]].into_iter();
        let sums = (header_checksum(&header, &stamp, key()), checksum_of([&b"value"[..]].into_iter()));
        let mut bytes = [0; Header::BYTES];
        write_words(&mut bytes, &header.words_on_flash(&stamp, sums));
        let found = FlashHeader::decode(&bytes, stamp.sequence).expect("it is one");
        assert_eq!((found.header, found.durable), (Header { home: stamp.sequence, ..header }, 77));
        assert!(found.is_intact(salt, 4096, key()) && found.is_value([&b"va"[..], b"lue"].into_iter()));
        assert!(!found.is_intact(other, 4096, key()), "that of another store");
        assert!(!found.is_intact(salt, 8192, key()), "that of another place in the segment");
        assert!(
            !found.is_intact(salt, 4096, [&b"kex"[..]].into_iter())
                && !found.is_value([&b"valuf"[..]].into_iter())
        );
        let later = FlashHeader::decode(&bytes, 8 << 32 | 8).expect("the lower half is the same");
        assert!(!later.is_intact(salt, 4096, key()), "that of another run");
        for at in 0..Header::BYTES {
            let mut other = bytes;
            other[at] ^= 1;
            let is_found = FlashHeader::decode(&other, stamp.sequence).is_some_and(|other| {
                other.is_intact(salt, 4096, key()) && other.is_value([&b"value"[..]].into_iter())
            });
            assert_eq!(is_found, (20..24).contains(&at), "{at}");
        }
    }
}
