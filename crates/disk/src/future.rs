//! A disk for `async` code under any runtime, real or simulated: madsim, turmoil, tokio with paused time.
//!
//! A runtime is known by its [`Clock`]. With tokio, and so with turmoil and madsim, that is
//!
//! ```ignore
//! struct TokioClock(tokio::time::Instant);
//!
//! impl Clock for TokioClock {
//!     type Sleep = tokio::time::Sleep;
//!     fn now(&self) -> Time {
//!         Time(self.0.elapsed().as_nanos() as u64)
//!     }
//!     fn sleep_until(&self, at: Time) -> Self::Sleep {
//!         // Tokio's timers have a resolution of a millisecond; a disk can be called late.
//!         tokio::time::sleep_until(self.0 + Duration::from_nanos(at.0))
//!     }
//! }
//! ```
//!
//! [`VirtualClock`] is a runtime for one future without any of them.

use crate::completion::Completion;
use crate::disk::{Disk, PowerCut};
use crate::operation::{Error, Operation, Sector, Ticket};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use tailcut_base::Time;
use tailcut_base::cast::to_u32;
use tailcut_base::device::SECTOR_BYTES;
use tailcut_base::random::Stream;

/// The time of a runtime.
pub trait Clock {
    /// What [`Clock::sleep_until`] returns. It must be `Send` for operations to be.
    type Sleep: Future<Output = ()>;

    /// The time since a start that does not change. It never decreases.
    fn now(&self) -> Time;

    /// A future that is ready at `at`, or later.
    fn sleep_until(&self, at: Time) -> Self::Sleep;
}

/// A disk that tasks share. Clones are handles of one disk.
#[derive(Debug)]
pub struct AsyncDisk<C> {
    shared: Arc<Shared<C>>,
}

impl<C> Clone for AsyncDisk<C> {
    fn clone(&self) -> AsyncDisk<C> {
        AsyncDisk { shared: Arc::clone(&self.shared) }
    }
}

#[derive(Debug)]
struct Shared<C> {
    clock: C,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    disk: Disk,
    /// What futures wait for.
    waiting: BTreeMap<Ticket, Waiting>,
    /// Of futures that found the queue full.
    blocked: Vec<Waker>,
}

#[derive(Debug)]
enum Waiting {
    InFlight(Waker),
    Finished(Box<Completion>),
    /// The power was cut.
    Aborted,
}

impl State {
    /// Lets the time pass, and wakes the futures of completed operations.
    fn advance(&mut self, now: Time) {
        // Handles may be polled in any order; the disk's time only increases.
        let completions = self.disk.advance(now.max(self.disk.now()));
        if !completions.is_empty() {
            self.blocked.drain(..).for_each(Waker::wake);
        }
        for completion in completions {
            if let Some(waiting) = self.waiting.get_mut(&completion.ticket()) {
                wake(std::mem::replace(waiting, Waiting::Finished(Box::new(completion))));
            }
        }
    }
}

fn wake(waiting: Waiting) {
    if let Waiting::InFlight(waker) = waiting {
        waker.wake();
    }
}

