//! A pool of threads for reads and writes, where io_uring is not allowed.

use super::job::{Ended, Job, Work};
use crate::emulated::{WakeEvent, Waker};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2};
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Threads over one file.
#[derive(Debug)]
pub(super) struct Pool {
    jobs: Option<Sender<Job>>,
    ended: Receiver<Ended>,
    /// Completions found when the user was about to sleep.
    found: Vec<Ended>,
    event: WakeEvent,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// If the system is out of threads or descriptors.
    pub(super) fn start(file: &Arc<File>, threads: usize) -> io::Result<Pool> {
        let (jobs, to_do) = channel();
        let (done, ended) = channel();
        let (event, waker) = WakeEvent::new()?;
        let to_do = Arc::new(Mutex::new(to_do));
        let mut pool = Pool { jobs: Some(jobs), ended, found: Vec::new(), event, threads: Vec::new() };
        for _ in 0..threads {
            let (file, to_do, done, waker) = (file.clone(), to_do.clone(), done.clone(), waker.clone());
            let body = move || work(&file, &to_do, &done, &waker);
            pool.threads.push(std::thread::Builder::new().name("file".into()).spawn(body)?);
        }
        Ok(pool)
    }

    /// Starts a job.
    pub(super) fn begin(&mut self, job: Job) {
        let jobs = self.jobs.as_ref().expect("it is open as long as the pool");
        jobs.send(job).expect("the threads live as long as the pool");
    }

    /// Appends completed jobs.
    pub(super) fn take(&mut self, ended: &mut Vec<Ended>) {
        self.event.disarm();
        ended.append(&mut self.found);
        ended.extend(self.ended.try_iter());
    }

    /// The descriptor that becomes readable after [`Pool::arm`].
    pub(super) fn wakes(&self) -> BorrowedFd<'_> {
        self.event.fd()
    }

    /// Announces that the user is about to sleep.
    pub(super) fn arm(&mut self) -> bool {
        let (ended, found) = (&self.ended, &mut self.found);
        self.event.arm(|| {
            found.extend(ended.try_iter());
            !found.is_empty()
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

fn work(file: &File, to_do: &Mutex<Receiver<Job>>, done: &Sender<Ended>, waker: &Waker) {
    loop {
        let next = to_do.lock().expect("nobody panics with it").recv();
        let Ok(mut job) = next else { return };
        let result = carry_out(file, &mut job);
        if done.send((job, result)).is_err() {
            return;
        }
        waker.wake();
    }
}

/// Executes a whole job.
fn carry_out(file: &File, job: &mut Job) -> Result<u64, Errno> {
    loop {
        let moved = step(file, job)?;
        if !job.goes_on(moved) {
            return Ok(moved);
        }
    }
}

fn step(file: &File, job: &mut Job) -> Result<u64, Errno> {
    let (at, range) = (job.offset + job.done, job.done as usize..job.length as usize);
    let moved = match job.work {
        Work::Flush => fdatasync(file).map(|()| 0),
        Work::Punch => fallocate(file, PUNCH, job.offset, job.length).map(|()| 0),
        Work::Read => pread(file, &mut job.buffer.as_mut().expect(DATA).bytes_mut()[range], at),
        Work::Write { is_durable } => {
            let bytes = &job.buffer.as_ref().expect(DATA).bytes()[range];
            if is_durable {
                pwritev2(file, &[IoSlice::new(bytes)], at, ReadWriteFlags::DSYNC)
            } else {
                pwrite(file, bytes, at)
            }
        }
    };
    match moved {
        Err(Errno::INTR | Errno::AGAIN) => step(file, job),
        moved => moved.map(|bytes| bytes as u64),
    }
}

/// Deallocates a range; on a block device the blocks are zeroed, by a trim if the device guarantees zeros
/// after it.
pub(super) const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

const DATA: &str = "what moves data has a buffer";
