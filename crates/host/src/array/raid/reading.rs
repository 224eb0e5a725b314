//! Host reads: by piece, with reconstruction if drives are not in sync, and repair of damaged blocks.

use super::batch::Batch;
use super::cells::Cells;
use super::locks::{Kind, Mode, Piece, PieceId};
use super::{Raid, Token};
use crate::Block;
use crate::array::config::ReadPolicy;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Priority};
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen, SealAge, seal_of};
use crate::array::requests::RequestSlot;
use crate::disk::Mirror;
use crate::placement::WriteKind;
use tailcut_base::cast::to_usize;
use tailcut_base::{Nanos, Op, Spans, Status, Time};

impl<B: Block> Raid<B> {
    /// A read of some cells of a unit.
    pub(super) fn read_piece(&self, core: &Core<B>, unit: u64, slot: RequestSlot, cells: Cells) -> Piece {
        let mut piece = Piece::new(unit, Kind::Read, slot, cells);
        if !self.shape.has_parity() {
            return piece;
        }
        match core.requests.get(slot).mirror.copy() {
            None => {}
            Some(0) => return piece,
            Some(_) => {
                piece.mode = Mode::Around;
                piece.stable = self.shape.whole_rows(cells);
                return piece;
            }
        }
        let is_degraded = self.unknown(core, unit).meets(cells);
        if core.config.reads == ReadPolicy::FailFast && core.config.slow_after == Nanos::ZERO && !is_degraded
        {
            piece.mode = Mode::Fast;
            return piece;
        }
        let is_hedged = core.config.reads != ReadPolicy::Direct || core.config.slow_after > Nanos::ZERO;
        if is_degraded || is_hedged {
            (piece.mode, piece.may_be_direct) = (Mode::Around, !is_degraded);
            piece.stable = self.shape.whole_rows(cells);
        }
        piece
    }

    /// Copies what writes that wait for room have for a piece.
    fn read_stuck(&mut self, core: &mut Core<B>, id: PieceId) {
        let piece = self.locks.get(id);
        let (unit, slot) = (piece.unit, piece.slot);
        let is_stuck = |batch: &&Batch<B>| batch.unit == unit && !batch.pieces.is_empty();
        for batch in self.batches.ids().map(|id| &self.batches[id]).filter(is_stuck) {
            let known = self.locks.get(id).todo & batch.data;
            let request = core.requests.get_mut(slot);
            for cell in known.iter() {
                let at = self.shape.host_block(unit, cell) - request.block;
                request.data[to_usize(at)].clone_from(&batch.content[cell]);
            }
            self.locks.get(id).todo = self.locks.get(id).todo & !known;
        }
    }

    /// Requests the cells that a piece has still to read.
    pub(super) fn begin_read(&mut self, now: Time, core: &mut Core<B>, id: PieceId) {
        if self.locks.has_stuck() && self.locks.get(id).gather.is_none() {
            self.read_stuck(core, id);
            if self.locks.get(id).todo.is_empty() {
                return self.end_read(now, core, id, &Spans::new());
            }
        }
        let piece = self.locks.get(id);
        if piece.mode == Mode::Fast {
            return self.begin_gather(now, core, id);
        }
        let (unit, mode) = (piece.unit, piece.mode);
        let todo = std::mem::take(&mut piece.todo);
        let (class, mirror) = (core.requests.get(piece.slot).class, core.requests.get(piece.slot).mirror);
        let most = if mode == Mode::Single { 1 } else { self.most };
        for run in self.shape.runs(unit, todo, most) {
            let around = match mirror.copy() {
                Some(0) => ReconstructWhen::Later,
                Some(_) => ReconstructWhen::Always,
                None if mode == Mode::Direct => ReconstructWhen::Later,
                None => core.around(now, run.drive),
            };
            let wanted = run.wanted(class, Priority::Read, around, Token::Read(id));
            self.locks.get(id).pending += 1;
            core.reads.begin(now, &mut core.drives, wanted);
        }
    }

