//! What the answers of drives belong to.

use super::locks::PieceId;
use super::walk::WorkId;

/// Whom an answer is for: packed into the number that drives and reads give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A piece of a read of the host.
    Read(PieceId),
    /// A part of such a piece, or of its rows, whose drive may refuse.
    Gather(u32),
    /// The repair of a block that such a piece has met.
    Repair(PieceId),
    /// A read for the parity of a batch.
    BatchRead(u32),
    /// A write of a batch.
    BatchWrite(u32),
    /// A flush.
    Flush(u32),
    /// The transaction under way.
    Journal,
    /// The bitmap.
    Intent,
    /// Creation and recovery.
    Recovery,
    /// A read of a unit that is walked over.
    Work(WorkId),
    /// A write of such a unit.
    WorkWrite(WorkId),
    /// What a walk asks for beside its units.
    Beside(u32),
}

impl Token {
    /// The number.
    pub fn pack(self) -> u64 {
        let (kind, id) = match self {
            Token::Read(id) => (0, id.get()),
            Token::Repair(id) => (1, id.get()),
            Token::BatchRead(id) => (2, id),
            Token::BatchWrite(id) => (3, id),
            Token::Flush(id) => (4, id),
            Token::Journal => (5, 0),
            Token::Intent => (6, 0),
            Token::Recovery => (7, 0),
            Token::Work(id) => (8, id.get()),
            Token::WorkWrite(id) => (9, id.get()),
            Token::Beside(id) => (10, id),
            Token::Gather(id) => (11, id),
        };
        kind << 32 | u64::from(id)
    }

    /// The token of a number.
    pub fn unpack(number: u64) -> Token {
        let id = number as u32;
        match number >> 32 {
            0 => Token::Read(PieceId::new(id)),
            1 => Token::Repair(PieceId::new(id)),
            2 => Token::BatchRead(id),
            3 => Token::BatchWrite(id),
            4 => Token::Flush(id),
            5 => Token::Journal,
            6 => Token::Intent,
            7 => Token::Recovery,
            8 => Token::Work(WorkId::new(id)),
            9 => Token::WorkWrite(WorkId::new(id)),
            10 => Token::Beside(id),
            11 => Token::Gather(id),
            kind => unreachable!("kind {kind} was never given out"),
        }
    }
}
