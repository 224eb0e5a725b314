//! A drive, divided among the parts of a store.

use crate::drive::{Answers, Drive};
use tailcut_base::Time;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_host::{BLOCK_SECTORS, Bytes, Disk, Request, Response};

/// How a drive is divided: each part has as many blocks, one after the other, and as many places of its
/// queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    of: u32,
    blocks: u64,
    depth: u32,
}

impl Parts {
    /// Where there is no drive.
    pub const NONE: Parts = Parts { of: 1, blocks: 0, depth: 0 };

    /// So many parts of a drive; at least one, and not more than it takes requests.
    pub fn new(disk: &Disk, of: u32) -> Parts {
        Parts { of, blocks: disk.blocks / u64::from(of), depth: disk.depth / of }
    }

    /// Those of a store that is there: the drive may have grown since it was made, and they are where they
    /// were.
    pub fn of_store(disk: &Disk, of: u32, blocks: u64) -> Parts {
        Parts { blocks, ..Parts::new(disk, of) }
    }

    /// Blocks of the drive that all of them take.
    pub fn all_blocks(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.of))
    }

    /// True if the drive has room for more of them than there was.
    pub fn have_room(&self, disk: &Disk) -> bool {
        disk.blocks / u64::from(self.of) > self.blocks
    }

    /// A part's request, as the drive's.
    #[inline]
    pub fn request(&self, part: u32, request: Request<Bytes>) -> Request<Bytes> {
        let (id, block) = (request.id * self.of + part, self.block(part, request.block));
        Request { id, block, ..request }
    }

    /// A part's block, as the drive's.
    pub fn block(&self, part: u32, block: u64) -> u64 {
        block + u64::from(part) * self.blocks
    }

    /// The drive's answer, as that for a part.
    #[inline]
    pub fn response(&self, response: Response<Bytes>) -> (u32, Response<Bytes>) {
        let (part, id) = (response.id % self.of, response.id / self.of);
        (part, Response { id, ..response })
    }
}

/// One part of a drive, used while the others are not.
pub struct Slice<'a, D> {
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
