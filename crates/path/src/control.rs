//! Start and end of a measurement, for all of its threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use tailcut_base::{Nanos, Time};
use tailcut_rt::Clock;
use tailcut_rt::placement::{self, Usage};

/// Length of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// For a fixed time, after a warm-up.
    Time {
        /// Length of the warm-up, which does not count.
        ramp: Nanos,
        /// Length of the measured interval.
        measured: Nanos,
    },
    /// For this many requests per slot.
    Requests(u64),
}

/// Controls the phases of a measurement.
#[derive(Debug)]
pub struct BenchControl {
    clock: Clock,
    length: Length,
    phase: AtomicU32,
    ready: Barrier,
}

const RAMP: u32 = 0;
const MEASURE: u32 = 1;
const STOP: u32 = 2;

impl BenchControl {
    /// A measurement with `threads` threads, including the one that controls it.
    pub fn new(clock: Clock, length: Length, threads: usize) -> BenchControl {
        let phase = if matches!(length, Length::Requests(_)) { MEASURE } else { RAMP };
        BenchControl { clock, length, phase: AtomicU32::new(phase), ready: Barrier::new(threads) }
    }

    /// The clock that all threads share.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Called by a thread that is in place; returns when all threads are.
    pub fn wait_for_start(&self) {
        self.ready.wait();
    }

    /// Runs the phases; returns the start of the measured interval. The measurement ends when all threads
    /// have seen its end.
    pub fn direct(&self) -> Time {
        self.wait_for_start();
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

    /// True while the requests that end are counted, after the ramp.
    #[inline]
    pub fn counts(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == MEASURE
    }

    /// True if a slot that has completed `done` requests has to start another.
    #[inline]
    pub fn is_running(&self, done: u64) -> bool {
        match self.length {
            Length::Time { .. } => self.phase.load(Ordering::Relaxed) != STOP,
            Length::Requests(requests) => done < requests,
        }
    }
}

/// Resources used by a thread while it is measured.
#[derive(Debug, Default)]
pub struct Meter(Option<Usage>);

impl Meter {
    /// Records the usage at the start of the measured interval; has to be called often.
    #[inline]
    pub fn sample(&mut self, control: &BenchControl) {
        if self.0.is_none() && control.counts() {
            self.0 = Some(Usage::of_thread());
        }
    }

    /// Resources used since then; zero if the start was never recorded.
    pub fn used(&self) -> Usage {
        self.0.map_or(Usage::default(), |before| Usage::of_thread().since(before))
    }
}
