//! Units: where each writer programs the next, and what follows from its end.

use super::{Copy, Frontier, Pages, Progress, Superblocks, Unit, Writer};
use crate::flash::{LogicalPage, PhysicalPage, SuperblockId};
use crate::mapping::Mapping;
use crate::request::{EntryId, Lane, MemoryRequest, Role, UnitId};
use tailcut_base::Time;
use tailcut_base::cast::to_u8;
use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
use tailcut_base::ids::Id;

impl Mapping {
    /// The superblocks of a drive that maps by superblock; panics on another.
    pub(crate) fn superblocks(&mut self) -> &mut Superblocks {
        self.superblocks.as_mut().expect("the drive maps by superblock")
    }

    /// A page of the buffer, written with this stream, is to be programmed with the next unit of its handle.
    pub(crate) fn stage(&mut self, now: Time, entry: EntryId, stream: u8) {
        let superblocks = self.superblocks();
        let placement = superblocks.placement_named(now, stream);
        superblocks.host(placement).staged.push_back(entry);
    }

    /// The oldest staged page of a handle, which is staged no more.
    pub(crate) fn unstage(&mut self, placement: PlacementId) -> Option<EntryId> {
        self.superblocks().host(placement).staged.pop_front()
    }

    /// The groups, the one whose turn it is first.
    #[inline]
    pub(crate) fn groups_in_turn(&self) -> impl Iterator<Item = GroupId> + use<> {
        let of_one = |superblocks: &Superblocks| (superblocks.groups.len(), superblocks.turn);
        let (count, turn) = self.superblocks.as_ref().map_or((0, GroupId::FIRST), of_one);
        in_turn(count, turn)
    }

    /// False when no handle has a unit of a group to program: too few pages are staged and they cannot be
    /// awaited, or collection has not kept up.
    #[inline]
    pub(crate) fn may_have_unit(&self, group: GroupId, may_be_awaited: bool) -> bool {
        let Some(superblocks) = &self.superblocks else { return false };
        let has_unit = may_be_awaited || superblocks.groups[group].has_whole_unit(superblocks.config.program);
        has_unit && !self.is_behind_host(group)
    }

    /// The handles of a group, the one whose turn it is first.
    pub(crate) fn handles(&self, group: GroupId) -> impl Iterator<Item = HandleId> + use<> {
        let of_one = |superblocks: &Superblocks| {
            let group = &superblocks.groups[group];
            (group.host.len(), group.turn)
        };
        let (count, turn) = self.superblocks.as_ref().map_or((0, HandleId::FIRST), of_one);
        in_turn(count, turn)
    }

    /// The pages of a handle that are staged.
    pub(crate) fn staged(&self, of: PlacementId) -> impl Iterator<Item = EntryId> {
        let superblocks = self.superblocks.iter();
        superblocks.flat_map(move |all| &all.groups[of.group()].host[of.handle()].staged).copied()
    }

    /// The next unit of a handle, if enough of its pages are staged, or some and they `are_awaited`. The next
    /// turn is that of the handle after it in its group, and of the group after that.
    pub(crate) fn next_unit_of_host(&mut self, of: PlacementId, are_awaited: bool) -> Option<PhysicalPage> {
        let superblocks = self.superblocks();
        let (staged, wanted) = (superblocks.host(of).staged.len(), superblocks.config.program as usize);
        if staged == 0 || staged < wanted && !are_awaited {
            return None;
        }
        let unit = self.take_unit(Writer::Host(of))?;
        let superblocks = self.superblocks();
        let group = &mut superblocks.groups[of.group()];
        group.turn = after(of.handle(), group.host.len());
        superblocks.turn = after(of.group(), superblocks.groups.len());
        Some(unit)
    }

    /// An empty list for the pages of a unit, and how many there can be.
    pub(crate) fn list_of_entries(&mut self) -> (Vec<EntryId>, usize) {
        let superblocks = self.superblocks();
        (superblocks.spare_entries.pop().unwrap_or_default(), superblocks.config.program as usize)
    }

