//! Synchronisation primitives; the model in `tests/model` substitutes its own.

pub use rtrb::{Consumer, Producer};
pub use std::sync::Mutex;
pub use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;
use std::time::Instant;

/// A ring of `places` entries from one thread to another.
pub fn ring<T>(places: usize) -> (Producer<T>, Consumer<T>) {
    rtrb::RingBuffer::new(places)
}

/// Pauses between two polls of a spinning thread.
#[inline(always)]
pub fn pause() {
    std::hint::spin_loop();
}

/// A futex word of this process.
#[derive(Debug, Default)]
pub struct Futex(AtomicU32);

impl Futex {
    /// Replaces the word by `value` and returns the previous word. Writes of this thread before the swap are
    /// visible to a thread that reads `value`, and writes before the previous word was stored are visible to
    /// this thread.
    #[inline]
    pub fn swap(&self, value: u32) -> u32 {
        self.0.swap(value, Ordering::AcqRel)
    }

    /// Sleeps if the word holds `value`, until it is woken; may return early.
    pub fn wait(&self, value: u32) {
        // Interrupted, or the word holds another value: the caller polls again in either case.
        let _ = futex::wait(&self.0, futex::Flags::PRIVATE, value, None);
    }

    /// Like `wait`, but until `until` at the latest.
    #[expect(clippy::missing_panics_doc, reason = "the time between two instants fits a timespec")]
    pub fn wait_until(&self, value: u32, until: Instant) {
        let Some(left) = until.checked_duration_since(Instant::now()) else { return };
        let left = left.try_into().expect("a moment within centuries");
        let _ = futex::wait(&self.0, futex::Flags::PRIVATE, value, Some(&left));
    }

    /// Wakes the thread that sleeps on it.
    #[expect(
        clippy::missing_panics_doc,
        reason = "waking fails only for a word outside of the memory of this process"
    )]
    pub fn wake(&self) {
        futex::wake(&self.0, futex::Flags::PRIVATE, 1).expect("the word is in memory of this process");
    }
}

/// A rule that the model violates to show that it detects the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// A thread about to sleep arms its event before it polls for the last time.
    ArmsBeforeItLooks,
    /// A tag that becomes free is used for a queued request.
    FreedTagsAreUsed,
}

/// True; in the model, false for a violated rule.
#[inline(always)]
pub const fn holds(_: Invariant) -> bool {
    true
}
