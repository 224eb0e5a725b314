//! An open store.

use super::error::{CannotOpen, Error};
use super::operation::{Completion, Operation, Outcome, PutCondition, Value};
use super::options::Options;
use super::queue::{Queue, Wait};
use super::statistics::Statistics;
use super::worker::{AdminRequest, Message, Worker, WorkerResult};
use crate::Clock;
use crate::ctl::Steered;
use crate::reactor::Mailbox;
use crate::system;
use std::any::Any;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::Engine;

/// A store with its thread. Any number of threads may use it at the same time.
///
/// Dropping it closes it like [`Store::close`], but does not report whether all changes are durable. After
/// `fork`, the child must not use it, because the store's thread does not exist there.
#[derive(Debug)]
pub struct Store {
    mailbox: Arc<Mailbox<Message>>,
    clock: Clock,
    /// Idle queues of callers that wait for their operations; they are reused.
    idle: Mutex<Vec<Queue>>,
    /// `None` once it is closed.
    thread: Option<JoinHandle<Option<WorkerResult>>>,
}

/// Settings of a store's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether changes are durable when their operation completes.
    pub is_durable: bool,
    /// How long closing waits for a drive without completions.
    pub patience: Nanos,
}

impl Store {
    /// Opens a store, or creates one.
    ///
    /// # Errors
    /// See [`CannotOpen`].
    pub fn open(options: Options) -> Result<Store, CannotOpen> {
        let (clock, settings) =
            (Clock::start(), Settings { is_durable: options.is_durable, patience: options.patience });
        Store::over(move || options.build(clock), settings, clock)
    }

    /// Opens a store over the engine that `make` returns with the drive below it (`None` for one in memory).
    /// The store's thread calls `make`, because io_uring has to be used by the thread that sets it up.
    ///
    /// # Errors
    /// Those of `make`, and if the system is out of threads.
    pub fn over<D: Steered + 'static>(
        make: impl FnOnce() -> Result<(Engine, Option<D>), CannotOpen> + Send + 'static,
        settings: Settings,
        clock: Clock,
    ) -> Result<Store, CannotOpen> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (says, hears) = channel();
        let theirs = Arc::clone(&mailbox);
        let begin = move || {
            // The signals of the process are handled by the application.
            system::take_no_signals();
            let (engine, drive) = make()?;
            Ok(Worker::new(engine, drive, settings, theirs, clock)?)
        };
        let thread = Builder::new().name("tailcut store".into()).spawn(move || serve(begin, &says))?;
        let begun = match hears.recv() {
            Ok(begun) => begun,
            // Only a panic keeps the thread from reporting its start.
            Err(_) => return Err(CannotOpen::Bug(said_by(thread.join().err()))),
        };
        begun?;
        Ok(Store { mailbox, clock, idle: Mutex::default(), thread: Some(thread) })
    }

    /// A queue for asynchronous operations, with room for `room` of them in flight; see [`Queue`].
    pub fn queue(&self, room: usize) -> Queue {
        Queue::new(room, Arc::clone(&self.mailbox))
    }

    /// Reads an item; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Unreadable`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        self.carry_out(Operation::get(key)?)?.into_value()
    }

    /// Writes an item without expiry and returns its version. For expiry, see [`Operation::for_a_time`] and
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

    /// Writes an item if the condition holds; returns its version, or `None` if it does not hold.
    ///
    /// # Errors
    /// Those of [`Store::set`], and [`Error::Unreadable`].
    pub fn set_only(&self, when: PutCondition, key: &[u8], value: &[u8]) -> Result<Option<u64>, Error> {
        let completion = self.carry_out(Operation::set(key, value)?.only(when))?;
        Ok(match completion.result? {
            Outcome::Stored { version } => Some(version),
            _ => None,
        })
    }

    /// Deletes an item; returns whether there was one.
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

    /// Executes an operation and waits for its completion.
    ///
    /// # Errors
    /// [`Error::Closed`]; the result of the operation is in the completion.
    pub fn carry_out(&self, operation: Operation) -> Result<Completion, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let queue = idle.unwrap_or_else(|| self.queue(1));
        queue.submit(operation, 0).map_err(|refused| refused.why)?;
        let mut completions = Vec::with_capacity(1);
        queue.completions(&mut completions, Wait::ForOne);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
        Ok(completions.remove(0))
    }

    /// Counters since the store was opened.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn statistics(&self) -> Result<Statistics, Error> {
        self.ask(AdminRequest::Statistics)
    }

    /// Status of the store and its drives: condition, collection, lateness; one item per line.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn status(&self) -> Result<String, Error> {
        self.ask(AdminRequest::Status)
    }

    /// Makes a call of the control interface (Shin 2017, table 5.1) on the drive, or on this member of an
    /// array. Times are those of [`Store::now`]. A drive replies to an unsupported call with
    /// [`ControlReply::Unsupported`].
    ///
    /// # Errors
    /// [`Error::NoDrive`], and [`Error::Steered`] for calls that steer a drive that the array steers itself.
    pub fn control(&self, drive: usize, call: Control) -> Result<ControlReply, Error> {
        self.ask(|answer| AdminRequest::Call { drive, call, answer })?
    }

    /// The current time of the clock that the drives use.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> AdminRequest) -> Result<T, Error> {
        let (says, hears) = channel();
        self.mailbox.offer(Message::AdminRequest(request(says))).map_err(|_| Error::Closed)?;
        hears.recv().map_err(|_| Error::Closed)
    }

    /// Completes operations in flight, makes changes durable, closes the drive, and returns the counters.
    ///
    /// # Errors
    /// [`Error::DriveFailed`] if the drive has failed or does not respond, and [`Error::Bug`] if the store's
    /// thread has panicked: the latest changes may be lost.
    pub fn close(mut self) -> Result<Statistics, Error> {
        let Some(thread) = self.thread.take() else { return Err(Error::Closed) };
        self.mailbox.stop();
        match thread.join() {
            Ok(Some(WorkerResult { statistics, is_durable: true })) => Ok(statistics),
            Ok(_) => Err(Error::DriveFailed),
            // A panic of the store's thread must not end the application.
            Err(_) => Err(Error::Bug),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.mailbox.stop();
            // A panic of the thread is not propagated: this thread may be unwinding already.
            let _ = thread.join();
        }
    }
}

/// The message of a panic.
fn said_by(panic: Option<Box<dyn Any + Send>>) -> String {
    let text = panic.as_ref().and_then(|panic| panic.downcast_ref::<&str>().map(ToString::to_string));
    let text = text.or_else(|| panic.as_ref().and_then(|panic| panic.downcast_ref::<String>().cloned()));
    text.unwrap_or_default()
}

fn serve<D: Steered>(
    begin: impl FnOnce() -> Result<Worker<D>, CannotOpen>,
    says: &Sender<Result<(), CannotOpen>>,
) -> Option<WorkerResult> {
    let (worker, begun) = match begin() {
        Ok(worker) => (Some(worker), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // `Store::over` waits for this.
    let _ = says.send(begun);
    worker.map(Worker::run)
}
