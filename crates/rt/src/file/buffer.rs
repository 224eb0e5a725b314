//! Memory that a drive can read into and write from without the system copying it.

use bytemuck::{Pod, Zeroable};
use tailcut_host::BLOCK_BYTES;

/// A block, aligned as direct I/O wants it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
pub struct Page(pub [u8; BLOCK_BYTES as usize]);

// SAFETY: it is an array of bytes, for which zeros are valid.
unsafe impl Zeroable for Page {}
// SAFETY: any bytes are valid, it has no padding (its size is its alignment), and it holds no pointers.
unsafe impl Pod for Page {}

/// Memory for the data of one request. It is not moved when the buffer is.
#[derive(Debug)]
pub struct Buffer {
    /// Its place among all buffers of the drive.
    pub number: u16,
    pages: Vec<Page>,
}

impl Buffer {
    /// A buffer of `blocks` blocks.
    pub fn new(number: u16, blocks: usize) -> Buffer {
        Buffer { number, pages: vec![Page::zeroed(); blocks] }
    }

    /// Its blocks.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Its blocks.
    pub fn pages_mut(&mut self) -> &mut [Page] {
        &mut self.pages
    }

    /// The same as bytes.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.pages)
    }

    /// The same as bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.pages)
    }
}
