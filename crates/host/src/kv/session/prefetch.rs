//! What is known of the next keys is fetched from memory before their turn comes.

use super::shard_request::Shards;
use crate::kv::MOST_FORESEEN;
use crate::wire::memcached::{Ahead, Receiver};

/// How far a piece of a client's input was looked at, before it is carried out.
///
/// An item that is asked for is somewhere in gigabytes of index and records, so each command waits for
/// memory, several times: as long as everything else in it takes. The next [`MOST_FORESEEN`] are waited for
/// together.
#[derive(Debug)]
pub struct Prefetch<'a> {
    ahead: Option<Ahead<'a>>,
    /// When so many bytes of the input are left, the next are looked at.
    until: usize,
}

impl<'a> Prefetch<'a> {
    /// Of input of which nothing was looked at.
    pub fn new() -> Prefetch<'a> {
        Prefetch { ahead: None, until: usize::MAX }
    }

    /// The receiver is at the front of `input`.
    #[inline]
    pub fn look<S: Shards>(&mut self, input: &'a [u8], receiver: &Receiver, shards: &mut S) {
        if input.len() <= self.until {
            self.go_on(input, receiver, shards);
        }
    }

    fn go_on<S: Shards>(&mut self, input: &'a [u8], receiver: &Receiver, shards: &mut S) {
        let mut ahead = match self.ahead {
            Some(ahead) if ahead.left() <= input.len() => ahead,
            _ if receiver.is_at_line() => Ahead::new(input),
            _ => return,
        };
        let mut keys: [&[u8]; MOST_FORESEEN] = [&[]; MOST_FORESEEN];
        let mut count = 0;
        for (place, key) in keys.iter_mut().zip(ahead.by_ref()) {
            *place = key;
            count += 1;
        }
        // One alone is there as soon as it would be fetched ahead.
        if count > 1 {
            shards.prefetch(&keys[..count]);
        }
        self.until = if count == 0 { 0 } else { ahead.left() + AROUND_KEY };
        self.ahead = Some(ahead);
    }
}

/// A space before a key, and a line's end behind it, that do not count as looked at.
const AROUND_KEY: usize = 3;
