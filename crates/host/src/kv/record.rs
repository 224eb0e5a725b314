//! An item as bytes: the same in memory and on flash.
//!
//! | bytes | what | |
//! | --- | --- | --- |
//! | 0–3 | CRC-32C of all that follows, but for `accessed` | on flash |
//! | 4–7 | bytes of the value | |
//! | 8 | bytes of the key | 1 to 250 |
//! | 9 | kind and state | |
//! | 10–11 | zeros | |
//! | 12–15 | the client's flags | |
//! | 16–19 | when it expires, in seconds of Unix time | 0 for never |
//! | 20–23 | when it was last asked for, in seconds of Unix time | |
//! | 24–31 | its CAS value | |
//! | 32–39 | in memory: its place on flash, if it has one there; on flash: the sequence of its segment | |
//!
//! Key and value follow, and zeros up to a multiple of [`UNIT`]. All numbers are little-endian.

use super::place::UNIT;
use crate::crc::Crc32c;

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
    /// In memory the encoded place of the same record on flash, or 0; on flash the sequence of its segment.
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

    /// True when its time is over at `unix`.
    #[inline]
    pub fn is_expired(&self, unix: u32) -> bool {
        self.expires != 0 && self.expires <= unix
    }

    /// Its bytes as numbers of eight of them, with this checksum. What was only just written is there at once for who reads it in the same pieces; in others, a processor reads it when all
    /// that was written before has reached memory. So headers are written and read by the word.
    #[inline]
    pub fn words(&self, checksum: u32) -> [u64; Header::WORDS] {
        let [lengths, middle, cas, home] = self.summed();
        // Between what is summed stand the checksum, and when it was last asked for.
        [
            u64::from(checksum) | lengths << 32,
            lengths >> 32 | middle << 32,
            middle >> 32 | u64::from(self.accessed) << 32,
            cas,
            home,
        ]
    }

    /// All but the checksum and when it was last asked for.
    #[inline]
    fn summed(&self) -> [u64; 4] {
        let lengths = u64::from(self.value) | u64::from(self.key) << 32 | u64::from(self.state.0) << 40;
        [lengths, u64::from(self.flags) | u64::from(self.expires) << 32, self.cas, self.home]
    }

    /// Writes it over the first bytes, with a checksum of zero; there must be [`Header::BYTES`] of them.
    #[inline]
    pub fn write(&self, bytes: &mut [u8]) {
        write_words(bytes, &self.words(0));
    }

    /// The header in the first bytes, whatever its checksum says; there must be [`Header::BYTES`] of them.
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

/// The checksum of a record that is handed over piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Checksum(Crc32c);

impl Checksum {
    /// Of a header; key and value are still to come.
    #[inline]
    pub fn of(header: &Header) -> Checksum {
        let mut bytes = [0; 32];
        write_words(&mut bytes, &header.summed());
        let mut sum = Checksum(Crc32c::new());
        sum.add(&bytes);
        sum
    }

    /// What comes next.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.add(bytes);
    }

    /// Of all that was added.
    #[inline]
    pub fn value(&self) -> u32 {
        self.0.value()
    }
}

/// Writes numbers in the order of their bytes, one by one.
#[inline]
fn write_words(bytes: &mut [u8], words: &[u64]) {
    bytes.chunks_exact_mut(8).zip(words).for_each(|(chunk, word)| chunk.copy_from_slice(&word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc::crc32c;

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
    fn its_checksum_covers_all_but_the_last_access() {
        let header = Header { key: 3, value: 5, ..Header::default() };
        let sum = Checksum::of(&header).value();
        let by_bytes = crc32c(&[&encoded(&header)[4..20], &encoded(&header)[24..]].concat());
        assert_eq!(sum, by_bytes);
        // Bytes 10 and 11 are always zeros.
        for at in (4..10).chain(12..Header::BYTES) {
            let mut other = encoded(&header);
            other[at] ^= 1;
            let other = Header::decode(&other);
            assert_eq!(Checksum::of(&other).value() == sum, (20..24).contains(&at), "{at}");
        }
    }
}
