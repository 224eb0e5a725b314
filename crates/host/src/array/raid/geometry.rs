//! Placement of blocks: stripes, units, roles, and the blocks of drives.
//!
//! A *stripe* is a chunk at the same address on every drive. It is processed in *units* of some rows; a *row*
//! is one block at the same address on every drive, and has its own parity. In a stripe a drive has a *role*:
//! data chunk 0, 1, … in the order of the host's addresses, then the parity.

use super::cells::{CELLS_MOST, Cells};
use crate::array::DriveId;
use std::ops::Range;
use tailcut_base::cast::to_usize;
use tailcut_base::ids::Id;

/// Placement of the parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parity {
    /// No parity.
    None,
    /// On the last drive (RAID 4).
    Last,
    /// On another drive in each stripe, from the last to the first, with the data starting behind it
    /// (left-symmetric, the default of Linux md for RAID 5).
    Rotating,
}

/// Geometry of an array that writes in place.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// First block of the data on every drive.
    pub first: u64,
    /// Number of stripes of the array.
    pub stripes: u64,
    /// Number of blocks of 4 KiB in a chunk.
    pub chunk: u64,
    /// Number of drives, those with parity included.
    pub width: usize,
    /// Placement of the parity.
    parity: Parity,
    /// Rows per unit; divides the chunk.
    pub rows: usize,
}

impl Geometry {
    /// Geometry of drives with data in `blocks`. A unit has at most `most_cells` blocks.
    pub(super) fn new(
        blocks: Range<u64>,
        chunk: u64,
        width: usize,
        parity: Parity,
        most_cells: usize,
    ) -> Geometry {
        let most_rows = (most_cells.min(CELLS_MOST) / width).max(1) as u64;
        let rows = (1..=most_rows.min(chunk)).rev().find(|&rows| chunk.is_multiple_of(rows));
        let rows = to_usize(rows.expect("one divides everything"));
        let stripes = blocks.end.saturating_sub(blocks.start) / chunk;
        Geometry { first: blocks.start, stripes, chunk, width, parity, rows }
    }

    /// Number of data drives in a stripe.
    pub(super) fn data_width(&self) -> usize {
        self.width - usize::from(self.has_parity())
    }

    /// True if stripes have parity.
    pub(super) fn has_parity(&self) -> bool {
        self.parity != Parity::None
    }

    /// The role of the parity.
    pub(super) fn parity_role(&self) -> usize {
        self.data_width()
    }

    /// Number of blocks of the host.
    pub(super) fn blocks(&self) -> u64 {
        self.stripes * self.stripe_blocks()
    }

    fn stripe_blocks(&self) -> u64 {
        self.chunk * self.data_width() as u64
    }

    fn parts(&self) -> u64 {
        self.chunk / self.rows as u64
    }

    /// Number of units.
    pub(super) fn units(&self) -> u64 {
        self.stripes * self.parts()
    }

    /// First block of a unit on each drive.
    pub(super) fn base(&self, unit: u64) -> u64 {
        self.first + unit * self.rows as u64
    }

    /// The unit that contains a block of a drive.
    pub(super) fn unit_of(&self, block: u64) -> u64 {
        (block - self.first) / self.rows as u64
    }

    /// The drive with a role in a unit.
    #[inline]
    pub(super) fn drive(&self, unit: u64, role: usize) -> DriveId {
        match self.parity {
            Parity::None | Parity::Last => DriveId::at(role),
            Parity::Rotating => DriveId::at((self.parity_drive(unit) + 1 + role) % self.width),
        }
    }

    /// The role of a drive in a unit.
    pub(super) fn role(&self, unit: u64, drive: DriveId) -> usize {
        match self.parity {
            Parity::None | Parity::Last => drive.index(),
            Parity::Rotating => (drive.index() + self.width - self.parity_drive(unit) - 1) % self.width,
        }
    }

    #[inline]
    fn parity_drive(&self, unit: u64) -> usize {
        let stripe = unit / self.parts();
        self.width - 1 - to_usize(stripe % self.width as u64)
    }

    /// The cell of a drive's block in its unit.
    pub(super) fn cell(&self, unit: u64, drive: DriveId, block: u64) -> usize {
        self.role(unit, drive) * self.rows + to_usize(block - self.base(unit))
    }

    /// The role of a cell.
    pub(super) fn role_of(&self, cell: usize) -> usize {
        cell / self.rows
    }

    /// The cells of a role.
    pub(super) fn role_cells(&self, role: usize) -> Cells {
        Cells::range(role * self.rows..(role + 1) * self.rows)
    }

    /// The data cells.
    pub(super) fn data_cells(&self) -> Cells {
        Cells::range(0..self.data_width() * self.rows)
    }

    /// All cells.
    pub(super) fn all_cells(&self) -> Cells {
        Cells::range(0..self.width * self.rows)
    }

    /// All data cells of the rows of these cells.
    pub(super) fn whole_rows(&self, cells: Cells) -> Cells {
        let mut whole = Cells::NONE;
        for row in self.rows_of(cells) {
            (0..self.data_width()).for_each(|role| whole.insert(role * self.rows + row));
        }
        whole
    }

    /// The rows of data cells, in ascending order.
    #[inline]
    pub(super) fn rows_of(&self, cells: Cells) -> impl Iterator<Item = usize> + use<> {
        let mut rows = Cells::NONE;
        (cells & self.data_cells()).iter().for_each(|cell| rows.insert(cell % self.rows));
        rows.iter()
    }

