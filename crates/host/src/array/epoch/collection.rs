//! Drives collect while they have the token, and come to rest before it passes on (Shin 2017, sections 5.3.2
//! and 5.3.5: GCCTRL).
//!
//! Before the writes of an epoch a drive is told to collect if it has too few free blocks for them: fewer
//! than what they need above the fewest that it was ever seen with. A drive that writes collects by itself
//! when it is down to its low watermark, so those are what it keeps at any rate; the paper sets the high
//! threshold for that purpose, which counts blocks of a plane, and a host does not know the planes. A
//! drive that has more than its high watermark ignores the call.

use super::Epochs;
use super::line::Stage;
use crate::Block;
use crate::array::core::Core;
use crate::disk::BLOCK_BYTES;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

impl<B: Block> Epochs<B> {
    /// A drive that is about to write is asked for its free blocks.
    pub(super) fn make_room(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
        let until = now + self.share / 4;
        let line = &mut self.lines[drive];
        line.stage = Stage::Room;
        (line.control.is_collecting, line.control.until) = (false, until);
        let call = if line.control.erase_block == 0 { Control::EraseBlockSize } else { Control::FreeBlocks };
        self.ask_control(core, drive, call);
    }

    /// What an epoch has written is durable: the drive is asked to stop its own work.
    pub(super) fn come_to_rest(&mut self, now: Time, core: &mut Core<B>, drive: usize) {
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
            (Stage::Room | Stage::Settling, ControlReply::Unsupported) => self.do_without(now, core, drive),
            (Stage::Room, reply) => self.replied_on_room(now, core, drive, call, reply),
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

    fn replied_on_room(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: usize,
        call: Control,
        reply: ControlReply,
    ) {
        match (call, reply) {
            (Control::EraseBlockSize, ControlReply::Bytes(bytes)) => {
                self.lines[drive].control.erase_block = bytes.max(BLOCK_BYTES);
                self.ask_control(core, drive, Control::FreeBlocks);
            }
            (Control::FreeBlocks, ControlReply::Blocks(free)) => self.judge_room(now, core, drive, free),
            (Control::RunGc { .. }, _) | (Control::IsGcRunning, ControlReply::Answer(true)) => {
                self.turn.poll_at(now + self.poll);
            }
            // It does not collect, or says something else than it was asked.
            _ => self.begin_writing(now, core, drive),
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
        match self.lines[drive].stage {
            Stage::Room => self.begin_writing(now, core, drive),
            _ => self.line_done(now, core, drive),
        }
    }

    /// Does a drive have as many free blocks as the writes of this epoch need?
    fn judge_room(&mut self, now: Time, core: &mut Core<B>, drive: usize, free: u64) {
        let line = &mut self.lines[drive];
        let floor = line.control.floor.map_or(free, |floor| floor.min(free));
        line.control.floor = Some(floor);
        let needed = (line.quota as u64 * BLOCK_BYTES).div_ceil(line.control.erase_block);
        let until = line.control.until;
        if free >= floor + needed || now >= until {
            return self.begin_writing(now, core, drive);
        }
        let call = if line.control.is_collecting { Control::IsGcRunning } else { Control::RunGc { until } };
        self.figures.collections += u64::from(!line.control.is_collecting);
        line.control.is_collecting = true;
        self.ask_control(core, drive, call);
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
                Stage::Room => self.ask_control(core, drive, Control::FreeBlocks),
                Stage::Settling => self.ask_for_rest(core, drive),
                _ => {}
            }
        }
    }
}
