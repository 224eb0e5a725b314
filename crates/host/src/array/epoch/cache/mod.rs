//! The block cache: blocks whose copies on the drives may differ. Its content takes precedence.

mod check;

use super::descriptor::{Mark, SlotId};
use super::geometry::Geometry;
use crate::Block;
use crate::array::reads::MOST_COPIES;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::fdp::HandleId;
use tailcut_base::id;
use tailcut_base::ids::Pool;
use tailcut_base::table::Table;

id! {
    /// A block in the cache.
    pub struct EntryId;
}

/// A copy of a block in the cache: entry and copy number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyId(u32);

impl CopyId {
    /// Copy `copy` of an entry.
    pub(super) fn new(entry: EntryId, copy: usize) -> CopyId {
        CopyId(entry.get() * to_u32(MOST_COPIES) + to_u32(copy))
    }

    /// The entry.
    pub(super) fn entry(self) -> EntryId {
        EntryId::new(self.0 / to_u32(MOST_COPIES))
    }

    /// The copy number.
    pub(super) fn copy(self) -> usize {
        self.0 as usize % MOST_COPIES
    }
}

/// The content of a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CachedContent<B> {
    /// Unknown: the drives have the content, and a read is in flight.
    Unknown,
    /// Zeros: it was trimmed.
    Zeros,
    /// It was written.
    Data(B),
    /// It is lost: blocks written in its place must not pass for data.
    Lost,
}

impl<B: Block> CachedContent<B> {
    /// Checksum of the content.
    pub(super) fn checksum(&self) -> u32 {
        match self {
            CachedContent::Data(block) => block.checksum(),
            CachedContent::Lost => 1,
            CachedContent::Unknown | CachedContent::Zeros => B::default().checksum(),
        }
    }

    /// The content as returned by a read, if known.
    pub(super) fn known(&self) -> Option<B> {
        match self {
            CachedContent::Unknown | CachedContent::Lost => None,
            CachedContent::Zeros => Some(B::default()),
            CachedContent::Data(block) => Some(block.clone()),
        }
    }
}

/// State of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copy {
    /// True while the copy waits in the dirty list of its drive to be written.
    pub is_queued: bool,
    /// The version that is written but not durable yet; 0 for none.
    pub sent: u64,
    /// Version and checksum of the copy that is durable on its drive.
    pub durable: Mark,
    /// The entry for the copy in a descriptor on its drive; `None` if no descriptor in use lists it.
    pub listing: Option<Listing>,
}

/// A listing of a copy on its drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing {
    /// The descriptor slot in which the drive has listed the copy.
    pub slot: SlotId,
    /// Version and checksum that the descriptor announces.
    pub mark: Mark,
    /// Version and checksum that the drive held when the descriptor was written.
    pub before: Mark,
}

/// A block in the cache.
#[derive(Clone, Debug)]
pub(super) struct Entry<B> {
    /// Block number of the host.
    pub block: u64,
    /// Version; versions count the changes of all blocks.
    pub version: u64,
    /// The content of the block, or why there is none.
    pub held: CachedContent<B>,
    /// The handle of the drives that it was written with last.
    handle: HandleId,
    /// Number of holds that keep it in the cache.
    pub holds: u32,
    /// Outstanding reads of its content on drives: it must not be overwritten meanwhile.
    pub readers: u32,
    /// It counts as dirty: from joining a dirty list until it is on all drives.
    is_dirty: bool,
    /// State of each copy of the block, by copy number; those beyond the number of copies keep the default.
    pub copies: [Copy; MOST_COPIES],
}

impl<B> Entry<B> {
    /// True if a copy is durable in the current version and no write of it is in flight or queued.
    pub(super) fn is_current(&self, copy: usize) -> bool {
        let copy = &self.copies[copy];
        !copy.is_queued && copy.sent == 0 && copy.durable.version == self.version
    }

    /// The handle of the drives that it was written with last.
    pub(super) fn handle(&self) -> HandleId {
        self.handle
    }

    /// True if the block has only been read: all drives agree.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.version == 0 && !self.is_dirty
    }
}

