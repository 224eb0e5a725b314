//! Reports finished transactions to the probe.

use crate::flash::LunId;
use crate::preemption::Handling;
use crate::probe::{ChipRecord, Member, Outcome, Probe};
use crate::request::{RequestId, Tag};
use crate::ssd::Ssd;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// Tells the probe of the transaction of a LUN.
    pub(crate) fn report(&mut self, now: Time, lun: LunId, outcome: Outcome) {
        let t = &self.luns[lun].transaction;
        let member = |&id: &RequestId| {
            let request = &self.requests[id];
            let command = (request.tag != Tag::NONE).then(|| self.tags[request.tag].command.id);
            Member { command, logical: request.logical, physical: request.physical }
        };
        // The cells of what was reset stopped as soon as it was given up.
        let cell_end = match outcome {
            Outcome::Done => t.cell_end,
            Outcome::Reset => Time(now.0 - self.time_to_take(t.kind, Handling::Reset).0),
        };
        let record = ChipRecord {
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
        };
        self.probe.transaction(record);
    }
}
