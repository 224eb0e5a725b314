//! NVMe controllers: for each core a queue pair with an interrupt of its own (NVM Express 1.0, sections 4 and 7.5).

use super::hal::{LowLevelDriver, QueueId, RequestId, Tag, Vector};
use super::tags::Tags;
use tailcut_base::{Nanos, Time};

/// The controllers of all drives and their low-level driver.
#[derive(Clone, Debug)]
pub struct Nvme {
    tags: Tags,
    pairs: u32,
}

impl Nvme {
    /// `drives` drives, each with `pairs` queue pairs of `depth` entries, for as many cores or for more that share them.
    pub fn new(drives: u32, pairs: u32, depth: u32) -> Nvme {
        assert!(drives > 0 && pairs > 0 && depth > 0, "there is something to issue to, and from");
        Nvme { tags: Tags::new(drives * pairs, depth, pairs), pairs }
    }
}

impl LowLevelDriver for Nvme {
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
        queue % self.pairs
    }
    fn vectors(&self) -> u32 {
        self.tags.vectors()
    }
    fn queues(&self) -> u32 {
        self.tags.queues()
    }
    #[inline]
    fn queue_for(&self, drive: u32, core: u32) -> QueueId {
        drive * self.pairs + core % self.pairs
    }
    fn in_flight(&self) -> u32 {
        self.tags.in_flight()
    }
}