    /// Programs pages of the buffer as the unit of a handle that begins at `first`.
    pub(crate) fn program_entries(
        &mut self,
        now: Time,
        placement: PlacementId,
        first: PhysicalPage,
        entries: Vec<EntryId>,
    ) {
        let (group, handle) = (placement.group(), placement.handle());
        let missing = self.missing_pages(group);
        self.superblocks().host_wrote(group, missing);
        self.program_unit(now, Lane::USER_WRITE, Unit { first, handle, pages: Pages::Host(entries) });
    }

    /// Programs the first copies for a destination of collection as the unit that begins at `first`.
    pub(super) fn program_copies(&mut self, now: Time, destination: PlacementId, first: PhysicalPage) {
        let superblocks = self.superblocks();
        let mut copies = superblocks.spare_copies.pop().unwrap_or_default();
        let group = &mut superblocks.groups[destination.group()];
        let waiting = &mut group.collection[destination.handle()].copies;
        let count = waiting.len().min(superblocks.config.program as usize);
        copies.extend(waiting.drain(..count));
        group.copying += 1;
        let handle = copies.first().map_or(destination.handle(), |copy| superblocks.handle_of(copy.source));
        self.program_unit(now, Lane::GC_WRITE, Unit { first, handle, pages: Pages::Copies(copies) });
    }

    fn program_unit(&mut self, now: Time, lane: Lane, unit: Unit) {
        let (first, handle) = (unit.first, unit.handle);
        let (lun, place) = self.layout.lun_of_page(first);
        let superblocks = self.superblocks();
        let pages = superblocks.config.program;
        let unit = superblocks.units.insert(unit);
        let mut request = MemoryRequest::internal(now, lane, Role::Unit(unit), lun, place);
        (request.physical, request.page, request.frontier) = (first, pages, to_u8(handle.get()));
        self.issue(request);
    }

    /// Gives out the next unit of a writer. `None` when it needs a free superblock and there is none for it.
    pub(super) fn take_unit(&mut self, writer: Writer) -> Option<PhysicalPage> {
        let units_each = self.superblocks().units_each;
        let frontier = match *self.superblocks().frontier(writer) {
            Some(frontier) if frontier.next < units_each => frontier,
            _ => self.open_superblock(writer)?,
        };
        let Frontier { superblock, next } = frontier;
        let superblocks = self.superblocks();
        *superblocks.frontier(writer) = Some(Frontier { superblock, next: next + 1 });
        let Progress { programs, is_full, .. } = &mut superblocks.progress[superblock];
        *programs += 1;
        *is_full = next + 1 == units_each;
        let (die, line) = (next % superblocks.dies, next / superblocks.dies);
        let offset = line * superblocks.config.program;
        let die = superblocks.groups[writer.group()].die(die);
        let plane = self.layout.plane_at(die, 0);
        Some(self.layout.page_at(self.layout.block_in_plane(superblock, plane), offset))
    }

    /// Opens a free superblock; the last is for collection, without which there would never be another.
    fn open_superblock(&mut self, writer: Writer) -> Option<Frontier> {
        let reserve = if let Writer::Host(_) = writer { self.config.gc_reserve() } else { 0 };
        let group = writer.group();
        if self.free_superblocks(group) <= reserve {
            return None;
        }
        let superblock = self.ftl.take_free_superblock(group)?;
        self.superblocks().progress[superblock] = Progress::default();
        Some(Frontier { superblock, next: 0 })
    }

    /// A unit has been programmed: copies are where they were moved to. Returns where it begins, and pages
    /// of the buffer that it holds, to be [programmed](Mapping::entry_in_unit).
    pub(crate) fn unit_programmed(
        &mut self,
        now: Time,
        unit: UnitId,
    ) -> (PhysicalPage, Option<Vec<EntryId>>) {
        let superblocks = self.superblocks();
        let Unit { first, handle, pages } = &mut superblocks.units[unit];
        let (first, handle) = (*first, *handle);
        let pages = std::mem::replace(pages, Pages::Host(Vec::new()));
        superblocks.units.release(unit);
        match pages {
            Pages::Host(entries) => {
                self.note_owner(first, entries.len(), handle);
                return (first, Some(entries));
            }
            Pages::Copies(copies) => self.copies_programmed(now, first, copies),
        }
        (first, None)
    }