impl<C: Clock> AsyncDisk<C> {
    /// A disk in the time of `clock`.
    pub fn new(disk: Disk, clock: C) -> AsyncDisk<C> {
        let state = State { disk, waiting: BTreeMap::new(), blocked: Vec::new() };
        AsyncDisk { shared: Arc::new(Shared { clock, state: Mutex::new(state) }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an operation, from the first poll of the future on. The future waits for its turn if the
    /// queue of the disk is full. Dropping it does not undo the operation.
    pub fn execute(&self, operation: Operation) -> Execution<C> {
        Execution { disk: self.clone(), state: ExecutionState::New(operation), sleep: None }
    }

    /// Calls `body` with the time and the disk, for faults and inspection.
    pub fn with_disk<R>(&self, body: impl FnOnce(Time, &mut Disk) -> R) -> R {
        let mut state = self.lock();
        let now = self.shared.clock.now();
        state.advance(now);
        let now = state.disk.now();
        body(now, &mut state.disk)
    }

    /// Cuts the power now; see [`Disk::power_cut`]. Operations in flight return [`Error::Gone`].
    pub fn power_cut(&self, random: &mut Stream) -> PowerCut {
        let cut = self.with_disk(|now, disk| disk.power_cut(now, random));
        let mut state = self.lock();
        for ticket in cut.aborted() {
            if let Some(waiting) = state.waiting.get_mut(ticket) {
                wake(std::mem::replace(waiting, Waiting::Aborted));
            }
        }
        cut
    }

    /// A range of bytes of the disk as a file of fixed length. Files may overlap.
    ///
    /// # Panics
    /// If the range is not of whole sectors of the disk.
    pub fn file(&self, bytes: Range<u64>) -> AsyncFile<C> {
        let capacity = self.lock().disk.config().capacity_bytes();
        let is_whole = bytes.start.is_multiple_of(SECTOR_BYTES) && bytes.end.is_multiple_of(SECTOR_BYTES);
        assert!(
            is_whole && bytes.start <= bytes.end && bytes.end <= capacity,
            "bytes {bytes:?} are not whole sectors of the disk"
        );
        AsyncFile { disk: self.clone(), bytes }
    }
}

/// The future of an operation. Drives the disk while it is polled, so that no task has to do that.
#[must_use = "futures do nothing unless polled"]
pub struct Execution<C: Clock> {
    disk: AsyncDisk<C>,
    state: ExecutionState,
    /// Until the next event of the disk.
    sleep: Option<Pin<Box<C::Sleep>>>,
}

enum ExecutionState {
    New(Operation),
    InFlight(Ticket),
    Finished,
}

// Nothing in it is pinned but what is in a box of its own.
impl<C: Clock> Unpin for Execution<C> {}

impl<C: Clock> Future for Execution<C> {
    type Output = Result<Completion, Error>;

    /// # Panics
    /// If it is polled after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let mut state = this.disk.lock();
            state.advance(this.disk.shared.clock.now());
            match std::mem::replace(&mut this.state, ExecutionState::Finished) {
                ExecutionState::New(operation) => {
                    let now = state.disk.now();
                    match state.disk.submit(now, operation) {
                        Ok(ticket) => {
                            state.waiting.insert(ticket, Waiting::InFlight(context.waker().clone()));
                            this.state = ExecutionState::InFlight(ticket);
                        }
                        Err(busy) => {
                            state.blocked.push(context.waker().clone());
                            this.state = ExecutionState::New(busy.into_operation());
                        }
                    }
                }
                ExecutionState::InFlight(ticket) => match state.waiting.remove(&ticket) {
                    Some(Waiting::Finished(completion)) => {
                        return Poll::Ready(completion.result().map(|()| *completion));
                    }
                    Some(Waiting::InFlight(_)) => {
                        state.waiting.insert(ticket, Waiting::InFlight(context.waker().clone()));
                        this.state = ExecutionState::InFlight(ticket);
                    }
                    Some(Waiting::Aborted) | None => return Poll::Ready(Err(Error::Gone)),
                },
                ExecutionState::Finished => panic!("an operation is polled after its end"),
            }
            let at = state.disk.next_event();
            drop(state);
            if at <= this.disk.shared.clock.now() {
                continue;
            }
            let sleep = this.sleep.insert(Box::pin(this.disk.shared.clock.sleep_until(at)));
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

/// The operation stays in flight; its completion is dropped.
impl<C: Clock> Drop for Execution<C> {
    fn drop(&mut self) {
        if let ExecutionState::InFlight(ticket) = self.state {
            self.disk.lock().waiting.remove(&ticket);
        }
    }
}

/// A part of a disk as a file of fixed length, in the manner of a file that is opened with `O_DIRECT`:
/// offsets and lengths are whole sectors of 512 bytes, and data goes to the disk with each call.
#[derive(Debug)]
pub struct AsyncFile<C> {
    disk: AsyncDisk<C>,
    bytes: Range<u64>,
}

impl<C: Clock> AsyncFile<C> {
    /// Reads `len` bytes at byte `offset`.
    ///
    /// # Errors
    /// `InvalidInput` if these are not whole sectors of the file; a sector cannot be read; the disk has died.
    pub async fn read_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let sector = self.sector(offset, len)?;
        let sectors = to_u32(len as u64 / SECTOR_BYTES);
        Ok(self.disk.execute(Operation::read(sector, sectors)).await?.into_data()?)
    }

    /// Writes `data` at byte `offset`.
    ///
    /// # Errors
    /// `InvalidInput` if these are not whole sectors of the file; the disk has died or is write protected.
    pub async fn write_at(&self, offset: u64, data: Vec<u8>) -> io::Result<()> {
        let sector = self.sector(offset, data.len())?;
        self.disk.execute(Operation::write(sector, data)).await?;
        Ok(())
    }

    /// Makes everything durable that has been written to the disk, by this file and others.
    ///
    /// # Errors
    /// The disk has died.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.disk.execute(Operation::Flush).await?;
        Ok(())
    }

    fn sector(&self, offset: u64, len: usize) -> io::Result<Sector> {
        let end = offset.checked_add(len as u64).and_then(|end| end.checked_add(self.bytes.start));
        let is_inside = end.is_some_and(|end| end <= self.bytes.end);
        let is_whole = (len as u64).is_multiple_of(SECTOR_BYTES) && len > 0;
        let sector = Sector::at_byte(self.bytes.start.saturating_add(offset));
        sector.filter(|_| is_inside && is_whole).ok_or_else(|| ErrorKind::InvalidInput.into())
    }
}

/// Virtual time for one future, without a runtime: when it waits, the time jumps to the next moment that it
/// waits for. Clones are handles of one clock.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    state: Arc<Mutex<ClockState>>,
}

#[derive(Debug, Default)]
struct ClockState {
    now: Time,
    sleeps: u64,
    sleeping: BTreeMap<(Time, u64), Waker>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl VirtualClock {
    /// A clock at zero.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a future to its end.
    ///
    /// # Panics
    /// If the future waits for something else than this clock.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        loop {
            flag.0.store(false, Ordering::Relaxed);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            if !flag.0.load(Ordering::Relaxed) {
                let mut state = self.lock();
                let ((at, _), waker) = state.sleeping.pop_first().expect("the future waits for this clock");
                state.now = state.now.max(at);
                drop(state);
                waker.wake();
            }
        }
    }
}

impl Clock for VirtualClock {
    type Sleep = VirtualSleep;

    fn now(&self) -> Time {
        self.lock().now
    }

    fn sleep_until(&self, at: Time) -> VirtualSleep {
        let mut state = self.lock();
        state.sleeps += 1;
        VirtualSleep { clock: self.clone(), key: (at, state.sleeps) }
    }
}

/// A wait for a [`VirtualClock`].
#[derive(Debug)]
pub struct VirtualSleep {
    clock: VirtualClock,
    key: (Time, u64),
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.lock();
        if state.now >= self.key.0 {
            return Poll::Ready(());
        }
        state.sleeping.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        self.clock.lock().sleeping.remove(&self.key);
    }
}
