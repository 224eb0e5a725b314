//! Pages in the buffer, as the drive's loop sees them.

use super::Frontend;
use super::buffer::{Entry, EntryState};
use crate::flash::PhysicalPage;
use crate::request::{EntryId, RequestId, Tag};
use crate::sets::SetId;

impl Frontend {
    /// An entry of the buffer.
    #[inline(always)]
    pub(crate) fn entry(&self, entry: EntryId) -> &Entry {
        &self.buffer[entry]
    }

    /// All entries of the buffer.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.buffer.entries()
    }

    /// The set of an entry's logical page.
    #[inline(always)]
    pub(crate) fn set_of_entry(&self, entry: EntryId) -> SetId {
        self.buffer.set_of(entry)
    }

    /// Reads a page that is in the buffer. Returns its content.
    #[inline(always)]
    pub(crate) fn read_buffered(&mut self, entry: EntryId) -> u32 {
        self.buffer.read_hits += 1;
        self.buffer[entry].content()
    }

    /// A page of a write changes an entry that was there before it.
    #[inline(always)]
    pub(crate) fn rewrite(&mut self, tag: Tag, page: u32, entry: EntryId) {
        self.buffer.write_hits += 1;
        self.merge(tag, page, entry);
    }

    /// The oldest entry of a set that should go to flash now, if there is one.
    #[inline(always)]
    pub(crate) fn to_flush(&self, set: SetId) -> Option<EntryId> {
        self.buffer.to_flush(set)
    }

    /// A dirty entry goes its way to flash.
    #[inline(always)]
    pub(crate) fn issue_entry(&mut self, entry: EntryId) {
        self.buffer.leave_line(entry);
    }

    /// The data of a write in write-through mode is here, and its entry issued. True if its page can be
    /// programmed: no rest of it has to be read.
    pub(crate) fn entry_arrived(&mut self, entry: EntryId) -> bool {
        let e = &mut self.buffer[entry];
        e.state = EntryState::Issued;
        e.whole || e.trimmed
    }

    /// The rest of a page that was written in part has been read.
    pub(crate) fn complete_entry(&mut self, entry: EntryId) {
        self.buffer[entry].whole = true;
    }

    /// The program of an issued entry begins. Returns what will be on flash.
    #[inline(always)]
    pub(crate) fn begin_program(&mut self, entry: EntryId) -> u32 {
        self.buffer.begin_program(entry)
    }

    /// Replaces the reads that wait for the program of an entry by others. Returns them.
    pub(crate) fn replace_readers(&mut self, entry: EntryId, readers: RequestId) -> RequestId {
        std::mem::replace(&mut self.buffer[entry].readers, readers)
    }

    /// Takes the version on flash from an entry, if there is one: it is obsolete.
    pub(crate) fn take_old_version(&mut self, entry: EntryId) -> Option<PhysicalPage> {
        self.buffer.take_old(entry)
    }

    /// The version on flash of an entry has moved.
    pub(crate) fn old_version_moved(&mut self, entry: EntryId, to: PhysicalPage) {
        self.buffer[entry].old = to;
    }

    /// True when writes complete only on flash.
    #[inline(always)]
    pub(crate) fn is_write_through(&self) -> bool {
        self.buffer.is_write_through()
    }

    /// True when the buffer survives a power cut.
    #[inline(always)]
    pub(crate) fn has_capacitor(&self) -> bool {
        self.buffer.capacitor
    }

    /// True while at least seven eighths of the share of a set are in use.
    pub(crate) fn is_nearly_full(&self, set: SetId) -> bool {
        self.buffer.is_nearly_full(set)
    }

    /// True while dirty entries of a set may stay where they are.
    #[inline(always)]
    pub(crate) fn can_wait(&self, set: SetId) -> bool {
        self.buffer.can_wait(set)
    }

    /// Entries of a set that are on their way to flash, or not filled yet.
    pub(crate) fn entries_under_way(&self, set: SetId) -> usize {
        self.buffer.not_dirty(set)
    }

    /// Pages of a set in the buffer.
    pub(crate) fn buffered_pages(&self, set: SetId) -> usize {
        self.buffer.pages(set)
    }

    /// Pages of any set that have room at once.
    pub(crate) fn room(&self) -> u64 {
        self.buffer.room()
    }

    /// Pages read from the buffer.
    pub(crate) fn buffer_read_hits(&self) -> u64 {
        self.buffer.read_hits
    }

    /// Pages of writes merged into an entry that was there already.
    pub(crate) fn buffer_write_hits(&self) -> u64 {
        self.buffer.write_hits
    }
}
