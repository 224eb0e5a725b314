//! Requests of a block device, on the thread of its drive.
//!
//! Each tag is either with the kernel, which places the next request there, or with this process until its
//! request is committed. One call commits completed requests and fetches new ones. The ring is used like that
//! of a file: see [`Uring`](crate::file).

use super::control::wrong;
use super::descriptor::{MOST_BYTES, check};
use super::device::open;
use super::mapped::Descriptors;
use super::standard::*;
use super::{CannotAttach, Shape};
use io_uring::types::Fd;
use io_uring::{EnterFlags, IoUring, opcode};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, preadv, pwritev};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use tailcut_host::wire::nbd::standard::Error;
use tailcut_host::wire::nbd::{Command, Header, Incoming, Refusal, Rules};
use tailcut_host::{BLOCK_BYTES, Bytes, Pool};

/// The queue of a device.
pub struct Queue {
    /// Closed before the file, since it has commands in flight for it.
    ring: IoUring,
    descriptors: Descriptors,
    file: File,
    /// Becomes readable when the ring has completions.
    event: OwnedFd,
    rules: Rules,
    /// Number of tags.
    depth: u16,
    /// Number of tags for which the kernel will deliver no more requests.
    ended: u16,
    /// The event was seen to be readable.
    is_told: bool,
    /// Commands that have not been submitted yet.
    pushed: u32,
}

impl Queue {
    /// Opens the queue of the device `number`, which can be started afterwards; its requests belong to the
    /// calling thread.
    ///
    /// # Errors
    /// [`CannotAttach`]: the queue cannot be opened or mapped, io_uring is not available, or the driver
    /// refuses to deliver requests, as for a device with fewer tags than `depth`.
    pub fn open(number: u32, depth: u16, shape: &Shape) -> Result<Queue, CannotAttach> {
        let failed = |what| move |error| CannotAttach::System { what, number, error };
        let file = open(number).map_err(failed("open the queue of"))?;
        let mut queue = Queue::over(file, depth, shape).map_err(failed("use io_uring for"))?;
        (0..depth).for_each(|tag| queue.push(UBLK_U_IO_FETCH_REQ, tag, 0));
        while queue.pushed > 0 {
            queue.poll();
        }
        // Rejected commands complete at once, and a device with fewer tags would never start.
        let refused = queue.ring.completion().next();
        let refused = refused.map(|refused| Errno::from_raw_os_error(-refused.result()));
        refused.map_or(Ok(queue), |error| Err(wrong("fetch requests of", number, error)))
    }

    fn over(file: File, depth: u16, shape: &Shape) -> io::Result<Queue> {
        let entries = u32::from(depth).next_power_of_two();
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ring.submitter().register_eventfd(event.as_raw_fd())?;
        let descriptors = Descriptors::map(&file, depth)?;
        let rules = Rules {
            bytes: shape.bytes,
            is_read_only: shape.is_read_only,
            zeroes_fast: false,
            has_structured_replies: false,
            has_allocation: false,
        };
        Ok(Queue { ring, descriptors, file, event, rules, depth, ended: 0, is_told: false, pushed: 0 })
    }

    /// The descriptor that becomes readable when a request arrives, after [`Queue::arm`].
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Acknowledges that the descriptor is readable.
    pub fn heed(&mut self) {
        self.is_told = true;
    }

    /// Polls the ring, if the descriptor was readable.
    pub fn look_if_told(&mut self) {
        if self.is_told {
            self.quieten();
            self.poll();
        }
    }

    fn quieten(&mut self) {
        self.is_told = false;
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }

