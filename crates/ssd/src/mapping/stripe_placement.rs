//! In which planes the stripes of a drive lie that maps by block.

use crate::config::Allocation;
use crate::flash::{LogicalPage, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::stripes::LogicalBlockId;
use tailcut_base::cast::to_u32;
use tailcut_base::id;
use tailcut_base::ids::{Id, IdVec};

id! {
    /// A group of planes that a stripe spans.
    pub(crate) struct PlaneGroup;
}

/// A stripe that lies nowhere.
const NOWHERE: PlaneGroup = PlaneGroup::new(u32::MAX);

/// The group of planes that each stripe lies in; see [`Stripes`](crate::mapping::ftl::stripes::Stripes).
///
/// Under static allocation the number of the stripe decides. Under dynamic allocation a stripe gets the
/// next group in turn that has room when its first page is written, and leaves it when a trim has made it
/// empty: so stripes that are written one after the other lie side by side, whatever their numbers.
#[derive(Clone, Debug)]
pub(crate) struct StripePlacement {
    allocation: Allocation,
    stripes: Vec<Stripe>,
    groups: IdVec<PlaneGroup, Group>,
    /// The next group in turn.
    turn: PlaneGroup,
}

#[derive(Clone, Copy, Debug)]
struct Stripe {
    group: PlaneGroup,
    /// Programs that have been given their planes and have not ended.
    programs: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Stripes that lie here.
    stripes: u32,
    /// Stripes that leave each plane the blocks that it needs beside.
    room: u32,
}

impl StripePlacement {
    /// No stripe is placed yet; `rooms` gives the capacity of each group in stripes.
    pub(crate) fn new(
        allocation: Allocation,
        stripes: u32,
        rooms: impl Iterator<Item = u32>,
    ) -> StripePlacement {
        StripePlacement {
            allocation,
            stripes: vec![Stripe { group: NOWHERE, programs: 0 }; stripes as usize],
            groups: rooms.map(|room| Group { stripes: 0, room }).collect(),
            turn: PlaneGroup::new(0),
        }
    }

    /// The group that the number of a stripe decides on.
    fn fixed(&self, stripe: u32) -> PlaneGroup {
        PlaneGroup::new(stripe % to_u32(self.groups.len()))
    }

    /// Declares that a stripe holds data, while a drive is being prepared. Returns its group.
    pub(crate) fn settle(&mut self, stripe: u32) -> PlaneGroup {
        if self.stripes[stripe as usize].group == NOWHERE {
            let group = self.fixed(stripe);
            self.enter(stripe, group);
        }
        self.stripes[stripe as usize].group
    }

    /// Declares that a stripe is the next to hold data, while a drive is being prepared.
    pub(crate) fn settle_in_turn(&mut self, stripe: u32) {
        let group = self.next_group();
        self.enter(stripe, group);
    }

    /// A page of a stripe is to be programmed. Returns the stripe's group, which stays the same until
    /// the program has [ended](StripePlacement::program_ended).
    #[inline]
    pub(crate) fn begin_program(&mut self, stripe: u32) -> PlaneGroup {
        if self.stripes[stripe as usize].group == NOWHERE {
            let group = match self.allocation {
                Allocation::Static => self.fixed(stripe),
                Allocation::Dynamic => self.next_group(),
            };
            self.enter(stripe, group);
        }
        let stripe = &mut self.stripes[stripe as usize];
        stripe.programs += 1;
        stripe.group
    }

    /// A program has ended, with any outcome.
    #[inline]
    pub(crate) fn program_ended(&mut self, stripe: u32) {
        let programs = &mut self.stripes[stripe as usize].programs;
        *programs = programs.checked_sub(1).expect("every program of a stripe has begun");
    }

    /// True while programs of a stripe are under way.
    pub(crate) fn is_being_written(&self, stripe: u32) -> bool {
        self.stripes[stripe as usize].programs > 0
    }

    /// A stripe has no block any more.
    pub(crate) fn leave(&mut self, stripe: u32) {
        assert!(!self.is_being_written(stripe), "a stripe that is being written stays where it is");
        let group = std::mem::replace(&mut self.stripes[stripe as usize].group, NOWHERE);
        if group != NOWHERE {
            self.groups[group].stripes -= 1;
        }
    }

    /// A block of a group has gone bad.
    pub(crate) fn lose_room(&mut self, group: PlaneGroup) {
        let room = &mut self.groups[group].room;
        *room = room.saturating_sub(1);
    }

    fn enter(&mut self, stripe: u32, group: PlaneGroup) {
        self.stripes[stripe as usize].group = group;
        self.groups[group].stripes += 1;
    }

    /// The next group in turn with room; the next one if none has any.
    fn next_group(&mut self) -> PlaneGroup {
        let (first, end) = (PlaneGroup::new(0), PlaneGroup::at(self.groups.len()));
        let has_room = |&group: &PlaneGroup| self.groups[group].stripes < self.groups[group].room;
        let next = self.turn.up_to(end).chain(first.up_to(self.turn)).find(has_room);
        let group = next.unwrap_or(self.turn);
        let behind = PlaneGroup::new(group.get() + 1);
        self.turn = if behind == end { first } else { behind };
        group
    }
}

impl Mapping {
    /// The plane of a logical block of the stripe that lies in a group of planes.
    fn plane_in(&self, group: PlaneGroup, logical_block: LogicalBlockId) -> PlaneId {
        let width = self.ftl.stripes().width();
        self.ftl.allocator().planes()[(group.get() * width + logical_block.get() % width) as usize]
    }

    /// The plane that a logical block lies in, while a drive is being prepared.
    pub(crate) fn settle_block_home(&mut self, logical_block: LogicalBlockId) -> PlaneId {
        let stripe = self.ftl.stripes().stripe_of(logical_block);
        let group = self.block_mapped().placement.settle(stripe);
        self.plane_in(group, logical_block)
    }

    /// The plane that a logical page is to be programmed in. Until that has [ended](Mapping::left_stripe)
    /// it stays the same.
    pub(crate) fn plane_of_stripe(&mut self, logical: LogicalPage) -> PlaneId {
        let stripes = self.ftl.stripes();
        let logical_block = stripes.block_of(logical);
        let group = self.block_mapped().placement.begin_program(stripes.stripe_of(logical_block));
        self.plane_in(group, logical_block)
    }

    /// The program of a logical page has ended, or will never be.
    #[inline]
    pub(crate) fn left_stripe(&mut self, logical: LogicalPage) {
        if let Some(mapped) = &mut self.block_mapped {
            let stripes = self.ftl.stripes();
            mapped.placement.program_ended(stripes.stripe_of(stripes.block_of(logical)));
        }
    }

    /// A block of a plane has gone bad.
    pub(crate) fn lose_room(&mut self, plane: PlaneId) {
        let width = self.ftl.stripes().width();
        let turn =
            self.ftl.allocator().planes().iter().position(|&p| p == plane).expect("a plane of the drive");
        self.block_mapped().placement.lose_room(PlaneGroup::new(to_u32(turn) / width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_lie_side_by_side_in_the_order_of_writing() {
        let mut placement = StripePlacement::new(Allocation::Dynamic, 6, [2; 3].into_iter());
        let mut group_of = |stripe| placement.begin_program(stripe).get();
        assert_eq!([5, 3, 0, 1].map(&mut group_of), [0, 1, 2, 0]);
        // A written stripe keeps its group; after a trim, it is placed anew.
        assert_eq!(group_of(5), 0);
        placement.program_ended(3);
        placement.leave(3);
        assert_eq!(placement.begin_program(3).get(), 1);
        // Group 0 is full.
        assert_eq!([2, 4].map(|stripe| placement.begin_program(stripe).get()), [2, 1]);
    }

    #[test]
    fn a_group_without_room_is_taken_only_when_all_are() {
        let mut placement = StripePlacement::new(Allocation::Dynamic, 4, [1; 2].into_iter());
        placement.lose_room(PlaneGroup::new(0));
        assert_eq!([0, 1, 2].map(|stripe| placement.begin_program(stripe).get()), [1, 0, 1]);
    }

    #[test]
    fn the_number_decides_under_static_allocation() {
        let mut placement = StripePlacement::new(Allocation::Static, 4, [2; 3].into_iter());
        assert_eq!([3, 1, 2, 0].map(|stripe| placement.begin_program(stripe).get()), [0, 1, 2, 0]);
    }
}
