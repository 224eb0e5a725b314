//! Fail-fast reads: a cell that a drive declines is reconstructed from the rest of its row, of which only the
//! cells not read by the same request are read in addition.
//!
//! A row is known as soon as all of its wanted cells have arrived, or all of its cells but one, whichever is
//! first. So if several drives of a row are busy, one of them can always be spared: the one that is busy
//! longest (IODA, SOSP 2021, section 3.2.2: busy remaining time). The others must serve, and no read waits
//! for more of them than necessary.
//!
//! Wanted blocks do not change before the read ends; the rest of their rows is locked only when it is needed.
//! While a write holds it, the drive is asked to serve after all, and again the first result counts.

use super::asked::CellReads;
use super::cells::Cells;
use super::geometry::Geometry;
use super::locks::{Mode, PieceId};
use super::mutation::{Invariant, holds};
use super::{Raid, Token};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::Priority;
use crate::array::reads::{ReadResult, ReconstructWhen};
use tailcut_base::cast::to_usize;
use tailcut_base::{Cause, Class, Spans, Status, Time, id};

id! {
    /// A fail-fast read in progress.
    pub struct GatherId;
}

/// State of a fail-fast read: the cells of a piece, and the other cells of their rows.
#[derive(Debug)]
pub(super) struct Gather<B> {
    /// The piece; None when it has ended but reads are outstanding.
    piece: Option<PieceId>,
    unit: u64,
    class: Class,
    /// Cells that the piece reads.
    wanted: Cells,
    asked: CellReads,
    /// For each row, the exclusive or of the received cells that the piece does not read.
    sums: Vec<B>,
    /// Outstanding reads.
    pending: u32,
    /// The rows are locked.
    is_stable: bool,
    /// The piece waits for the lock.
    is_waiting: bool,
    /// A drive has failed: the piece is read in another way.
    has_failed: bool,
    /// When the first drive declined.
    since: Time,
}

/// The next cells to request for a piece.
#[derive(Debug)]
struct Next {
    /// Cells to request with fail-fast.
    fast: Cells,
    /// Cells to request without fail-fast.
    served: Cells,
    /// The rows must be locked.
    needs_rows: bool,
}

impl<B: Block> Gather<B> {
    fn new() -> Gather<B> {
        Gather {
            piece: None,
            unit: 0,
            class: Class::DEFAULT,
            wanted: Cells::NONE,
            asked: CellReads::default(),
            sums: Vec::new(),
            pending: 0,
            is_stable: false,
            is_waiting: false,
            has_failed: false,
            since: Time::ZERO,
        }
    }

    fn begin(&mut self, piece: PieceId, unit: u64, class: Class, wanted: Cells) {
        (self.piece, self.unit, self.class, self.wanted) = (Some(piece), unit, class, wanted);
        self.asked.clear();
        (self.is_stable, self.is_waiting, self.has_failed) = (!holds(Invariant::RowHeld), false, false);
    }

    /// A drive has declined some cells.
    fn refuse(&mut self, now: Time, shape: &Geometry, cells: Cells, until: Time) {
        let role = cells.iter().next().expect("an answer has blocks") / shape.rows;
        if !self.asked.has_refusals() {
            self.since = now;
            self.sums.clear();
            self.sums.resize(shape.rows, B::default());
        }
        self.asked.refuse(role, cells, until);
    }

    /// The next cells to request after drives have declined: for each row, the way with the shorter wait.
    fn next(&self, now: Time, shape: &Geometry) -> Next {
        let mut next = Next { fast: Cells::NONE, served: Cells::NONE, needs_rows: false };
        let missing = self.asked.taken(self.wanted);
        for row in shape.rows_of(missing) {
            self.next_of_row(now, shape, row, &mut next);
        }
        next
    }

