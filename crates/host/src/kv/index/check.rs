//! What holds of the index.

use super::Index;
use crate::check::ensure;
use crate::kv::place::Place;

impl Index {
    /// Items are counted, and found where their tags belong.
    pub(in crate::kv) fn check(&self) -> Result<(), String> {
        let items = self.places().count() as u64;
        ensure!(items == self.items, "the index has {items} items, {} counted", self.items);
        let in_memory = self.places().filter(|place| matches!(place, Place::Front { .. })).count() as u64;
        ensure!(in_memory == self.in_memory, "{in_memory} items are in memory, {} counted", self.in_memory);
        for (number, partition) in self.partitions.iter().enumerate() {
            let used = partition.slots.iter().filter(|slot| !slot.is_empty()).count();
            ensure!(
                used == partition.used as usize,
                "partition {number} has {used}, {} counted",
                partition.used
            );
            let lost = (0..partition.slots.len()).find(|&at| {
                let slot = partition.slots[at];
                !slot.is_empty() && partition.find(slot.tag()) != Some(at)
            });
            ensure!(lost.is_none(), "partition {number} does not find its slot {lost:?}");
        }
        Ok(())
    }
}
