//! Block-level mapping: a logical block lies in one physical block, each page at its own offset.
//!
//! Pages of a block are programmed in order, so a write beyond the next page first copies (or
//! pads) what lies between, and a write before it opens a replacement block and copies what lies
//! before. When a replacement is complete the old block is erased. A host that writes its blocks
//! in order and trims them whole (SWAN, section 6) causes no copies at all; random writes cost
//! nearly a block of copies each.
//!
//! The model keeps its page map and valid bits as under page-level mapping, for reads and checks;
//! the drive that it stands for needs one entry per block.

use crate::config::SsdConfig;
use crate::flash::{BlockId, LogicalPage, PhysicalPage, PlaneId};
use crate::mapping::ftl::stripes::LogicalBlockId;
use crate::mapping::ftl::{Ftl, Location};
use crate::mapping::stripe_placement::StripePlacement;
use crate::mapping::{Effect, Mapping};
use crate::request::{EntryId, Lane, MemoryRequest, RequestId, Role};
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::IdVec;

/// Where a logical block lies.
#[derive(Clone, Debug, Default)]
struct LogicalBlock {
    /// The block that is being written, or was written last.
    write: Option<BlockId>,
    /// Blocks that still hold pages which `write` does not have yet.
    old: Vec<BlockId>,
}

/// A program of a page of the buffer, which waits for its page of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedProgram {
    /// The memory request.
    id: RequestId,
    /// Its logical page.
    logical: LogicalPage,
    /// Its entry of the buffer.
    entry: EntryId,
}

impl QueuedProgram {
    /// The program of a memory request.
    pub(crate) fn new(id: RequestId, request: &MemoryRequest) -> QueuedProgram {
        QueuedProgram { id, logical: request.logical, entry: request.entry() }
    }
}

/// The current step of a plane: one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing.
    None,
    /// Towards this program.
    Program(QueuedProgram),
    /// Towards the completion of a replacement, to get a free block.
    Complete(LogicalBlockId),
}

#[derive(Clone, Debug)]
struct PlaneWork {
    /// Programs that wait for their turn.
    queue: VecDeque<QueuedProgram>,
    work: Work,
    /// A flash operation of the work is under way.
    is_busy: bool,
    /// Logical blocks that hold more than one physical block, oldest first.
    replaced: VecDeque<LogicalBlockId>,
    /// Erases under way or waiting for reads to end.
    erasing: u32,
}

/// The state of block-level mapping.
#[derive(Clone, Debug)]
pub(crate) struct BlockMapped {
    blocks: IdVec<LogicalBlockId, LogicalBlock>,
    planes: IdVec<PlaneId, PlaneWork>,
    pub(crate) placement: StripePlacement,
}

impl BlockMapped {
    /// An empty drive.
    pub(crate) fn new(config: &SsdConfig, ftl: &Ftl) -> BlockMapped {
        let idle = PlaneWork {
            queue: VecDeque::new(),
            work: Work::None,
            is_busy: false,
            replaced: VecDeque::new(),
            erasing: 0,
        };
        let (logical_blocks, width) =
            (ftl.logical_pages() / u64::from(config.geometry.pages), ftl.stripes().width());
        let logical_blocks = to_u32(logical_blocks);
        // A block to write to, and what stands in for blocks that go bad.
        let beside = config.gc_reserve() + 1;
        let rooms = ftl.allocator().planes().chunks(width as usize).map(|planes| {
            let fewest = planes.iter().map(|&plane| ftl.free_blocks(plane)).min().unwrap_or(0);
            fewest.saturating_sub(beside)
        });
        BlockMapped {
            blocks: IdVec::filled(logical_blocks as usize, LogicalBlock::default()),
            planes: IdVec::filled(config.geometry.plane_count() as usize, idle),
            placement: StripePlacement::new(config.ftl.allocation, logical_blocks / width, rooms),
        }
    }

    /// Declares where a logical block lies, while a drive is being prepared.
    pub(crate) fn place(&mut self, logical_block: LogicalBlockId, block: BlockId) {
        self.blocks[logical_block].write = Some(block);
    }

    /// Declares that a logical block, of which `old` holds all pages, has newer versions of its first pages
    /// in `newer`, while a drive is being prepared.
    pub(crate) fn place_replaced(&mut self, logical_block: LogicalBlockId, newer: BlockId, old: BlockId) {
        self.blocks[logical_block] = LogicalBlock { write: Some(newer), old: vec![old] };
    }

