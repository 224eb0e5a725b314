//! Large tables of plain numbers that take no memory until they are accessed.
//!
//! A drive's map has one entry per page. The operating system supplies zeroed memory page by page, so that a
//! large, mostly empty drive starts at once. Huge pages are requested where the system has them, because
//! random access to such a table otherwise spends half of its time in address translation.

use bytemuck::Pod;
#[cfg(not(target_arch = "wasm32"))]
use memmap2::{Advice, MmapMut};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A zeroed table of fixed length.
pub struct Table<T> {
    memory: Memory,
    len: usize,
    of: PhantomData<T>,
}

enum Memory {
    Empty,
    #[cfg(not(target_arch = "wasm32"))]
    Mapped(MmapMut),
    /// Where no memory can be mapped; aligned for every number.
    #[cfg(target_arch = "wasm32")]
    Heap(Vec<u128>),
}

#[cfg(not(target_arch = "wasm32"))]
impl Memory {
    fn zeroed(bytes: usize, huge: bool) -> Memory {
        let map = MmapMut::map_anon(bytes).expect("the system has memory for the maps of the drive");
        if huge {
            // A system without huge pages backs the table with small ones.
            let _ = map.advise(Advice::HugePage);
        }
        Memory::Mapped(map)
    }
}

#[cfg(target_arch = "wasm32")]
impl Memory {
    fn zeroed(bytes: usize, _: bool) -> Memory {
        Memory::Heap(vec![0; bytes.div_ceil(size_of::<u128>())])
    }
}

impl<T: Pod> Table<T> {
    /// A table of `len` zeros.
    ///
    /// # Panics
    /// If the system has no address space left.
    pub fn new(len: usize) -> Table<T> {
        Table::with_advice(len, false)
    }

    /// A densely used table of `len` zeros: requests huge pages.
    ///
    /// # Panics
    /// If the system has no address space left.
    pub fn dense(len: usize) -> Table<T> {
        Table::with_advice(len, true)
    }

    fn with_advice(len: usize, huge: bool) -> Table<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("the table fits the address space");
        if bytes == 0 {
            return Table { memory: Memory::Empty, len: 0, of: PhantomData };
        }
        Table { memory: Memory::zeroed(bytes, huge), len, of: PhantomData }
    }
}

impl<T: Pod> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Empty => &[],
            #[cfg(not(target_arch = "wasm32"))]
            Memory::Mapped(map) => &bytemuck::cast_slice(map)[..self.len],
            #[cfg(target_arch = "wasm32")]
            Memory::Heap(words) => &bytemuck::cast_slice(words)[..self.len],
        }
    }
}

impl<T: Pod> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Empty => &mut [],
            #[cfg(not(target_arch = "wasm32"))]
            Memory::Mapped(map) => &mut bytemuck::cast_slice_mut(map)[..self.len],
            #[cfg(target_arch = "wasm32")]
            Memory::Heap(words) => &mut bytemuck::cast_slice_mut(words)[..self.len],
        }
    }
}

impl<T: Pod> Clone for Table<T> {
    fn clone(&self) -> Table<T> {
        let mut copy = Table::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table of {} entries", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_zeroed_and_keeps_what_is_written() {
        let mut table: Table<u32> = Table::dense(100_000);
        assert!(table.iter().all(|&x| x == 0));
        table[99_999] = 7;
        assert_eq!(table[99_999], 7);
        assert_eq!(table.clone()[99_999], 7);
        assert!(Table::<u64>::new(0).is_empty());
    }
}
