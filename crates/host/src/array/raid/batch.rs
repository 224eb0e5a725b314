//! Batches of writes to one unit: the reads needed for the parity, and the blocks to write.

use super::asked::CellReads;
use super::cells::Cells;
use super::geometry::Geometry;
use super::locks::PieceId;
use super::mutation::{Invariant, holds};
use crate::Block;
use crate::placement::WriteKind;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Cause, Class, Nanos, Spans, Time, id};

id! {
    /// A batch in progress.
    pub struct BatchId;
}

/// A batch of writes.
#[derive(Debug)]
pub(super) struct Batch<B> {
    /// Number of the unit that the batch writes to.
    pub unit: u64,
    /// Pieces of host requests in the batch.
    pub pieces: Vec<PieceId>,
    /// Data cells with new content.
    pub data: Cells,
    /// Data cells that are trimmed.
    pub trimmed: Cells,
    /// Unreadable cells of drives in sync.
    pub bad: Cells,
    /// Cells of drives that are not in sync, and the bad ones.
    unknown: Cells,
    /// State of the reads for the parity.
    pub asked: CellReads,
    /// For each row, the exclusive or of the old content of written cells and the old parity, as received.
    old: Vec<B>,
    /// New content: of data cells as given by the host, of parity cells the exclusive or of the unwritten
    /// cells received so far.
    pub content: Vec<B>,
    /// Cells to write to drives.
    pub writes: Cells,
    /// Cells to trim on drives.
    pub trims: Cells,
    /// Number of writes to drives that are in flight.
    pub pending: u32,
    /// Number of reads from drives that are in flight.
    pub reading: u32,
    /// All required reads have completed; results of further ones are ignored.
    pub is_read: bool,
    /// True if the batch has ended but reads of it are outstanding.
    pub has_ended: bool,
    /// A read has failed: a new plan is needed.
    pub again: bool,
    /// Force unit access: durable at completion.
    pub fua: bool,
    /// Latency class of the requests to drives.
    pub class: Class,
    /// The handle of the drives that its data is placed by: that of the last piece.
    handle: HandleId,
    /// Number of the journal transaction that contains the batch; 1 if the bitmap marks its region instead,
    /// and 0 while neither protects it.
    pub transaction: u64,
    /// Attribution of its time up to `mark`.
    pub spans: Spans,
    /// Time up to which its time is attributed.
    mark: Time,
}

/// The reads required before rows can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Cells to read; the parity of a row is the exclusive or of the cells read and the cells written.
    pub reads: Cells,
    /// Parity cells to write.
    parities: Cells,
}

impl<B: Block> Batch<B> {
    /// An empty batch.
    pub(super) fn new(cells: usize) -> Batch<B> {
        Batch {
            unit: 0,
            pieces: Vec::new(),
            data: Cells::NONE,
            trimmed: Cells::NONE,
            bad: Cells::NONE,
            unknown: Cells::NONE,
            asked: CellReads::default(),
            old: Vec::new(),
            content: vec![B::default(); cells],
            writes: Cells::NONE,
            trims: Cells::NONE,
            pending: 0,
            reading: 0,
            is_read: false,
            has_ended: false,
            again: false,
            fua: false,
            class: Class::DEFAULT,
            handle: HandleId::FIRST,
            transaction: 0,
            spans: Spans::new(),
            mark: Time::ZERO,
        }
    }

    /// Restarts the batch for other pieces.
    pub(super) fn begin(&mut self, now: Time, unit: u64, pieces: &[PieceId]) {
        self.unit = unit;
        self.pieces.clear();
        self.pieces.extend_from_slice(pieces);
        (self.data, self.trimmed, self.bad) = (Cells::NONE, Cells::NONE, Cells::NONE);
        (self.writes, self.trims) = (Cells::NONE, Cells::NONE);
        (self.pending, self.again, self.fua, self.transaction) = (0, false, false, 0);
        (self.is_read, self.has_ended) = (false, false);
        (self.spans, self.mark) = (Spans::new(), now);
    }

