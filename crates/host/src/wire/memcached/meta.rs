//! Replies to meta commands, appended to an output buffer, and the effect of a hit on its item.
//!
//! The flags of a reply are in the order of the command. `q` suppresses the expected result: a miss for `mg`,
//! success for `ms`, `md` and `ma`.

use super::base64;
use super::expiry::Expiry;
use super::flags::MetaFlags;
use super::key::Key;
use super::number;
use super::reply::{NO_MEMORY, NOT_NUMERIC, Stored, TAIL};
use tailcut_base::cast::to_u32;

/// An item as found by `mg`, before the command takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Length of the value in bytes.
    pub length: u32,
    /// Expiry time; never, if the item was just created.
    pub expiry: Expiry,
    /// CAS value of the item: a number that changes with it.
    pub cas: u64,
    /// The client's flags: 32 bits that are stored with the item and not interpreted.
    pub client_flags: u32,
    /// Seconds since the item was last accessed.
    pub idle: u64,
    /// Whether the item has been read before.
    pub is_fetched: bool,
    /// Whether the item is out of date (`X`).
    pub is_stale: bool,
    /// Whether a client has won the right to recache the item (`Z`).
    pub is_claimed: bool,
    /// Whether the item was missing and has been created by autovivification (`N`).
    pub is_new: bool,
    /// Whether the client gave the key of the item in base64 when it stored it; replies encode the key
    /// likewise.
    pub has_base64_key: bool,
}

/// Effect of a hit of `mg` on its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The expiry time that the item has after the command.
    pub expiry: Expiry,
    /// The client wins the right to recache; the item is claimed from now on.
    pub is_won: bool,
}

impl Item {
    /// The effect of `mg` with these flags at `now` (seconds of Unix time). As in memcached, flags take
    /// effect in order: `R` before `T` sees the old expiry time.
    pub fn fetch(&self, flags: &MetaFlags, now: u64) -> Fetched {
        let (mut expiry, mut is_won) = (self.expiry, self.is_new || self.is_stale);
        for &letter in flags.letters() {
            expiry = flags.step(letter, now, expiry, self.is_new);
            is_won |= letter == b'R' && is_due(flags, now, expiry);
        }
        Fetched { expiry, is_won: is_won && !self.is_claimed }
    }
}

/// True if the item expires before the time of the `R` flag.
fn is_due(flags: &MetaFlags, now: u64, expiry: Expiry) -> bool {
    let wish = flags.recache.map_or(Expiry::Never, |exptime| Expiry::new(now, exptime));
    wish != Expiry::Never && expiry < wish
}

/// Replies to a hit of `mg`. If [`MetaFlags::returns_value`], the value and [`TAIL`] follow.
pub fn hit(out: &mut Vec<u8>, flags: &MetaFlags, key: Key<'_>, item: &Item, now: u64) {
    status(out, flags.returns_value(item.cas).then_some(item.length));
    let mut expiry = item.expiry;
    for &letter in flags.letters() {
        expiry = flags.step(letter, now, expiry, item.is_new);
        match letter {
            b's' => flag(out, letter, u64::from(item.length)),
            b't' => time_left(out, expiry, now),
            b'c' => flag(out, letter, item.cas),
            b'f' => flag(out, letter, u64::from(item.client_flags)),
            b'l' => flag(out, letter, item.idle),
            b'h' => flag(out, letter, u64::from(item.is_fetched)),
            _ => echo(out, flags, letter, key, item.has_base64_key),
        }
    }
    let told = [(item.is_claimed, b" Z"), (item.is_stale, b" X"), (item.fetch(flags, now).is_won, b" W")];
    told.iter().filter(|(is_told, _)| *is_told).for_each(|(_, letter)| out.extend_from_slice(*letter));
    out.extend_from_slice(TAIL);
}

/// Replies to a miss of `mg`.
pub fn miss(out: &mut Vec<u8>, flags: &MetaFlags, key: Key<'_>) {
    if !flags.is_quiet() {
        bare(out, b"EN", flags, key);
    }
}

/// The item that `ms` has stored, or would have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredItem {
    /// CAS value of the item, if it was stored.
    pub cas: u64,
    /// Length of the item's value in bytes; of the data sent, if it was not stored.
    pub length: u32,
}

/// Writes the reply to `ms`; none if the item was stored and the client asked for quiet.
pub fn stored(out: &mut Vec<u8>, flags: &MetaFlags, key: Key<'_>, stored: Stored, item: StoredItem) {
    let is_stored = stored == Stored::Stored;
    if is_stored && flags.is_quiet() {
        return;
    }
    match stored.status() {
        Err(line) => out.extend_from_slice(line),
        Ok(status) => {
            out.extend_from_slice(status);
            for &letter in flags.letters() {
                match letter {
                    b'c' => flag(out, letter, if is_stored { item.cas } else { 0 }),
                    b's' => flag(out, letter, u64::from(item.length)),
                    _ => echo(out, flags, letter, key, flags.has_base64_key()),
                }
            }
            out.extend_from_slice(TAIL);
        }
    }
}

/// Result of `md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The item is deleted or marked as stale.
    Deleted,
    /// There is no such item.
    NotFound,
    /// The item has another CAS value.
    Exists,
}

/// Writes the reply to `md`; none if the item was deleted and the client asked for quiet.
pub fn deleted(out: &mut Vec<u8>, flags: &MetaFlags, key: Key<'_>, deleted: Deleted) {
    match deleted {
        Deleted::Deleted if flags.is_quiet() => {}
        Deleted::Deleted => bare(out, b"HD", flags, key),
        Deleted::NotFound => bare(out, b"NF", flags, key),
        Deleted::Exists => bare(out, b"EX", flags, key),
    }
}

