//! Requests on the I/O path: waiting for a tag, in flight, fetched.
//!
//! A full device is a normal result: a request without a tag waits in the software FIFO of its queue until it
//! is issued. The strategy decides which thread issues it; [`PathQueue::waiting`] shows whether there is
//! work.

use super::hal::{Controller, LowLevelDriver, QueueId, RequestId, Tag, Vector};
use crate::mutation::{Invariant, holds};
use std::collections::VecDeque;
use tailcut_base::{Nanos, Time};

/// A completion taken from the controller; its tag is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The request that has completed.
    pub request: RequestId,
    /// The queue of the freed tag.
    pub queue: QueueId,
}

/// The requests of a path.
#[derive(Clone, Debug)]
pub struct PathQueue {
    controller: Controller,
    fifos: Vec<VecDeque<RequestId>>,
    /// Tags of the requests in flight, by request.
    tags: Vec<Option<Tag>>,
    /// Tags of the batch being issued.
    batch: Vec<Tag>,
    waiting: u32,
}

impl PathQueue {
    /// A queue for an idle controller; request identifiers are 0 … `requests` - 1.
    pub fn new(controller: Controller, requests: u32) -> PathQueue {
        let fifo = || VecDeque::with_capacity(requests as usize);
        PathQueue {
            fifos: (0..controller.queues()).map(|_| fifo()).collect(),
            tags: vec![None; requests as usize],
            batch: Vec::with_capacity(1),
            waiting: 0,
            controller,
        }
    }

    /// The controller that requests are issued to.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The controller, for interrupt handling.
    pub fn controller_mut(&mut self) -> &mut Controller {
        &mut self.controller
    }

    /// Appends a request to the FIFO of its queue.
    #[inline]
    pub fn enqueue(&mut self, request: RequestId, queue: QueueId) {
        self.fifos[queue as usize].push_back(request);
        self.waiting += 1;
    }

    /// Number of requests in the FIFO of a queue.
    #[inline]
    pub fn waiting(&self, queue: QueueId) -> usize {
        self.fifos[queue as usize].len()
    }

    /// Number of requests in all FIFOs.
    pub fn waiting_in_all(&self) -> u32 {
        self.waiting
    }

    /// Issues the first request of a FIFO. None if the FIFO is empty or the device is busy.
    ///
    /// # Panics
    /// If the request is in flight already.
    #[inline]
    pub fn issue(&mut self, now: Time, queue: QueueId) -> Option<RequestId> {
        if self.fifos[queue as usize].is_empty() {
            return None;
        }
        self.batch.clear();
        self.controller.get_free_tags(queue, 1, &mut self.batch);
        let &tag = self.batch.first()?;
        let request = self.fifos[queue as usize].pop_front().expect("one waits");
        self.waiting -= 1;
        self.controller.bind_tag_cmd(tag, request);
        self.controller.begin_cmd(tag, now);
        self.controller.issue_tags(&self.batch);
        let before = self.tags[request as usize].replace(tag);
        assert_eq!(before, None, "request {request} is issued once");
        Some(request)
    }

    /// The device has completed a request. Returns the interrupt that this raises; None if `is_quiet`,
    /// because the waiter polls.
    ///
    /// # Panics
    /// If the request is not in flight.
    #[inline]
    pub fn completed(&mut self, request: RequestId, is_quiet: bool) -> Option<Vector> {
        let tag = self.tags[request as usize].expect("it is in flight");
        self.controller.notice(tag, is_quiet)
    }

    /// Takes the oldest completion of an interrupt.
    #[inline]
    pub fn fetch(&mut self, vector: Vector) -> Option<Fetched> {
        let tag = self.controller.fetch_event(vector)?;
        Some(self.release(tag))
    }

    /// Takes the completion of one request, if it is there and not taken yet.
    #[inline]
    pub fn fetch_own(&mut self, request: RequestId) -> Option<Fetched> {
        let tag = self.tags[request as usize]?;
        self.controller.fetch_tag(tag).then(|| self.release(tag))
    }

    #[inline]
    fn release(&mut self, tag: Tag) -> Fetched {
        let request = self.controller.detach_tag_cmd(tag);
        if holds(Invariant::TagsAreReleased) {
            self.controller.release_tags(&[tag]);
        }
        self.tags[request as usize] = None;
        Fetched { request, queue: tag.queue }
    }

    /// Post-processing of a request is complete. Returns its time at the controller.
    #[inline]
    pub fn end(&mut self, request: RequestId, now: Time) -> Nanos {
        self.controller.end_cmd(request, now)
    }

    /// The interrupt of a request in flight.
    #[inline]
    pub fn vector_of(&self, request: RequestId) -> Option<Vector> {
        self.tags[request as usize].map(|tag| self.controller.vector_of(tag.queue))
    }
}

/// State of a thread's request, as seen before the thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Whether the completion of the request has been taken from the controller.
    pub is_fetched: bool,
    /// Whether the completion of the request has been post-processed.
    pub is_finished: bool,
}

