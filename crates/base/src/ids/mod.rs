//! Typed ids, vectors indexed by them, and slabs that allocate them.

mod pool;

pub use pool::Pool;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The index of an entry in one kind of table, as a type, so that ids of different tables cannot be swapped.
/// Declared with [`id!`](crate::id).
pub trait Id: Copy + Eq + fmt::Debug {
    /// The id with this index, which must fit the number that the id is (panics otherwise): most are below
    /// 2^32.
    fn at(index: usize) -> Self;

    /// The index.
    fn index(self) -> usize;

    /// The ids from this one up to, but not including, `end`, in ascending order; none if `end` is not above.
    #[inline]
    fn up_to(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (self.index()..end.index()).map(Self::at)
    }

    /// The ids with the indices 0 to `count` - 1, in ascending order.
    #[inline]
    fn first(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..count).map(Self::at)
    }
}

/// Declares an id as a transparent newtype of `u32`, or of the number after a colon.
///
/// ```
/// tailcut_base::id! {
///     /// A submitted job.
///     pub struct JobId;
/// }
/// tailcut_base::id! {
///     /// A byte of a file.
///     pub struct ByteId: u64;
/// }
/// assert_eq!((JobId::new(3).get(), ByteId::new(1 << 40).get()), (3, 1 << 40));
/// ```
#[macro_export]
macro_rules! id {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident;) => {
        $crate::id! { $(#[$attribute])* $visibility struct $name: u32; }
    };
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident: $number:ty;) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name($number);

        #[allow(dead_code, reason = "only ids that cross an untyped interface need it")]
        impl $name {
            /// The id with this number, from an untyped interface.
            $visibility const fn new(number: $number) -> $name {
                $name(number)
            }

            /// The number, for an untyped interface.
            $visibility const fn get(self) -> $number {
                self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::ids::Id for $name {
            #[inline]
            fn at(index: usize) -> $name {
                $name(<$number>::try_from(index).expect("the id fits its number"))
            }

            #[inline]
            fn index(self) -> usize {
                $crate::cast::to_usize($crate::cast::Unsigned::widened(self.0))
            }
        }
    };
}

/// A vector indexed by `I`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdVec<I, T> {
    entries: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector; allocates nothing.
    pub const fn new() -> IdVec<I, T> {
        IdVec { entries: Vec::new(), id: PhantomData }
    }

    /// A vector of `len` clones of `entry`, with the ids 0 to `len` - 1.
    pub fn filled(len: usize, entry: T) -> IdVec<I, T>
    where
        T: Clone,
    {
        IdVec { entries: vec![entry; len], id: PhantomData }
    }

    /// Appends an entry and returns its id.
    #[inline]
    pub fn push(&mut self, entry: T) -> I {
        self.entries.push(entry);
        I::at(self.entries.len() - 1)
    }

    /// Appends clones of `entry` until `id` is a valid index.
    #[inline]
    pub fn extend_to(&mut self, id: I, entry: T)
    where
        T: Clone,
    {
        if self.entries.len() <= id.index() {
            self.entries.resize(id.index() + 1, entry);
        }
    }

    /// The entry, or `None` if `id` is not a valid index.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// The entry, or `None` if `id` is not a valid index.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// The ids of all entries, in ascending order.
    #[inline]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        I::first(self.entries.len())
    }

    /// The entries in the order of their ids.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries in the order of their ids.
    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// The entries with their ids, in ascending order.
    #[inline]
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.entries.iter().enumerate().map(|(index, entry)| (I::at(index), entry))
    }

    /// The entries in the order of their ids.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }

    /// The entries in the order of their ids.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.entries
    }

    /// Number of entries; their ids count from 0 up to one less.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
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

/// The ids are given in the order of the items.
impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<Items: IntoIterator<Item = T>>(items: Items) -> IdVec<I, T> {
        IdVec { entries: items.into_iter().collect(), id: PhantomData }
    }
}

