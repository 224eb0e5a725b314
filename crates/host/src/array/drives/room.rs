//! Writes that found no room: a full file system below a drive is no failure of the drive.
//!
//! A write or trim that its drive answers with [`Status::NoSpace`] is kept here and sent again after
//! [`RETRY_AFTER`], with all others. Its issuer gets no completion before it has succeeded: to a layout it is
//! a slow write, so that journals, descriptors, parities and copies keep their order, and no stripe stays
//! half written. The array meanwhile reports [`Status::NoSpace`] to the host: see
//! [`Array`](crate::array::Array).

use super::{Ask, Drives, Flight, FlightId, Owner, Presence, Priority, Waiting};
use crate::Block;
use crate::array::DriveId;
use crate::disk::Response;
use crate::mutation::{Invariant, holds};
use tailcut_base::{Nanos, Op, Status, Time};

/// Writes without room.
#[derive(Debug)]
pub(super) struct Refused<B> {
    writes: Vec<(DriveId, Waiting<B>)>,
    /// Requests of the current attempt without a completion.
    retrying: u32,
    /// When to try again; [`Time::NEVER`] while nothing is refused.
    due: Time,
    /// The last refusal, until [`Drives::take_refusal`].
    news: Option<Refusal>,
}

/// Requests have been refused for lack of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// For the first time.
    First,
    /// Again: the attempt began at this time.
    Again(Time),
}

impl<B> Refused<B> {
    pub(super) fn new() -> Refused<B> {
        Refused { writes: Vec::new(), retrying: 0, due: Time::NEVER, news: None }
    }

    /// Requests of the current attempt without a completion.
    pub(super) fn retrying(&self) -> u32 {
        self.retrying
    }
}

impl<B> Drives<B> {
    /// True while writes have found no room.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.refused.writes.is_empty() || self.refused.retrying > 0
    }

    /// The drives that have refused writes for lack of room since the array has become full.
    pub fn full(&self) -> impl Iterator<Item = DriveId> {
        self.members.iter_enumerated().filter(|(_, member)| member.is_full).map(|(drive, _)| drive)
    }

    /// When refused writes are sent again.
    pub(in crate::array) fn next_retry(&self) -> Time {
        self.refused.due
    }

    /// Whether requests have been refused since the last call.
    pub(in crate::array) fn take_refusal(&mut self) -> Option<Refusal> {
        self.refused.news.take()
    }

    /// A request of an attempt has ended.
    pub(super) fn end_retry(&mut self) {
        self.refused.retrying -= 1;
        self.note_room();
    }

    fn note_room(&mut self) {
        if !self.is_full() {
            self.refused.due = Time::NEVER;
            self.members.iter_mut().for_each(|member| member.is_full = false);
        }
    }

    /// Takes the refused writes of a drive that is missing now.
    pub(super) fn take_refused(&mut self, drive: DriveId) -> Vec<Waiting<B>> {
        let of_drive = |(of, _): &mut (DriveId, Waiting<B>)| *of == drive;
        let taken = self.refused.writes.extract_if(.., of_drive).map(|(_, waiting)| waiting).collect();
        self.note_room();
        taken
    }
}

impl<B: Block> Drives<B> {
    /// Keeps a write or trim that found no room ([`Status::NoSpace`]), for another attempt. Returns the
    /// completion of a read or flush, and that of a write whose drive has not returned its content.
    #[cold]
    pub(in crate::array) fn keep_refused(
        &mut self,
        now: Time,
        drive: DriveId,
        mut response: Response<B>,
    ) -> Option<Response<B>> {
        let flight = self.flights[FlightId::new(response.id)];
        let has_content = match flight.op {
            Op::Write => response.data.len() == flight.blocks as usize,
            Op::Trim => true,
            Op::Read | Op::Flush => false,
        };
        let is_current =
            flight.life == self.members[drive].life && self.members[drive].presence != Presence::Missing;
        if !has_content || !is_current || !holds(Invariant::FullIsNoFailure) {
            response.status = Status::WriteProtected;
            return Some(response);
        }
        self.flights.remove(FlightId::new(response.id));
        self.hold_refused(now, flight, response.data);
        self.free_slot(now, drive);
        None
    }

    fn hold_refused(&mut self, now: Time, flight: Flight, data: Vec<B>) {
        let Flight { owner, drive, is_heavy, epoch, op, fua, class, kind, block, blocks, asked, .. } = flight;
        let ask = Ask { op, fua, fail_fast: false, class, kind, block, blocks, data };
        let waiting = Waiting { since: asked, is_heavy, epoch, owner, ask, is_retry: true };
        let refused = &mut self.refused;
        refused.news = match (flight.is_retry, refused.news) {
            (true, _) => Some(Refusal::Again(flight.sent)),
            (false, news) => news.or(Some(Refusal::First)),
        };
        refused.retrying -= u32::from(flight.is_retry);
        if refused.due == Time::NEVER {
            refused.due = now + RETRY_AFTER;
        }
        refused.writes.push((drive, waiting));
        self.members[drive].is_full = true;
    }

    /// Sends refused writes again, if it is time.
    pub(in crate::array) fn retry_refused(&mut self, now: Time) {
        if now < self.refused.due {
            return;
        }
        self.refused.due = Time::NEVER;
        for (drive, waiting) in std::mem::take(&mut self.refused.writes) {
            self.refused.retrying += 1;
            let member = &mut self.members[drive];
            if member.in_flight < member.depth {
                self.send(now, drive, waiting);
            } else {
                let urgency = if matches!(waiting.owner, Owner::Integrity(_)) {
                    Priority::Background
                } else {
                    Priority::Write
                };
                member.lanes[urgency as usize].push_back(waiting);
            }
        }
    }
}

/// Time between two attempts.
pub const RETRY_AFTER: Nanos = Nanos::millis(1000);
