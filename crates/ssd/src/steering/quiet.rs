//! Quiet periods (`is_ready_for_read`; Shin 2017, section 5.3.2): the drive keeps from collection and from
//! programs of buffered data, so that nothing is in the way of reads.
//!
//! The host asks until the answer is yes. From the first time on no collection starts, nor goes on beyond
//! the copies and the erase that have come to their chips; and programs that have not begun wait in
//! their chips' lines, with their data in the buffer, once all writes and flushes that the host has
//! sent are answered. What cannot wait goes on, and the answer is no until it has ended: these
//! commands, reads that wait for a program (without hit manager), suspended operations, collections that are
//! not preemptible, and those of planes below the low threshold.
//!
//! Nor is anything read ahead of the host in a quiet period.
//!
//! A write or a flush ends the period, whatever it has to do, so that a host need not know what the buffer
//! holds; reads and trims do not. So does a run of collection, or a threshold that is raised above what a
//! plane has. In a deterministic window ([`super::plm`]) a write lets programs begin and nothing else.

use crate::planted::{Rule, holds};

/// What rests of a set, and what has to end before it is quiet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    pub(super) rest: Rest,
    /// So many of the set's LUNs, the first ones, have come to rest.
    pub(super) luns_at_rest: u32,
    /// Reads under way for the rest of pages that were written in part.
    pub(super) merges: u32,
    /// Reads of the host that wait for a program.
    pub(super) followers: u32,
    /// Writes and flushes of the host in the drive.
    pub(super) writes: u32,
}

/// What rests of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    #[default]
    None,
    /// Collection, but for planes below the low threshold; and programs of buffered data, once nobody waits
    /// for any.
    Quiet,
    /// The same in a deterministic window, where collection goes on to rest when a write lets programs begin.
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
        self.rest != Rest::None && holds(Rule::RestCollection)
    }

    /// True when nobody waits for a program.
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
