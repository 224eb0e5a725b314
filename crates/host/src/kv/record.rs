//! An item as bytes: almost the same in memory and on flash.
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
//! Header and key have a checksum apart from the value's, so that a record whose value is damaged still
//! proves that its key was written here. The checksum also covers the name of the store, the number of the
//! segment and the whole sequence, so that nothing that another store or an earlier use of the segment has
//! left behind, or that was meant for another segment, counts as a record.

use super::log::SegmentId;
use super::place::UNIT;
use crate::crc::Crc32c;
use std::ops::Range;

/// What stands before key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the value.
    pub value: u32,
    /// Bytes of the key; 1 to 250.
    pub key: u8,
    /// Kind and state; see [`State`].
    pub state: State,
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// When it was last asked for, in seconds of Unix time, as far as that is known.
    pub accessed: u32,
    /// Its CAS value.
    pub cas: u64,
    /// In memory the encoded place of the same record on flash, or 0; read from flash the sequence of its
    /// segment.
    pub home: u64,
}

/// What is special about a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(pub u8);

impl State {
    /// Somebody has invalidated it, and not deleted it.
    pub const STALE: State = State(1);
    /// Somebody was told to replace it.
    pub const WIN_SENT: State = State(2);
    /// It was asked for since it was written.
    pub const FETCHED: State = State(4);
    /// It is none: the key was deleted. Only on flash.
    pub const TOMBSTONE: State = State(8);

    /// It was written under a key in base64.
    pub const BASE64_KEY: State = State(16);

    /// The value could not be read when its segment was reclaimed; its key is the hash of what it was. Only
    /// on flash.
    pub const LOST: State = State(32);

    /// A newer version of it may have been lost to damage. Only on flash.
    pub const DOUBTED: State = State(64);

    /// It is none, and no record follows in its segment. Only on flash.
    pub const END: State = State(128);

    /// It is none, and the next record begins in the next block: zeros would not tell that from records that
    /// were lost. Only on flash.
    pub const PADDING: State = State(128 | 8);

    /// True if all of `other` is in it.
    #[inline]
    pub fn has(self, other: State) -> bool {
        self.0 & other.0 == other.0
    }

    /// With `other`.
    #[inline]
    #[must_use]
    pub fn with(self, other: State) -> State {
        State(self.0 | other.0)
    }

    /// Without `other`.
    #[inline]
    #[must_use]
    pub fn without(self, other: State) -> State {
        State(self.0 & !other.0)
    }
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = 40;
    const WORDS: usize = Header::BYTES / 8;

    /// Bytes of the whole record with its padding.
    #[inline]
    pub fn record_bytes(&self) -> u64 {
        Header::room(usize::from(self.key), u64::from(self.value))
    }

    /// Bytes of a record with a key and a value of so many.
    #[inline]
    pub fn room(key: usize, value: u64) -> u64 {
        (Header::BYTES as u64 + key as u64 + value).next_multiple_of(UNIT)
    }

    /// Where the value begins.
    #[inline]
    pub fn value_at(&self) -> usize {
        Header::BYTES + usize::from(self.key)
    }

    /// The bytes of the key of a record at byte `at`.
    #[inline]
    pub fn key_range(&self, at: usize) -> Range<usize> {
        at + Header::BYTES..at + self.value_at()
    }

    /// The bytes of the value of a record at byte `at`.
    #[inline]
    pub fn value_range(&self, at: usize) -> Range<usize> {
        at + self.value_at()..at + self.value_at() + self.value as usize
    }

    /// True when its time is over at `unix`.
    #[inline]
    pub fn is_expired(&self, unix: u32) -> bool {
        self.expires != 0 && self.expires <= unix
    }

    /// Its bytes as numbers of eight of them. What was only just written is there at once for who reads it in
    /// the same pieces; in others, a processor reads it when all that was written before has reached memory.
    /// So headers are written and read by the word.
    #[inline]
    pub fn words(&self) -> [u64; Header::WORDS] {
        self.words_with(0, 0, self.home)
    }

