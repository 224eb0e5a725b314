//! What a thread asks of the system for itself.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Binds the thread that calls to a core.
///
/// # Errors
/// When there is no such core, or the process may not use it.
pub fn stay_on(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no core {core}")));
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
        .map_err(|error| io::Error::new(io::Error::from(error).kind(), format!("core {core}: {error}")))
}

/// How many cores the process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets the system be late by as little as it can when it wakes the thread that calls: by default it may add
/// 50 µs to save power.
///
/// # Errors
/// Whatever the system says.
pub fn sleep_precisely() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// The thread that calls runs from now on only when nobody else wants its core.
///
/// # Errors
/// Whatever the system says; it is always allowed on Linux.
pub fn yield_to_all() -> io::Result<()> {
    schedule(libc::SCHED_IDLE)
}

/// The thread that calls runs from now on as threads usually do.
///
/// # Errors
/// Whatever the system says; from idle priority it is allowed on Linux since 2.6.39 with a usual nice value.
pub fn yield_to_none() -> io::Result<()> {
    schedule(libc::SCHED_OTHER)
}

fn schedule(policy: i32) -> io::Result<()> {
    // SAFETY: it is a plain structure of integers, for which zeros are valid.
    let none: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call; 0 names the thread that calls.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Signals that are sent to the process go to other threads than the one that calls and those that it starts.
/// What it brings upon itself by a fault is still its own.
pub fn take_no_signals() {
    // SAFETY: it is a plain structure of integers, for which zeros are valid.
    let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours.
    unsafe { libc::sigfillset(&raw mut signals) };
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS] {
        // SAFETY: the set is ours, and the number that of a signal.
        unsafe { libc::sigdelset(&raw mut signals, fault) };
    }
    // SAFETY: the set outlives the call, and nobody asks for the one before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const signals, std::ptr::null_mut()) };
}

/// Waits until something can be received from a descriptor. False if nothing has come in time.
///
/// # Errors
/// Whatever the system says.
pub fn wait_readable(descriptor: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    loop {
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&patience)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks for large pages for memory that is used here and there, so that the processor finds it without
/// looking up where it is each time. A system that has none leaves it as it is.
pub fn prefer_large_pages(memory: &[u8]) {
    let begin = (memory.as_ptr() as usize).next_multiple_of(LARGE_PAGE);
    let end = (memory.as_ptr() as usize + memory.len()) / LARGE_PAGE * LARGE_PAGE;
    if begin < end {
        // SAFETY: the range is within memory that is there, and what it holds stays as it is.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
}

/// Bytes of a large page of x86-64 and of most others; elsewhere fewer of them come about.
const LARGE_PAGE: usize = 2 << 20;

/// Time of processors that the process has used.
pub fn processor_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Allows the process as many descriptors as the system lets it have: each connection is one, and the usual
/// limit of 1024 is meant for programs that use `select`.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, fewer connections have room.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// A number that nobody can guess and nobody else has.
///
/// # Errors
/// Where the system has no source of them.
pub fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes))?;
    Ok(u128::from_le_bytes(bytes))
}
