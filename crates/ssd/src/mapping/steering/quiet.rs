//! Quiet periods (`is_ready_for_read`; Shin 2017, section 5.3.2): the drive holds collection and programs
//! of buffered data, so that reads meet no other work.
//!
//! The host polls until the drive reports ready. From the first poll on no collection starts, nor continues
//! beyond the copies and the erase that have come to their chips; and programs that have not begun wait in
//! their chips' queues, with their data in the buffer, once all writes and flushes that the host has sent
//! are completed. The following work continues, and the drive is not ready until it has ended: these
//! commands, reads that wait for a program (without hit manager), suspended operations, collections that
//! are not preemptible, and those of planes below the low threshold.
//!
//! Nor is anything read ahead of the host in a quiet period.
//!
//! A write or a flush ends the period, whatever it has to do, so that a host need not know what the buffer
//! holds; reads and trims do not. So does a run of collection, or a threshold that is raised above what a
//! plane has. In a deterministic window ([`super::plm`]) a write lets programs begin and nothing else.

use crate::mutation::{Invariant, holds};

/// The held work of a set, and the work that has to end before it is quiet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    pub(super) rest: Rest,
    /// How many of the set's LUNs, counted from the first, have quiesced.
    pub(super) luns_at_rest: u32,
    /// Reads under way for the rest of pages that were written in part.
    pub(super) merges: u32,
    /// Reads of the host that wait for a program.
    pub(super) followers: u32,
    /// Writes and flushes of the host in the drive.
    pub(super) writes: u32,
}

/// Which work of a set is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// No work is held.
    #[default]
    None,
    /// Collection, except in planes below the low threshold; and programs of buffered data, once no request
    /// waits for one.
    Quiet,
    /// As [`Rest::Quiet`], in a deterministic window; collection stays held when a write lets programs
    /// begin.
    Deterministic {
        /// No write has come since the host asked.
        holds_programs: bool,
    },
}

impl Rest {
    /// True while programs of buffered data rest.
    #[inline]
    pub(super) fn holds_programs(self) -> bool {
        matches!(self, Rest::Quiet | Rest::Deterministic { holds_programs: true })
    }
}

impl Quiet {
    /// True while collection rests.
    #[inline]
    pub(super) fn rests_collection(&self) -> bool {
        self.rest != Rest::None && holds(Invariant::RestCollection)
    }

    /// True when no request waits for a program.
    #[inline]
    pub(super) fn nobody_waits(&self) -> bool {
        self.writes == 0 && self.followers == 0
    }

    /// A period begins, or begins anew.
    pub(super) fn begin(&mut self) {
        self.rest = match self.rest {
            Rest::None | Rest::Quiet => Rest::Quiet,
            Rest::Deterministic { .. } => Rest::Deterministic { holds_programs: true },
        };
        self.luns_at_rest = 0;
    }
}
