//! The way of a page from the buffer to a superblock, together with the others of its unit.

use super::{Copy, Frontier, Pages, Progress, Superblocks, Unit, Writer};
use crate::controller::buffer::EntryState;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::probe::Probe;
use crate::request::{EntryId, Lane, RequestId, Role, UnitId};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::ids::Id;

impl<P: Probe> Ssd<P> {
    /// The superblocks of a drive that maps by superblock; panics on another.
    pub(crate) fn superblocks(&mut self) -> &mut Superblocks {
        self.superblocks.as_mut().expect("the drive maps by superblock")
    }

    /// Stages dirty pages of the buffer, as far as its threshold wants it, and programs whole units.
    pub(crate) fn stage_dirty(&mut self, now: Time) {
        while let Some(entry) = self.buffer.to_flush(SetId::FIRST)
            && self.takes_writes(SetId::FIRST)
        {
            self.buffer.leave_line(entry);
            if self.buffer[entry].whole {
                self.superblocks().staged.push_back(entry);
            } else {
                self.read_rest(now, entry, RequestId::NONE);
            }
        }
        self.program_staged(now);
    }

    /// Stages a page that was issued by itself.
    pub(crate) fn stage(&mut self, now: Time, entry: EntryId) {
        self.superblocks().staged.push_back(entry);
        self.program_staged(now);
    }

    /// Programs staged pages in whole units, and a partial unit when a command waits for it.
    pub(super) fn program_staged(&mut self, now: Time) {
        loop {
            let superblocks = self.superblocks();
            let (staged, wanted) = (superblocks.staged.len(), superblocks.config.program as usize);
            if staged == 0 || staged < wanted && !self.is_awaited() {
                break;
            }
            if self.is_behind_host() {
                break;
            }
            let Some(first) = self.take_unit(Writer::Host) else { break };
            self.program_entries(now, first);
            self.collect_superblocks(now);
        }
        self.wake(now);
    }

    /// True when a command waits for what is staged to be durable.
    fn is_awaited(&self) -> bool {
        let staged = self.superblocks.iter().flat_map(|superblocks| &superblocks.staged);
        !self.buffer.capacitor
            && (self.buffer.awaits_flush(SetId::FIRST)
                || staged.into_iter().any(|&entry| self.buffer[entry].waiters != RequestId::NONE))
    }

    /// Programs the oldest staged pages as the unit that begins at `first`.
    fn program_entries(&mut self, now: Time, first: PhysicalPage) {
        let superblocks = self.superblocks();
        let mut entries = superblocks.spare_entries.pop().unwrap_or_default();
        let most = superblocks.config.program as usize;
        while entries.len() < most
            && let Some(entry) = self.superblocks().staged.pop_front()
        {
            if self.buffer[entry].trimmed {
                self.forget(now, entry);
                continue;
            }
            debug_assert_eq!(self.buffer[entry].state, EntryState::Issued);
            self.buffer.begin_program(entry);
            entries.push(entry);
        }
        let missing = self.missing_pages();
        self.superblocks().host_wrote(most as u32, missing);
        self.program_unit(now, Lane::USER_WRITE, Unit { first, pages: Pages::Host(entries) });
    }

    /// Programs the first copies of collection as the unit that begins at `first`.
    pub(super) fn program_copies(&mut self, now: Time, first: PhysicalPage) {
        let superblocks = self.superblocks();
        let mut copies = superblocks.spare_copies.pop().unwrap_or_default();
        let count = superblocks.copies.len().min(superblocks.config.program as usize);
        copies.extend(superblocks.copies.drain(..count));
        superblocks.copying += 1;
        self.program_unit(now, Lane::GC_WRITE, Unit { first, pages: Pages::Copies(copies) });
    }

    fn program_unit(&mut self, now: Time, lane: Lane, unit: Unit) {
        let (lun, place) = self.lun_of(unit.first);
        let first = unit.first;
        let superblocks = self.superblocks();
        let pages = superblocks.config.program;
        let unit = superblocks.units.insert(unit);
        let mut request = self.internal(now, lane, Role::Unit(unit), lun, place);
        (request.physical, request.page) = (first, pages);
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_own(id);
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
        let reserve = if writer == Writer::Host { self.config.gc_reserve() } else { 0 };
        if self.free_superblocks() <= reserve {
            return None;
        }
        let superblock = self.ftl.take_free_superblock()?;
        self.superblocks().progress[superblock] = Progress::default();
        Some(Frontier { superblock, next: 0 })
    }

    /// Superblocks that are free.
    pub(crate) fn free_superblocks(&self) -> u32 {
        self.ftl.free_blocks(self.layout.plane_at(LunId::new(0), 0))
    }

    /// A unit has been programmed.
    pub(crate) fn unit_programmed(&mut self, now: Time, id: RequestId, unit: UnitId) {
        self.requests.remove(id);
        let superblocks = self.superblocks();
        let Unit { first, pages } = &mut superblocks.units[unit];
        let first = *first;
        let pages = std::mem::replace(pages, Pages::Host(Vec::new()));
        superblocks.units.release(unit);
        match pages {
            Pages::Host(entries) => self.entries_programmed(now, first, entries),
            Pages::Copies(copies) => self.copies_programmed(now, first, copies),
        }
        let superblock = self.layout.superblock_of(self.layout.block_of(first));
        let progress = &mut self.superblocks().progress[superblock];
        progress.programs -= 1;
        if progress.is_full && progress.programs == 0 {
            self.ftl.close_superblock(superblock, now);
        }
        self.erase_all_drained(now);
        self.stage_dirty(now);
        self.collect_superblocks(now);
    }

    fn entries_programmed(&mut self, now: Time, first: PhysicalPage, mut entries: Vec<EntryId>) {
        let pages = |entry: &EntryId| self.ftl.touch(self.buffer[*entry].logical);
        std::hint::black_box(entries.iter().fold(0, |sum, entry| sum ^ pages(entry)));
        for (offset, &entry) in entries.iter().enumerate() {
            let physical = PhysicalPage::at(first.index() + offset);
            let (logical, content) = (self.buffer[entry].logical, self.buffer[entry].base);
            self.nand.program(physical, logical, content);
            self.counters.programmed_user += 1;
            self.entry_programmed(now, entry, physical);
        }
        self.pad(first, entries.len());
        entries.clear();
        self.superblocks().spare_entries.push(entries);
    }

    fn copies_programmed(&mut self, now: Time, first: PhysicalPage, mut copies: Vec<Copy>) {
        self.superblocks().copying -= 1;
        // Where the pages are now is asked of all of them at once, so that the answers overlap.
        std::hint::black_box(copies.iter().fold(0, |sum, copy| sum ^ self.ftl.touch(copy.logical)));
        for (offset, copy) in copies.iter().enumerate() {
            let physical = PhysicalPage::at(first.index() + offset);
            self.nand.program(physical, copy.logical, copy.content);
            self.counters.programmed_gc += 1;
            let superblock = self.layout.superblock_of(self.layout.block_of(copy.source));
            self.superblocks().progress[superblock].copies -= 1;
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
