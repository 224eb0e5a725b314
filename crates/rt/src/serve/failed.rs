//! An export whose service has panicked: its connections are closed, and new ones are refused, so that no
//! client waits for it. The other exports have threads of their own and are not affected.

use super::figures::{Figures, Live};
use super::service::{Message, Service};
use crate::Clock;
use crate::ctl::{Answer, Steered};
use crate::reactor::{self, EventLoop, Mailbox, Reactor, Spin};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailcut_base::{Nanos, Time};
use tailcut_host::wire::ctl::{Ask, refusal};
use tailcut_host::wire::metrics::{Kind, Metrics};

/// State that outlives a service.
pub(super) struct Remains {
    /// The mailbox for the service's connections and administrative requests.
    pub mailbox: Arc<Mailbox<Message>>,
    /// The live counters of the service.
    pub live: Arc<Live>,
    /// Number of open connections of the whole server.
    pub open_connections: Arc<AtomicUsize>,
}

impl Remains {
    /// Runs the service; None if it panics, which drops all of it, including the drive, whose state may be
    /// inconsistent.
    pub(super) fn outlive<D: Steered>(self, service: Service<D>) -> Option<(Figures, D)> {
        if let Ok(served) = catch_unwind(AssertUnwindSafe(|| service.run())) {
            return Some(served);
        }
        // The panic was reported on standard error. Its connections were closed with it.
        self.live.has_failed.store(true, Ordering::Relaxed);
        // A request for a heartbeat may have been lost with the service.
        self.live.heartbeats().confirm();
        let connected = self.live.connections.swap(0, Ordering::Relaxed) as usize;
        self.open_connections.fetch_sub(connected, Ordering::Relaxed);
        // Without a descriptor for it, requests stay unanswered.
        if let Ok(reactor) = Reactor::new(self.mailbox, Spin::new(Nanos::ZERO), Clock::start()) {
            reactor::run(&mut FailedService {
                reactor,
                live: self.live,
                open_connections: self.open_connections,
            });
        }
        None
    }
}

/// Refuses connections and requests until it is asked to stop.
struct FailedService {
    reactor: Reactor<Message>,
    live: Arc<Live>,
    open_connections: Arc<AtomicUsize>,
}

impl EventLoop for FailedService {
    type Message = Message;

    fn reactor(&mut self) -> &mut Reactor<Message> {
        &mut self.reactor
    }

    fn iterate(&mut self, _: Time) {
        for message in self.reactor.receive() {
            match message {
                Message::Arrival(_) => drop(self.open_connections.fetch_sub(1, Ordering::Relaxed)),
                // Ignored: the requester no longer waits.
                Message::AdminRequest(request) => drop(request.answer.send(said(&request.ask))),
                // As for a shard that has failed, what fails is this export and not the server.
                Message::Beat => self.live.heartbeats().confirm(),
            }
        }
    }
}

fn said(ask: &Ask) -> Answer {
    match ask {
        Ask::Metrics => {
            let mut metrics = Metrics::default();
            let help = "1 for an export that is not served any more after a panic.";
            metrics.add(Kind::Gauge, "export_failed", help, &[], 1.0);
            Answer::Metrics(metrics)
        }
        Ask::Status => Answer::Text(format!("warning: {HAS_FAILED}\n")),
        _ => Answer::Text(refusal(HAS_FAILED)),
    }
}

const HAS_FAILED: &str =
    "this export has failed after an internal error: see standard error, and restart the server";
