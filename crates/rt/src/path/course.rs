//! When a measurement begins and ends, for all of its threads.

use super::placement::{self, Usage};
use crate::clock::Clock;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use tailcut_base::{Nanos, Time};

/// For how long, or how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// For this long, after a stretch that does not count.
    Time {
        /// What does not count.
        ramp: Nanos,
        /// What does.
        measured: Nanos,
    },
    /// Requests per slot.
    Requests(u64),
}

/// The course of a measurement.
#[derive(Debug)]
pub struct Course {
    clock: Clock,
    length: Length,
    phase: AtomicU32,
    ready: Barrier,
}

const RAMP: u32 = 0;
const MEASURE: u32 = 1;
const STOP: u32 = 2;

impl Course {
    /// For `threads` threads, including the one that controls the measurement.
    pub fn new(clock: Clock, length: Length, threads: usize) -> Course {
        let phase = if matches!(length, Length::Requests(_)) { MEASURE } else { RAMP };
        Course { clock, length, phase: AtomicU32::new(phase), ready: Barrier::new(threads) }
    }

    /// The clock of all.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A thread is where it belongs; it goes on when all are.
    pub fn line_up(&self) {
        self.ready.wait();
    }

    /// Directs, and returns when the measurement began. Its end is when all threads have seen it.
    pub fn direct(&self) -> Time {
        self.line_up();
        if let Length::Time { ramp, measured } = self.length {
            placement::sleep(ramp);
            self.phase.store(MEASURE, Ordering::Release);
            let begun = self.clock.now();
            placement::sleep(measured);
            self.phase.store(STOP, Ordering::Release);
            return begun;
        }
        self.clock.now()
    }

    /// True while what is done counts.
    #[inline]
    pub fn counts(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == MEASURE
    }

    /// True if a slot that has completed `done` requests has to begin another.
    #[inline]
    pub fn goes_on(&self, done: u64) -> bool {
        match self.length {
            Length::Time { .. } => self.phase.load(Ordering::Relaxed) != STOP,
            Length::Requests(requests) => done < requests,
        }
    }
}

/// What a thread uses while it counts.
#[derive(Debug, Default)]
pub struct Meter(Option<Usage>);

impl Meter {
    /// To be called often: notes what was used before.
    #[inline]
    pub fn look(&mut self, course: &Course) {
        if self.0.is_none() && course.counts() {
            self.0 = Some(Usage::of_thread());
        }
    }

    /// What was used since then; nothing if it never got to look.
    pub fn used(&self) -> Usage {
        self.0.map_or(Usage::default(), |before| Usage::of_thread().since(before))
    }
}
