//! The benchmark of a path: assembles threads, queues and a device, and measures them.

use super::control::{BenchControl, Length, Meter};
use super::core_queue::CoreQueue;
use super::device::{Device, Rest};
use super::pair::queue_pair;
use super::plan::{Plan, Poller, Watch};
use super::submitter::{self, Share};
use super::wake_event::WakeEvent;
use super::watch::watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_rt::Clock;
use tailcut_rt::Drive;
use tailcut_rt::placement::{self, Usage};

/// The threads that submit requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitters {
    /// This many threads, each of which waits for its request.
    Threads(u32),
    /// One thread that keeps this many requests in flight and never waits.
    Reaper(u32),
}

/// A benchmark of a completion strategy: threads, cores and a device.
#[derive(Clone, Debug)]
pub struct Harness {
    /// The strategy as real threads carry it out.
    pub plan: Plan,
    /// How many threads submit requests, and whether they wait for them.
    pub submitters: Submitters,
    /// Cores of submitting threads; each has a queue. A reaper uses the first.
    pub cores: Vec<usize>,
    /// The core of the device, which should not be one of `cores`.
    pub device_core: usize,
    /// Whether the device sleeps or spins while it is idle.
    pub rest: Rest,
    /// Queue depth of a queue at the device.
    pub depth: u32,
    /// How long before its completion a request is announced.
    pub window: Nanos,
    /// All threads precede those of other programs, where the system allows it. Their order among each other
    /// does not change: a poller at idle priority comes last.
    pub is_real_time: bool,
}

/// Role of a thread, and its real-time level. Completion threads are on the level of the threads that they
/// wake, as they are without levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    IdlePoller = 1,
    Waiting = 2,
    Device = 3,
    /// The thread that ends the measurement must be able to run.
    Director = 4,
}

/// Results of a benchmark.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Length of the measured interval.
    pub elapsed: Nanos,
    /// Latency of requests, from entering to leaving the path.
    pub latency: LatencyHistogram,
    /// Usage of submitting threads and of threads that poll for them.
    pub usage: Usage,
    /// CPU time used at idle priority, which `usage` includes.
    pub idle: Nanos,
    /// Number of threads woken by the device, from the start.
    pub wakes: u64,
}

/// State shared by all threads of a benchmark.
struct Run<'a> {
    harness: &'a Harness,
    control: BenchControl,
    queues: Vec<CoreQueue>,
    /// Stops the threads that poll for others.
    stop: AtomicBool,
}

impl Harness {
    /// Runs the benchmark over `drive`, and returns its results and the drive.
    ///
    /// # Panics
    /// If [`Harness::is_real_time`] is set and this process may not raise threads to real-time priority.
    pub fn run<D: Drive + Send>(&self, drive: D, length: Length) -> (Outcome, D) {
        if self.is_real_time {
            placement::go_before_others(Part::Director as u8).expect(NO_REAL_TIME);
        }
        let result = self.direct(drive, length);
        if self.is_real_time {
            placement::go_in_turn();
        }
        result
    }

    fn direct<D: Drive + Send>(&self, drive: D, length: Length) -> (Outcome, D) {
        let (clock, event) = (Clock::start(), Arc::new(WakeEvent::default()));
        let slots = self.slots();
        let rings = self.plan.watch == Watch::Notifier;
        let (hosts, ends): (Vec<_>, Vec<_>) =
            slots.iter().map(|_| queue_pair(self.depth as usize, rings, event.clone())).unzip();
        let queue = |(host, &slots): (_, &u32)| CoreQueue::new(self.plan, slots, self.depth, host);
        let run = Run {
            harness: self,
            control: BenchControl::new(clock, length, self.threads(&slots)),
            queues: hosts.into_iter().zip(&slots).map(queue).collect(),
            stop: AtomicBool::new(false),
        };
        let mut device = Device::new(drive, ends, event.clone(), clock, self.window);
        let stop_device = AtomicBool::new(false);
        let mut outcome = std::thread::scope(|scope| {
            let device = scope.spawn(|| {
                self.settle(self.device_core, Part::Device);
                device.run(self.rest, &stop_device);
            });
            let outcome = run.go(scope, &slots);
            stop_device.store(true, Ordering::Release);
            event.wake();
            device.join().expect(FAILED);
            outcome
        });
        outcome.wakes = device.wakes();
        (outcome, device.into_drive())
    }

