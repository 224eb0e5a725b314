//! Host writes and trims: by batch, from the required reads to the completions of the drives.

use super::batch::{Batch, BatchId, plan};
use super::cells::Cells;
use super::locks::Kind;
use super::locks::PieceId;
use super::mutation::{Invariant, holds};
use super::{Raid, Token};
use crate::Block;
use crate::array::DriveId;
use crate::array::config::ReadPolicy;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::{ReadResult, ReconstructWhen, SealAge, seal_of};
use tailcut_base::cast::to_usize;
use tailcut_base::{Op, Spans, Status, Time};

impl<B: Block> Raid<B> {
    /// Starts a batch.
    pub(super) fn begin_batch(&mut self, now: Time, core: &mut Core<B>, pieces: &[PieceId]) {
        let id = self.batches.allocate(|| Batch::new(self.shape.width * self.shape.rows));
        let unit = self.locks.get(pieces[0]).unit;
        self.batches[id].begin(now, unit, pieces);
        for &piece in pieces {
            self.take_piece(core, id, piece);
        }
        self.prepare(now, core, id);
    }

    /// Adds the content of a piece to a batch; later pieces replace earlier ones.
    fn take_piece(&mut self, core: &Core<B>, id: BatchId, piece: PieceId) {
        let (batch, piece) = (&mut self.batches[id], self.locks.get(piece));
        let request = core.requests.get(piece.slot);
        batch.fua |= request.fua;
        batch.class = request.class;
        batch.place_by(request.handle());
        batch.data |= piece.cells;
        for cell in piece.cells.iter() {
            batch.content[cell] = match piece.kind {
                Kind::Trim => B::default(),
                _ => {
                    let block = self.shape.host_block(piece.unit, cell) - request.block;
                    request.data[to_usize(block)].clone()
                }
            };
        }
        let trims = if piece.kind == Kind::Trim { piece.cells } else { Cells::NONE };
        batch.trimmed = (batch.trimmed & !piece.cells) | trims;
    }

    /// Decides which reads a batch requires, and starts them.
    fn prepare(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        if self.has_failed(core) {
            return self.end_batch(now, core, id, Status::WriteProtected);
        }
        let unit = self.batches[id].unit;
        let unknown = self.unknown(core, unit) | self.batches[id].bad;
        let batch = &mut self.batches[id];
        let parity_role = self.shape.parity_role();
        let parity_is_there =
            self.shape.has_parity() && core.drives.is_present(self.shape.drive(unit, parity_role));
        let Some(plan) = plan(&self.shape, batch.data, unknown, parity_is_there) else {
            return self.cannot_prepare(now, core, id);
        };
        batch.begin_reading(&self.shape, plan, unknown);
        if plan.reads.is_empty() {
            return self.prepared(now, core, id);
        }
        let may_refuse = core.config.reads == ReadPolicy::FailFast;
        let around = if may_refuse { ReconstructWhen::Told } else { ReconstructWhen::Later };
        self.read_for_parity(now, core, id, plan.reads, around);
    }

    fn read_for_parity(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        id: BatchId,
        cells: Cells,
        around: ReconstructWhen,
    ) {
        let batch = &mut self.batches[id];
        batch.asked.ask(cells);
        let (unit, class) = (batch.unit, batch.class);
        for run in self.shape.runs(unit, cells, self.most) {
            let wanted = run.wanted(class, Priority::Write, around, Token::BatchRead(id));
            self.batches[id].reading += 1;
            core.reads.begin(now, &mut core.drives, wanted);
        }
    }

    /// The cells of a unit on drives that cannot be read there.
    pub(super) fn unknown(&self, core: &Core<B>, unit: u64) -> Cells {
        let (base, rows) = (self.shape.base(unit), self.shape.rows as u64);
        let mut cells = Cells::NONE;
        for role in 0..self.shape.width {
            if !core.drives.serves(self.shape.drive(unit, role), base..base + rows) {
                cells |= self.shape.role_cells(role);
            }
        }
        cells
    }

    /// Another cell of the same row is lost: a parity that matches the writes cannot be computed. Pieces of a
    /// shared batch are retried one by one.
    #[cold]
    fn cannot_prepare(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let batch = &mut self.batches[id];
        if batch.pieces.len() == 1 {
            return self.end_batch(now, core, id, Status::MediaError);
        }
        for piece in std::mem::take(&mut batch.pieces) {
            self.locks.get(piece).alone = true;
            self.locks.suspend(piece);
        }
        self.woken.push_back(batch.unit);
        batch.clear(&self.shape);
        self.batches.release(id);
    }

    /// A read for a parity has completed.
    pub(super) fn batch_read(&mut self, now: Time, core: &mut Core<B>, id: BatchId, done: &ReadResult<B>) {
        let batch = &mut self.batches[id];
        batch.reading -= 1;
        if batch.is_read {
            return self.free_batch(id);
        }
        let first = self.shape.cell(batch.unit, done.wanted.drive, done.wanted.block);
        let cells = Cells::range(first..first + done.wanted.blocks as usize);
        match done.status {
            Status::Success => batch.take(&self.shape, first, &done.data),
            Status::Contended => batch.asked.refuse(first / self.shape.rows, cells, now + done.busy_for),
            _ if holds(Invariant::ParityOfIntact) => {
                batch.bad |= cells;
                batch.again = true;
            }
            _ => batch.asked.known |= cells,
        }
        self.look_at_parity(now, core, id, &done.spans);
    }

