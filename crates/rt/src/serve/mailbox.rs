//! What one thread hands to another that sleeps in a poll.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Messages for a thread. Cheap enough for what happens once per connection; not meant for requests.
#[derive(Debug)]
pub struct Mailbox<T> {
    messages: Mutex<Vec<T>>,
    bell: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty one.
    pub fn new() -> io::Result<Mailbox<T>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { messages: Mutex::new(Vec::new()), bell })
    }

    /// Leaves a message and rings.
    pub fn post(&self, message: T) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        // A bell that cannot ring any louder has been heard of already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Takes all messages.
    pub fn empty(&self) -> Vec<T> {
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> AsFd for Mailbox<T> {
    /// Readable while there are messages.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
