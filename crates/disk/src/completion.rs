//! What becomes of operations.

use crate::contents::ReadData;
use crate::operation::{Error, Ticket};
use tailcut_base::{Cause, Nanos, Op, Spans, Time};

/// The end of an operation.
#[derive(Clone, Debug)]
pub struct Completion {
    ticket: Ticket,
    op: Op,
    result: Result<(), Error>,
    data: Option<ReadData>,
    at: Time,
    latency: Nanos,
    spans: Spans,
}

impl Completion {
    /// A completion of an operation that was submitted at `submitted`. The spans add up to its latency.
    pub(crate) fn new(ticket: Ticket, op: Op, submitted: Time, at: Time, spans: Spans) -> Completion {
        let latency = at.since(submitted);
        debug_assert_eq!(spans.total(), latency, "the spans of {ticket} add up");
        Completion { ticket, op, result: Ok(()), data: None, at, latency, spans }
    }

    pub(crate) fn with(mut self, result: Result<(), Error>, data: Option<ReadData>) -> Completion {
        self.result = result;
        self.data = data.filter(|_| result.is_ok());
        self
    }

    /// The completed operation.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The kind of the completed operation.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Whether the operation was executed.
    ///
    /// # Errors
    /// Why it was not.
    pub fn result(&self) -> Result<(), Error> {
        self.result
    }

    /// The data of a successful read; empty otherwise.
    pub fn data(&self) -> &[u8] {
        self.data.as_ref().map_or(&[], ReadData::as_slice)
    }

    /// The data of a read; empty after a write, trim or flush.
    ///
    /// # Errors
    /// Why the operation was not executed.
    pub fn into_data(self) -> Result<Vec<u8>, Error> {
        self.result.map(|()| self.data.map_or_else(Vec::new, ReadData::into_vec))
    }

    /// When the completion became visible to the host.
    pub fn at(&self) -> Time {
        self.at
    }

    /// The time from submission to completion.
    pub fn latency(&self) -> Nanos {
        self.latency
    }

    /// The latency by cause; the spans add up to exactly [`Completion::latency`].
    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// The cause of the largest part of the latency; of equal parts the one that a request meets first.
    /// [`Cause::Controller`] if no time passed.
    pub fn cause(&self) -> Cause {
        let largest = self.spans.iter().reduce(|most, next| if next.1 > most.1 { next } else { most });
        largest.map_or(Cause::Controller, |(cause, _)| cause)
    }
}
