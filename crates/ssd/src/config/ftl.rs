//! Translation and allocation.

use crate::flash::Geometry;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// The unit of mapping, and of what is written and collected together.
    pub enum MappingLevel {
        /// Each page anywhere; planes are written and collected one by one.
        Page = "page",
        /// The pages of a logical block together in one block, each at its own offset.
        Block = "block",
        /// Each page anywhere; a block of every die is written and collected as one: see
        /// [`SuperblockConfig`](crate::config::SuperblockConfig).
        Superblock = "superblock",
    }
}

/// The largest share of the raw capacity that can be spare, in parts per million.
pub const SPARE_MOST: u32 = 900_000;

/// Configuration of the translation layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtlConfig {
    /// Share of the raw capacity that the host cannot address, in parts per million.
    pub spare: u32,
    /// The unit in which logical addresses are mapped to flash: page, block or superblock.
    pub mapping: MappingLevel,
    /// Logical blocks that consecutive pages go to in turn under block-level mapping:
    /// a stripe, see `mapping::ftl::stripes`.
    pub stripe: u32,
    /// Whether the logical page of a write decides its plane (static), or the next plane in turn takes it
    /// (dynamic).
    pub allocation: Allocation,
    /// The order in which channel, way (chip), die and plane are used, the fastest-changing first.
    pub order: Order,
    /// Number of write streams with frontiers of their own; commands of a higher stream use the last.
    pub streams: u32,
}

impl Configure for FtlConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.share(
            "spare",
            "Share of the raw capacity that the host cannot address (over-provisioning).",
            &mut self.spare,
            0..=SPARE_MOST,
        );
        choose(
            visit,
            "mapping",
            "Page: each page anywhere; block: the pages of a logical block together, in order; superblock: \
                each page anywhere, written and collected by a block of every die.",
            &mut self.mapping,
        );
        count_u32(
            visit,
            "stripe",
            "Blocks of as many planes, next to each other in the order, that share consecutive pages under \
                block-level mapping.",
            &mut self.stripe,
            1..=65_536,
        );
        choose(
            visit,
            "allocation",
            "Static: the logical page decides the plane; dynamic: the next one in turn.",
            &mut self.allocation,
        );
        choose(
            visit,
            "order",
            "Order in which channel, way (chip), die and plane are used, the fastest-changing first.",
            &mut self.order,
        );
        count_u32(
            visit,
            "streams",
            "Write streams with blocks of their own; a command's stream beyond the last uses the last.",
            &mut self.streams,
            1..=8,
        );
    }
}

impl FtlConfig {
    /// Logical pages that a drive of this geometry offers: rounded down so that all planes are filled alike,
    /// and under block-level mapping by whole blocks. `u64::MAX` if there are more, which only a geometry has
    /// that is not checked.
    pub fn logical_pages(&self, geometry: &Geometry) -> u64 {
        let user = geometry.page_count() as u128 * u128::from(1_000_000 - self.spare) / 1_000_000;
        let lun = match self.mapping {
            MappingLevel::Page | MappingLevel::Superblock => u128::from(geometry.plane_count()),
            MappingLevel::Block => u128::from(geometry.plane_count()) * u128::from(geometry.pages),
        };
        u64::try_from(user / lun * lun).unwrap_or(u64::MAX)
    }
}

tailcut_base::choice! {
    /// How a write finds its plane.
    pub enum Allocation {
        /// The logical page decides.
        Static = "static",
        /// The next plane in turn, whatever the logical page.
        Dynamic = "dynamic",
    }
}

tailcut_base::choice! {
    /// The order in which the parts of a drive are used: channel, way (chip of a channel), die,
    /// plane, the fastest-changing first (Jung and Kandemir, HotStorage 2012; Tavakkol et al.,
    /// 2016, name the schemes in the same way).
    pub enum Order {
        /// Channel, way, die, plane.
        Cwdp = "cwdp",
        /// Channel, way, plane, die.
        Cwpd = "cwpd",
        /// Channel, die, way, plane.
        Cdwp = "cdwp",
        /// Channel, die, plane, way.
        Cdpw = "cdpw",
        /// Channel, plane, way, die.
        Cpwd = "cpwd",
        /// Channel, plane, die, way.
        Cpdw = "cpdw",
        /// Way, channel, die, plane.
        Wcdp = "wcdp",
        /// Way, channel, plane, die.
        Wcpd = "wcpd",
        /// Way, die, channel, plane.
        Wdcp = "wdcp",
        /// Way, die, plane, channel.
        Wdpc = "wdpc",
        /// Way, plane, channel, die.
        Wpcd = "wpcd",
        /// Way, plane, die, channel.
        Wpdc = "wpdc",
        /// Die, channel, way, plane.
        Dcwp = "dcwp",
        /// Die, channel, plane, way.
        Dcpw = "dcpw",
        /// Die, way, channel, plane.
        Dwcp = "dwcp",
        /// Die, way, plane, channel.
        Dwpc = "dwpc",
        /// Die, plane, channel, way.
        Dpcw = "dpcw",
        /// Die, plane, way, channel.
        Dpwc = "dpwc",
        /// Plane, channel, way, die.
        Pcwd = "pcwd",
        /// Plane, channel, die, way.
        Pcdw = "pcdw",
        /// Plane, way, channel, die.
        Pwcd = "pwcd",
        /// Plane, way, die, channel.
        Pwdc = "pwdc",
        /// Plane, die, channel, way.
        Pdcw = "pdcw",
        /// Plane, die, way, channel.
        Pdwc = "pdwc",
    }
}

tailcut_base::choice! {
    /// How garbage collection chooses its victim among the closed blocks of a plane.
    pub enum VictimPolicy {
        /// The fewest valid pages; among equals the one that lost a page longest ago.
        Greedy = "greedy",
        /// The block that was closed first.
        Fifo = "fifo",
        /// Any block, with equal probability.
        Random = "random",
        /// The fewest valid pages among a few random blocks (Van Houdt, SIGMETRICS 2013).
        DChoices = "d-choices",
        /// The largest (1 - u) / 2u × age, u the valid share and age the time since the block last
        /// lost a page (Kawaguchi et al., USENIX 1995).
        CostBenefit = "cost-benefit",
    }
}
