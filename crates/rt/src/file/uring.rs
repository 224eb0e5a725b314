//! Reads and writes through io_uring.
//!
//! One thread submits and reaps, as `SINGLE_ISSUER` and `DEFER_TASKRUN` promise to the kernel, which then
//! runs its part of a completion when that thread enters the ring, and not at any other time. A flag in the
//! ring tells when there is a reason to enter (`TASKRUN_FLAG`), so a poll without news is no system call. The
//! ring is enabled by its first use, so another thread than its user can create a drive.

use super::buffer::Buffer;
use super::job::{Ended, FlightId, Job, Work};
use super::pool::PUNCH;
use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use tailcut_base::ids::IdVec;

/// A ring over one file.
pub(super) struct Uring {
    ring: IoUring,
    /// Jobs in flight. Their buffers belong to the kernel until the job has completed.
    jobs: IdVec<FlightId, Option<Job>>,
    in_flight: usize,
    /// Jobs to be resubmitted for their remaining bytes.
    again: Vec<FlightId>,
    /// Becomes readable with every completion. The ring itself does not: deferred completions do not wake a
    /// thread that polls it.
    event: OwnedFd,
    is_enabled: bool,
    /// The kernel's part of a completion waits for the thread to enter, and a flag in the ring announces it.
    is_deferred: bool,
    has_buffers: bool,
    /// Kept open as long as the ring.
    _file: Arc<File>,
}

/// The only registered file.
const FILE: types::Fixed = types::Fixed(0);

/// `IORING_ENTER_GETEVENTS`: lets the kernel run deferred work.
const LOOK: u32 = 1;

/// `RWF_DSYNC`.
const DURABLE: i32 = libc::RWF_DSYNC;

impl Uring {
    /// A ring for `depth` jobs in flight. `buffers` are registered if the system has room for that: they must
    /// be all buffers that jobs use, and outlive the ring.
    ///
    /// # Errors
    /// If the system refuses io_uring.
    pub(super) fn new(file: &Arc<File>, depth: u32, buffers: &[Buffer]) -> io::Result<Uring> {
        let entries = depth.next_power_of_two();
        let full = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_r_disabled()
            .setup_cqsize(entries * 2)
            .build(entries);
        // Linux before 6.1 supports only the plain ring.
        let (ring, is_deferred) = match full {
            Ok(ring) => (ring, true),
            Err(_) => (IoUring::builder().setup_cqsize(entries * 2).build(entries)?, false),
        };
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ring.submitter().register_eventfd(event.as_raw_fd())?;
        let parts: Vec<libc::iovec> = buffers.iter().map(part).collect();
        // SAFETY: the memory of a buffer does not move and is freed after the ring: jobs in flight are
        // drained before (see `drop` below), and the kernel accesses registered memory for no other jobs.
        let registered = unsafe { ring.submitter().register_buffers(&parts) };
        Ok(Uring {
            ring,
            jobs: (0..depth).map(|_| None).collect(),
            in_flight: 0,
            again: Vec::new(),
            event,
            is_enabled: !is_deferred,
            is_deferred,
            has_buffers: registered.is_ok(),
            _file: file.clone(),
        })
    }

    /// Starts a job; none with its id is in flight.
    pub(super) fn begin(&mut self, job: Job) {
        let flight = job.flight;
        assert!(self.jobs[flight].is_none(), "a request has one job at a time");
        self.jobs[flight] = Some(job);
        self.in_flight += 1;
        self.push(flight);
    }

    fn push(&mut self, flight: FlightId) {
        let job = self.jobs[flight].as_mut().expect("it has just come");
        let entry = entry(job, self.has_buffers);
        // SAFETY: the entry points to the buffer of its job, with its length. The buffer is allocated, so it
        // is aligned, and kept in `jobs`, where nothing else accesses it, until its completion has been seen.
        // The file is open as long as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("there is an entry for each job");
    }

