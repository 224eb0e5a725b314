//! Descriptors of requests in memory that the driver writes and we read.

use super::standard::{UBLKSRV_CMD_BUF_OFFSET, ublksrv_io_desc};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};

/// The descriptors of one queue.
#[derive(Debug)]
pub struct Descriptors {
    first: NonNull<ublksrv_io_desc>,
    tags: u16,
    bytes: usize,
}

impl Descriptors {
    /// Those of the first queue of the device behind `file`, which has `tags` of them.
    pub fn map(file: &File, tags: u16) -> io::Result<Descriptors> {
        // The system makes whole pages of it, and the driver wants no more than those.
        let bytes = usize::from(tags) * size_of::<ublksrv_io_desc>();
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the system chooses the place, so nothing else is there.
        let first = unsafe { mmap(null_mut(), bytes, ProtFlags::READ, flags, file, UBLKSRV_CMD_BUF_OFFSET) }?;
        let first = NonNull::new(first.cast()).expect("the system does not map the first page");
        Ok(Descriptors { first, tags, bytes })
    }

    /// The request of a tag, of which the kernel has said that there is one: it does not write to it before
    /// that is committed.
    pub fn get(&self, tag: u16) -> ublksrv_io_desc {
        assert!(tag < self.tags, "there are {} tags", self.tags);
        // SAFETY: it lies within the mapping, see above.
        let place = unsafe { self.first.add(tag.into()) };
        // SAFETY: the mapping is as long as there are tags, aligned to pages, and holds integers, for which
        // any bytes are valid; whatever the kernel does to it meanwhile, a volatile read takes what is there.
        unsafe { place.read_volatile() }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing points into it any more: descriptors are copied
        // out.
        let unmapped = unsafe { munmap(self.first.as_ptr().cast(), self.bytes) };
        unmapped.expect("what was mapped can be unmapped");
    }
}
