//! Preempting a chip: a read that meets a running program or erase has it suspended or reset instead
//! of waiting for its end.
//!
//! *Suspending* (Wu and He, FAST 2012) takes long, because the chip saves the state of its cells, but
//! loses no work: the operation resumes once the reads are served. *Resetting* (PAReset, chapter
//! 3) is quick and costs wear. A program that is reset has spoiled its whole word line: its data, and
//! that of the pages programmed there before, which the controller keeps until the word line is
//! complete, goes elsewhere. An erase that is reset has worn its block like a whole one and is done
//! again. Nothing is lost by either.
//!
//! The class of a read decides what it may do (PAReset, table 2), or all reads may do it.

use crate::request::Kind;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// What a read may do to an operation that it meets.
    pub enum Handling {
        /// It waits.
        None = "none",
        /// The operation is suspended.
        Suspend = "suspend",
        /// The operation is reset.
        Reset = "reset",
    }
}

/// Which operations reads preempt, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptConfig {
    /// What a read that may preempt does to a program that it meets.
    pub program: Handling,
    /// What a read that may preempt does to an erase that it meets.
    pub erase: Handling,
    /// Number of times that one operation may be suspended before it must finish.
    pub suspensions: u32,
    /// Cell time that a program or erase runs on for, on average, until it has come to a point where it can
    /// stop; exponentially distributed. 0: it stops at once.
    pub safe_point: Nanos,
    /// The minimum time that an operation runs between two suspensions.
    pub progress: Nanos,
    /// Programs are suspended even while the buffer is full to seven eighths.
    pub under_backlog: bool,
    /// How often the same data, or block, may be reset.
    pub resets: u32,
    /// Wear that resets may add to that of erases, in parts per million; 0 for no bound.
    pub wear_budget: u32,
    /// Reads preempt an operation only where that is quicker than waiting for its end.
    pub when_quicker: bool,
    /// Programs go where the next read is expected last.
    pub place_programs: bool,
    /// Programs of the host's data wait in the buffer for the drive to be quiet.
    pub time_programs: bool,
    /// Erases wait for their chip to be quiet.
    pub time_erases: bool,
}

impl Configure for PreemptConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "program",
            "What a read that may preempt does to a program: none, suspend or reset.",
            &mut self.program,
        );
        choose(
            visit,
            "erase",
            "What a read that may preempt does to an erase: none, suspend or reset.",
            &mut self.erase,
        );
        count_u32(
            visit,
            "suspensions",
            "How often an operation may be suspended before it must finish.",
            &mut self.suspensions,
            0..=1 << 20,
        );
        visit.time(
            "safe_point",
            "How long an operation that is to be suspended runs on, on average, until it can stop; \
                exponentially distributed.",
            &mut self.safe_point,
            Nanos(0)..=Nanos::millis(10),
        );
        visit.time(
            "progress",
            "The minimum time that an operation runs between two suspensions.",
            &mut self.progress,
            Nanos(0)..=Nanos::millis(10),
        );
        visit.flag(
            "under_backlog",
            "Programs are suspended even while the buffer is full to seven eighths.",
            &mut self.under_backlog,
        );
        count_u32(
            visit,
            "resets",
            "How often the same data or block may be reset; after that it is suspended.",
            &mut self.resets,
            0..=255,
        );
        visit.share(
            "wear_budget",
            "Wear that resets may add to that of erases; when it is spent, operations are suspended. 0 for \
                no bound.",
            &mut self.wear_budget,
            0..=1_000_000,
        );
        visit.flag(
            "when_quicker",
            "Preempt only an operation that has longer to go than preempting takes.",
            &mut self.when_quicker,
        );
        visit.flag(
            "place_programs",
            "Of two planes in turn, programs go to the one whose chip expects its next read later.",
            &mut self.place_programs,
        );
        visit.flag(
            "time_programs",
            "Programs wait in the buffer until reads are expected to leave chips alone, while half of the \
                buffer is free.",
            &mut self.time_programs,
        );
        visit.flag(
            "time_erases",
            "Erases wait until no read of their chip is expected soon, while their plane has free blocks to \
                spare.",
            &mut self.time_erases,
        );
    }
}

impl PreemptConfig {
    /// True when anything is done by where reads are expected.
    #[inline]
    pub fn predicts_reads(&self) -> bool {
        self.place_programs || self.time_programs || self.time_erases
    }

    /// True when any operation is preempted.
    pub fn is_on(&self) -> bool {
        self.program != Handling::None || self.erase != Handling::None
    }

    pub(crate) fn of(&self, kind: Kind) -> Handling {
        if kind == Kind::Erase { self.erase } else { self.program }
    }
}
