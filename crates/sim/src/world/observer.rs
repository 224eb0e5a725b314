//! Observers of a run.

use super::Finished;
use tailcut_base::{Spans, Time};

/// Watches a run from outside: its requests as they end, and the device at moments of its own choice. For
/// timelines and exports. It changes nothing, and a run with an observer has the history of one without.
pub trait Observer<D> {
    /// The measurement begins.
    fn begin(&mut self, _: &D, _now: Time) {}

    /// A request has ended, within the measurement or before.
    #[inline]
    fn request(&mut self, _: &Finished<&Spans>) {}

    /// When it wants to look at the device next; never before the measurement has begun.
    #[inline]
    fn due(&self) -> Time {
        Time::NEVER
    }

    /// Observes the device at a time of its choice: everything before `now` has happened, and nothing of
    /// that moment. Its next moment must be later.
    fn observe(&mut self, _: &D, _now: Time) {}

    /// The measurement is over.
    fn end(&mut self, _: &D, _now: Time) {}
}

/// Looks once, when the measurement begins.
pub(super) struct AtRampEnd<'a, D>(pub &'a mut dyn FnMut(&D, Time));

impl<D> Observer<D> for AtRampEnd<'_, D> {
    fn begin(&mut self, device: &D, now: Time) {
        (self.0)(device, now);
    }
}

/// Looks at nothing.
impl<D> Observer<D> for () {}

/// Looks if there is one.
impl<D, O: Observer<D>> Observer<D> for Option<O> {
    fn begin(&mut self, device: &D, now: Time) {
        if let Some(observer) = self {
            observer.begin(device, now);
        }
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if let Some(observer) = self {
            observer.request(request);
        }
    }

    #[inline]
    fn due(&self) -> Time {
        self.as_ref().map_or(Time::NEVER, Observer::due)
    }

    fn observe(&mut self, device: &D, now: Time) {
        if let Some(observer) = self {
            observer.observe(device, now);
        }
    }

    fn end(&mut self, device: &D, now: Time) {
        if let Some(observer) = self {
            observer.end(device, now);
        }
    }
}

/// Both look, each when it wants to.
impl<D, A: Observer<D>, B: Observer<D>> Observer<D> for (A, B) {
    fn begin(&mut self, device: &D, now: Time) {
        self.0.begin(device, now);
        self.1.begin(device, now);
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        self.0.request(request);
        self.1.request(request);
    }

    #[inline]
    fn due(&self) -> Time {
        self.0.due().min(self.1.due())
    }

    fn observe(&mut self, device: &D, now: Time) {
        if self.0.due() <= now {
            self.0.observe(device, now);
        }
        if self.1.due() <= now {
            self.1.observe(device, now);
        }
    }

    fn end(&mut self, device: &D, now: Time) {
        self.0.end(device, now);
        self.1.end(device, now);
    }
}
