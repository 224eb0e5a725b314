//! The way of a write on a drive that maps by superblock: pages of the buffer are staged until they fill a
//! unit, which is programmed as a whole.

use super::Ssd;
use crate::flash::PhysicalPage;
use crate::frontend::buffer::{Entry, EntryState};
use crate::mapping::ftl::Location;
use crate::probe::Probe;
use crate::request::{EntryId, RequestId, Tag, UnitId};
use crate::sets::SetId;
use tailcut_base::Time;
use tailcut_base::fdp::{GroupId, PlacementId};

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
        while let Some((placement, first)) = self.next_unit() {
            self.program_entries(now, placement, first);
            self.mapping.collect_group(now, placement.group());
            self.carry_out(now);
        }
        if self.mapping.collect_for_stopped(now) {
            self.carry_out(now);
        }
        self.wake(now);
    }

    /// The next unit that can be programmed, and the handle whose pages it takes, in its group.
    fn next_unit(&mut self) -> Option<(PlacementId, PhysicalPage)> {
        let may_await = self.frontend.may_await();
        if !self.mapping.has_groups() {
            return self.next_unit_of(GroupId::FIRST, may_await);
        }
        self.mapping.groups_in_turn().find_map(|group| self.next_unit_of(group, may_await))
    }

    #[inline]
    fn next_unit_of(&mut self, group: GroupId, may_await: bool) -> Option<(PlacementId, PhysicalPage)> {
        if !self.mapping.may_have_unit(group, may_await) {
            return None;
        }
        self.mapping.handles(group).find_map(|handle| {
            let placement = PlacementId::new(group, handle);
            let is_awaited = self.frontend.awaits(self.mapping.staged(placement));
            Some((placement, self.mapping.next_unit_of_host(placement, is_awaited)?))
        })
    }

    /// Programs the oldest staged pages of a handle as the unit of its group that begins at `first`.
    fn program_entries(&mut self, now: Time, placement: PlacementId, first: PhysicalPage) {
        let (mut entries, most) = self.mapping.list_of_entries();
        let has_groups = self.mapping.has_groups();
        while entries.len() < most
            && let Some(entry) = self.mapping.unstage(placement)
        {
            let e = self.frontend.entry(entry);
            let stream = e.stream;
            if e.trimmed {
                self.forget(now, entry);
            } else if has_groups && self.mapping.group_named(stream) != placement.group() {
                // It was written again, for another group.
                self.mapping.stage(now, entry, stream);
            } else {
                self.frontend.begin_program(entry);
                entries.push(entry);
            }
        }
        self.mapping.program_entries(now, placement, first, entries);
        self.carry_out(now);
    }

    /// True if the pages of a write have room in the reclaim group that it names. Pages that the group holds
    /// already, on flash or in the buffer, need none.
    pub(crate) fn has_room_in_group(&mut self, tag: Tag) -> bool {
        let (stream, pages) = (self.frontend.tags[tag].command.stream, self.frontend.tags[tag].pages);
        let group = self.mapping.group_named(stream);
        if self.mapping.lets_in(group, u64::from(pages)) {
            return true;
        }
        let mapping = &self.mapping;
        // What is being programmed, and was written again, may be on its way to any group.
        let is_bound = |e: &Entry| {
            let may_be = e.state == EntryState::Programming && e.dirty_again;
            (may_be || mapping.group_named(e.stream) == group) && !mapping.is_in_group(e.old, group)
        };
        let buffered = self.frontend.entries().filter(|&entry| is_bound(entry)).count();
        let is_new = |page: u32| match mapping.map().lookup(self.frontend.tags[tag].page(page)) {
            Location::Unmapped => true,
            Location::Flash(physical) => !mapping.is_in_group(physical, group),
            Location::Buffer(entry) => {
                let entry = self.frontend.entry(entry);
                !is_bound(entry) && !mapping.is_in_group(entry.old, group)
            }
        };
        let new = (0..pages).filter(|&page| is_new(page)).count() as u64;
        self.mapping.count_room(group, buffered as u64);
        self.mapping.lets_in(group, new)
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
