//! System calls that threads make on their own behalf.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;
use tailcut_base::Nanos;

/// Pins the calling thread to a core.
///
/// # Errors
/// If there is no such core, or the process may not use it.
pub fn stay_on(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no core {core}")));
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
        .map_err(|error| io::Error::new(io::Error::from(error).kind(), format!("core {core}: {error}")))
}

/// Number of cores that the process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Minimises the timer slack of the calling thread; by default the kernel may delay wakeups by 50 µs to save
/// power.
///
/// # Errors
/// The error of `prctl`, which a sandbox may forbid.
pub fn sleep_precisely() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// Moves the calling thread to `SCHED_IDLE`: it runs only when no other thread wants its core.
///
/// # Errors
/// If the system call fails; Linux always allows it.
pub fn yield_to_all() -> io::Result<()> {
    schedule(libc::SCHED_IDLE)
}

/// Moves the calling thread back to `SCHED_OTHER`.
///
/// # Errors
/// If the system call fails; Linux since 2.6.39 allows it from `SCHED_IDLE` with a usual nice value.
pub(crate) fn yield_to_none() -> io::Result<()> {
    schedule(libc::SCHED_OTHER)
}

/// Processor time that the process has used in user space and in the kernel.
///
/// # Errors
/// If the system call fails.
pub(crate) fn user_and_system_time() -> io::Result<[Nanos; 2]> {
    // SAFETY: it is a plain structure of integers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is on our stack: aligned, valid for writes during the call, and accessed by
    // nothing else.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000)
    };
    Ok([time(usage.ru_utime), time(usage.ru_stime)])
}

/// Drops root privileges: the process takes another user's id and groups. The calling process must
/// be root's.
///
/// # Errors
/// If there is no such user, or a system call fails.
pub fn become_user(name: &str) -> io::Result<()> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "there is no such user");
    let name = CString::new(name).map_err(|_| none())?;
    // SAFETY: it is a plain structure of integers and pointers, for which zeros are valid.
    let mut user: libc::passwd = unsafe { std::mem::zeroed() };
    let (mut texts, mut found) = (vec![0; USER_BYTES], std::ptr::null_mut());
    // SAFETY: the name ends with NUL; the others are aligned and valid for writes, the text for the length
    // given, none overlaps another, and all are ours until after the last use of `user`, which points into
    // the text.
    let code = unsafe {
        libc::getpwnam_r(name.as_ptr(), &raw mut user, texts.as_mut_ptr(), texts.len(), &raw mut found)
    };
    match (code, found.is_null()) {
        (0, false) => {}
        (0, true) => return Err(none()),
        (code, _) => return Err(io::Error::from_raw_os_error(code)),
    }
    let done = |code: i32| if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: the name ends with NUL, and is not written during the call.
    done(unsafe { libc::initgroups(name.as_ptr(), user.pw_gid) })?;
    // SAFETY: it is given a number only, and touches no memory of ours; libc changes all threads of the
    // process.
    done(unsafe { libc::setgid(user.pw_gid) })?;
    // SAFETY: as above.
    done(unsafe { libc::setuid(user.pw_uid) })
}

/// Begins a session of its own, without a terminal. The process must not lead a group of processes.
///
/// # Errors
/// If the system refuses.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Connects standard output to `/dev/null`, and with `errors` standard error as well.
///
/// # Errors
/// If the system refuses.
pub fn silence_output(errors: bool) -> io::Result<()> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    let targets = [(true, libc::STDOUT_FILENO), (errors, libc::STDERR_FILENO)];
    for (_, target) in targets.into_iter().filter(|&(is_asked, _)| is_asked) {
        // SAFETY: it is given numbers only. Both descriptors are open, and no Rust value owns the standard
        // ones, so none is closed below its owner.
        if unsafe { libc::dup2(nowhere.as_raw_fd(), target) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Most bytes of a user's entry in the system's list of users.
const USER_BYTES: usize = 16 << 10;

fn schedule(policy: i32) -> io::Result<()> {
    set_scheduler(policy, 0)
}

/// Gives the calling thread a scheduling policy and a priority within it. It asks the kernel itself, whose
/// structure `sched_param` is one number: musl's function refuses always, because POSIX means processes.
pub(crate) fn set_scheduler(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: the number is on our stack and read during the call only; 0 denotes the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Blocks signals in the calling thread and in threads it will start, so that others handle signals sent to
/// the process. Signals of faults stay unblocked.
pub(crate) fn take_no_signals() {
    // SAFETY: it is a plain structure of integers, for which zeros are valid.
    let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is on our stack: aligned, valid for writes during the call, and accessed by nothing
    // else.
    unsafe { libc::sigfillset(&raw mut signals) };
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS] {
        // SAFETY: as above; the set is initialised, and the number that of a signal.
        unsafe { libc::sigdelset(&raw mut signals, fault) };
    }
    // SAFETY: the set is initialised and read during the call only; a null pointer asks for no previous set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const signals, std::ptr::null_mut()) };
}

/// Waits until a descriptor is readable; false if it is not within `patience`.
///
/// # Errors
/// `patience` is longer than a timespec can hold, or the error of `poll`, such as a lack of memory.
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

/// Advises the kernel to back memory with random access by huge pages, which saves TLB misses. Without huge
/// pages the call has no effect.
pub(crate) fn prefer_large_pages(memory: &[u8]) {
    let begin = (memory.as_ptr() as usize).next_multiple_of(LARGE_PAGE);
    let end = (memory.as_ptr() as usize + memory.len()) / LARGE_PAGE * LARGE_PAGE;
    if begin < end {
        // SAFETY: the range lies within `memory`, which is mapped and borrowed during the call; the advice
        // changes neither its content nor its address.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
}

/// Returns memory whose content is not needed to the system. It is mapped again, with zeros, once it is
/// used.
pub(crate) fn return_memory(memory: &mut [u8]) {
    let begin = (memory.as_ptr() as usize).next_multiple_of(SMALL_PAGE);
    let end = (memory.as_ptr() as usize + memory.len()) / SMALL_PAGE * SMALL_PAGE;
    if begin < end {
        // SAFETY: the range lies within `memory`, which is mapped and borrowed exclusively during the call.
        // The advice may only change its content, to zeros: bytes, which any value is good for.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_DONTNEED) };
    }
}

/// Returns the unused memory of the heap to the system, which glibc keeps for later. For moments without
/// clients: it may take milliseconds.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call has no preconditions, and changes no memory that is allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A multiple of the page size of any machine.
const SMALL_PAGE: usize = 64 << 10;

/// Bytes of a huge page on x86-64 and most other architectures; others get fewer huge pages.
const LARGE_PAGE: usize = 2 << 20;

/// CPU time that all threads of the process have used, in user and kernel mode.
pub fn processor_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Raises the process's limit of descriptors to its maximum: each connection needs one, and the usual limit
/// of 1024 is meant for programs that use `select`.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // If it cannot be raised, fewer connections fit.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// The process's limit of descriptors; `None` if there is none.
pub fn most_descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// A random number from `/dev/urandom`: unpredictable and unique.
///
/// # Errors
/// If `/dev/urandom` cannot be read.
pub(crate) fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes))?;
    Ok(u128::from_le_bytes(bytes))
}