    /// A page of the buffer is on flash, as one of the unit that begins at `first`. Returns its place.
    pub(crate) fn entry_in_unit(
        &mut self,
        first: PhysicalPage,
        offset: usize,
        logical: LogicalPage,
        content: u32,
    ) -> PhysicalPage {
        let physical = PhysicalPage::at(first.index() + offset);
        self.nand.program(physical, logical, content);
        self.counters.programmed_user += 1;
        physical
    }

    /// All pages of the buffer in a unit are on flash; what is left of it is padding.
    pub(crate) fn entries_programmed(&mut self, first: PhysicalPage, mut entries: Vec<EntryId>) {
        self.pad(first, entries.len());
        entries.clear();
        self.superblocks().spare_entries.push(entries);
    }

    /// Everything in a unit is where it belongs.
    pub(crate) fn end_unit(&mut self, now: Time, first: PhysicalPage) {
        let block = self.layout.block_of(first);
        let superblock = self.layout.superblock_of(block);
        self.superblocks().progress[superblock].programs -= 1;
        self.close_if_written(now, superblock);
        self.erase_all_drained(now, self.layout.group_of(block));
    }

    /// Closes a superblock of which nothing more is being or will be written.
    pub(super) fn close_if_written(&mut self, now: Time, superblock: SuperblockId) {
        let progress = &self.superblocks().progress[superblock];
        if progress.is_full && progress.programs == 0 {
            self.ftl.close_superblock(superblock, now);
        }
    }

    /// Pages of the host from `first` on hold data of a handle.
    fn note_owner(&mut self, first: PhysicalPage, pages: usize, handle: HandleId) {
        let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
        if let Some(placement) = &mut superblocks.placement {
            let block = self.layout.block_of(first);
            let of = PlacementId::new(self.layout.group_of(block), handle);
            placement.written(first, pages, self.layout.superblock_of(block), of);
        }
    }

    fn copies_programmed(&mut self, now: Time, first: PhysicalPage, mut copies: Vec<Copy>) {
        let group = self.layout.group_of(self.layout.block_of(first));
        self.group(group).copying -= 1;
        // Where the pages are now is asked of all of them at once, so that the answers overlap.
        std::hint::black_box(copies.iter().fold(0, |sum, copy| sum ^ self.ftl.touch(copy.logical)));
        for (offset, copy) in copies.iter().enumerate() {
            let physical = PhysicalPage::at(first.index() + offset);
            self.nand.program(physical, copy.logical, copy.content);
            self.counters.programmed_gc += 1;
            let victim = self.layout.superblock_of(self.layout.block_of(copy.source));
            let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
            superblocks.progress[victim].copies -= 1;
            if let Some(placement) = &mut superblocks.placement {
                let destination = self.layout.superblock_of(self.layout.block_of(physical));
                placement.moved(group, copy.source, physical, destination);
            }
            if self.ftl.is_valid(copy.source) {
                self.move_page(now, copy.logical, copy.source, physical);
            }
        }
        self.pad(first, copies.len());
        copies.clear();
        self.superblocks().spare_copies.push(copies);
    }

    /// The pages of a unit from the `from`th on hold nothing: they are used up and count as collection's.
    fn pad(&mut self, first: PhysicalPage, from: usize) {
        let program = self.superblocks().config.program as usize;
        for offset in from..program {
            let physical = PhysicalPage::at(first.index() + offset);
            self.nand.program(physical, LogicalPage::new(0), 0);
            self.counters.programmed_gc += 1;
        }
    }
}

/// All of `count` parts, `first` first.
fn in_turn<I: Id>(count: usize, first: I) -> impl Iterator<Item = I> {
    I::first(count).skip(first.index()).chain(I::first(first.index()))
}

/// The part whose turn is after that of `this`, of `count`.
fn after<I: Id>(this: I, count: usize) -> I {
    let next = this.index() + 1;
    I::at(if next == count { 0 } else { next })
}
