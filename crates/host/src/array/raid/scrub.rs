//! Verification of the blocks of a unit against their seals and their parity.

use super::Raid;
use super::cells::Cells;
use super::mismatches::MismatchPlace;
use super::walk::{Task, WorkId};
use crate::Block;
use crate::array::core::Core;
use tailcut_base::Time;

impl<B: Block> Raid<B> {
    /// Verifies a unit that was read, row by row. Returns the cells to rewrite, whose content is correct now.
    pub(super) fn compare(&mut self, now: Time, core: &mut Core<B>, id: WorkId) -> Cells {
        let unknown = self.unknown(core, self.works[id].unit);
        let mut writes = Cells::NONE;
        for row in 0..self.shape.rows {
            let of_row = |role: usize| role * self.shape.rows + row;
            let cells = (0..self.shape.width).map(of_row);
            let is_known = self.shape.has_parity() && !cells.clone().any(|cell| unknown.contains(cell));
            if self.works[id].task == Task::Scrub && self.shape.has_parity() {
                let count = if is_known { &mut self.report.compared } else { &mut self.report.not_compared };
                *count += 1;
            }
            // A cell of a drive that was lost during the scrub is missing, not damaged.
            let is_bad = |&cell: &usize| self.works[id].bad.contains(cell) && !unknown.contains(cell);
            let bad: Vec<usize> = cells.filter(is_bad).collect();
            match bad[..] {
                [] if is_known => {
                    if self.compare_parity(id, row, &mut writes) {
                        self.adopt(now, core, id, row);
                    }
                }
                [] => {}
                [cell] if is_known => self.restore(core, id, cell, &mut writes),
                _ => self.count_lost(id, bad.len() as u64),
            }
        }
        writes
    }

    /// Sets unknown checksums of a row whose parity matches its data.
    fn adopt(&mut self, now: Time, core: &mut Core<B>, id: WorkId, row: usize) {
        let work = &self.works[id];
        let block = self.shape.base(work.unit) + row as u64;
        for role in 0..self.shape.width {
            let drive = self.shape.drive(work.unit, role);
            core.drives.adopt(now, drive, block, &work.content[role * self.shape.rows + row]);
        }
    }

    /// All blocks of a row are intact: verifies their parity.
    fn compare_parity(&mut self, id: WorkId, row: usize, writes: &mut Cells) -> bool {
        let parity = self.shape.parity_role() * self.shape.rows + row;
        let mut right = self.others(id, parity);
        let work = &mut self.works[id];
        std::mem::swap(&mut work.content[parity], &mut right);
        right.xor(&work.content[parity]);
        if is_zero(&right) {
            return true;
        }
        writes.insert(parity);
        if work.task == Task::Resync {
            self.report.resynced += 1;
        } else {
            let member = self.shape.drive(work.unit, self.shape.parity_role());
            let block = self.shape.base(work.unit) + row as u64;
            self.report.parity_mismatches += 1;
            self.report.mismatch_places.add(MismatchPlace { member, block });
        }
        false
    }

    /// One block of a row is damaged: reconstructs it from the others. After a power loss only for a parity
    /// block, as the parity may be inconsistent.
    fn restore(&mut self, core: &mut Core<B>, id: WorkId, cell: usize, writes: &mut Cells) {
        let is_parity = cell / self.shape.rows == self.shape.parity_role();
        let is_resync = self.works[id].task == Task::Resync;
        if is_resync && !is_parity {
            return self.count_lost(id, 1);
        }
        let right = self.others(id, cell);
        let (role, row) = (cell / self.shape.rows, cell % self.shape.rows);
        let unit = self.works[id].unit;
        let (drive, block) = (self.shape.drive(unit, role), self.shape.base(unit) + row as u64);
        if !core.drives.accept(drive, block, std::slice::from_ref(&right)) {
            // Another block of the row, or its parity, is damaged as well.
            return self.count_lost(id, 1);
        }
        self.works[id].content[cell] = right;
        writes.insert(cell);
        if is_resync {
            self.report.resynced += 1;
        } else {
            self.report.corrupt_blocks += 1;
            self.report.repaired += 1;
            core.reads.note_repaired(1);
        }
    }

    /// The exclusive or of the other cells of a row.
    fn others(&self, id: WorkId, cell: usize) -> B {
        let mut sum = B::default();
        let row = cell % self.shape.rows;
        for other in (0..self.shape.width).map(|role| role * self.shape.rows + row) {
            if other != cell {
                sum.xor(&self.works[id].content[other]);
            }
        }
        sum
    }

    fn count_lost(&mut self, id: WorkId, blocks: u64) {
        if self.works[id].task == Task::Scrub {
            self.report.corrupt_blocks += blocks;
            self.report.unrepairable += blocks;
        }
    }
}

/// True for a block of zeros in any representation.
fn is_zero<B: Block>(block: &B) -> bool {
    match block.decode() {
        Some(bytes) => bytes.iter().all(|&byte| byte == 0),
        None => *block == B::default(),
    }
}
