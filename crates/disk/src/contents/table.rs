//! The table of pages: two levels, so that a page is found with one look at memory that is rarely cached.

use super::page::PageState;
use tailcut_base::cast::to_usize;

/// Pages of a chunk: 4 KiB of states.
const CHUNK: u64 = 128;

/// The states of pages by number. A chunk takes memory from the first write of one of its pages on.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    chunks: Vec<Option<Box<[PageState]>>>,
}

impl PageTable {
    /// The state of a page; `None` if no page of its chunk was ever written.
    #[inline]
    pub(super) fn get(&self, page: u64) -> Option<&PageState> {
        let chunk = self.chunks.get(to_usize(page / CHUNK))?.as_ref()?;
        Some(&chunk[to_usize(page % CHUNK)])
    }

    /// The state of a page.
    pub(super) fn get_mut(&mut self, page: u64) -> &mut PageState {
        let index = to_usize(page / CHUNK);
        if index >= self.chunks.len() {
            self.chunks.resize_with(index + 1, || None);
        }
        let chunk =
            self.chunks[index].get_or_insert_with(|| (0..CHUNK).map(|_| PageState::default()).collect());
        &mut chunk[to_usize(page % CHUNK)]
    }

    /// Bytes of memory with the data.
    pub(super) fn memory(&self) -> usize {
        let states = || self.chunks.iter().flatten().flat_map(|chunk| chunk.iter());
        size_of_val(self.chunks.as_slice())
            + states().map(|state| state.memory() + size_of::<PageState>()).sum::<usize>()
    }
}
