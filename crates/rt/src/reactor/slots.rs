//! Connections of an event loop, in slots whose generations are counted.

use std::ops::{Index, IndexMut, Range};
use tailcut_base::id;
use tailcut_base::ids::Slab;

id! {
    /// A slot of a connection.
    struct SlotId;
}

/// The source of an event: a fixed source of the loop by its number, or a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(u64);

impl Token {
    /// The mailbox of the loop.
    pub(super) const MAILBOX: Token = Token(u64::MAX);

    /// A fixed source of the loop, by a number below 2^32 - 1 of its own.
    pub const fn source(number: u32) -> Token {
        Token(SOURCE | number as u64)
    }

    fn slot(slot: u32, generation: u32) -> Token {
        Token(u64::from(generation & GENERATIONS) << 33 | u64::from(slot))
    }

    /// The number of a fixed source; `None` for a connection.
    pub fn as_source(self) -> Option<u32> {
        (self.0 & SOURCE != 0).then_some(self.0 as u32)
    }

    /// The token of the connection's second socket.
    pub fn second(self) -> Token {
        Token(self.0 | SECOND)
    }

    /// True for the second socket of a connection.
    pub fn is_second(self) -> bool {
        self.0 & SECOND != 0
    }

    pub(super) const fn new(number: u64) -> Token {
        Token(number)
    }

    pub(super) const fn get(self) -> u64 {
        self.0
    }
}

const SOURCE: u64 = 1 << 63;
const SECOND: u64 = 1 << 32;
/// Mask of a generation: the bits of a token that are left for it.
const GENERATIONS: u32 = u32::MAX >> 2;

/// Connections by the number of their slot. The slot released last is taken first.
#[derive(Debug)]
pub struct Slots<C> {
    slots: Slab<SlotId, (u32, C)>,
    /// Connections so far, wrapping: the generation of the next one.
    inserted: u32,
    /// One more than the highest slot that was ever taken.
    end: u32,
}

impl<C> Default for Slots<C> {
    fn default() -> Slots<C> {
        Slots { slots: Slab::new(), inserted: 0, end: 0 }
    }
}

impl<C> Slots<C> {
    /// Adds a connection; returns its slot.
    pub fn insert(&mut self, connection: C) -> u32 {
        let slot = self.slots.insert((self.inserted, connection)).get();
        self.inserted = self.inserted.wrapping_add(1);
        self.end = self.end.max(slot + 1);
        slot
    }

    /// Removes a connection, if it exists.
    pub fn remove(&mut self, slot: u32) -> Option<C> {
        self.slots.try_remove(SlotId::new(slot)).map(|(_, connection)| connection)
    }

    /// The connection on a slot, if there is one.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&C> {
        self.slots.get(SlotId::new(slot)).map(|(_, connection)| connection)
    }

    /// The connection on a slot, if there is one.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut C> {
        self.slots.get_mut(SlotId::new(slot)).map(|(_, connection)| connection)
    }

    /// The connection on a slot, if there is one, with its token.
    #[inline]
    pub fn entry(&mut self, slot: u32) -> Option<(Token, &mut C)> {
        let (generation, connection) = self.slots.get_mut(SlotId::new(slot))?;
        Some((Token::slot(slot, *generation), connection))
    }

    /// The token of the connection on a slot, which must exist (panics otherwise).
    #[inline]
    pub fn token(&self, slot: u32) -> Token {
        Token::slot(slot, self.slots[SlotId::new(slot)].0)
    }

    /// The slot of the connection with this token; `None` once the connection is removed.
    #[inline]
    pub fn find(&self, token: Token) -> Option<u32> {
        let slot = token.0 as u32;
        let &(generation, _) = self.slots.get(SlotId::new(slot)).filter(|_| token.0 & SOURCE == 0)?;
        (Token::slot(slot, generation).0 == token.0 & !SECOND).then_some(slot)
    }

    /// Number of connections that are open.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if no connection is open.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All slots that may have a connection: iterate them and skip the vacant ones.
    pub fn all(&self) -> Range<u32> {
        0..self.end
    }
}

impl<C> Index<u32> for Slots<C> {
    type Output = C;

    #[inline]
    fn index(&self, slot: u32) -> &C {
        &self.slots[SlotId::new(slot)].1
    }
}

impl<C> IndexMut<u32> for Slots<C> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut C {
        &mut self.slots[SlotId::new(slot)].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_stale_once_its_connection_is_gone() {
        let mut slots = Slots::default();
        let (first, second) = (slots.insert('a'), slots.insert('b'));
        let tokens = [slots.token(first), slots.token(second)];
        assert_eq!(tokens.map(|token| slots.find(token)), [Some(first), Some(second)]);
        assert_eq!(slots.find(tokens[0].second()), Some(first));
        assert!(tokens[0].second().is_second() && !tokens[0].is_second());
        assert_eq!(slots.remove(first), Some('a'));
        assert_eq!(slots.find(tokens[0]), None);
        assert_eq!(slots.insert('c'), first, "its slot is taken again");
        assert_eq!((slots.find(tokens[0]), slots.find(tokens[0].second())), (None, None));
        assert_eq!(slots.find(slots.token(first)), Some(first));
        assert_eq!((slots.remove(7), slots.len(), slots.all()), (None, 2, 0..2));
    }

    #[test]
    fn no_connection_has_the_token_of_a_source() {
        let mut slots = Slots { inserted: u32::MAX, ..Slots::default() };
        let tokens = [(); 2].map(|()| {
            let slot = slots.insert(());
            slots.token(slot)
        });
        assert!(tokens.iter().all(|token| token.as_source().is_none() && slots.find(*token).is_some()));
        assert_eq!(Token::source(3).as_source(), Some(3));
        assert_eq!([Token::source(0), Token::MAILBOX].map(|token| slots.find(token)), [None, None]);
    }
}
