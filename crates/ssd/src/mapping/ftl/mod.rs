//! The flash translation layer: where each logical page is, which physical pages are valid, which
//! blocks are free, open, closed or on their way out.

pub mod allocation;
mod blocks;
mod check;
pub mod closed;
mod map;
pub mod stripes;
mod superblocks;

pub use map::Location;
pub(crate) use map::bytes_per_page;

use crate::config::{FtlConfig, GcConfig, MappingLevel};
use crate::flash::nand::NandArray;
use crate::flash::{BlockId, Geometry, Layout, LogicalPage, PhysicalPage, PlaneId, SuperblockId};
use crate::mutation::{Invariant, holds};
use crate::sets::{SetId, Sets};
use allocation::Allocator;
use closed::ClosedBlocks;
use map::Map;
use std::collections::VecDeque;
use stripes::Stripes;
use tailcut_base::Time;
use tailcut_base::cast::{to_u8, to_usize};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;
use tailcut_base::table::Table;

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Erased, in the free list.
    Free,
    /// A write frontier: some pages may still be programmed.
    Open,
    /// Full; can be chosen as a victim.
    Closed,
    /// A victim of collection, which is being emptied.
    Victim,
    /// Bad; never used again.
    Retired,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    valid: u32,
    /// Reads under way that keep the block from being erased.
    pins: u32,
    state: BlockState,
}

/// Bytes of memory for each block in the tables of the translation layer.
pub(crate) const BYTES_PER_BLOCK: usize = size_of::<Block>() + closed::BYTES_PER_BLOCK;

/// A place where pages of one kind are written: an open block and its next page.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    block: BlockId,
    next: u32,
}

/// The translation layer: where each logical page is, and the state of each block.
#[derive(Debug)]
pub struct Ftl {
    map: Map,
    valid: Table<u64>,
    blocks: IdVec<BlockId, Block>,
    /// The free blocks of each plane, in the order in which they will be opened.
    free: IdVec<PlaneId, VecDeque<BlockId>>,
    /// The frontiers of each plane, those of the streams before the one of garbage collection.
    frontiers: Vec<Frontier>,
    /// Frontiers of a plane.
    frontiers_each: usize,
    closed: ClosedBlocks,
    /// Valid pages of each superblock on a drive that collects by superblock; empty on others. `closed` has
    /// closed superblocks as blocks of a plane for each reclaim group.
    superblock_valid: IdVec<SuperblockId, u32>,
    allocator: Allocator,
    sets: Sets,
    geometry: Geometry,
    layout: Layout,
    stripes: Stripes,
    streams: u32,
    /// Free blocks of a plane that only garbage collection may take.
    reserve: usize,
}

impl Ftl {
    /// The empty drive: every good block free.
    pub fn new(
        config: &FtlConfig,
        geometry: &Geometry,
        layout: Layout,
        gc: &GcConfig,
        reserve: u32,
        nand: &NandArray,
        sets: Sets,
    ) -> Ftl {
        let GcConfig { victim, choices, .. } = *gc;
        let block = Block { valid: 0, pins: 0, state: BlockState::Free };
        let mut blocks = IdVec::filled(to_usize(geometry.block_count()), block);
        let closed_frontier = Frontier { block: BlockId::NONE, next: geometry.pages };
        let frontiers_each = config.streams as usize + 1;
        let mut free = IdVec::new();
        for plane in geometry.plane_ids() {
            let all = layout.blocks_of(plane);
            free.push(all.clone().filter(|&b| !nand.is_bad(b)).collect());
            for bad in all.filter(|&b| nand.is_bad(b)) {
                blocks[bad].state = BlockState::Retired;
            }
        }
        Ftl {
            map: Map::new(config.logical_pages(geometry), geometry),
            valid: Table::new(to_usize(geometry.page_count().div_ceil(64))),
            blocks,
            free,
            frontiers: vec![closed_frontier; geometry.plane_count() as usize * frontiers_each],
            frontiers_each,
            closed: match config.mapping {
                MappingLevel::Superblock => {
                    ClosedBlocks::new(victim, choices, &superblocks_as_planes(geometry, &layout))
                }
                MappingLevel::Page | MappingLevel::Block => ClosedBlocks::new(victim, choices, geometry),
            },
            superblock_valid: match config.mapping {
                MappingLevel::Superblock => {
                    let groups = geometry.plane_count() / layout.planes_of_each_group();
                    IdVec::filled((groups * layout.superblocks_each()) as usize, 0)
                }
                MappingLevel::Page | MappingLevel::Block => IdVec::new(),
            },
            allocator: Allocator::new(config.allocation, config.order, geometry, sets),
            sets,
            geometry: geometry.clone(),
            layout,
            stripes: Stripes::new(config.stripe, geometry),
            streams: config.streams,
            reserve: reserve as usize,
        }
    }

