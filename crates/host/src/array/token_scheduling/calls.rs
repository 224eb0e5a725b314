//! Garbage collection of drives while they have the token; they quiesce before it passes on (Shin 2017,
//! sections
//! 5.3.2 and 5.3.5: GCCTRL).
//!
//! After the writes of an epoch and their flush, each drive is instructed to collect and is polled until it
//! stops: it is back at its high watermark. So each epoch makes up for its own writes, and the free blocks of
//! all planes last for the next one. If collection were deferred, all planes, which are written evenly, would
//! reach their low watermark at the same time, and their drive would collect with or without the token. A
//! drive at its high watermark in every plane ignores the call, so the free blocks, of which only the sum
//! over all planes is visible, need not be queried. The paper sets the high threshold to "just enough"
//! instead; thresholds count blocks of a plane, and a host does not know the planes.

use super::{EpochFigures, Stage};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

/// The control calls to one drive, one at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    phase: Phase,
    /// The drive does not support the calls.
    is_unsupported: bool,
    /// A call is outstanding.
    is_asked: bool,
    /// The drive has collected in this epoch.
    is_collecting: bool,
    /// Result of its collection, if it was instructed to collect.
    collected: Option<Collected>,
    /// Deadline of the current phase.
    until: Time,
    /// Deadline for quiescence.
    end: Time,
}

/// Result of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Whether the drive was still collecting at the deadline for collection.
    pub was_cut: bool,
    /// When the drive was asked to end its collection and quiesce.
    pub resting: Time,
    /// Whether the drive had not quiesced at the deadline for that.
    pub was_restless: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No calls are needed.
    #[default]
    Idle,
    /// The drive is collecting.
    Collecting,
    /// The drive is quiescing.
    Settling,
}

/// The stage of an epoch in which a call is made.
pub fn stage_of(call: Control) -> Stage {
    if call == Control::IsReadyForRead { Stage::Settling } else { Stage::Collecting }
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make this call on the drive.
    Ask(Control),
    /// Poll again after a while.
    Poll,
    /// The token may pass on.
    Done,
    /// None: the reply is outdated.
    Nothing,
}

impl Calls {
    /// False if the drive does not support the calls.
    pub fn are_known(&self) -> bool {
        !self.is_unsupported
    }

    /// The writes of an epoch are durable: the drive collects until `until` at most and quiesces before
    /// `end`. The token passes on at `end` in any case.
    pub fn begin(&mut self, now: Time, until: Time, end: Time, figures: &mut EpochFigures) -> Control {
        self.end = end;
        if now >= until {
            self.collected = Some(Collected { was_cut: true, resting: now, was_restless: false });
            return self.come_to_rest(figures);
        }
        (self.phase, self.until, self.is_collecting) = (Phase::Collecting, until, false);
        self.ask(Control::RunGc { until })
    }

    /// Instructs the drive to stop its background work.
    fn come_to_rest(&mut self, figures: &mut EpochFigures) -> Control {
        (self.phase, self.until) = (Phase::Settling, self.end);
        figures.polls += 1;
        self.ask(Control::IsReadyForRead)
    }

    fn ask(&mut self, call: Control) -> Control {
        self.is_asked = true;
        call
    }

    /// Handles the drive's reply to `call`, and returns what follows from it.
    pub fn replied(
        &mut self,
        now: Time,
        call: Control,
        reply: ControlReply,
        figures: &mut EpochFigures,
    ) -> Next {
        if let Control::SetWindows(_) = call {
            return Next::Nothing;
        }
        self.is_asked = false;
        match (self.phase, reply) {
            (Phase::Idle, _) => Next::Nothing,
            (_, ControlReply::Unsupported) => {
                // From now on the drive is treated as one without control calls.
                self.is_unsupported = true;
                figures.without_control += 1;
                self.done()
            }
            (Phase::Collecting, reply) => self.replied_on_collection(now, call, reply, figures),
            (Phase::Settling, ControlReply::Answer(false)) if now < self.until => Next::Poll,
            (Phase::Settling, reply) => {
                let was_restless = reply != ControlReply::Answer(true);
                figures.restless += u64::from(was_restless);
                self.collected.iter_mut().for_each(|collected| collected.was_restless = was_restless);
                self.done()
            }
        }
    }

    fn done(&mut self) -> Next {
        self.phase = Phase::Idle;
        Next::Done
    }

