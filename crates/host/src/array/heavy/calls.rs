//! Drives collect while they have the token, and come to rest before it passes on (Shin 2017, sections 5.3.2
//! and 5.3.5: GCCTRL).
//!
//! After the writes of an epoch, and their flush, each drive is told to collect, and is asked now and then
//! until it collects no more: it has its high watermark again. So each epoch makes up for what it wrote, and
//! the free blocks of all planes last for the next one. If collection were left for later, all planes, which
//! are written alike, would come down to their low watermark at the same time, and then their drive collects
//! whether it has the token or not. A drive that has its high watermark in every plane ignores the call, so
//! that nobody has to ask for free blocks, of which only the sum over all planes could be known. The paper
//! sets the high threshold to "just enough" instead; thresholds count blocks of a plane, and a host does not
//! know the planes.

use super::{EpochFigures, Stage};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

/// The calls to one drive, one at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    phase: Phase,
    /// It does not know the calls.
    is_unsupported: bool,
    /// It has not replied to a call.
    is_asked: bool,
    /// It has collected in this epoch.
    is_collecting: bool,
    /// How its collection went, if it was told to collect.
    collected: Option<Collected>,
    /// Until when it is waited for.
    until: Time,
    /// Until when it is waited for to come to rest.
    end: Time,
}

/// How a collection went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The drive was still at it when its time was over.
    pub was_cut: bool,
    /// Since when it came to rest.
    pub resting: Time,
    /// It had not when its time was over.
    pub was_restless: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// There is nothing to call for.
    #[default]
    Idle,
    /// It collects.
    Collecting,
    /// It comes to rest.
    Settling,
}

/// What a drive does while it is called to.
pub fn stage_of(call: Control) -> Stage {
    if call == Control::IsReadyForRead { Stage::Settling } else { Stage::Collecting }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This call.
    Ask(Control),
    /// To ask again, after a while.
    Poll,
    /// The token may pass on.
    Done,
    /// Nothing: nobody waits for the reply.
    Nothing,
}

impl Calls {
    /// False when the drive does not know the calls.
    pub fn are_known(&self) -> bool {
        !self.is_unsupported
    }

    /// What an epoch has written is durable: the drive makes up for it until `until` at most, and comes to
    /// rest before `end`. If it does not, the token passes on all the same.
    pub fn begin(&mut self, now: Time, until: Time, end: Time, figures: &mut EpochFigures) -> Control {
        self.end = end;
        if now >= until {
            self.collected = Some(Collected { was_cut: true, resting: now, was_restless: false });
            return self.come_to_rest(figures);
        }
        (self.phase, self.until, self.is_collecting) = (Phase::Collecting, until, false);
        self.ask(Control::RunGc { until })
    }

    /// The drive is asked to stop its own work.
    fn come_to_rest(&mut self, figures: &mut EpochFigures) -> Control {
        (self.phase, self.until) = (Phase::Settling, self.end);
        figures.polls += 1;
        self.ask(Control::IsReadyForRead)
    }

    fn ask(&mut self, call: Control) -> Control {
        self.is_asked = true;
        call
    }

    /// The drive has replied.
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
                // It is treated as without calls from now on.
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

    /// The time to ask again has come: the call, if the last one has been replied to.
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

    /// How the last collection went, once.
    pub fn take_collected(&mut self) -> Option<Collected> {
        self.collected.take()
    }

    /// The drive is lost.
    pub fn forget(&mut self) {
        *self = Calls::default();
    }
}
