//! Runs: the parts of a unit that fit one drive request.

use super::Token;
use super::cells::Cells;
use super::geometry::Geometry;
use crate::array::DriveId;
use crate::array::drives::Priority;
use crate::array::reads::{BlockRead, ReconstructWhen, SealAge};
use crate::placement::WriteKind;
use std::ops::Range;
use tailcut_base::Class;
use tailcut_base::cast::to_u32;

/// Neighbouring cells of a unit, on one drive.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The range of cell numbers, which are adjacent rows of one role.
    pub cells: Range<usize>,
    /// The drive that holds the cells.
    pub drive: DriveId,
    /// First block on the drive.
    pub block: u64,
}

impl Run {
    /// What a write of the run holds, if that is of the kind `data` where it is not parity.
    pub(super) fn kind(&self, shape: &Geometry, data: WriteKind) -> WriteKind {
        let is_data = self.cells.start / shape.rows < shape.data_width();
        if is_data { data } else { WriteKind::Parity }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u32 {
        to_u32(self.cells.len())
    }

    /// A read of the run.
    pub(super) fn wanted(
        &self,
        class: Class,
        urgency: Priority,
        around: ReconstructWhen,
        token: Token,
    ) -> BlockRead {
        BlockRead {
            drive: self.drive,
            block: self.block,
            blocks: self.blocks(),
            age: SealAge::IN_PLACE,
            unwritten: true,
            class,
            urgency,
            around,
            token: token.pack(),
        }
    }
}

impl Geometry {
    /// The runs of some cells of a unit, each of at most `most` blocks.
    pub(super) fn runs(&self, unit: u64, cells: Cells, most: usize) -> impl Iterator<Item = Run> {
        cells.runs(most, |end| end.is_multiple_of(self.rows)).map(move |cells| Run {
            drive: self.drive(unit, cells.start / self.rows),
            block: self.base(unit) + (cells.start % self.rows) as u64,
            cells,
        })
    }
}
