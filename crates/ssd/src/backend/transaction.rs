//! The transaction of a LUN.

use crate::flash::geometry::PLACES_MAX;
use crate::request::{Kind, RequestId};
use tailcut_base::{Nanos, Time};

/// The transaction of a LUN.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// The kind of operation that all members share: read, program or erase, and for whom.
    pub kind: Kind,
    members: [RequestId; PLACES_MAX],
    count: u8,
    /// Pages that cross the bus for them.
    pages: u8,
    /// How its members share the chip: 0 not at all, 1 by plane sharing, 2 by die interleaving, 3 by both.
    pub parallelism: u8,
    /// When the command phase of the transaction began.
    pub started: Time,
    /// Length of the command phase, with the data of a program.
    pub command: Nanos,
    /// When the cells of the last member are done.
    pub cell_end: Time,
    /// When the data of a read last got the bus.
    pub out_start: Time,
    /// Number of pages that had not crossed the bus when the transaction last got it or gave way to another
    /// chip.
    pub left: u8,
    /// When the remaining pages last gave way to another chip on the bus.
    pub put_off: Time,
    /// When the transaction last got the bus.
    pub bus_since: Time,
    /// For a program that gave way on the bus, when the cells of the pages loaded before are done.
    pub in_end: Time,
    /// How long the bus served other chips between two pages of the transaction.
    pub gap: Nanos,
    /// When the transaction was last resumed; [`Time::ZERO`] if it has not been suspended.
    pub resumed: Time,
    /// Number of times that the transaction was suspended.
    pub suspensions: u32,
    /// How long the transaction was stopped: from the beginning of each suspension to the following
    /// resumption.
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

    /// The memory requests that the transaction serves; none before it is composed.
    #[inline]
    pub fn members(&self) -> &[RequestId] {
        &self.members[..usize::from(self.count)]
    }

    /// Number of memory requests that the transaction serves.
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

    /// Removes all members and resets the counts, so that a new transaction of `kind` can be composed.
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