    /// The same for flash: `sums` are the checksums of header and key, and of the value.
    #[inline]
    pub fn words_on_flash(&self, stamp: &Stamp, sums: (u32, u32)) -> [u64; Header::WORDS] {
        self.words_with(sums.0, stamp.durable, stamp.sequence & LOW | u64::from(sums.1) << 32)
    }

    #[inline]
    fn words_with(&self, checksum: u32, durable: u16, last: u64) -> [u64; Header::WORDS] {
        let [lengths, middle] = self.summed(durable);
        // Between what is summed stand the checksum, and when it was last asked for.
        [
            u64::from(checksum) | lengths << 32,
            lengths >> 32 | middle << 32,
            middle >> 32 | u64::from(self.accessed) << 32,
            self.cas,
            last,
        ]
    }

    /// Lengths, kind and state, the durable blocks, flags and expiry.
    #[inline]
    fn summed(&self, durable: u16) -> [u64; 2] {
        let kind = u64::from(self.key) | u64::from(self.state.0) << 8 | u64::from(durable) << 16;
        [u64::from(self.value) | kind << 32, u64::from(self.flags) | u64::from(self.expires) << 32]
    }

    /// Writes it over the first bytes, as in memory; there must be [`Header::BYTES`] of them.
    #[inline]
    pub fn write(&self, bytes: &mut [u8]) {
        write_words(bytes, &self.words());
    }

    /// The header in the first bytes, as in memory; there must be [`Header::BYTES`] of them.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Header {
        let bytes: &[u8; Header::BYTES] = bytes.first_chunk().expect("a header is there");
        let word = |at: usize| u64::from_le_bytes(*bytes[8 * at..].first_chunk().expect("eight bytes"));
        let (first, second, third) = (word(0), word(1), word(2));
        Header {
            value: (first >> 32) as u32,
            key: second as u8,
            state: State((second >> 8) as u8),
            flags: (second >> 32) as u32,
            expires: third as u32,
            accessed: (third >> 32) as u32,
            cas: word(3),
            home: word(4),
        }
    }
}

/// Where and when a record is written to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which use of its segment it belongs to.
    sequence: u64,
    salt: Salt,
    /// Bytes from its start to the end of the segment, so that a block copied over another block of the
    /// segment fails its checksums.
    within: u64,
    /// Blocks of its segment, from the first on, that were durable before, or 65535 if there are more: a hole
    /// among them is damage, and not a write that the power has cut off.
    durable: u16,
}

impl Stamp {
    /// Stamp of a record in use `sequence` of the segment with this salt. `within` is the distance in bytes
    /// from the start of the record to the end of the segment, `durable` the number of blocks at the start of
    /// the segment that were durable when it was written.
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
        // Numbers differ by an odd multiple of 2⁶⁴ / φ, so that no sequence makes up for that.
        let store = store as u64 ^ (store >> 64) as u64;
        Salt(store.wrapping_add(u64::from(segment.get()).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

/// A record's header as it is on flash, with what only records there have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashHeader {
    /// The header; its home is the sequence of the segment.
    pub header: Header,
    /// See [`Stamp::durable`].
    pub durable: u16,
    /// Checksum of header and key.
    checksum: u32,
    /// Checksum of the value.
    value_checksum: u32,
}

impl FlashHeader {
    /// The header in these bytes, if it is that of a record in this use of a segment as far as can be told
    /// without its checksum.
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

    /// The lower half of the sequence in the header of a record, whatever its checksum says.
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

    /// True if this is the value that was written.
    #[inline]
    pub fn is_value<'a>(&self, value: impl Iterator<Item = &'a [u8]>) -> bool {
        checksum_of(value) == self.value_checksum
    }
}

/// The checksum of header and key.
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

/// The checksum of a value.
#[inline]
pub fn checksum_of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut sum = Crc32c::new();
    pieces.for_each(|piece| sum.add(piece));
    sum.value()
}

/// The lower half of a number.
const LOW: u64 = u32::MAX as u64;

/// Writes numbers in the order of their bytes, one by one.
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
