//! Garbage collection at the end of a drive's epoch; see [`Calls`](crate::array::token_scheduling::Calls).

use super::Epochs;
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::token_scheduling::{Next, stage_of};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

impl<B: Block> Epochs<B> {
    /// The writes of an epoch are durable: the drive collects in the time that is left.
    pub(super) fn collect(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let limit = self.turn.limit(|group| self.waits_since(group), self.deadline, self.share);
        let line = &mut self.lines[drive];
        let (until, end) = line.pace.collection(now, self.turn.began(), self.share, limit);
        let call = line.calls.begin(now, until, end, &mut self.figures);
        self.call(now, core, drive, call);
    }

    fn call(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, call: Control) {
        self.enter(now, core, drive, stage_of(call));
        core.drives.control(drive, call);
    }

    /// Handles a drive's reply to a control call.
    pub(super) fn replied(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: DriveId,
        call: Control,
        reply: ControlReply,
    ) {
        match self.lines[drive].calls.replied(now, call, reply, &mut self.figures) {
            Next::Ask(call) => self.call(now, core, drive, call),
            Next::Poll => self.turn.poll_at(now + self.poll),
            Next::Done => self.line_done(now, core, drive),
            Next::Nothing => {}
        }
    }

    /// Polls drives that were not ready.
    pub(super) fn poll_drives(&mut self, now: Time, core: &mut Core<B>) {
        if !self.turn.take_poll(now) {
            return;
        }
        for &drive in self.turn.holders() {
            if let Some(call) = self.lines[drive].calls.poll(&mut self.figures) {
                core.drives.control(drive, call);
            }
        }
    }
}
