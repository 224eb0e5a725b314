//! Wear levelling.

use super::job::CollectionPurpose;
use crate::flash::{BlockId, PlaneId};
use crate::mapping::Mapping;
use tailcut_base::Time;

impl Mapping {
    /// Static wear levelling: when the spread of erases in a plane is too large, the least worn
    /// block, which must hold cold data, is emptied and joins the free blocks. Looked at once for
    /// as many erases as the plane has blocks, so that its cost does not grow with the drive, and
    /// eight times as often while there is something to move: a drive that is mostly cold has as
    /// many blocks to move as it erases in a turn.
    pub(super) fn level_wear(&mut self, now: Time, plane: PlaneId) {
        if self.steering.lets_collect(now, self.sets.of_plane(plane))
            && let Some(coldest) = self.block_to_level(plane)
        {
            self.empty(now, plane, coldest, CollectionPurpose::Wear);
        }
    }

    /// The block of a plane that wear levelling should empty, counted as if it were; see `level_wear`.
    pub(crate) fn block_to_level(&mut self, plane: PlaneId) -> Option<BlockId> {
        let blocks = self.geometry.blocks;
        if !self.collection.levelling || self.collection.erases_since_check[plane] < blocks {
            return None;
        }
        self.collection.erases_since_check[plane] = 0;
        let all = self.layout.blocks_of(plane);
        let most = all.map(|b| self.nand.erases(b)).max().unwrap_or(0);
        let coldest = self.ftl.least_worn(plane, &self.nand)?;
        if most - self.nand.erases(coldest) <= self.collection.spread {
            return None;
        }
        self.counters.levelled += 1;
        self.collection.erases_since_check[plane] = blocks - blocks.div_ceil(8);
        Some(coldest)
    }
}
