//! Where the time of a request goes, up to a mark.

use tailcut_base::{Cause, Nanos, Spans, Time};

/// The spans of a request, or of a part of its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// Up to where time is accounted for.
    pub mark: Time,
    pub spans: Spans,
}

impl Account {
    /// Begins now.
    pub(super) fn begin(now: Time) -> Account {
        Account { mark: now, spans: Spans::new() }
    }

    /// Begins anew, now.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.mark = now;
        self.spans.clear();
    }

    /// All time since the last mark had one cause.
    #[inline]
    pub(super) fn lap(&mut self, now: Time, cause: Cause) {
        self.spans.add(cause, now.since(self.mark));
        self.mark = now;
    }

    /// The time since the last mark was a thread's own, but for what it waited for a core and what interrupts
    /// took.
    #[inline]
    pub(super) fn lap_own(&mut self, now: Time, (delayed, stolen): (Nanos, Nanos)) {
        let elapsed = now.since(self.mark);
        let delayed = delayed.min(elapsed);
        let stolen = stolen.min(elapsed - delayed);
        self.spans.add(Cause::Scheduling, delayed);
        self.spans.add(Cause::Interrupt, stolen);
        self.spans.add(Cause::HostWork, elapsed - delayed - stolen);
        self.mark = now;
    }

    /// All time since the last mark is told by `spans`, whose keeper has accounted for it.
    #[inline]
    pub(super) fn lap_as(&mut self, now: Time, spans: &Spans) {
        assert_eq!(spans.total(), now.since(self.mark), "an account that is handed over is complete");
        self.spans.extend(spans);
        self.mark = now;
    }

    /// Goes on where another account has come to.
    #[inline]
    pub(super) fn join(&mut self, other: &Account) {
        self.spans.extend(&other.spans);
        self.mark = other.mark;
    }
}