impl<'a, I: Id, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, I: Id, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> std::slice::IterMut<'a, T> {
        self.iter_mut()
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

/// A slab: storage that allocates an id for each entry. The id released last is allocated first, so memory is
/// bounded by the peak number of entries, and equal sequences of operations give equal ids.
pub struct Slab<I, T> {
    entries: slab::Slab<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> Slab<I, T> {
    /// An empty slab; allocates nothing.
    pub const fn new() -> Slab<I, T> {
        Slab { entries: slab::Slab::new(), id: PhantomData }
    }

    /// Inserts an entry and returns its id.
    #[inline]
    pub fn insert(&mut self, entry: T) -> I {
        I::at(self.entries.insert(entry))
    }

    /// Removes and returns an entry, which must exist (panics otherwise).
    #[inline]
    pub fn remove(&mut self, id: I) -> T {
        self.entries.remove(id.index())
    }

    /// Removes and returns an entry, or returns `None` if the id is free.
    #[inline]
    pub fn try_remove(&mut self, id: I) -> Option<T> {
        self.entries.try_remove(id.index())
    }

    /// The entry, or `None` if the id is free.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// The entry, or `None` if the id is free.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// The entries with their ids, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.entries.iter().map(|(index, entry)| (I::at(index), entry))
    }

    /// The entries with their ids, in ascending order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.entries.iter_mut().map(|(index, entry)| (I::at(index), entry))
    }

    /// Number of entries inserted and not yet removed.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
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
    fn a_pool_allocates_as_a_slab_does() {
        let (mut slab, mut pool) = (Slab::<Ticket, u32>::new(), Pool::<Ticket, u32>::new());
        for entry in 0..100 {
            let id = slab.insert(entry);
            assert_eq!((pool.insert(entry), pool[id]), (id, entry));
            if entry % 3 == 1 {
                slab.remove(Ticket::new(entry / 3));
                pool.release(Ticket::new(entry / 3));
            }
            assert_eq!(pool.len(), slab.len());
        }
        assert!(pool.allocated().all(|(id, entry)| slab.get(id) == Some(entry)));
        assert_eq!(pool.allocated().count(), slab.len());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "released twice")]
    fn a_pool_notices_an_id_that_is_released_twice() {
        let mut pool = Pool::<Ticket, u32>::new();
        [pool.insert(1); 2].into_iter().for_each(|id| pool.release(id));
    }

    #[test]
    fn the_id_released_last_is_allocated_first() {
        let mut slab = Slab::<Ticket, char>::new();
        let [a, b, c] = ['a', 'b', 'c'].map(|letter| slab.insert(letter));
        assert_eq!([a, b, c].map(Ticket::get), [0, 1, 2]);
        assert_eq!((slab.remove(a), slab.remove(c)), ('a', 'c'));
        assert_eq!((slab.insert('d'), slab.insert('e'), slab.insert('f')), (c, a, Ticket::new(3)));
    }

    #[test]
    fn a_vector_counts_its_ids_from_zero() {
        let vector: IdVec<Ticket, char> = "abc".chars().collect();
        assert!(vector.ids().eq(Ticket::first(3)));
        assert_eq!(vector.iter_enumerated().last(), Some((Ticket::new(2), &'c')));
        assert_eq!((vector.get(Ticket::new(1)), vector.get(Ticket::new(3))), (Some(&'b'), None));
        assert!(Ticket::new(1).up_to(Ticket::new(3)).map(|id| vector[id]).eq(['b', 'c']));
        assert_eq!(Ticket::new(3).up_to(Ticket::new(1)).len(), 0);
    }

    proptest! {
        /// Agrees with a map and a LIFO free list.
        #[test]
        fn agrees_with_a_map_and_a_free_list(steps in prop::collection::vec((any::<bool>(), any::<u8>()), 0..200)) {
            let mut slab = Slab::<Ticket, u8>::new();
            let (mut model, mut free, mut most) = (BTreeMap::new(), Vec::new(), 0);
            for (is_insertion, number) in steps {
                if is_insertion {
                    let id = slab.insert(number);
                    prop_assert_eq!(id.get(), free.pop().unwrap_or_else(|| { most += 1; most - 1 }));
                    model.insert(id, number);
                } else {
                    let id = Ticket::new(u32::from(number) % (most + 1));
                    let entry = slab.try_remove(id);
                    prop_assert_eq!(entry, model.remove(&id));
                    free.extend(entry.map(|_| id.get()));
                }
                prop_assert_eq!((slab.len(), slab.is_empty()), (model.len(), model.is_empty()));
                for id in Ticket::new(0).up_to(Ticket::new(most + 1)) {
                    prop_assert_eq!(slab.get(id), model.get(&id));
                }
            }
        }
    }
}