    /// The data that is added to it last is placed by `handle`, and the rest of it as well.
    pub(super) fn place_by(&mut self, handle: HandleId) {
        self.handle = handle;
    }

    /// What a write of its data holds.
    pub(super) fn data_kind(&self) -> WriteKind {
        WriteKind::Named(self.handle)
    }

    /// A stage has ended, whose last part took `spans`.
    pub(super) fn account(&mut self, now: Time, spans: &Spans) {
        let passed = now.since(self.mark);
        let known = spans.total();
        if known <= passed {
            self.spans.extend(spans);
            self.spans.add(Cause::ArrayQueue, Nanos(passed.0 - known.0));
        } else {
            self.spans.add(Cause::ArrayQueue, passed);
        }
        self.mark = now;
    }

    /// Starts the reads for the parity of its rows.
    pub(super) fn begin_reading(&mut self, shape: &Geometry, plan: Plan, unknown: Cells) {
        for cell in plan.parities.iter() {
            self.content[cell] = B::default();
        }
        self.old.clear();
        self.old.resize(shape.rows, B::default());
        self.asked.clear();
        (self.unknown, self.writes) = (unknown, self.data | plan.parities);
        (self.again, self.is_read) = (false, false);
    }

    /// Adds blocks of neighbouring cells from a drive to the parity of their rows.
    pub(super) fn take(&mut self, shape: &Geometry, first: usize, blocks: &[B]) {
        let parity = shape.parity_role() * shape.rows;
        for (cell, block) in (first..).zip(blocks) {
            self.asked.known.insert(cell);
            let row = cell % shape.rows;
            let is_old = cell >= parity || self.data.contains(cell);
            if is_old { self.old[row].xor(block) } else { self.content[parity + row].xor(block) }
        }
    }

    /// True if the parity of each row can be computed.
    pub(super) fn knows_enough(&self, shape: &Geometry) -> bool {
        shape
            .rows_of(self.data)
            .all(|row| ways(shape, self.data, row).into_iter().any(|way| self.asked.knows(way)))
    }

    /// The next cells to request after some drives have declined: with fail-fast, and without. Each row uses
    /// the way that is free first.
    pub(super) fn next(&self, now: Time, shape: &Geometry) -> [Cells; 2] {
        let mut next = [Cells::NONE; 2];
        let refused = self.asked.refused;
        for row in shape.rows_of(self.data) {
            let both = ways(shape, self.data, row);
            let is_known = both.iter().any(|&way| self.asked.knows(way));
            if is_known || !both.iter().any(|way| way.meets(refused)) {
                continue;
            }
            let can_be = both.into_iter().filter(|way| !way.meets(self.unknown));
            let until = |cell: usize| self.asked.until(now, shape, cell);
            let cost = |way: &Cells| way.iter().map(until).max();
            let way = can_be.min_by_key(cost).expect("there was a plan");
            next[0] |= way & !self.asked.cells;
            next[1] |= way & refused;
        }
        next
    }

    /// Completes the parity after all reads.
    pub(super) fn close_parity(&mut self, shape: &Geometry, parities: Cells) {
        let parity = shape.parity_role() * shape.rows;
        for row in (0..shape.rows).filter(|row| parities.contains(parity + row)) {
            let [_, others] = ways(shape, self.data, row);
            if !self.asked.knows(others) && holds(Invariant::WholeWay) {
                self.content[parity + row] = std::mem::take(&mut self.old[row]);
            }
        }
        for cell in self.data.iter() {
            let at = parity + cell % shape.rows;
            if parities.contains(at) {
                let (data, parities) = self.content.split_at_mut(parity);
                parities[at - parity].xor(&data[cell]);
            }
        }
    }

