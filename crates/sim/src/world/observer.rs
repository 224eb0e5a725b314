//! Observers of the device while a run measures.

use tailcut_base::Time;

/// Looks at the device at moments of its own choice: for timelines. It changes nothing, and a run with an
/// observer has the history of one without.
pub trait Observer<D> {
    /// The measurement begins.
    fn begin(&mut self, device: &D, now: Time);

    /// When it wants to look next; never before the measurement has begun.
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
impl<D> Observer<D> for () {
    fn begin(&mut self, _: &D, _: Time) {}
}

/// Looks if there is one.
impl<D, O: Observer<D>> Observer<D> for Option<O> {
    fn begin(&mut self, device: &D, now: Time) {
        if let Some(observer) = self {
            observer.begin(device, now);
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