/// Result of `ma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number was changed, or the item was created by autovivification.
    Now {
        /// The new number.
        number: u64,
        /// The new CAS value.
        cas: u64,
        /// Previous expiry time; never, if autovivified.
        expiry: Expiry,
        /// Whether the item was missing and has been created by autovivification (`N`).
        is_new: bool,
    },
    /// There is no such item.
    NotFound,
    /// The item has another CAS value.
    Exists,
    /// The value is not a number.
    NotNumeric,
    /// There is no memory for the item.
    NoMemory,
}

/// Replies to `ma`, with the number if requested. [`MetaFlags::expiry`] gives the new expiry time.
pub fn counted(out: &mut Vec<u8>, flags: &MetaFlags, key: Key<'_>, counted: Counted, now: u64) {
    match counted {
        Counted::Now { .. } if flags.is_quiet() => {}
        Counted::Now { number, cas, expiry, is_new } => {
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(number);
            status(out, flags.wants_value().then_some(to_u32(digits.len())));
            let mut expiry = expiry;
            for &letter in flags.letters() {
                expiry = flags.step(letter, now, expiry, is_new);
                match letter {
                    b'c' => flag(out, letter, cas),
                    b't' => time_left(out, expiry, now),
                    _ => echo(out, flags, letter, key, flags.has_base64_key()),
                }
            }
            out.extend_from_slice(TAIL);
            if flags.wants_value() {
                out.extend_from_slice(digits.as_bytes());
                out.extend_from_slice(TAIL);
            }
        }
        Counted::NotFound => bare(out, b"NF", flags, key),
        Counted::Exists => bare(out, b"EX", flags, key),
        Counted::NotNumeric => out.extend_from_slice(NOT_NUMERIC),
        Counted::NoMemory => out.extend_from_slice(NO_MEMORY),
    }
}

/// Writes the reply to `mn`.
pub fn noop(out: &mut Vec<u8>) {
    out.extend_from_slice(b"MN\r\n");
}

/// Item metadata in the reply to `me`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debug {
    /// Expiry time. memcached shows the seconds left, and -1 for never.
    pub expiry: Expiry,
    /// Seconds since the item was last accessed.
    pub idle: u64,
    /// CAS value of the item: a number that changes with it.
    pub cas: u64,
    /// Whether the item has been read before.
    pub is_fetched: bool,
    /// Slab class that the reply shows, as memcached's does.
    pub class: u32,
    /// Size of the item in bytes, including its metadata.
    pub size: u64,
    /// It was stored under a key in base64, and is shown with that key.
    pub has_base64_key: bool,
}

/// Replies to a hit of `me`.
pub fn debug(out: &mut Vec<u8>, key: Key<'_>, debug: &Debug, now: u64) {
    out.extend_from_slice(b"ME ");
    show(out, key, debug.has_base64_key);
    match debug.expiry.left(now) {
        Some(left) => named(out, " exp=", left),
        None => out.extend_from_slice(b" exp=-1"),
    }
    let numbers = [(" la=", debug.idle), (" cas=", debug.cas)];
    numbers.iter().for_each(|(name, number)| named(out, name, *number));
    out.extend_from_slice(if debug.is_fetched { b" fetch=yes" } else { b" fetch=no" });
    let numbers = [(" cls=", u64::from(debug.class)), (" size=", debug.size)];
    numbers.iter().for_each(|(name, number)| named(out, name, *number));
    out.extend_from_slice(TAIL);
}

/// Replies to a miss of `me`.
pub fn debug_miss(out: &mut Vec<u8>) {
    out.extend_from_slice(b"EN\r\n");
}

fn named(out: &mut Vec<u8>, name: &str, number: u64) {
    out.extend_from_slice(name.as_bytes());
    number::append(out, number);
}

/// Appends a status of two letters with the flags that every reply repeats on request.
fn bare(out: &mut Vec<u8>, status: &[u8], flags: &MetaFlags, key: Key<'_>) {
    out.extend_from_slice(status);
    flags.letters().iter().for_each(|&letter| echo(out, flags, letter, key, flags.has_base64_key()));
    out.extend_from_slice(TAIL);
}

/// Appends the opaque token or the key, if `letter` requests it.
fn echo(out: &mut Vec<u8>, flags: &MetaFlags, letter: u8, key: Key<'_>, as_base64: bool) {
    match letter {
        b'O' => {
            out.extend_from_slice(b" O");
            out.extend_from_slice(flags.opaque());
        }
        b'k' => {
            out.extend_from_slice(b" k");
            show(out, key, as_base64);
            out.extend_from_slice(if as_base64 { b" b" } else { b"" });
        }
        _ => {}
    }
}

fn show(out: &mut Vec<u8>, key: Key<'_>, as_base64: bool) {
    if as_base64 { base64::append(out, key.as_bytes()) } else { out.extend_from_slice(key.as_bytes()) }
}

fn status(out: &mut Vec<u8>, length: Option<u32>) {
    match length {
        Some(length) => {
            out.extend_from_slice(b"VA ");
            number::append(out, u64::from(length));
        }
        None => out.extend_from_slice(b"HD"),
    }
}

fn flag(out: &mut Vec<u8>, letter: u8, number: u64) {
    out.extend_from_slice(&[b' ', letter]);
    number::append(out, number);
}

fn time_left(out: &mut Vec<u8>, expiry: Expiry, now: u64) {
    match expiry.left(now) {
        Some(left) => flag(out, b't', left),
        None => out.extend_from_slice(b" t-1"),
    }
}