/// All cached blocks.
#[derive(Debug)]
pub(super) struct Cache<B> {
    entries: Pool<EntryId, Entry<B>>,
    /// For each block of the host, its entry number plus 1; 0 for none.
    index: Table<u32>,
    version: u64,
    dirty: usize,
}

impl<B: Block> Cache<B> {
    /// An empty cache; its versions are higher than `version`.
    pub(super) fn new(shape: &Geometry, version: u64) -> Cache<B> {
        Cache { entries: Pool::new(), index: Table::new(to_usize(shape.blocks())), version, dirty: 0 }
    }

    /// Number of blocks that wait to be written or are being written.
    pub(super) fn dirty(&self) -> usize {
        self.dirty
    }

    /// Marks an entry dirty.
    pub(super) fn soil(&mut self, id: EntryId) {
        let entry = &mut self.entries[id];
        self.dirty += usize::from(!entry.is_dirty);
        entry.is_dirty = true;
    }

    /// The entry of a block.
    #[inline]
    pub(super) fn find(&self, block: u64) -> Option<EntryId> {
        self.index[to_usize(block)].checked_sub(1).map(EntryId::new)
    }

    /// The entry of a block; a new one has unknown content, identical on all drives.
    pub(super) fn enter(&mut self, block: u64) -> EntryId {
        if let Some(id) = self.find(block) {
            return id;
        }
        // A released entry was reset when it left.
        let id = self.entries.allocate(|| Entry {
            block,
            version: 0,
            held: CachedContent::Unknown,
            handle: HandleId::FIRST,
            holds: 0,
            readers: 0,
            is_dirty: false,
            copies: [Copy::default(); MOST_COPIES],
        });
        self.entries[id].block = block;
        self.index[to_usize(block)] = id.get() + 1;
        id
    }

    /// Sets new content for an entry.
    pub(super) fn change(&mut self, id: EntryId, held: CachedContent<B>) {
        self.version += 1;
        let entry = &mut self.entries[id];
        (entry.held, entry.version) = (held, self.version);
    }

    /// The content of an entry is placed by a handle of the drives.
    pub(super) fn place_by(&mut self, id: EntryId, handle: HandleId) {
        self.entries[id].handle = handle;
    }

    /// Marks an entry clean.
    pub(super) fn clean(&mut self, id: EntryId) {
        let entry = &mut self.entries[id];
        self.dirty -= usize::from(std::mem::take(&mut entry.is_dirty));
    }

    /// Removes an entry: all drives have its content.
    pub(super) fn leave(&mut self, id: EntryId) {
        let entry = &mut self.entries[id];
        assert!(
            !entry.is_dirty && entry.holds == 0 && entry.readers == 0,
            "it is clean, and nobody wants it"
        );
        if entry.version > 0 {
            // Most entries have only been read: nothing to reset.
            (entry.version, entry.held, entry.copies) =
                (0, CachedContent::Unknown, [Copy::default(); MOST_COPIES]);
            entry.handle = HandleId::FIRST;
        }
        self.index[to_usize(entry.block)] = 0;
        self.entries.release(id);
    }

    /// True if a block is dirty.
    pub(super) fn is_dirty(&self, block: u64) -> bool {
        self.find(block).is_some_and(|id| self.entries[id].is_dirty)
    }

    /// An entry.
    #[inline]
    pub(super) fn get(&self, id: EntryId) -> &Entry<B> {
        &self.entries[id]
    }

    /// An entry, mutable.
    #[inline]
    pub(super) fn get_mut(&mut self, id: EntryId) -> &mut Entry<B> {
        &mut self.entries[id]
    }

    /// A copy, mutable.
    #[inline]
    pub(super) fn copy(&mut self, id: CopyId) -> &mut Copy {
        &mut self.entries[id.entry()].copies[id.copy()]
    }

    /// The ids of all entries, including removed ones.
    pub(super) fn ids(&self) -> impl Iterator<Item = EntryId> + use<B> {
        self.entries.ids()
    }

    /// True if an entry is in use.
    pub(super) fn is_in(&self, id: EntryId) -> bool {
        self.find(self.entries[id].block) == Some(id)
    }
}
