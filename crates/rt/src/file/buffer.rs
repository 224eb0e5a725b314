//! Memory for direct I/O, which the system need not copy.

use bytemuck::{Pod, Zeroable};
use tailcut_host::BLOCK_BYTES;

/// A block, aligned for direct I/O.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
pub(super) struct Page(pub [u8; BLOCK_BYTES as usize]);

// SAFETY: it is an array of bytes, for which zeros are valid.
unsafe impl Zeroable for Page {}
// SAFETY: any bytes are valid, it has no padding (its size is its alignment), and it holds no pointers.
unsafe impl Pod for Page {}

/// Memory for the data of one request. Moving the buffer does not move the memory.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Index of the buffer among all buffers of the drive, from 0.
    pub number: u16,
    pages: Vec<Page>,
}

impl Buffer {
    /// A buffer of `blocks` blocks.
    pub(super) fn new(number: u16, blocks: usize) -> Buffer {
        Buffer { number, pages: vec![Page::zeroed(); blocks] }
    }

    /// Its blocks.
    pub(super) fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Its blocks.
    pub(super) fn pages_mut(&mut self) -> &mut [Page] {
        &mut self.pages
    }

    /// Its content as bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.pages)
    }

    /// Its content as bytes.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.pages)
    }
}
