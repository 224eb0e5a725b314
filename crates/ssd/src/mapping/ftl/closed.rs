//! The closed blocks of each plane, kept so that a victim is found without looking at them all.

use crate::config::VictimPolicy;
use crate::flash::{BlockId, Geometry, PlaneId};
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::IdVec;
use tailcut_base::random::Stream;
use tailcut_base::{Time, id};

id! {
    /// A list of closed blocks of one plane.
    struct ListId;
}

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: BlockId,
    next: BlockId,
    /// The number of its list, or its place in the array of its plane.
    at: u32,
    /// When the block was closed or last lost a page.
    changed: Time,
}

/// The closed blocks. Greedy and cost-benefit keep a list for each count of valid pages, ordered
/// by the time at which blocks came to have it; FIFO keeps one list; the random policies an array.
#[derive(Clone, Debug)]
pub struct ClosedBlocks {
    policy: VictimPolicy,
    choices: u32,
    pages: u32,
    /// Lists per plane.
    lists: u32,
    links: IdVec<BlockId, Link>,
    first: IdVec<ListId, BlockId>,
    last: IdVec<ListId, BlockId>,
    /// For each plane a bound: no list below it has blocks.
    lowest: IdVec<PlaneId, u32>,
    arrays: IdVec<PlaneId, Vec<BlockId>>,
    /// For each plane the pages of closed blocks that are not valid.
    garbage: IdVec<PlaneId, u64>,
}

/// Bytes of memory for each block.
pub(super) const BYTES_PER_BLOCK: usize = size_of::<Link>();

impl ClosedBlocks {
    /// No closed blocks yet in the planes of `geometry`; `choices` is the number of blocks that d-choices
    /// compares.
    pub fn new(policy: VictimPolicy, choices: u32, geometry: &Geometry) -> ClosedBlocks {
        let planes = geometry.plane_count() as usize;
        let lists = match policy {
            VictimPolicy::Greedy | VictimPolicy::CostBenefit => geometry.pages + 1,
            VictimPolicy::Fifo => 1,
            VictimPolicy::Random | VictimPolicy::DChoices => 0,
        };
        let link = Link { prev: BlockId::NONE, next: BlockId::NONE, at: 0, changed: Time::ZERO };
        ClosedBlocks {
            policy,
            choices,
            pages: geometry.pages,
            lists,
            links: IdVec::filled(to_usize(geometry.block_count()), link),
            first: IdVec::filled(planes * lists as usize, BlockId::NONE),
            last: IdVec::filled(planes * lists as usize, BlockId::NONE),
            lowest: IdVec::filled(planes, 0),
            arrays: IdVec::filled(planes, Vec::new()),
            garbage: IdVec::filled(planes, 0),
        }
    }

    /// A block of `plane` has been closed with `valid` valid pages.
    #[inline]
    pub fn insert(&mut self, plane: PlaneId, block: BlockId, valid: u32, now: Time) {
        self.links[block].changed = now;
        self.garbage[plane] += u64::from(self.pages - valid);
        match self.policy {
            VictimPolicy::Greedy | VictimPolicy::CostBenefit => self.append(plane, valid, block),
            VictimPolicy::Fifo => self.append(plane, 0, block),
            VictimPolicy::Random | VictimPolicy::DChoices => {
                let array = &mut self.arrays[plane];
                self.links[block].at = to_u32(array.len());
                array.push(block);
            }
        }
    }

    /// A closed block has lost a page and has `valid` left.
    #[inline]
    pub fn changed(&mut self, plane: PlaneId, block: BlockId, valid: u32, now: Time) {
        self.garbage[plane] += 1;
        if matches!(self.policy, VictimPolicy::Greedy | VictimPolicy::CostBenefit) {
            self.links[block].changed = now;
            self.unlink(block);
            self.append(plane, valid, block);
        }
    }

    /// A block with `valid` valid pages is closed no more.
    pub fn remove(&mut self, plane: PlaneId, block: BlockId, valid: u32) {
        self.garbage[plane] -= u64::from(self.pages - valid);
        if self.lists > 0 {
            return self.unlink(block);
        }
        let array = &mut self.arrays[plane];
        let at = self.links[block].at as usize;
        array.swap_remove(at);
        if let Some(&moved) = array.get(at) {
            self.links[moved].at = to_u32(at);
        }
    }

    /// Pages of closed blocks of a plane that are not valid.
    pub fn garbage(&self, plane: PlaneId) -> u64 {
        self.garbage[plane]
    }

    /// The victim in a plane; `valid` returns the number of valid pages of a block. `None` when no closed
    /// block has an invalid page. Policies that do not look for the emptiest block can choose a full one,
    /// as in the literature: they gain nothing by it, and come to another block next.
    pub fn choose(
        &mut self,
        plane: PlaneId,
        now: Time,
        random: &mut Stream,
        valid: impl Fn(BlockId) -> u32,
    ) -> Option<BlockId> {
        if self.garbage[plane] == 0 {
            return None;
        }
        match self.policy {
            VictimPolicy::Greedy => self.greedy(plane),
            VictimPolicy::CostBenefit => self.cost_benefit(plane, now),
            VictimPolicy::Fifo => Some(self.first[self.list(plane, 0)]).filter(|&b| b != BlockId::NONE),
            VictimPolicy::Random => self.draw(plane, random),
            VictimPolicy::DChoices => {
                (0..self.choices).filter_map(|_| self.draw(plane, random)).min_by_key(|&block| valid(block))
            }
        }
    }

