//! Preparing a drive that maps by superblock.

use super::law::{Blocks, Law};
use super::{Precondition, PreparedState};
use crate::flash::{LogicalPage, PlaneId, SuperblockId};
use crate::mapping::Mapping;
use crate::mapping::superblock::Frontier;
use std::ops::Range;
use tailcut_base::Time;
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::GroupId;
use tailcut_base::random::Stream;

/// Pages per superblock for which the law of valid pages is computed. The law depends on shares, not on the
/// number of pages once that is large.
const QUANTA: u32 = 256;

/// What is put into one superblock.
#[derive(Clone, Copy, Debug)]
struct Fill {
    /// Units that are programmed.
    units: u32,
    /// Pages of them that are valid.
    valid: u32,
}

impl Mapping {
    /// Prepares an empty drive. Returns the number of logical pages that hold data, from page 0 on.
    pub(crate) fn prepare_superblocks(&mut self, how: &Precondition, random: &mut Stream) -> u64 {
        let mapped = self.ftl.logical_pages() * u64::from(how.fill) / 1_000_000;
        let groups = self.group_ids();
        let all = groups.clone().count() as u64;
        let start = |group: u64| mapped * group / all;
        for (group, number) in groups.zip(0..) {
            let part = start(number)..start(number + 1);
            match how.state {
                PreparedState::Empty | PreparedState::Random => return 0,
                PreparedState::Sequential => self.fill_in_order(group, part),
                PreparedState::Steady => self.age(group, part, random),
            }
        }
        mapped
    }

    /// Writes the logical pages `part` to a group once, in order.
    fn fill_in_order(&mut self, group: GroupId, part: Range<u64>) {
        let (pages_each, program) = (self.superblocks().pages_each(), self.superblocks().program());
        for first in part.clone().step_by(pages_each as usize) {
            let pages = to_u32(u64::from(pages_each).min(part.end - first));
            let fill = Fill { units: pages.div_ceil(program), valid: pages };
            let superblock = self.ftl.take_free_superblock(group).expect("the configuration leaves room");
            let dies = self.superblocks().dies();
            let mut chosen = Vec::new();
            for (die, plane) in (0..dies).zip(self.layout.planes_of_group(group)) {
                let block = self.layout.block_in_plane(superblock, plane);
                chosen.clear();
                for line in 0..pages_each / program / dies {
                    let unit = line * dies + die;
                    let pages = unit * program..((unit + 1) * program).min(pages);
                    for page in pages {
                        let offset = line * program + page - unit * program;
                        chosen.push(offset);
                        self.place(
                            self.layout.page_at(block, offset),
                            LogicalPage::new(first + u64::from(page)),
                        );
                    }
                }
                self.set_valid(superblock, plane, &chosen);
            }
            self.finish_superblock(superblock, fill, true);
        }
    }

    /// Brings a group into the state after endless uniform random writes to the logical pages `part`.
    fn age(&mut self, group: GroupId, part: Range<u64>, random: &mut Stream) {
        let mapped = part.end - part.start;
        let pages_each = self.superblocks().pages_each();
        // As many pages are free as collection wants, with those that are left in open superblocks: these are
        // half full on average, so they are one superblock together.
        let blocks = self.free_superblocks(group).saturating_sub(self.config.gc.low - 1).max(1);
        let quanta = |pages: u64| to_u32((pages * u64::from(QUANTA)).div_ceil(u64::from(pages_each)));
        let in_quanta = quanta(mapped);
        let law = Law::new(&self.config.gc, Blocks { count: blocks, pages: QUANTA, mapped: in_quanta });
        let layout = law.layout(in_quanta, None, random);
        let pages = |quanta: u32| to_u32(u64::from(quanta) * u64::from(pages_each) / u64::from(QUANTA));
        let units_each = self.superblocks().units_each();
        let program = self.superblocks().program();
        // A drive with little data may have less of it than the law has in open superblocks.
        let mut left = mapped;
        let open = layout.open.map(|open| {
            open.map(|open| {
                let units = (pages(open.next) / program).clamp(1, units_each - 1);
                let valid = pages(to_u32(open.valid.len())).min(units * program);
                let valid = to_u32(u64::from(valid).min(left));
                left -= u64::from(valid);
                Fill { units, valid }
            })
        });
        let counts = layout.closed.iter().map(|&count| pages(count)).collect();
        let mut closed = Counts { counts, most: pages_each };
        closed.level(left);
        let mut order = Permutation::of(part, random);
        for valid in closed.counts {
            self.fill_at_random(group, Fill { units: units_each, valid }, &mut order, random);
        }
        let [host, collection] = open.map(|fill| {
            fill.map(|fill| Frontier {
                superblock: self.fill_at_random(group, fill, &mut order, random),
                next: fill.units,
            })
        });
        self.superblocks().open(group, host, collection);
        assert_eq!(order.next, mapped, "every page has its place");
    }

    /// Fills a superblock of a group with the next pages in `order`, evenly over what is programmed.
    fn fill_at_random(
        &mut self,
        group: GroupId,
        fill: Fill,
        order: &mut Permutation,
        random: &mut Stream,
    ) -> SuperblockId {
        let superblock = self.ftl.take_free_superblock(group).expect("the layout fits the free superblocks");
        let program = self.superblocks().program();
        let (mut wanted, mut left) = (fill.valid, fill.units * program);
        let mut chosen = Vec::new();
        for plane in self.layout.planes_of_group(group) {
            let block = self.layout.block_in_plane(superblock, plane);
            chosen.clear();
            for offset in 0..self.programmed_in(plane, fill.units) {
                if random.below(u64::from(left)) < u64::from(wanted) {
                    chosen.push(offset);
                    wanted -= 1;
                }
                left -= 1;
            }
            for &offset in &chosen {
                self.place(self.layout.page_at(block, offset), order.draw());
            }
            self.set_valid(superblock, plane, &chosen);
        }
        let is_full = fill.units == self.superblocks().units_each();
        self.finish_superblock(superblock, fill, is_full);
        superblock
    }

