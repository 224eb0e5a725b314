//! Host requests in an array: their parts, their data, and the attribution of their time.

mod check;

use crate::Block;
use crate::disk::{Mirror, Request, Response};
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Pool;
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time, id};

id! {
    /// The slot of a host request in progress.
    pub struct RequestSlot;
}

impl RequestSlot {
    /// No request.
    pub const NONE: RequestSlot = RequestSlot(u32::MAX);
}

/// A host request in progress.
#[derive(Clone, Debug)]
pub struct HostRequest<B> {
    /// The host's identifier.
    id: u32,
    /// What the host has requested: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: a write is durable at completion.
    pub fua: bool,
    /// Latency class, which the requests to drives inherit.
    pub class: Class,
    /// The copy that must serve a read, if the host asks for one.
    pub mirror: Mirror,
    /// Of a write, the handle of the drives that it is placed by.
    handle: HandleId,
    /// First block of the array, in blocks of 4 KiB.
    pub block: u64,
    /// Number of blocks of 4 KiB; at least 1 except for a flush.
    pub blocks: u32,
    /// Data of a write; for a read, the data read so far.
    pub data: Vec<B>,
    /// For a read that repairs, the right data.
    right: Vec<B>,
    pending: u32,
    status: Status,
    spans: Spans,
    /// Time up to which the request's time is attributed.
    mark: Time,
    /// When it was submitted.
    since: Time,
    progress: Progress,
}

impl<B> HostRequest<B> {
    /// Of a write, the handle of the drives that it is placed by.
    pub fn handle(&self) -> HandleId {
        self.handle
    }
}

/// Whether the host waits for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It does.
    Open,
    /// It has been answered for lack of room; the layout still works on it.
    Refused,
    /// The slot is free.
    Ended,
}

/// All host requests in an array.
#[derive(Debug)]
pub struct Requests<B> {
    slots: Pool<RequestSlot, HostRequest<B>>,
    answers: Vec<Response<B>>,
    /// Number of requests answered for lack of room on which the layout still works.
    refused: u32,
}

impl<B> Default for Requests<B> {
    fn default() -> Requests<B> {
        Requests { slots: Pool::new(), answers: Vec::new(), refused: 0 }
    }
}

impl<B: Clone + Default> Requests<B> {
    /// Opens a request. Returns its slot. A read gets a buffer for its data.
    pub fn open(&mut self, now: Time, request: Request<B>) -> RequestSlot {
        let Request { id, op, fua, class, mirror, handle, block, blocks, mut data, .. } = request;
        let right = match mirror {
            Mirror::Repair(_) => std::mem::take(&mut data),
            Mirror::Any | Mirror::Only(_) => Vec::new(),
        };
        if op == Op::Read {
            data.clear();
            data.resize(blocks as usize, B::default());
        }
        let status = Status::Success;
        let spans = Spans::new();
        let (pending, mark) = (0, now);
        self.slots.insert(HostRequest {
            id,
            op,
            fua,
            class,
            mirror,
            handle,
            block,
            blocks,
            data,
            right,
            pending,
            status,
            spans,
            mark,
            since: now,
            progress: Progress::Open,
        })
    }

    /// Number of requests for which the host waits.
    pub fn in_flight(&self) -> u32 {
        to_u32(self.slots.len()) - self.refused
    }

    /// Number of requests answered for lack of room on which the layout still works.
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// True if a request has been answered for lack of room.
    pub fn is_refused(&self, slot: RequestSlot) -> bool {
        self.slots[slot].progress == Progress::Refused
    }

    /// Answers with [`Status::NoSpace`] the requests of which `is_stuck`, given its operation and the time of
    /// its submission, is true. The layout completes them when there is room; the host has no part in that.
    /// True if there was one.
    pub fn refuse(&mut self, now: Time, is_stuck: impl Fn(Op, Time) -> bool) -> bool {
        let before = self.refused;
        for slot in self.slots.ids() {
            let request = &self.slots[slot];
            if request.progress != Progress::Open || !is_stuck(request.op, request.since) {
                continue;
            }
            self.account_cause(now, slot, Cause::ArrayQueue);
            let request = &mut self.slots[slot];
            request.progress = Progress::Refused;
            let (id, status, spans) = (request.id, Status::NoSpace, request.spans);
            self.refused += 1;
            self.answers.push(Response { id, status, data: Vec::new(), busy_for: Nanos::ZERO, spans });
        }
        self.refused > before
    }