    fn next_of_row(&self, now: Time, shape: &Geometry, row: usize, next: &mut Next) {
        let of_row = || (0..shape.width).map(|role| role * shape.rows + row);
        let cost = |cell: &usize| self.asked.until(now, shape, *cell);
        let wanted = of_row().filter(|&cell| self.wanted.contains(cell));
        let last = wanted.max_by_key(cost).expect("something of the row is wanted");
        let around = of_row().filter(|&cell| cell != last).map(|cell| cost(&cell)).max();
        let goes_around = around.is_some_and(|around| around < cost(&last));
        next.needs_rows |= goes_around;
        for cell in of_row() {
            if goes_around && self.is_stable {
                if !self.asked.cells.contains(cell) {
                    next.fast.insert(cell);
                } else if self.asked.refused.contains(cell) && cell != last {
                    next.served.insert(cell);
                }
            } else if self.asked.refused.contains(cell) && self.wanted.contains(cell) {
                next.served.insert(cell);
            }
        }
    }

    /// Wanted cells that are not received but can be computed from the rest of their rows.
    fn follows(&self, shape: &Geometry) -> Cells {
        let mut cells = Cells::NONE;
        if self.is_stable {
            let missing = self.wanted & !self.asked.known;
            for cell in missing.iter() {
                let row = (0..shape.width).map(|role| role * shape.rows + cell % shape.rows);
                if row.filter(|&cell| !self.asked.known.contains(cell)).count() == 1 {
                    cells.insert(cell);
                }
            }
        }
        cells
    }
}

impl<B: Block> Raid<B> {
    /// Starts the reads of a piece, or continues once its rows are locked.
    pub(super) fn begin_gather(&mut self, now: Time, core: &mut Core<B>, id: PieceId) {
        let piece = self.locks.get(id);
        if let Some(gather) = piece.gather {
            let g = &mut self.gathers[gather];
            (g.is_stable, g.is_waiting) = (true, false);
            return self.go_on_gathering(now, core, gather);
        }
        let gather = self.gathers.allocate(Gather::new);
        piece.gather = Some(gather);
        let (unit, cells) = (piece.unit, piece.cells);
        let class = core.requests.get(piece.slot).class;
        piece.todo = Cells::NONE;
        self.gathers[gather].begin(id, unit, class, cells);
        self.ask_gathered(now, core, gather, cells, ReconstructWhen::Told);
    }

    fn ask_gathered(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        id: GatherId,
        cells: Cells,
        around: ReconstructWhen,
    ) {
        let gather = &mut self.gathers[id];
        gather.asked.ask(cells);
        let (unit, class) = (gather.unit, gather.class);
        for run in self.shape.runs(unit, cells, self.most) {
            let wanted = run.wanted(class, Priority::Read, around, Token::Gather(id));
            self.gathers[id].pending += 1;
            core.reads.begin(now, &mut core.drives, wanted);
        }
    }

    /// A read for a piece has completed, successfully or not.
    pub(super) fn gathered(&mut self, now: Time, core: &mut Core<B>, id: GatherId, done: &ReadResult<B>) {
        let gather = &mut self.gathers[id];
        gather.pending -= 1;
        let Some(piece) = gather.piece else {
            return self.free_gather(id);
        };
        let first = self.shape.cell(gather.unit, done.wanted.drive, done.wanted.block);
        let cells = Cells::range(first..first + done.wanted.blocks as usize);
        match done.status {
            Status::Success => self.take_gathered(core, id, first, &done.data),
            Status::Contended => gather.refuse(now, &self.shape, cells, now + done.busy_for),
            _ => gather.has_failed = true,
        }
        let is_computed = self.compute(core, id);
        let gather = &self.gathers[id];
        if gather.asked.knows(gather.wanted) {
            let mut spans = done.spans;
            if is_computed {
                spans = Spans::new();
                spans.add(Cause::Reconstruction, now.since(gather.since));
            }
            self.end_gather(id);
            return self.end_read(now, core, piece, &spans);
        }
        if gather.has_failed {
            return self.read_otherwise(id, piece);
        }
        if done.status == Status::Contended {
            self.go_on_gathering(now, core, id);
        }
    }

