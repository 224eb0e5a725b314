//! Counters of a store.

use tailcut_host::kv;

/// Counters since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Lookups that found the item.
    pub hits: u64,
    /// Lookups that did not find the item.
    pub misses: u64,
    /// Items written.
    pub sets: u64,
    /// Items not written because of their condition [`super::PutCondition`].
    pub not_stored: u64,
    /// Items deleted.
    pub deletes: u64,
    /// Changes of an item's time to live.
    pub touches: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Items in the store, including expired ones that have not been found to be so.
    pub items: u64,
    /// Size of the index in bytes.
    pub index_bytes: u64,
    /// Operations waiting for the drive.
    pub waiting: u64,
    /// Bytes that the drive holds for the store; 0 if all items are in memory.
    pub drive_bytes: u64,
    /// Counters of the engine.
    pub engine: kv::Figures,
}