    /// Declares that the replacement of a logical block is younger than those declared before.
    pub(crate) fn declare_replaced(&mut self, plane: PlaneId, logical_block: LogicalBlockId) {
        self.planes[plane].replaced.push_back(logical_block);
    }
}

impl Mapping {
    pub(crate) fn block_mapped(&mut self) -> &mut BlockMapped {
        self.block_mapped.as_mut().expect("the drive maps by block")
    }

    fn logical_block(&mut self, logical_block: LogicalBlockId) -> &mut LogicalBlock {
        &mut self.block_mapped().blocks[logical_block]
    }

    fn plane_work(&mut self, plane: PlaneId) -> &mut PlaneWork {
        &mut self.block_mapped().planes[plane]
    }

    /// A program of a plane is to be started when its turn comes.
    pub(crate) fn queue_program(&mut self, now: Time, plane: PlaneId, program: QueuedProgram) {
        self.plane_work(plane).queue.push_back(program);
        self.work_on(now, plane);
    }

    /// Takes the next steps of a plane, until a flash operation is under way or nothing is left.
    fn work_on(&mut self, now: Time, plane: PlaneId) {
        while !self.plane_work(plane).is_busy {
            let done = match self.plane_work(plane).work {
                Work::None => !self.next_work(plane),
                Work::Program(program) => !self.step_to_program(now, plane, program),
                Work::Complete(logical_block) => !self.step_to_completion(now, plane, logical_block),
            };
            if done {
                break;
            }
        }
        self.start_luns();
    }

    fn next_work(&mut self, plane: PlaneId) -> bool {
        let Some(program) = self.plane_work(plane).queue.pop_front() else { return false };
        // The page was trimmed, and perhaps written again.
        let is_void = self.ftl.lookup(program.logical) != Location::Buffer(program.entry);
        if is_void {
            let (lun, _) = self.layout.lun_of_plane(plane);
            self.effects.push_back(Effect::DropQueued(program.id));
            self.effects.push_back(Effect::CommitMore(lun));
        } else {
            self.plane_work(plane).work = Work::Program(program);
        }
        true
    }

    /// One step towards the program of a request. False when nothing can be done now.
    fn step_to_program(&mut self, now: Time, plane: PlaneId, program: QueuedProgram) -> bool {
        let (stripes, logical) = (self.ftl.stripes(), program.logical);
        let (logical_block, offset) = (stripes.block_of(logical), stripes.offset_of(logical));
        let Some(write) = self.logical_block(logical_block).write else {
            return self.open_block(plane, logical_block);
        };
        let next = self.nand.next_page(write);
        if offset < next {
            if !self.logical_block(logical_block).old.is_empty() {
                return self.step_to_completion(now, plane, logical_block);
            }
            let block = self.logical_block(logical_block);
            block.write = None;
            block.old.push(write);
            self.plane_work(plane).replaced.push_back(logical_block);
            return true;
        }
        if offset > next {
            self.copy_page(now, plane, logical_block, write, next);
            return true;
        }
        self.plane_work(plane).is_busy = true;
        self.effects.push_back(Effect::StartProgram(program.id, self.layout.page_at(write, offset)));
        true
    }

    /// One step towards a logical block that lies in one physical block.
    fn step_to_completion(&mut self, now: Time, plane: PlaneId, logical_block: LogicalBlockId) -> bool {
        if !self.release_old(now, plane, logical_block) {
            let Some(write) = self.logical_block(logical_block).write else {
                return self.open_block(plane, logical_block);
            };
            let next = self.nand.next_page(write);
            assert!(next < self.geometry.pages, "a full block has all pages of its logical block");
            self.copy_page(now, plane, logical_block, write, next);
            return true;
        }
        if self.plane_work(plane).work == Work::Complete(logical_block) {
            self.plane_work(plane).work = Work::None;
        }
        true
    }

    /// Gives back the old blocks of a logical block, once nothing valid is left in them. True when it
    /// has none any more.
    fn release_old(&mut self, now: Time, plane: PlaneId, logical_block: LogicalBlockId) -> bool {
        let mut old = std::mem::take(&mut self.logical_block(logical_block).old);
        let all_moved = old.iter().all(|&block| self.ftl.valid_pages(block) == 0);
        if all_moved {
            for block in old.drain(..) {
                self.release_block(now, plane, block);
            }
        }
        self.logical_block(logical_block).old = old;
        all_moved
    }

