//! Polls the event sources of a thread.

use rustix::event::epoll::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use tailcut_base::Nanos;

/// Returns events that are pending or occur within `patience`; waits without limit if it is None.
pub fn poll<'a>(
    epoll: &OwnedFd,
    patience: Option<Nanos>,
    events: &'a mut [MaybeUninit<Event>],
) -> &'a [Event] {
    // Milliseconds are too coarse for the latency of a drive; poll has nanosecond resolution on all kernels.
    let is_fine = patience.is_some_and(|patience| patience > Nanos::ZERO && patience < COARSE);
    let span = patience.map(|patience| Timespec {
        tv_sec: (patience.0 / 1_000_000_000) as i64,
        tv_nsec: (patience.0 % 1_000_000_000) as i64,
    });
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    if is_fine {
        // Ignored: the events show what has occurred.
        let _ = rustix::event::poll(&mut [PollFd::new(epoll, PollFlags::IN)], span.as_ref());
    }
    let span = if is_fine { Some(&zero) } else { span.as_ref() };
    match epoll::wait(epoll, events, span) {
        Ok((events, _)) => events,
        Err(Errno::INTR) => &[],
        Err(error) => panic!("waiting for events failed: {error}"),
    }
}

/// Timeouts from here on can be rounded to milliseconds.
const COARSE: Nanos = Nanos::millis(10);
