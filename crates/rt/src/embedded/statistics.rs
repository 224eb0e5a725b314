//! What a store has done.

use tailcut_host::kv;

/// Counted since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Items looked for and found.
    pub hits: u64,
    /// Items looked for and not found.
    pub misses: u64,
    /// Items written.
    pub sets: u64,
    /// Items not written because of [`super::When`].
    pub not_stored: u64,
    /// Items deleted.
    pub deletes: u64,
    /// Items that got another time to live.
    pub touches: u64,
    /// Operations that have ended with an error.
    pub errors: u64,
    /// Items in it, those included whose time is over and that nobody has come across.
    pub items: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Operations that wait for the drive.
    pub waiting: u64,
    /// Bytes that the drive holds for the store; 0 where all is in memory.
    pub drive_bytes: u64,
    /// What the engine did.
    pub engine: kv::Figures,
}
