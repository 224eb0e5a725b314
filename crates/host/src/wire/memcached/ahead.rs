//! Look-ahead in a client's input for the keys of the next commands.

use super::receiver::LINE_BYTES;
use memchr::memchr;

/// Extracts the keys of the commands in a piece of input before they are executed, for prefetching.
///
/// Only a hint: it knows the usual forms of frequent commands, and for anything else may return a word that
/// is no key. It ends where it cannot parse further, and changes no state. The input begins with a line.
/// begins with a line.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'a> {
    rest: &'a [u8],
    /// Further keys of the current line.
    keys: &'a [u8],
}

impl<'a> Ahead<'a> {
    /// Starts at the beginning of this input.
    #[inline]
    pub fn new(input: &'a [u8]) -> Ahead<'a> {
        Ahead { rest: input, keys: &[] }
    }

    /// Bytes of the input not examined yet.
    #[inline]
    pub fn left(&self) -> usize {
        self.rest.len() + self.keys.len()
    }

    /// The next line, if complete.
    fn line(&mut self) -> Option<&'a [u8]> {
        let window = &self.rest[..self.rest.len().min(LINE_BYTES)];
        let end = memchr(b'\n', window)?;
        let line = &window[..end];
        self.rest = &self.rest[end + 1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

impl<'a> Iterator for Ahead<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while self.keys.is_empty() {
            let (name, behind) = word(self.line()?);
            // For storage commands, the index of the word behind the key with the length of the data.
            let length_at = match name {
                b"get" | b"gets" => {
                    self.keys = behind;
                    continue;
                }
                b"gat" | b"gats" => {
                    self.keys = word(behind).1;
                    continue;
                }
                b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => 2,
                b"ms" => 0,
                _ => return Some(word(behind).0),
            };
            let (key, mut behind) = word(behind);
            for _ in 0..length_at {
                behind = word(behind).1;
            }
            let length: usize = atoi(word(behind).0)?;
            self.rest = self.rest.get(length.saturating_add(2)..).unwrap_or_default();
            return Some(key);
        }
        let (key, behind) = word(self.keys);
        self.keys = behind;
        Some(key)
    }
}

/// The first word and the rest.
#[inline]
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b' ', line) {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

fn atoi(word: &[u8]) -> Option<usize> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