    fn replied_on_collection(
        &mut self,
        now: Time,
        call: Control,
        reply: ControlReply,
        figures: &mut EpochFigures,
    ) -> Next {
        let is_running = call == Control::IsGcRunning && reply == ControlReply::Answer(true);
        let has_begun = matches!(call, Control::RunGc { .. }) && reply == ControlReply::Done;
        figures.collections += u64::from(is_running && !self.is_collecting);
        self.is_collecting |= is_running;
        if now < self.until && (is_running || has_begun) {
            return Next::Poll;
        }
        self.collected = Some(Collected { was_cut: is_running, resting: now, was_restless: false });
        Next::Ask(self.come_to_rest(figures))
    }

    /// The poll interval has passed: the next call, unless one is outstanding.
    pub fn poll(&mut self, figures: &mut EpochFigures) -> Option<Control> {
        let call = match self.phase {
            _ if self.is_asked => return None,
            Phase::Idle => return None,
            Phase::Collecting => Control::IsGcRunning,
            Phase::Settling => Control::IsReadyForRead,
        };
        figures.polls += u64::from(call == Control::IsReadyForRead);
        Some(self.ask(call))
    }

    /// Takes the result of the last collection.
    pub fn take_collected(&mut self) -> Option<Collected> {
        self.collected.take()
    }

    /// Resets the state: the drive has failed.
    pub fn forget(&mut self) {
        *self = Calls::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_that_collects_is_counted_once_and_polled_until_it_stops() {
        let (mut calls, mut figures) = (Calls::default(), EpochFigures::default());
        let (until, end) = (Time(500), Time(900));
        let call = calls.begin(Time(0), until, end, &mut figures);
        assert_eq!(call, Control::RunGc { until });
        assert_eq!(calls.poll(&mut figures), None, "a call is outstanding");
        assert_eq!(calls.replied(Time(10), call, ControlReply::Done, &mut figures), Next::Poll);
        for at in [100, 200] {
            let call = calls.poll(&mut figures).expect("it is due");
            assert_eq!(call, Control::IsGcRunning);
            let next = calls.replied(Time(at), call, ControlReply::Answer(true), &mut figures);
            assert_eq!((next, figures.collections), (Next::Poll, 1));
        }
        let call = calls.poll(&mut figures).expect("it is due");
        let next = calls.replied(Time(300), call, ControlReply::Answer(false), &mut figures);
        assert_eq!(next, Next::Ask(Control::IsReadyForRead));
        let next =
            calls.replied(Time(310), Control::IsReadyForRead, ControlReply::Answer(false), &mut figures);
        assert_eq!((next, figures.restless), (Next::Poll, 0));
        let call = calls.poll(&mut figures).expect("it is due");
        let next = calls.replied(Time(400), call, ControlReply::Answer(true), &mut figures);
        assert_eq!((next, figures.restless, figures.polls), (Next::Done, 0, 2));
        let collected = Collected { was_cut: false, resting: Time(300), was_restless: false };
        assert_eq!((calls.take_collected(), figures.collections), (Some(collected), 1));
    }

    #[test]
    fn a_collection_is_cut_at_its_deadline_and_a_drive_that_never_began_is_not_counted() {
        let (mut calls, mut figures) = (Calls::default(), EpochFigures::default());
        let call = calls.begin(Time(0), Time(500), Time(900), &mut figures);
        assert_eq!(calls.replied(Time(10), call, ControlReply::Done, &mut figures), Next::Poll);
        let call = calls.poll(&mut figures).expect("it is due");
        let next = calls.replied(Time(600), call, ControlReply::Answer(true), &mut figures);
        assert_eq!(next, Next::Ask(Control::IsReadyForRead));
        let next =
            calls.replied(Time(900), Control::IsReadyForRead, ControlReply::Answer(false), &mut figures);
        assert_eq!((next, figures.restless, figures.collections), (Next::Done, 1, 1));
        assert_eq!(
            calls.take_collected().map(|collected| (collected.was_cut, collected.was_restless)),
            Some((true, true))
        );
        let call = calls.begin(Time(1000), Time(1500), Time(1900), &mut figures);
        let next = calls.replied(Time(1010), call, ControlReply::Answer(false), &mut figures);
        assert_eq!((next, figures.collections), (Next::Ask(Control::IsReadyForRead), 1));
    }
}
