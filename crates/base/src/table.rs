//! Large tables of plain numbers that take no memory until they are accessed.
//!
//! A drive's map has one entry per page. The operating system supplies zeroed memory page by page, so that a
//! large, mostly empty drive starts at once. Huge pages are requested where the system has them, because
//! random access to such a table otherwise spends half of its time in address translation; a table that is
//! used here and there keeps small ones, as each entry would take 2 MiB.

use bytemuck::Pod;
#[cfg(not(target_arch = "wasm32"))]
use memmap2::{Advice, MmapMut, MmapOptions};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A zeroed table of fixed length.
///
/// As a slice it is whole. A single entry is cheaper by [`Table::at`] and [`Table::set`], which have one
/// bound to check; that the mapped bytes are aligned for `T`, and how many entries they make, is checked for
/// each slice.
pub struct Table<T> {
    memory: Memory,
    len: usize,
    of: PhantomData<T>,
}

/// A number that tables hold.
pub trait Entry: Pod {
    /// The entry at `index` of the bytes of a table.
    fn read(bytes: &[u8], index: usize) -> Self;
    /// Changes the entry at `index` of the bytes of a table.
    fn write(bytes: &mut [u8], index: usize, entry: Self);
}

macro_rules! entries {
    ($($number:ty),*) => {$(
        impl Entry for $number {
            #[inline(always)]
            fn read(bytes: &[u8], index: usize) -> $number {
                <$number>::from_ne_bytes(bytes.as_chunks().0[index])
            }

            #[inline(always)]
            fn write(bytes: &mut [u8], index: usize, entry: $number) {
                bytes.as_chunks_mut().0[index] = entry.to_ne_bytes();
            }
        }
    )*};
}

entries!(u8, u32, u64);

#[cfg(not(target_arch = "wasm32"))]
struct Memory(MmapMut);

#[cfg(not(target_arch = "wasm32"))]
impl Memory {
    fn zeroed(bytes: usize) -> Memory {
        // Nothing cannot be mapped. Not reserved: a table may be larger than the memory, if little of it is
        // used.
        let map = MmapOptions::new().len(bytes.max(1)).no_reserve_swap().map_anon();
        Memory(map.expect("the system has address space for the maps of the drive"))
    }

    fn request_huge_pages(&self) {
        // A system without huge pages backs the table with small ones.
        let _ = self.0.advise(Advice::HugePage);
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Where no memory can be mapped; aligned for every number.
#[cfg(target_arch = "wasm32")]
struct Memory {
    words: Vec<u128>,
    bytes: usize,
}

#[cfg(target_arch = "wasm32")]
impl Memory {
    fn zeroed(bytes: usize) -> Memory {
        Memory { words: vec![0; bytes.div_ceil(size_of::<u128>())], bytes }
    }

    fn request_huge_pages(&self) {}

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl<T: Entry> Table<T> {
    /// A table of `len` zeros.
    ///
    /// # Panics
    /// If the system has no address space left.
    pub fn new(len: usize) -> Table<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("the table fits the address space");
        Table { memory: Memory::zeroed(bytes), len, of: PhantomData }
    }

    /// A densely used table of `len` zeros: requests huge pages.
    ///
    /// # Panics
    /// If the system has no address space left.
    pub fn dense(len: usize) -> Table<T> {
        let table = Table::new(len);
        table.request_huge_pages();
        table
    }

    /// Requests huge pages for what is written from now on: most of the table will be.
    pub fn request_huge_pages(&self) {
        if self.len > 0 {
            self.memory.request_huge_pages();
        }
    }

    /// The entry at `index`.
    ///
    /// # Panics
    /// If the table has no such entry.
    #[inline]
    pub fn at(&self, index: usize) -> T {
        T::read(self.memory.bytes(), index)
    }

    /// Changes the entry at `index`.
    ///
    /// # Panics
    /// If the table has no such entry.
    #[inline]
    pub fn set(&mut self, index: usize, entry: T) {
        T::write(self.memory.bytes_mut(), index, entry);
    }
}

impl<T: Entry> Deref for Table<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory.bytes()[..self.len * size_of::<T>()])
    }
}

impl<T: Entry> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.memory.bytes_mut()[..self.len * size_of::<T>()])
    }
}

impl<T: Entry> Clone for Table<T> {
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
        table.set(99_998, 8);
        assert_eq!((table.at(99_998), table.at(99_999)), (8, 7));
        assert!(Table::<u64>::new(0).is_empty());
    }
}
