//! State of fail-fast reads: which cells were requested, received or declined.

use super::cells::Cells;
use super::geometry::Geometry;
use tailcut_base::Time;

/// State of the reads of the cells of a unit.
#[derive(Debug, Default)]
pub(super) struct CellReads {
    /// Cells that have been requested from drives.
    pub cells: Cells,
    /// Cells whose content has been received.
    pub known: Cells,
    /// Cells that drives have declined and not served since.
    taken: Cells,
    /// Declined cells that have not been requested again.
    pub refused: Cells,
    /// For each role, the time until which its drive reported to be busy.
    until: Vec<Time>,
}

impl CellReads {
    /// Resets the state.
    pub(super) fn clear(&mut self) {
        (self.cells, self.known) = (Cells::NONE, Cells::NONE);
        (self.taken, self.refused) = (Cells::NONE, Cells::NONE);
    }

    /// Records that cells are requested, perhaps again.
    pub(super) fn ask(&mut self, cells: Cells) {
        self.cells |= cells;
        self.refused = self.refused & !cells;
    }

    /// The drive of a role declines cells before `until`.
    pub(super) fn refuse(&mut self, role: usize, cells: Cells, until: Time) {
        if self.until.len() <= role {
            self.until.resize(role + 1, Time::ZERO);
        }
        self.until[role] = until;
        self.taken |= cells & !self.known;
        self.refused |= cells & !self.known;
    }

    /// True if a drive has declined any cell.
    pub(super) fn has_refusals(&self) -> bool {
        !self.taken.is_empty()
    }

    /// The subset of cells that are outstanding because their drives are busy.
    pub(super) fn taken(&self, cells: Cells) -> Cells {
        cells & self.taken & !self.known
    }

    /// Time until which a cell is expected to keep its row waiting.
    pub(super) fn until(&self, now: Time, shape: &Geometry, cell: usize) -> Time {
        let is_taken = self.taken.contains(cell) && !self.known.contains(cell);
        if is_taken { self.until[shape.role_of(cell)].max(now) } else { Time::ZERO }
    }

    /// True if all of these cells are received.
    pub(super) fn knows(&self, cells: Cells) -> bool {
        (cells & !self.known).is_empty()
    }
}
