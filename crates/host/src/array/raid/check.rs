//! What holds of a layout that writes in place.

use super::Raid;
use super::locks::Kind;
use crate::Block;
use crate::check::ensure;

impl<B: Block> Raid<B> {
    /// Locks and lists of units agree, and a batch is made of writes to its unit that have begun.
    ///
    /// # Errors
    /// The first invariant that is broken, with the batch or unit.
    pub fn check(&self) -> Result<(), String> {
        self.locks.check()?;
        for (id, batch) in self.batches.allocated().filter(|(_, batch)| !batch.has_ended) {
            for &piece in &batch.pieces {
                let Some(write) = self.locks.piece(piece) else { return Err(format!("{id} lost {piece}")) };
                let is_write = matches!(write.kind, Kind::Write | Kind::Trim);
                ensure!(
                    is_write && write.unit == batch.unit,
                    "batch {id} of unit {} has {piece}",
                    batch.unit
                );
                ensure!(self.locks.has_begun(piece), "piece {piece} of batch {id} has not begun");
            }
        }
        for (id, work) in self.works.allocated() {
            let is_known = self.walks.iter().any(|walk| walk.has(work));
            ensure!(is_known, "work {id} on unit {} belongs to no pass", work.unit);
        }
        Ok(())
    }

    /// No unit is locked, and no batch, flush or pass is in progress.
    ///
    /// # Errors
    /// The first thing that is still locked or in progress.
    pub fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.locks.is_idle(), "units are locked");
        ensure!(self.woken.is_empty(), "units have not been looked at: {:?}", self.woken);
        ensure!(self.batches.is_empty(), "{} batches are in progress", self.batches.len());
        ensure!(self.gathers.is_empty(), "{} gathers are in progress", self.gathers.len());
        ensure!(self.flushes.is_empty() && !self.is_flushing, "flushes are in progress");
        ensure!(self.works.is_empty(), "{} units are maintained", self.works.len());
        ensure!(self.walks.is_empty(), "{} passes are in progress", self.walks.len());
        let is_idle = self.journal.as_ref().is_none_or(|journal| journal.is_idle());
        ensure!(is_idle, "the journal has work");
        let is_idle = self.intent.as_ref().is_none_or(|intent| intent.is_idle());
        ensure!(is_idle, "the bitmap has work");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::array::check::tests::Served;
    use crate::array::raid::Piece;
    use crate::array::raid::cells::Cells;
    use crate::array::requests::RequestSlot;
    use crate::array::{Array, Kind as LayoutOf, LayoutKind};

    fn raid(array: &mut Array<Fingerprint>) -> &mut Raid<Fingerprint> {
        match &mut array.layout {
            LayoutOf::Raid(raid) => raid,
            _ => panic!("it writes in place"),
        }
    }

    #[test]
    fn a_unit_that_stays_locked_is_found() {
        let mut served = Served::rested(LayoutKind::Raid5);
        let piece = Piece::new(3, Kind::Write, RequestSlot::NONE, Cells::NONE);
        served.finds(|array| _ = raid(array).locks.push(piece), "units are locked");
    }

    #[test]
    fn a_batch_of_work_that_has_ended_is_found() {
        let mut served = Served::rested(LayoutKind::Raid4);
        let broken = |array: &mut Array<Fingerprint>| {
            let raid = raid(array);
            let piece = raid.locks.push(Piece::new(3, Kind::Write, RequestSlot::NONE, Cells::NONE));
            let id = raid.batches.allocate(|| panic!("one was released"));
            raid.batches[id].begin(tailcut_base::Time::ZERO, 3, &[piece]);
        };
        served.finds(broken, "has not begun");
    }
}
