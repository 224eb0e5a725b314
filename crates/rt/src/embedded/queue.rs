//! Queue of an embedded store: operations in flight, and completions to be taken.

use super::error::{Error, NotTaken};
use super::operation::{Completion, Data, Operation, Outcome};
use super::worker::Message;
use crate::reactor::Mailbox;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Submits operations and receives their completions, like a queue pair of a drive.
///
/// Any number of threads may submit and take completions, but any of them may get the completion of any
/// operation; one queue per thread or event loop is usual. It may outlive its store, whose end completes
/// everything.
#[derive(Debug)]
pub struct Queue {
    core: Arc<Core>,
    mailbox: Arc<Mailbox<Message>>,
}

/// How long to wait for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Return at once, whatever has completed.
    Not,
    /// Wait until there is one; return at once if nothing is in flight.
    ForOne,
    /// Wait until there is one, but no longer than this; return at once if nothing is in flight.
    AtMost(Duration),
}

#[derive(Debug)]
struct Core {
    state: Mutex<State>,
    /// Signalled when a completion arrives, or nothing is in flight any more.
    came: Condvar,
    room: usize,
    /// Operations submitted whose completions were not taken. It decreases only while the state is locked.
    under_way: AtomicUsize,
    /// Readable while there are completions; created on first use.
    event: OnceLock<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    completions: VecDeque<Completion>,
    /// Number of waiting threads.
    waiting: usize,
}

/// Where the completion of an operation goes: it is delivered exactly once, in any case.
#[derive(Debug)]
pub(super) struct Requester {
    /// `None` once the completion has been delivered.
    core: Option<Arc<Core>>,
    user_data: u64,
}

impl Queue {
    pub(super) fn new(room: usize, mailbox: Arc<Mailbox<Message>>) -> Queue {
        let core = Core {
            state: Mutex::default(),
            came: Condvar::new(),
            room: room.max(1),
            under_way: AtomicUsize::new(0),
            event: OnceLock::new(),
        };
        Queue { core: Arc::new(core), mailbox }
    }

    /// Submits an operation without waiting. Its completion has the same `user_data`, which need not be
    /// unique.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full, [`Error::Closed`] if the store is; both return the operation.
    pub fn submit(&self, operation: Operation, user_data: u64) -> Result<(), NotTaken> {
        let one_more = |count| (count < self.core.room).then_some(count + 1);
        if self.core.under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_err() {
            return Err(NotTaken { why: Error::Busy, operation });
        }
        let requester = Requester { core: Some(Arc::clone(&self.core)), user_data };
        match self.mailbox.offer(Message::Operation(operation, requester)) {
            Ok(()) => Ok(()),
            Err(Message::Operation(operation, mut requester)) => {
                requester.core = None;
                self.core.release(&mut self.core.lock(), 1);
                Err(NotTaken { why: Error::Closed, operation })
            }
            Err(Message::AdminRequest(_)) => unreachable!("only operations are queued here"),
        }
    }

    /// Appends available completions to `completions`, and returns their number: zero if `wait` has elapsed,
    /// or nothing is in flight.
    pub fn completions(&self, completions: &mut Vec<Completion>, wait: Wait) -> usize {
        self.take(completions, usize::MAX, wait)
    }

    /// Appends at most `most` completions to `completions`, and returns their number: zero if `wait` has
    /// elapsed, or nothing is in flight.
    pub fn take(&self, completions: &mut Vec<Completion>, most: usize, wait: Wait) -> usize {
        let mut state = self.core.wait(wait);
        let count = state.completions.len().min(most);
        completions.extend(state.completions.drain(..count));
        if let Some(event) = self.core.event.get().filter(|_| state.completions.is_empty()) {
            let _ = rustix::io::read(event, &mut [0u8; 8]);
        }
        self.core.release(&mut state, count);
        count
    }

