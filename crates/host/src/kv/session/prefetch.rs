//! Prefetch of the index entries and records of upcoming keys into the processor's cache.

use super::shard_request::Shards;
use crate::kv::PREFETCH_MAX;
use crate::wire::memcached::{Ahead, Receiver};

/// Progress of the look-ahead in a piece of a client's input.
///
/// An item may be anywhere in gigabytes of index and records, so each command has several cache misses, which
/// take as long as all else in it. The misses of the next [`PREFETCH_MAX`] commands overlap.
#[derive(Debug)]
pub struct Prefetch<'a> {
    ahead: Option<Ahead<'a>>,
    /// Look ahead again when this many bytes of the input are left.
    until: usize,
}

impl<'a> Prefetch<'a> {
    /// Look-ahead for new input.
    pub fn new() -> Prefetch<'a> {
        Prefetch { ahead: None, until: usize::MAX }
    }

    /// Looks ahead if necessary; `input` is what the receiver has not consumed.
    #[inline]
    pub fn scan<S: Shards>(&mut self, input: &'a [u8], receiver: &Receiver, shards: &mut S) {
        if input.len() <= self.until {
            self.resume(input, receiver, shards);
        }
    }

    fn resume<S: Shards>(&mut self, input: &'a [u8], receiver: &Receiver, shards: &mut S) {
        let mut ahead = match self.ahead {
            Some(ahead) if ahead.left() <= input.len() => ahead,
            _ if receiver.is_at_line() => Ahead::new(input),
            _ => return,
        };
        let mut keys: [&[u8]; PREFETCH_MAX] = [&[]; PREFETCH_MAX];
        let mut count = 0;
        for (place, key) in keys.iter_mut().zip(ahead.by_ref()) {
            *place = key;
            count += 1;
        }
        // Prefetching a single key gains nothing.
        if count > 1 {
            shards.prefetch(&keys[..count]);
        }
        self.until = if count == 0 { 0 } else { ahead.left() + AROUND_KEY };
        self.ahead = Some(ahead);
    }
}

/// Bytes around a key that the look-ahead does not count: a space before it, a line end behind it.
const AROUND_KEY: usize = 3;
