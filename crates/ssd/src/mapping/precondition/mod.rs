//! Preparing a drive: the state that long writing would lead to, constructed instead of written.

mod law;
mod logical_blocks;
mod placement;
mod random_writes;
mod superblocks;

use crate::config::Allocation;
use crate::flash::{BlockId, LogicalPage, PhysicalPage, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::Location;
use crate::sets::SetId;
use law::{Blocks, Law, Layout};
use placement::logical_pages_by_plane;
use tailcut_base::cast::to_u32;
use tailcut_base::config::{Configure, KeyVisitor, choose};
use tailcut_base::device::content::Change;
use tailcut_base::random::Stream;
use tailcut_base::{BadValue, Time};

tailcut_base::choice! {
    /// The state that a drive is prepared in.
    pub enum PreparedState {
        /// Erased.
        Empty = "empty",
        /// Written once from the first page on.
        Sequential = "sequential",
        /// As after endless uniform random writes.
        Steady = "steady",
        /// Written at random in requests of 1 MiB, from erased until collection is about to begin.
        Random = "random",
    }
}

/// How a drive is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The state to prepare: erased, written once in order, as after endless uniform random writes, or
    /// written at random in requests of 1 MiB until collection is about to begin (Sprinkler, section 5.9).
    pub state: PreparedState,
    /// Share of the user capacity, of each set from its beginning, that holds data, in parts per million.
    pub fill: u32,
}

impl Configure for Precondition {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "state",
            "Empty, written once in order, as after endless uniform random writes, or written at random in \
                requests of 1 MiB until collection is about to begin.",
            &mut self.state,
        );
        visit.share(
            "fill",
            "Share of the user capacity, from its beginning, that holds data.",
            &mut self.fill,
            0..=1_000_000,
        );
    }
}

/// The content of a page that preparation wrote.
pub fn prepared_content(page: u64) -> u32 {
    Change::write(page, 0x7A11_C07E, u64::MAX, true).apply(0)
}

impl Mapping {
    /// Is there room for the data of [`Mapping::precondition`] beside the blocks that were bad from the
    /// factory?
    ///
    /// # Errors
    /// A message that names the plane with too few good blocks, and what would help.
    pub(crate) fn has_room_for(&self, how: &Precondition) -> Result<(), BadValue> {
        if how.state == PreparedState::Empty {
            return Ok(());
        }
        if how.state == PreparedState::Random && (self.superblocks.is_some() || self.block_mapped.is_some()) {
            return Err(BadValue::new(
                "precondition.state = \"random\" prepares drives that map by page; set it to \"steady\", or \
                 device.ftl.mapping to \"page\"",
            ));
        }
        let logical = self.ftl.logical_pages() * u64::from(how.fill) / 1_000_000;
        let is_listed = self.superblocks.is_none()
            && self.block_mapped.is_none()
            && how.state != PreparedState::Sequential;
        if is_listed && logical > u64::from(u32::MAX) {
            return Err(BadValue::new(format!(
                "precondition.state = \"{}\" lists the pages that hold data, at most 2^32 - 1, and here are \
                 {logical}: set it to \"sequential\", or lower precondition.fill",
                how.state
            )));
        }
        let per_plane = logical / u64::from(self.geometry.plane_count());
        let needed =
            per_plane.div_ceil(u64::from(self.geometry.pages)) + u64::from(self.config.blocks_kept());
        let fewest = self.geometry.plane_ids().min_by_key(|&plane| self.ftl.free_blocks(plane));
        match fewest.map(|plane| (plane, u64::from(self.ftl.free_blocks(plane)))) {
            Some((plane, good)) if good < needed => Err(BadValue::new(format!(
                "plane {plane} has {good} good blocks and needs {needed} to be prepared: lower \
                 device.faults.factory_bad or precondition.fill, or raise device.ftl.spare"
            ))),
            _ => Ok(()),
        }
    }

