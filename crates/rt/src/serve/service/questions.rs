//! What a service is asked about itself and its drive, between the requests of its clients.

use super::Service;
use crate::ctl::{Steered, histogram};
use crate::serve::desk::Answer;
use crate::serve::figures::{Figures, Kind};
use std::path::Path;
use std::sync::mpsc::Sender;
use tailcut_base::Time;
use tailcut_base::control::ControlReply;
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::{self, Metrics};

/// A question and who waits for its answer.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub ask: Ask,
    /// Where the answer goes.
    pub answer: Sender<Answer>,
}

impl<D: Steered> Service<D> {
    /// Answers a question; a call of the control interface is answered when the drive has replied.
    pub(super) fn answer(&mut self, question: Question) {
        let Question { ask, answer } = question;
        let now = self.clock.now();
        let said = match ask {
            Ask::Call(call) => {
                self.questions.push_back(answer);
                return self.drive.control(now, call);
            }
            Ask::Metrics => Answer::Metrics(self.metrics()),
            Ask::Status => Answer::Text(self.status()),
            ask => Answer::Text(match self.steer(now, &ask) {
                Ok(()) => ctl::show(&ControlReply::Done),
                Err(why) => ctl::refusal(&why),
            }),
        };
        // Who does not wait any more does not need to know.
        let _ = answer.send(said);
    }

    fn steer(&mut self, now: Time, ask: &Ask) -> Result<(), String> {
        match ask {
            Ask::Scrub => self.drive.scrub(now),
            Ask::Remove { member } => self.drive.remove(now, *member),
            Ask::Replace { member, path } => self.drive.replace(now, *member, path.as_deref().map(Path::new)),
            ask => unreachable!("{ask:?} is answered elsewhere"),
        }
    }

    /// The drive has replied to calls, in the order in which they were made.
    pub(super) fn replied(&mut self) {
        for (_, reply) in self.answers.replies.drain(..) {
            let asked: Option<Sender<Answer>> = self.questions.pop_front();
            let asked = asked.expect("nobody else calls");
            let _ = asked.send(Answer::Text(ctl::show(&reply)));
        }
    }

    fn status(&self) -> String {
        let requests = self.figures.requests();
        format!("{}connections {}\nrequests {requests}\n", self.drive.tell(), self.connected())
    }

    fn metrics(&self) -> Metrics {
        let mut all = Metrics::default();
        self.drive.count(&mut all);
        count(&self.figures, &mut all);
        let connected = self.connected() as f64;
        all.add(metrics::Kind::Gauge, "connections", "Clients that are connected.", &[], connected);
        all
    }
}

/// What was served.
fn count(figures: &Figures, all: &mut Metrics) {
    let counter = metrics::Kind::Counter;
    for (kind, served) in Kind::ALL.iter().zip(&figures.kinds) {
        let labels = [("kind", kind.name())];
        histogram("request_seconds", LATENCY, &labels, &served.latency, all);
        all.add(
            counter,
            "request_bytes_total",
            "Bytes that requests concerned.",
            &labels,
            served.bytes as f64,
        );
        all.add(counter, "request_errors_total", "Requests that failed.", &labels, served.errors as f64);
    }
    for (name, help, value) in [
        (
            "requests_refused_total",
            "Requests that were malformed, out of range or not allowed.",
            figures.refused,
        ),
        ("connections_total", "Clients that have connected.", figures.connections),
        ("connections_expelled_total", "Clients that were hung up on.", figures.expelled),
    ] {
        all.add(counter, name, help, &[], value as f64);
    }
}

const LATENCY: &str = "From the receipt of a request until its reply was ready to be sent.";