    /// Continues once the parity can be computed; otherwise requests the cells that are free first.
    fn look_at_parity(&mut self, now: Time, core: &mut Core<B>, id: BatchId, spans: &Spans) {
        let batch = &mut self.batches[id];
        if batch.again {
            if batch.reading == 0 {
                batch.account(now, spans);
                self.prepare(now, core, id);
            }
        } else if batch.knows_enough(&self.shape) {
            batch.account(now, spans);
            self.prepared(now, core, id);
        } else if !batch.asked.refused.is_empty() {
            let [fast, served] = batch.next(now, &self.shape);
            self.read_for_parity(now, core, id, served, ReconstructWhen::Later);
            self.read_for_parity(now, core, id, fast, ReconstructWhen::Told);
        }
    }

    /// All content is known: seals it, and passes it to the journal or the bitmap, then to the drives.
    fn prepared(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        if self.has_failed(core) {
            return self.end_batch(now, core, id, Status::WriteProtected);
        }
        let batch = &mut self.batches[id];
        batch.is_read = true;
        let parities = batch.writes & !self.shape.data_cells();
        batch.close_parity(&self.shape, parities);
        batch.trims = batch.trimmable(&self.shape) & batch.writes;
        batch.writes = batch.writes & !batch.trims;
        if !holds(Invariant::ParityFollows) && batch.data.len() < self.shape.data_width() {
            batch.writes = batch.writes & !parities;
        }
        let base = self.shape.base(batch.unit);
        for cell in batch.writes.iter() {
            let drive = self.shape.drive(batch.unit, cell / self.shape.rows);
            let address = base + (cell % self.shape.rows) as u64;
            batch.content[cell].seal(seal_of(drive, address, SealAge::IN_PLACE));
        }
        self.guard(now, core, id);
    }

    /// Writes a batch in place.
    pub(super) fn write_batch(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        if self.has_failed(core) {
            return self.end_batch(now, core, id, Status::WriteProtected);
        }
        let batch = &mut self.batches[id];
        let (unit, fua, class, data_kind) = (batch.unit, batch.fua, batch.class, batch.data_kind());
        let (writes, trims) = (batch.writes, batch.trims);
        batch.pending = 1;
        for (cells, op) in [(writes, Op::Write), (trims, Op::Trim)] {
            for run in self.shape.runs(unit, cells, self.most) {
                let (drive, kind, block, blocks) =
                    (run.drive, run.kind(&self.shape, data_kind), run.block, run.blocks());
                if !self.takes_writes(core, drive) {
                    continue;
                }
                let mut data = core.drives.memory();
                let batch = &mut self.batches[id];
                if op == Op::Write {
                    data.extend_from_slice(&batch.content[run.cells]);
                }
                batch.pending += 1;
                let ask = Ask {
                    op,
                    fua: fua && op == Op::Write,
                    fail_fast: false,
                    class,
                    kind,
                    block,
                    blocks,
                    data,
                };
                let owner = Owner::Layout(Token::BatchWrite(id).pack());
                core.drives.ask(now, drive, Priority::Write, owner, ask);
            }
        }
        self.batch_part_written(now, core, id, Status::Success, &Spans::new());
    }

    fn takes_writes(&self, core: &Core<B>, drive: DriveId) -> bool {
        let is_there = core.drives.is_present(drive);
        is_there && (holds(Invariant::WriteWhileRebuilding) || core.drives.is_in_sync(drive))
    }

    /// A write of a batch has completed on a drive.
    pub(super) fn batch_written(&mut self, now: Time, core: &mut Core<B>, id: BatchId, answer: &Answered<B>) {
        self.batch_part_written(now, core, id, answer.status, &answer.spans);
    }

    fn batch_part_written(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        id: BatchId,
        status: Status,
        spans: &Spans,
    ) {
        let is_redundant = self.shape.has_parity();
        let batch = &mut self.batches[id];
        // Redundancy covers a failed write: its drive is no longer in sync.
        batch.again |= status != Status::Success && !is_redundant;
        batch.pending -= 1;
        if batch.pending > 0 {
            return;
        }
        batch.account(now, spans);
        let failed = batch.again || self.has_failed(core);
        let status = if failed { Status::WriteProtected } else { Status::Success };
        self.end_batch(now, core, id, status);
    }

    /// Ends a batch: completes its host requests, and starts the work that waited for it.
    fn end_batch(&mut self, now: Time, core: &mut Core<B>, id: BatchId, status: Status) {
        self.unguard(now, core, id);
        let batch = &mut self.batches[id];
        batch.account(now, &Spans::new());
        batch.clear(&self.shape);
        let (unit, spans, mut pieces) = (batch.unit, batch.spans, std::mem::take(&mut batch.pieces));
        for &piece in &pieces {
            let slot = self.locks.get(piece).slot;
            self.locks.end(piece);
            core.part_done(now, slot, status, &spans);
        }
        pieces.clear();
        let batch = &mut self.batches[id];
        (batch.pieces, batch.is_read, batch.has_ended) = (pieces, true, true);
        self.free_batch(id);
        self.woken.push_back(unit);
    }

    /// Frees an ended batch once all of its reads have completed.
    fn free_batch(&mut self, id: BatchId) {
        let batch = &self.batches[id];
        if batch.has_ended && batch.reading == 0 {
            self.batches.release(id);
        }
    }
}