    /// Prepares a new drive that [`Mapping::has_room_for`] the data. Returns the number of logical pages that
    /// hold data, of a drive of one set from page 0 on, else as many of each set; their content is
    /// [`prepared_content`].
    pub(crate) fn precondition(&mut self, how: &Precondition, seed: u64) -> u64 {
        let mut random = Stream::new(seed, "precondition");
        if how.state == PreparedState::Empty {
            return 0;
        }
        // Data on a small part of a drive may be on a small part of each block.
        if how.fill >= MOSTLY {
            self.ftl.request_huge_pages();
            self.nand.request_huge_pages();
        }
        if self.superblocks.is_some() {
            return self.prepare_superblocks(how, &mut random);
        }
        if self.block_mapped.is_some() {
            return self.fill_logical_blocks(how, &mut random);
        }
        let planes = self.ftl.allocator().planes().to_vec();
        let (sets, each) = (self.sets, self.sets.planes_each());
        let logical = self.ftl.logical_pages() * u64::from(how.fill) / 1_000_000;
        let per_plane = to_u32(logical / planes.len() as u64);
        for (set, planes) in sets.ids().zip(planes.chunks(each as usize)) {
            match how.state {
                PreparedState::Empty => unreachable!("nothing is written to an empty drive"),
                PreparedState::Sequential => {
                    for (turn, &plane) in (0..).zip(planes) {
                        self.fill_plane_in_order(plane, per_plane, |k| {
                            sets.page_of(set, u64::from(k) * u64::from(each) + turn)
                        });
                    }
                }
                PreparedState::Steady => self.age_set(planes, set, per_plane * each, &mut random),
                PreparedState::Random => self.write_at_random(planes, set, per_plane * each, &mut random),
            }
        }
        u64::from(per_plane) * planes.len() as u64
    }

    /// Brings the planes of a set into the state after endless uniform random writes to its first
    /// `pages` logical pages.
    fn age_set(&mut self, planes: &[PlaneId], set: SetId, pages: u32, random: &mut Stream) {
        let mean = pages / to_u32(planes.len());
        let capacities: Vec<u32> =
            planes.iter().map(|&plane| self.most_valid_pages(plane).max(mean)).collect();
        let by_plane = logical_pages_by_plane(self.config.ftl.allocation, pages, &capacities, random);
        let mut laws: Vec<Law> = Vec::new();
        // Dynamic allocation takes the planes in turn, so the host's blocks fill in step, and collection is
        // due in all planes at about the same time. Half full, as it is on average, on every drive: drives
        // of an array that take the same writes are also in step.
        let in_step = match self.config.ftl.allocation {
            Allocation::Dynamic => Some(self.geometry.pages / 2 + 1),
            Allocation::Static => None,
        };
        for (&plane, logical) in planes.iter().zip(&by_plane) {
            let blocks = self.ftl.free_blocks(plane).saturating_sub(self.free_blocks_at_rest(plane)).max(1);
            if !laws.iter().any(|law| law.is_of(blocks)) {
                laws.push(Law::new(
                    &self.config.gc,
                    Blocks { count: blocks, pages: self.geometry.pages, mapped: mean },
                ));
            }
            let law = laws.iter().find(|law| law.is_of(blocks)).expect("it was just computed");
            let layout = law.layout(to_u32(logical.len()), in_step, random);
            self.fill_plane(plane, &layout, logical, set, random);
        }
    }

    /// Blocks of a plane that are free in steady state: the low mark, since collection begins below it.
    fn free_blocks_at_rest(&self, plane: PlaneId) -> u32 {
        self.collection.thresholds(self.sets.of_plane(plane)).low
    }

    /// The most pages of a plane that can be valid: beyond that, writes find room sooner in other planes.
    fn most_valid_pages(&self, plane: PlaneId) -> u32 {
        let blocks =
            self.ftl.free_blocks(plane).saturating_sub(self.free_blocks_at_rest(plane) + OPEN_BLOCKS);
        blocks * self.geometry.pages / 64 * 63
    }

    fn fill_plane_in_order(&mut self, plane: PlaneId, mapped: u32, logical_of: impl Fn(u32) -> LogicalPage) {
        let pages = self.geometry.pages;
        let mut k = 0;
        while k < mapped {
            let block =
                self.ftl.take_free(plane).expect("the configuration leaves room for all logical pages");
            let count = pages.min(mapped - k);
            for offset in 0..count {
                self.place(self.layout.page_at(block, offset), logical_of(k + offset));
            }
            self.ftl.set_valid_pages(block, 0..count);
            self.finish_block(plane, block, count);
            k += count;
        }
    }

