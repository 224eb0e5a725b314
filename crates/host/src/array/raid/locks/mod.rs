//! Ordering of the work on one unit: reads, writes and maintenance.
//!
//! Each unit with work has a list in the order of submission. A read waits for earlier writes that intersect
//! its blocks, a write for earlier reads; in a unit with parity, one batch of writes or one piece of
//! maintenance runs at a time, and the writes that wait for it are then batched. A read that has started can
//! be extended to rely on more blocks: it waits again at its position, and still holds the blocks it relied
//! on before. At most [`WINDOW`] entries of a list are examined, so that the cost of an event does not grow
//! with the queue.

mod check;

use super::cells::Cells;
use super::gather::GatherId;
use super::walk::WorkId;
use crate::array::raid::mutation::{Invariant, holds};
use crate::array::requests::RequestSlot;
use tailcut_base::Spans;
use tailcut_base::cast::to_usize;
use tailcut_base::id;
use tailcut_base::ids::{Pool, Slab};

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A read of the host.
    Read,
    /// A write of the host.
    Write,
    /// A trim of the host.
    Trim,
    /// Rebuild or scrub of a unit: excludes writes only.
    Maintain(WorkId),
}

/// Mode of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// From the drives that hold the blocks, with fail-fast; whole rows are stable once one has declined. See
    /// `gather`.
    Fast,
    /// From the drives that hold the blocks. Other blocks of their rows may change meanwhile.
    Direct,
    /// With reconstruction if necessary: whole rows are stable.
    Around,
    /// Like `Around`, block by block, since different drives have failed different blocks.
    Single,
}

id! {
    /// A piece of work.
    pub struct PieceId;
}

impl PieceId {
    /// No piece.
    pub(super) const NONE: PieceId = PieceId(u32::MAX);
}

/// A piece of work on one unit.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Number of the unit that the work is on.
    pub unit: u64,
    /// Read, write or trim of the host, or maintenance.
    pub kind: Kind,
    /// The host request; [`RequestSlot::NONE`] for maintenance.
    pub slot: RequestSlot,
    /// Data cells read or written.
    pub cells: Cells,
    /// For a read, data cells that must not change meanwhile.
    pub stable: Cells,
    /// For a read, its mode.
    pub mode: Mode,
    /// For a read, it may be direct if it would have to wait otherwise.
    pub may_be_direct: bool,
    /// For a write, it is not batched with others.
    pub alone: bool,
    /// For a read, the cells that have not been requested.
    pub todo: Cells,
    /// For a fail-fast read, the state of its rows.
    pub gather: Option<GatherId>,
    /// Number of drive requests of the piece that are in flight.
    pub pending: u32,
    /// While a repair is in flight, the attribution of the time of the part that was read last.
    pub spans: Option<Box<Spans>>,
    /// A write in progress that waits for room on a drive: reads take its content from its batch.
    is_stuck: bool,
    active: bool,
    next: PieceId,
    prev: PieceId,
}

impl Piece {
    /// A piece that has not started.
    pub(super) fn new(unit: u64, kind: Kind, slot: RequestSlot, cells: Cells) -> Piece {
        Piece {
            unit,
            kind,
            slot,
            cells,
            stable: cells,
            mode: Mode::Direct,
            may_be_direct: false,
            alone: false,
            todo: cells,
            gather: None,
            pending: 0,
            spans: None,
            is_stuck: false,
            active: false,
            next: PieceId::NONE,
            prev: PieceId::NONE,
        }
    }
}

id! {
    /// A unit with work.
    struct BusyId;
}

impl BusyId {
    /// No unit.
    const NONE: BusyId = BusyId(u32::MAX);
}

/// A unit with work.
#[derive(Clone, Copy, Debug)]
struct Busy {
    unit: u64,
    head: PieceId,
    tail: PieceId,
    /// Number of pieces other than reads.
    writes: u32,
    waiting: u32,
    /// The next unit in its bucket.
    next: BusyId,
}

/// Pieces that can start, in order.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// Reads of the host, each executed by itself.
    pub reads: Vec<PieceId>,
    /// Writes, to be executed as one batch.
    pub batch: Vec<PieceId>,
    /// Rebuild and scrub work that may start.
    pub maintain: Vec<WorkId>,
}

/// All units with work.
#[derive(Debug)]
pub(super) struct Locks {
    pieces: Slab<PieceId, Piece>,
    busy: Pool<BusyId, Busy>,
    /// Hash table of units with work, by their lowest bits.
    buckets: Vec<BusyId>,
    /// One batch at a time, whatever it writes.
    exclusive: bool,
    /// Number of stuck pieces.
    stuck: usize,
}

/// Number of pieces of a unit that are examined.
pub(super) const WINDOW: usize = 64;

const BUCKETS: usize = 1 << 12;

impl Locks {
    /// No work; `exclusive` if writes to one unit depend on each other.
    pub(super) fn new(exclusive: bool) -> Locks {
        let buckets = vec![BusyId::NONE; BUCKETS];
        Locks { pieces: Slab::new(), busy: Pool::new(), buckets, exclusive, stuck: 0 }
    }

