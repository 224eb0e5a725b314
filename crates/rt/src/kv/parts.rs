//! Divides a drive among the parts of a store.

use crate::drive::{Answers, Drive};
use tailcut_base::Time;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_host::{BLOCK_SECTORS, Bytes, Disk, Request, Response};

/// Division of a drive: parts have equal numbers of blocks, one part after another, and equal shares of the
/// queue depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    of: u32,
    blocks: u64,
    depth: u32,
}

impl Parts {
    /// The division without a drive.
    pub(super) const NONE: Parts = Parts { of: 1, blocks: 0, depth: 0 };

    /// Divides a drive into `of` parts; at least one, and at most its queue depth.
    pub(super) fn new(disk: &Disk, of: u32) -> Parts {
        Parts { of, blocks: disk.blocks / u64::from(of), depth: disk.depth / of }
    }

    /// The parts of an existing store: the drive may have grown since it was created, but the parts have not
    /// moved.
    pub(super) fn of_store(disk: &Disk, of: u32, blocks: u64) -> Parts {
        Parts { blocks, ..Parts::new(disk, of) }
    }

    /// Blocks of all parts together.
    pub(super) fn all_blocks(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.of))
    }

    /// True if the drive could hold more blocks than the parts have.
    pub(super) fn have_room(&self, disk: &Disk) -> bool {
        disk.blocks / u64::from(self.of) > self.blocks
    }

    /// Translates a request of a part into one of the drive.
    #[inline]
    pub(super) fn request(&self, part: u32, request: Request<Bytes>) -> Request<Bytes> {
        let (id, block) = (request.id * self.of + part, self.block(part, request.block));
        Request { id, block, ..request }
    }

    /// Translates a block of a part into one of the drive.
    pub(super) fn block(&self, part: u32, block: u64) -> u64 {
        block + u64::from(part) * self.blocks
    }

    /// Translates a response of the drive into one for a part.
    #[inline]
    pub(super) fn response(&self, response: Response<Bytes>) -> (u32, Response<Bytes>) {
        let (part, id) = (response.id % self.of, response.id / self.of);
        (part, Response { id, ..response })
    }
}

/// One part of a drive, used while the others are not.
pub(super) struct Slice<'a, D> {
    pub drive: &'a mut D,
    pub parts: Parts,
    pub part: u32,
}

impl<D: Drive> Drive for Slice<'_, D> {
    fn identify(&self) -> Identify {
        let whole = self.drive.identify();
        Identify { sectors: self.parts.blocks * BLOCK_SECTORS, queue_depth: self.parts.depth, ..whole }
    }

    fn disk(&self) -> Disk {
        Disk { copies: self.drive.disk().copies, ..Disk::of(&self.identify()) }
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        self.drive.submit(now, self.parts.request(self.part, request));
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        let before = answers.responses.len();
        self.drive.poll(now, answers);
        for response in answers.responses.drain(before..).collect::<Vec<_>>() {
            let (part, response) = self.parts.response(response);
            debug_assert_eq!(part, self.part);
            answers.responses.push(response);
        }
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
}
