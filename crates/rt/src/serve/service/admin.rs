//! Administrative requests to a service, handled between requests of its clients.

use super::Service;
use crate::ctl::{AdminRequest, Answer, Steered, histogram};
use crate::serve::figures::{Figures, Kind};
use tailcut_base::Time;
use tailcut_host::wire::ctl::Ask;
use tailcut_host::wire::metrics::{self, Metrics};

impl<D: Steered> Service<D> {
    /// Answers an administrative request.
    pub(super) fn answer(&mut self, request: AdminRequest, now: Time) {
        let said = match request.ask {
            Ask::Metrics => Answer::Metrics(self.metrics()),
            Ask::Status => Answer::Text(self.status()),
            _ => return self.steering.carry_out(&mut self.drive, now, request),
        };
        // Ignored: the requester no longer waits.
        let _ = request.answer.send(said);
    }

    fn status(&self) -> String {
        let requests = self.figures.requests();
        format!("{}connections {}\nrequests {requests}\n", self.drive.describe(), self.connected())
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

/// Adds the counters of the service.
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
