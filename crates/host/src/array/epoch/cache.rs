//! The block cache: blocks whose copies on the drives do not agree yet. What is in it is the truth.

use super::descriptor::Mark;
use super::geometry::Geometry;
use crate::Block;
use crate::array::reads::MOST_COPIES;
use tailcut_base::table::Table;

/// A copy of a block in the cache: its entry, and which of its copies it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyId(pub u32);

impl CopyId {
    /// The name of a copy.
    pub fn new(entry: u32, copy: usize) -> CopyId {
        CopyId(entry * MOST_COPIES as u32 + copy as u32)
    }

    /// The entry.
    pub fn entry(self) -> u32 {
        self.0 / MOST_COPIES as u32
    }

    /// Which of its copies.
    pub fn copy(self) -> usize {
        self.0 as usize % MOST_COPIES
    }
}

/// The content of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Held<B> {
    /// Not known: what is on the drives counts, which somebody is reading.
    Unknown,
    /// It was trimmed.
    Zeros,
    /// It was written.
    Data(B),
    /// It is lost: what is written in its place must not pass for data.
    Lost,
}

impl<B: Block> Held<B> {
    /// A checksum of it.
    pub fn checksum(&self) -> u32 {
        match self {
            Held::Data(block) => block.checksum(),
            Held::Lost => 1,
            Held::Unknown | Held::Zeros => B::default().checksum(),
        }
    }

    /// What a read returns, where it is known.
    pub fn known(&self) -> Option<B> {
        match self {
            Held::Unknown | Held::Lost => None,
            Held::Zeros => Some(B::default()),
            Held::Data(block) => Some(block.clone()),
        }
    }
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copy {
    /// It stands in the line of its drive.
    pub is_queued: bool,
    /// The version that is being written and not durable yet; 0 for none.
    pub sent: u64,
    /// What is durable there.
    pub durable: Mark,
    /// Where its drive has listed it; none if it has not.
    pub listing: Option<Listing>,
}

/// Where a drive has listed a copy.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// The slot of its descriptors.
    pub slot: u32,
    /// As what.
    pub mark: Mark,
    /// What was there.
    pub before: Mark,
}

/// A block in the cache.
#[derive(Clone, Debug)]
pub struct Entry<B> {
    /// Of the host.
    pub block: u64,
    /// Counts the changes of all blocks.
    pub version: u64,
    /// Its content.
    pub held: Held<B>,
    /// Those who want it to stay.
    pub holds: u32,
    /// Reads of what is on the drives that have not ended: it is not written over meanwhile.
    pub readers: u32,
    /// It counts as dirty: from the moment that it joins a line until it leaves.
    is_dirty: bool,
    /// Its copies; there may be fewer.
    pub copies: [Copy; MOST_COPIES],
}

impl<B> Entry<B> {
    /// True if a copy is durable as it is here, and no write of it is under way or to come.
    pub fn is_current(&self, copy: usize) -> bool {
        let copy = &self.copies[copy];
        !copy.is_queued && copy.sent == 0 && copy.durable.version == self.version
    }

    /// It has only been read: all drives have the same.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.version == 0 && !self.is_dirty
    }
}

/// All of them.
#[derive(Debug)]
pub struct Cache<B> {
    entries: Vec<Entry<B>>,
    free: Vec<u32>,
    /// For each block of the host the number of its entry from 1 on; 0 for none.
    index: Table<u32>,
    version: u64,
    dirty: usize,
}

impl<B: Block> Cache<B> {
    /// An empty cache in front of an array, whose versions are higher than `version`.
    pub fn new(shape: &Geometry, version: u64) -> Cache<B> {
        Cache {
            entries: Vec::new(),
            free: Vec::new(),
            index: Table::new(shape.blocks() as usize),
            version,
            dirty: 0,
        }
    }

    /// Blocks that wait to be written, or are on their way.
    pub fn dirty(&self) -> usize {
        self.dirty
    }

    /// An entry counts as dirty from now on.
    pub fn soil(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        self.dirty += usize::from(!entry.is_dirty);
        entry.is_dirty = true;
    }

    /// The entry of a block.
    #[inline]
    pub fn find(&self, block: u64) -> Option<u32> {
        self.index[block as usize].checked_sub(1)
    }

    /// The entry of a block; a new one is of an unknown content that is the same on all drives.
    pub fn enter(&mut self, block: u64) -> u32 {
        if let Some(id) = self.find(block) {
            return id;
        }
        let id = match self.free.pop() {
            Some(id) => {
                // It was left as new.
                self.entries[id as usize].block = block;
                id
            }
            None => {
                let (copies, held) = ([Copy::default(); MOST_COPIES], Held::Unknown);
                self.entries.push(Entry {
                    block,
                    version: 0,
                    held,
                    holds: 0,
                    readers: 0,
                    is_dirty: false,
                    copies,
                });
                (self.entries.len() - 1) as u32
            }
        };
        self.index[block as usize] = id + 1;
        id
    }

    /// Gives an entry a new content.
    pub fn change(&mut self, id: u32, held: Held<B>) {
        self.version += 1;
        let entry = &mut self.entries[id as usize];
        (entry.held, entry.version) = (held, self.version);
    }

    /// An entry does not count as dirty any more.
    pub fn clean(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        self.dirty -= usize::from(std::mem::take(&mut entry.is_dirty));
    }

    /// All drives have it: it leaves.
    pub fn leave(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        assert!(
            !entry.is_dirty && entry.holds == 0 && entry.readers == 0,
            "it is clean, and nobody wants it"
        );
        if entry.version > 0 {
            // Most have only been read: there is nothing to forget.
            (entry.version, entry.held, entry.copies) = (0, Held::Unknown, [Copy::default(); MOST_COPIES]);
        }
        self.index[entry.block as usize] = 0;
        self.free.push(id);
    }

    /// True when a block counts as dirty.
    pub fn is_dirty(&self, block: u64) -> bool {
        self.find(block).is_some_and(|id| self.entries[id as usize].is_dirty)
    }

    /// An entry.
    #[inline]
    pub fn get(&self, id: u32) -> &Entry<B> {
        &self.entries[id as usize]
    }

    /// An entry.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Entry<B> {
        &mut self.entries[id as usize]
    }

    /// A copy.
    #[inline]
    pub fn copy(&mut self, id: CopyId) -> &mut Copy {
        &mut self.entries[id.entry() as usize].copies[id.copy()]
    }

    /// All entries, in no order that means anything; those that have left among them.
    pub fn ids(&self) -> std::ops::Range<u32> {
        0..self.entries.len() as u32
    }

    /// True when an entry is one, and has not left.
    pub fn is_in(&self, id: u32) -> bool {
        self.find(self.entries[id as usize].block) == Some(id)
    }
}
