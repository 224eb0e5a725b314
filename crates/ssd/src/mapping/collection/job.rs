//! How far the emptying of one block has got.

use crate::flash::BlockId;

/// The emptying of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(super) victim: BlockId,
    pub(super) purpose: CollectionPurpose,
    /// The next page of the victim to look at.
    pub(super) next: u32,
    /// Pages on their way.
    pub(crate) moving: u32,
    /// The erase is committed.
    pub(super) erasing: bool,
    /// The erase waits for its chip to be quiet.
    pub(crate) deferred: bool,
    /// The next copy, or the erase, waits for a window of collection.
    pub(crate) paused: bool,
    /// It could not wait for a window.
    pub(crate) forced: bool,
    /// The host has asked for it (see [`crate::mapping::steering`]): it ends with the time that the host has
    /// given.
    pub(crate) is_hosted: bool,
}

/// Why a block is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionPurpose {
    /// To get erased pages for the host.
    Space,
    /// Wear levelling: the cells of the block are little worn and are to be used.
    Wear,
    /// The block went bad: it is emptied and not erased.
    Evacuate,
}
