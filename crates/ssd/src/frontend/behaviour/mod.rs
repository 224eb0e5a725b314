//! The behaviour tracker of a drive: what will become of this command, and when will it end? (Shin 2017,
//! section 4.3.1.)
//!
//! Where a read's data comes from decides what can be known of it, and when:
//!
//! - from *flash*: when the command of its only page is issued to its chip. From there on nothing queues any
//!   more but for bus and link. The predicted rest is the mean of the last three that were observed, of the
//!   flash and of the transfer each, as in the dissertation.
//! - from *memory* (read cache, write buffer, pages that were never written): when the command arrives. The
//!   whole of it is the mean of the last three such commands.
//! - *ahead*: a page that the drive is reading of its own accord: when the command arrives, from the moment
//!   at which that began and the mean of the last three reads ahead, and the transfer.
//!
//! A write that finds *room* in the buffer is a matter of the link. One that does not waits for programs to
//! end: see [`drain`]; the way of its data after that is the mean of the last three writes' again.
//!
//! Hits of caches and of read-ahead are future work in the dissertation (section 4.3.1); of a full buffer
//! it has the threshold only. Requests of 8 KiB and more are not predicted, as there, but all writes are
//! reported when they meet a full buffer.

mod accuracy;
mod drain;

pub use accuracy::Accuracy;
use tailcut_base::cast::to_u32;

use crate::flash::LunId;
use crate::frontend::Frontend;
use crate::request::{Kind, MemoryRequest, Role, Tag};
use accuracy::LastThree;
use drain::{Drain, LOOKS, WaitingPages};
use tailcut_base::ids::IdVec;
use tailcut_base::{Cause, CommandId, Nanos, Op, Time};

/// Requests from this size on are not predicted: 8 KiB, in sectors.
const SMALL: u32 = 16;

/// The interval that a predicted or observed time covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Of a read: from its command at the chip to its data in the controller.
    Flash,
    /// Of a read: from its data in the controller to the host.
    Transfer,
    /// Of a read that needs no chip: all of it.
    Memory,
    /// Of a read that meets its page being read ahead: until that is in the controller.
    Ahead,
    /// Of a write that meets a full buffer: until it has room.
    Room,
    /// Of a write: its data's way over the link.
    Inbound,
}

impl Service {
    /// All of them, in the order of their numbers.
    pub const ALL: [Service; 6] =
        [Service::Flash, Service::Transfer, Service::Memory, Service::Ahead, Service::Room, Service::Inbound];

    /// The service in the words of reports, such as `memory hit`.
    pub fn label(self) -> &'static str {
        match self {
            Service::Flash => "flash",
            Service::Transfer => "transfer",
            Service::Memory => "memory hit",
            Service::Ahead => "read ahead",
            Service::Room => "room in the buffer",
            Service::Inbound => "transfer of a write",
        }
    }
}

/// A prediction of the drive about one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The host's identifier of the command that the prediction is about.
    pub id: CommandId,
    /// The service that the command waits for, whose end is predicted.
    pub of: Service,
    /// When the host can know it: a prediction made as a command arrives first takes the firmware's time.
    pub known: Time,
    /// When the host is expected to see its end; `None` if unknown.
    pub ends: Option<Time>,
}

/// Prediction for a write that is waiting for buffer space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPrediction {
    /// It waits no more.
    HasRoom,
    /// It is expected to end at this moment.
    Ends(Time),
    /// It waits, and the programs under way do not determine for how long.
    Unknown,
}

/// The state of a tracked command.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    /// Since when.
    at: Time,
    of: Service,
    /// How long its service was expected to take from then on.
    service: Option<Nanos>,
    transfer: Option<Nanos>,
}

/// The tracker: off until a host asks for predictions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracker {
    is_on: bool,
    times: [LastThree; Service::ALL.len()],
    tracked: IdVec<Tag, Option<Tracked>>,
    predictions: Vec<Prediction>,
    accuracy: [Accuracy; Service::ALL.len()],
    drain: Drain,
}

impl Tracker {
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    fn mean(&self, of: Service) -> Option<Nanos> {
        self.times[of as usize].mean()
    }

    fn observe(&mut self, of: Service, time: Nanos, predicted: Option<Nanos>) {
        self.accuracy[of as usize].note(time, predicted);
        self.times[of as usize].add(time);
    }

    fn track(&mut self, tag: Tag, tracked: Tracked) {
        self.tracked.extend_to(tag, None);
        self.tracked[tag] = Some(tracked);
    }

    /// The command of a read's only page has been issued to its chip.
    fn issued(&mut self, now: Time, tag: Tag, id: CommandId) {
        let (service, transfer) = (self.mean(Service::Flash), self.mean(Service::Transfer));
        self.track(tag, Tracked { at: now, of: Service::Flash, service, transfer });
        if let (Some(flash), Some(transfer)) = (service, transfer) {
            let ends = Some(now + flash + transfer);
            self.predictions.push(Prediction { id, of: Service::Flash, known: now, ends });
        }
    }

