//! HIOPS-HAL: the operations of a low-level driver that I/O strategies use (Shin 2017, section 3.3.2).
//!
//! Issue side: `get_free_tags`, `bind_tag_cmd`, `begin_cmd`, `issue_tags`. Completion side: `check_event`,
//! `fetch_event`, `detach_tag_cmd`, `release_tags`, `end_cmd`. No operation blocks: a driver without a free
//! tag returns none, which means that the device is busy. The upcall is a value: [`LowLevelDriver::notice`]
//! returns the interrupt that a completion raises, and the caller of the driver serves it according to the
//! strategy.

use super::{Ahci, Nvme};
use tailcut_base::{Nanos, Time};

/// Identifier of a request of the layer above.
pub type RequestId = u32;

tailcut_base::id! {
    /// A core of the host.
    pub struct CoreId;
}

/// A queue of the controller: a port (AHCI) or a queue pair (NVMe).
pub type QueueId = u32;

/// A tag: a slot in a queue of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The queue of the controller that the tag belongs to.
    pub queue: QueueId,
    /// Number of the slot in its queue, from 0.
    pub number: u32,
}

/// An interrupt of the controller.
pub type Vector = u32;

/// A low-level driver over its controller.
pub trait LowLevelDriver {
    /// Takes up to `count` free tags of a queue and appends them to `tags`. None means that the device is
    /// busy.
    fn get_free_tags(&mut self, queue: QueueId, count: u32, tags: &mut Vec<Tag>);

    /// Binds a tag to a request.
    fn bind_tag_cmd(&mut self, tag: Tag, request: RequestId);

    /// Records the start time of a tag's request, for time-outs.
    fn begin_cmd(&mut self, tag: Tag, now: Time);

    /// Issues the commands of these tags to the controller.
    fn issue_tags(&mut self, tags: &[Tag]);

    /// True if the controller has a completion for interrupt `vector`.
    fn check_event(&self, vector: Vector) -> bool;

    /// Takes the oldest completion of interrupt `vector`.
    fn fetch_event(&mut self, vector: Vector) -> Option<Tag>;

    /// Takes the completion of one tag, if it is there; the order of the others stays.
    fn fetch_tag(&mut self, tag: Tag) -> bool;

    /// Unbinds a tag from its request.
    fn detach_tag_cmd(&mut self, tag: Tag) -> RequestId;

    /// Frees tags.
    fn release_tags(&mut self, tags: &[Tag]);

    /// Post-processing of a request is complete. Returns the time since its [`LowLevelDriver::begin_cmd`].
    fn end_cmd(&mut self, request: RequestId, now: Time) -> Nanos;

    /// Appends the requests that have been in progress for longer than `limit`, in no particular order. Scans
    /// all tags: not for frequent use.
    fn timed_out(&self, now: Time, limit: Nanos, requests: &mut Vec<RequestId>);

    /// Number of completions pending for interrupt `vector`.
    fn events(&self, vector: Vector) -> u32;

    /// Controller side: the command of a tag has completed. Returns the interrupt that this raises. None if
    /// the interrupt is masked, or raised already and not acknowledged; or if `is_quiet`, because the waiter
    /// polls.
    fn notice(&mut self, tag: Tag, is_quiet: bool) -> Option<Vector>;

    /// Start of an interrupt handler: later completions raise the interrupt again. True if any are pending.
    fn acknowledge(&mut self, vector: Vector) -> bool;

    /// End of a handler: raises the interrupt again if completions are left. True if raised.
    fn raise_again(&mut self, vector: Vector) -> bool;

    /// Masks or unmasks an interrupt. True if unmasking raises it for pending completions.
    fn mask(&mut self, vector: Vector, is_masked: bool) -> bool;

    /// The interrupt of a queue.
    fn vector_of(&self, queue: QueueId) -> Vector;

    /// Number of interrupts.
    fn vectors(&self) -> u32;

    /// Number of queues.
    fn queues(&self) -> u32;

    /// The queue for a request to `drive` that is issued on `core`.
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId;

    /// Number of tags in use.
    fn in_flight(&self) -> u32;
}

/// The available low-level drivers, statically dispatched.
#[derive(Clone, Debug)]
pub enum Controller {
    /// AHCI: one interrupt, and a port of 32 tags for each drive.
    Ahci(Ahci),
    /// NVMe: a queue pair and an interrupt for each core and drive.
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
