//! Where pages are and what they hold, as the drive's loop and the other machines ask for it.

use super::Mapping;
use super::ftl::{Ftl, Location};
use crate::flash::{BlockId, LogicalPage, PhysicalPage, PlaneId};
use crate::request::EntryId;
use crate::sets::Sets;
use tailcut_base::Time;

impl Mapping {
    /// The translation map, for reading.
    #[inline(always)]
    pub(crate) fn map(&self) -> &Ftl {
        &self.ftl
    }

    /// What the drive is divided into.
    #[inline(always)]
    pub(crate) fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Maps a logical page to another place.
    #[inline(always)]
    pub(crate) fn set_location(&mut self, logical: LogicalPage, location: Location) {
        self.ftl.set(logical, location);
    }

    /// Takes the next page of a frontier, which must have one; see [`Ftl::can_allocate`].
    #[inline(always)]
    pub(crate) fn allocate(&mut self, plane: PlaneId, frontier: u8) -> PhysicalPage {
        self.ftl.allocate(plane, frontier)
    }

    /// The plane for the next program of a logical page in a frontier.
    pub(crate) fn plane_for(&mut self, logical: LogicalPage, frontier: u8) -> PlaneId {
        self.ftl.plane_for(logical, frontier)
    }

    /// A read of a page has begun: its block is not erased until [`Mapping::unpin`].
    pub(crate) fn pin(&mut self, physical: PhysicalPage) {
        self.ftl.pin(physical);
    }

    /// A page on flash is obsolete.
    pub(crate) fn invalidate(&mut self, physical: PhysicalPage, now: Time) {
        self.ftl.invalidate(physical, now);
    }

    /// Reads a page of flash. Returns its content.
    #[inline(always)]
    pub(crate) fn read_page(&mut self, physical: PhysicalPage) -> u32 {
        self.nand.read(physical)
    }

    /// The content of a page of flash, for observers.
    pub(crate) fn content_of(&self, physical: PhysicalPage) -> u32 {
        self.nand.content(physical)
    }

    /// The logical page that a page of flash was programmed for.
    pub(crate) fn logical_of(&self, physical: PhysicalPage) -> LogicalPage {
        self.nand.logical(physical)
    }

    /// An erase that was reset has worn its block.
    pub(crate) fn wear_out(&mut self, block: BlockId) {
        self.nand.wear_out(block);
    }

    /// True when a plane has only the free blocks that collection keeps for itself.
    #[inline(always)]
    pub(crate) fn is_short_of_blocks(&self, plane: PlaneId) -> bool {
        self.ftl.free_blocks(plane) <= self.reserve
    }

    /// Valid pages of a plane's victim whose copies have not begun; `None` without a victim.
    pub(crate) fn pages_left_to_copy(&self, plane: PlaneId) -> Option<u32> {
        let (victim, moving) = self.collection.unfinished(plane)?;
        Some(self.ftl.valid_pages(victim).saturating_sub(moving))
    }

    /// True when programs of a plane may wait without end in sight: collection is at work there, or an erase
    /// put off.
    pub(crate) fn may_stand_still(&self, plane: PlaneId) -> bool {
        self.collection.is_at_work(plane) || self.is_erase_deferred(plane)
    }

    /// True when the drive maps by superblock.
    #[inline(always)]
    pub(crate) fn maps_by_superblock(&self) -> bool {
        self.superblocks.is_some()
    }

    /// Why the drive, or a set of it, takes no more writes, once it does not.
    pub(crate) fn why_read_only(&self) -> Option<&str> {
        self.read_only.why()
    }

    /// Asserts that maps, valid pages and counts agree; walks the whole drive. `old` is the version on flash
    /// of an entry of the buffer, if there is one.
    pub(crate) fn check(&self, old: impl Fn(EntryId) -> Option<PhysicalPage>) {
        self.ftl.check(&self.nand, old);
        self.check_placement();
    }
}
