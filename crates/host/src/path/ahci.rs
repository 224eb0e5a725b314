//! An AHCI controller: one interrupt for all ports, 32 tags on each (Serial ATA AHCI 1.3.1, sections 3.3 and 5).

use super::hal::{LowLevelDriver, QueueId, RequestId, Tag, Vector};
use super::tags::Tags;
use tailcut_base::{Nanos, Time};

/// The most ports of the controllers that PC chipsets have.
pub const PORTS: u32 = 6;

/// Command slots of a port.
pub const SLOTS: u32 = 32;

/// The controller and its low-level driver.
#[derive(Clone, Debug)]
pub struct Ahci {
    tags: Tags,
}

impl Ahci {
    /// With a drive on each of `ports` ports, 1 … [`PORTS`], of which each takes `depth` commands, at most [`SLOTS`].
    pub fn new(ports: u32, depth: u32) -> Ahci {
        assert!((1..=PORTS).contains(&ports) && (1..=SLOTS).contains(&depth), "AHCI has no more");
        Ahci { tags: Tags::new(ports, depth, 1) }
    }
}

impl LowLevelDriver for Ahci {
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
        self.tags.fetch_tag(tag, 0)
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
        self.tags.notice(tag, 0, is_quiet)
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
    fn vector_of(&self, _: QueueId) -> Vector {
        0
    }
    fn vectors(&self) -> u32 {
        1
    }
    fn queues(&self) -> u32 {
        self.tags.queues()
    }
    #[inline]
    fn queue_for(&self, drive: u32, _: u32) -> QueueId {
        drive
    }
    fn in_flight(&self) -> u32 {
        self.tags.in_flight()
    }
}
