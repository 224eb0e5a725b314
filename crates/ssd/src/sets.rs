//! NVM sets (NVMe base specification 1.4, section 4.9): a drive divided so that work in one part does not
//! disturb another.
//!
//! A set has chips of its own, and with them its frontiers, free blocks, victims and wear; its own part of
//! the addresses, a namespace that follows that of the set before; its own thresholds, runs of collection,
//! windows and quiet periods; its own share of the buffer, its own flushes. What sets share is the
//! controller, the link and the tags, of which each set has an equal share if the host keeps to it; and with
//! [`SetsBy::Chips`] the buses. A drive that is not divided is one set.
//!
//! The buffer is divided evenly: in one that sets shared, a write could wait for programs of another
//! set, and a quiet set would have to program to make room for another's data.

use crate::config::{FtlConfig, SetsBy, SetsConfig};
use crate::flash::{Geometry, LogicalPage, LunId, PlaneId};
use tailcut_base::cast::to_u32;
use tailcut_base::divisor::Divisor;
use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// An NVM set of a drive.
    pub struct SetId;
}

impl SetId {
    /// The first set, and the only one of a drive that is not divided.
    pub const FIRST: SetId = SetId(0);
}

/// How parts of one kind, planes or ready/busy lines, are dealt out to the sets: within each `stride`
/// numbers the first `run` go to the first set, the next to the second, and so on.
#[derive(Clone, Copy, Debug)]
struct Shares {
    stride: Divisor,
    run: Divisor,
    /// Parts of a set.
    each: u32,
}

impl Shares {
    fn new(all: u32, stride: Divisor, sets: u32) -> Shares {
        Shares { stride, run: Divisor::new(stride.get() / sets), each: all / sets }
    }

    #[inline]
    fn set_of(&self, part: u32) -> SetId {
        SetId::new(self.run.quotient(self.stride.remainder(part)))
    }

    #[inline]
    fn part(&self, set: SetId, at: u32) -> u32 {
        self.run.quotient(at) * self.stride.get() + set.get() * self.run.get() + self.run.remainder(at)
    }
}

/// Which part of a drive belongs to which set.
#[derive(Clone, Copy, Debug)]
pub struct Sets {
    count: u32,
    planes: Shares,
    luns: Shares,
    /// Number of logical pages of each set; `u64::MAX` in [`Sets::one`].
    pages: u64,
}

impl Sets {
    /// The NVM sets that `config` divides a drive into, with an equal share of its logical pages for each.
    pub fn new(config: &SetsConfig, ftl: &FtlConfig, geometry: &Geometry) -> Sets {
        let pages = ftl.logical_pages(geometry) / u64::from(config.count);
        Sets { pages: pages.max(1), ..Sets::of_flash(config, geometry) }
    }

    /// The only set of a drive that is not divided; its [`Sets::logical_pages`] are not limited.
    pub fn one(geometry: &Geometry) -> Sets {
        Sets::of_flash(&SetsConfig::ONE, geometry)
    }

    fn of_flash(config: &SetsConfig, geometry: &Geometry) -> Sets {
        let SetsConfig { count, by } = *config;
        let (planes, luns) = (geometry.plane_count(), geometry.luns());
        let strides = if by == SetsBy::Chips { geometry.channels } else { 1 };
        Sets {
            count,
            planes: Shares::new(planes, Divisor::new(planes / strides), count),
            luns: Shares::new(luns, Divisor::new(luns / strides), count),
            pages: u64::MAX,
        }
    }