impl Waiter {
    /// True if the thread must wait for its request. Check before sleeping: a completion processed while the
    /// thread was awake has sent no wake-up.
    #[inline]
    pub fn may_wait(self, finisher: super::Finisher) -> bool {
        let mine = self.is_fetched && finisher == super::Finisher::Waiter;
        !(self.is_finished || mine) || !holds(Invariant::LooksBeforeItSleeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Ahci, AhciPorts, Nvme, NvmeDrives};
    use tailcut_base::random::Stream;

    /// A request in a naive model of the I/O path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Place {
        Idle,
        Waiting,
        InFlight,
        Done,
        Fetched,
    }

    fn random_walk(seed: u64, controller: Controller, depth: usize) {
        const REQUESTS: u32 = 40;
        let mut random = Stream::new(seed, "path");
        let mut path = PathQueue::new(controller, REQUESTS);
        let queues = path.controller().queues();
        let mut places = [Place::Idle; REQUESTS as usize];
        let mut fifos: Vec<VecDeque<u32>> = vec![VecDeque::new(); queues as usize];
        let mut taken = vec![0usize; queues as usize];
        let mut queue_of = [0u32; REQUESTS as usize];
        for step in 0..4000u64 {
            let now = Time(step);
            let request = random.below(u64::from(REQUESTS)) as u32;
            let place = places[request as usize];
            let queue = random.below(u64::from(queues)) as u32;
            match (random.below(4), place) {
                (0, Place::Idle) => {
                    path.enqueue(request, queue);
                    fifos[queue as usize].push_back(request);
                    queue_of[request as usize] = queue;
                    places[request as usize] = Place::Waiting;
                }
                (1, _) => {
                    let expected = match fifos[queue as usize].front() {
                        Some(&first) if taken[queue as usize] < depth => Some(first),
                        _ => None,
                    };
                    assert_eq!(path.issue(now, queue), expected, "busy is an answer, and the order is kept");
                    if let Some(issued) = expected {
                        fifos[queue as usize].pop_front();
                        taken[queue as usize] += 1;
                        places[issued as usize] = Place::InFlight;
                    }
                }
                (2, Place::InFlight) => {
                    path.completed(request, random.below(2) == 0);
                    places[request as usize] = Place::Done;
                }
                (3, Place::Done) => {
                    let vector = path.vector_of(request).expect("it has a tag");
                    let own = random.below(2) == 0;
                    let fetched = if own { path.fetch_own(request) } else { path.fetch(vector) };
                    let Fetched { request, queue } = fetched.expect("there is one at least");
                    assert_eq!((places[request as usize], queue_of[request as usize]), (Place::Done, queue));
                    taken[queue as usize] -= 1;
                    places[request as usize] = Place::Fetched;
                }
                (_, Place::Fetched) => {
                    path.end(request, now);
                    places[request as usize] = Place::Idle;
                }
                _ => {}
            }
            let in_flight: usize = taken.iter().sum();
            assert_eq!(path.controller().in_flight() as usize, in_flight);
            assert_eq!(path.waiting_in_all() as usize, fifos.iter().map(VecDeque::len).sum::<usize>());
        }
    }

    #[test]
    fn requests_keep_their_order_and_tags_their_number() {
        for seed in 0..20 {
            random_walk(seed, Controller::Ahci(Ahci::new(AhciPorts { count: 3, slots: 4 })), 4);
            random_walk(seed, Controller::Nvme(Nvme::new(NvmeDrives { count: 2, pairs: 2, depth: 3 })), 3);
        }
    }

    #[test]
    fn an_interrupt_is_raised_once_until_it_is_acknowledged() {
        let mut path = PathQueue::new(Controller::Ahci(Ahci::new(AhciPorts { count: 1, slots: 8 })), 8);
        for request in 0..5 {
            path.enqueue(request, 0);
            assert_eq!(path.issue(Time::ZERO, 0), Some(request));
        }
        assert_eq!(path.completed(0, true), None, "its waiter looks by itself");
        assert_eq!(path.completed(1, false), Some(0));
        assert_eq!(path.completed(2, false), None, "it is raised already");
        assert!(path.controller_mut().acknowledge(0));
        assert_eq!(path.completed(3, false), Some(0));
        assert!(!path.controller_mut().mask(0, true));
        path.controller_mut().acknowledge(0);
        assert_eq!(path.completed(4, false), None, "it is masked");
        assert!(path.controller_mut().mask(0, false), "what has waited meanwhile raises it");
        let order: Vec<u32> = std::iter::from_fn(|| path.fetch(0)).map(|f| f.request).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn requests_that_take_too_long_are_named() {
        let mut path =
            PathQueue::new(Controller::Nvme(Nvme::new(NvmeDrives { count: 1, pairs: 2, depth: 2 })), 4);
        for (request, queue) in [(0, 0), (1, 1), (2, 0)] {
            path.enqueue(request, queue);
            path.issue(Time(100 * u64::from(request)), queue);
        }
        path.completed(1, false);
        path.fetch_own(1);
        let late = |path: &PathQueue, now| {
            let mut late = Vec::new();
            path.controller().timed_out(Time(now), Nanos(1000), &mut late);
            late
        };
        assert_eq!(late(&path, 1099), [0]);
        assert_eq!(late(&path, 1200), [0, 1, 2]);
        assert_eq!(path.end(1, Time(1300)), Nanos(1200));
        assert_eq!(late(&path, 1300), [0, 2]);
    }
}
