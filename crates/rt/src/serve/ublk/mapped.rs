//! Request descriptors in memory that the driver writes and this process reads.

use super::standard::{UBLKSRV_CMD_BUF_OFFSET, ublksrv_io_desc};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};

/// The descriptors of one queue.
#[derive(Debug)]
pub(super) struct Descriptors {
    first: NonNull<ublksrv_io_desc>,
    tags: u16,
    bytes: usize,
}

impl Descriptors {
    /// Maps the descriptors of the first queue of the device behind `file`, which has `tags` tags.
    pub(super) fn map(file: &File, tags: u16) -> io::Result<Descriptors> {
        // The system maps whole pages, and the driver allows no more than those.
        let bytes = usize::from(tags) * size_of::<ublksrv_io_desc>();
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: no address is asked for, so the mapping replaces none that something refers to; it is valid
        // for reads until `drop` unmaps it.
        let first = unsafe { mmap(null_mut(), bytes, ProtFlags::READ, flags, file, UBLKSRV_CMD_BUF_OFFSET) }?;
        let first = NonNull::new(first.cast()).expect("the system does not map the first page");
        Ok(Descriptors { first, tags, bytes })
    }

    /// The request of a tag that the kernel has delivered: the kernel does not write to the descriptor before
    /// the request is committed.
    pub(super) fn get(&self, tag: u16) -> ublksrv_io_desc {
        assert!(tag < self.tags, "there are {} tags", self.tags);
        // SAFETY: the result lies within the mapping, as checked above.
        let place = unsafe { self.first.add(tag.into()) };
        // SAFETY: the mapping has a descriptor per tag, lives as long as `self`, is aligned to pages, and
        // holds integers, for which any bytes are valid. No reference into it exists, because the kernel
        // writes it; a volatile read tolerates that.
        unsafe { place.read_volatile() }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the mapping has this length, and nothing points into it any more: descriptors are copied
        // out.
        let unmapped = unsafe { munmap(self.first.as_ptr().cast(), self.bytes) };
        unmapped.expect("what was mapped can be unmapped");
    }
}