    /// The request in a slot.
    pub fn get(&self, slot: RequestSlot) -> &HostRequest<B> {
        &self.slots[slot]
    }

    /// The request in a slot, mutable.
    pub fn get_mut(&mut self, slot: RequestSlot) -> &mut HostRequest<B> {
        &mut self.slots[slot]
    }

    /// Adds `parts` parts that the request waits for.
    pub fn expect(&mut self, slot: RequestSlot, parts: u32) {
        self.slots[slot].pending += parts;
    }

    /// A part of the request has completed; `spans` attributes its own time since its start, and earlier time
    /// counts as waiting inside the array. True for the last part.
    pub fn part_done(&mut self, now: Time, slot: RequestSlot, status: Status, spans: &Spans) -> bool {
        let request = &mut self.slots[slot];
        request.pending -= 1;
        request.worsen(status);
        let is_last = request.pending == 0;
        if is_last {
            self.account(now, slot, spans);
        }
        is_last
    }

    /// A stage of a request has ended; `spans` attributes the time of its last part, and the rest up to now
    /// counts as waiting inside the array.
    pub fn account(&mut self, now: Time, slot: RequestSlot, spans: &Spans) {
        let request = &mut self.slots[slot];
        let (passed, known) = (now.since(request.mark), spans.total());
        if known <= passed {
            request.spans.extend(spans);
            request.spans.add(Cause::ArrayQueue, Nanos(passed.0 - known.0));
        } else {
            // The part started before this stage: the request only waited for its end.
            request.spans.add(Cause::ArrayQueue, passed);
        }
        request.mark = now;
    }

    /// Attributes the time of a request up to now to `cause`.
    pub fn account_cause(&mut self, now: Time, slot: RequestSlot, cause: Cause) {
        let request = &mut self.slots[slot];
        request.spans.add(cause, now.since(request.mark));
        request.mark = now;
    }

    /// Records a failure of the request; the first one stays.
    pub fn fail(&mut self, slot: RequestSlot, status: Status) {
        self.slots[slot].worsen(status);
    }

    /// Completes the request.
    ///
    /// # Panics
    /// If parts of the request are still pending.
    pub fn finish(&mut self, now: Time, slot: RequestSlot) {
        self.account_cause(now, slot, Cause::ArrayQueue);
        let request = &mut self.slots[slot];
        assert_eq!(request.pending, 0, "a request ends with its last part");
        request.right = Vec::new();
        if std::mem::replace(&mut request.progress, Progress::Ended) == Progress::Refused {
            self.refused -= 1;
        } else {
            // Made in its place, unlike one that is pushed: the spans are copied once.
            let request = std::slice::from_mut(request).iter_mut();
            self.answers.extend(request.map(HostRequest::take_response));
        }
        self.slots.release(slot);
    }

    /// Completions to be returned to the host.
    pub fn answers(&mut self) -> &mut Vec<Response<B>> {
        &mut self.answers
    }
}

impl<B> HostRequest<B> {
    /// True if no part has failed.
    pub fn is_good(&self) -> bool {
        self.status == Status::Success
    }

    /// True for a read that repairs and whose content at these indices of its data is right.
    pub fn repairs_with(&self, places: impl Iterator<Item = usize>, content: &[B]) -> bool
    where
        B: Block,
    {
        let is_right = |(place, there): (usize, &B)| self.right[place].is_same(there);
        matches!(self.mirror, Mirror::Repair(_)) && places.zip(content).all(is_right)
    }

    /// The completion, with the data and the attribution of the request.
    fn take_response(&mut self) -> Response<B> {
        let data = std::mem::take(&mut self.data);
        let (id, status, busy_for, spans) = (self.id, self.status, Nanos::ZERO, self.spans);
        Response { id, status, data, busy_for, spans }
    }

    fn worsen(&mut self, status: Status) {
        if self.status == Status::Success {
            self.status = status;
        }
    }
}
