//! Administrative requests about a store and its drives, handled between operations.

use super::Worker;
use crate::array::CannotCall;
use crate::ctl::Steered;
use crate::embedded::error::Error;
use crate::embedded::statistics::Statistics;
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

/// An administrative request, and the sender that its response goes to.
#[derive(Debug)]
pub(crate) enum AdminRequest {
    /// Counters of the store.
    Statistics(Sender<Statistics>),
    /// Status of the store and its drives.
    Status(Sender<String>),
    /// A call of the control interface of a drive.
    Call {
        /// Number of the drive in an array.
        drive: usize,
        /// The call.
        call: Control,
        /// Receives the reply.
        answer: Sender<Reply>,
    },
}

/// Result of a call.
type Reply = Result<ControlReply, Error>;

/// Calls of the control interface, at most one of them in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    under_way: Option<Sender<Reply>>,
    waiting: VecDeque<(usize, Control, Sender<Reply>)>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_none() && self.waiting.is_empty()
    }
}

impl<D: Steered> Worker<D> {
    pub(super) fn answer(&mut self, request: AdminRequest, now: Time) {
        // Ignored: the requester no longer waits.
        match request {
            AdminRequest::Statistics(answer) => drop(answer.send(self.statistics())),
            AdminRequest::Status(answer) => {
                let status = self.drive.as_ref().map_or_else(|| "memory\n".into(), |drive| drive.describe());
                drop(answer.send(status));
            }
            AdminRequest::Call { drive, call, answer } => {
                self.calls.waiting.push_back((drive, call, answer));
                self.call_next(now);
            }
        }
    }

    fn call_next(&mut self, now: Time) {
        while self.calls.under_way.is_none() {
            let Some((number, call, answer)) = self.calls.waiting.pop_front() else { return };
            let called = match &mut self.drive {
                Some(drive) => drive.call(now, number, call),
                None => Err(CannotCall::NoDrive),
            };
            match called {
                Ok(()) => self.calls.under_way = Some(answer),
                Err(CannotCall::NoDrive | CannotCall::NoMember) => {
                    // Ignored: the requester no longer waits.
                    let _ = answer.send(Err(Error::NoDrive(number)));
                }
                Err(CannotCall::Steered) => drop(answer.send(Err(Error::Steered))),
            }
        }
    }

    /// The drive has replied to the call in flight.
    pub(super) fn note_replies(&mut self, now: Time) {
        while let Some((_, reply)) = self.answers.replies.pop() {
            let asked = self.calls.under_way.take().expect("nobody else calls, and one at a time");
            let _ = asked.send(Ok(reply));
            self.call_next(now);
        }
    }

    pub(super) fn statistics(&self) -> Statistics {
        Statistics {
            items: self.engine.items(),
            index_bytes: self.engine.index_bytes(),
            waiting: (self.waiting.len() + self.undurable.len()) as u64,
            drive_bytes: self.drive.as_ref().map_or(0, |drive| drive.bytes()),
            engine: *self.engine.figures(),
            ..self.statistics
        }
    }
}