    /// The places of the valid pages of a superblock in a plane, counted from its first block on, in order.
    fn set_valid(&mut self, superblock: SuperblockId, plane: PlaneId, places: &[u32]) {
        let (mut first, mut rest) = (0, places);
        for block in self.layout.blocks_in_plane(superblock, plane) {
            let of_block = rest.partition_point(|&place| place < first + self.geometry.pages);
            self.ftl.set_valid_pages(block, rest[..of_block].iter().map(|place| place - first));
            (first, rest) = (first + self.geometry.pages, &rest[of_block..]);
        }
    }

    /// Pages in a plane that the first `units` units of a superblock take.
    fn programmed_in(&mut self, plane: PlaneId, units: u32) -> u32 {
        let superblocks = self.superblocks();
        let (dies, program) = (superblocks.dies(), superblocks.program());
        (units / dies + u32::from(plane.get() % dies < units % dies)) * program
    }

    fn finish_superblock(&mut self, superblock: SuperblockId, fill: Fill, closes: bool) {
        let units = if closes { self.superblocks().units_each() } else { fill.units };
        let group = self.layout.group_of_superblock(superblock);
        for plane in self.layout.planes_of_group(group) {
            let mut left = self.programmed_in(plane, units);
            for block in self.layout.blocks_in_plane(superblock, plane) {
                let programmed = left.min(self.geometry.pages);
                self.nand.prepare_block(block, programmed);
                left -= programmed;
            }
        }
        if closes {
            self.ftl.close_superblock(superblock, Time::ZERO);
        }
    }
}

/// The valid pages of superblocks.
struct Counts {
    counts: Vec<u32>,
    /// The most of one.
    most: u32,
}

impl Counts {
    /// Changes the counts as little as it takes for their sum to be `sum`.
    fn level(&mut self, sum: u64) {
        let (most, each) = (self.most, self.counts.len() as u64);
        let mut missing = sum.cast_signed() - self.counts.iter().map(|&count| i64::from(count)).sum::<i64>();
        while missing != 0 {
            let share = (missing.unsigned_abs() / each).max(1);
            for count in &mut self.counts {
                let change = to_u32(share.min(missing.unsigned_abs()));
                let changed = match missing > 0 {
                    true => (*count + change).min(most),
                    false => count.saturating_sub(change),
                };
                missing -= i64::from(changed) - i64::from(*count);
                *count = changed;
            }
        }
    }
}

/// The logical pages in an order in which neighbours lie anywhere: a Feistel network over the next power of
/// two, of which numbers beyond the end are skipped (Black and Rogaway, CT-RSA 2002). A shuffled list would
/// take as much memory as the map.
struct Permutation {
    /// The first of the pages.
    first: u64,
    len: u64,
    next: u64,
    bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// Of the logical pages `part`.
    fn of(part: Range<u64>, random: &mut Stream) -> Permutation {
        let len = part.end - part.start;
        let bits = (u64::BITS - len.saturating_sub(1).leading_zeros()).max(2).next_multiple_of(2);
        let keys = std::array::from_fn(|_| random.below(u64::MAX) | 1);
        Permutation { first: part.start, len, next: 0, bits, keys }
    }

    fn draw(&mut self) -> LogicalPage {
        let mut number = self.next;
        self.next += 1;
        loop {
            number = self.permute(number);
            if number < self.len {
                return LogicalPage::new(self.first + number);
            }
        }
    }

    fn permute(&self, number: u64) -> u64 {
        let half = self.bits / 2;
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (number >> half, number & mask);
        for key in self.keys {
            let mixed = (right ^ key >> 32).wrapping_mul(key) >> 33;
            (left, right) = (right, (left ^ mixed) & mask);
        }
        left << half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preset, Ssd};

    #[test]
    fn every_page_is_drawn_once_and_neighbours_are_apart() {
        for len in [1, 2, 3, 1000, 4097] {
            let mut order = Permutation::of(5..5 + len, &mut Stream::new(7, "test"));
            let drawn: Vec<u64> = (0..len).map(|_| order.draw().get() - 5).collect();
            let mut sorted = drawn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..len).collect::<Vec<u64>>());
            if len >= 1000 {
                let close = drawn.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < len / 10).count();
                assert!((close as u64) < len / 4, "{close} of {len} neighbours are close");
            }
        }
    }

    #[test]
    fn any_share_of_a_small_drive_can_be_aged() {
        let mut config = Preset::Pm9a3.config();
        (config.geometry.channels, config.geometry.chips, config.geometry.blocks) = (2, 2, 64);
        (config.geometry.pages, config.buffer.size) = (24, 512 << 10);
        for fill in (0..=1_000_000).step_by(12_500) {
            let mut ssd = Ssd::new(&config, 1, false);
            let how = Precondition { state: PreparedState::Steady, fill };
            ssd.has_room_for(&how).expect("the configuration has room for all of it");
            let mapped = ssd.precondition(&how, 3);
            ssd.check();
            assert!(mapped > 0 || fill == 0);
        }
    }

    #[test]
    fn counts_are_levelled_to_a_sum() {
        for sum in [0, 1, 17, 299, 300] {
            let mut counts = Counts { counts: vec![40, 100, 0], most: 100 };
            counts.level(sum);
            assert_eq!(counts.counts.iter().sum::<u32>(), sum as u32);
            assert!(counts.counts.iter().all(|&count| count <= 100));
        }
    }
}
