//! Units: where each writer programs the next, and what follows from its end.

use super::{Copy, Frontier, Pages, Progress, Superblocks, Unit, Writer};
use crate::flash::{LogicalPage, LunId, PhysicalPage, SuperblockId};
use crate::mapping::Mapping;
use crate::request::{EntryId, Lane, MemoryRequest, Role, UnitId};
use tailcut_base::Time;
use tailcut_base::cast::to_u8;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;

impl Mapping {
    /// The superblocks of a drive that maps by superblock; panics on another.
    pub(crate) fn superblocks(&mut self) -> &mut Superblocks {
        self.superblocks.as_mut().expect("the drive maps by superblock")
    }

    /// A page of the buffer, written with this stream, is to be programmed with the next unit of its handle.
    pub(crate) fn stage(&mut self, now: Time, entry: EntryId, stream: u8) {
        let superblocks = self.superblocks();
        let handle = superblocks.handle_named(now, stream);
        superblocks.host[handle].staged.push_back(entry);
    }

    /// The oldest staged page of a handle, which is staged no more.
    pub(crate) fn unstage(&mut self, handle: HandleId) -> Option<EntryId> {
        self.superblocks().host[handle].staged.pop_front()
    }

    /// False when no handle has a unit to program: too few pages are staged and they cannot be awaited, or
    /// collection has not kept up.
    #[inline]
    pub(crate) fn may_have_unit(&self, may_be_awaited: bool) -> bool {
        let Some(superblocks) = &self.superblocks else { return false };
        (may_be_awaited || superblocks.has_whole_unit()) && !self.is_behind_host()
    }

    /// The handles, the one whose turn it is first.
    pub(crate) fn handles(&self) -> impl Iterator<Item = HandleId> + use<> {
        let of_one = |superblocks: &Superblocks| (superblocks.host.len(), superblocks.turn.index());
        let (count, turn) = self.superblocks.as_ref().map_or((0, 0), of_one);
        HandleId::first(count).skip(turn).chain(HandleId::first(turn))
    }

    /// The pages of a handle that are staged.
    pub(crate) fn staged(&self, handle: HandleId) -> impl Iterator<Item = EntryId> {
        self.superblocks.iter().flat_map(move |superblocks| &superblocks.host[handle].staged).copied()
    }

    /// The next unit of a handle, if enough of its pages are staged, or some and they `are_awaited`. The next
    /// turn is that of the handle after it.
    pub(crate) fn next_unit_of_host(&mut self, handle: HandleId, are_awaited: bool) -> Option<PhysicalPage> {
        let superblocks = self.superblocks();
        let (staged, wanted) = (superblocks.host[handle].staged.len(), superblocks.config.program as usize);
        if staged == 0 || staged < wanted && !are_awaited {
            return None;
        }
        let unit = self.take_unit(Writer::Host(handle))?;
        let superblocks = self.superblocks();
        let next = handle.index() + 1;
        superblocks.turn = HandleId::at(if next == superblocks.host.len() { 0 } else { next });
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
        handle: HandleId,
        first: PhysicalPage,
        entries: Vec<EntryId>,
    ) {
        let missing = self.missing_pages();
        let superblocks = self.superblocks();
        superblocks.host_wrote(superblocks.config.program, missing);
        self.program_unit(now, Lane::USER_WRITE, Unit { first, handle, pages: Pages::Host(entries) });
    }

    /// Programs the first copies for a destination of collection as the unit that begins at `first`.
    pub(super) fn program_copies(&mut self, now: Time, destination: HandleId, first: PhysicalPage) {
        let superblocks = self.superblocks();
        let mut copies = superblocks.spare_copies.pop().unwrap_or_default();
        let waiting = &mut superblocks.collection[destination].copies;
        let count = waiting.len().min(superblocks.config.program as usize);
        copies.extend(waiting.drain(..count));
        superblocks.copying += 1;
        let handle = copies.first().map_or(destination, |copy| superblocks.handle_of(copy.source));
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
        let plane = self.layout.plane_at(LunId::new(die), 0);
        Some(self.layout.page_at(self.layout.block_in_plane(superblock, plane), offset))
    }

    /// Opens a free superblock; the last is for collection, without which there would never be another.
    fn open_superblock(&mut self, writer: Writer) -> Option<Frontier> {
        let reserve = if let Writer::Host(_) = writer { self.config.gc_reserve() } else { 0 };
        if self.free_superblocks() <= reserve {
            return None;
        }
        let superblock = self.ftl.take_free_superblock()?;
        self.superblocks().progress[superblock] = Progress::default();
        Some(Frontier { superblock, next: 0 })
    }

    /// Superblocks that are free.
    pub(crate) fn free_superblocks(&self) -> u32 {
        self.ftl.free_blocks(self.layout.plane_at(LunId::new(0), 0)) / self.layout.blocks_each()
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
        let superblock = self.layout.superblock_of(self.layout.block_of(first));
        self.superblocks().progress[superblock].programs -= 1;
        self.close_if_written(now, superblock);
        self.erase_all_drained(now);
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
            let superblock = self.layout.superblock_of(self.layout.block_of(first));
            for page in first.up_to(PhysicalPage::at(first.index() + pages)) {
                placement.written(page, superblock, handle);
            }
        }
    }

    fn copies_programmed(&mut self, now: Time, first: PhysicalPage, mut copies: Vec<Copy>) {
        self.superblocks().copying -= 1;
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
                placement.moved(copy.source, physical, destination);
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
