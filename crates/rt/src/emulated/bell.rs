//! What wakes a thread that sleeps in the system: a file descriptor that becomes readable.

use super::arming::Arming;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tailcut_base::Nanos;

/// The end of the poster.
#[derive(Clone, Debug)]
pub struct Ringer(Arc<Shared>);

/// The end of the sleeper.
#[derive(Debug)]
pub struct Bell {
    shared: Arc<Shared>,
    /// It has been armed and not been looked at since.
    is_armed: Cell<bool>,
}

#[derive(Debug)]
struct Shared {
    arming: Arming,
    event: OwnedFd,
}

impl Bell {
    /// A bell, and what rings it.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<(Bell, Ringer)> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { arming: Arming::new(AtomicBool::new(false)), event });
        Ok((Bell { shared: shared.clone(), is_armed: Cell::new(false) }, Ringer(shared)))
    }

    /// What becomes readable when it is rung.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }

    /// It shall ring from now on, unless there is something to do already.
    pub fn arm(&self, is_ready: impl FnOnce() -> bool) -> bool {
        let may_sleep = self.shared.arming.arm(is_ready);
        self.is_armed.set(may_sleep);
        may_sleep
    }

    /// It need not ring any more.
    #[inline]
    pub fn disarm(&self) {
        if self.is_armed.replace(false) {
            self.shared.arming.disarm();
            // Whoever was about to ring may still do so: then the next sleep is a short one.
            let _ = rustix::io::read(&self.shared.event, &mut [0; 8]);
        }
    }

    /// Sleeps until it is rung, for `most` at the longest.
    pub fn sleep(&self, most: Option<Nanos>) {
        let timeout = most.map(|Nanos(nanos)| Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        });
        let mut descriptors = [PollFd::new(&self.shared.event, PollFlags::IN)];
        // A signal ends it early, as any other reason to look around.
        let _ = poll(&mut descriptors, timeout.as_ref());
    }
}

impl Ringer {
    /// Something has been posted: wakes the sleeper if there is one.
    #[inline]
    pub fn ring(&self) {
        if self.0.arming.must_wake() {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // It fails only when it has been rung 2^64 times.
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_only_for_who_has_armed_it() {
        let (bell, ringer) = Bell::new().expect("a descriptor");
        ringer.ring();
        assert!(!bell.arm(|| true), "there is something to do");
        ringer.ring();
        assert!(bell.arm(|| false));
        ringer.ring();
        bell.sleep(None);
        bell.disarm();
        let rest = rustix::io::read(bell.fd(), &mut [0; 8]);
        assert_eq!(rest, Err(rustix::io::Errno::AGAIN), "one ring, one wake-up");
    }
}
