//! Pages of the buffer on their way to superblocks, unit by unit.

use super::Ssd;
use crate::flash::PhysicalPage;
use crate::frontend::buffer::EntryState;
use crate::probe::Probe;
use crate::request::{EntryId, RequestId, UnitId, WaiterId};
use crate::sets::SetId;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// Stages dirty pages of the buffer, as far as its threshold wants it, and programs whole units.
    pub(super) fn stage_dirty(&mut self, now: Time) {
        while let Some(entry) = self.frontend.buffer.to_flush(SetId::FIRST)
            && self.takes_writes(SetId::FIRST)
        {
            self.frontend.buffer.leave_line(entry);
            if self.frontend.buffer[entry].whole {
                self.mapping.stage(entry);
            } else {
                self.read_rest(now, entry, RequestId::NONE);
            }
        }
        self.program_staged(now);
    }

    /// Stages a page that was issued by itself.
    pub(super) fn stage(&mut self, now: Time, entry: EntryId) {
        self.mapping.stage(entry);
        self.program_staged(now);
    }

    /// Programs staged pages in whole units, and a partial unit when a command waits for it.
    fn program_staged(&mut self, now: Time) {
        loop {
            let is_awaited = self.is_awaited();
            let Some(first) = self.mapping.next_unit_of_host(is_awaited) else { break };
            self.program_entries(now, first);
            self.mapping.collect_superblocks(now);
            self.carry_out(now);
        }
        self.wake(now);
    }

    /// True when a command waits for what is staged to be durable.
    fn is_awaited(&self) -> bool {
        let buffer = &self.frontend.buffer;
        !buffer.capacitor
            && (buffer.awaits_flush(SetId::FIRST)
                || self.mapping.staged().any(|entry| buffer[entry].waiters != WaiterId::NONE))
    }

    /// Programs the oldest staged pages as the unit that begins at `first`.
    fn program_entries(&mut self, now: Time, first: PhysicalPage) {
        let (mut entries, most) = self.mapping.list_of_entries();
        while entries.len() < most
            && let Some(entry) = self.mapping.unstage()
        {
            if self.frontend.buffer[entry].trimmed {
                self.forget(now, entry);
                continue;
            }
            debug_assert_eq!(self.frontend.buffer[entry].state, EntryState::Issued);
            self.frontend.buffer.begin_program(entry);
            entries.push(entry);
        }
        self.mapping.program_entries(now, first, entries);
        self.carry_out(now);
    }

    /// A unit has been programmed.
    pub(super) fn unit_programmed(&mut self, now: Time, id: RequestId, unit: UnitId) {
        self.backend.remove(id);
        let (first, entries) = self.mapping.unit_programmed(now, unit);
        self.carry_out(now);
        if let Some(entries) = entries {
            self.entries_programmed(now, first, entries);
        }
        self.mapping.end_unit(now, first);
        self.carry_out(now);
        self.stage_dirty(now);
        self.mapping.collect_superblocks(now);
        self.carry_out(now);
    }

    fn entries_programmed(&mut self, now: Time, first: PhysicalPage, entries: Vec<EntryId>) {
        // Where the pages are now is asked of all of them at once, so that the answers overlap.
        let place = |entry: &EntryId| self.mapping.ftl.touch(self.frontend.buffer[*entry].logical);
        std::hint::black_box(entries.iter().fold(0, |sum, entry| sum ^ place(entry)));
        for (offset, &entry) in entries.iter().enumerate() {
            let (logical, content) = (self.frontend.buffer[entry].logical, self.frontend.buffer[entry].base);
            let physical = self.mapping.entry_in_unit(first, offset, logical, content);
            self.entry_programmed(now, entry, physical);
        }
        self.mapping.entries_programmed(first, entries);
    }

    /// A sensing of the superblock that is being emptied has been read.
    pub(super) fn row_read(&mut self, now: Time, id: RequestId) {
        let first = self.backend.request(id).physical;
        self.backend.remove(id);
        self.mapping.row_read(now, first);
        self.carry_out(now);
        self.program_staged(now);
    }

    /// A block of a superblock has been erased.
    pub(super) fn superblock_block_erased(&mut self, now: Time, id: RequestId) {
        let block = self.layout.block_of(self.backend.request(id).physical);
        self.backend.remove(id);
        let is_free = self.mapping.superblock_block_erased(now, block);
        self.carry_out(now);
        if is_free {
            self.stage_dirty(now);
            self.mapping.collect_superblocks(now);
            self.carry_out(now);
        }
    }
}