    /// A descriptor that is readable while there are completions, for event loops; when it is readable, take
    /// all completions with [`Wait::Not`].
    ///
    /// # Errors
    /// If the process is out of descriptors.
    pub fn wakes(&self) -> io::Result<BorrowedFd<'_>> {
        let state = self.core.lock();
        let event = match self.core.event.get() {
            Some(event) => event,
            None => {
                let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let event = self.core.event.get_or_init(|| event);
                if !state.completions.is_empty() {
                    ring(event);
                }
                event
            }
        };
        Ok(event.as_fd())
    }

    /// Number of operations submitted whose completions have not been taken.
    pub fn under_way(&self) -> usize {
        self.core.under_way.load(Ordering::Acquire)
    }

    /// Maximum number of operations in flight.
    pub fn room(&self) -> usize {
        self.core.room
    }
}

impl Core {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as `wait` specifies, until there is a completion or nothing is in flight.
    fn wait(&self, wait: Wait) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        let end = match wait {
            Wait::Not => return state,
            Wait::ForOne => None,
            Wait::AtMost(time) => Instant::now().checked_add(time),
        };
        state.waiting += 1;
        while state.completions.is_empty() && self.under_way.load(Ordering::Acquire) > 0 {
            let rest = end.map(|end| end.saturating_duration_since(Instant::now()));
            state = match rest {
                Some(Duration::ZERO) => break,
                Some(rest) => self.came.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0,
                None => self.came.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.waiting -= 1;
        state
    }

    /// Frees `count` entries. Wakes all blocked threads once nothing is in flight.
    fn release(&self, state: &mut MutexGuard<'_, State>, count: usize) {
        let before = self.under_way.fetch_sub(count, Ordering::AcqRel);
        if before == count && state.waiting > 0 {
            self.came.notify_all();
        }
    }

    fn complete(&self, completions: impl ExactSizeIterator<Item = Completion>) {
        let (count, mut state) = (completions.len(), self.lock());
        let was_empty = state.completions.is_empty();
        state.completions.extend(completions);
        if let Some(event) = self.event.get().filter(|_| was_empty) {
            ring(event);
        }
        let is_awaited = state.waiting > 0;
        drop(state);
        match count {
            _ if !is_awaited => {}
            1 => self.came.notify_one(),
            _ => self.came.notify_all(),
        }
    }
}

fn ring(event: &OwnedFd) {
    // The only error is a counter at its limit: the thread will wake anyway.
    let _ = rustix::io::write(event, &1u64.to_ne_bytes());
}

impl Drop for Requester {
    /// Completes the operation with [`Error::Closed`] if no result was delivered.
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            let (result, data) = (Err(Error::Closed), Data::default());
            core.complete(std::iter::once(Completion { user_data: self.user_data, result, data }));
        }
    }
}

/// A batch of completions for one queue: a lock for each of them would be taken just when threads that submit
/// or take completions want it.
#[derive(Debug, Default)]
pub(super) struct CompletionBatch {
    /// The queue of the batch; `None` if the batch is empty.
    core: Option<Arc<Core>>,
    completions: Vec<Completion>,
}

impl CompletionBatch {
    /// Adds a completion. A full batch is delivered first, so the first completion waits only for a few
    /// others.
    pub(super) fn add(&mut self, mut requester: Requester, result: Result<Outcome, Error>, data: Data) {
        let Some(core) = requester.core.take() else { return };
        let is_other = self.core.as_ref().is_some_and(|known| !Arc::ptr_eq(known, &core));
        if is_other || self.completions.len() >= MOST_NEWS {
            self.deliver();
        }
        self.core = Some(core);
        self.completions.push(Completion { user_data: requester.user_data, result, data });
    }

    /// Delivers the batch.
    pub(super) fn deliver(&mut self) {
        if let Some(core) = self.core.take() {
            core.complete(self.completions.drain(..));
        }
    }
}

impl Drop for CompletionBatch {
    fn drop(&mut self) {
        self.deliver();
    }
}

/// Maximum number of completions in a batch.
const MOST_NEWS: usize = 32;
