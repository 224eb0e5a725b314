//! What chips and requests did in a window of time.

use tailcut_base::{CommandId, Nanos, Op, Spans, Time};
use tailcut_sim::world::{Finished, Observer};
use tailcut_ssd::flash::{ChannelId, LunId};
use tailcut_ssd::{ChipRecord, Handover, Probe};

/// A request, whole.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Number of the request in the run.
    pub number: u64,
    /// The device's name for it while it was in flight.
    pub id: CommandId,
    /// What the request did: read, write, trim or flush.
    pub op: Op,
    /// Number of the first sector, of 512 bytes.
    pub sector: u64,
    /// Number of sectors of 512 bytes; 0 for a flush.
    pub sectors: u32,
    /// When the request was due, from which its latency counts.
    pub due: Time,
    /// When the device accepted the request.
    pub submitted: Time,
    /// When the host saw the completion.
    pub completed: Time,
    /// Attribution of the request's latency to causes.
    pub spans: Spans,
}

impl Seen {
    fn new(request: &Finished<&Spans>) -> Seen {
        Seen {
            number: request.number,
            id: request.id,
            op: request.op,
            sector: request.sector,
            sectors: request.sectors,
            due: request.due,
            submitted: request.submitted,
            completed: request.completed,
            spans: *request.spans,
        }
    }

    /// From due to completed.
    pub(super) fn latency(&self) -> Nanos {
        self.completed.since(self.due)
    }
}

/// Waits for one request.
#[derive(Debug)]
pub(super) struct RequestFinder {
    /// The number of the request.
    pub number: u64,
    /// The request that was looked for, once it has ended.
    pub seen: Option<Seen>,
}

impl<D> Observer<D> for RequestFinder {
    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if request.number == self.number {
            self.seen = Some(Seen::new(request));
        }
    }
}

/// A window of time, and how much of it is kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Start of the window.
    pub from: Time,
    /// End of the window, inclusive.
    pub until: Time,
    /// The most transactions, and the most requests, that are kept.
    pub most: usize,
}

impl Window {
    fn overlaps(&self, start: Time, end: Time) -> bool {
        end >= self.from && start <= self.until
    }
}

/// The transactions of a window, in the order of their ends, and the chips that were taken from some.
#[derive(Debug)]
pub(super) struct Chips {
    window: Window,
    /// The transactions of the window that were kept, in the order of their ends.
    pub records: Vec<ChipRecord>,
    /// Chips that were taken from programs and erases, so that reads could go first.
    pub handovers: Vec<Handover>,
    /// Number of further transactions of the window that were not kept.
    pub left_out: u64,
    /// Number of drives that the records are of; their chips and channels are numbered through.
    pub drives: u32,
}

impl Chips {
    /// Nothing recorded yet.
    pub(super) fn new(window: Window) -> Chips {
        Chips { window, records: Vec::new(), handovers: Vec::new(), left_out: 0, drives: 1 }
    }

    /// What the chips of several equal drives did, each with `luns` chips and `channels` channels.
    pub(super) fn of_drives(window: Window, drives: Vec<Chips>, luns: u32, channels: u32) -> Chips {
        let mut all = Chips { drives: drives.len() as u32, ..Chips::new(window) };
        for (drive, chips) in (0..).zip(drives) {
            let (luns, channels) = (drive * luns, drive * channels);
            let moved = |r: ChipRecord| ChipRecord {
                lun: LunId::new(r.lun.get() + luns),
                channel: ChannelId::new(r.channel.get() + channels),
                ..r
            };
            all.records.extend(chips.records.into_iter().map(moved));
            let moved = |h: Handover| Handover {
                lun: LunId::new(h.lun.get() + luns),
                channel: ChannelId::new(h.channel.get() + channels),
                ..h
            };
            all.handovers.extend(chips.handovers.into_iter().map(moved));
            all.left_out += chips.left_out;
        }
        all.records.sort_by_key(|record| (record.end, record.lun));
        let excess = all.records.len().saturating_sub(window.most);
        all.records.truncate(window.most);
        all.left_out += excess as u64;
        all
    }
}

impl Probe for Chips {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        if !self.window.overlaps(record.start, record.end) {
        } else if self.records.len() < self.window.most {
            self.records.push(record);
        } else {
            self.left_out += 1;
        }
    }

    fn handover(&mut self, handover: Handover) {
        let is_within = self.window.overlaps(handover.asked, handover.free);
        if is_within && self.handovers.len() < self.window.most {
            self.handovers.push(handover);
        }
    }
}

/// The requests of a window, in the order of their ends.
#[derive(Debug)]
pub(super) struct Requests {
    window: Window,
    /// The requests of the window that were kept, in the order of their ends.
    pub seen: Vec<Seen>,
    /// Number of further requests of the window that were not kept.
    pub left_out: u64,
}

impl Requests {
    /// Nothing recorded yet.
    pub(super) fn new(window: Window) -> Requests {
        Requests { window, seen: Vec::new(), left_out: 0 }
    }
}

impl<D> Observer<D> for Requests {
    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if !self.window.overlaps(request.due, request.completed) {
        } else if self.seen.len() < self.window.most {
            self.seen.push(Seen::new(request));
        } else {
            self.left_out += 1;
        }
    }
}
