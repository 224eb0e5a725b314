//! A disk with callbacks, in the manner of TigerBeetle's storage: operations are submitted together with what
//! is to be done when they complete, and [`Ring::tick`] does it.

use crate::completion::Completion;
use crate::disk::{Disk, PowerCut};
use crate::operation::{Busy, Operation, Ticket};
use std::collections::BTreeMap;
use std::fmt;
use tailcut_base::Time;
use tailcut_base::random::Stream;

/// What is called when an operation completes: with the state of the program, the ring, for further
/// operations, and the completion.
pub type Callback<S> = Box<dyn FnOnce(&mut S, &mut Ring<S>, Completion)>;

/// A disk, its virtual time, and callbacks; `S` is the state of the program that the callbacks change.
///
/// ```
/// use tailcut_disk::ring::Ring;
/// use tailcut_disk::{Disk, Operation, Personality, Sector};
///
/// let mut ring = Ring::new(Disk::new(Personality::Fresh, 1));
/// let mut log = Vec::new();
/// ring.submit(Operation::write(Sector::new(0), vec![1; 512]), |log: &mut Vec<&str>, ring, _| {
///     log.push("written");
///     ring.submit(Operation::flush(), |log, _, _| log.push("durable")).unwrap();
/// })
/// .unwrap();
/// while ring.tick(&mut log) {}
/// assert_eq!(log, ["written", "durable"]);
/// ```
pub struct Ring<S> {
    disk: Disk,
    now: Time,
    callbacks: BTreeMap<Ticket, Callback<S>>,
    /// Completions whose callbacks are due.
    completions: Vec<Completion>,
}

impl<S> Ring<S> {
    /// A ring whose time begins at zero, or at the latest time that the disk knows of.
    pub fn new(disk: Disk) -> Ring<S> {
        let now = disk.now();
        Ring { disk, now, callbacks: BTreeMap::new(), completions: Vec::new() }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The disk, for faults; operations that are submitted to it directly have no callback.
    pub fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// Submits an operation now; `callback` is called by the [`Ring::tick`] at which it completes.
    ///
    /// # Errors
    /// The queue of the disk is full; the callback is dropped.
    pub fn submit(
        &mut self,
        operation: Operation,
        callback: impl FnOnce(&mut S, &mut Ring<S>, Completion) + 'static,
    ) -> Result<Ticket, Busy> {
        let ticket = self.disk.submit(self.now, operation)?;
        self.callbacks.insert(ticket, Box::new(callback));
        Ok(ticket)
    }

    /// When the next [`Ring::tick`] is due; [`Time::NEVER`] if nothing is in flight and the disk has no work
    /// of its own.
    pub fn next_event(&self) -> Time {
        self.disk.next_event()
    }

    /// Lets the time pass to the next event of the disk, and calls the callbacks of what completes. False if
    /// there is no event.
    pub fn tick(&mut self, state: &mut S) -> bool {
        let at = self.next_event();
        if at == Time::NEVER {
            return false;
        }
        self.advance(at.max(self.now), state);
        true
    }

    /// Lets the time pass to `now`, and calls the callbacks of what completes, for a test that keeps the time
    /// itself.
    ///
    /// # Panics
    /// If `now` is before [`Ring::now`].
    pub fn advance(&mut self, now: Time, state: &mut S) {
        self.now = now;
        let mut completions = std::mem::take(&mut self.completions);
        self.disk.advance_into(now, &mut completions);
        for completion in completions.drain(..) {
            if let Some(callback) = self.callbacks.remove(&completion.ticket()) {
                callback(state, self, completion);
            }
        }
        self.completions = completions;
    }

    /// Cuts the power now; see [`Disk::power_cut`]. All callbacks are dropped.
    pub fn power_cut(&mut self, random: &mut Stream) -> PowerCut {
        self.callbacks.clear();
        self.disk.power_cut(self.now, random)
    }

    /// The disk, without the callbacks of what is in flight.
    pub fn into_disk(self) -> Disk {
        self.disk
    }
}

impl<S> fmt::Debug for Ring<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("disk", &self.disk)
            .field("now", &self.now)
            .field("callbacks", &self.callbacks.len())
            .finish_non_exhaustive()
    }
}