    fn place(&mut self, physical: PhysicalPage, logical: LogicalPage) {
        self.nand.place(physical, logical, prepared_content(logical.get()));
        self.ftl.set(logical, Location::Flash(physical));
    }

    fn finish_block(&mut self, plane: PlaneId, block: BlockId, programmed: u32) {
        self.nand.prepare_block(block, programmed);
        if programmed == self.geometry.pages {
            self.ftl.close(block, Time::ZERO);
        } else {
            self.ftl.set_frontier(plane, 0, block, programmed);
        }
    }

    /// Fills a plane as laid out with pages of a set.
    fn fill_plane(
        &mut self,
        plane: PlaneId,
        layout: &Layout,
        pages: &[u32],
        set: SetId,
        random: &mut Stream,
    ) {
        let sets = self.sets;
        let mut pages = pages.iter().map(|&page| sets.page_of(set, u64::from(page)));
        let all = self.geometry.pages;
        let mut offsets: Vec<u32> = (0..all).collect();
        let mut marks = vec![0; (all as usize).div_ceil(MARKS)];
        for &count in &layout.closed {
            choose_first(&mut offsets, count, random);
            let chosen = &mut offsets[..count as usize];
            sort(chosen, &mut marks);
            let block = self.fill_part(plane, chosen, &mut pages);
            self.nand.prepare_block(block, all);
            self.ftl.close(block, Time::ZERO);
        }
        let frontiers = [0, self.ftl.gc_frontier()];
        for (open, frontier) in layout.open.iter().zip(frontiers) {
            if let Some(open) = open {
                let block = self.fill_part(plane, &open.valid, &mut pages);
                self.nand.prepare_block(block, open.next);
                self.ftl.set_frontier(plane, frontier, block, open.next);
            }
        }
        assert!(pages.next().is_none(), "the layout has as many valid pages as are mapped");
    }

    /// Takes a free block and puts logical pages where it is to have valid ones.
    fn fill_part(
        &mut self,
        plane: PlaneId,
        valid: &[u32],
        pages: &mut impl Iterator<Item = LogicalPage>,
    ) -> BlockId {
        let block = self.ftl.take_free(plane).expect("the layout fits the free blocks");
        for &offset in valid {
            let physical = self.layout.page_at(block, offset);
            let logical = pages.next().expect("the layout has as many valid pages as are mapped");
            self.nand.place(physical, logical, prepared_content(logical.get()));
            self.ftl.set(logical, Location::Flash(physical));
        }
        self.ftl.set_valid_pages(block, valid.iter().copied());
        block
    }
}

/// The share of a drive that has to hold data for its tables to be mostly used, in parts per million.
const MOSTLY: u32 = 500_000;

/// Blocks of a plane that are being written: that of the host's data and that of collection.
const OPEN_BLOCKS: u32 = 2;

/// Moves `count` random items to the front.
fn choose_first(items: &mut [u32], count: u32, random: &mut Stream) {
    let len = items.len();
    for i in 0..(count as usize).min(len - 1) {
        items.swap(i, i + random.index(len - i));
    }
}

/// Sorts different numbers, with a bit for each that there can be; `marks` are and stay zero. A third of
/// preparing a drive went into a general sort of the pages of each block.
fn sort(numbers: &mut [u32], marks: &mut [u64]) {
    for &number in numbers.iter() {
        marks[number as usize / MARKS] |= 1 << (number as usize % MARKS);
    }
    let mut places = numbers.iter_mut();
    for (word, first) in marks.iter_mut().zip((0..).step_by(MARKS)) {
        while *word != 0 {
            *places.next().expect("there is a mark for each number") = first + word.trailing_zeros();
            *word &= *word - 1;
        }
    }
    debug_assert!(places.next().is_none(), "the numbers differ");
}

/// Bits in a word of marks.
const MARKS: usize = u64::BITS as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_numbers_are_sorted() {
        let mut marks = vec![0; 3];
        for numbers in [vec![], vec![130], vec![64, 63, 0, 127, 128, 5], (0..192).rev().collect()] {
            let (mut ours, mut theirs) = (numbers.clone(), numbers);
            sort(&mut ours, &mut marks);
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
            assert_eq!(marks, [0; 3]);
        }
    }
}