    /// A piece of work.
    pub(super) fn get(&mut self, piece: PieceId) -> &mut Piece {
        &mut self.pieces[piece]
    }

    /// A piece of work, if it has not ended.
    pub(super) fn piece(&self, piece: PieceId) -> Option<&Piece> {
        self.pieces.get(piece)
    }

    /// True if a piece is in progress.
    pub(super) fn has_begun(&self, piece: PieceId) -> bool {
        self.pieces.get(piece).is_some_and(|piece| piece.active)
    }

    /// True if there is no work.
    pub(super) fn is_idle(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends a piece to the list of its unit.
    pub(super) fn push(&mut self, mut piece: Piece) -> PieceId {
        let busy = self.find(piece.unit).unwrap_or_else(|| self.open(piece.unit));
        let entry = &mut self.busy[busy];
        entry.waiting += 1;
        entry.writes += u32::from(piece.kind != Kind::Read);
        piece.prev = entry.tail;
        let id = self.pieces.insert(piece);
        match entry.tail {
            PieceId::NONE => entry.head = id,
            tail => self.pieces[tail].next = id,
        }
        entry.tail = id;
        id
    }

    /// Removes a piece that has ended.
    pub(super) fn end(&mut self, id: PieceId) {
        let Piece { unit, kind, active, next, prev, is_stuck, .. } = self.pieces.remove(id);
        self.stuck -= usize::from(is_stuck);
        let busy = self.find(unit).expect("a unit with work is busy");
        let entry = &mut self.busy[busy];
        entry.waiting -= u32::from(!active);
        entry.writes -= u32::from(kind != Kind::Read);
        match prev {
            PieceId::NONE => entry.head = next,
            prev => self.pieces[prev].next = next,
        }
        match next {
            PieceId::NONE => entry.tail = prev,
            next => self.pieces[next].prev = prev,
        }
        if self.busy[busy].head == PieceId::NONE {
            self.close(busy);
        }
    }

    /// True if a read in progress could rely on its `stable` cells now if it started anew.
    pub(super) fn can_extend(&mut self, id: PieceId) -> bool {
        let busy = self.find(self.pieces[id].unit).expect("a unit with work is busy");
        let head = self.busy[busy].head;
        let (mut changing, mut is_before) = (Cells::NONE, true);
        self.each(head, |at, piece| {
            is_before &= at != id;
            if piece.kind != Kind::Read && (is_before || piece.active) {
                changing |= piece.cells;
            }
        });
        !self.pieces[id].stable.meets(changing)
    }

    /// Makes a piece in progress wait again, at its old position.
    pub(super) fn suspend(&mut self, id: PieceId) {
        let piece = &mut self.pieces[id];
        assert!(piece.active, "only what has begun can wait again");
        piece.active = false;
        self.stuck -= usize::from(std::mem::take(&mut piece.is_stuck));
        let busy = self.find(self.pieces[id].unit).expect("a unit with work is busy");
        self.busy[busy].waiting += 1;
    }

    /// True while some writes are stuck.
    pub(super) fn has_stuck(&self) -> bool {
        self.stuck > 0
    }

    /// Marks the writes in progress as stuck. Returns the units with such writes, and the writes that wait
    /// and whose host request `is_refused`: they can be ended, as nothing of them has been written.
    pub(super) fn get_stuck(&mut self, is_refused: impl Fn(RequestSlot) -> bool) -> (Vec<u64>, Vec<PieceId>) {
        let (mut units, mut ended) = (Vec::new(), Vec::new());
        for busy in self.busy.ids().map(|id| &self.busy[id]).filter(|busy| busy.writes > 0) {
            let mut at = busy.head;
            while at != PieceId::NONE {
                let piece = &mut self.pieces[at];
                if !matches!(piece.kind, Kind::Write | Kind::Trim) {
                } else if piece.active {
                    self.stuck += usize::from(!std::mem::replace(&mut piece.is_stuck, true));
                    units.push(piece.unit);
                } else if is_refused(piece.slot) {
                    ended.push(at);
                }
                at = piece.next;
            }
        }
        units.dedup();
        (units, ended)
    }

    fn find(&self, unit: u64) -> Option<BusyId> {
        let mut at = self.buckets[to_usize(unit) % BUCKETS];
        while at != BusyId::NONE && self.busy[at].unit != unit {
            at = self.busy[at].next;
        }
        (at != BusyId::NONE).then_some(at)
    }

    fn open(&mut self, unit: u64) -> BusyId {
        let bucket = &mut self.buckets[to_usize(unit) % BUCKETS];
        let busy =
            Busy { unit, head: PieceId::NONE, tail: PieceId::NONE, writes: 0, waiting: 0, next: *bucket };
        *bucket = self.busy.insert(busy);
        *bucket
    }

    fn close(&mut self, busy: BusyId) {
        let Busy { unit, next, .. } = self.busy[busy];
        let bucket = to_usize(unit) % BUCKETS;
        let mut at = self.buckets[bucket];
        if at == busy {
            self.buckets[bucket] = next;
        } else {
            while self.busy[at].next != busy {
                at = self.busy[at].next;
            }
            self.busy[at].next = next;
        }
        self.busy.release(busy);
    }

    /// Finds the pieces of a unit that can start, and marks them as started. False if none can.
    pub(super) fn wake(&mut self, unit: u64, started: &mut Started) -> bool {
        let Some(busy) = self.find(unit) else { return false };
        if self.busy[busy].waiting == 0 {
            return false;
        }
        let Busy { head, writes, .. } = self.busy[busy];
        let mut starts = 0;
        if writes == 0 {
            // Nothing changes the unit, so each of its reads can start.
            self.each(head, |id, piece| {
                if !std::mem::replace(&mut piece.active, true) {
                    started.reads.push(id);
                    starts += 1;
                }
            });
        } else {
            let mut scan = Scan { exclusive: self.exclusive, ..Scan::default() };
            self.each(head, |_, piece| scan.under_way(piece));
            self.each(head, |id, piece| starts += u32::from(scan.consider(id, piece, started)));
        }
        self.busy[busy].waiting -= starts;
        starts > 0
    }

    fn each(&mut self, head: PieceId, mut look: impl FnMut(PieceId, &mut Piece)) {
        let mut at = head;
        for _ in 0..WINDOW {
            if at == PieceId::NONE {
                return;
            }
            let piece = &mut self.pieces[at];
            look(at, piece);
            at = piece.next;
        }
    }
}

/// State of a scan along the list of a unit.
#[derive(Debug, Default)]
struct Scan {
    exclusive: bool,
    /// Cells being written, and those of writes that wait for room.
    writing: Cells,
    stuck: Cells,
    /// Writes or maintenance are in progress.
    is_written: bool,
    /// Cells that the reads so far rely on.
    read: Cells,
    /// Cells of the writes so far.
    written: Cells,
    /// Cells of the waiting writes.
    held: Cells,
    writes: u32,
    is_maintained: bool,
    has_alone: bool,
}

impl Scan {
    fn under_way(&mut self, piece: &Piece) {
        if piece.active && piece.kind != Kind::Read {
            self.is_written = true;
            match piece.is_stuck {
                true => self.stuck |= piece.cells,
                false => self.writing |= piece.cells,
            }
        }
    }