    /// Accepts received blocks: wanted ones go to the host request, others are added to the sum of their
    /// rows.
    fn take_gathered(&mut self, core: &mut Core<B>, id: GatherId, first: usize, blocks: &[B]) {
        let gather = &mut self.gathers[id];
        let piece = gather.piece.expect("it has not ended");
        for (cell, block) in (first..).zip(blocks) {
            if gather.asked.known.contains(cell) {
                continue;
            }
            gather.asked.known.insert(cell);
            if gather.wanted.contains(cell) {
                let host_block = self.shape.host_block(gather.unit, cell);
                let request = core.requests.get_mut(self.locks.get(piece).slot);
                request.data[to_usize(host_block - request.block)].clone_from(block);
            } else {
                gather.sums[cell % self.shape.rows].xor(block);
            }
        }
    }

    /// Computes all cells that follow from the received ones; true if there were any.
    fn compute(&mut self, core: &mut Core<B>, id: GatherId) -> bool {
        let cells = self.gathers[id].follows(&self.shape);
        for cell in cells.iter() {
            let (shape, gather) = (&self.shape, &mut self.gathers[id]);
            let piece = gather.piece.expect("it has not ended");
            let request = core.requests.get_mut(self.locks.get(piece).slot);
            let mut sum = gather.sums[cell % shape.rows].clone();
            let of_row = (0..shape.data_width()).map(|role| role * shape.rows + cell % shape.rows);
            for other in of_row.filter(|&other| other != cell && gather.wanted.contains(other)) {
                sum.xor(&request.data[to_usize(shape.host_block(gather.unit, other) - request.block)]);
            }
            let (drive, row) = (shape.drive(gather.unit, cell / shape.rows), cell % shape.rows);
            if !core.drives.accept(drive, shape.base(gather.unit) + row as u64, std::slice::from_ref(&sum)) {
                gather.has_failed = true;
                continue;
            }
            request.data[to_usize(shape.host_block(gather.unit, cell) - request.block)] = sum;
            gather.asked.known.insert(cell);
        }
        !cells.is_empty()
    }

    /// Requests the cells that keep each row waiting least.
    fn go_on_gathering(&mut self, now: Time, core: &mut Core<B>, id: GatherId) {
        let gather = &mut self.gathers[id];
        if gather.has_failed {
            return;
        }
        let next = gather.next(now, &self.shape);
        if next.needs_rows && !gather.is_stable && !gather.is_waiting {
            gather.is_waiting = true;
            let piece = gather.piece.expect("it has not ended");
            let entry = self.locks.get(piece);
            entry.stable = self.shape.whole_rows(entry.cells);
            self.woken.push_back(entry.unit);
            if self.locks.can_extend(piece) {
                self.locks.suspend(piece);
                return;
            }
            self.locks.suspend(piece);
        }
        self.ask_gathered(now, core, id, next.served, ReconstructWhen::Later);
        self.ask_gathered(now, core, id, next.fast, ReconstructWhen::Told);
    }

    /// A drive has failed: once all reads have completed, the piece restarts without that drive.
    fn read_otherwise(&mut self, id: GatherId, piece: PieceId) {
        let gather = &mut self.gathers[id];
        if gather.pending > 0 {
            return;
        }
        let (todo, is_waiting) = (gather.wanted & !gather.asked.known, gather.is_waiting);
        self.end_gather(id);
        let entry = self.locks.get(piece);
        (entry.mode, entry.gather, entry.todo) = (Mode::Around, None, todo);
        entry.stable = self.shape.whole_rows(entry.cells);
        self.woken.push_back(entry.unit);
        if !is_waiting {
            self.locks.suspend(piece);
        }
    }

    fn end_gather(&mut self, id: GatherId) {
        self.gathers[id].piece = None;
        self.free_gather(id);
    }

    /// Frees an ended gather once all of its reads have completed.
    fn free_gather(&mut self, id: GatherId) {
        if self.gathers[id].pending == 0 {
            self.gathers.release(id);
        }
    }
}
