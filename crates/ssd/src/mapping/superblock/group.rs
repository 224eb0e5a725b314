//! Reclaim groups (NVM Express Base Specification 2.1, section 8.1.10): parts of a drive with dies,
//! superblocks, writers and collection of their own. A drive that is not divided is one group.
//!
//! Dies are numbered from the channel inwards, and a group takes an equal number of neighbours: whole
//! channels where there are enough of them, else whole chips, else dies.

use super::{Group, HostData, MovedData};
use crate::config::SsdConfig;
use crate::flash::LunId;
use crate::mapping::Mapping;
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::{GroupId, HandleId};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;

impl Group {
    /// A group without data.
    pub(super) fn new(config: &SsdConfig, group: GroupId, seed: u64) -> Group {
        let dies = config.geometry.luns() / config.fdp.groups;
        Group {
            host: IdVec::filled(config.fdp.handles as usize, HostData::default()),
            collection: IdVec::filled(config.fdp.destinations() as usize, MovedData::default()),
            turn: HandleId::FIRST,
            copying: 0,
            job: None,
            draining: Vec::new(),
            random: Stream::new(seed.wrapping_add(u64::from(group.get())), "superblock victim"),
            credit: 0,
            first: LunId::new(group.get() * dies),
        }
    }

    /// A die, by its place in the group.
    #[inline]
    pub(super) fn die(&self, place: u32) -> LunId {
        LunId::new(self.first.get() + place)
    }

    /// True if a handle has enough pages staged for a unit of `program` pages.
    #[inline]
    pub(super) fn has_whole_unit(&self, program: u32) -> bool {
        self.host.iter().any(|data| data.staged.len() >= program as usize)
    }

    /// Pages that collection has read and not programmed yet.
    #[inline]
    pub(super) fn copies_waiting(&self) -> usize {
        self.collection.iter().map(|moved| moved.copies.len()).sum()
    }

    /// Superblocks that collection has read to their end and that are not free yet.
    pub(super) fn draining(&self) -> u32 {
        to_u32(self.draining.len())
    }

    /// True while a superblock is being emptied or erased.
    pub(super) fn collects(&self) -> bool {
        self.job.is_some() || !self.draining.is_empty()
    }
}

impl Mapping {
    /// A reclaim group of a drive that maps by superblock; panics on another.
    pub(super) fn group(&mut self, group: GroupId) -> &mut Group {
        &mut self.superblocks().groups[group]
    }

    /// All reclaim groups of a drive that maps by superblock.
    pub(crate) fn group_ids(&self) -> impl Iterator<Item = GroupId> + Clone + use<> {
        GroupId::first(self.superblocks.as_ref().map_or(0, |superblocks| superblocks.groups.len()))
    }

    /// Superblocks of a group that are free.
    pub(crate) fn free_superblocks(&self, group: GroupId) -> u32 {
        let first = self.superblocks.as_ref().map_or(LunId::new(0), |all| all.groups[group].die(0));
        self.ftl.free_blocks(self.layout.plane_at(first, 0)) / self.layout.blocks_each()
    }
}
