//! Heartbeats of a thread, for the watchdog of the service manager.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of heartbeats that were requested from a thread by messages, and how many it has confirmed.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    requested: AtomicU64,
    confirmed: AtomicU64,
}

impl Heartbeats {
    /// True if the thread has confirmed all heartbeats that were requested.
    pub(super) fn are_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed) == self.requested.load(Ordering::Relaxed)
    }

    /// Counts a request for a heartbeat; post its message afterwards.
    pub(super) fn request(&self) {
        self.requested.fetch_add(1, Ordering::Relaxed);
    }

    /// Confirms what was requested; for the thread.
    pub(super) fn confirm(&self) {
        self.confirmed.store(self.requested.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
