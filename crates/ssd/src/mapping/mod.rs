//! The mapping: where each logical page is, what each page of flash holds, and which blocks are emptied when.
//!
//! - [`collection`]: garbage collection, wear levelling and the evacuation of bad blocks;
//! - [`ideal`]: collection that takes no time;
//! - [`operations`]: where each flash operation goes, and what follows from its end;
//! - [`pages`]: where pages are, for the other machines;
//! - [`precondition`]: the state after long writing, constructed;
//! - [`control`]: what the host may query and control;
//! - [`steering`]: when the host wants that done;
//! - [`forecast`]: when a LUN's next read is expected.
//!
//! What is to be done elsewhere, such as a flash operation, is an [`Effect`]. The drive's loop carries
//! effects out in the order in which they came; see [`Mapping::next_effect`].

mod block_mapped;
mod collection;
mod control;
mod figures;
pub(crate) mod forecast;
pub mod ftl;
mod ideal;
mod operations;
mod pages;
pub mod precondition;
mod predictable;
mod read_only;
mod steering;
mod stripe_placement;
pub(crate) mod superblock;

#[cfg(test)]
mod tests;

use crate::config::{MappingLevel, SsdConfig};
use crate::counters::Counters;
use crate::flash::nand::NandArray;
use crate::flash::timing::Phases;
use crate::flash::{BlockId, Geometry, Layout, LunId, PhysicalPage, PlaneId};
use crate::mapping::ftl::Ftl;
use crate::request::{EntryId, MemoryRequest, RequestId};
use crate::sets::{SetId, Sets};
use crate::timers::Timer;
pub(crate) use block_mapped::QueuedProgram;
pub(crate) use operations::Freed;
pub(crate) use predictable::CollectionTimes;

use block_mapped::BlockMapped;
use collection::Collection;
use forecast::Forecast;
use read_only::ReadOnly;
use std::collections::VecDeque;
use steering::Steering;
use superblock::Superblocks;
use tailcut_base::{Nanos, Time};

/// The mapping of a drive.
#[derive(Debug)]
pub(crate) struct Mapping {
    config: SsdConfig,
    geometry: Geometry,
    layout: Layout,
    /// Free blocks of a plane that collection keeps for itself.
    reserve: u32,
    /// How long an erase takes.
    erase: Nanos,
    /// The latest moment that the drive can wait for.
    horizon: Time,
    pub(crate) counters: Counters,
    ftl: Ftl,
    nand: NandArray,
    collection: Collection,
    sets: Sets,
    pub(crate) steering: Steering,
    read_only: ReadOnly,
    pub(crate) forecast: Forecast,
    /// Present when the drive maps by block.
    block_mapped: Option<BlockMapped>,
    /// Present when the drive maps by superblock.
    superblocks: Option<Superblocks>,
    effects: VecDeque<Effect>,
}

/// What the mapping has others do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// The backend takes a flash operation.
    Issue(MemoryRequest),
    /// A LUN may have work that it can start.
    Wake(LunId),
    /// The same, if work waits there.
    WakeIfWaiting(LunId),
    /// LUNs with new work start it: what has been issued so far can share transactions.
    StartLuns,
    /// A timer is set, or stopped with [`Time::NEVER`].
    SetTimer(Timer, Time),
    /// There are windows of collection from now on.
    AddWindowTimer,
    /// A block has been erased, which earns credit for resets.
    EraseCompleted,
    /// A page has moved: reads that wait for it in the scheduler's layout may follow.
    PageMoved { from: PhysicalPage, to: PhysicalPage },
    /// The version on flash of a page in the buffer has moved.
    OldVersionMoved(EntryId, PhysicalPage),
    /// A queued program gets its page and is committed (mapping by block).
    StartProgram(RequestId, PhysicalPage),
    /// A queued program is void.
    DropQueued(RequestId),
    /// A queued program is given up: there will be no room for it.
    Strand(RequestId),
    /// No block can be had any more in a plane.
    BecomeReadOnly(PlaneId),
    /// Programs of a plane wait outside of its LUN for an erase.
    Starve(PlaneId),
    /// They wait no more.
    Feed(PlaneId),
    /// The scheduler may commit more to a LUN.
    CommitMore(LunId),
    /// A block has been emptied at once (`gc.ideal`).
    ReleaseEmptied(BlockId),
    /// Collection at once continues in a plane.
    CollectAtOnce { plane: PlaneId, wanted: u32 },
    /// Programs of a set's buffered data may begin.
    WriteBack(SetId),
}

impl Mapping {
    /// The mapping of an empty drive, whose timers can hold moments before `horizon`. With `content` its
    /// pages keep fingerprints.
    pub(crate) fn new(config: &SsdConfig, horizon: Time, seed: u64, content: bool) -> Mapping {
        let geometry = &config.geometry;
        let nand = NandArray::new(geometry, &config.faults, seed, content);
        let sets = Sets::new(&config.sets, &config.ftl, geometry);
        let reserve = config.gc_reserve();
        let layout = Layout::new(geometry).with_superblocks_of(config.fdp.superblocks);
        let layout = layout.with_groups(config.fdp.groups);
        let ftl = Ftl::new(&config.ftl, geometry, layout, &config.gc, reserve, &nand, sets);
        Mapping {
            config: config.clone(),
            layout,
            erase: Phases::new(&config.timing, geometry).erase,
            horizon,
            effects: VecDeque::new(),
            reserve,
            counters: Counters::default(),
            collection: Collection::new(&config.gc, &config.wear, geometry, sets.count(), seed),
            steering: Steering::new(sets.ids()),
            read_only: ReadOnly::none(sets.ids()),
            forecast: Forecast::new(geometry, sets.count()),
            block_mapped: (config.ftl.mapping == MappingLevel::Block).then(|| BlockMapped::new(config, &ftl)),
            superblocks: Superblocks::new(config, seed),
            geometry: geometry.clone(),
            ftl,
            nand,
            sets,
        }
    }

    /// The next effect to be carried out.
    #[inline]
    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    #[inline]
    fn issue(&mut self, request: MemoryRequest) {
        self.effects.push_back(Effect::Issue(request));
    }

    fn wake(&mut self, lun: LunId) {
        self.effects.push_back(Effect::Wake(lun));
    }

    fn start_luns(&mut self) {
        self.effects.push_back(Effect::StartLuns);
    }
}
