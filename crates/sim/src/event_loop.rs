//! The event loop of devices that consist of several machines, each with a timer of its own.

use tailcut_base::timers::Timers;
use tailcut_base::{Completion, Time};

/// The timers of a device's machines, and the completions that the device has not reported yet.
#[derive(Debug)]
pub(crate) struct EventLoop {
    /// The next event of each machine.
    timers: Timers,
    /// Unreported completions, all of the same moment.
    ready: Vec<Completion>,
}

impl EventLoop {
    /// A loop for this number of machines, which have no events yet.
    pub(crate) fn new(machines: usize) -> EventLoop {
        EventLoop { timers: Timers::new(machines), ready: Vec::new() }
    }

    /// A machine has its next event at `at`, or none if that is [`Time::NEVER`].
    #[inline]
    pub(crate) fn set(&mut self, machine: usize, at: Time) {
        self.timers.set_or_clear(machine, at);
    }

    /// A command of the device completes now.
    #[inline]
    pub(crate) fn complete(&mut self, completion: Completion) {
        self.ready.push(completion);
    }

    /// The list to which several completions of this moment are appended.
    #[inline]
    pub(crate) fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.ready
    }

    /// The [`Device::next_event`](tailcut_base::Device::next_event) of the device.
    #[inline]
    pub(crate) fn next_event(&self) -> Time {
        self.ready.last().map_or_else(|| self.timers.next(), |completion| completion.at)
    }

    /// The next event up to and including `until`, and its machine; `None` while there are completions to
    /// report, which come first.
    #[inline]
    pub(crate) fn due(&self, until: Time) -> Option<(Time, usize)> {
        self.timers.first().filter(|(at, _)| *at <= until && self.ready.is_empty())
    }

    /// The last time up to which the machine whose event is due comes before all others; see
    /// [`Timers::lead`].
    #[inline]
    pub(crate) fn lead(&self, machine: usize) -> Time {
        self.timers.lead(machine)
    }

    /// Reports the completions. Returns true if there were none.
    #[inline]
    pub(crate) fn report(&mut self, completions: &mut Vec<Completion>) -> bool {
        let is_done = self.ready.is_empty();
        if completions.is_empty() {
            std::mem::swap(completions, &mut self.ready);
        } else {
            completions.append(&mut self.ready);
        }
        is_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::{CommandId, Nanos, Spans, Status};

    #[test]
    fn completions_are_reported_before_further_events() {
        let mut events = EventLoop::new(2);
        assert_eq!(events.next_event(), Time::NEVER);
        let at = |micros| Time::ZERO + Nanos::micros(micros);
        events.set(1, at(7));
        events.set(0, at(9));
        assert_eq!((events.due(at(6)), events.due(at(7))), (None, Some((at(7), 1))));
        let (id, status, spans) = (CommandId(3), Status::Success, Spans::new());
        events.complete(Completion { id, status, at: at(5), content: 0, busy_for: Nanos::ZERO, spans });
        assert_eq!((events.next_event(), events.due(at(9))), (at(5), None));
        let mut reported = Vec::new();
        assert_eq!([events.report(&mut reported), events.report(&mut reported)], [false, true]);
        assert_eq!((reported.len(), reported[0].id, events.next_event()), (1, id, at(7)));
        events.set(1, Time::NEVER);
        assert_eq!(events.due(at(9)), Some((at(9), 0)));
    }
}