    /// Number of NVM sets; 1 if the drive is not divided.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The ids of all NVM sets, in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = SetId> + Clone + use<> {
        SetId::first(self.count as usize)
    }

    /// True if the drive is divided into more than one NVM set.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.count > 1
    }

    /// The NVM set that a logical page belongs to.
    #[inline]
    pub fn of_logical(&self, logical: LogicalPage) -> SetId {
        if self.count == 1 { SetId::FIRST } else { SetId::new(to_u32(logical.get() / self.pages)) }
    }

    /// The NVM set that a plane belongs to.
    #[inline]
    pub fn of_plane(&self, plane: PlaneId) -> SetId {
        if self.count == 1 { SetId::FIRST } else { self.planes.set_of(plane.get()) }
    }

    /// The NVM set that a LUN (ready/busy line) belongs to.
    #[inline]
    pub fn of_lun(&self, lun: LunId) -> SetId {
        if self.count == 1 { SetId::FIRST } else { self.luns.set_of(lun.get()) }
    }

    /// Number of logical pages of each NVM set.
    pub fn logical_pages(&self) -> u64 {
        self.pages
    }

    /// A logical page of a set, by its place among the pages of the set.
    #[inline]
    pub fn page_of(&self, set: SetId, page: u64) -> LogicalPage {
        LogicalPage::new(u64::from(set.get()) * self.pages + page)
    }

    /// Number of planes of each NVM set.
    #[inline]
    pub fn planes_each(&self) -> u32 {
        self.planes.each
    }

    /// Number of LUNs (ready/busy lines) of each NVM set.
    pub fn luns_each(&self) -> u32 {
        self.luns.each
    }

    /// The planes of a set, in ascending order.
    pub fn planes(self, set: SetId) -> impl Iterator<Item = PlaneId> + Clone {
        (0..self.planes.each).map(move |at| PlaneId::new(self.planes.part(set, at)))
    }

    /// The ready/busy lines of a set, in ascending order.
    pub fn luns(self, set: SetId) -> impl Iterator<Item = LunId> + Clone {
        (0..self.luns.each).map(move |at| LunId::new(self.luns.part(set, at)))
    }

    /// One of the ready/busy lines of a set.
    #[inline]
    pub fn lun(&self, set: SetId, at: u32) -> LunId {
        LunId::new(self.luns.part(set, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MappingLevel, Preset, Protocol, SsdConfig};
    use crate::flash::Layout;
    use tailcut_base::Problem;

    fn sets(count: u32, by: SetsBy) -> (Sets, Geometry) {
        let mut config = Preset::M.config();
        config.sets = SetsConfig { count, by };
        config.check_sets().expect("a divisor");
        (Sets::new(&config.sets, &config.ftl, &config.geometry), config.geometry)
    }

    #[test]
    fn every_part_belongs_to_one_set_and_a_line_to_that_of_its_planes() {
        for (count, by) in
            [(1, SetsBy::Channels), (2, SetsBy::Channels), (4, SetsBy::Chips), (8, SetsBy::Chips)]
        {
            let (sets, geometry) = sets(count, by);
            let layout = Layout::new(&geometry);
            let mut planes = Vec::new();
            for set in sets.ids() {
                assert!(sets.planes(set).all(|plane| sets.of_plane(plane) == set));
                assert!(sets.luns(set).all(|lun| sets.of_lun(lun) == set));
                assert!(sets.planes(set).all(|plane| sets.of_lun(layout.lun_of_plane(plane).0) == set));
                planes.extend(sets.planes(set));
            }
            planes.sort_unstable();
            assert!(planes.into_iter().eq(geometry.plane_ids()), "{count} by {by:?}");
        }
    }

    #[test]
    fn sets_by_channels_share_no_channel_and_sets_by_chips_share_all() {
        let (by_channels, geometry) = sets(4, SetsBy::Channels);
        let (by_chips, _) = sets(4, SetsBy::Chips);
        let channel = |lun: LunId| lun.get() / geometry.luns_per_channel();
        assert!(by_channels.luns(SetId::new(1)).all(|lun| (2..4).contains(&channel(lun))));
        let mut channels: Vec<u32> = by_chips.luns(SetId::new(1)).map(channel).collect();
        channels.dedup();
        assert!(channels.into_iter().eq(0..geometry.channels));
    }

    #[test]
    fn what_cannot_be_divided_is_refused_with_the_remedy() {
        let problem = |change: &dyn Fn(&mut SsdConfig)| {
            let mut config = Preset::M.config();
            config.sets.count = 2;
            change(&mut config);
            config.check_sets().expect_err("it cannot be divided")
        };
        let Problem { key, message } = problem(&|config| config.sets.count = 3);
        assert!(key == "sets.count" && message.contains("8 channels") && message.contains("divisor of 8"));
        let Problem { message, .. } =
            problem(&|config| config.sets = SetsConfig { count: 5, by: SetsBy::Chips });
        assert!(message.contains("8 ready/busy lines of a channel"), "{message}");
        let Problem { message, .. } = problem(&|config| config.ftl.mapping = MappingLevel::Block);
        assert!(message.contains("ftl.mapping = \"page\""), "{message}");
        let Problem { message, .. } = problem(&|config| config.queue.protocol = Protocol::Ahci);
        assert!(message.contains("queue.protocol = \"nvme\""), "{message}");
        let Problem { key, message } = problem(&|config| config.buffer.size = 4096);
        assert!(key == "buffer.size" && message.contains("8192"), "{message}");
        assert_eq!(problem(&|config| config.queue.depth = 1).key, "queue.depth");
    }
}
