//! Mapping by superblock, as drives of today write and collect: a block of every die is written as one,
//! closed as one and emptied as one.
//!
//! The pages that a die programs in one operation (a word line of every plane, all of its page types) are a
//! *unit*. Pages of the buffer gather until there are enough for a unit; it goes to the next die in turn, so
//! a superblock fills word line by word line across all dies. The host's data and what collection moves have
//! a superblock each that they are written to; under data placement ([`placement`]) the data of each handle
//! has one of its own. Reclaim units of several superblocks are superblocks of several blocks of every die
//! here: their blocks are written one after the other, and closed and emptied together. A superblock has
//! blocks of the dies of one reclaim group only ([`group`]), which is the whole drive unless it is divided.
//!
//! The map is that of page-level mapping: a page is what the map addresses, 4 KiB as a rule, a part of what
//! flash calls a page. A die counts as one plane here: [`SuperblockConfig::program`] and
//! [`SuperblockConfig::sense`] say how many pages of the map its planes program and sense together.

mod collect;
mod group;
mod placement;
mod room;
mod units;

use crate::config::{MappingLevel, SsdConfig, SuperblockConfig};
use crate::flash::{LogicalPage, LunId, PhysicalPage, SuperblockId};
use crate::request::{EntryId, UnitId};
use collect::Job;
use placement::Placement;
use std::collections::VecDeque;
use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
use tailcut_base::ids::{Id, IdVec, Pool};
use tailcut_base::random::Stream;

/// Who writes to a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// The host, with this handle.
    Host(PlacementId),
    /// Collection, data of this handle; of the first for all of them unless they are isolated persistently.
    Collection(PlacementId),
}

impl Writer {
    fn group(self) -> GroupId {
        match self {
            Writer::Host(placement) | Writer::Collection(placement) => placement.group(),
        }
    }
}

/// Where the data of a handle goes.
#[derive(Clone, Debug, Default)]
struct HostData {
    frontier: Option<Frontier>,
    /// Pages of the buffer that wait for a unit.
    staged: VecDeque<EntryId>,
}

/// Where collection moves data to.
#[derive(Clone, Debug, Default)]
struct MovedData {
    frontier: Option<Frontier>,
    /// Pages that collection has read and that wait for a unit.
    copies: Vec<Copy>,
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
    /// Whose data it is; of copies, whose the first of them is.
    handle: HandleId,
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
    /// The next block that is erased, by die and then by place in the die.
    next: u32,
    /// Erases under way.
    erasing: u32,
    /// Blocks that have been erased.
    erased: u32,
}

/// A reclaim group.
#[derive(Debug)]
struct Group {
    /// Of each handle.
    host: IdVec<HandleId, HostData>,
    /// Of each handle that is isolated persistently, or one for all.
    collection: IdVec<HandleId, MovedData>,
    /// The handle whose staged pages are looked at first.
    turn: HandleId,
    /// Units of collection under way.
    copying: u32,
    job: Option<Job>,
    draining: Vec<Draining>,
    random: Stream,
    /// Pages that certainly have room; see [`room`].
    credit: u64,
    /// Its first die.
    first: LunId,
}

/// The state of mapping by superblock.
#[derive(Debug)]
pub(crate) struct Superblocks {
    config: SuperblockConfig,
    /// Units of a superblock.
    units_each: u32,
    /// Pages of a superblock.
    pages_each: u32,
    /// Dies of a superblock.
    dies: u32,
    /// Blocks of each die in a superblock.
    blocks_each: u32,
    groups: IdVec<GroupId, Group>,
    /// The group whose staged pages are looked at first.
    turn: GroupId,
    /// Present when the drive has several handles or groups.
    placement: Option<Placement>,
    progress: IdVec<SuperblockId, Progress>,
    units: Pool<UnitId, Unit>,
    /// Lists of earlier units, to be used again.
    spare_entries: Vec<Vec<EntryId>>,
    spare_copies: Vec<Vec<Copy>>,
}

impl Superblocks {
    /// The superblocks of an empty drive; `None` for a drive that maps otherwise.
    pub(crate) fn new(config: &SsdConfig, seed: u64) -> Option<Superblocks> {
        if config.ftl.mapping != MappingLevel::Superblock {
            return None;
        }
        let (geometry, groups) = (&config.geometry, config.fdp.groups);
        let dies = geometry.luns() / groups;
        let blocks_each = config.fdp.superblocks;
        let units_each = geometry.pages / config.superblock.program * dies * blocks_each;
        let superblocks = (geometry.blocks / blocks_each * groups) as usize;
        Some(Superblocks {
            config: config.superblock.clone(),
            units_each,
            pages_each: units_each * config.superblock.program,
            dies,
            blocks_each,
            groups: GroupId::first(groups as usize).map(|group| Group::new(config, group, seed)).collect(),
            turn: GroupId::FIRST,
            placement: config.fdp.is_on().then(|| Placement::new(config)),
            progress: IdVec::filled(superblocks, Progress::default()),
            units: Pool::new(),
            spare_entries: Vec::new(),
            spare_copies: Vec::new(),
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

    /// Blocks of a superblock.
    fn blocks(&self) -> u32 {
        self.dies * self.blocks_each
    }

    /// Dies of a superblock.
    pub(crate) fn dies(&self) -> u32 {
        self.dies
    }

    /// Pages of a unit.
    pub(crate) fn program(&self) -> u32 {
        self.config.program
    }

    /// Opens the superblocks of a group that were partly written while a drive was prepared: for the first
    /// handle.
    pub(crate) fn open(&mut self, group: GroupId, host: Option<Frontier>, collection: Option<Frontier>) {
        let (first, group) = (HandleId::FIRST, &mut self.groups[group]);
        (group.host[first].frontier, group.collection[first].frontier) = (host, collection);
    }

    fn frontier(&mut self, writer: Writer) -> &mut Option<Frontier> {
        match writer {
            Writer::Host(placement) => &mut self.host(placement).frontier,
            Writer::Collection(placement) => &mut self.moved(placement).frontier,
        }
    }

    /// The host's data of a handle for a group.
    #[inline]
    fn host(&mut self, placement: PlacementId) -> &mut HostData {
        &mut self.groups[placement.group()].host[placement.handle()]
    }

    /// What collection moves of a handle in a group.
    #[inline]
    fn moved(&mut self, placement: PlacementId) -> &mut MovedData {
        &mut self.groups[placement.group()].collection[placement.handle()]
    }

    /// The handle of the data in a page, as far as it is known.
    #[inline]
    fn handle_of(&self, page: PhysicalPage) -> HandleId {
        self.placement.as_ref().map_or(HandleId::FIRST, |placement| placement.handle_of(page))
    }

    /// True while a superblock is being emptied or erased.
    pub(crate) fn collects(&self) -> bool {
        self.groups.iter().any(Group::collects)
    }
}
