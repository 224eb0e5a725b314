//! Layouts that write in place: RAID 0, 4 and 5.

mod config;

pub use config::RaidConfig;

use super::core::Core;
use super::drives::{Answered, Ask, Owner, Urgency};
use super::layout::{Condition, Layout};
use super::reads::{Around, Done, Wanted, seal_of};
use crate::Block;
use tailcut_base::{Op, Spans, Status, Time};

/// An array that writes where it has written before.
#[derive(Debug)]
pub struct Raid<B> {
    /// First block of the data on every drive.
    first: u64,
    /// Chunks of data on each drive.
    chunks: u64,
    chunk_blocks: u64,
    width: u64,
    of: std::marker::PhantomData<B>,
}

impl<B: Block> Raid<B> {
    /// The layout of a new array, or of one that is about to be recovered.
    pub fn new(core: &mut Core<B>, _is_new: bool) -> Raid<B> {
        let chunk_blocks = core.config.raid.chunk_blocks();
        let usable = core.usable();
        Raid {
            first: usable.start,
            chunks: (usable.end - usable.start) / chunk_blocks,
            chunk_blocks,
            width: core.config.width() as u64,
            of: std::marker::PhantomData,
        }
    }

    /// Where a block of the array is: drive, block on it, and how many blocks follow there.
    fn place(&self, block: u64) -> (usize, u64, u64) {
        let (chunk, within) = (block / self.chunk_blocks, block % self.chunk_blocks);
        let drive = (chunk % self.width) as usize;
        (drive, self.first + chunk / self.width * self.chunk_blocks + within, self.chunk_blocks - within)
    }
}

impl<B: Block> Layout<B> for Raid<B> {
    fn blocks(&self) -> u64 {
        self.chunks * self.chunk_blocks * self.width
    }

    fn create(&mut self, _: Time, _: &mut Core<B>) {}

    fn recover(&mut self, _: Time, _: &mut Core<B>) {}

    fn is_ready(&self) -> bool {
        true
    }

    fn condition(&self, core: &Core<B>) -> Condition {
        let missing: Vec<usize> = (0..core.drives.len()).filter(|&d| !core.drives.is_in_sync(d)).collect();
        if missing.is_empty() {
            return Condition::Optimal;
        }
        Condition::Failed { why: format!("drives {missing:?} are missing, and raid0 can do without none") }
    }

    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: u32) {
        let request = core.requests.get(slot);
        let (op, class, fua) = (request.op, request.class, request.fua);
        let (mut block, end) = (request.block, request.block + u64::from(request.blocks));
        if op == Op::Flush {
            core.requests.expect(slot, core.drives.len() as u32);
            for drive in 0..core.drives.len() {
                let ask = Ask { op, fua, fail_fast: false, class, block: 0, blocks: 0, data: Vec::new() };
                core.drives.ask(now, drive, Urgency::Write, Owner::Layout(u64::from(slot)), ask);
            }
            return;
        }
        while block < end {
            let (drive, place, room) = self.place(block);
            let blocks = room.min(end - block).min(u64::from(core.drives.disk(drive).most_blocks)) as u32;
            let index = block - core.requests.get(slot).block;
            core.requests.expect(slot, 1);
            let token = index << 32 | u64::from(slot);
            if op == Op::Read {
                let wanted = Wanted {
                    drive,
                    block: place,
                    blocks,
                    age: 0,
                    unwritten: true,
                    class,
                    urgency: Urgency::Read,
                    around: Around::Never,
                    token,
                };
                core.reads.begin(now, &mut core.drives, wanted);
            } else {
                let mut data = core.drives.memory();
                if op == Op::Write {
                    let content =
                        &core.requests.get(slot).data[index as usize..index as usize + blocks as usize];
                    data.extend_from_slice(content);
                    for (block, address) in data.iter_mut().zip(place..) {
                        block.seal(seal_of(drive, address, 0));
                    }
                }
                let ask = Ask { op, fua, fail_fast: false, class, block: place, blocks, data };
                core.drives.ask(now, drive, Urgency::Write, Owner::Layout(token), ask);
            }
            block += u64::from(blocks);
        }
    }

    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: Done<B>) {
        let (slot, index) = (done.wanted.token as u32, (done.wanted.token >> 32) as usize);
        if done.status == Status::Success {
            let request = core.requests.get_mut(slot);
            request.data[index..index + done.data.len()].clone_from_slice(&done.data);
        }
        self.part_done(now, core, slot, done.status, &done.spans);
        core.drives.recycle(done.data);
    }

    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: Answered<B>) {
        self.part_done(now, core, token as u32, answer.status, &answer.spans);
        core.drives.recycle(answer.data);
    }

    fn drive_lost(&mut self, _: Time, _: &mut Core<B>, _: usize) {}

    fn recorded(&mut self, _: Time, _: &mut Core<B>) {}

    fn rebuild(&mut self, _: Time, _: &mut Core<B>, _: usize) {}

    fn scrub(&mut self, _: Time, _: &mut Core<B>) {}

    fn next_event(&self) -> Time {
        Time::NEVER
    }

    fn advance(&mut self, _: Time, _: &mut Core<B>) {}
}

impl<B: Block> Raid<B> {
    fn part_done(&mut self, now: Time, core: &mut Core<B>, slot: u32, status: Status, spans: &Spans) {
        if core.requests.part_done(now, slot, status, spans) {
            core.finish(now, slot);
        }
    }
}