    /// A read for a piece has completed, successfully or not.
    pub(super) fn piece_read(&mut self, now: Time, core: &mut Core<B>, id: PieceId, done: &ReadResult<B>) {
        let unit = self.shape.unit_of(done.wanted.block);
        let first = self.shape.cell(unit, done.wanted.drive, done.wanted.block);
        let slot = self.locks.get(id).slot;
        if done.status == Status::Success {
            let request = core.requests.get_mut(slot);
            let at = to_usize(self.shape.host_block(unit, first) - request.block);
            request.data[at..at + done.data.len()].clone_from_slice(&done.data);
            let repairs = done.reconstructed && core.requests.get(slot).repairs_with(at.., &done.data);
            if repairs && !done.damaged {
                core.reads.note_wrong(done.wanted.drive);
            }
            if done.damaged && done.reconstructed || repairs {
                self.repair(now, core, id, done);
            }
        } else {
            self.locks.get(id).todo |= Cells::range(first..first + done.wanted.blocks as usize);
        }
        let piece = self.locks.get(id);
        piece.pending -= 1;
        if let Some(spans) = &mut piece.spans {
            **spans = done.spans;
        }
        self.look_at_read(now, core, id, &done.spans);
    }

    /// Rewrites blocks that a drive had lost.
    fn repair(&mut self, now: Time, core: &mut Core<B>, id: PieceId, done: &ReadResult<B>) {
        let BlockRead { drive, block, blocks, class, .. } = done.wanted;
        let mut data = core.drives.memory();
        data.extend_from_slice(&done.data);
        for (content, address) in data.iter_mut().zip(block..) {
            content.seal(seal_of(drive, address, SealAge::IN_PLACE));
        }
        core.reads.note_repaired(blocks.into());
        let piece = self.locks.get(id);
        piece.pending += 1;
        piece.spans.get_or_insert_default();
        let ask = Ask {
            op: Op::Write,
            fua: false,
            fail_fast: false,
            class,
            kind: WriteKind::Data,
            block,
            blocks,
            data,
        };
        let owner = Owner::Layout(Token::Repair(id).pack());
        core.drives.ask(now, drive, Priority::Write, owner, ask);
    }

    /// The write of a repair has completed.
    pub(super) fn repaired(&mut self, now: Time, core: &mut Core<B>, id: PieceId) {
        let piece = self.locks.get(id);
        piece.pending -= 1;
        let spans = **piece.spans.as_ref().expect("a part was read before the repair");
        self.look_at_read(now, core, id, &spans);
    }

    /// Ends or retries a piece once all of its requests have completed; `spans` are those of the part that
    /// was read last.
    fn look_at_read(&mut self, now: Time, core: &mut Core<B>, id: PieceId, spans: &Spans) {
        let can_go_around = self.shape.has_parity();
        let piece = self.locks.get(id);
        if piece.pending > 0 {
            return;
        }
        let next = match piece.mode {
            Mode::Direct if core.requests.get(piece.slot).mirror != Mirror::Any => Some(Mode::Single),
            Mode::Direct if can_go_around => Some(Mode::Around),
            Mode::Around => Some(Mode::Single),
            _ => None,
        };
        if let (false, Some(mode)) = (piece.todo.is_empty(), next) {
            (piece.mode, piece.may_be_direct) = (mode, false);
            piece.stable = self.shape.whole_rows(piece.todo) | piece.cells;
            self.woken.push_back(piece.unit);
            return self.locks.suspend(id);
        }
        self.end_read(now, core, id, spans);
    }

    /// Ends a piece; cells still to do could not be read.
    pub(super) fn end_read(&mut self, now: Time, core: &mut Core<B>, id: PieceId, spans: &Spans) {
        let piece = self.locks.get(id);
        let status = if piece.todo.is_empty() { Status::Success } else { Status::MediaError };
        let slot = piece.slot;
        self.woken.push_back(piece.unit);
        self.locks.end(id);
        core.part_done(now, slot, status, spans);
    }
}
