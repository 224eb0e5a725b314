//! Model check of the waiting protocol under every interleaving of its threads (loom).
//!
//! Compiles the files of `path` that synchronise threads a second time, over the model's atomics. The model
//! has few threads and requests; its results hold for those, up to a bounded number of preemptions.

#![allow(unreachable_pub, reason = "the files are those of the crate")]
#![allow(dead_code, reason = "the model needs less of these files than the crate has")]

mod sync;

#[path = "../../src/core_queue.rs"]
mod core_queue;
#[path = "../../src/pair.rs"]
mod pair;
#[path = "../../src/plan.rs"]
mod plan;
#[path = "../../src/wake_event.rs"]
mod wake_event;

use self::core_queue::{CoreQueue, PendingWakeups};
use self::pair::{CompletionEntry, DeviceEnd, queue_pair};
use self::plan::{Plan, Poller};
use self::sync::{Invariant, loses_a_wake_up};
use self::wake_event::WakeEvent;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::path::Strategy;
use tailcut_host::{Bytes, Mirror, Request, Response};

/// Checks a model with `preemptions` preemptions plus those of `TAILCUT_PREEMPTIONS`.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let more = std::env::var("TAILCUT_PREEMPTIONS").map_or(0, |more| more.parse().expect("a number"));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + more);
    builder.max_branches = 20_000;
    builder.check(model);
}

fn a_wake_up() {
    check(3, || {
        let (event, posted) = (Arc::new(WakeEvent::default()), Arc::new(AtomicU32::new(0)));
        let poster = thread::spawn({
            let (event, posted) = (event.clone(), posted.clone());
            move || {
                for post in 1..=2 {
                    posted.store(post, Ordering::Release);
                    event.wake();
                }
            }
        });
        for post in 1..=2 {
            event.wait_for(|| posted.load(Ordering::Acquire) >= post);
        }
        poster.join().unwrap();
    });
}

#[test]
fn no_wake_up_is_lost() {
    a_wake_up();
}

#[test]
fn looking_before_arming_loses_one() {
    assert!(loses_a_wake_up(Invariant::ArmsBeforeItLooks, a_wake_up));
}

/// Threads of one queue read a block each from a device that sleeps between requests.
#[derive(Clone, Copy)]
struct Scene {
    strategy: &'static str,
    threads: u32,
    /// Number of tags.
    depth: u32,
    /// The device announces each completion.
    announces: bool,
    preemptions: usize,
}

const SCENE: Scene = Scene { strategy: "coop", threads: 2, depth: 2, announces: false, preemptions: 1 };

impl Scene {
    fn check(self) {
        check(self.preemptions, move || self.play());
    }

    fn play(self) {
        let strategy = Strategy::parse(self.strategy).expect("it is a strategy");
        let plan = Plan::of(&strategy, Poller::Idle).expect("it can be carried out");
        let event = Arc::new(WakeEvent::default());
        let (host, device) = queue_pair(self.depth as usize, strategy.interrupts, event.clone());
        let queue = Arc::new(CoreQueue::new(plan, self.threads, self.depth, host));
        let stop = Arc::new(AtomicU32::new(0));
        let mut threads = vec![thread::spawn(move || self.serve(device, &event))];
        for slot in 1..self.threads {
            let queue = queue.clone();
            threads.push(thread::spawn(move || ask(&queue, slot)));
        }
        let watcher = strategy.interrupts.then(|| {
            let (queue, stop) = (queue.clone(), stop.clone());
            thread::spawn(move || notify(&queue, &stop))
        });
        ask(&queue, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        stop.store(1, Ordering::Release);
        queue.event().wake();
        watcher.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!queue.has_news(), "everything that was posted has been served");
    }

    /// The device: completes each request with its block, and sleeps when there is none.
    fn serve(self, mut device: DeviceEnd, event: &WakeEvent) {
        for _ in 0..self.threads {
            event.wait_for(|| device.has_requests());
            let Request { id, block, data, .. } = device.take().expect("there is one");
            if self.announces {
                device.post(CompletionEntry::Soon(id));
                device.interrupt();
            }
            let (status, busy_for, spans) = (Status::Success, Nanos(block), Spans::new());
            device.post(CompletionEntry::Ended(Response { id, status, data, busy_for, spans }));
            if !self.announces {
                device.interrupt();
            }
        }
    }
}

/// The completion thread. A poll thread differs only in that it polls without a wakeup, so it is not
/// modelled.
fn notify(queue: &CoreQueue, stop: &AtomicU32) {
    let mut told = PendingWakeups::default();
    let is_over = || stop.load(Ordering::Acquire) != 0;
    while !is_over() {
        queue.event().wait_for(|| queue.has_news() || is_over());
        queue.serve(Time(2), 1, &mut told);
    }
}

fn ask(queue: &CoreQueue, slot: u32) {
    let mut told = PendingWakeups::default();
    let (class, fua, fail_fast, block) = (Class::DEFAULT, false, false, 100 + u64::from(slot));
    let data: Vec<Bytes> = Vec::new();
    let request = Request {
        id: slot,
        op: Op::Read,
        fua,
        class,
        fail_fast,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block,
        blocks: 1,
        data,
    };
    queue.enter(Time(1), slot, request, &mut told);
    queue.wait(|| Time(2), slot, &mut told);
    let response = queue.leave(Time(3), slot, &mut told);
    assert_eq!((response.id, response.busy_for), (slot, Nanos(block)), "each thread gets its own answer");
}

#[test]
fn a_notifying_thread_serves_those_who_sleep() {
    Scene { strategy: "nvme", ..SCENE }.check();
}

#[test]
fn who_cooperates_serves_others() {
    SCENE.check();
}

#[test]
fn a_freed_tag_goes_to_what_waits() {
    Scene { depth: 1, ..SCENE }.check();
}

#[test]
fn a_tag_that_is_kept_is_noticed() {
    assert!(loses_a_wake_up(Invariant::FreedTagsAreUsed, || Scene { depth: 1, ..SCENE }.check()));
}

#[test]
fn looking_before_arming_loses_a_wake_up_of_the_path_too() {
    assert!(loses_a_wake_up(Invariant::ArmsBeforeItLooks, || SCENE.check()));
}

#[test]
fn who_spins_needs_nobody() {
    Scene { strategy: "spin", threads: 1, ..SCENE }.check();
}

#[test]
fn who_is_told_that_its_end_is_near_looks_itself() {
    Scene { strategy: "coop+precomplete", announces: true, threads: 1, preemptions: 2, ..SCENE }.check();
}