    /// Marks a piece that can start, and returns true for it.
    fn consider(&mut self, id: PieceId, piece: &mut Piece, started: &mut Started) -> bool {
        let was_active = piece.active;
        match piece.kind {
            Kind::Read => {
                if !was_active && self.can_read(piece) {
                    piece.active = true;
                    started.reads.push(id);
                }
                self.read |= piece.stable;
            }
            Kind::Write | Kind::Trim => {
                if !was_active && self.can_write(piece, !started.batch.is_empty()) {
                    piece.active = true;
                    self.has_alone = piece.alone;
                    started.batch.push(id);
                } else if !was_active {
                    self.held |= piece.cells;
                }
                if !piece.is_stuck {
                    self.written |= piece.cells;
                }
                self.writes += 1;
            }
            Kind::Maintain(work) => {
                if !was_active && !self.is_written && self.writes == 0 && !self.is_maintained {
                    piece.active = true;
                    started.maintain.push(work);
                }
                self.is_maintained = true;
            }
        }
        piece.active && !was_active
    }

    fn can_read(&self, piece: &mut Piece) -> bool {
        let changing =
            if holds(Invariant::ReadAfterWrite) { self.writing | self.written } else { self.writing };
        if piece.may_be_direct && piece.stable.meets(changing) && !piece.cells.meets(changing) {
            (piece.mode, piece.stable) = (Mode::Direct, piece.cells);
        }
        // The content of stuck writes is known. To reconstruct another cell of their rows is not possible.
        let needs_rows = piece.mode != Mode::Direct && piece.stable.meets(self.stuck);
        let is_known = (piece.cells & !self.stuck).is_empty();
        let may_be_direct = piece.may_be_direct || piece.mode == Mode::Fast || is_known;
        if needs_rows && may_be_direct && piece.gather.is_none() {
            (piece.mode, piece.stable) = (Mode::Direct, piece.cells);
        }
        let is_unstable = piece.mode != Mode::Direct && piece.stable.meets(self.stuck);
        !piece.stable.meets(changing) && !is_unstable
    }

    fn can_write(&self, piece: &Piece, has_batch: bool) -> bool {
        let is_free = if self.exclusive { !self.is_written } else { !piece.cells.meets(self.writing) };
        let follows = !piece.cells.meets(self.held) && !piece.cells.meets(self.read);
        let fits = !has_batch || !(piece.alone || self.has_alone);
        let is_free = is_free && !piece.cells.meets(self.stuck);
        is_free && follows && fits && !self.is_maintained
    }
}
