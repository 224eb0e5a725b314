//! The way there and back: operations under way, and completions that are to be taken.

use super::error::{Error, NotTaken};
use super::inbox::Inbox;
use super::operation::{Completion, Data, Operation, Outcome};
use super::worker::Letter;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A place from which operations are submitted, and to which their completions come: a ring such as drives have.
///
/// Any number of threads may submit and take completions, but who takes gets whatever has ended; one for each thread, or for each
/// event loop, is the usual. It may outlive its store, whose end completes everything.
#[derive(Debug)]
pub struct Queue {
    core: Arc<Core>,
    inbox: Arc<Inbox<Letter>>,
}

/// How long is waited for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Not,
    /// Until there is one; not at all where nothing is under way.
    ForOne,
    /// The same, but no longer than that.
    AtMost(Duration),
}

#[derive(Debug)]
struct Core {
    state: Mutex<State>,
    /// There is a completion, or nothing is under way any more.
    came: Condvar,
    room: usize,
}

#[derive(Debug, Default)]
struct State {
    completions: VecDeque<Completion>,
    /// Operations that were submitted and whose completions were not taken.
    taken_room: usize,
    /// Threads that wait.
    waiting: usize,
}

/// Who is to be told what came of an operation: once, whatever happens.
#[derive(Debug)]
pub struct Asker {
    /// None once it was told.
    core: Option<Arc<Core>>,
    user_data: u64,
}

impl Queue {
    pub(super) fn new(room: usize, inbox: Arc<Inbox<Letter>>) -> Queue {
        let (state, came) = (Mutex::default(), Condvar::new());
        Queue { core: Arc::new(Core { state, came, room: room.max(1) }), inbox }
    }

    /// Hands over an operation, and never waits. Its completion has the same `user_data`, which need not differ from others.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is no room, [`Error::Closed`]; the operation comes back with them.
    pub fn submit(&self, operation: Operation, user_data: u64) -> Result<(), NotTaken> {
        let mut state = self.core.lock();
        if state.taken_room >= self.core.room {
            return Err(NotTaken { why: Error::Busy, operation });
        }
        state.taken_room += 1;
        drop(state);
        let asker = Asker { core: Some(Arc::clone(&self.core)), user_data };
        match self.inbox.post(Letter::Operation(operation, asker)) {
            Ok(()) => Ok(()),
            Err(Letter::Operation(operation, mut asker)) => {
                asker.core = None;
                self.core.release(&mut self.core.lock(), 1);
                Err(NotTaken { why: Error::Closed, operation })
            }
            Err(Letter::Question(_)) => unreachable!("it was no question"),
        }
    }

    /// Appends what has ended to `completions`, and returns how many these are. Zero when `wait` is over, or nothing is under way.
    pub fn completions(&self, completions: &mut Vec<Completion>, wait: Wait) -> usize {
        self.take(completions, usize::MAX, wait)
    }

    /// The same, but at most so many.
    pub fn take(&self, completions: &mut Vec<Completion>, most: usize, wait: Wait) -> usize {
        let mut state = self.core.wait(wait);
        let count = state.completions.len().min(most);
        completions.extend(state.completions.drain(..count));
        self.core.release(&mut state, count);
        count
    }

    /// How many operations were submitted and not taken as completions.
    pub fn under_way(&self) -> usize {
        self.core.lock().taken_room
    }

    /// How many there can be.
    pub fn room(&self) -> usize {
        self.core.room
    }
}

impl Core {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as it is said, or until there is something or nothing will come.
    fn wait(&self, wait: Wait) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        let end = match wait {
            Wait::Not => return state,
            Wait::ForOne => None,
            Wait::AtMost(time) => Instant::now().checked_add(time),
        };
        state.waiting += 1;
        while state.completions.is_empty() && state.taken_room > 0 {
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

    /// So much room is free again. Who waits although nothing is under way any more waits for nothing.
    fn release(&self, state: &mut MutexGuard<'_, State>, count: usize) {
        state.taken_room -= count;
        if state.taken_room == 0 && state.waiting > 0 {
            self.came.notify_all();
        }
    }

    fn complete(&self, completion: Completion) {
        let mut state = self.lock();
        state.completions.push_back(completion);
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.came.notify_one();
        }
    }
}

impl Asker {
    /// Tells what came of it.
    pub fn tell(mut self, result: Result<Outcome, Error>, data: Data) {
        self.tell_once(result, data);
    }

    fn tell_once(&mut self, result: Result<Outcome, Error>, data: Data) {
        if let Some(core) = self.core.take() {
            core.complete(Completion { user_data: self.user_data, result, data });
        }
    }
}

impl Drop for Asker {
    /// Nobody has told, and nobody will.
    fn drop(&mut self) {
        self.tell_once(Err(Error::Closed), Data::default());
    }
}
