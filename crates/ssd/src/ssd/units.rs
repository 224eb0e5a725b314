//! The way of a write on a drive that maps by superblock: pages of the buffer are staged until they fill a
//! unit, which is programmed as a whole.

use super::Ssd;
use crate::flash::PhysicalPage;
use crate::probe::Probe;
use crate::request::{EntryId, RequestId, UnitId};
use crate::sets::SetId;
use tailcut_base::Time;
use tailcut_base::fdp::HandleId;

impl<P: Probe> Ssd<P> {
    /// Stages dirty pages of the buffer, as far as its threshold wants it, and programs whole units.
    pub(crate) fn stage_dirty(&mut self, now: Time) {
        while let Some(entry) = self.frontend.to_flush(SetId::FIRST)
            && self.mapping.takes_writes(SetId::FIRST)
        {
            self.frontend.issue_entry(entry);
            if self.frontend.entry(entry).whole {
                self.mapping.stage(now, entry, self.frontend.entry(entry).stream);
            } else {
                self.read_rest(now, entry, RequestId::NONE);
            }
        }
        self.program_staged(now);
    }

    /// Programs staged pages in whole units, and a partial unit when a command waits for it.
    pub(crate) fn program_staged(&mut self, now: Time) {
        while let Some((handle, first)) = self.next_unit() {
            self.program_entries(now, handle, first);
            self.mapping.collect_superblocks(now);
            self.carry_out(now);
        }
        if self.mapping.collect_for_stopped(now) {
            self.carry_out(now);
        }
        self.wake(now);
    }

    /// The next unit that can be programmed, and the handle whose pages it takes.
    fn next_unit(&mut self) -> Option<(HandleId, PhysicalPage)> {
        if !self.mapping.may_have_unit(self.frontend.may_await()) {
            return None;
        }
        self.mapping.handles().find_map(|handle| {
            let is_awaited = self.frontend.awaits(self.mapping.staged(handle));
            Some((handle, self.mapping.next_unit_of_host(handle, is_awaited)?))
        })
    }

    /// Programs the oldest staged pages of a handle as the unit that begins at `first`.
    fn program_entries(&mut self, now: Time, handle: HandleId, first: PhysicalPage) {
        let (mut entries, most) = self.mapping.list_of_entries();
        while entries.len() < most
            && let Some(entry) = self.mapping.unstage(handle)
        {
            if self.frontend.entry(entry).trimmed {
                self.forget(now, entry);
            } else {
                self.frontend.begin_program(entry);
                entries.push(entry);
            }
        }
        self.mapping.program_entries(now, handle, first, entries);
        self.carry_out(now);
    }

    /// A unit has been programmed.
    pub(crate) fn unit_programmed(&mut self, now: Time, id: RequestId, unit: UnitId) {
        let (first, entries) = self.mapping.unit_programmed(now, unit);
        for &entry in entries.iter().flatten() {
            self.account_forced(now, id, entry);
        }
        self.backend.remove(id);
        self.carry_out(now);
        if let Some(entries) = entries {
            self.entries_programmed(now, first, entries);
        }
        self.mapping.end_unit(now, first);
        self.carry_out(now);
        self.superblock_freed(now);
    }

    /// More pages may go to superblocks, and collection of these may go on.
    pub(crate) fn superblock_freed(&mut self, now: Time) {
        self.stage_dirty(now);
        self.mapping.collect_superblocks(now);
        self.carry_out(now);
    }

    fn entries_programmed(&mut self, now: Time, first: PhysicalPage, entries: Vec<EntryId>) {
        // Where the pages are now is asked of all of them at once, so that the answers overlap.
        let place = |entry: &EntryId| self.mapping.map().touch(self.frontend.entry(*entry).logical);
        std::hint::black_box(entries.iter().fold(0, |sum, entry| sum ^ place(entry)));
        for (offset, &entry) in entries.iter().enumerate() {
            let (logical, content) = (self.frontend.entry(entry).logical, self.frontend.entry(entry).base);
            let physical = self.mapping.entry_in_unit(first, offset, logical, content);
            self.entry_programmed(now, entry, physical);
        }
        self.mapping.entries_programmed(first, entries);
    }
}
