//! What holds of the work on units.

use super::{Busy, Kind, Locks, PieceId};
use crate::check::ensure;

impl Locks {
    /// Each unit with work has a list of its pieces, linked both ways, with their counts; each piece is in
    /// one; and where writes to a unit depend on each other, maintenance excludes writes.
    pub(in crate::array::raid) fn check(&self) -> Result<(), String> {
        let (mut listed, mut stuck) = (0, 0);
        for (id, busy) in self.busy.allocated() {
            ensure!(self.find(busy.unit) == Some(id), "unit {} has work and is not found", busy.unit);
            let (pieces, of_them) = self.check_unit(busy)?;
            (listed, stuck) = (listed + pieces, stuck + of_them);
        }
        ensure!(listed == self.pieces.len(), "{listed} of {} pieces are in lists", self.pieces.len());
        ensure!(stuck == self.stuck, "{stuck} pieces are stuck, {} counted", self.stuck);
        Ok(())
    }

    /// Returns the number of pieces of a unit, and how many of them are stuck.
    fn check_unit(&self, busy: &Busy) -> Result<(usize, usize), String> {
        let Busy { unit, head, tail, writes, waiting, .. } = *busy;
        let (mut listed, mut stuck) = (0, 0);
        let (mut writes_listed, mut waiting_listed) = (0, 0);
        let (mut writing, mut maintained) = (false, 0);
        let (mut before, mut at) = (PieceId::NONE, head);
        while at != PieceId::NONE {
            let Some(piece) = self.pieces.get(at) else { return Err(format!("unit {unit} has lost {at}")) };
            ensure!(piece.unit == unit, "piece {at} of unit {} is in the list of unit {unit}", piece.unit);
            ensure!(piece.prev == before, "the list of unit {unit} is not linked back at piece {at}");
            ensure!(piece.active || !piece.is_stuck, "piece {at} waits, and counts as stuck");
            writes_listed += u32::from(piece.kind != Kind::Read);
            waiting_listed += u32::from(!piece.active);
            writing |= piece.active && matches!(piece.kind, Kind::Write | Kind::Trim);
            maintained += u32::from(piece.active && matches!(piece.kind, Kind::Maintain(_)));
            (listed, stuck) = (listed + 1, stuck + usize::from(piece.is_stuck));
            ensure!(listed <= self.pieces.len(), "the list of unit {unit} is a ring");
            (before, at) = (at, piece.next);
        }
        ensure!(before == tail, "the list of unit {unit} ends at {before}, not {tail}");
        ensure!(listed > 0, "unit {unit} counts as busy without work");
        ensure!(writes == writes_listed, "unit {unit} has {writes_listed} writes, {writes} counted");
        ensure!(waiting == waiting_listed, "unit {unit} has {waiting_listed} waiting, {waiting} counted");
        let excludes = maintained <= 1 && (maintained == 0 || !writing);
        ensure!(!self.exclusive || excludes, "unit {unit} is maintained and written at once");
        Ok((listed, stuck))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Piece;
    use super::*;
    use crate::array::raid::cells::Cells;
    use crate::array::requests::RequestSlot;

    fn two_writes() -> (Locks, PieceId) {
        let mut locks = Locks::new(true);
        let write = || Piece::new(9, Kind::Write, RequestSlot::NONE, Cells::NONE);
        locks.push(write());
        let second = locks.push(write());
        locks.check().expect("both are in the list");
        (locks, second)
    }

    #[test]
    fn a_broken_link_and_a_wrong_count_are_found() {
        let (mut locks, second) = two_writes();
        locks.pieces[second].prev = PieceId::NONE;
        assert!(locks.check().expect_err("a link is gone").contains("not linked back"));
        let (mut locks, _) = two_writes();
        let (id, _) = locks.busy.allocated().next().expect("one unit has work");
        locks.busy[id].waiting = 1;
        assert!(locks.check().expect_err("two wait").contains("waiting"));
    }

    #[test]
    fn a_piece_that_waits_and_counts_as_stuck_is_found() {
        let (mut locks, second) = two_writes();
        locks.pieces[second].is_stuck = true;
        assert!(locks.check().expect_err("it has not begun").contains("stuck"));
    }
}
