//! Threads that poll for completions of others: the completion thread, which the device wakes, and poll
//! threads.
//!
//! Each belongs to a lane and runs on its core, so that a thread it wakes runs on the core where it slept.

use super::lane::{Lane, PendingWakeups};
use super::placement;
use super::plan::{Poller, Watch};
use super::sync::pause;
use crate::clock::Clock;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::Nanos;

/// Runs the polling thread that the lane's plan specifies, until `stop`; then the lane's event has to be
/// woken once more. Calls `on_look` on each poll.
pub fn watch(lane: &Lane, clock: Clock, stop: &AtomicBool, on_look: impl FnMut()) {
    match lane.plan().watch {
        Watch::Nobody => {}
        Watch::Notifier => notify(lane, clock, stop, on_look),
        Watch::Poller(Poller::Timer(period)) => poll_on_timer(lane, clock, period, stop, on_look),
        Watch::Poller(Poller::Idle) => poll_when_idle(lane, clock, stop, on_look),
    }
}

/// Sleeps until the device has posted entries that have not been served.
fn notify(lane: &Lane, clock: Clock, stop: &AtomicBool, mut on_look: impl FnMut()) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        lane.event().wait_for(|| lane.has_news() || stop.load(Ordering::Acquire));
        on_look();
        cycle(lane, clock, &mut told);
    }
}

/// "After a single poll cycle, the poll thread releases the CPU" (Shin 2017, section 3.3.4).
fn poll_on_timer(lane: &Lane, clock: Clock, period: Nanos, stop: &AtomicBool, mut on_look: impl FnMut()) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        placement::sleep(period);
        on_look();
        if lane.has_news() {
            cycle(lane, clock, &mut told);
        }
    }
}

/// Serves the completions found at first, or until none is left, as the plan specifies.
fn cycle(lane: &Lane, clock: Clock, told: &mut PendingWakeups) {
    let found = lane.news().max(1);
    while lane.serve(clock.now(), found, told) != 0 && lane.plan().until_empty {}
}

/// Serves one completion at a time: a thread that it wakes preempts it, and a second completion that it holds
/// would be delayed until the core is idle.
fn poll_when_idle(lane: &Lane, clock: Clock, stop: &AtomicBool, mut on_look: impl FnMut()) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        on_look();
        if lane.has_news() {
            lane.serve(clock.now(), 1, &mut told);
        }
        pause();
    }
}
