//! The way of each request for the disk through the server.

use super::worker::WorkerId;
use tailcut_base::Time;
use tailcut_host::{Bytes, Response};

/// Of all requests in flight, by name.
#[derive(Debug, Default)]
pub(super) struct RequestTraces {
    traces: Vec<RequestTrace>,
}

/// When what happened to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The thread began to hand it over.
    pub begun: Time,
    /// The disk had it.
    pub handed: Time,
    /// The disk had ended it.
    pub answered: Time,
    /// The software interrupt came to it.
    pub fetched: Time,
    /// The software interrupt had done with it.
    pub finished: Time,
    /// A user waits for what it reads.
    pub is_of_user: bool,
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct RequestTrace {
    times: Times,
    /// The thread that handed it over.
    worker: Option<WorkerId>,
    /// The completion of the disk request; `None` until it is there.
    pub response: Option<Response<Bytes>>,
}

impl RequestTrace {
    pub(super) fn times(&self) -> &Times {
        &self.times
    }

    pub(super) fn handed_over_by(&mut self, worker: WorkerId) {
        self.worker = Some(worker);
    }

    /// The thread that takes it back.
    pub(super) fn worker(&self) -> WorkerId {
        self.worker.expect("a thread has handed it over")
    }
}

impl std::ops::Deref for RequestTrace {
    type Target = Times;
    fn deref(&self) -> &Times {
        &self.times
    }
}

impl std::ops::DerefMut for RequestTrace {
    fn deref_mut(&mut self) -> &mut Times {
        &mut self.times
    }
}

impl RequestTraces {
    /// That of a request.
    #[inline]
    pub(super) fn of(&mut self, request: u32) -> &mut RequestTrace {
        let at = request as usize;
        if at >= self.traces.len() {
            self.traces.resize_with(at + 1, RequestTrace::default);
        }
        &mut self.traces[at]
    }
}
