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
    /// until a plane has no more erased blocks than it keeps. Pages that are never drawn are written before
    /// the others, in order, so that all hold data.
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
        let free = |plane| self.ftl.free_blocks(plane).saturating_sub(self.free_blocks_at_rest(plane)) * all;
        let mut room: Vec<u32> = planes.iter().map(|&plane| free(plane)).collect();
        let width = planes.len();
        let is_dynamic = self.ftl.allocator().is_dynamic();
        if is_dynamic {
            // The planes are written in turn, so that the smallest decides.
            let least = room.iter().copied().min().unwrap_or(0);
            room = vec![least * to_u32(width)];
        }
        let drawn = draw(pages, &mut room, to_u32(REQUEST / self.geometry.page_bytes), random);
        let mut is_drawn = vec![false; pages as usize];
        drawn.iter().for_each(|&page| is_drawn[page as usize] = true);
        let others = (0..pages).filter(|&page| !is_drawn[page as usize]);
        let mut written = vec![Written { turn: 0, nth: 0 }; pages as usize];
        let mut counts = vec![0; width];
        for (page, number) in others.chain(drawn).zip(0..) {
            let turn = if is_dynamic { number % width } else { page as usize % width };
            written[page as usize] = Written { turn: to_u32(turn), nth: counts[turn] };
            counts[turn] += 1;
        }
        let mut of_planes: Vec<Vec<Option<u32>>> =
            counts.iter().map(|&count| vec![None; count as usize]).collect();
        for (page, at) in (0..).zip(&written) {
            of_planes[at.turn as usize][at.nth as usize] = Some(page);
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
            let logical: LogicalPage = self.sets.page_of(set, u64::from(page));
            self.place(self.layout.page_at(block, offset), logical);
        }
        self.ftl.set_valid_pages(block, valid().map(|(offset, _)| offset));
        self.finish_block(plane, block, to_u32(pages.len()));
    }
}

/// Pages of `pages` that are written in requests of `request` pages, in order, until there is no room for a
/// page and for one of each page that is not drawn. `room` is that of all planes, or of each plane where the
/// page decides on it.
fn draw(pages: u32, room: &mut [u32], request: u32, random: &mut Stream) -> Vec<u32> {
    let request = request.clamp(1, pages);
    let width = room.len();
    for page in 0..pages as usize {
        room[page % width] = room[page % width].saturating_sub(1);
    }
    let mut is_drawn = vec![false; pages as usize];
    let mut drawn = Vec::new();
    loop {
        let first = random.below_u32(pages / request) * request;
        for page in first..first + request {
            let room = &mut room[page as usize % width];
            if std::mem::replace(&mut is_drawn[page as usize], true) {
                if *room == 0 {
                    return drawn;
                }
                *room -= 1;
            }
            drawn.push(page);
        }
    }
}
