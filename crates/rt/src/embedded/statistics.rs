//! Counters of a store.

use tailcut_host::kv;

/// Counters since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Lookups (gets) that found the item.
    pub hits: u64,
    /// Lookups (gets) that did not find the item.
    pub misses: u64,
    /// Writes that stored their item.
    pub sets: u64,
    /// Writes that stored nothing because their [`PutCondition`](super::PutCondition) did not hold.
    pub not_stored: u64,
    /// Deletions of items that existed.
    pub deletes: u64,
    /// Changes of the time to live of items that existed.
    pub touches: u64,
    /// Operations of any kind that failed with an error.
    pub errors: u64,
    /// Items in the store, including expired ones that have not been found to be so.
    pub items: u64,
    /// Size of the index in bytes.
    pub index_bytes: u64,
    /// Number of operations that wait for the drive at the moment.
    pub waiting: u64,
    /// Bytes that the drive holds for the store; 0 if all items are in memory.
    pub drive_bytes: u64,
    /// Counters of the storage engine since the store was opened.
    pub engine: kv::Figures,
}