    /// Submits commits, and lets the kernel post new requests.
    fn poll(&mut self) {
        // SAFETY: no argument is passed, and the entries refer only to the file, which is open as long as the
        // ring.
        let entered = unsafe { self.ring.submitter().enter::<()>(self.pushed, 0, LOOK, None) };
        // Temporarily out of memory, or interrupted: the next call submits the rest.
        let passes = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM].map(Some);
        match entered {
            Ok(taken) => self.pushed -= taken as u32,
            Err(why) if passes.contains(&why.raw_os_error()) => {}
            Err(why) => panic!("the ring is used by one thread: {why}"),
        }
    }

    /// True if a request, or the end of a tag, is pending.
    pub fn has_more(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// True if the kernel will deliver no more requests, and none is with this process: the device is gone.
    pub fn is_finished(&self) -> bool {
        self.ended == self.depth
    }

    /// The next request; its cookie is its tag. Data of writes is copied into blocks of the pool.
    ///
    /// # Panics
    /// If the driver rejects a command that completes a request, which would be a bug here.
    pub fn next(&mut self, pool: &mut Pool) -> Option<Incoming> {
        loop {
            let completion = self.ring.completion().next()?;
            let tag = completion.user_data() as u16;
            match completion.result() {
                UBLK_IO_RES_OK => return Some(self.incoming(tag, pool)),
                UBLK_IO_RES_ABORT => self.ended += 1,
                error => panic!(
                    "the driver refuses what was said of a request: {}",
                    Errno::from_raw_os_error(-error)
                ),
            }
        }
    }

    fn incoming(&self, tag: u16, pool: &mut Pool) -> Incoming {
        let header = self.descriptors.get(tag).header(tag);
        let (mut command, mut data) = (check(&self.rules, &header), Vec::new());
        if command == Ok(Command::Write) {
            data = pool.list();
            data.extend((0..u64::from(header.length) / BLOCK_BYTES).map(|_| pool.block()));
            if !self.take(&header, &mut data) {
                pool.recycle(std::mem::take(&mut data));
                let text = "its data cannot be had from the kernel";
                command = Err(Refusal { error: Error::InputOutput, text });
            }
        }
        Incoming { header, command, data }
    }

    /// Copies the data of a write into blocks; false if it cannot be read.
    fn take(&self, header: &Header, blocks: &mut [Bytes]) -> bool {
        let count = blocks.len();
        let mut places: [IoSliceMut<'_>; MOST_BLOCKS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (place, block) in places.iter_mut().zip(blocks.iter_mut()) {
            *place = IoSliceMut::new(block.as_mut_slice());
        }
        let copied = preadv(&self.file, &mut places[..count], data_at(header.cookie));
        copied == Ok(header.length as usize)
    }

    /// Copies blocks into the pages of a read, which has requested this many; false if the kernel rejects
    /// them.
    pub fn fill(&self, tag: u64, blocks: &[Bytes]) -> bool {
        let mut places = [IoSlice::new(&[]); MOST_BLOCKS];
        for (place, block) in places.iter_mut().zip(blocks) {
            *place = IoSlice::new(block.as_slice());
        }
        let copied = pwritev(&self.file, &places[..blocks.len()], data_at(tag));
        copied == Ok(blocks.len() * BLOCK_BYTES as usize)
    }

    /// Commits the request of a tag with its result: bytes, or a negative error. The next call passes it to
    /// the kernel.
    pub fn commit(&mut self, tag: u64, result: i32) {
        self.push(UBLK_U_IO_COMMIT_AND_FETCH_REQ, tag as u16, result);
    }

    fn push(&mut self, command: u32, tag: u16, result: i32) {
        let told = ublksrv_io_cmd { q_id: 0, tag, result, addr: 0 };
        let mut bytes = [0; 16];
        bytes.copy_from_slice(bytemuck::bytes_of(&told));
        let entry = opcode::UringCmd16::new(Fd(self.file.as_raw_fd()), command).cmd(bytes).build();
        // SAFETY: the entry refers only to the file, which is open as long as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(tag.into())) };
        pushed.expect("there is an entry for each tag");
        self.pushed += 1;
    }

    /// Submits commits to the kernel.
    pub fn hand_over(&mut self) {
        if self.pushed > 0 {
            self.poll();
        }
    }

    /// Announces that the thread is about to sleep: [`Queue::wakes`] becomes readable with the next request.
    /// False if a request is pending.
    pub fn arm(&mut self) -> bool {
        // Completions up to here are seen below; later ones signal again.
        self.quieten();
        self.poll();
        self.pushed == 0 && !self.has_more()
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Queue { depth, ended, pushed, .. } = self;
        f.debug_struct("Queue")
            .field("depth", depth)
            .field("ended", ended)
            .field("pushed", pushed)
            .finish_non_exhaustive()
    }
}

/// Offset of a tag's data in the character device.
fn data_at(tag: u64) -> u64 {
    UBLKSRV_IO_BUF_OFFSET + (tag << UBLK_TAG_OFF)
}

/// Lets the kernel run work that it has deferred until the ring is entered.
const LOOK: u32 = EnterFlags::GETEVENTS.bits();
const MOST_BLOCKS: usize = (MOST_BYTES as u64 / BLOCK_BYTES) as usize;
