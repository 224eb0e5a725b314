//! Host requests: writes and trims go to the log in order of arrival, reads to the places of their blocks.

use super::Log;
use super::commit::Waiter;
use super::geometry::Row;
use super::open_row::OpenRowId;
use super::stream::HOST;
use super::token::Token;
use crate::Block;
use crate::array::DriveId;
use crate::array::config::ReadPolicy;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Priority};
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen, SealAge, seal_of};
use crate::array::requests::RequestSlot;
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::IdVec;
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time, id};

id! {
    /// An extent being read.
    pub struct RunId;
}

/// Blocks that are read in one request: consecutive on a drive, and at equal steps in the host request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    slot: RequestSlot,
    row: Row,
    drive: DriveId,
    block: u64,
    blocks: u32,
    /// Index of the first block in the request.
    index: u32,
    stride: u32,
}

/// Reads in progress.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Slab<RunId, Run>,
    /// For each drive, the run being assembled; and the drives that have one.
    building: IdVec<DriveId, Option<Run>>,
    touched: Vec<DriveId>,
}

impl Runs {
    /// True if no read is in progress.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// No reads, over `drives` drives.
    pub(super) fn new(drives: usize) -> Runs {
        Runs { building: IdVec::filled(drives, None), ..Runs::default() }
    }
}

impl Run {
    /// Appends a run of one block, if it is contiguous and the run has fewer than `most` blocks.
    fn extend(&mut self, next: &Run, most: u32) -> bool {
        let step = next.index - self.index;
        let is_next =
            self.row == next.row && next.block == self.block + u64::from(self.blocks) && self.blocks < most;
        if !is_next || self.blocks > 1 && step != self.blocks * self.stride {
            return false;
        }
        if self.blocks == 1 {
            self.stride = step;
        }
        self.blocks += 1;
        true
    }
}

impl<B: Block> Log<B> {
    /// Executes a write or trim now, or queues it.
    pub(super) fn enqueue(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get(slot);
        let parts = if request.op == Op::Trim { 1 } else { request.blocks };
        let commits = u32::from(request.fua && request.op == Op::Write);
        core.requests.expect(slot, parts + commits);
        self.space.waiting.push_back(slot);
        self.pump(now, core);
        if self.space.waiting.back() == Some(&slot) {
            self.note_waiting(core, slot);
        }
    }

    /// Records a waiting request, so that reads see its content.
    fn note_waiting(&mut self, core: &Core<B>, slot: RequestSlot) {
        self.figures.throttled += 1;
        self.space.arrivals += 1;
        let arrival = self.space.arrivals;
        let request = core.requests.get(slot);
        let end = request.block + u64::from(request.blocks);
        if request.op == Op::Trim {
            self.space.queued_trims.push_back((slot, arrival, request.block, end));
            return;
        }
        let begun = if self.space.waiting.len() == 1 { self.space.begun } else { 0 };
        for index in begun..request.blocks {
            self.space.queued.insert(request.block + u64::from(index), (slot, index, arrival));
        }
    }

    /// Executes waiting requests as far as there is room.
    pub(super) fn pump(&mut self, now: Time, core: &mut Core<B>) {
        while let Some(&slot) = self.space.waiting.front() {
            let is_done = if core.requests.get(slot).op == Op::Trim {
                self.pump_trim(now, core, slot)
            } else {
                self.pump_write(now, core, slot)
            };
            if !is_done {
                self.stop(now);
                break;
            }
            self.space.waiting.pop_front();
            self.space.begun = 0;
        }
        self.send(now, core, HOST);
        self.release_orphans(now, core);
    }

