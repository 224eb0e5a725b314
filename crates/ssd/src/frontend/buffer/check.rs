//! What holds of the buffer after every event.

use super::{Buffer, EntryState};
use crate::request::EntryId;

impl Buffer {
    /// Asserts of each set that its dirty list, its pages with room and its flush epochs agree with the
    /// entries. Walks all entries.
    pub(crate) fn check(&self) {
        for (set, share) in self.shares.iter_enumerated() {
            let entries = || self.entries.allocated().filter(|(_, entry)| entry.set == set);
            let used = entries().filter(|(_, entry)| entry.has_room).count();
            assert_eq!(share.used, used, "pages of set {set} that have room");
            assert!(self.is_write_through() || share.used <= self.capacity, "the share of set {set}");
            let (mut next, mut last, mut dirty) = (share.dirty_first, EntryId::NONE, 0);
            while next != EntryId::NONE {
                let entry = &self.entries[next];
                assert_eq!(
                    (entry.state, entry.set, entry.prev),
                    (EntryState::Dirty, set, last),
                    "entry {next}"
                );
                dirty += 1;
                (last, next) = (next, entry.next);
            }
            assert_eq!((share.dirty_last, share.dirty), (last, dirty), "the dirty list of set {set}");
            let is_dirty = |entry: EntryState| entry == EntryState::Dirty;
            assert_eq!(entries().filter(|(_, entry)| is_dirty(entry.state)).count(), dirty, "dirty entries");
            let pending: u32 = share.epochs.iter().map(|epoch| epoch.pending).sum();
            let data = entries().map(|(_, entry)| 1 + u32::from(entry.dirty_again)).sum();
            assert_eq!(pending, data, "data of set {set} that flushes wait for");
        }
    }
}
