//! What a LUN has done, as records for a probe.

use super::Backend;
use crate::config::Handling;
use crate::flash::LunId;
use crate::probe::{ChipRecord, Handover, Member, Outcome};
use crate::request::{RequestId, Tag};
use tailcut_base::{CommandId, Time};

impl Backend {
    /// The record of the transaction of a LUN, which ends now. `command` knows the commands of tags.
    pub(crate) fn record(
        &self,
        now: Time,
        lun: LunId,
        outcome: Outcome,
        command: impl Fn(Tag) -> CommandId,
    ) -> ChipRecord {
        let t = &self.luns[lun].transaction;
        let member = |&id: &RequestId| {
            let request = &self.requests[id];
            let command = (request.tag != Tag::NONE).then(|| command(request.tag));
            Member { command, logical: request.logical, physical: request.physical }
        };
        // The cells of what was reset stopped as soon as it was given up.
        let cell_end = match outcome {
            Outcome::Done => t.cell_end,
            Outcome::Reset => Time(now.0 - self.time_to_take(t.kind, Handling::Reset).0),
        };
        ChipRecord {
            lun,
            channel: self.layout.channel_of(lun),
            kind: t.kind,
            start: t.started,
            command_end: t.started + t.command,
            cell_end,
            out_start: if t.kind.is_read() { t.out_start } else { cell_end },
            end: now,
            outcome,
            suspensions: t.suspensions,
            suspended: t.suspended,
            gap: t.gap,
            members: t.members().iter().map(member).collect(),
            handle: self.handle_at_work(lun),
        }
    }

    /// The record of a LUN that is taken from its operation now. `command` knows the commands of tags.
    pub(crate) fn handover(&self, now: Time, lun: LunId, command: impl Fn(Tag) -> CommandId) -> Handover {
        let u = &self.luns[lun];
        let kind = u.transaction.kind;
        let handling = if self.is_suspending(lun) { Handling::Suspend } else { Handling::Reset };
        let tag = self.preempting_read(lun).map(|id| self.requests[id].tag);
        Handover {
            lun,
            channel: self.layout.channel_of(lun),
            kind,
            handling,
            asked: u.held_since(),
            stopped: Time(now.0 - self.time_to_take(kind, handling).0),
            free: now,
            command: tag.filter(|&tag| tag != Tag::NONE).map(command),
        }
    }
}