    fn pump_write(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) -> bool {
        let request = core.requests.get(slot);
        let (first, blocks, fua) = (request.block, request.blocks, request.fua);
        let mut room = if self.has_tokens { self.room_in_epochs(now, core) } else { u32::MAX };
        while self.space.begun < blocks {
            let index = self.space.begun;
            let block = first + u64::from(index);
            if self.failed.is_some() {
                self.orphans.push((slot, Status::WriteProtected));
            } else {
                if room == 0 || !self.admits() || !self.make_room(now, core, HOST) {
                    return false;
                }
                room -= 1;
                let content = core.requests.get(slot).data[index as usize].clone();
                self.append(core, HOST, block, content, None, Some(slot));
                self.figures.host_blocks += 1;
                self.spend();
            }
            self.space.begun += 1;
            if self.space.queued.get(&block).is_some_and(|&(by, ..)| by == slot) {
                self.space.queued.remove(&block);
            }
        }
        if self.has_tokens {
            self.pause(now, core, blocks);
        }
        if fua {
            self.commit(now, core, HOST, Waiter::Host(slot));
        }
        true
    }

    fn pump_trim(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) -> bool {
        let request = core.requests.get(slot);
        let (block, blocks) = (request.block, request.blocks);
        let mut status = Status::WriteProtected;
        if self.failed.is_none() {
            if !self.make_room(now, core, HOST) {
                return false;
            }
            self.append_trim(block, blocks);
            status = Status::Success;
        }
        if self.space.queued_trims.front().is_some_and(|&(by, ..)| by == slot) {
            self.space.queued_trims.pop_front();
        }
        core.part_done(now, slot, status, &Spans::new());
        true
    }

    /// Executes a read: blocks being written come from memory, the others from the drives.
    pub(super) fn read_blocks(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        let request = core.requests.get(slot);
        let (first, blocks) = (request.block, request.blocks);
        core.requests.expect(slot, 1);
        self.figures.count_host_reads(blocks);
        for index in 0..blocks {
            let block = first + u64::from(index);
            if !self.space.waiting.is_empty() && self.read_waiting(core, slot, block) {
                continue;
            }
            let Some(place) = self.map.get(block) else {
                self.figures.count_unmapped_read();
                continue;
            };
            let (row, column, stripe) = self.geometry.locate(place);
            let open_row = self.rows.get(row).open_row;
            if open_row != OpenRowId::NONE
                && stripe >= self.open_rows[open_row].complete
                && holds(Invariant::ReadFromMemory)
            {
                let content = self.open_rows[open_row].content(column, stripe).clone();
                core.requests.get_mut(slot).data[index as usize] = content;
                self.figures.reads_memory += 1;
                continue;
            }
            let drive = self.geometry.drive(row, column);
            let address = self.geometry.address(row) + u64::from(stripe);
            self.gather(now, core, Run { slot, row, drive, block: address, blocks: 1, index, stride: 1 });
        }
        for drive in std::mem::take(&mut self.runs.touched) {
            let run = self.runs.building[drive].take().expect("it was touched");
            self.begin_run(now, core, run);
        }
        core.part_done(now, slot, Status::Success, &Spans::new());
    }

    /// Reads a block from a waiting write or trim; false if none covers it.
    fn read_waiting(&self, core: &mut Core<B>, slot: RequestSlot, block: u64) -> bool {
        let write = self.space.queued.get(&block);
        let covers = |&&(_, _, first, end): &&(RequestSlot, u64, u64, u64)| (first..end).contains(&block);
        let trim = self.space.queued_trims.iter().rev().find(covers);
        let written = write.map_or(0, |&(_, _, arrival)| arrival);
        let trimmed = trim.map_or(0, |&(_, arrival, ..)| arrival);
        if written == 0 && trimmed == 0 {
            return false;
        }
        if let Some(&(by, at, _)) = write
            && written > trimmed
        {
            let content = core.requests.get(by).data[at as usize].clone();
            let request = core.requests.get_mut(slot);
            request.data[to_usize(block - request.block)] = content;
        }
        true
    }

    fn gather(&mut self, now: Time, core: &mut Core<B>, run: Run) {
        let most = core.drives.most_blocks();
        match &mut self.runs.building[run.drive] {
            Some(building) => {
                if !building.extend(&run, most) {
                    let full = std::mem::replace(building, run);
                    self.begin_run(now, core, full);
                }
            }
            empty => {
                *empty = Some(run);
                self.runs.touched.push(run.drive);
            }
        }
    }

