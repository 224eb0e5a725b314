//! Messages to a thread that sleeps in its event loop, and the request to stop.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mailbox of a thread, which is woken only while it sleeps: a message to a busy thread costs a lock and no
/// system call. The length is not bounded here; senders bound what they have in flight.
#[derive(Debug)]
pub struct Mailbox<T> {
    state: Mutex<State<T>>,
    /// There are messages, or a request to stop, that the thread has not taken. Changes under the lock only.
    is_unread: AtomicBool,
    /// The thread sleeps, or is about to, and has not been woken yet. Set under the lock only.
    is_asleep: AtomicBool,
    event: OwnedFd,
}

#[derive(Debug)]
struct State<T> {
    messages: Vec<T>,
    is_stopping: bool,
}

impl<T> Mailbox<T> {
    /// An empty mailbox.
    ///
    /// # Errors
    /// If the process is out of descriptors.
    pub fn new() -> io::Result<Mailbox<T>> {
        Ok(Mailbox {
            state: Mutex::new(State { messages: Vec::new(), is_stopping: false }),
            is_unread: AtomicBool::new(false),
            is_asleep: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Adds a message and wakes the thread if it sleeps. A thread that was asked to stop still receives it.
    pub fn post(&self, message: T) {
        let mut state = self.lock();
        state.messages.push(message);
        self.wake(state);
    }

    /// Adds a message and wakes the thread if it sleeps, unless the thread was asked to stop.
    ///
    /// # Errors
    /// The message, if the thread was asked to stop.
    pub fn offer(&self, message: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_stopping {
            return Err(message);
        }
        state.messages.push(message);
        self.wake(state);
        Ok(())
    }

    /// Asks the thread to stop, and wakes it if it sleeps.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.is_stopping = true;
        self.wake(state);
    }

    /// True if the thread was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// True if there are messages, or a request to stop, that were not taken. Messages that are being posted
    /// may be missed; [`Mailbox::arm`] misses none.
    #[inline]
    pub fn has_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Moves all messages into `messages`, which is empty; its memory is used for later ones. True if the
    /// thread was asked to stop.
    pub fn take(&self, messages: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        self.is_unread.store(false, Ordering::Relaxed);
        std::mem::swap(&mut state.messages, messages);
        state.is_stopping
    }

    /// Announces that the thread is about to sleep: the descriptor signals the next message or request to
    /// stop. False if there is one already.
    pub fn arm(&self) -> bool {
        let _state = self.lock();
        let may_sleep = !self.has_unread();
        self.is_asleep.store(may_sleep, Ordering::Relaxed);
        may_sleep
    }

    /// Announces that the thread is awake. A sender that does not see it yet causes one needless wake-up.
    pub fn disarm(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }

    fn wake(&self, state: MutexGuard<'_, State<T>>) {
        self.is_unread.store(true, Ordering::Relaxed);
        let is_asleep = self.is_asleep.swap(false, Ordering::Relaxed);
        drop(state);
        if is_asleep {
            // The only error is a counter at its limit, which it does not reach.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Locks the state; a poisoned lock is usable, because no operation under it can be left incomplete.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> AsFd for Mailbox<T> {
    /// To be watched edge-triggered: each wake-up is an edge.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_falls_asleep_who_has_not_seen_a_message_or_the_end() {
        let mailbox = Mailbox::new().expect("there is a descriptor");
        let mut messages = Vec::new();
        assert!(mailbox.arm());
        assert_eq!(mailbox.offer(1), Ok(()));
        assert!(mailbox.has_unread() && !mailbox.arm());
        assert!(!mailbox.take(&mut messages) && messages == [1]);
        assert!(mailbox.arm());
        messages.clear();
        mailbox.stop();
        assert!(!mailbox.arm());
        assert!(mailbox.take(&mut messages) && messages.is_empty());
        assert_eq!(mailbox.offer(2), Err(2));
        assert!(mailbox.arm());
        mailbox.post(3);
        assert!(!mailbox.arm());
        assert!(mailbox.take(&mut messages) && messages == [3]);
    }

    #[test]
    fn only_who_sleeps_is_woken() {
        let mailbox = Mailbox::new().expect("there is a descriptor");
        let wakeups = || {
            let mut count = [0; 8];
            rustix::io::read(&mailbox, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
        };
        mailbox.post(1);
        assert_eq!(wakeups(), 0);
        mailbox.take(&mut Vec::new());
        assert!(mailbox.arm());
        (2..5).for_each(|message| mailbox.post(message));
        assert_eq!(wakeups(), 1);
        mailbox.take(&mut Vec::new());
        assert!(mailbox.arm());
        mailbox.disarm();
        mailbox.post(5);
        assert_eq!(wakeups(), 0);
    }
}
