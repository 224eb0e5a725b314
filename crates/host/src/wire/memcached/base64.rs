//! Keys in base64 (RFC 4648), decoded as leniently as memcached does.
//!
//! Its rule (`base64.c`): letters outside of the alphabet are skipped; the number of the others must be a
//! multiple of four, at least four. `=` counts as one of them; the first group of four with any ends the key
//! and has at most two.

use super::key::KEY_BYTES;
use tailcut_base::cast::to_u8;

/// A decoded key, stored inline.
#[derive(Clone, Debug)]
pub struct Decoded {
    bytes: [u8; DECODED_BYTES],
    length: u8,
}

/// Longest decoded key: three bytes for each whole four of [`KEY_BYTES`] letters.
pub const DECODED_BYTES: usize = KEY_BYTES / 4 * 3;

impl Default for Decoded {
    fn default() -> Decoded {
        Decoded { bytes: [0; DECODED_BYTES], length: 0 }
    }
}

impl Decoded {
    /// Decodes a word of at most [`KEY_BYTES`] letters. If it is invalid, returns false and stores nothing.
    ///
    /// # Panics
    /// If `word` is longer than [`KEY_BYTES`].
    pub fn set(&mut self, word: &[u8]) -> bool {
        assert!(word.len() <= KEY_BYTES, "a key was let through that is too long");
        self.length = 0;
        let letters = || word.iter().filter_map(|&letter| sextet(letter).map(|bits| (letter, bits)));
        if letters().count() % 4 != 0 {
            return false;
        }
        let (mut group, mut have, mut padding) = (0u32, 0, 0);
        for (letter, bits) in letters() {
            group = group << 6 | bits;
            have += 1;
            padding += usize::from(letter == b'=');
            if have < 4 {
                continue;
            }
            if padding > 2 {
                self.length = 0;
                return false;
            }
            self.append(&group.to_be_bytes()[1..4 - padding]);
            if padding > 0 {
                break;
            }
            (group, have) = (0, 0);
        }
        self.length > 0
    }

    /// Removes the decoded key.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// The decoded key; empty if there is none.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    fn append(&mut self, bytes: &[u8]) {
        let at = usize::from(self.length);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.length += to_u8(bytes.len());
    }
}

/// Appends `bytes` in base64, padded.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * at)) as usize % 64];
            out.push(if at > group.len() { b'=' } else { letter });
        }
    }
}

fn sextet(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => return None,
    }))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
