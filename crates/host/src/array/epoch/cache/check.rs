//! What holds of the cached blocks.

use super::{Cache, EntryId};
use crate::Block;
use crate::check::ensure;

impl<B: Block> Cache<B> {
    /// Exactly the entries in use are found by their blocks, and the dirty ones are counted.
    pub(in crate::array::epoch) fn check(&self) -> Result<(), String> {
        let mut dirty = 0;
        for (id, entry) in self.entries.allocated() {
            let found = self.find(entry.block);
            ensure!(found == Some(id), "block {} is in entry {id}, and {found:?} is found", entry.block);
            dirty += usize::from(entry.is_dirty);
            let newest = entry.copies.iter().map(|copy| copy.sent.max(copy.durable.version)).max();
            ensure!(newest <= Some(entry.version), "block {} has a copy that is newer than it", entry.block);
            let is_queued = entry.copies.iter().any(|copy| copy.is_queued || copy.sent > 0);
            ensure!(
                entry.is_dirty || !is_queued,
                "block {} is clean, and a copy is to be written",
                entry.block
            );
        }
        ensure!(dirty == self.dirty, "{dirty} blocks are dirty, {} counted", self.dirty);
        let found = (0..self.index.len() as u64).filter(|&block| self.find(block).is_some()).count();
        ensure!(found == self.entries.len(), "{found} blocks are found, {} cached", self.entries.len());
        Ok(())
    }

    /// The entries in use.
    pub(in crate::array::epoch) fn used(&self) -> impl Iterator<Item = (EntryId, &super::Entry<B>)> {
        self.entries.allocated()
    }
}
