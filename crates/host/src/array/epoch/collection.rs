//! Drives collect while they have the token, and come to rest before it passes on (Shin 2017, sections 5.3.2
//! and 5.3.5: GCCTRL).
//!
//! After the writes of an epoch, and their flush, each drive is told to collect, and is asked now and then
//! until it collects no more: it has its high watermark again. So each epoch makes up for what it wrote, and
//! the free blocks of all planes last for the next one. If collection were left for later, all planes, which are
//! written alike, would come down to their low watermark at the same time, and then their drive collects
//! whether it has the token or not. A drive that has its high watermark in every plane ignores the call, so that
//! nobody has to ask for free blocks, of which only the sum over all planes could be known. The paper sets the
//! high threshold to "just enough" instead; thresholds count blocks of a plane, and a host does not know the
//! planes.

use super::Epochs;
use super::line::Stage;
use crate::Block;
use crate::array::core::Core;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

impl<B: Block> Epochs<B> {
    /// What an epoch has written is durable: the drive makes up for it, in what time is left.
    pub(super) fn collect(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
        let until = self.turn.began + self.share / 8 * 7;
        let line = &mut self.lines[drive];
        if now >= until {
            line.control.was_cut = true;
            return self.come_to_rest(now, core, drive);
        }
        (line.stage, line.control.until, line.control.is_collecting) = (Stage::Collecting, until, false);
        self.ask_control(core, drive, Control::RunGc { until });
    }

    /// The drive is asked to stop its own work.
    fn come_to_rest(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
        let line = &mut self.lines[drive];
        (line.stage, line.control.until) = (Stage::Settling, now + self.share / 2);
        self.ask_for_rest(core, drive);
    }

    fn ask_for_rest(&mut self, core: &mut Core<B>, drive: usize) {
        self.figures.polls += 1;
        self.ask_control(core, drive, Control::IsReadyForRead);
    }

    /// A drive has replied.
    pub(super) fn replied(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: usize,
        call: Control,
        reply: ControlReply,
    ) {
        if let Control::SetWindows(_) = call {
            return;
        }
        self.lines[drive].control.is_asked = false;
        match (self.lines[drive].stage, reply) {
            (Stage::Collecting | Stage::Settling, ControlReply::Unsupported) => {
                self.do_without(now, core, drive)
            }
            (Stage::Collecting, reply) => self.replied_on_collection(now, core, drive, call, reply),
            (Stage::Settling, ControlReply::Answer(false)) if now < self.lines[drive].control.until => {
                self.turn.poll_at(now + self.poll);
            }
            (Stage::Settling, reply) => {
                self.figures.restless += u64::from(reply != ControlReply::Answer(true));
                self.line_done(now, core, drive);
            }
            _ => {}
        }
    }

    fn replied_on_collection(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: usize,
        call: Control,
        reply: ControlReply,
    ) {
        let control = &mut self.lines[drive].control;
        let is_running = call == Control::IsGcRunning && reply == ControlReply::Answer(true);
        let has_begun = matches!(call, Control::RunGc { .. }) && reply == ControlReply::Done;
        self.figures.collections += u64::from(is_running && !control.is_collecting);
        control.is_collecting |= is_running;
        if now < control.until && (is_running || has_begun) {
            self.turn.poll_at(now + self.poll);
        } else {
            control.was_cut = is_running;
            self.come_to_rest(now, core, drive);
        }
    }

    /// One call at a time.
    fn ask_control(&mut self, core: &mut Core<B>, drive: usize, call: Control) {
        self.lines[drive].control.is_asked = true;
        core.drives.control(drive, call);
    }

    /// The drive does not know these calls: it is treated as without them from now on.
    fn do_without(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
        self.lines[drive].control.is_unsupported = true;
        self.figures.without_control += 1;
        self.line_done(now, core, drive);
    }

    /// Asks those again that were not ready.
    pub(super) fn poll_drives(&mut self, now: Time, core: &mut Core<B>) {
        if self.turn.poll > now {
            return;
        }
        self.turn.poll = Time::NEVER;
        for index in 0..self.turn.holders().len() {
            let drive = self.turn.holders()[index];
            if self.lines[drive].control.is_asked {
                continue;
            }
            match self.lines[drive].stage {
                Stage::Collecting => self.ask_control(core, drive, Control::IsGcRunning),
                Stage::Settling => self.ask_for_rest(core, drive),
                _ => {}
            }
        }
    }
}