    fn begin_run(&mut self, now: Time, core: &mut Core<B>, run: Run) {
        core.requests.expect(run.slot, 1);
        let info = self.rows.get_mut(run.row);
        info.readers += 1;
        let age = info.age;
        let wanted = BlockRead {
            drive: run.drive,
            block: run.block,
            blocks: run.blocks,
            age: self.age(age),
            unwritten: false,
            class: core.requests.get(run.slot).class,
            urgency: Priority::Read,
            around: match core.requests.get(run.slot).mirror.copy() {
                None => self.around(core, run.row),
                Some(0) => ReconstructWhen::Later,
                Some(_) => ReconstructWhen::Always,
            },
            token: Token::Run(self.runs.runs.insert(run)).into(),
        };
        core.reads.begin(now, &mut core.drives, wanted);
    }

    /// When a read of a row may avoid its drive.
    fn around(&self, core: &Core<B>, row: Row) -> ReconstructWhen {
        let group = self.geometry.group_of(row);
        match core.config.reads {
            ReadPolicy::FailFast => ReconstructWhen::WhenContended,
            ReadPolicy::AroundCollection if self.is_busy(group) => ReconstructWhen::Now,
            _ => ReconstructWhen::AtNeed,
        }
    }

    /// The read of a run has completed, successfully or not.
    pub(super) fn run_read(&mut self, now: Time, core: &mut Core<B>, id: RunId, done: &ReadResult<B>) {
        let run = self.runs.runs.remove(id);
        self.rows.get_mut(run.row).readers -= 1;
        self.count_read(run.row, done.spans.total());
        if done.status == Status::Success {
            let into = core.requests.get_mut(run.slot).data.iter_mut();
            let into = into.skip(run.index as usize).step_by(run.stride as usize);
            into.zip(&done.data).for_each(|(block, content)| block.clone_from(content));
            let places = (run.index as usize..).step_by(run.stride as usize);
            if done.reconstructed && core.requests.get(run.slot).repairs_with(places, &done.data) {
                self.repair(now, core, done);
            }
        }
        core.part_done(now, run.slot, done.status, &done.spans);
    }

    fn count_read(&mut self, row: Row, time: Nanos) {
        let group = self.geometry.group_of(row);
        let reads = if group == self.space.front && self.geometry.groups > 1 {
            &mut self.figures.reads_front
        } else if self.is_busy(group) {
            &mut self.figures.reads_collecting
        } else {
            &mut self.figures.reads_idle
        };
        reads.reads += 1;
        reads.time += time;
    }

    /// Rewrites blocks that a drive returned wrong or could not read. The row is kept meanwhile.
    pub(super) fn repair(&mut self, now: Time, core: &mut Core<B>, done: &ReadResult<B>) {
        if done.status == Status::Success {
            let BlockRead { drive, block, age, .. } = done.wanted;
            self.rewrite(now, core, (drive, block, age), &done.data);
        }
    }

    /// Rewrites blocks of a drive, starting at this block, with their age.
    pub(super) fn rewrite(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        (drive, block, age): (DriveId, u64, SealAge),
        content: &[B],
    ) {
        let Some(row) = self.geometry.row_at(drive, block) else { return };
        if !core.drives.is_present(drive) {
            return;
        }
        self.rows.get_mut(row).readers += 1;
        if let Some(recovery) = &mut self.recovery {
            recovery.repairs += 1;
        }
        self.figures.repaired_blocks += content.len() as u64;
        core.reads.note_repaired(content.len() as u64);
        let mut data = core.drives.memory();
        data.extend_from_slice(content);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, age));
        }
        let (op, class) = (Op::Write, Class::new(5).expect("a class"));
        let blocks = to_u32(content.len());
        let ask = Ask { op, fua: true, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
        let token = Token::Repaired { row };
        core.drives.ask(now, drive, Priority::Background, Owner::Layout(token.into()), ask);
    }
}