    /// Requests huge pages for the tables of a drive that will be full of data.
    pub(crate) fn request_huge_pages(&self) {
        self.map.request_huge_pages();
        self.valid.request_huge_pages();
    }

    /// Number of logical pages that the host can address.
    pub fn logical_pages(&self) -> u64 {
        self.map.len()
    }

    /// Where a logical page is.
    #[inline]
    pub fn lookup(&self, logical: LogicalPage) -> Location {
        self.map.get(logical)
    }

    /// Changes where a logical page is. The caller looks after validity.
    #[inline]
    pub fn set(&mut self, logical: LogicalPage, mapping: Location) {
        self.map.set(logical, mapping);
    }

    /// A part of the map's entry, to warm the cache.
    #[inline]
    pub fn touch(&self, logical: LogicalPage) -> u32 {
        self.map.touch(logical)
    }

    /// The record of a page's block, to warm the cache.
    #[inline]
    pub fn touch_block(&self, physical: PhysicalPage) -> u32 {
        self.blocks[self.layout.block_of(physical)].pins
    }

    /// The frontier of a stream.
    #[inline]
    pub fn stream_frontier(&self, stream: u8) -> u8 {
        to_u8(u32::from(stream).min(self.streams - 1))
    }

    /// The frontier of garbage collection.
    #[inline]
    pub fn gc_frontier(&self) -> u8 {
        to_u8(self.streams)
    }

    /// The plane, one of its set's, that the next write of a logical page goes to under page-level mapping.
    /// Under dynamic allocation planes without room for the host are passed over, as long as there is one
    /// with room.
    #[inline]
    pub fn plane_for(&mut self, logical: LogicalPage, frontier: u8) -> PlaneId {
        let set = if holds(Invariant::StayInSet) { self.sets.of_logical(logical) } else { SetId::FIRST };
        let first = self.allocator.next(set, logical);
        if !self.allocator.is_dynamic() || self.can_allocate(first, frontier) {
            return first;
        }
        for _ in 1..self.sets.planes_each() {
            let plane = self.allocator.next(set, logical);
            if self.can_allocate(plane, frontier) {
                return plane;
            }
        }
        first
    }

    /// How logical pages make up logical blocks under block-level mapping.
    #[inline]
    pub fn stripes(&self) -> Stripes {
        self.stripes
    }

    /// True when a program of `frontier` finds a page in a plane.
    #[inline]
    pub fn can_allocate(&self, plane: PlaneId, frontier: u8) -> bool {
        self.frontier(plane, frontier).next < self.geometry.pages
            || self.free[plane].len() > self.kept_back(frontier)
    }

    #[inline]
    fn frontier(&self, plane: PlaneId, frontier: u8) -> &Frontier {
        &self.frontiers[plane.index() * self.frontiers_each + usize::from(frontier)]
    }

    #[inline]
    fn frontier_mut(&mut self, plane: PlaneId, frontier: u8) -> &mut Frontier {
        &mut self.frontiers[plane.index() * self.frontiers_each + usize::from(frontier)]
    }

    #[inline]
    fn kept_back(&self, frontier: u8) -> usize {
        if u32::from(frontier) == self.streams { 0 } else { self.reserve }
    }

    /// Pages that are left in the open block of a frontier.
    pub fn pages_left(&self, plane: PlaneId, frontier: u8) -> u32 {
        self.geometry.pages.saturating_sub(self.frontier(plane, frontier).next)
    }

    /// The place in its block of the page that [`Ftl::allocate`] would give.
    #[inline]
    pub fn next_offset(&self, plane: PlaneId, frontier: u8) -> u32 {
        let next = self.frontier(plane, frontier).next;
        if next < self.geometry.pages { next } else { 0 }
    }

    /// Takes the next page of a frontier, opening a free block when the open one is full.
    ///
    /// # Panics
    /// If the frontier's block is full and the plane has no free block: ask [`Ftl::can_allocate`] first.
    #[inline]
    pub fn allocate(&mut self, plane: PlaneId, frontier: u8) -> PhysicalPage {
        let pages = self.geometry.pages;
        if self.frontier(plane, frontier).next >= pages {
            let block = self.take_free(plane).expect("can_allocate said that there is a free block");
            *self.frontier_mut(plane, frontier) = Frontier { block, next: 0 };
        }
        let frontier = self.frontier_mut(plane, frontier);
        frontier.next += 1;
        let Frontier { block, next } = *frontier;
        self.layout.page_at(block, next - 1)
    }

    /// Leaves out the pages of a frontier up to page offset `end`: they were spoiled.
    ///
    /// # Panics
    /// If `end` is before the frontier's next page.
    pub fn skip_to(&mut self, plane: PlaneId, frontier: u8, end: u32) {
        let frontier = self.frontier_mut(plane, frontier);
        assert!(frontier.next <= end, "only pages that were not programmed are left out");
        frontier.next = end;
    }