    /// Gives a logical block a free block to write to. Where none is free, a replacement is
    /// completed, or an erase is waited for.
    fn open_block(&mut self, plane: PlaneId, logical_block: LogicalBlockId) -> bool {
        if let Some(block) = self.ftl.take_free(plane) {
            self.logical_block(logical_block).write = Some(block);
            return true;
        }
        while let Some(other) = self.plane_work(plane).replaced.pop_front() {
            if other != logical_block && self.is_replaced_in(plane, other) {
                let work = std::mem::replace(&mut self.plane_work(plane).work, Work::Complete(other));
                if let Work::Program(program) = work {
                    self.plane_work(plane).queue.push_front(program);
                }
                return true;
            }
        }
        if self.plane_work(plane).erasing == 0 {
            self.strand_queue(plane);
        } else {
            self.effects.push_back(Effect::Starve(plane));
        }
        false
    }

    /// True when a logical block is being moved to another block of a plane. It may have left the plane
    /// since it was first to be.
    fn is_replaced_in(&mut self, plane: PlaneId, logical_block: LogicalBlockId) -> bool {
        let block = self.logical_block(logical_block);
        let (write, is_replaced) = (block.write, !block.old.is_empty());
        is_replaced && write.is_some_and(|write| self.layout.plane_of_block(write) == plane)
    }

    /// No block can be had any more: the programs that wait are given up.
    fn strand_queue(&mut self, plane: PlaneId) {
        if let Work::Program(program) = std::mem::replace(&mut self.plane_work(plane).work, Work::None) {
            self.plane_work(plane).queue.push_front(program);
        }
        let queue = std::mem::take(&mut self.plane_work(plane).queue);
        self.effects.push_back(Effect::BecomeReadOnly(plane));
        self.effects.extend(queue.iter().map(|program| Effect::Strand(program.id)));
        // Requests queued behind these programs come to their chip now.
        self.effects.push_back(Effect::CommitMore(self.layout.lun_of_plane(plane).0));
    }