    /// Submits started jobs, and appends completed ones.
    pub(super) fn take(&mut self, ended: &mut Vec<Ended>) {
        self.poll(0).expect("the ring is used by one thread");
        let (ring, jobs) = (&mut self.ring, &mut self.jobs);
        for completion in ring.completion() {
            let flight = FlightId::new(completion.user_data() as u32);
            let job = jobs[flight].as_mut().expect("it is in flight");
            let result = match completion.result() {
                bytes @ 0.. => Ok(bytes as u64),
                errno => Err(Errno::from_raw_os_error(-errno)),
            };
            let is_again = match result {
                Ok(moved) => job.goes_on(moved),
                Err(why) => matches!(why, Errno::INTR | Errno::AGAIN),
            };
            if is_again {
                self.again.push(flight);
            } else {
                self.in_flight -= 1;
                ended.push((jobs[flight].take().expect("it is in flight"), result));
            }
        }
        while let Some(flight) = self.again.pop() {
            self.push(flight);
        }
    }

    /// Submits started jobs, and waits for `wanted` completions.
    fn poll(&mut self, wanted: u32) -> io::Result<()> {
        if self.in_flight == 0 {
            return Ok(());
        }
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        let queue = self.ring.submission();
        let begun = queue.len() as u32;
        if self.is_deferred && begun == 0 && wanted == 0 && !queue.taskrun() {
            return Ok(());
        }
        drop(queue);
        // SAFETY: no argument is passed, and the memory that entries point to is kept in `jobs`, valid and
        // not accessed by us, until their completions have been seen.
        let entered = unsafe { self.ring.submitter().enter::<()>(begun, wanted, LOOK, None) };
        // Temporarily out of memory, or interrupted: the next call submits the rest.
        let passes = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM].map(Some);
        entered.map(drop).or_else(|why| if passes.contains(&why.raw_os_error()) { Ok(()) } else { Err(why) })
    }

    /// The descriptor that becomes readable after [`Uring::arm`].
    pub(super) fn wakes(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Announces that the user is about to sleep.
    pub(super) fn arm(&mut self) -> bool {
        // Completions up to here are seen below; later ones signal again. The kernel raises the ring's flag
        // before it signals.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        self.poll(0).expect("the ring is used by one thread");
        // Entries that the system had no memory for are submitted by another poll.
        self.ring.submission().is_empty() && self.ring.completion().is_empty()
    }
}

impl Drop for Uring {
    /// The kernel must not write to freed memory.
    fn drop(&mut self) {
        let mut ended = Vec::new();
        while self.in_flight > 0 {
            if self.poll(1).is_err() {
                // Dropped by another thread than its user: the memory is leaked.
                return std::mem::forget(std::mem::take(&mut self.jobs));
            }
            self.take(&mut ended);
        }
    }
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

fn part(buffer: &Buffer) -> libc::iovec {
    let bytes = buffer.bytes();
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// The submission entry for the remaining bytes of a job.
fn entry(job: &mut Job, has_buffers: bool) -> Entry {
    let (at, done) = (job.offset + job.done, job.done as usize);
    let left = (job.length - job.done) as u32;
    let entry = match job.work {
        Work::Flush => opcode::Fsync::new(FILE).flags(types::FsyncFlags::DATASYNC).build(),
        Work::Punch => {
            opcode::Fallocate::new(FILE, job.length).offset(job.offset).mode(PUNCH.bits() as i32).build()
        }
        Work::Read => {
            let buffer = job.buffer.as_mut().expect(DATA);
            let (number, memory) = (buffer.number, buffer.bytes_mut()[done..].as_mut_ptr());
            if has_buffers {
                opcode::ReadFixed::new(FILE, memory, left, number).offset(at).build()
            } else {
                opcode::Read::new(FILE, memory, left).offset(at).build()
            }
        }
        Work::Write { is_durable } => {
            let buffer = job.buffer.as_ref().expect(DATA);
            let (number, memory) = (buffer.number, buffer.bytes()[done..].as_ptr());
            let flags = if is_durable { DURABLE } else { 0 };
            if has_buffers {
                opcode::WriteFixed::new(FILE, memory, left, number).offset(at).rw_flags(flags).build()
            } else {
                opcode::Write::new(FILE, memory, left).offset(at).rw_flags(flags).build()
            }
        }
    };
    entry.user_data(u64::from(job.flight.get()))
}

const DATA: &str = "what moves data has a buffer";
