//! Pools: slabs for plain data on hot paths.

use super::{Id, IdVec};
use std::ops::{Index, IndexMut};

/// A slab that keeps entries in place when their ids are released, to be overwritten later: for plain data on
/// a hot path. An entry is as large as `T`, and access does not check whether it is allocated; debug builds
/// panic when an id that is not allocated is released. The id released last is allocated first.
#[derive(Clone, Debug)]
pub struct Pool<I, T> {
    entries: IdVec<I, T>,
    released: Vec<I>,
    #[cfg(debug_assertions)]
    is_allocated: Vec<bool>,
}

impl<I: Id, T> Pool<I, T> {
    /// An empty pool; allocates nothing.
    pub const fn new() -> Pool<I, T> {
        Pool {
            entries: IdVec::new(),
            released: Vec::new(),
            #[cfg(debug_assertions)]
            is_allocated: Vec::new(),
        }
    }

    /// Allocates an id for an entry.
    #[inline(always)]
    pub fn insert(&mut self, entry: T) -> I {
        let id = match self.released.pop() {
            Some(id) => {
                self.entries[id] = entry;
                id
            }
            None => self.entries.push(entry),
        };
        self.note_allocated(id);
        id
    }

    /// Allocates an id for the entry released last, unchanged, or for a new one if there is none: for entries
    /// that own memory.
    #[inline(always)]
    pub fn allocate(&mut self, make: impl FnOnce() -> T) -> I {
        let id = self.released.pop().unwrap_or_else(|| self.entries.push(make()));
        self.note_allocated(id);
        id
    }

    #[inline(always)]
    #[cfg_attr(not(debug_assertions), allow(unused_variables, reason = "only debug builds remember it"))]
    fn note_allocated(&mut self, id: I) {
        #[cfg(debug_assertions)]
        {
            self.is_allocated.resize(self.entries.len(), false);
            self.is_allocated[id.index()] = true;
        }
    }

    /// Releases an allocated id.
    ///
    /// # Panics
    /// In debug builds, if `id` is not allocated.
    #[inline(always)]
    pub fn release(&mut self, id: I) {
        #[cfg(debug_assertions)]
        assert!(std::mem::take(&mut self.is_allocated[id.index()]), "{id:?} is released twice");
        self.released.push(id);
    }

    /// Number of ids that are allocated and not yet released.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len() - self.released.len()
    }

    /// True if no id is allocated.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All ids allocated so far, in ascending order, including released ones.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        self.entries.ids()
    }

    /// The allocated entries with their ids, in ascending order; sorts the released ids.
    pub fn allocated(&self) -> impl Iterator<Item = (I, &T)> {
        let mut released: Vec<usize> = self.released.iter().map(|id| id.index()).collect();
        released.sort_unstable();
        let is_released = move |id: I| released.binary_search(&id.index()).is_ok();
        self.entries.iter_enumerated().filter(move |&(id, _)| !is_released(id))
    }
}

impl<I: Id, T> Index<I> for Pool<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id]
    }
}

impl<I: Id, T> IndexMut<I> for Pool<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id]
    }
}

impl<I: Id, T> Default for Pool<I, T> {
    fn default() -> Pool<I, T> {
        Pool::new()
    }
}
