//! What holds of a log.

use super::Log;
use super::geometry::Row;
use super::open_row::{NO_BLOCK, OpenRowId};
use super::rows::RowState;
use crate::Block;
use crate::check::ensure;
use tailcut_base::ids::{Id, IdVec};

impl<B: Block> Log<B> {
    /// Rows are in exactly one state; every mapped block lies in a row that is in use, no two at the same
    /// place, and those of a row are its valid blocks; open rows are those of the two streams.
    ///
    /// # Errors
    /// The first invariant that is broken, with the row or block.
    pub fn check(&self) -> Result<(), String> {
        // While it recovers, the map comes first, and the rows follow from it.
        if !self.is_ready || self.is_lost {
            return Ok(());
        }
        self.rows.check()?;
        self.collection.check()?;
        self.check_map()?;
        self.check_open_rows()
    }

    fn check_map(&self) -> Result<(), String> {
        let mut valid: IdVec<_, u32> = IdVec::filled(self.geometry.all_rows() as usize, 0);
        for block in 0..self.geometry.host_blocks {
            let Some(place) = self.map.get(block) else { continue };
            let (row, column, stripe) = self.geometry.locate(place);
            let info = self.rows.get(row);
            ensure!(info.state != RowState::Free, "block {block} lies in row {row}, which is free");
            valid[row] += 1;
            if let Some(reverse) = &self.reverse {
                let there = reverse.raw(place.0).get();
                ensure!(there == block + 1, "block {block} is mapped to the place of another: {there}");
            }
            if info.open_row != OpenRowId::NONE {
                let position = self.geometry.position_of(row, column, stripe);
                let there = self.open_rows[info.open_row].blocks.get(position as usize).copied();
                let is_it = there == Some(block + 1);
                ensure!(is_it, "block {block} is mapped to position {position} of row {row}: {there:?}");
            }
        }
        for (row, &mapped) in valid.iter_enumerated() {
            let counted = self.rows.get(row).valid;
            ensure!(mapped == counted, "{mapped} blocks are mapped to row {row}, {counted} counted as valid");
        }
        Ok(())
    }

    fn check_open_rows(&self) -> Result<(), String> {
        for (stream, of) in self.streams.iter().enumerate() {
            for &id in of.closing.iter().chain((of.open != OpenRowId::NONE).then_some(&of.open)) {
                let row = &self.open_rows[id];
                let info = self.rows.get(row.here.row);
                ensure!(info.open_row == id, "row {} does not know that it is open", row.here.row);
                ensure!(info.state == RowState::Open, "row {} is written and {:?}", row.here.row, info.state);
                ensure!(info.age == row.here.age, "row {} has been opened again", row.here.row);
                ensure!(row.stream == stream, "row {} is of stream {stream}", row.here.row);
                ensure!(row.blocks.len() == row.next as usize, "row {} lost a position", row.here.row);
                let held = row.blocks.iter().filter(|&&block| block != NO_BLOCK).count();
                let valid = info.valid as usize;
                ensure!(valid <= held, "{valid} blocks of row {} are valid, {held} written", row.here.row);
            }
        }
        let listed: usize = self.streams.iter().map(|stream| stream.closing.len()).sum();
        let open = self.streams.iter().filter(|stream| stream.open != OpenRowId::NONE).count();
        let used = self.open_rows.len();
        ensure!(used == listed + open, "{used} rows are open, {listed} and {open} listed");
        Ok(())
    }

    /// Nothing is collected, read, scanned or about to be written, and no row is held by a reader.
    ///
    /// # Errors
    /// The first thing that is still in progress, waits or holds a row.
    pub fn check_at_rest(&self) -> Result<(), String> {
        ensure!(self.runs.is_empty(), "reads of the host are in progress");
        ensure!(self.orphans.is_empty(), "parts of requests are still to be completed");
        ensure!(self.space.waiting.is_empty(), "requests of the host wait for room");
        if !self.is_ready || self.failed.is_some() {
            return Ok(());
        }
        for row in Row::first(self.geometry.all_rows() as usize) {
            let readers = self.rows.get(row).readers;
            ensure!(readers == 0, "{readers} reads hold row {row}");
        }
        self.collection.check_at_rest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::array::check::tests::Served;
    use crate::array::{Array, Kind, LayoutKind};

    fn log(array: &mut Array<Fingerprint>) -> &mut Log<Fingerprint> {
        match &mut array.layout {
            Kind::Log(log) => log,
            _ => panic!("it writes a log"),
        }
    }

    fn finds(fault: impl FnOnce(&mut Log<Fingerprint>), expected: &str) {
        Served::rested(LayoutKind::LogRaid4).finds(|array| fault(log(array)), expected);
    }

    #[test]
    fn counts_of_valid_blocks_that_do_not_add_up_are_found() {
        finds(
            |log| log.rows.validate(log.geometry.locate(log.map.get(0).expect("written")).0),
            "counted as valid",
        );
        finds(|log| log.rows.get_mut(Row::new(3)).valid += 1, "valid blocks");
    }

    #[test]
    fn a_block_mapped_to_the_place_of_another_is_found() {
        finds(|log| _ = log.map.replace(1, log.map.get(2)), "the place of another");
    }

    #[test]
    fn a_row_in_two_states_and_one_that_is_never_released_are_found() {
        finds(|log| log.rows.get_mut(Row::new(5)).state = RowState::Victim, "rows of group 0 are free");
        finds(|log| log.rows.get_mut(Row::new(5)).readers += 1, "reads hold row 5");
    }
}
