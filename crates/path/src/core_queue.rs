//! The per-core queue of a path to a device: the path's queue over a queue pair, shared by the threads of one
//! core.
//!
//! A queue has *slots*, one for each request that can be in flight: a waiting thread has one, a reaper many.
//! A thread that uses the path holds the queue for some hundred nanoseconds and never while it sleeps or
//! wakes another. The stage of a slot's request is written while the queue is held, and read without it.
//!
//! Tags, queueing and order are those of [`PathQueue`], as in the simulator: the emulated controller records
//! what was issued, and the rings transport requests and completions.

use super::pair::{CompletionEntry, HostEnd, HostView};
use super::plan::Plan;
use super::sync::{AtomicU32, Invariant, Mutex, Ordering, holds, pause};
use super::wake_event::WakeEvent;
use tailcut_base::Time;
use tailcut_host::path::{Controller, LowLevelDriver, Nvme, NvmeDrives, PathQueue, RequestId, Wait};
use tailcut_host::{Bytes, Request, Response};

/// The queue that the threads of one core share.
#[derive(Debug)]
pub struct CoreQueue {
    plan: Plan,
    slots: Vec<RequestSlot>,
    pair: HostView,
    /// Number of completion entries that have been handled, modulo 2^32; written while the queue is held.
    served: AtomicU32,
    held: Mutex<CoreQueueState>,
}

/// The stage of a slot's request, and the event its thread waits on.
#[derive(Debug)]
struct RequestSlot {
    stage: AtomicU32,
    event: WakeEvent,
}

/// The slot has no request.
const EMPTY: u32 = 0;
/// The request is queued or at the device.
const PENDING: u32 = 1;
/// Its completion has been announced.
const ANNOUNCED: u32 = 2;
/// Its completion has been taken and is to be post-processed by its waiter.
const FETCHED: u32 = 3;
/// It has been post-processed.
const FINISHED: u32 = 4;

#[derive(Debug)]
struct CoreQueueState {
    path: PathQueue,
    pair: HostEnd,
    /// Requests that have not been issued, by slot.
    asked: Vec<Option<Request<Bytes>>>,
    /// Responses that their waiters have not taken, by slot.
    answers: Vec<Option<Response<Bytes>>>,
}

/// Wakeups to deliver once the queue is released. Each thread has one, so that nothing is allocated per
/// request.
#[derive(Debug, Default)]
pub struct PendingWakeups {
    slots: Vec<RequestId>,
    device: bool,
}

/// All requests of a queue go to one queue of one controller with one interrupt.
const QUEUE: u32 = 0;

impl CoreQueue {
    /// A queue with `slots` slots over a pair for `depth` requests; a request without a tag waits in its
    /// queue.
    pub fn new(plan: Plan, slots: u32, depth: u32, pair: HostEnd) -> CoreQueue {
        let mut controller = Controller::Nvme(Nvme::new(NvmeDrives { count: 1, pairs: 1, depth }));
        // The device wakes threads by itself, or not: the emulated controller has no interrupt handler.
        controller.mask(QUEUE, true);
        let none = |_| None;
        CoreQueue {
            plan,
            slots: (0..slots)
                .map(|_| RequestSlot { stage: AtomicU32::new(EMPTY), event: WakeEvent::default() })
                .collect(),
            pair: pair.view(),
            served: AtomicU32::new(0),
            held: Mutex::new(CoreQueueState {
                path: PathQueue::new(controller, slots),
                pair,
                asked: (0..slots).map(none).collect(),
                answers: (0..slots).map(|_| None).collect(),
            }),
        }
    }

    /// The waiting strategy of the queue.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The thread of a slot enters the path with a request, and serves another's completion if it cooperates.
    pub fn enter(&self, now: Time, slot: RequestId, request: Request<Bytes>, told: &mut PendingWakeups) {
        self.hold(told, |held, told| {
            self.ask(held, now, slot, request, told);
            if self.plan.cooperates {
                self.serve_held(held, now, 1, told);
            }
        });
    }

    /// Enters a batch of requests, each for the slot given by its `id`, for one thread that owns all slots;
    /// see [`CoreQueue::reap`].
    pub fn enter_many(
        &self,
        now: Time,
        requests: impl Iterator<Item = Request<Bytes>>,
        told: &mut PendingWakeups,
    ) {
        self.hold(told, |held, told| requests.for_each(|it| self.ask(held, now, it.id, it, told)));
    }

    /// Appends responses that have arrived, post-processed; for one thread that owns all slots and never
    /// sleeps.
    pub fn reap(&self, now: Time, answers: &mut Vec<Response<Bytes>>, told: &mut PendingWakeups) {
        self.hold(told, |held, told| {
            self.absorb(held, told);
            while let Some(fetched) = held.path.fetch(QUEUE) {
                self.fetched(held, now, fetched.request, told);
                answers.push(self.take(held, now, fetched.request));
            }
        });
    }

    /// Waits for the request of a slot as the strategy specifies.
    pub fn wait(&self, clock: impl Fn() -> Time, slot: RequestId, told: &mut PendingWakeups) {
        let place = &self.slots[slot as usize];
        let stage = || place.stage.load(Ordering::Acquire);
        match self.plan.wait {
            Wait::Sleep => place.event.wait_for(|| stage() >= FETCHED),
            Wait::Spin => self.spin(clock, slot, told),
            Wait::UntilNotice => {
                place.event.wait_for(|| stage() != PENDING);
                self.spin(clock, slot, told);
            }
        }
    }