    /// The host's block in a data cell.
    pub(super) fn host_block(&self, unit: u64, cell: usize) -> u64 {
        let (stripe, part) = (unit / self.parts(), unit % self.parts());
        let (role, row) = ((cell / self.rows) as u64, (cell % self.rows) as u64);
        stripe * self.stripe_blocks() + role * self.chunk + part * self.rows as u64 + row
    }

    /// The units that intersect a range of the host's blocks.
    pub(super) fn units_of(&self, blocks: Range<u64>) -> impl Iterator<Item = u64> + use<> {
        let this = self.clone();
        let stripe = self.stripe_blocks();
        let stripes = blocks.start / stripe..(blocks.end - 1) / stripe + 1;
        stripes.flat_map(move |index| {
            let start = blocks.start.max(index * stripe) - index * stripe;
            let end = blocks.end.min((index + 1) * stripe) - index * stripe;
            let (head, tail) = this.parts_of(start..end);
            head.chain(tail).map(move |part| index * (this.chunk / this.rows as u64) + part)
        })
    }

    /// The units of a stripe that intersect a part of its data: one range, or two if the part crosses the end
    /// of a chunk without wrapping around.
    fn parts_of(&self, data: Range<u64>) -> (Range<u64>, Range<u64>) {
        let Range { start, end } = data;
        let rows = self.rows as u64;
        let first = start % self.chunk / rows;
        let last = (end - 1) % self.chunk / rows;
        if start / self.chunk == (end - 1) / self.chunk {
            (first..last + 1, 0..0)
        } else if end - start >= self.chunk || first <= last {
            (0..self.parts(), 0..0)
        } else {
            (0..last + 1, first..self.parts())
        }
    }

    /// The data cells of a unit that intersect a range of the host's blocks.
    pub(super) fn cells_of(&self, unit: u64, blocks: Range<u64>) -> Cells {
        let mut cells = Cells::NONE;
        let of_unit = self.host_block(unit, 0);
        let (start, end) = (blocks.start.saturating_sub(of_unit), blocks.end.saturating_sub(of_unit));
        // No other roles have blocks of the range.
        let roles = to_usize(start / self.chunk)..to_usize(end.div_ceil(self.chunk)).min(self.data_width());
        for role in roles {
            let first = of_unit + role as u64 * self.chunk;
            let end = first + self.rows as u64;
            let (from, to) = (blocks.start.clamp(first, end), blocks.end.clamp(first, end));
            let base = role * self.rows;
            cells |= Cells::range(base + to_usize(from - first)..base + to_usize(to - first));
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn shapes() -> Vec<Geometry> {
        let mut shapes = Vec::new();
        for parity in [Parity::None, Parity::Last, Parity::Rotating] {
            for width in 3..6 {
                for (chunk, most) in [(1, 252), (4, 252), (6, 2 * width), (8, 4 * width), (7, 2 * width)] {
                    shapes.push(Geometry::new(2..2 + 11 * chunk, chunk, width, parity, most));
                }
            }
        }
        shapes
    }

    #[test]
    fn every_block_has_a_place_of_its_own() {
        for shape in shapes() {
            let mut places = BTreeSet::new();
            let mut units = BTreeSet::new();
            for block in 0..shape.blocks() {
                let unit: Vec<u64> = shape.units_of(block..block + 1).collect();
                let cells = shape.cells_of(unit[0], block..block + 1);
                assert_eq!((unit.len(), cells.len()), (1, 1));
                let cell = cells.iter().next().unwrap();
                assert_eq!(shape.host_block(unit[0], cell), block);
                let drive = shape.drive(unit[0], cell / shape.rows);
                assert_eq!(shape.role(unit[0], drive), cell / shape.rows);
                let place = shape.base(unit[0]) + (cell % shape.rows) as u64;
                assert_eq!((shape.unit_of(place), shape.cell(unit[0], drive, place)), (unit[0], cell));
                assert!(places.insert((drive, place)) && place < 2 + 11 * shape.chunk);
                units.insert(unit[0]);
            }
            assert_eq!(units.len() as u64, shape.units());
        }
    }

    #[test]
    fn a_range_is_cut_into_units_once() {
        for shape in shapes() {
            for start in 0..shape.blocks().min(60) {
                for end in start + 1..shape.blocks().min(start + 40) {
                    let units: Vec<u64> = shape.units_of(start..end).collect();
                    let cells: usize = units.iter().map(|&unit| shape.cells_of(unit, start..end).len()).sum();
                    assert_eq!(cells as u64, end - start);
                    assert_eq!(units.iter().collect::<BTreeSet<_>>().len(), units.len());
                }
            }
        }
    }

    #[test]
    fn raid5_is_left_symmetric_as_in_md() {
        let shape = Geometry::new(0..10, 1, 5, Parity::Rotating, 252);
        let drives: Vec<Vec<u32>> =
            (0..6).map(|unit| (0..5).map(|role| shape.drive(unit, role).get()).collect()).collect();
        assert_eq!(drives[0], [0, 1, 2, 3, 4]);
        assert_eq!(drives[1], [4, 0, 1, 2, 3]);
        assert_eq!(drives[2], [3, 4, 0, 1, 2]);
        assert_eq!(drives[5], drives[0]);
    }
}
