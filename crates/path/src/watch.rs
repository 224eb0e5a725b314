//! Threads that poll for completions of others: the completion thread, which the device wakes, and poll
//! threads.
//!
//! Each belongs to a queue and runs on its core, so that a thread it wakes runs on the core where it slept.

use super::core_queue::{CoreQueue, PendingWakeups};
use super::plan::{Poller, Watch};
use super::sync::pause;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::Nanos;
use tailcut_rt::Clock;
use tailcut_rt::placement;

/// Runs the polling thread that the queue's plan specifies, until `stop`; then the queue's event has to be
/// woken once more. Calls `on_look` on each poll.
pub fn watch(queue: &CoreQueue, clock: Clock, stop: &AtomicBool, on_look: impl FnMut()) {
    match queue.plan().watch {
        Watch::Nobody => {}
        Watch::Notifier => notify(queue, clock, stop, on_look),
        Watch::Poller(Poller::Timer(period)) => poll_on_timer(queue, clock, period, stop, on_look),
        Watch::Poller(Poller::Idle) => poll_when_idle(queue, clock, stop, on_look),
    }
}

/// Sleeps until the device has posted entries that have not been served.
fn notify(queue: &CoreQueue, clock: Clock, stop: &AtomicBool, mut on_look: impl FnMut()) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        queue.event().wait_for(|| queue.has_news() || stop.load(Ordering::Acquire));
        on_look();
        cycle(queue, clock, &mut told);
    }
}

/// "After a single poll cycle, the poll thread releases the CPU" (Shin 2017, section 3.3.4).
fn poll_on_timer(
    queue: &CoreQueue,
    clock: Clock,
    period: Nanos,
    stop: &AtomicBool,
    mut on_look: impl FnMut(),
) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        placement::sleep(period);
        on_look();
        if queue.has_news() {
            cycle(queue, clock, &mut told);
        }
    }
}

/// Serves the completions found at first, or until none is left, as the plan specifies.
fn cycle(queue: &CoreQueue, clock: Clock, told: &mut PendingWakeups) {
    let found = queue.news().max(1);
    while queue.serve(clock.now(), found, told) != 0 && queue.plan().until_empty {}
}

/// Serves one completion at a time: a thread that it wakes preempts it, and a second completion that it holds
/// would be delayed until the core is idle.
fn poll_when_idle(queue: &CoreQueue, clock: Clock, stop: &AtomicBool, mut on_look: impl FnMut()) {
    let mut told = PendingWakeups::default();
    while !stop.load(Ordering::Acquire) {
        on_look();
        if queue.has_news() {
            queue.serve(clock.now(), 1, &mut told);
        }
        pause();
    }
}