    /// A read has come whose data is all in memory; the host can know that at `known`.
    fn hits(&mut self, now: Time, known: Time, tag: Tag, id: CommandId) {
        let service = self.mean(Service::Memory);
        self.track(tag, Tracked { at: now, of: Service::Memory, service, transfer: None });
        let ends = service.map(|service| now + service);
        self.predictions.push(Prediction { id, of: Service::Memory, known, ends });
    }

    /// A read has come whose only page a chip has begun to read ahead at `began`.
    fn meets(&mut self, now: Time, known: Time, tag: Tag, id: CommandId, began: Time) {
        let service = self.mean(Service::Ahead).map(|time| Nanos((began + time).0.saturating_sub(now.0)));
        let transfer = self.mean(Service::Transfer);
        self.track(tag, Tracked { at: now, of: Service::Ahead, service, transfer });
        if let (Some(rest), Some(transfer)) = (service, transfer) {
            let ends = Some(now + rest + transfer);
            self.predictions.push(Prediction { id, of: Service::Ahead, known, ends });
        }
    }

    /// A command has ended, `transfer` after its data was in the controller.
    fn ended(&mut self, now: Time, tag: Tag, transfer: Nanos) {
        let Some(tracked) = self.tracked.get_mut(tag).and_then(Option::take) else { return };
        let took = now.since(tracked.at);
        match tracked.of {
            Service::Memory => self.observe(Service::Memory, took, tracked.service),
            Service::Flash => {
                self.observe(Service::Flash, took - transfer, tracked.service);
                self.observe(Service::Transfer, transfer, tracked.transfer);
            }
            // The history of read-ahead covers the whole read: see `track_meeting`.
            Service::Ahead => {
                self.accuracy[Service::Ahead as usize].note(took - transfer, tracked.service);
                self.observe(Service::Transfer, transfer, tracked.transfer);
            }
            Service::Room | Service::Transfer | Service::Inbound => {}
        }
    }
}

impl Frontend {
    /// Turns predictions on: see the head of this file.
    pub(crate) fn track_behaviour(&mut self) {
        self.tracker.is_on = true;
        self.tracker.drain = Drain::new(&self.sets());
    }

    /// The predictions made since they were last taken.
    pub(crate) fn predictions(&mut self) -> &mut Vec<Prediction> {
        &mut self.tracker.predictions
    }

    /// How well each kind of service has been predicted, in the order of [`Service::ALL`].
    pub(crate) fn prediction_accuracy(&self) -> [Accuracy; Service::ALL.len()] {
        self.tracker.accuracy
    }

