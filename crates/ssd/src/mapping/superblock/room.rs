//! How much a reclaim group can hold. The pages that a drive offers have room in it wherever they are, but
//! not all of them in one group: a write to a group that is full is refused, before any of it is in the
//! buffer.
//!
//! A group holds pages that are valid on its flash, and pages of the buffer that will be. What it can hold is
//! what the check of the spare space allows of the whole drive: as many superblocks as are open, kept free
//! and being emptied stay without data. So collection in a group that takes no more has as much to gain as in
//! a drive that is full. Counting is put off: after each count the group has credit for what it found.

use super::Superblocks;
use crate::flash::PhysicalPage;
use crate::mapping::Mapping;
use tailcut_base::fdp::GroupId;

impl Mapping {
    /// True on a drive of several reclaim groups.
    #[inline]
    pub(crate) fn has_groups(&self) -> bool {
        self.superblocks.as_ref().is_some_and(|superblocks| superblocks.groups.len() > 1)
    }

    /// The group that a write with this stream goes to.
    pub(crate) fn group_named(&self, stream: u8) -> GroupId {
        self.superblocks.as_ref().map_or(GroupId::FIRST, |superblocks| superblocks.group_named(stream))
    }

    /// True if a page of flash is in a group; no page is in none.
    pub(crate) fn is_in_group(&self, physical: PhysicalPage, group: GroupId) -> bool {
        physical != PhysicalPage::NONE && self.layout.group_of(self.layout.block_of(physical)) == group
    }

    /// Lets `pages` pages into a group, if it is certain without a count that they have room.
    pub(crate) fn lets_in(&mut self, group: GroupId, pages: u64) -> bool {
        let credit = &mut self.superblocks().groups[group].credit;
        let left = credit.checked_sub(pages);
        *credit = left.unwrap_or(*credit);
        left.is_some()
    }

    /// Counts how many pages a group has room for, beside those on its flash and `buffered` pages of the
    /// buffer: that is its credit from now on.
    pub(crate) fn count_room(&mut self, group: GroupId, buffered: u64) {
        let room = self.most_in_group().saturating_sub(self.ftl.group_valid(group) + buffered);
        self.superblocks().groups[group].credit = room;
    }

    /// Pages that a group can hold.
    fn most_in_group(&self) -> u64 {
        let blocks = self.geometry.blocks.saturating_sub(self.config.blocks_kept());
        u64::from(blocks) * u64::from(self.geometry.pages) * u64::from(self.layout.planes_of_each_group())
    }
}

impl Superblocks {
    /// The group that a write with this stream goes to: the first if it names none that exists.
    pub(super) fn group_named(&self, stream: u8) -> GroupId {
        self.named_by(stream).group()
    }
}
