//! Flexible Data Placement: how many reclaim groups and unit handles a drive has, and what collection does
//! with their data.

use crate::config::SsdConfig;
use tailcut_base::Problem;
use tailcut_base::cast::to_u32;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::fdp::{GROUPS_MAX, HANDLES_MAX, Isolation};

/// Data placement of a drive that maps by superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FdpConfig {
    /// Reclaim unit handles, 1 to 8; with 1, and one group, a drive is without data placement, and ignores
    /// the handles of writes.
    pub handles: u32,
    /// Reclaim groups, 1 to 8: a power of two that divides the dies. Each has an equal share of them, which
    /// is written and collected apart.
    pub groups: u32,
    /// Whether collection may bring data of several handles together.
    pub isolation: Isolation,
    /// Superblocks of a reclaim unit, which are opened, closed and emptied together; a power of two that
    /// divides their number. Thresholds of collection count reclaim units.
    pub superblocks: u32,
}

impl FdpConfig {
    /// The values of drives without data placement.
    pub const OFF: FdpConfig =
        FdpConfig { handles: 1, groups: 1, isolation: Isolation::Initially, superblocks: 1 };

    /// True when writes are placed by handle or by group.
    pub fn is_on(&self) -> bool {
        self.handles > 1 || self.groups > 1
    }

    /// What the streams of writes can name: each handle in each group.
    pub fn streams(&self) -> u32 {
        self.handles * self.groups
    }

    /// Superblocks that collection writes at a time in a group.
    pub fn destinations(&self) -> u32 {
        match self.isolation {
            Isolation::Initially => 1,
            Isolation::Persistently => self.handles,
        }
    }
}

impl Configure for FdpConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "handles",
            "Reclaim unit handles that writes can name; 1 for a drive without data placement.",
            &mut self.handles,
            1..=to_u32(HANDLES_MAX),
        );
        count_u32(
            visit,
            "groups",
            "Reclaim groups: equal shares of the dies, each written and collected apart; 1, 2, 4 or 8, which \
                divides their number. Stream s of a write is handle s mod handles of group s / handles.",
            &mut self.groups,
            1..=to_u32(GROUPS_MAX),
        );
        choose(
            visit,
            "isolation",
            "Whether data that collection moves shares reclaim units with that of other handles: initially \
                (it does) or persistently (it never does) isolated.",
            &mut self.isolation,
        );
        count_u32(
            visit,
            "superblocks",
            "Superblocks of a reclaim unit, which are written one after the other and emptied together; 1, \
                or a power of two that divides geometry.blocks. gc.low counts reclaim units.",
            &mut self.superblocks,
            1..=64,
        );
    }
}

impl SsdConfig {
    /// What makes no sense without handles, or without groups.
    fn check_alone(&self) -> Result<(), Problem> {
        match self.fdp {
            FdpConfig { handles: 1, isolation: Isolation::Persistently, .. } => Err(Problem::new(
                "fdp.isolation",
                "the data of one handle needs no isolation; set fdp.handles, or isolation = \"initially\"",
            )),
            FdpConfig { handles: 1, groups: 1, superblocks: 2.., .. } => Err(Problem::new(
                "fdp.superblocks",
                "a drive with one handle has no reclaim units; set fdp.handles, or superblocks = 1",
            )),
            _ => Ok(()),
        }
    }

    /// Groups have equal numbers of dies, and bits of a placement identifier.
    fn check_groups(&self) -> Result<(), Problem> {
        let (dies, groups) = (self.geometry.luns(), self.fdp.groups);
        if groups.is_power_of_two() && dies.is_multiple_of(groups) {
            return Ok(());
        }
        let fits = (0..4).map(|bits| 1 << bits).filter(|&fits| fits <= groups && dies.is_multiple_of(fits));
        Err(Problem::new(
            "fdp.groups",
            format!(
                "{dies} dies do not make {groups} equal reclaim groups, a power of two; set groups = {}, or \
                 change geometry.channels or chips",
                fits.max().unwrap_or(1)
            ),
        ))
    }

    /// What data placement needs of the rest.
    ///
    /// # Errors
    /// The key that is to be changed, and why.
    pub fn check_fdp(&self) -> Result<(), Problem> {
        self.check_alone()?;
        if !self.fdp.is_on() {
            return Ok(());
        }
        if !self.maps_by_superblock() {
            let key = if self.fdp.handles > 1 { "fdp.handles" } else { "fdp.groups" };
            return Err(Problem::new(
                key,
                "a reclaim unit is a superblock; set ftl.mapping = \"superblock\", or handles = 1 and \
                 groups = 1 (streams of a drive that maps by page are ftl.streams)",
            ));
        }
        self.check_groups()?;
        let (blocks, each) = (self.geometry.blocks, self.fdp.superblocks);
        if !each.is_power_of_two() || !blocks.is_multiple_of(each) {
            let fits =
                (0..7).map(|bits| 1 << bits).filter(|&fits| fits <= each && blocks.is_multiple_of(fits));
            return Err(Problem::new(
                "fdp.superblocks",
                format!(
                    "{blocks} superblocks do not make reclaim units of {each}, a power of two; set \
                     superblocks = {}, or change geometry.blocks",
                    fits.max().unwrap_or(1)
                ),
            ));
        }
        // A part of a unit of every handle waits in the buffer, beside the units that are being programmed.
        let streams = self.fdp.streams();
        let least = u64::from((streams + 1) * self.superblock.program) * self.geometry.page_bytes;
        if self.buffer.size < least {
            return Err(Problem::new(
                "buffer.size",
                format!(
                    "{streams} handles gather {} pages each for a program (in every group); set size to at \
                     least {least} bytes",
                    self.superblock.program
                ),
            ));
        }
        Ok(())
    }
}
