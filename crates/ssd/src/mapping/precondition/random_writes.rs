//! The state of a drive after random writes that end when garbage collection is about to begin.

use crate::flash::{LogicalPage, PlaneId};
use crate::mapping::Mapping;
use crate::sets::SetId;
use tailcut_base::cast::to_u32;
use tailcut_base::random::Stream;

/// Bytes of each write: those of Sprinkler's fragmented drives (section 5.9).
const REQUEST: u64 = 1 << 20;

/// Where the latest version of a logical page is.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// The turn of its plane among those of the set.
    turn: u32,
    /// How many pages of that plane were written before.
    nth: u32,
}

impl Mapping {
    /// Writes to the first `pages` logical pages of a set, in requests of 1 MiB at random multiples of that,
    /// until a plane has no more erased blocks than it keeps. A page that is never drawn stays unmapped.
    pub(super) fn write_at_random(
        &mut self,
        planes: &[PlaneId],
        set: SetId,
        pages: u32,
        random: &mut Stream,
    ) {
        if pages == 0 {
            return;
        }
        let all = self.geometry.pages;
        let capacities: Vec<u32> = planes
            .iter()
            .map(|&plane| self.ftl.free_blocks(plane).saturating_sub(self.free_blocks_at_rest(plane)) * all)
            .collect();
        let request = to_u32(REQUEST / self.geometry.page_bytes).clamp(1, pages);
        let mut written: Vec<Option<Written>> = vec![None; pages as usize];
        let mut counts = vec![0; planes.len()];
        let (mut next, is_dynamic) = (0, self.ftl.allocator().is_dynamic());
        'writing: loop {
            let first = random.below_u32(pages / request) * request;
            for page in first..first + request {
                let turn = if is_dynamic { next } else { page as usize % planes.len() };
                if counts[turn] == capacities[turn] {
                    break 'writing;
                }
                written[page as usize] = Some(Written { turn: to_u32(turn), nth: counts[turn] });
                counts[turn] += 1;
                next = (turn + 1) % planes.len();
            }
        }
        let mut of_planes: Vec<Vec<Option<u32>>> =
            counts.iter().map(|&count| vec![None; count as usize]).collect();
        for (page, at) in (0..).zip(&written) {
            if let Some(at) = at {
                of_planes[at.turn as usize][at.nth as usize] = Some(page);
            }
        }
        for (&plane, of_plane) in planes.iter().zip(&of_planes) {
            for in_block in of_plane.chunks(all as usize) {
                self.fill_next_block(plane, set, in_block);
            }
        }
    }

    /// Takes a free block, and programs one page of it for each item: what it holds, if that is valid.
    fn fill_next_block(&mut self, plane: PlaneId, set: SetId, pages: &[Option<u32>]) {
        let block = self.ftl.take_free(plane).expect("no more is written than there are free blocks");
        let valid = || (0..).zip(pages).filter_map(|(offset, page)| page.map(|page| (offset, page)));
        for (offset, page) in valid() {
            let logical: LogicalPage = self.sets.page_of(set, page);
            self.place(self.layout.page_at(block, offset), logical);
        }
        self.ftl.set_valid_pages(block, valid().map(|(offset, _)| offset));
        self.finish_block(plane, block, to_u32(pages.len()));
    }
}