    /// Moves a thread to its core and level. Where the system refuses, it runs where it may, and the results
    /// show it.
    fn settle(&self, core: usize, part: Part) {
        let _ = tailcut_rt::stay_on(core);
        let _ = tailcut_rt::sleep_precisely();
        if self.is_real_time {
            placement::go_before_others(part as u8).expect(NO_REAL_TIME);
        } else if part == Part::IdlePoller {
            let _ = tailcut_rt::yield_to_all();
        }
    }

    /// Number of slots of each queue.
    fn slots(&self) -> Vec<u32> {
        match self.submitters {
            Submitters::Reaper(depth) => vec![depth],
            Submitters::Threads(threads) => {
                let queues = (self.cores.len() as u32).min(threads);
                (0..queues).map(|queue| (threads - queue).div_ceil(queues)).collect()
            }
        }
    }

    /// Number of threads that start together: submitters, pollers, and the controlling one.
    fn threads(&self, slots: &[u32]) -> usize {
        let asking = match self.submitters {
            Submitters::Reaper(_) => 1,
            Submitters::Threads(threads) => threads as usize,
        };
        asking + slots.len() + 1
    }
}

impl Run<'_> {
    fn go<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, slots: &[u32]) -> Outcome {
        let queues = || self.queues.iter().zip(&self.harness.cores);
        let watchers: Vec<_> =
            queues().map(|(queue, &core)| scope.spawn(move || self.watch(queue, core))).collect();
        let mut submitters = Vec::new();
        for ((queue, &core), &slots) in queues().zip(slots) {
            let control = &self.control;
            match self.harness.submitters {
                Submitters::Reaper(_) => submitters.push(scope.spawn(move || {
                    self.harness.settle(core, Part::Waiting);
                    submitter::reap(queue, control, slots)
                })),
                Submitters::Threads(_) => submitters.extend((0..slots).map(|slot| {
                    scope.spawn(move || {
                        self.harness.settle(core, Part::Waiting);
                        submitter::ask(queue, control, slot)
                    })
                })),
            }
        }
        let begun = self.control.direct();
        let submitters: Vec<Share> =
            submitters.into_iter().map(|thread| thread.join().expect(FAILED)).collect();
        let elapsed = self.control.clock().now().since(begun);
        self.stop.store(true, Ordering::Release);
        self.queues.iter().for_each(|queue| _ = queue.event().wake());
        let watched = watchers.into_iter().map(|thread| thread.join().expect(FAILED));
        self.outcome(elapsed, &submitters, watched.fold(Usage::default(), Usage::and))
    }

    fn outcome(&self, elapsed: Nanos, submitters: &[Share], watched: Usage) -> Outcome {
        let mut latency = LatencyHistogram::new();
        submitters.iter().for_each(|share| latency.merge(&share.latency));
        let asked = submitters.iter().fold(Usage::default(), |sum, share| sum.and(share.usage));
        let is_idle = self.harness.plan.watch == Watch::Poller(Poller::Idle);
        let idle = if is_idle { watched.cpu } else { Nanos::ZERO };
        Outcome { elapsed, latency, usage: asked.and(watched), idle, wakes: 0 }
    }

    fn watch(&self, queue: &CoreQueue, core: usize) -> Usage {
        let is_idle = self.harness.plan.watch == Watch::Poller(Poller::Idle);
        self.harness.settle(core, if is_idle { Part::IdlePoller } else { Part::Waiting });
        self.control.wait_for_start();
        let mut meter = Meter::default();
        watch(queue, self.control.clock(), &self.stop, || meter.sample(&self.control));
        meter.used()
    }
}

const NO_REAL_TIME: &str = "who asks for real time has been found to have it";

const FAILED: &str = "a thread of the path has failed, and said why";
