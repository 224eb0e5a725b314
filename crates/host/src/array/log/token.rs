//! The tokens under which the log issues drive requests and reads.

use super::geometry::Row;
use super::host::RunId;
use super::open_row::OpenRowId;
use crate::array::Column;
use tailcut_base::cast::{low_u8, low_u32, to_u8};

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A write of an open row.
    Append {
        /// The row.
        open_row: OpenRowId,
        /// The column.
        column: Column,
    },
    /// A flush of a commit.
    Flush {
        /// The stream.
        stream: u8,
    },
    /// A run of blocks for the host.
    Run(RunId),
    /// The summary of a victim.
    Summary {
        /// Index of the collection job.
        job: u8,
        /// The data column.
        k: u8,
    },
    /// Valid blocks of a victim.
    Valid {
        /// Index of the collection job.
        job: u8,
    },
    /// The trim of a victim.
    Trimmed {
        /// Index of the collection job.
        job: u8,
    },
    /// A rewrite of a damaged block.
    Repaired {
        /// The row of the block.
        row: Row,
    },
    /// A part of a checkpoint.
    Checkpoint,
    /// A block of an old checkpoint, or of the log, in recovery.
    Recovery(u32),
    /// A part of a rebuild.
    Rebuild,
    /// A part of a scrub.
    Scrub(u32),
}

impl From<Token> for u64 {
    fn from(token: Token) -> u64 {
        let (kind, a, b) = match token {
            Token::Append { open_row, column } => (0, open_row.get(), to_u8(column.get())),
            Token::Flush { stream } => (1, 0, stream),
            Token::Run(run) => (2, run.get(), 0),
            Token::Summary { job, k } => (3, u32::from(job), k),
            Token::Valid { job } => (4, u32::from(job), 0),
            Token::Trimmed { job } => (5, u32::from(job), 0),
            Token::Checkpoint => (6, 0, 0),
            Token::Recovery(what) => (7, what, 0),
            Token::Rebuild => (8, 0, 0),
            Token::Scrub(part) => (9, part, 0),
            Token::Repaired { row } => (10, row.get(), 0),
        };
        kind << 40 | u64::from(b) << 32 | u64::from(a)
    }
}

impl From<u64> for Token {
    fn from(bits: u64) -> Token {
        let (a, b) = (low_u32(bits), low_u8(bits >> 32));
        match bits >> 40 {
            0 => Token::Append { open_row: OpenRowId::new(a), column: Column::new(b.into()) },
            1 => Token::Flush { stream: b },
            2 => Token::Run(RunId::new(a)),
            3 => Token::Summary { job: to_u8(a), k: b },
            4 => Token::Valid { job: to_u8(a) },
            5 => Token::Trimmed { job: to_u8(a) },
            6 => Token::Checkpoint,
            7 => Token::Recovery(a),
            8 => Token::Rebuild,
            9 => Token::Scrub(a),
            10 => Token::Repaired { row: Row::new(a) },
            _ => unreachable!("no token has this kind"),
        }
    }
}
