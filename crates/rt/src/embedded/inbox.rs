//! Message queue to the store's thread.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Messages for a thread, which is woken only when it sleeps: while it is busy, a message costs a lock and no
/// system call. A sender does not exceed the room of its queue, so the length is bounded by the room of all
/// queues.
#[derive(Debug)]
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    event: OwnedFd,
}

#[derive(Debug)]
struct State<T> {
    messages: Vec<T>,
    /// The thread sleeps, or is about to, and has not been woken yet.
    is_asleep: bool,
    /// No more messages are accepted.
    is_closed: bool,
}

impl<T> Inbox<T> {
    /// An empty inbox.
    ///
    /// # Errors
    /// If the process is out of descriptors.
    pub fn new() -> io::Result<Inbox<T>> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let state = State { messages: Vec::new(), is_asleep: false, is_closed: false };
        Ok(Inbox { state: Mutex::new(state), event })
    }

    /// Posts a message; returns it if the inbox is closed.
    pub fn post(&self, message: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(message);
        }
        state.messages.push(message);
        self.wake(state);
        Ok(())
    }

    /// Moves all messages into `messages`, which is empty; its memory is reused for later ones. False once
    /// the inbox is closed.
    pub fn take(&self, messages: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        state.is_asleep = false;
        std::mem::swap(&mut state.messages, messages);
        !state.is_closed
    }

    /// Announces that the thread is about to sleep: its descriptor then becomes readable with the next
    /// message, or on close. False if there are messages already, or the inbox has been closed since the last
    /// check.
    pub fn arm(&self) -> bool {
        let mut state = self.lock();
        state.is_asleep = state.messages.is_empty() && !state.is_closed;
        state.is_asleep
    }

    /// Disarms the inbox: the thread is awake.
    pub fn disarm(&self) {
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
    }

    /// Closes the inbox, and wakes the thread.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.wake(state);
    }

    fn wake(&self, mut state: MutexGuard<'_, State<T>>) {
        let is_asleep = std::mem::take(&mut state.is_asleep);
        drop(state);
        if is_asleep {
            // The only error is a counter at its limit: the thread will wake anyway.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Locks the state; a poisoned lock is usable, because no operation under it can be left incomplete.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> AsFd for Inbox<T> {
    /// Readable after a message has been posted for a sleeping thread.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_falls_asleep_who_has_not_seen_a_message_or_the_end() {
        let inbox = Inbox::new().expect("there is a descriptor");
        let mut messages = Vec::new();
        assert!(inbox.take(&mut messages) && messages.is_empty());
        assert!(inbox.arm());
        assert!(inbox.take(&mut messages));
        assert_eq!(inbox.post(1), Ok(()));
        assert!(!inbox.arm());
        assert!(inbox.take(&mut messages) && messages == [1]);
        messages.clear();
        inbox.close();
        assert!(!inbox.arm());
        assert!(!inbox.take(&mut messages));
        assert_eq!(inbox.post(2), Err(2));
    }
}