    /// Programs page `offset` of a logical block into the block that is being written: with what
    /// the page holds, or with padding.
    fn copy_page(
        &mut self,
        now: Time,
        plane: PlaneId,
        logical_block: LogicalBlockId,
        write: BlockId,
        offset: u32,
    ) {
        let logical = self.ftl.stripes().page_at(logical_block, offset);
        let source = self.version_on_flash(logical);
        let lane = if source == PhysicalPage::NONE { Lane::GC_WRITE } else { Lane::GC_READ };
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, lane, Role::BlockCopy(plane), lun, place);
        request.logical = logical;
        request.source = source;
        request.physical =
            if source == PhysicalPage::NONE { self.layout.page_at(write, offset) } else { source };
        request.content = write.get();
        self.plane_work(plane).is_busy = true;
        self.issue(request);
    }

    /// The page of flash with the newest version on flash of a logical page, or [`PhysicalPage::NONE`].
    fn version_on_flash(&self, logical: LogicalPage) -> PhysicalPage {
        let stripes = self.ftl.stripes();
        let (logical_block, offset) = (stripes.block_of(logical), stripes.offset_of(logical));
        let mapped = self.block_mapped.as_ref().expect("the drive maps by block");
        let LogicalBlock { write, old } = &mapped.blocks[logical_block];
        let mut pages = write.iter().chain(old).map(|&block| self.layout.page_at(block, offset));
        pages.find(|&page| self.ftl.is_valid(page)).unwrap_or(PhysicalPage::NONE)
    }

    /// A page that is being copied has been read; it is programmed at its offset. Until then `content` is the
    /// number of the target block.
    pub(crate) fn block_copy_read(&mut self, now: Time, mut request: MemoryRequest) {
        let offset = self.ftl.stripes().offset_of(request.logical);
        let target = self.layout.page_at(BlockId::new(request.content), offset);
        request.content = self.nand.read(request.source);
        request.lane = Lane::GC_WRITE;
        request.physical = target;
        request.since = now;
        self.issue(request);
    }

    /// A page has been copied or padded.
    pub(crate) fn block_copy_programmed(&mut self, now: Time, request: MemoryRequest) {
        let plane = request.plane();
        self.plane_work(plane).is_busy = false;
        if self.nand.program(request.physical, request.logical, request.content) {
            self.counters.programmed_gc += 1;
            if request.source != PhysicalPage::NONE && self.ftl.is_valid(request.source) {
                self.move_page(now, request.logical, request.source, request.physical);
            }
        } else {
            self.counters.program_failures += 1;
            self.replace_bad(plane, request.physical);
        }
        self.work_on(now, plane);
    }

    /// A program under block-level mapping has ended; true when it succeeded.
    pub(crate) fn block_program_ended(
        &mut self,
        now: Time,
        plane: PlaneId,
        physical: PhysicalPage,
        succeeded: bool,
    ) {
        if self.block_mapped.is_none() {
            return;
        }
        let work = self.plane_work(plane);
        work.is_busy = false;
        work.work = Work::None;
        if !succeeded {
            self.replace_bad(plane, physical);
        }
        let logical_block = self.ftl.stripes().block_of(self.nand.logical(physical));
        self.release_old(now, plane, logical_block);
        self.work_on(now, plane);
    }

    /// A program that had its page has become pointless before it began.
    pub(crate) fn block_program_dropped(&mut self, now: Time, plane: PlaneId) {
        let work = self.plane_work(plane);
        work.is_busy = false;
        work.work = Work::None;
        self.work_on(now, plane);
    }

    /// A program that failed is the next to be tried again.
    pub(crate) fn requeue_program(&mut self, plane: PlaneId, program: QueuedProgram) {
        self.plane_work(plane).queue.push_front(program);
    }

    /// The block that was being written went bad: its pages are copied to another one.
    fn replace_bad(&mut self, plane: PlaneId, physical: PhysicalPage) {
        self.counters.bad_blocks += 1;
        self.lose_room(plane);
        let logical_block = self.ftl.stripes().block_of(self.nand.logical(physical));
        let bad = self.layout.block_of(physical);
        let block = self.logical_block(logical_block);
        assert_eq!(block.write.take(), Some(bad), "only the block being written can fail");
        block.old.push(bad);
        self.plane_work(plane).replaced.push_back(logical_block);
    }

    /// Erases a block without valid data once no read of it is pending, or retires it if it is bad.
    fn release_block(&mut self, now: Time, plane: PlaneId, block: BlockId) {
        self.ftl.begin_emptying(block);
        if self.nand.is_bad(block) {
            return self.ftl.retire(block);
        }
        self.plane_work(plane).erasing += 1;
        if !self.ftl.is_pinned(block) {
            self.erase_block(now, block);
        }
    }

    /// Commits the erase of an empty block.
    pub(crate) fn erase_block(&mut self, now: Time, block: BlockId) {
        let plane = self.layout.plane_of_block(block);
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, Lane::ERASE, Role::BlockErase(plane), lun, place);
        request.physical = self.layout.page_at(block, 0);
        self.issue(request);
        self.start_luns();
    }

    /// A block has been erased.
    pub(crate) fn replaced_block_erased(&mut self, now: Time, plane: PlaneId, block: BlockId) {
        self.count_erase(block);
        if self.nand.is_bad(block) {
            self.lose_room(plane);
        }
        self.plane_work(plane).erasing -= 1;
        self.effects.push_back(Effect::Feed(plane));
        self.work_on(now, plane);
    }

    /// After a trim: logical blocks that hold nothing any more give their blocks back.
    pub(crate) fn release_trimmed(&mut self, now: Time, pages: Range<LogicalPage>) {
        if self.block_mapped.is_none() || pages.is_empty() {
            return;
        }
        for stripe in self.ftl.stripes().stripes_of(pages) {
            self.release_stripe(now, stripe);
        }
        self.start_luns();
    }

    /// The blocks of a stripe that hold nothing any more go back, and with the last of them the stripe
    /// leaves its planes.
    fn release_stripe(&mut self, now: Time, stripe: u32) {
        if self.block_mapped().placement.is_being_written(stripe) {
            return;
        }
        let mut is_empty = true;
        for logical_block in self.ftl.stripes().blocks_in(stripe) {
            is_empty &= self.release_if_empty(now, logical_block);
        }
        if is_empty {
            self.block_mapped().placement.leave(stripe);
        }
    }

    /// True when a logical block lies nowhere any more.
    fn release_if_empty(&mut self, now: Time, logical_block: LogicalBlockId) -> bool {
        let block = self.logical_block(logical_block);
        let Some(write) = block.write else { return block.old.is_empty() };
        let plane = self.layout.plane_of_block(write);
        let is_moving = self.plane_work(plane).work == Work::Complete(logical_block);
        if is_moving || self.ftl.valid_pages(write) > 0 || !self.release_old(now, plane, logical_block) {
            return false;
        }
        self.logical_block(logical_block).write = None;
        self.release_block(now, plane, write);
        true
    }
}
