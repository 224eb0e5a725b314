//! Submitting threads: those that wait for each read, and those that keep many reads in flight.

use super::control::{BenchControl, Meter};
use super::core_queue::{CoreQueue, PendingWakeups};
use super::sync::pause;
use tailcut_base::fdp::HandleId;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::path::RequestId;
use tailcut_host::{Bytes, Mirror, Request, Response};
use tailcut_rt::placement::Usage;

/// Measurements of one thread.
#[derive(Debug, Default)]
pub struct Share {
    /// Latency from entering to leaving the path, of each request that began while the thread was measured.
    pub latency: LatencyHistogram,
    /// CPU time and context switches of the thread meanwhile.
    pub usage: Usage,
}

/// Number of blocks that are read; every drive has more.
const BLOCKS: u64 = 1 << 10;

/// A thread with one slot: reads block after block, and waits for each.
pub fn ask(queue: &CoreQueue, control: &BenchControl, slot: RequestId) -> Share {
    let (clock, mut told, mut data) = (control.clock(), PendingWakeups::default(), Vec::new());
    let (mut share, mut meter) = (Share::default(), Meter::default());
    let mut blocks = Stream::new(u64::from(slot), "blocks");
    let mut done = 0;
    control.wait_for_start();
    while control.is_running(done) {
        meter.sample(control);
        let counts = control.counts();
        let begun = clock.now();
        queue.enter(begun, slot, read(slot, blocks.below(BLOCKS), data), &mut told);
        queue.wait(|| clock.now(), slot, &mut told);
        let response = queue.leave(clock.now(), slot, &mut told);
        data = checked(response, slot);
        if counts {
            share.latency.record(clock.now().since(begun));
        }
        done += 1;
    }
    share.usage = meter.used();
    share
}

/// A reaper: keeps all of its `slots` slots in flight, and never sleeps.
pub fn reap(queue: &CoreQueue, control: &BenchControl, slots: u32) -> Share {
    let (clock, mut told, mut meter) = (control.clock(), PendingWakeups::default(), Meter::default());
    let mut reaper = Reaper::new(slots);
    let mut answers = Vec::with_capacity(slots as usize);
    control.wait_for_start();
    while reaper.is_running(control) {
        meter.sample(control);
        let now = clock.now();
        if reaper.may_ask(control) {
            queue.enter_many(now, std::iter::from_fn(|| reaper.ask(control, now)), &mut told);
        }
        if queue.has_news() {
            queue.reap(clock.now(), &mut answers, &mut told);
            let ended = clock.now();
            answers.drain(..).for_each(|answer| reaper.answered(ended, answer));
        } else {
            pause();
        }
    }
    Share { usage: meter.used(), ..reaper.share }
}

/// The requests of one reaper.
struct Reaper {
    slots: u32,
    /// Slots without a request, and memory for their next one.
    idle: Vec<(RequestId, Vec<Bytes>)>,
    /// When the request of each slot began, if it counts.
    begun: Vec<Time>,
    asked: u64,
    blocks: Stream,
    share: Share,
}

impl Reaper {
    fn new(slots: u32) -> Reaper {
        Reaper {
            slots,
            idle: (0..slots).map(|slot| (slot, Vec::new())).collect(),
            begun: vec![Time::NEVER; slots as usize],
            asked: 0,
            blocks: Stream::new(0, "blocks"),
            share: Share::default(),
        }
    }

    fn may_ask(&self, control: &BenchControl) -> bool {
        !self.idle.is_empty() && control.is_running(self.asked / u64::from(self.slots))
    }

    fn is_running(&self, control: &BenchControl) -> bool {
        self.idle.len() < self.slots as usize || self.may_ask(control)
    }

    fn ask(&mut self, control: &BenchControl, now: Time) -> Option<Request<Bytes>> {
        if !self.may_ask(control) {
            return None;
        }
        let (slot, data) = self.idle.pop()?;
        self.begun[slot as usize] = if control.counts() { now } else { Time::NEVER };
        self.asked += 1;
        Some(read(slot, self.blocks.below(BLOCKS), data))
    }

    fn answered(&mut self, now: Time, response: Response<Bytes>) {
        let slot = response.id;
        let begun = self.begun[slot as usize];
        if begun != Time::NEVER {
            self.share.latency.record(now.since(begun));
        }
        self.idle.push((slot, checked(response, slot)));
    }
}

fn read(slot: RequestId, block: u64, data: Vec<Bytes>) -> Request<Bytes> {
    let (class, fua, fail_fast) = (Class::DEFAULT, false, false);
    Request {
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
    }
}

/// Checks a response; returns its memory for the next request.
fn checked(response: Response<Bytes>, slot: RequestId) -> Vec<Bytes> {
    let Response { id, status, mut data, .. } = response;
    assert_eq!((id, status, data.len()), (slot, Status::Success, 1), "a read of one block is answered");
    data.clear();
    data
}
