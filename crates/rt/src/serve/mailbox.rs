//! Messages to a thread that sleeps in a poll.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// A mailbox of a thread. Cheap enough for one message per connection; not meant for requests.
#[derive(Debug)]
pub struct Mailbox<T> {
    messages: Mutex<Vec<T>>,
    event: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty mailbox.
    pub fn new() -> io::Result<Mailbox<T>> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { messages: Mutex::new(Vec::new()), event })
    }

    /// Adds a message and wakes the thread.
    pub fn post(&self, message: T) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        // The only error is a counter at its limit: the thread will wake anyway.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Takes all messages.
    pub fn empty(&self) -> Vec<T> {
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> AsFd for Mailbox<T> {
    /// Readable while there are messages.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
