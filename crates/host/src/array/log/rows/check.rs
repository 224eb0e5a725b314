//! What holds of the rows of a log.

use super::{BUCKETS, Group, RowInfo, RowState, Rows};
use crate::array::GroupId;
use crate::array::log::geometry::Row;
use crate::check::ensure;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::Id;

impl Rows {
    /// Each row is free, open, closed, collectable or a victim, and exactly the lists for that name it; valid
    /// blocks of rows add up to those of their group.
    pub(in crate::array::log) fn check(&self) -> Result<(), String> {
        let closed = self.count(RowState::Closed, self.rows.ids());
        ensure!(closed == self.closed.len(), "{closed} rows are closed, {} listed", self.closed.len());
        for &row in &self.closed {
            self.check_state(row, RowState::Closed)?;
        }
        for group in self.groups.ids() {
            self.check_group(group)?;
        }
        for (row, info) in self.rows.iter_enumerated() {
            let RowInfo { state, valid, age, .. } = *info;
            ensure!(valid <= self.positions, "row {row} has {valid} valid blocks of {}", self.positions);
            ensure!(age < self.opened, "row {row} is of age {age}, and {} were opened", self.opened);
            ensure!(state != RowState::Free || valid == 0, "row {row} is free and has {valid} valid blocks");
        }
        Ok(())
    }

    fn check_group(&self, id: GroupId) -> Result<(), String> {
        let group = &self.groups[id];
        let (first, end) = (id.get() * self.rows_of_group, (id.get() + 1) * self.rows_of_group);
        let members = || Row::new(first).up_to(Row::new(end));
        let valid: u64 = members().map(|row| u64::from(self.rows[row].valid)).sum();
        ensure!(
            valid == group.valid,
            "rows of group {id} have {valid} valid blocks, {} counted",
            group.valid
        );
        let free = self.count(RowState::Free, members());
        ensure!(free == group.free.len(), "{free} rows of group {id} are free, {} listed", group.free.len());
        for &row in &group.free {
            self.check_state(row, RowState::Free)?;
        }
        let (count, listed) = (self.count(RowState::Collectable, members()), group.collectable.len());
        ensure!(count == listed, "{count} rows of group {id} are collectable, {listed} listed");
        for (index, &row) in group.collectable.iter().enumerate() {
            self.check_state(row, RowState::Collectable)?;
            ensure!(self.rows[row].index == to_u32(index), "row {row} is {index} of the collectable ones");
        }
        self.check_buckets(id, group)
    }

    /// The lists by valid blocks hold the collectable rows, each in the list of its number.
    fn check_buckets(&self, id: GroupId, group: &Group) -> Result<(), String> {
        let mut listed = 0;
        for bucket in 0..BUCKETS {
            let (first, last) = group.buckets[bucket];
            let is_present = group.present[bucket / 64] >> (bucket % 64) & 1 == 1;
            ensure!(is_present == (first != Row::NONE), "bucket {bucket} of group {id} is marked wrongly");
            let (mut before, mut row) = (Row::NONE, first);
            while row != Row::NONE {
                self.check_state(row, RowState::Collectable)?;
                ensure!(self.bucket_of(row) == bucket, "row {row} is in bucket {bucket}");
                ensure!(self.rows[row].before == before, "bucket {bucket} is not linked back at row {row}");
                (before, row, listed) = (row, self.rows[row].after, listed + 1);
                ensure!(listed <= group.collectable.len(), "bucket {bucket} of group {id} is a ring");
            }
            ensure!(before == last, "bucket {bucket} of group {id} ends at row {before}");
        }
        let collectable = group.collectable.len();
        ensure!(listed == collectable, "{listed} of {collectable} collectable rows are in buckets");
        Ok(())
    }

    fn count(&self, state: RowState, rows: impl Iterator<Item = Row>) -> usize {
        rows.filter(|&row| self.rows[row].state == state).count()
    }

    fn check_state(&self, row: Row, expected: RowState) -> Result<(), String> {
        let state = self.rows[row].state;
        ensure!(state == expected, "row {row} is {state:?} and listed as {expected:?}");
        Ok(())
    }
}
