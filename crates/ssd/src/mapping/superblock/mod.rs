//! Mapping by superblock, as drives of today write and collect: a block of every die is written as one,
//! closed as one and emptied as one.
//!
//! The pages that a die programs in one operation (a word line of every plane, all of its page types) are a
//! *unit*. Pages of the buffer gather until there are enough for a unit; it goes to the next die in turn, so
//! a superblock fills word line by word line across all dies. The host's data and what collection moves have
//! a superblock each that they are written to.
//!
//! The map is that of page-level mapping: a page is what the map addresses, 4 KiB as a rule, a part of what
//! flash calls a page. A die counts as one plane here: [`SuperblockConfig::program`] and
//! [`SuperblockConfig::sense`] say how many pages of the map its planes program and sense together.

mod collect;
mod units;

use crate::config::{MappingLevel, SsdConfig, SuperblockConfig};
use crate::flash::{LogicalPage, PhysicalPage, SuperblockId};
use crate::request::{EntryId, UnitId};
use collect::Job;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::{IdVec, Pool};
use tailcut_base::random::Stream;

/// Who writes to a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Host,
    Collection,
}

/// Where a writer programs its next unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frontier {
    pub(crate) superblock: SuperblockId,
    /// The number of the next unit in the superblock; units of a word line go to all dies in turn.
    pub(crate) next: u32,
}

/// A page that collection has read and not programmed yet.
#[derive(Clone, Copy, Debug)]
struct Copy {
    logical: LogicalPage,
    source: PhysicalPage,
    content: u32,
}

/// What a unit holds.
#[derive(Clone, Debug)]
enum Pages {
    /// Pages of the buffer.
    Host(Vec<EntryId>),
    /// Pages that collection moves.
    Copies(Vec<Copy>),
}

/// Pages that are being programmed together.
#[derive(Clone, Debug)]
struct Unit {
    first: PhysicalPage,
    pages: Pages,
}

/// How far the writing of a superblock has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Programs under way.
    programs: u32,
    /// Its last unit has been given out.
    is_full: bool,
    /// Pages of it that collection has read and not programmed yet: until then their place must not be
    /// written again.
    copies: u32,
}

/// A superblock that has been read to its end and is erased when nothing in it is valid or being read.
#[derive(Clone, Copy, Debug)]
struct Draining {
    superblock: SuperblockId,
    /// The next plane whose block is erased.
    next: u32,
    /// Erases under way.
    erasing: u32,
    /// Blocks that have been erased.
    erased: u32,
}

/// The state of mapping by superblock.
#[derive(Debug)]
pub(crate) struct Superblocks {
    config: SuperblockConfig,
    /// Units of a superblock.
    units_each: u32,
    /// Pages of a superblock.
    pages_each: u32,
    dies: u32,
    host: Option<Frontier>,
    collection: Option<Frontier>,
    progress: IdVec<SuperblockId, Progress>,
    units: Pool<UnitId, Unit>,
    /// Lists of earlier units, to be used again.
    spare_entries: Vec<Vec<EntryId>>,
    spare_copies: Vec<Vec<Copy>>,
    /// Pages of the buffer that wait for a unit.
    staged: VecDeque<EntryId>,
    /// Pages that collection has read and that wait for a unit.
    copies: Vec<Copy>,
    /// Units of collection under way.
    copying: u32,
    job: Option<Job>,
    draining: Vec<Draining>,
    random: Stream,
}

impl Superblocks {
    /// The superblocks of an empty drive; `None` for a drive that maps otherwise.
    pub(crate) fn new(config: &SsdConfig, seed: u64) -> Option<Superblocks> {
        if config.ftl.mapping != MappingLevel::Superblock {
            return None;
        }
        let (geometry, dies) = (&config.geometry, config.geometry.luns());
        let units_each = geometry.pages / config.superblock.program * dies;
        Some(Superblocks {
            config: config.superblock.clone(),
            units_each,
            pages_each: units_each * config.superblock.program,
            dies,
            host: None,
            collection: None,
            progress: IdVec::filled(geometry.blocks as usize, Progress::default()),
            units: Pool::new(),
            spare_entries: Vec::new(),
            spare_copies: Vec::new(),
            staged: VecDeque::new(),
            copies: Vec::new(),
            copying: 0,
            job: None,
            draining: Vec::new(),
            random: Stream::new(seed, "superblock victim"),
        })
    }

    /// Units of a superblock.
    pub(crate) fn units_each(&self) -> u32 {
        self.units_each
    }

    /// Pages of a superblock.
    pub(crate) fn pages_each(&self) -> u32 {
        self.pages_each
    }

    /// Dies of a superblock.
    pub(crate) fn dies(&self) -> u32 {
        self.dies
    }

    /// Pages of a unit.
    pub(crate) fn program(&self) -> u32 {
        self.config.program
    }

    /// Opens the superblocks that were partly written while a drive was prepared.
    pub(crate) fn open(&mut self, host: Option<Frontier>, collection: Option<Frontier>) {
        (self.host, self.collection) = (host, collection);
    }

    fn frontier(&mut self, writer: Writer) -> &mut Option<Frontier> {
        match writer {
            Writer::Host => &mut self.host,
            Writer::Collection => &mut self.collection,
        }
    }

    /// Superblocks that collection has read to their end and that are not free yet.
    fn draining(&self) -> u32 {
        to_u32(self.draining.len())
    }

    /// True while a superblock is being emptied or erased.
    pub(crate) fn collects(&self) -> bool {
        self.job.is_some() || !self.draining.is_empty()
    }
}
