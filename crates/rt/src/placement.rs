//! Cores, scheduling and resource usage of threads: system calls.

use crate::system::set_scheduler;
use rustix::thread::{ClockId, CpuSet, NanosleepRelativeResult, clock_nanosleep_relative};
use std::io;
use tailcut_base::Nanos;

/// The cores that this thread may run on, in order.
#[expect(clippy::missing_panics_doc, reason = "a thread may always ask for its own cores")]
pub fn cores() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).expect("a thread may ask for its own cores");
    (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect()
}

/// Sleeps for this long.
#[expect(
    clippy::missing_panics_doc,
    reason = "a length in nanoseconds fits a timespec, and every system has the monotonic clock"
)]
pub fn sleep(length: Nanos) {
    let length = std::time::Duration::from_nanos(length.0);
    let length = length.try_into().expect("a length within centuries");
    match clock_nanosleep_relative(ClockId::Monotonic, &length) {
        // Woken early by a signal: the caller checks the time again.
        NanosleepRelativeResult::Ok | NanosleepRelativeResult::Interrupted(_) => {}
        NanosleepRelativeResult::Err(error) => panic!("the monotonic clock can be slept on: {error}"),
    }
}

/// Makes this thread a real-time thread of this level (`SCHED_FIFO`: sched(7)), which precedes all others but
/// real-time threads of a higher level. Threads that it starts inherit this.
///
/// # Errors
/// If the system call fails: it needs a privilege.
pub fn go_before_others(level: u8) -> io::Result<()> {
    set_scheduler(libc::SCHED_FIFO, libc::c_int::from(level))
}

/// Returns this thread to the default scheduling policy.
#[expect(clippy::missing_panics_doc, reason = "every thread may have the default policy")]
pub fn go_in_turn() {
    set_scheduler(libc::SCHED_OTHER, 0).expect("every thread may");
}

/// Resources used by a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time used, in user and kernel mode.
    pub cpu: Nanos,
    /// Number of voluntary context switches: the thread had to wait.
    pub voluntary: u64,
    /// Number of involuntary context switches: the thread was preempted.
    pub involuntary: u64,
}

impl Usage {
    /// Usage of this thread so far.
    pub fn of_thread() -> Usage {
        Usage::of(libc::RUSAGE_THREAD, ClockId::ThreadCPUTime)
    }

    /// Usage of all threads of this process so far.
    pub fn of_process() -> Usage {
        Usage::of(libc::RUSAGE_SELF, ClockId::ProcessCPUTime)
    }

    fn of(whose: libc::c_int, clock: ClockId) -> Usage {
        let time = rustix::time::clock_gettime(clock);
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to memory of ours, aligned, valid for writes of one `rusage` and accessed by
        // nothing else; the call writes no more.
        let result = unsafe { libc::getrusage(whose, usage.as_mut_ptr()) };
        assert_eq!(result, 0, "a process may ask what it has used");
        // SAFETY: all fields are integers, for which any bits are valid, and were initialised to zero.
        let usage = unsafe { usage.assume_init() };
        Usage {
            cpu: Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }

    /// The usage between `earlier` and `self`, which must be readings of one thread or process.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            cpu: Nanos(self.cpu.0 - earlier.cpu.0),
            voluntary: self.voluntary - earlier.voluntary,
            involuntary: self.involuntary - earlier.involuntary,
        }
    }

    /// The sum of the usage of two threads.
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu + other.cpu,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }
}
