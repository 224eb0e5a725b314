//! A store in use.

use super::error::{CannotOpen, Error};
use super::inbox::Inbox;
use super::operation::{Completion, Operation, Outcome, Value, When};
use super::options::Options;
use super::queue::{Queue, Wait};
use super::statistics::Statistics;
use super::worker::{AdminRequest, Ended, Message, Worker};
use crate::Clock;
use crate::ctl::Steered;
use crate::system;
use std::any::Any;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::Engine;

/// A store, and the thread that it works on. Any number of threads may use it at the same time.
///
/// Dropped, it ends as with [`Store::close`], only that nobody is told whether all is on the drive. After
/// `fork` the child must not use it: it has no such thread.
#[derive(Debug)]
pub struct Store {
    inbox: Arc<Inbox<Message>>,
    clock: Clock,
    /// Of those who wait for what they ask for; used again.
    idle: Mutex<Vec<Queue>>,
    /// None once it has ended.
    thread: Option<JoinHandle<Option<Ended>>>,
}

/// What the thread of a store keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is changed is durable when its operation completes.
    pub is_durable: bool,
    /// The longest time for which the end waits for a drive that answers nothing.
    pub patience: Nanos,
}

impl Store {
    /// Opens a store, or makes one.
    ///
    /// # Errors
    /// See [`CannotOpen`].
    pub fn open(options: Options) -> Result<Store, CannotOpen> {
        let (clock, settings) =
            (Clock::start(), Settings { is_durable: options.is_durable, patience: options.patience });
        Store::over(move || options.build(clock), settings, clock)
    }

    /// A store of the engine that `make` returns with the drive below it, none for one in memory. The thread
    /// that it will have makes it, as io_uring wants one and the same.
    ///
    /// # Errors
    /// Those of `make`, and when the system has no room for a thread.
    pub fn over<D: Steered + 'static>(
        make: impl FnOnce() -> Result<(Engine, Option<D>), CannotOpen> + Send + 'static,
        settings: Settings,
        clock: Clock,
    ) -> Result<Store, CannotOpen> {
        let inbox = Arc::new(Inbox::new()?);
        let (says, hears) = channel();
        let theirs = Arc::clone(&inbox);
        let begin = move || {
            // The process is somebody else's, and so are its signals.
            system::take_no_signals();
            let (engine, drive) = make()?;
            Ok(Worker::new(engine, drive, settings, theirs, clock)?)
        };
        let thread = Builder::new().name("tailcut store".into()).spawn(move || serve(begin, &says))?;
        let begun = match hears.recv() {
            Ok(begun) => begun,
            // Only a panic keeps it from saying how it began.
            Err(_) => return Err(CannotOpen::Bug(said_by(thread.join().err()))),
        };
        begun?;
        Ok(Store { inbox, clock, idle: Mutex::default(), thread: Some(thread) })
    }

    /// A place for operations that nobody waits for, with room for so many of them; see [`Queue`].
    pub fn queue(&self, room: usize) -> Queue {
        Queue::new(room, Arc::clone(&self.inbox))
    }

    /// An item.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Unreadable`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        self.carry_out(Operation::get(key)?)?.into_value()
    }

    /// Writes an item, for ever; its version. For less, see [`Operation::for_a_time`] and
    /// [`Store::carry_out`].
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::TooLarge`], [`Error::Full`], [`Error::DriveFailed`].
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<u64, Error> {
        match self.carry_out(Operation::set(key, value)?)?.result? {
            Outcome::Stored { version } => Ok(version),
            outcome => unreachable!("what is always set is stored, and not {outcome:?}"),
        }
    }

    /// Writes an item in this case; its version, or none if it is another case.
    ///
    /// # Errors
    /// Those of [`Store::set`], and [`Error::Unreadable`].
    pub fn set_only(&self, when: When, key: &[u8], value: &[u8]) -> Result<Option<u64>, Error> {
        let completion = self.carry_out(Operation::set(key, value)?.only(when))?;
        Ok(match completion.result? {
            Outcome::Stored { version } => Some(version),
            _ => None,
        })
    }

    /// Deletes an item; whether there was one.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Full`], [`Error::DriveFailed`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.carry_out(Operation::delete(key)?)?.result? == Outcome::Done)
    }

    /// See [`Operation::flush`].
    ///
    /// # Errors
    /// [`Error::DriveFailed`].
    pub fn flush(&self) -> Result<(), Error> {
        self.carry_out(Operation::flush())?.result.map(|_| ())
    }

    /// Carries any operation out, and waits for it.
    ///
    /// # Errors
    /// [`Error::Closed`]; what came of it stands in the completion.
    pub fn carry_out(&self, operation: Operation) -> Result<Completion, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let queue = idle.unwrap_or_else(|| self.queue(1));
        queue.submit(operation, 0).map_err(|refused| refused.why)?;
        let mut completions = Vec::with_capacity(1);
        queue.completions(&mut completions, Wait::ForOne);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
        Ok(completions.remove(0))
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn statistics(&self) -> Result<Statistics, Error> {
        self.ask(AdminRequest::Statistics)
    }

    /// What it is on, and how that is: condition, collection, lateness; one thing a line.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn status(&self) -> Result<String, Error> {
        self.ask(AdminRequest::Status)
    }

    /// Makes a call of the control interface (Shin 2017, table 5.1) of the drive below, or of this one in an
    /// array. Moments are those of [`Store::now`]. What a drive does not know it answers with
    /// [`ControlReply::Unsupported`].
    ///
    /// # Errors
    /// [`Error::NoDrive`], and [`Error::Steered`] for calls that steer, where the array does that by itself.
    pub fn control(&self, drive: usize, call: Control) -> Result<ControlReply, Error> {
        self.ask(|answer| AdminRequest::Call { drive, call, answer })?
    }

    /// The moment that it is for the drives.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> AdminRequest) -> Result<T, Error> {
        let (says, hears) = channel();
        self.inbox.post(Message::AdminRequest(request(says))).map_err(|_| Error::Closed)?;
        hears.recv().map_err(|_| Error::Closed)
    }

    /// Completes what is under way, makes durable what was changed, and gives the drive back; what it has
    /// done.
    ///
    /// # Errors
    /// [`Error::DriveFailed`] if the drive has failed or does not answer, and [`Error::Bug`] if the store's
    /// thread has panicked: what was changed last may be lost.
    pub fn close(mut self) -> Result<Statistics, Error> {
        let Some(thread) = self.thread.take() else { return Err(Error::Closed) };
        self.inbox.close();
        match thread.join() {
            Ok(Some(Ended { statistics, is_durable: true })) => Ok(statistics),
            Ok(_) => Err(Error::DriveFailed),
            // The process is somebody else's: it does not end with our thread.
            Err(_) => Err(Error::Bug),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.inbox.close();
            // A panic of the thread is its own; here it may be the second one.
            let _ = thread.join();
        }
    }
}

/// What a panic has said.
fn said_by(panic: Option<Box<dyn Any + Send>>) -> String {
    let text = panic.as_ref().and_then(|panic| panic.downcast_ref::<&str>().map(ToString::to_string));
    let text = text.or_else(|| panic.as_ref().and_then(|panic| panic.downcast_ref::<String>().cloned()));
    text.unwrap_or_default()
}

fn serve<D: Steered>(
    begin: impl FnOnce() -> Result<Worker<D>, CannotOpen>,
    says: &Sender<Result<(), CannotOpen>>,
) -> Option<Ended> {
    let (worker, begun) = match begin() {
        Ok(worker) => (Some(worker), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // Who opens it waits for this.
    let _ = says.send(begun);
    worker.map(Worker::run)
}
