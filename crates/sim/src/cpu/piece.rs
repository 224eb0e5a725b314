//! The work of a core: pieces at three levels, and the moments at which it asks for the next.

use super::account::Spent;
use super::runqueue::ThreadId;
use tailcut_base::Nanos;

/// A stretch of work of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How long it takes on a core whose sibling is idle.
    pub work: Nanos,
    /// What the time of the piece is spent on, for the account of the core.
    pub on: Spent,
    /// Whether another thread may take the core before the end of the piece.
    pub preemptible: bool,
}

impl Piece {
    /// A piece of work that keeps the core to its end, as in the kernel.
    pub const fn kernel(work: Nanos, on: Spent) -> Piece {
        Piece { work, on, preemptible: false }
    }

    /// A piece of work during which another thread may take the core.
    pub const fn preemptible(work: Nanos, on: Spent) -> Piece {
        Piece { work, on, preemptible: true }
    }

    /// Work without an end: until [`Machine::cut`](super::Machine::cut).
    pub const fn endless(on: Spent) -> Piece {
        Piece { work: FOREVER, on, preemptible: true }
    }

    /// No work.
    pub(super) const NONE: Piece = Piece::kernel(Nanos::ZERO, Spent::Idle);
}

/// A level of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The thread.
    Thread,
    /// The software interrupt.
    Soft,
    /// The hardware interrupt.
    Hard,
}

/// A level has come to the end of its piece: the owner chooses the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handler of a hardware interrupt, by the number that was given to
    /// [`Machine::interrupt`](super::Machine::interrupt).
    Hard {
        /// The core.
        cpu: usize,
        /// Which interrupt.
        irq: u32,
    },
    /// The software interrupt.
    Soft {
        /// The core.
        cpu: usize,
    },
    /// A thread.
    Thread {
        /// The core.
        cpu: usize,
        /// Which thread.
        thread: ThreadId,
    },
}

/// Longer than any run.
const FOREVER: Nanos = Nanos(1 << 50);
