//! Ids of their own types, tables indexed by them, and tables whose entries come and go.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The id of an entry of a table: its index, in a type of its own, so that ids of two tables cannot be mixed up.
/// Declared with [`id!`](crate::id).
pub trait Id: Copy + Eq + fmt::Debug {
    /// The id of the entry at an index. Panics from 2^32 on.
    fn at(index: usize) -> Self;

    /// The index of its entry.
    fn index(self) -> usize;
}

/// Declares the id of an entry as a transparent newtype of `u32`.
///
/// ```
/// tailcut_base::id! {
///     /// A job that is with the disk.
///     pub struct JobId;
/// }
/// assert_eq!(JobId::new(3).get(), 3);
/// ```
#[macro_export]
macro_rules! id {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every id crosses an interface of bare numbers")]
        impl $name {
            /// The id that crossed an interface of bare numbers.
            $visibility const fn new(number: u32) -> $name {
                $name(number)
            }

            /// The id, for an interface of bare numbers.
            $visibility const fn get(self) -> u32 {
                self.0
            }
        }

        impl $crate::ids::Id for $name {
            #[inline]
            fn at(index: usize) -> $name {
                $name(u32::try_from(index).expect("a table has fewer than 2^32 entries"))
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

/// A table with an entry for each id.
#[derive(Clone, Debug)]
pub struct IdVec<I, T> {
    entries: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty table, which takes no memory yet.
    pub const fn new() -> IdVec<I, T> {
        IdVec { entries: Vec::new(), id: PhantomData }
    }

    /// So many copies of `entry`.
    pub fn filled(len: usize, entry: T) -> IdVec<I, T>
    where
        T: Clone,
    {
        IdVec { entries: vec![entry; len], id: PhantomData }
    }

    /// Adds an entry; returns its id.
    #[inline]
    pub fn push(&mut self, entry: T) -> I {
        self.entries.push(entry);
        I::at(self.entries.len() - 1)
    }

    /// Adds copies of `entry` until `id` has one.
    #[inline]
    pub fn extend_to(&mut self, id: I, entry: T)
    where
        T: Clone,
    {
        if self.entries.len() <= id.index() {
            self.entries.resize(id.index() + 1, entry);
        }
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without any entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> IdVec<I, T> {
        IdVec { entries: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

/// A table of entries that come and go. An id is used again once its entry is gone, the one that was vacated last first, so
/// that the table stays as small as the most entries there were at a time, and the same operations always give the same ids.
pub struct Slab<I, T> {
    entries: slab::Slab<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> Slab<I, T> {
    /// An empty table, which takes no memory yet.
    pub const fn new() -> Slab<I, T> {
        Slab { entries: slab::Slab::new(), id: PhantomData }
    }

    /// Takes an entry in; returns its id.
    #[inline]
    pub fn insert(&mut self, entry: T) -> I {
        I::at(self.entries.insert(entry))
    }

    /// Takes an entry out. Panics if there is none.
    #[inline]
    pub fn remove(&mut self, id: I) -> T {
        self.entries.remove(id.index())
    }

    /// Takes an entry out, if there is one.
    #[inline]
    pub fn try_remove(&mut self, id: I) -> Option<T> {
        self.entries.try_remove(id.index())
    }

    /// An entry, if it is there.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// An entry, if it is there.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without any entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<I: Id, T> Index<I> for Slab<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Slab<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

impl<I: Id, T> Default for Slab<I, T> {
    fn default() -> Slab<I, T> {
        Slab::new()
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Slab<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|(index, entry)| (I::at(index), entry))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    id! {
        struct Ticket;
    }

    #[test]
    fn the_id_vacated_last_is_used_first() {
        let mut slab = Slab::<Ticket, char>::new();
        let [a, b, c] = ['a', 'b', 'c'].map(|letter| slab.insert(letter));
        assert_eq!([a, b, c].map(Ticket::get), [0, 1, 2]);
        assert_eq!((slab.remove(a), slab.remove(c)), ('a', 'c'));
        assert_eq!((slab.insert('d'), slab.insert('e'), slab.insert('f')), (c, a, Ticket::new(3)));
    }

    proptest! {
        /// Entries are what a map under the same ids has; ids are those of a list of vacant places, taken from its end.
        #[test]
        fn is_a_map_with_a_list_of_vacant_places(steps in prop::collection::vec((any::<bool>(), any::<u8>()), 0..200)) {
            let mut slab = Slab::<Ticket, u8>::new();
            let (mut model, mut vacant, mut most) = (BTreeMap::new(), Vec::new(), 0);
            for (is_insertion, number) in steps {
                if is_insertion {
                    let expected = vacant.pop().unwrap_or_else(|| { most += 1; most - 1 });
                    let id = slab.insert(number);
                    prop_assert_eq!(id.get(), expected);
                    model.insert(id, number);
                } else {
                    let id = Ticket::new(u32::from(number) % (most + 1));
                    let entry = slab.try_remove(id);
                    prop_assert_eq!(entry, model.remove(&id));
                    vacant.extend(entry.map(|_| id.get()));
                }
                prop_assert_eq!((slab.len(), slab.is_empty()), (model.len(), model.is_empty()));
                for number in 0..=most {
                    let id = Ticket::new(number);
                    prop_assert_eq!(slab.get(id), model.get(&id));
                }
            }
        }
    }
}