    fn draw(&self, plane: PlaneId, random: &mut Stream) -> Option<BlockId> {
        let array = &self.arrays[plane];
        (!array.is_empty()).then(|| array[random.index(array.len())])
    }

    fn greedy(&mut self, plane: PlaneId) -> Option<BlockId> {
        let from = self.lowest[plane];
        let found =
            (from..=self.pages).find(|&count| self.first[self.list(plane, count)] != BlockId::NONE)?;
        self.lowest[plane] = found;
        Some(self.first[self.list(plane, found)])
    }

    /// Within a list all blocks have the same u, so the first, the oldest, is its best: one look
    /// per count of valid pages.
    fn cost_benefit(&self, plane: PlaneId, now: Time) -> Option<BlockId> {
        let mut best: Option<(u128, u128, BlockId)> = None;
        for count in 0..self.pages {
            let block = self.first[self.list(plane, count)];
            if block == BlockId::NONE {
                continue;
            }
            if count == 0 {
                return Some(block);
            }
            let age = u128::from(now.since(self.links[block].changed).0) + 1;
            let (benefit, cost) = (age * u128::from(self.pages - count), 2 * u128::from(count));
            if best.is_none_or(|(b, c, _)| benefit * c > b * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(_, _, block)| block)
            .or_else(|| Some(self.first[self.list(plane, self.pages)]).filter(|&b| b != BlockId::NONE))
    }

    /// A list of a plane: by the count of valid pages, where blocks are listed by that.
    #[inline]
    fn list(&self, plane: PlaneId, count: u32) -> ListId {
        ListId::new(plane.get() * self.lists + count)
    }

    #[inline]
    fn append(&mut self, plane: PlaneId, list: u32, block: BlockId) {
        let at = self.list(plane, list);
        let last = self.last[at];
        let link = &mut self.links[block];
        (link.prev, link.next, link.at) = (last, BlockId::NONE, at.get());
        match last {
            BlockId::NONE => self.first[at] = block,
            last => self.links[last].next = block,
        }
        self.last[at] = block;
        let lowest = &mut self.lowest[plane];
        *lowest = (*lowest).min(list);
    }

    #[inline]
    fn unlink(&mut self, block: BlockId) {
        let Link { prev, next, at, .. } = self.links[block];
        match prev {
            BlockId::NONE => self.first[ListId::new(at)] = next,
            prev => self.links[prev].next = next,
        }
        match next {
            BlockId::NONE => self.last[ListId::new(at)] = prev,
            next => self.links[next].prev = prev,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::geometry::ReadyBusy;
    use tailcut_base::ids::Id;

    fn blocks(policy: VictimPolicy) -> ClosedBlocks {
        let geometry = Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 2,
            blocks: 32,
            pages: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            ready_busy: ReadyBusy::Chip,
        };
        ClosedBlocks::new(policy, 3, &geometry)
    }

    /// Compares each policy with a plain list of (block, valid, changed, closed).
    #[test]
    fn each_policy_chooses_as_a_plain_search_would() {
        for policy in
            [VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::CostBenefit, VictimPolicy::Random]
        {
            let mut set = blocks(policy);
            let mut model: Vec<(BlockId, u32, u64, u64)> = Vec::new();
            let mut random = Stream::new(9, "test");
            for step in 1..3000u64 {
                let now = Time(step * 10);
                let free: Vec<BlockId> =
                    BlockId::first(32).filter(|b| !model.iter().any(|m| m.0 == *b)).collect();
                match random.below(3) {
                    0 if !free.is_empty() => {
                        let block = free[random.below(free.len() as u64) as usize];
                        let valid = 4 + random.below(5) as u32;
                        set.insert(PlaneId::new(0), block, valid, now);
                        model.push((block, valid, now.0, step));
                    }
                    1 if !model.is_empty() => {
                        let at = random.below(model.len() as u64) as usize;
                        if model[at].1 > 0 {
                            model[at].1 -= 1;
                            model[at].2 = now.0;
                            set.changed(PlaneId::new(0), model[at].0, model[at].1, now);
                        }
                    }
                    _ => {
                        let valid_of = |b: BlockId| model.iter().find(|m| m.0 == b).map_or(99, |m| m.1);
                        let chosen =
                            set.choose(PlaneId::new(0), now, &mut Stream::new(step, "choose"), valid_of);
                        assert_eq!(chosen.is_some(), model.iter().any(|m| m.1 < 8));
                        let Some(chosen) = chosen else { continue };
                        let got = *model.iter().find(|m| m.0 == chosen).expect("the victim is closed");
                        let score = |m: &(BlockId, u32, u64, u64)| {
                            if m.1 == 0 {
                                f64::INFINITY
                            } else {
                                (8 - m.1) as f64 * (now.0 - m.2 + 1) as f64 / (2 * m.1) as f64
                            }
                        };
                        match policy {
                            VictimPolicy::Greedy => {
                                assert_eq!(got.1, model.iter().map(|m| m.1).min().unwrap())
                            }
                            VictimPolicy::Fifo => assert_eq!(got.3, model.iter().map(|m| m.3).min().unwrap()),
                            VictimPolicy::CostBenefit => {
                                assert_eq!(
                                    score(&got),
                                    model.iter().map(score).fold(f64::NEG_INFINITY, f64::max)
                                );
                            }
                            _ => {}
                        }
                        set.remove(PlaneId::new(0), chosen, got.1);
                        model.retain(|m| m.0 != chosen);
                    }
                }
                assert!(
                    set.choose(PlaneId::new(1), now, &mut Stream::new(1, ""), |_| 0).is_none(),
                    "planes are separate"
                );
            }
        }
    }
}