    /// The written cells that can be trimmed instead: whole rows, since the parity of trimmed blocks is a
    /// trimmed block.
    pub(super) fn trimmable(&self, shape: &Geometry) -> Cells {
        if self.fua {
            // A trim is not durable at completion, and it may have replaced a write of the batch that must
            // be.
            return Cells::NONE;
        }
        if !shape.has_parity() {
            return self.trimmed;
        }
        let mut cells = Cells::NONE;
        for row in 0..shape.rows {
            let mut of_row = (0..shape.data_width()).map(|role| role * shape.rows + row);
            if of_row.all(|cell| self.trimmed.contains(cell)) {
                (0..shape.width).for_each(|role| cells.insert(role * shape.rows + row));
            }
        }
        cells
    }

    /// Drops the content.
    pub(super) fn clear(&mut self, shape: &Geometry) {
        for cell in (self.data | shape.role_cells(shape.parity_role())).iter() {
            if let Some(content) = self.content.get_mut(cell) {
                *content = B::default();
            }
        }
    }
}

/// The two ways to the parity of a row with some written cells: read-modify-write reads the old content of
/// the written cells and the old parity, reconstruct-write reads all other data.
fn ways(shape: &Geometry, data: Cells, row: usize) -> [Cells; 2] {
    let (mut written, mut others) = (Cells::NONE, Cells::NONE);
    for cell in (0..shape.data_width()).map(|role| role * shape.rows + row) {
        if data.contains(cell) { written.insert(cell) } else { others.insert(cell) }
    }
    written.insert(shape.parity_role() * shape.rows + row);
    [written, others]
}

/// The reads for a write of the cells `data`, while the cells `unknown` cannot be read. Each row uses the way
/// with fewer reads: read-modify-write (old content of the written cells, and old parity) or
/// reconstruct-write (unwritten cells). If equal, reconstruct-write (as Linux md does by default), which does
/// not rely on the old parity. None if neither is possible for some row.
pub(super) fn plan(shape: &Geometry, data: Cells, unknown: Cells, parity_is_there: bool) -> Option<Plan> {
    let mut plan = Plan { reads: Cells::NONE, parities: Cells::NONE };
    if !shape.has_parity() || !parity_is_there {
        return Some(plan);
    }
    for row in shape.rows_of(data) {
        let [written, others] = ways(shape, data, row);
        plan.parities.insert(shape.parity_role() * shape.rows + row);
        let can_modify = !written.meets(unknown);
        let can_reconstruct = !others.meets(unknown);
        plan.reads |= match (can_modify, can_reconstruct) {
            (true, true) if written.len() < others.len() => written,
            (_, true) => others,
            (true, false) => written,
            (false, false) => return None,
        };
    }
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Parity;
    use super::*;

    /// Six drives, one row: five data chunks, and parity in chunk 5.
    fn shape() -> Geometry {
        Geometry::new(0..10, 1, 6, Parity::Last, 6)
    }

    fn reads(data: std::ops::Range<usize>, unknown: &[usize]) -> Option<Vec<usize>> {
        let mut bad = Cells::NONE;
        unknown.iter().for_each(|&cell| bad.insert(cell));
        plan(&shape(), Cells::range(data), bad, true).map(|plan| plan.reads.iter().collect())
    }

    #[test]
    fn each_row_reads_what_is_least() {
        assert_eq!(reads(0..1, &[]), Some(vec![0, 5]));
        // Three blocks either way: reconstruct-write wins.
        assert_eq!(reads(0..2, &[]), Some(vec![2, 3, 4]));
        assert_eq!(reads(0..3, &[]), Some(vec![3, 4]));
        assert_eq!(reads(0..5, &[]), Some(vec![]));
    }

    #[test]
    fn what_cannot_be_read_is_done_without() {
        assert_eq!(reads(0..1, &[0]), Some(vec![1, 2, 3, 4]));
        assert_eq!(reads(0..1, &[5]), Some(vec![1, 2, 3, 4]));
        assert_eq!(reads(0..4, &[4]), Some(vec![0, 1, 2, 3, 5]));
        assert_eq!(reads(0..4, &[3, 4]), None);
        assert_eq!(reads(0..5, &[0, 4]), Some(vec![]));
        let plan = plan(&shape(), Cells::range(0..1), Cells::range(5..6), false).unwrap();
        assert!(plan.reads.is_empty() && plan.parities.is_empty());
    }
}
