//! Administrative requests to a drive in service.

use super::Steered;
use crate::array::CannotCall;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::Sender;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::Metrics;

/// An administrative request, and the sender that its response goes to.
#[derive(Debug)]
pub struct AdminRequest {
    /// What is requested of the drive.
    pub ask: Ask,
    /// Receives the response, once the drive has replied.
    pub answer: Sender<Answer>,
}

/// The result of an administrative request to one service.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A reply of one or more lines.
    Text(String),
    /// Counters, to be formatted for Prometheus.
    Metrics(Metrics),
}

/// Executes administrative requests on a drive, and routes its replies to the requesters.
#[derive(Debug, Default)]
pub struct Steering {
    calls: VecDeque<(Control, Sender<Answer>)>,
}

impl Steering {
    /// Executes a request on the drive. A call of the control interface is answered once the drive has
    /// replied.
    pub fn carry_out(&mut self, drive: &mut impl Steered, now: Time, request: AdminRequest) {
        let AdminRequest { ask, answer } = request;
        let done = match ask {
            Ask::Call { member, call } => {
                let called = match member {
                    Some(member) => drive.call(now, member, call),
                    None if drive.is_array() => Err(CannotCall::NoMember),
                    None => {
                        drive.control(now, call);
                        Ok(())
                    }
                };
                match called {
                    Ok(()) => return self.calls.push_back((call, answer)),
                    Err(why) => Err(why.to_string()),
                }
            }
            Ask::Scrub => drive.scrub(now),
            Ask::Remove { member } => drive.remove(now, member),
            Ask::Replace { member, path } => drive.replace(now, member, path.as_deref().map(Path::new)),
            Ask::Metrics | Ask::Status | Ask::Help => unreachable!("{ask:?} is answered elsewhere"),
        };
        let said = match done {
            Ok(()) => ctl::show(&ControlReply::Done),
            Err(why) => ctl::refusal(&why),
        };
        // Ignored: the requester no longer waits.
        let _ = answer.send(Answer::Text(said));
    }

    /// The drive has replied to calls: each drive of an array in the order of submission.
    ///
    /// # Panics
    /// If the drive replies to a call that was not made here.
    pub fn replied(&mut self, replies: impl Iterator<Item = (Control, ControlReply)>) {
        for (call, reply) in replies {
            let place = self.calls.iter().position(|&(asked, _)| asked == call);
            let (_, asked) = place.and_then(|place| self.calls.remove(place)).expect("nobody else calls");
            let _ = asked.send(Answer::Text(ctl::show_reply(&call, &reply)));
        }
    }
}
