//! The purpose of drive requests.

use super::batch::BatchId;
use super::flushing::FlushId;
use super::gather::GatherId;
use super::locks::PieceId;
use super::walk::{WalkId, WorkId};
use tailcut_base::cast::low_u32;

/// Purpose of a request: packed into the number that drives and reads return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A piece of a read of the host.
    Read(PieceId),
    /// A part of a fail-fast read of a piece, or of its rows.
    Gather(GatherId),
    /// A repair of a block that a piece has found damaged.
    Repair(PieceId),
    /// A read for the parity of a batch.
    BatchRead(BatchId),
    /// A write of a batch.
    BatchWrite(BatchId),
    /// A flush.
    Flush(FlushId),
    /// The current transaction.
    Journal,
    /// The bitmap.
    Intent,
    /// Creation and recovery.
    Recovery,
    /// A read of a unit for rebuild, scrub or resync.
    Work(WorkId),
    /// A write of a unit for rebuild, scrub or resync.
    WorkWrite(WorkId),
    /// A request of a rebuild or scrub other than those of its units.
    Beside(WalkId),
}

impl Token {
    /// Packs the purpose into a number.
    pub(super) fn pack(self) -> u64 {
        let (kind, id) = match self {
            Token::Read(id) => (0, id.get()),
            Token::Repair(id) => (1, id.get()),
            Token::BatchRead(id) => (2, id.get()),
            Token::BatchWrite(id) => (3, id.get()),
            Token::Flush(id) => (4, id.get()),
            Token::Journal => (5, 0),
            Token::Intent => (6, 0),
            Token::Recovery => (7, 0),
            Token::Work(id) => (8, id.get()),
            Token::WorkWrite(id) => (9, id.get()),
            Token::Beside(id) => (10, id.get()),
            Token::Gather(id) => (11, id.get()),
        };
        kind << 32 | u64::from(id)
    }

    /// Unpacks a number.
    pub(super) fn unpack(number: u64) -> Token {
        let id = low_u32(number);
        match number >> 32 {
            0 => Token::Read(PieceId::new(id)),
            1 => Token::Repair(PieceId::new(id)),
            2 => Token::BatchRead(BatchId::new(id)),
            3 => Token::BatchWrite(BatchId::new(id)),
            4 => Token::Flush(FlushId::new(id)),
            5 => Token::Journal,
            6 => Token::Intent,
            7 => Token::Recovery,
            8 => Token::Work(WorkId::new(id)),
            9 => Token::WorkWrite(WorkId::new(id)),
            10 => Token::Beside(WalkId::new(id)),
            11 => Token::Gather(GatherId::new(id)),
            kind => unreachable!("kind {kind} was never given out"),
        }
    }
}
