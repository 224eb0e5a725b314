//! HIOPS-HAL: what a low-level driver offers to an I/O strategy (Shin 2017, section 3.3.2).
//!
//! Issue side: `get_free_tags`, `bind_tag_cmd`, `begin_cmd`, `issue_tags`. Completion side: `check_event`,
//! `fetch_event`, `detach_tag_cmd`, `release_tags`, `end_cmd`. Nothing blocks: a driver without a free tag
//! gives none, which means that the device is busy. The upcall is a value: [`LowLevelDriver::notice`] says
//! which interrupt a completion raises, and whoever runs the driver serves that interrupt with the strategy.

use super::{Ahci, Nvme};
use tailcut_base::{Nanos, Time};

/// The name of a request of the layer above.
pub type RequestId = u32;

tailcut_base::id! {
    /// A core of the host.
    pub struct CoreId;
}

/// A queue of the controller: a port (AHCI) or a queue pair (NVMe).
pub type QueueId = u32;

/// A place in a queue of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The queue.
    pub queue: QueueId,
    /// Its number there.
    pub number: u32,
}

/// An interrupt of the controller.
pub type Vector = u32;

/// A low-level driver over its controller.
pub trait LowLevelDriver {
    /// Takes up to `count` free tags of a queue and appends them. None means that the device is busy.
    fn get_free_tags(&mut self, queue: QueueId, count: u32, tags: &mut Vec<Tag>);

    /// Says which request a tag is for.
    fn bind_tag_cmd(&mut self, tag: Tag, request: RequestId);

    /// Notes when the request of a tag began, for time-outs.
    fn begin_cmd(&mut self, tag: Tag, now: Time);

    /// Hands the commands of tags to the controller.
    fn issue_tags(&mut self, tags: &[Tag]);

    /// True when the controller has a completion that `vector` speaks for.
    fn check_event(&self, vector: Vector) -> bool;

    /// Takes the oldest completion that `vector` speaks for.
    fn fetch_event(&mut self, vector: Vector) -> Option<Tag>;

    /// Takes the completion of one tag, if it has come; the others keep their order.
    fn fetch_tag(&mut self, tag: Tag) -> bool;

    /// Separates a tag from its request.
    fn detach_tag_cmd(&mut self, tag: Tag) -> RequestId;

    /// Gives tags back.
    fn release_tags(&mut self, tags: &[Tag]);

    /// The request has been post-processed: how long it took since [`LowLevelDriver::begin_cmd`].
    fn end_cmd(&mut self, request: RequestId, now: Time) -> Nanos;

    /// Requests that have been begun for longer than `limit` and not ended, appended in no particular order;
    /// asked seldom, it looks at every tag.
    fn timed_out(&self, now: Time, limit: Nanos, requests: &mut Vec<RequestId>);

    /// How many completions wait that `vector` speaks for.
    fn events(&self, vector: Vector) -> u32;

    /// Of the controller: the command of a tag has been carried out. The interrupt that this raises: none
    /// while it is masked, or raised already and not acknowledged; nor if `is_quiet`, because its waiter
    /// looks for it.
    fn notice(&mut self, tag: Tag, is_quiet: bool) -> Option<Vector>;

    /// The handler of an interrupt begins: from now on completions raise it again. True when there are any.
    fn acknowledge(&mut self, vector: Vector) -> bool;

    /// The handler has ended with completions left: the interrupt is raised again. True when it is.
    fn raise_again(&mut self, vector: Vector) -> bool;

    /// Switches an interrupt off or on. On: true when completions wait, for which it is raised.
    fn mask(&mut self, vector: Vector, is_masked: bool) -> bool;

    /// The interrupt that speaks for a queue.
    fn vector_of(&self, queue: QueueId) -> Vector;

    /// How many interrupts there are.
    fn vectors(&self) -> u32;

    /// How many queues there are.
    fn queues(&self) -> u32;

    /// The queue for a request to `drive` that is issued on `core`.
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId;

    /// Tags taken.
    fn in_flight(&self) -> u32;
}

/// The drivers that there are, without dynamic calls.
#[derive(Clone, Debug)]
pub enum Controller {
    /// One interrupt, a port of 32 tags for each drive.
    Ahci(Ahci),
    /// A queue pair and an interrupt for each core and drive.
    Nvme(Nvme),
}

macro_rules! either {
    ($self:ident, $driver:ident => $call:expr) => {
        match $self {
            Controller::Ahci($driver) => $call,
            Controller::Nvme($driver) => $call,
        }
    };
}

impl LowLevelDriver for Controller {
    #[inline]
    fn get_free_tags(&mut self, queue: QueueId, count: u32, tags: &mut Vec<Tag>) {
        either!(self, d => d.get_free_tags(queue, count, tags))
    }
    #[inline]
    fn bind_tag_cmd(&mut self, tag: Tag, request: RequestId) {
        either!(self, d => d.bind_tag_cmd(tag, request))
    }
    #[inline]
    fn begin_cmd(&mut self, tag: Tag, now: Time) {
        either!(self, d => d.begin_cmd(tag, now))
    }
    #[inline]
    fn issue_tags(&mut self, tags: &[Tag]) {
        either!(self, d => d.issue_tags(tags))
    }
    #[inline]
    fn check_event(&self, vector: Vector) -> bool {
        either!(self, d => d.check_event(vector))
    }
    #[inline]
    fn fetch_event(&mut self, vector: Vector) -> Option<Tag> {
        either!(self, d => d.fetch_event(vector))
    }
    #[inline]
    fn fetch_tag(&mut self, tag: Tag) -> bool {
        either!(self, d => d.fetch_tag(tag))
    }
    #[inline]
    fn detach_tag_cmd(&mut self, tag: Tag) -> RequestId {
        either!(self, d => d.detach_tag_cmd(tag))
    }
    #[inline]
    fn release_tags(&mut self, tags: &[Tag]) {
        either!(self, d => d.release_tags(tags))
    }
    #[inline]
    fn end_cmd(&mut self, request: RequestId, now: Time) -> Nanos {
        either!(self, d => d.end_cmd(request, now))
    }
    fn timed_out(&self, now: Time, limit: Nanos, requests: &mut Vec<RequestId>) {
        either!(self, d => d.timed_out(now, limit, requests))
    }
    #[inline]
    fn events(&self, vector: Vector) -> u32 {
        either!(self, d => d.events(vector))
    }
    #[inline]
    fn notice(&mut self, tag: Tag, is_quiet: bool) -> Option<Vector> {
        either!(self, d => d.notice(tag, is_quiet))
    }
    #[inline]
    fn acknowledge(&mut self, vector: Vector) -> bool {
        either!(self, d => d.acknowledge(vector))
    }
    #[inline]
    fn raise_again(&mut self, vector: Vector) -> bool {
        either!(self, d => d.raise_again(vector))
    }
    fn mask(&mut self, vector: Vector, is_masked: bool) -> bool {
        either!(self, d => d.mask(vector, is_masked))
    }
    #[inline]
    fn vector_of(&self, queue: QueueId) -> Vector {
        either!(self, d => d.vector_of(queue))
    }
    fn vectors(&self) -> u32 {
        either!(self, d => d.vectors())
    }
    fn queues(&self) -> u32 {
        either!(self, d => d.queues())
    }
    #[inline]
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId {
        either!(self, d => d.queue_for(drive, core))
    }
    fn in_flight(&self) -> u32 {
        either!(self, d => d.in_flight())
    }
}
