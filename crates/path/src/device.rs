//! The device's thread: it runs a [`Drive`] for the queue pairs of all queues.
//!
//! It posts completions. It wakes only a queue's completion thread, and only where the strategy wants
//! interrupts: a wakeup across cores would delay the completions of all other requests
//! (`docs/decisions/waiting-in-user-space.md`). Any drive can be put behind it.

use super::pair::{CompletionEntry, DeviceEnd};
use super::wake_event::WakeEvent;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::{Nanos, Time};
use tailcut_host::path::RequestId;
use tailcut_host::{Bytes, Response};
use tailcut_rt::Clock;
use tailcut_rt::{Announcement, Answers, Drive};

/// How the device's thread waits when it is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Spins, on its own core.
    Spin,
    /// Sleeps until shortly before the drive's next event, and spins for the remaining time.
    Sleep(Nanos),
}

/// A device that serves queue pairs.
#[derive(Debug)]
pub struct Device<D> {
    drive: D,
    ends: Vec<DeviceEnd>,
    event: Arc<WakeEvent>,
    clock: Clock,
    /// How long before its completion a request is announced; zero for no announcements.
    window: Nanos,
    /// Owner of each request of the drive, by the drive's request id.
    owners: Vec<Owner>,
    free: Vec<u32>,
    answers: Answers,
    announcements: Vec<Announcement>,
    /// Pending announcements: time, the drive's request id, generation of the id.
    alarms: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Pairs with completion entries for which no interrupt was raised.
    quiet: Vec<bool>,
    wakes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Owner {
    end: u32,
    request: RequestId,
    /// Counts reuses of an id, so that an alarm of an earlier request is not taken for that of the present
    /// one.
    generation: u32,
    in_flight: bool,
    is_announced: bool,
}

impl<D: Drive> Device<D> {
    /// A device over `drive` for these pairs, which all have `event` as the device's event.
    pub fn new(
        drive: D,
        ends: Vec<DeviceEnd>,
        event: Arc<WakeEvent>,
        clock: Clock,
        window: Nanos,
    ) -> Device<D> {
        let depth = drive.disk().depth;
        Device {
            quiet: vec![true; ends.len()],
            drive,
            ends,
            event,
            clock,
            window,
            owners: vec![Owner::default(); depth as usize],
            free: (0..depth).rev().collect(),
            answers: Answers::default(),
            announcements: Vec::new(),
            alarms: BinaryHeap::new(),
            wakes: 0,
        }
    }

    /// Serves until `stop` is set.
    ///
    /// # Panics
    /// If requests are in flight when `stop` is set.
    pub fn run(&mut self, rest: Rest, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let now = self.clock.now();
            if !self.step(now) {
                self.rest(now, rest, stop);
            }
        }
        assert_eq!(self.free.len(), self.owners.len(), "a device stops when nothing is in flight");
    }

    /// The drive, which has nothing in flight any more.
    pub fn into_drive(self) -> D {
        self.drive
    }

    /// Number of wakeups of threads.
    pub fn wakes(&self) -> u64 {
        self.wakes
    }

    /// Submits new requests and posts what is complete at `now`. False if there was nothing to do.
    fn step(&mut self, now: Time) -> bool {
        let has_taken = self.accept(now);
        self.drive.poll(now, &mut self.answers);
        let mut responses = std::mem::take(&mut self.answers.responses);
        let is_busy = has_taken || !responses.is_empty();
        responses.drain(..).for_each(|response| self.end(response));
        self.answers.responses = responses;
        if self.window != Nanos::ZERO {
            self.announce(now);
        }
        for (end, quiet) in self.ends.iter().zip(&mut self.quiet) {
            if !std::mem::replace(quiet, true) {
                self.wakes += u64::from(end.interrupt());
            }
        }
        is_busy
    }

    /// Submits requests to the drive, up to its queue depth.
    fn accept(&mut self, now: Time) -> bool {
        let mut has_taken = false;
        for (number, end) in self.ends.iter_mut().enumerate() {
            while !self.free.is_empty()
                && let Some(mut request) = end.take()
            {
                let name = self.free.pop().expect("there is one");
                let owner = &mut self.owners[name as usize];
                *owner = Owner {
                    end: number as u32,
                    request: request.id,
                    generation: owner.generation.wrapping_add(1),
                    in_flight: true,
                    is_announced: false,
                };
                request.id = name;
                self.drive.submit(now, request);
                has_taken = true;
            }
        }
        has_taken
    }

    fn end(&mut self, mut response: Response<Bytes>) {
        let name = response.id;
        let owner = &mut self.owners[name as usize];
        assert!(owner.in_flight, "a drive answers what it was asked, once");
        owner.in_flight = false;
        response.id = owner.request;
        self.ends[owner.end as usize].post(CompletionEntry::Ended(response));
        // The waiter of an announced request polls for its completion.
        self.quiet[owner.end as usize] &= owner.is_announced;
        self.free.push(name);
    }

    fn announce(&mut self, now: Time) {
        self.drive.announce(&mut self.announcements);
        for Announcement { id, ends } in self.announcements.drain(..) {
            let at = Time(ends.0.saturating_sub(self.window.0));
            self.alarms.push(Reverse((at, id, self.owners[id as usize].generation)));
        }
        while let Some(&Reverse((at, name, generation))) = self.alarms.peek()
            && at <= now
        {
            self.alarms.pop();
            let owner = &mut self.owners[name as usize];
            if owner.in_flight && owner.generation == generation && !owner.is_announced {
                owner.is_announced = true;
                self.ends[owner.end as usize].post(CompletionEntry::Soon(owner.request));
                self.quiet[owner.end as usize] = false;
            }
        }
    }

    /// Waits, after an iteration at `now` that found nothing to do.
    fn rest(&mut self, now: Time, rest: Rest, stop: &AtomicBool) {
        let Rest::Sleep(spin) = rest else { return std::hint::spin_loop() };
        let alarm = self.alarms.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        let next = self.drive.next_event().min(alarm);
        let until = Time(next.0.saturating_sub(spin.0));
        if until <= now {
            return std::hint::spin_loop();
        }
        let until = (next != Time::NEVER).then(|| self.clock.instant(until));
        let has_room = !self.free.is_empty();
        self.event.wait_once(until, || {
            stop.load(Ordering::Acquire) || has_room && self.ends.iter().any(DeviceEnd::has_requests)
        });
    }
}
