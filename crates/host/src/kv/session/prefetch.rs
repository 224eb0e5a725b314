//! Prefetch of the index entries and records of upcoming keys into the processor's cache.

use crate::kv::PREFETCH_MAX;
use crate::wire::memcached::{Ahead, Receiver};

/// Progress of the look-ahead in a piece of a client's input.
///
/// An item may be anywhere in gigabytes of index and records, so each command has several cache misses, which
/// take as long as all else in it. The misses of the next [`PREFETCH_MAX`] commands overlap.
#[derive(Debug)]
pub(super) struct Prefetch<'a> {
    ahead: Option<Ahead<'a>>,
    /// Look ahead again when this many bytes of the input are left.
    until: usize,
    /// The keys found last, `count` of them.
    keys: [&'a [u8]; PREFETCH_MAX],
    count: usize,
}

impl<'a> Prefetch<'a> {
    /// Look-ahead for new input.
    pub(super) fn new() -> Prefetch<'a> {
        Prefetch { ahead: None, until: usize::MAX, keys: [&[]; PREFETCH_MAX], count: 0 }
    }

    /// The keys found last.
    pub(super) fn keys(&self) -> &[&'a [u8]] {
        &self.keys[..self.count]
    }

    /// Looks ahead if necessary; `input` is what the receiver has not consumed. True if there are keys to be
    /// prefetched now.
    #[inline]
    pub(super) fn scan(&mut self, input: &'a [u8], receiver: &Receiver) -> bool {
        input.len() <= self.until && self.resume(input, receiver)
    }

    fn resume(&mut self, input: &'a [u8], receiver: &Receiver) -> bool {
        let mut ahead = match self.ahead {
            Some(ahead) if ahead.left() <= input.len() => ahead,
            _ if receiver.is_at_line() => Ahead::new(input),
            _ => return false,
        };
        self.count = 0;
        for (place, key) in self.keys.iter_mut().zip(ahead.by_ref()) {
            *place = key;
            self.count += 1;
        }
        // The next look is behind at least one command.
        let until = (ahead.left() + AROUND_KEY).min(input.len().saturating_sub(1));
        self.until = if self.count == 0 { 0 } else { until };
        self.ahead = Some(ahead);
        // Prefetching a single key gains nothing.
        self.count > 1
    }
}

/// Bytes around a key that the look-ahead does not count: a space before it, a line end behind it.
const AROUND_KEY: usize = 3;