    /// A transaction of `kind` with these members has begun at a LUN; `page_type` knows the type of the page
    /// that a program fills.
    #[cold]
    pub(crate) fn track_start<'r>(
        &mut self,
        now: Time,
        lun: LunId,
        kind: Kind,
        members: impl Iterator<Item = &'r MemoryRequest> + Clone,
        page_type: impl Fn(&MemoryRequest) -> usize,
    ) {
        self.tracker.drain.leave(lun);
        match kind {
            Kind::UserWrite => {
                let (set, pages) = (self.sets().of_lun(lun), to_u32(members.clone().count()));
                let slowest = members.map(page_type).max().unwrap_or(0);
                self.tracker.drain.began(now, lun, set, slowest, pages);
            }
            Kind::UserRead => {
                for request in members.filter(|request| request.role == Role::HostRead) {
                    self.track_read(now, request.tag);
                }
            }
            _ => {}
        }
    }

    /// The command of a read of the host has been issued to its LUN.
    fn track_read(&mut self, now: Time, tag: Tag) {
        let t = &self.tags[tag];
        if t.pages == 1 && t.command.sectors < SMALL {
            self.tracker.issued(now, tag, t.command.id);
        }
    }

    /// A LUN's transaction, which began at `started`, has ended.
    #[cold]
    pub(crate) fn track_end_of(&mut self, now: Time, lun: LunId, kind: Kind, started: Time) {
        match kind {
            Kind::UserWrite => self.tracker.drain.over(now, lun),
            Kind::ReadAhead => self.tracker.times[Service::Ahead as usize].add(now.since(started)),
            _ => {}
        }
    }

    /// A read has come, and its pages have been looked for.
    #[cold]
    pub(crate) fn track_arrival(&mut self, now: Time, tag: Tag) {
        let t = &self.tags[tag];
        if t.remaining == 0 && t.command.sectors < SMALL {
            self.tracker.hits(now, now + self.time_to_know(), tag, self.tags[tag].command.id);
        }
    }

    /// A read waits for a read ahead that a LUN began at `began`.
    #[cold]
    pub(crate) fn track_meeting(&mut self, now: Time, tag: Tag, began: Time) {
        let t = &self.tags[tag];
        if t.pages == 1 && t.command.sectors < SMALL {
            let known = now + self.time_to_know();
            self.tracker.meets(now, known, tag, self.tags[tag].command.id, began);
        }
    }

    /// A write has found no room.
    #[cold]
    pub(crate) fn track_wait(&mut self, now: Time, tag: Tag) {
        let t = &self.tags[tag];
        let (id, is_small, known) = (t.command.id, t.command.sectors < SMALL, now + self.time_to_know());
        let is_forced = t.command.fua && !self.buffer.capacitor;
        let mut ends = None;
        if is_small && !is_forced {
            let room = self.room_for(now, tag);
            let service = room.map(|room| room.since(now));
            self.tracker.track(tag, Tracked { at: now, of: Service::Room, service, transfer: None });
            ends = room.zip(self.tracker.mean(Service::Inbound)).map(|(room, inbound)| room + inbound);
        }
        self.tracker.predictions.push(Prediction { id, of: Service::Room, known, ends });
    }

    /// When the write of a tag, which waits for room, is expected to have it.
    fn room_for(&mut self, now: Time, tag: Tag) -> Option<Time> {
        let set = self.set_of_tag(tag);
        let planes = self.sets().planes_each();
        let width = planes.min(to_u32(self.buffer.pages(set))).max(1);
        let tags = &self.tags;
        let mut pages = 0;
        for &other in self.buffer.line(set).iter().take(LOOKS) {
            pages += tags[other].pages - tags[other].admitted;
            if other == tag {
                return self.tracker.drain.room_for(now, set, WaitingPages { pages, width });
            }
        }
        None
    }

    /// Predicts when a write that found the buffer full gets space.
    pub(crate) fn wait_prediction(&mut self, now: Time, id: CommandId, sector: u64) -> WaitPrediction {
        let set = self.set_of_sector(sector);
        let tags = &self.tags;
        let line = self.buffer.line(set);
        let Some(tag) = line.iter().take(LOOKS).copied().find(|&tag| tags[tag].command.id == id) else {
            return if line.len() > LOOKS { WaitPrediction::Unknown } else { WaitPrediction::HasRoom };
        };
        let room = self.room_for(now, tag).filter(|&room| room > now);
        match room.zip(self.tracker.mean(Service::Inbound)) {
            Some((room, inbound)) => WaitPrediction::Ends(room + inbound),
            None => WaitPrediction::Unknown,
        }
    }

    /// A write that had to wait has room for all of its pages.
    #[cold]
    pub(crate) fn track_room(&mut self, now: Time, tag: Tag) {
        let tracked = self.tracker.tracked.get_mut(tag).and_then(Option::take);
        if let Some(Tracked { at, of: Service::Room, service, .. }) = tracked {
            self.tracker.observe(Service::Room, now.since(at), service);
        }
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn track_end(&mut self, now: Time, tag: Tag) {
        let t = &self.tags[tag];
        let link = t.spans.of(Cause::LinkWait) + t.spans.of(Cause::Link);
        if t.command.op == Op::Write {
            // One that the drive could not carry out has waited for nothing.
            self.tracker.tracked.get_mut(tag).map(Option::take);
            if t.command.sectors < SMALL && !self.buffer.is_write_through() {
                let predicted = self.tracker.mean(Service::Inbound);
                self.tracker.observe(Service::Inbound, link, predicted);
            }
            return;
        }
        let controller = t.spans.of(Cause::Controller);
        self.tracker.ended(now, tag, link + controller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_mean_of_the_last_three() {
        let mut tracker = Tracker::default();
        for (flash, transfer) in [(100, 9), (103, 9), (109, 12), (200, 9)] {
            tracker.issued(Time(1000), Tag::new(0), CommandId(7));
            tracker.ended(Time(1000 + flash + transfer), Tag::new(0), Nanos(transfer));
        }
        tracker.issued(Time(5000), Tag::new(0), CommandId(8));
        let ends: Vec<Time> = tracker.predictions.iter().filter_map(|p| p.ends).collect();
        assert_eq!(ends, [Time(1000 + 104 + 10), Time(5000 + 137 + 10)]);
        let flash = tracker.accuracy[Service::Flash as usize];
        assert_eq!((flash.observed, flash.predicted, flash.error()), (4, 1, 96.0));
    }

    #[test]
    fn a_hit_is_announced_at_once_and_timed_after_three() {
        let mut tracker = Tracker::default();
        for took in [20, 26, 23, 30] {
            tracker.hits(Time(1000), Time(1005), Tag::new(0), CommandId(1));
            tracker.ended(Time(1000 + took), Tag::new(0), Nanos(took));
        }
        let ends: Vec<Option<Time>> = tracker.predictions.iter().map(|p| p.ends).collect();
        assert_eq!(ends, [None, None, None, Some(Time(1023))]);
        assert!(tracker.predictions.iter().all(|p| p.known == Time(1005) && p.of == Service::Memory));
        assert_eq!(tracker.accuracy[Service::Memory as usize].error(), 7.0);
    }
}
