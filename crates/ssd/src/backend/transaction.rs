//! The transaction of a LUN.

use crate::flash::geometry::PLACES_MAX;
use crate::request::{Kind, RequestId};
use tailcut_base::{Nanos, Time};

/// The transaction of a LUN.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// The kind of operation, the same for all members: read, program or erase, and for whom.
    pub kind: Kind,
    members: [RequestId; PLACES_MAX],
    count: u8,
    /// Pages that cross the bus for them.
    pages: u8,
    /// How its members share the chip: 0 not at all, 1 by plane sharing, 2 by die interleaving, 3 by both.
    pub parallelism: u8,
    /// When its command phase began.
    pub started: Time,
    /// Length of the command phase, with the data of a program.
    pub command: Nanos,
    /// When the last of its cells was done.
    pub cell_end: Time,
    /// When its data got the bus.
    pub out_start: Time,
    /// Pages that have not crossed the bus, as long as others go between.
    pub left: u8,
    /// When they were last put off.
    pub put_off: Time,
    /// When its pages got the bus last.
    pub bus_since: Time,
    /// When the cells of the pages that a program had on the bus before that are done.
    pub in_end: Time,
    /// How long the bus carried something else between two of its pages.
    pub gap: Nanos,
    /// When it was resumed last; [`Time::ZERO`] before it was suspended.
    pub resumed: Time,
    /// How often it was suspended.
    pub suspensions: u32,
    /// How long it has stood still: from the moments at which its suspensions began to those at which
    /// it was resumed.
    pub suspended: Nanos,
}

impl Transaction {
    pub(super) fn none() -> Transaction {
        Transaction {
            kind: Kind::UserRead,
            members: [RequestId::NONE; PLACES_MAX],
            count: 0,
            pages: 0,
            parallelism: 0,
            started: Time::ZERO,
            command: Nanos::ZERO,
            cell_end: Time::ZERO,
            out_start: Time::ZERO,
            left: 0,
            put_off: Time::ZERO,
            bus_since: Time::ZERO,
            in_end: Time::ZERO,
            gap: Nanos::ZERO,
            resumed: Time::ZERO,
            suspensions: 0,
            suspended: Nanos::ZERO,
        }
    }

    /// The memory requests that it serves.
    #[inline]
    pub fn members(&self) -> &[RequestId] {
        &self.members[..usize::from(self.count)]
    }

    /// How many memory requests it serves.
    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The memory request at a place of [`Transaction::members`].
    #[inline]
    pub fn member(&self, index: usize) -> RequestId {
        self.members[index]
    }

    /// Pages that cross the bus for its memory requests.
    #[inline]
    pub fn pages(&self) -> u8 {
        self.pages
    }

    /// Adds a memory request that moves `pages` pages over the bus.
    #[inline]
    pub fn push(&mut self, request: RequestId, pages: u8) {
        self.members[usize::from(self.count)] = request;
        self.count += 1;
        self.pages += pages;
    }

    /// Its command phase begins at `now` and takes `command`; its cells are done at `cell_end`.
    #[inline]
    pub fn begin(&mut self, now: Time, command: Nanos, cell_end: Time) {
        (self.started, self.command, self.cell_end) = (now, command, cell_end);
        (self.bus_since, self.in_end) = (now, now);
        self.left = self.pages;
    }

    /// Clears it, to compose a new transaction.
    #[inline]
    pub fn clear(&mut self, kind: Kind) {
        self.kind = kind;
        self.count = 0;
        self.pages = 0;
        self.gap = Nanos::ZERO;
        self.parallelism = 0;
        self.resumed = Time::ZERO;
        self.suspensions = 0;
        self.suspended = Nanos::ZERO;
    }
}