    /// Polls for the completion of one request, which other threads may find as well.
    fn spin(&self, clock: impl Fn() -> Time, slot: RequestId, told: &mut PendingWakeups) {
        while self.slots[slot as usize].stage.load(Ordering::Acquire) < FETCHED {
            if self.has_news() {
                self.hold(told, |held, told| {
                    self.absorb(held, told);
                    if held.path.fetch_own(slot).is_some() {
                        self.fetched(held, clock(), slot, told);
                    }
                });
            }
            pause();
        }
    }

    /// The thread of a slot leaves the path with its response, and serves another's completion if it
    /// cooperates.
    pub fn leave(&self, now: Time, slot: RequestId, told: &mut PendingWakeups) -> Response<Bytes> {
        self.hold(told, |held, told| {
            let response = self.take(held, now, slot);
            if self.plan.cooperates {
                self.serve_held(held, now, 1, told);
            }
            response
        })
    }

    /// Serves at most `most` completions of any slots, for threads that do nothing else. Returns the number
    /// served.
    pub fn serve(&self, now: Time, most: u32, told: &mut PendingWakeups) -> u32 {
        self.hold(told, |held, told| self.serve_held(held, now, most, told))
    }

    /// True if the device has posted entries that have not been served.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news() != 0
    }

    /// Number of posted entries that have not been served. An entry taken from its ring before the device has
    /// counted it does not reduce the number of the others.
    #[inline]
    pub fn news(&self) -> u32 {
        let ahead = self.pair.posted().wrapping_sub(self.served.load(Ordering::Acquire));
        (ahead as i32).max(0) as u32
    }

    /// The event of the thread that the device wakes.
    pub fn event(&self) -> &WakeEvent {
        self.pair.event()
    }

    /// Runs `work` with the queue held, and delivers wakeups after its release.
    #[inline]
    fn hold<T>(
        &self,
        told: &mut PendingWakeups,
        work: impl FnOnce(&mut CoreQueueState, &mut PendingWakeups) -> T,
    ) -> T {
        let result = work(&mut self.held.lock().expect(POISONED), told);
        if std::mem::take(&mut told.device) {
            self.pair.ring_device();
        }
        for slot in told.slots.drain(..) {
            self.slots[slot as usize].event.wake();
        }
        result
    }

    fn ask(
        &self,
        held: &mut CoreQueueState,
        now: Time,
        slot: RequestId,
        mut request: Request<Bytes>,
        told: &mut PendingWakeups,
    ) {
        let before = self.slots[slot as usize].stage.swap(PENDING, Ordering::AcqRel);
        assert_eq!(before, EMPTY, "a slot has one request at a time");
        request.id = slot;
        held.asked[slot as usize] = Some(request);
        held.path.enqueue(slot, QUEUE);
        self.issue(held, now, told);
    }

    /// Issues the first queued request, if a tag is free.
    #[inline]
    fn issue(&self, held: &mut CoreQueueState, now: Time, told: &mut PendingWakeups) {
        let Some(request) = held.path.issue(now, QUEUE) else { return };
        let request = held.asked[request as usize].take().expect("what waits has been asked for");
        held.pair.submit(request);
        told.device = true;
    }

    /// Takes the response of a slot, and post-processes it unless that has been done.
    fn take(&self, held: &mut CoreQueueState, now: Time, slot: RequestId) -> Response<Bytes> {
        let place = &self.slots[slot as usize].stage;
        match place.load(Ordering::Relaxed) {
            FETCHED => _ = held.path.end(slot, now),
            FINISHED => {}
            stage => panic!("a thread leaves with its answer, not in stage {stage}"),
        }
        place.store(EMPTY, Ordering::Release);
        held.answers[slot as usize].take().expect("a completion has its answer")
    }

    fn serve_held(&self, held: &mut CoreQueueState, now: Time, most: u32, told: &mut PendingWakeups) -> u32 {
        self.absorb(held, told);
        for served in 0..most {
            let Some(fetched) = held.path.fetch(QUEUE) else { return served };
            self.fetched(held, now, fetched.request, told);
            told.slots.push(fetched.request);
        }
        most
    }

    /// Takes all entries from the ring; completions then wait in the controller to be fetched.
    #[inline]
    fn absorb(&self, held: &mut CoreQueueState, told: &mut PendingWakeups) {
        while let Some(posting) = held.pair.take() {
            match posting {
                CompletionEntry::Soon(slot) => {
                    let stage = &self.slots[slot as usize].stage;
                    assert_eq!(stage.load(Ordering::Relaxed), PENDING, "what is announced is in flight");
                    stage.store(ANNOUNCED, Ordering::Release);
                    self.note_served();
                    told.slots.push(slot);
                }
                CompletionEntry::Ended(response) => {
                    let slot = response.id;
                    let before = held.answers[slot as usize].replace(response);
                    assert!(before.is_none(), "a request is answered once");
                    held.path.completed(slot, true);
                }
            }
        }
    }

    /// Records a fetched completion; its tag is free.
    #[inline]
    fn fetched(&self, held: &mut CoreQueueState, now: Time, slot: RequestId, told: &mut PendingWakeups) {
        let stage = if self.plan.fetcher_finishes {
            held.path.end(slot, now);
            FINISHED
        } else {
            FETCHED
        };
        let place = &self.slots[slot as usize].stage;
        let before = place.load(Ordering::Relaxed);
        assert!(before == PENDING || before == ANNOUNCED, "a completion is fetched once");
        place.store(stage, Ordering::Release);
        self.note_served();
        if holds(Invariant::FreedTagsAreUsed) {
            self.issue(held, now, told);
        }
    }

    #[inline]
    fn note_served(&self) {
        let served = self.served.load(Ordering::Relaxed);
        self.served.store(served.wrapping_add(1), Ordering::Release);
    }
}

const POISONED: &str = "a thread that held the queue has failed, and said why";
