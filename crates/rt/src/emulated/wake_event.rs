//! An event that wakes a thread sleeping in `poll`: an eventfd, signalled only while the thread has armed it.

use super::arming::Arming;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tailcut_base::Nanos;

/// The side of the threads that post work.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<Shared>);

/// The side of the thread that sleeps.
#[derive(Debug)]
pub(crate) struct WakeEvent {
    shared: Arc<Shared>,
    /// Armed, and not disarmed since.
    is_armed: Cell<bool>,
}

#[derive(Debug)]
struct Shared {
    arming: Arming,
    event: OwnedFd,
}

impl WakeEvent {
    /// A new event and its waker.
    ///
    /// # Errors
    /// If the process is out of descriptors.
    pub(crate) fn new() -> io::Result<(WakeEvent, Waker)> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { arming: Arming::new(AtomicBool::new(false)), event });
        Ok((WakeEvent { shared: shared.clone(), is_armed: Cell::new(false) }, Waker(shared)))
    }

    /// A descriptor that becomes readable when the event is signalled.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }

    /// Arms the event, unless there is work already; returns true if the thread may sleep.
    pub(crate) fn arm(&self, is_ready: impl FnOnce() -> bool) -> bool {
        let may_sleep = self.shared.arming.arm(is_ready);
        self.is_armed.set(may_sleep);
        may_sleep
    }

    /// Disarms the event: wakers make no system call.
    #[inline]
    pub(crate) fn disarm(&self) {
        if self.is_armed.replace(false) {
            self.shared.arming.disarm();
            // A waker that has seen the event armed may still signal it: then the next sleep is short.
            let _ = rustix::io::read(&self.shared.event, &mut [0; 8]);
        }
    }

    /// Sleeps until the event is signalled, for at most `most`.
    pub(crate) fn sleep(&self, most: Option<Nanos>) {
        let timeout = most.map(|Nanos(nanos)| Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        });
        let mut descriptors = [PollFd::new(&self.shared.event, PollFlags::IN)];
        // A signal may end it early, which is harmless: the caller polls again.
        let _ = poll(&mut descriptors, timeout.as_ref());
    }
}

impl Waker {
    /// Wakes the sleeper, if there is one, after work was posted.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.0.arming.must_wake() {
            self.signal();
        }
    }

    #[cold]
    fn signal(&self) {
        // The only error is a counter at its limit: the sleeper will wake anyway.
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_signals_only_an_armed_event() {
        let (event, waker) = WakeEvent::new().expect("a descriptor");
        waker.wake();
        assert!(!event.arm(|| true), "there is something to do");
        waker.wake();
        assert!(event.arm(|| false));
        waker.wake();
        event.sleep(None);
        event.disarm();
        let rest = rustix::io::read(event.fd(), &mut [0; 8]);
        assert_eq!(rest, Err(rustix::io::Errno::AGAIN), "one signal, one wake-up");
    }
}
