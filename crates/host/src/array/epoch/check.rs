//! What holds of an array with token groups.

use super::Epochs;
use super::cache::CopyId;
use crate::Block;
use crate::check::ensure;
use std::collections::BTreeMap;
use tailcut_base::ids::IdVec;

impl<B: Block> Epochs<B> {
    /// The cache and its index agree; a copy is in the dirty list of its drive exactly if it is queued; a
    /// descriptor slot is in use exactly while copies rely on it; batches are counted at their drives.
    ///
    /// # Errors
    /// The first invariant that is broken, with the drive, copy or block.
    pub fn check(&self) -> Result<(), String> {
        self.cache.check()?;
        self.check_lists()?;
        self.check_listings()?;
        let mut batches: IdVec<_, u32> = IdVec::filled(self.lines.len(), 0);
        self.batches.allocated().for_each(|(_, batch)| batches[batch.drive()] += 1);
        for (drive, line) in self.lines.iter_enumerated() {
            let (counted, there) = (line.batches, batches[drive]);
            ensure!(counted == there, "drive {drive} has {there} batches, {counted} counted");
            ensure!(line.quota <= line.len(), "drive {drive} may write {} of {}", line.quota, line.len());
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<(), String> {
        let mut queued = 0;
        for (id, entry) in self.cache.used() {
            queued += entry.copies.iter().filter(|copy| copy.is_queued).count();
            let copies = self.shape.copies.count;
            let is_beyond =
                entry.copies[copies..].iter().any(|copy| copy.is_queued || copy.listing.is_some());
            ensure!(!is_beyond, "entry {id} has more than {copies} copies");
        }
        let mut listed = 0;
        for (drive, line) in self.lines.iter_enumerated() {
            for copy in line.copies() {
                let entry = self.cache.get(copy.entry());
                ensure!(entry.copies[copy.copy()].is_queued, "{copy:?} waits for drive {drive} unnoticed");
                let place = self.shape.places(entry.block)[copy.copy()];
                ensure!(place.drive == drive, "{copy:?} waits for drive {drive}, and belongs elsewhere");
                listed += 1;
            }
        }
        ensure!(queued == listed, "{queued} copies are queued, {listed} are in lists");
        Ok(())
    }

    fn check_listings(&self) -> Result<(), String> {
        let mut live: IdVec<_, BTreeMap<_, u32>> = IdVec::filled(self.lines.len(), BTreeMap::new());
        for (id, entry) in self.cache.used() {
            let places = self.shape.places(entry.block);
            for (copy, place) in places.iter().enumerate() {
                let Some(listing) = &entry.copies[copy].listing else { continue };
                let is_there =
                    self.lines[place.drive].ring.listed(listing.slot).contains(&CopyId::new(id, copy));
                ensure!(is_there, "block {} is not listed in slot {}", entry.block, listing.slot);
                *live[place.drive].entry(listing.slot).or_default() += 1;
            }
        }
        for (drive, line) in self.lines.iter_enumerated() {
            line.ring.check(&live[drive]).map_err(|error| format!("drive {drive}: {error}"))?;
        }
        Ok(())
    }

    /// Nothing waits to be written or to become durable, and no epoch, batch or pass is in progress.
    ///
    /// # Errors
    /// The first thing that is still in progress or waits, with its count.
    pub fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.batches.is_empty(), "{} batches are in progress", self.batches.len());
        ensure!(self.works.is_empty(), "{} works are in progress", self.works.len());
        ensure!(self.walks.is_empty(), "{} passes are in progress", self.walks.len());
        if self.has_failed {
            return Ok(());
        }
        ensure!(self.waiters.is_empty(), "{} requests wait to be durable", self.waiters.len());
        ensure!(self.cache.dirty() == 0, "{} blocks are dirty", self.cache.dirty());
        for (drive, line) in self.lines.iter_enumerated() {
            ensure!(line.len() == 0, "{} copies wait for drive {drive}", line.len());
            ensure!(line.reads == 0, "{} reads of drive {drive} are in progress", line.reads);
            ensure!(line.written.is_empty(), "what drive {drive} has written is not durable");
        }
        for (_, entry) in self.cache.used() {
            ensure!(entry.holds == 0 && entry.readers == 0, "block {} is held in the cache", entry.block);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::array::check::tests::Served;
    use crate::array::epoch::cache::CachedContent;
    use crate::array::{Array, Kind, LayoutKind};

    fn epochs(array: &mut Array<Fingerprint>) -> &mut Epochs<Fingerprint> {
        match &mut array.layout {
            Kind::Epochs(epochs) => epochs,
            _ => panic!("it has epochs"),
        }
    }

    fn finds(fault: impl FnOnce(&mut Epochs<Fingerprint>), expected: &str) {
        Served::rested(LayoutKind::Epochs).finds(|array| fault(epochs(array)), expected);
    }

    #[test]
    fn a_copy_that_is_never_written_is_found() {
        let dirty = |epochs: &mut Epochs<_>| {
            let id = epochs.cache.enter(3);
            epochs.cache.change(id, CachedContent::Zeros);
            epochs.cache.soil(id);
            CopyId::new(id, 0)
        };
        let copy_of = |epochs: &mut Epochs<_>, change: fn(&mut crate::array::epoch::cache::Copy)| {
            let id = dirty(epochs);
            change(epochs.cache.copy(id));
        };
        finds(|epochs| _ = dirty(epochs), "1 blocks are dirty");
        finds(|epochs| copy_of(epochs, |copy| copy.is_queued = true), "are in lists");
        finds(|epochs| copy_of(epochs, |copy| copy.sent = u64::MAX), "newer");
    }

    #[test]
    fn a_batch_that_its_drive_does_not_know_is_found() {
        finds(|epochs| epochs.lines.as_mut_slice()[1].batches += 1, "drive 1 has 0 batches, 1 counted");
    }

    #[test]
    fn a_descriptor_slot_that_is_never_given_back_is_found() {
        let leak = |epochs: &mut Epochs<_>| {
            let ring = &mut epochs.lines.as_mut_slice()[0].ring;
            let slot = ring.take().expect("some are free");
            ring.list(slot, CopyId::new(crate::array::epoch::cache::EntryId::new(0), 0));
        };
        finds(leak, "counts 1 copies of 0");
    }
}
