//! Page allocation: which plane a write goes to.

use crate::config::{Allocation, Order};
use crate::flash::{Geometry, LogicalPage, PlaneId};
use crate::sets::{SetId, Sets};
use tailcut_base::cast::to_usize;
use tailcut_base::ids::IdVec;

/// Hands out planes, to each set its own.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// The planes in the order of use, those of one set after those of another.
    planes: Vec<PlaneId>,
    allocation: Allocation,
    /// Planes of a set.
    each: u32,
    /// Of each set.
    turns: IdVec<SetId, PlaneCursor>,
}

/// Which of the planes of a set is next, and where they begin and end.
#[derive(Clone, Copy, Debug)]
struct PlaneCursor {
    next: u32,
    first: u32,
    end: u32,
}

impl Allocator {
    /// The allocator for a geometry.
    pub fn new(allocation: Allocation, order: Order, geometry: &Geometry, sets: Sets) -> Allocator {
        let mut planes: Vec<PlaneId> =
            (0..geometry.plane_count()).map(|turn| plane_of_turn(turn, order, geometry)).collect();
        planes.sort_by_key(|&plane| sets.of_plane(plane));
        let each = sets.planes_each();
        let turn = |set: SetId| {
            let first = set.get() * each;
            PlaneCursor { next: first, first, end: first + each }
        };
        Allocator { planes, allocation, each, turns: sets.ids().map(turn).collect() }
    }

    /// The plane for the next write of a logical page of a set. A set has a whole number of logical pages
    /// for each of its planes, so the number within the drive decides as that within the set would.
    #[inline]
    pub fn next(&mut self, set: SetId, logical: LogicalPage) -> PlaneId {
        let turn = &mut self.turns[set];
        match self.allocation {
            Allocation::Static => {
                let at = logical.get() % u64::from(self.each);
                self.planes[turn.first as usize + to_usize(at)]
            }
            Allocation::Dynamic => {
                let plane = self.planes[turn.next as usize];
                turn.next = if turn.next + 1 == turn.end { turn.first } else { turn.next + 1 };
                plane
            }
        }
    }

    /// True when the logical page does not decide.
    pub fn is_dynamic(&self) -> bool {
        self.allocation == Allocation::Dynamic
    }

    /// The planes in the order of use, set by set.
    pub fn planes(&self) -> &[PlaneId] {
        &self.planes
    }
}

fn plane_of_turn(turn: u32, order: Order, geometry: &Geometry) -> PlaneId {
    use tailcut_base::config::Choice;
    let (mut rest, mut channel, mut way, mut die, mut plane) = (turn, 0, 0, 0, 0);
    for part in order.name().chars() {
        let (count, at) = match part {
            'c' => (geometry.channels, &mut channel),
            'w' => (geometry.chips, &mut way),
            'd' => (geometry.dies, &mut die),
            _ => (geometry.planes, &mut plane),
        };
        *at = rest % count;
        rest /= count;
    }
    PlaneId::new(((channel * geometry.chips + way) * geometry.dies + die) * geometry.planes + plane)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Preset, SetsBy, SetsConfig};
    use crate::flash::geometry::ReadyBusy;
    use tailcut_base::config::Choice;

    fn geometry() -> Geometry {
        Geometry {
            channels: 3,
            chips: 2,
            dies: 2,
            planes: 4,
            blocks: 4,
            pages: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            ready_busy: ReadyBusy::Chip,
        }
    }

    fn one() -> Sets {
        Sets::one(&geometry())
    }

    #[test]
    fn every_order_uses_every_plane_once() {
        for &order in Order::all() {
            let mut planes = Allocator::new(Allocation::Dynamic, order, &geometry(), one()).planes;
            planes.sort_unstable();
            assert!(planes.iter().copied().eq(geometry().plane_ids()), "{order}");
        }
    }

    #[test]
    fn the_first_letter_changes_fastest() {
        let mut allocator = Allocator::new(Allocation::Dynamic, Order::Cwdp, &geometry(), one());
        // 16 planes per channel, 8 per chip: all channels first, then the next chip.
        let planes: Vec<u32> =
            (0..4).map(|_| allocator.next(SetId::FIRST, LogicalPage::new(0)).get()).collect();
        assert_eq!(planes, [0, 16, 32, 8]);
        let mut allocator = Allocator::new(Allocation::Static, Order::Pdwc, &geometry(), one());
        assert_eq!(
            [0, 1, 4].map(|logical| allocator.next(SetId::FIRST, LogicalPage::new(logical)).get()),
            [0, 1, 4]
        );
    }

    #[test]
    fn sets_take_turns_of_their_own_among_their_own_planes() {
        let config = SetsConfig { count: 3, by: SetsBy::Channels };
        let sets = Sets::new(&config, &Preset::M.config().ftl, &geometry());
        let mut allocator = Allocator::new(Allocation::Dynamic, Order::Cwdp, &geometry(), sets);
        let planes: Vec<u32> =
            [0, 0, 2, 0, 2, 1].map(|set| allocator.next(SetId::new(set), LogicalPage::new(0)).get()).to_vec();
        assert_eq!(planes, [0, 8, 32, 4, 40, 16]);
        let mut allocator = Allocator::new(Allocation::Static, Order::Cwdp, &geometry(), sets);
        assert_eq!(
            [16, 17].map(|logical| allocator.next(SetId::new(1), LogicalPage::new(logical)).get()),
            [16, 24]
        );
    }
}
