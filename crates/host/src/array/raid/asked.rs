//! What drives have been asked for that may refuse, and what has come of it.

use super::cells::Cells;
use super::geometry::Geometry;
use tailcut_base::Time;

/// The cells of a unit, as far as they have been asked for.
#[derive(Debug, Default)]
pub struct Asked {
    /// What has been asked for.
    pub cells: Cells,
    /// What has come.
    pub known: Cells,
    /// What drives would rather not have served, and have not served since.
    taken: Cells,
    /// Of these what has not been asked for again.
    pub refused: Cells,
    /// Until when the drive of each role said that it is taken.
    until: Vec<Time>,
}

impl Asked {
    /// Nothing has been asked for.
    pub fn clear(&mut self) {
        (self.cells, self.known) = (Cells::NONE, Cells::NONE);
        (self.taken, self.refused) = (Cells::NONE, Cells::NONE);
    }

    /// Cells are asked for, perhaps again.
    pub fn ask(&mut self, cells: Cells) {
        self.cells |= cells;
        self.refused = self.refused & !cells;
    }

    /// The drive of a role would rather not serve some cells before `until`.
    pub fn refuse(&mut self, role: usize, cells: Cells, until: Time) {
        if self.until.len() <= role {
            self.until.resize(role + 1, Time::ZERO);
        }
        self.until[role] = until;
        self.taken |= cells & !self.known;
        self.refused |= cells & !self.known;
    }

    /// True when a drive has refused anything.
    pub fn has_refusals(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Of some cells those that are waited for, because their drives are taken.
    pub fn taken(&self, cells: Cells) -> Cells {
        cells & self.taken & !self.known
    }

    /// Until when a cell keeps its row waiting, as far as is known.
    pub fn until(&self, now: Time, shape: &Geometry, cell: usize) -> Time {
        let is_taken = self.taken.contains(cell) && !self.known.contains(cell);
        if is_taken { self.until[shape.role_of(cell)].max(now) } else { Time::ZERO }
    }

    /// True when all of some cells have come.
    pub fn knows(&self, cells: Cells) -> bool {
        (cells & !self.known).is_empty()
    }
}
