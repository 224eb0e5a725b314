//! Look-ahead in a client's input for the keys of the next commands.

use super::receiver::{LINE_BYTES, keyed};
use memchr::{memchr, memchr2};

/// Extracts the keys of the commands in a piece of input before they are executed, for prefetching.
///
/// Only a hint: it knows the usual forms of frequent commands, and for anything else may return a word that
/// is no key. It ends where it cannot parse further, and changes no state. The input begins with a line.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'a> {
    rest: &'a [u8],
    place: Place,
}

/// Where the input left off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of a line.
    Line,
    /// Before the expiry time in front of keys.
    Exptime,
    /// Before one of the keys of a line.
    Keys,
}

impl<'a> Ahead<'a> {
    /// Starts at the beginning of this input.
    #[inline]
    pub fn new(input: &'a [u8]) -> Ahead<'a> {
        Ahead { rest: input, place: Place::Line }
    }

    /// Bytes of the input not examined yet.
    #[inline]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next word of a line of keys, if complete.
    #[inline]
    fn word_of_keys(&mut self) -> Option<&'a [u8]> {
        let window = &self.rest[..self.rest.len().min(LINE_BYTES)];
        let at = memchr2(b' ', b'\n', window)?;
        let (found, ends_line) = (&window[..at], window[at] == b'\n');
        self.rest = &self.rest[at + 1..];
        if ends_line {
            self.place = Place::Line;
            return Some(found.strip_suffix(b"\r").unwrap_or(found));
        }
        self.place = Place::Keys;
        Some(found)
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
        loop {
            match self.place {
                Place::Keys => {
                    let key = self.word_of_keys()?;
                    if !key.is_empty() {
                        return Some(key);
                    }
                }
                Place::Exptime => {
                    self.word_of_keys()?;
                }
                Place::Line => {
                    if let Some((name, [b' ', behind @ ..])) = keyed(self.rest) {
                        self.rest = behind;
                        self.place = if name.touches() { Place::Exptime } else { Place::Keys };
                        continue;
                    }
                    let (name, behind) = word(self.line()?);
                    // For storage commands, the index of the word behind the key with the length of the data.
                    let length_at = match name {
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
            }
        }
    }
}

/// The first word and the rest.
#[inline]
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

fn atoi(word: &[u8]) -> Option<usize> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