    /// True when the physical page holds the current version of its logical page on flash.
    #[inline]
    pub fn is_valid(&self, physical: PhysicalPage) -> bool {
        let (word, bit) = bit_of(physical);
        self.valid.at(word) & bit != 0
    }

    /// Marks a page valid that has just been programmed.
    ///
    /// # Panics
    /// If the block of the page is not open.
    #[inline]
    pub fn validate(&mut self, physical: PhysicalPage) {
        let (word, bit) = bit_of(physical);
        let bits = self.valid.at(word);
        debug_assert!(bits & bit == 0);
        self.valid.set(word, bits | bit);
        let block = self.layout.block_of(physical);
        self.blocks[block].valid += 1;
        assert_eq!(self.blocks[block].state, BlockState::Open, "a page becomes valid in an open block");
        if self.collects_superblocks() {
            self.superblock_valid[self.layout.superblock_of(block)] += 1;
        }
    }

    /// True on a drive that collects by superblock.
    #[inline]
    fn collects_superblocks(&self) -> bool {
        !self.superblock_valid.is_empty()
    }

    /// Marks a page invalid: its logical page has a newer version elsewhere, or none.
    ///
    /// # Panics
    /// If the page is not valid.
    #[inline]
    pub fn invalidate(&mut self, physical: PhysicalPage, now: Time) {
        let (word, bit) = bit_of(physical);
        let bits = self.valid.at(word);
        assert!(bits & bit != 0, "a page was invalidated twice");
        self.valid.set(word, bits & !bit);
        let id = self.layout.block_of(physical);
        let block = &mut self.blocks[id];
        block.valid -= 1;
        if self.collects_superblocks() {
            return self.superblock_lost_page(id, now);
        }
        let block = &self.blocks[id];
        if block.state == BlockState::Closed {
            self.closed.changed(self.layout.plane_of_block(id), id, block.valid, now);
        }
    }

    /// The next valid page of a block at or after `offset`.
    #[inline]
    pub fn next_valid(&self, block: BlockId, offset: u32) -> Option<PhysicalPage> {
        let end = self.layout.page_at(block, self.geometry.pages).get();
        let mut at = self.layout.page_at(block, offset).get();
        while at < end {
            let word = self.valid.at(to_usize(at / 64)) >> (at % 64);
            if word != 0 {
                let found = at + u64::from(word.trailing_zeros());
                return (found < end).then_some(PhysicalPage::new(found));
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Keeps a block from being erased while a read of it is under way.
    #[inline]
    pub fn pin(&mut self, physical: PhysicalPage) {
        self.blocks[self.layout.block_of(physical)].pins += 1;
    }

    /// Ends a pin; true when it was the last of a block that is being emptied.
    #[inline]
    pub fn unpin(&mut self, physical: PhysicalPage) -> bool {
        let block = &mut self.blocks[self.layout.block_of(physical)];
        block.pins -= 1;
        block.pins == 0 && block.state == BlockState::Victim
    }

    /// True when reads of the block are under way.
    #[inline]
    pub fn is_pinned(&self, block: BlockId) -> bool {
        self.blocks[block].pins > 0
    }

    /// Valid pages of a block.
    #[inline]
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.blocks[block].valid
    }

    /// Opens a frontier on a block that is programmed up to `next`.
    pub(crate) fn set_frontier(&mut self, plane: PlaneId, frontier: u8, block: BlockId, next: u32) {
        *self.frontier_mut(plane, frontier) = Frontier { block, next };
    }

    /// Makes the pages at these places of a block valid, which holds no valid pages yet, while a drive is
    /// being prepared.
    pub(crate) fn set_valid_pages(&mut self, block: BlockId, offsets: impl Iterator<Item = u32>) {
        let mut count = 0;
        for offset in offsets {
            let physical = self.layout.page_at(block, offset);
            let (word, bit) = bit_of(physical);
            self.valid[word] |= bit;
            count += 1;
        }
        self.blocks[block].valid = count;
        if self.collects_superblocks() {
            self.superblock_valid[self.layout.superblock_of(block)] += count;
        }
    }

    /// The planes in the order of allocation.
    pub(crate) fn allocator(&self) -> &Allocator {
        &self.allocator
    }
}

/// The word of the validity bits in which a page has its bit, and that bit.
#[inline]
fn bit_of(physical: PhysicalPage) -> (usize, u64) {
    (physical.index() / 64, 1 << (physical.index() % 64))
}

/// A plane for each reclaim group, whose blocks are the superblocks of the group.
fn superblocks_as_planes(geometry: &Geometry, layout: &Layout) -> Geometry {
    let (blocks, planes) = (layout.superblocks_each(), layout.planes_of_each_group());
    let pages = geometry.pages * layout.blocks_each() * planes;
    let channels = geometry.plane_count() / planes;
    Geometry { channels, chips: 1, dies: 1, planes: 1, blocks, pages, ..geometry.clone() }
}
