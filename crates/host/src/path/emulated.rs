//! The low-level driver of an emulated controller: it consists of tags; controllers differ only in how queues
//! are wired to interrupts.

use super::hal::{CoreId, LowLevelDriver, QueueId, RequestId, Tag, Vector};
use super::tags::{HardwareQueues, Tags};
use tailcut_base::{Nanos, Time};

/// Maps drives and cores to a controller's queues, and queues to its interrupts.
pub trait Wiring {
    /// The interrupt of a queue.
    fn vector_of(&self, queue: QueueId) -> Vector;

    /// The queue that a core uses for a drive.
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId;
}

/// An emulated controller with this wiring, and its low-level driver.
#[derive(Clone, Debug)]
pub struct Emulated<W> {
    tags: Tags,
    wiring: W,
}

impl<W: Wiring> Emulated<W> {
    /// A controller with these queues, all of their tags free.
    pub(super) fn with(hardware: HardwareQueues, wiring: W) -> Emulated<W> {
        Emulated { tags: Tags::new(hardware), wiring }
    }
}

impl<W: Wiring> LowLevelDriver for Emulated<W> {
    #[inline]
    fn get_free_tags(&mut self, queue: QueueId, count: u32, tags: &mut Vec<Tag>) {
        self.tags.get_free(queue, count, tags);
    }
    #[inline]
    fn bind_tag_cmd(&mut self, tag: Tag, request: RequestId) {
        self.tags.bind(tag, request);
    }
    #[inline]
    fn begin_cmd(&mut self, tag: Tag, now: Time) {
        self.tags.begin(tag, now);
    }
    #[inline]
    fn issue_tags(&mut self, tags: &[Tag]) {
        self.tags.issue(tags);
    }
    #[inline]
    fn check_event(&self, vector: Vector) -> bool {
        self.tags.check(vector)
    }
    #[inline]
    fn fetch_event(&mut self, vector: Vector) -> Option<Tag> {
        self.tags.fetch(vector)
    }
    #[inline]
    fn fetch_tag(&mut self, tag: Tag) -> bool {
        self.tags.fetch_tag(tag, self.vector_of(tag.queue))
    }
    #[inline]
    fn detach_tag_cmd(&mut self, tag: Tag) -> RequestId {
        self.tags.detach(tag)
    }
    #[inline]
    fn release_tags(&mut self, tags: &[Tag]) {
        self.tags.release(tags);
    }
    #[inline]
    fn end_cmd(&mut self, request: RequestId, now: Time) -> Nanos {
        self.tags.end(request, now)
    }
    fn timed_out(&self, now: Time, limit: Nanos, requests: &mut Vec<RequestId>) {
        self.tags.timed_out(now, limit, requests);
    }
    #[inline]
    fn events(&self, vector: Vector) -> u32 {
        self.tags.events(vector)
    }
    #[inline]
    fn notice(&mut self, tag: Tag, is_quiet: bool) -> Option<Vector> {
        self.tags.notice(tag, self.vector_of(tag.queue), is_quiet)
    }
    #[inline]
    fn acknowledge(&mut self, vector: Vector) -> bool {
        self.tags.acknowledge(vector)
    }
    #[inline]
    fn raise_again(&mut self, vector: Vector) -> bool {
        self.tags.raise_again(vector)
    }
    fn mask(&mut self, vector: Vector, is_masked: bool) -> bool {
        self.tags.mask(vector, is_masked)
    }
    #[inline]
    fn vector_of(&self, queue: QueueId) -> Vector {
        self.wiring.vector_of(queue)
    }
    fn vectors(&self) -> u32 {
        self.tags.vectors()
    }
    fn queues(&self) -> u32 {
        self.tags.queues()
    }
    #[inline]
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId {
        self.wiring.queue_for(drive, core)
    }
    fn in_flight(&self) -> u32 {
        self.tags.in_flight()
    }
}
