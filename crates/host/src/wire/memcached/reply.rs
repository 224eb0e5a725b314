//! Replies to the classic commands, appended to an output buffer.
//!
//! `noreply` also suppresses errors, as in memcached.

use super::key::Key;
use super::number;

/// Terminator of a value.
pub const TAIL: &[u8] = b"\r\n";

/// Result of a storage command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The value was stored.
    Stored,
    /// Not stored: the item exists, or is missing, contrary to the command's condition.
    NotStored,
    /// The item has another CAS value.
    Exists,
    /// The item for a CAS value is missing.
    NotFound,
    /// The data were not terminated where they should be.
    Unsound,
    /// The data are too long.
    TooLarge,
    /// There is no memory for the value.
    NoMemory,
}

/// Result of `incr` or `decr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number after the change.
    Now(u64),
    /// There is no such item.
    NotFound,
    /// The value is not a number.
    NotNumeric,
    /// There is no memory for the item.
    NoMemory,
}

/// The attributes of an item in the header of a hit.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// The client flags that it was stored with.
    pub client_flags: u32,
    /// Length of the value in bytes.
    pub length: u32,
    /// The CAS value, if requested.
    pub cas: Option<u64>,
}

/// The header of a hit, which the value and [`TAIL`] follow.
pub fn value(out: &mut Vec<u8>, key: Key<'_>, hit: Hit) {
    let Hit { client_flags, length, cas } = hit;
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key.as_bytes());
    if client_flags == 0 {
        out.extend_from_slice(b" 0 ");
    } else {
        out.push(b' ');
        number::append(out, u64::from(client_flags));
        out.push(b' ');
    }
    number::append(out, u64::from(length));
    if let Some(cas) = cas {
        out.push(b' ');
        number::append(out, cas);
    }
    out.extend_from_slice(TAIL);
}

/// Ends the hits of a line.
pub fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"END\r\n");
}

/// Writes the reply to `set` and its variants, unless `noreply`.
pub fn stored(out: &mut Vec<u8>, stored: Stored, noreply: bool) {
    write_line(out, noreply, stored.line());
}

/// Writes the reply to `incr` and `decr`, unless `noreply`.
pub fn counted(out: &mut Vec<u8>, counted: Counted, noreply: bool) {
    match counted {
        Counted::Now(_) if noreply => {}
        Counted::Now(number) => {
            number::append(out, number);
            out.extend_from_slice(TAIL);
        }
        Counted::NotFound => write_line(out, noreply, b"NOT_FOUND\r\n"),
        Counted::NotNumeric => write_line(out, noreply, NOT_NUMERIC),
        Counted::NoMemory => write_line(out, noreply, NO_MEMORY),
    }
}

/// Writes the reply to `touch`, unless `noreply`.
pub fn touched(out: &mut Vec<u8>, was_there: bool, noreply: bool) {
    write_line(out, noreply, if was_there { b"TOUCHED\r\n" } else { b"NOT_FOUND\r\n" });
}

/// Writes the reply to `delete`, unless `noreply`.
pub fn deleted(out: &mut Vec<u8>, was_there: bool, noreply: bool) {
    write_line(out, noreply, if was_there { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" });
}

/// Replies to `flush_all`, `verbosity` and `stats detail`.
pub fn ok(out: &mut Vec<u8>, noreply: bool) {
    write_line(out, noreply, b"OK\r\n");
}

/// Writes the reply to `cache_memlimit`, unless `noreply`.
pub fn memory_limit(out: &mut Vec<u8>, was_set: bool, noreply: bool) {
    let refused = b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n";
    write_line(out, noreply, if was_set { b"OK\r\n" } else { refused });
}

/// Writes the reply to `version`.
pub fn version(out: &mut Vec<u8>, version: &str) {
    out.extend_from_slice(b"VERSION ");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(TAIL);
}

/// A line of `stats`; [`end`] follows the last one.
pub fn stat(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(b"STAT ");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(TAIL);
}

/// A line of `stats` with a numeric value.
pub fn stat_number(out: &mut Vec<u8>, name: &str, value: u64) {
    stat(out, name, itoa::Buffer::new().format(value));
}

/// A line of `stats detail dump`: gets, hits, sets and deletes of a prefix. [`end`] follows the last one.
pub fn prefix(out: &mut Vec<u8>, prefix: &[u8], counts: [u64; 4]) {
    out.extend_from_slice(b"PREFIX ");
    out.extend_from_slice(prefix);
    for (name, count) in [" get ", " hit ", " set ", " del "].iter().zip(counts) {
        out.extend_from_slice(name.as_bytes());
        number::append(out, count);
    }
    out.extend_from_slice(TAIL);
}

/// Writes the reply to `stats reset`.
pub fn reset(out: &mut Vec<u8>) {
    out.extend_from_slice(b"RESET\r\n");
}

/// A server-side error in place of any reply, or of [`end`]. `text` is a line without its end.
pub fn server_error(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"SERVER_ERROR ");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(TAIL);
}

impl Stored {
    fn line(self) -> &'static [u8] {
        match self {
            Stored::Stored => b"STORED\r\n",
            Stored::NotStored => b"NOT_STORED\r\n",
            Stored::Exists => b"EXISTS\r\n",
            Stored::NotFound => b"NOT_FOUND\r\n",
            Stored::Unsound => b"CLIENT_ERROR bad data chunk\r\n",
            Stored::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Stored::NoMemory => b"SERVER_ERROR out of memory storing object\r\n",
        }
    }

    /// The result for a meta command: two letters, to which flags can be added, or a whole line.
    pub(super) fn status(self) -> Result<&'static [u8], &'static [u8]> {
        match self {
            Stored::Stored => Ok(b"HD"),
            Stored::NotStored => Ok(b"NS"),
            Stored::Exists => Ok(b"EX"),
            Stored::NotFound => Ok(b"NF"),
            error => Err(error.line()),
        }
    }
}

fn write_line(out: &mut Vec<u8>, noreply: bool, line: &[u8]) {
    if !noreply {
        out.extend_from_slice(line);
    }
}

pub(super) const NOT_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
pub(super) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory\r\n";
