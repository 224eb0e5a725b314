//! Observers of requests as they end.

use super::Finished;
use tailcut_base::{Spans, Time};

/// Watches requests from outside: for timelines and exports.
pub trait RequestObserver {
    /// The measurement begins.
    #[inline]
    fn begin(&mut self, _: Time) {}

    /// A request has ended.
    fn request(&mut self, request: &Finished<&Spans>);
}

impl RequestObserver for () {
    #[inline]
    fn request(&mut self, _: &Finished<&Spans>) {}
}

/// Watches if there is one.
impl<W: RequestObserver> RequestObserver for Option<W> {
    fn begin(&mut self, now: Time) {
        if let Some(request_observer) = self {
            request_observer.begin(now);
        }
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if let Some(request_observer) = self {
            request_observer.request(request);
        }
    }
}

/// Both watch.
impl<A: RequestObserver, B: RequestObserver> RequestObserver for (A, B) {
    fn begin(&mut self, now: Time) {
        self.0.begin(now);
        self.1.begin(now);
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        self.0.request(request);
        self.1.request(request);
    }
}
