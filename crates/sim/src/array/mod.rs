//! An array of simulated drives, as one device in virtual time.
//!
//! The array is the machine of `tailcut_host`, which also serves in real time; here its drives are
//! simulated SSDs. Data are fingerprints, kept beside each drive: a drive carries requests for one
//! block out in the order in which it is given them, so the content is known at that moment.

mod contents;
pub mod incidents;
mod members;
mod preparation;
mod volume;

pub use members::{Member, Members};
pub use preparation::Fill;
pub use volume::{Admission, Volume};

use crate::event_loop::EventLoop;
use incidents::{Due, Incident, Incidents};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::ids::Id;
use tailcut_base::{Command, Completion, Device, Nanos, Submit, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::{Array, ArrayConfig, DriveId};
use tailcut_ssd::{Probe, Ssd};

/// An array and its drives.
#[derive(Debug)]
pub struct SimulatedArray<P: Probe = ()> {
    volume: Volume,
    drives: Vec<Ssd<P>>,
    /// Of each drive, and behind them of the array and its incidents.
    events: EventLoop,
    /// What happens to the drives, if anything does.
    incidents: Option<Box<Incidents>>,
    /// Of a drive, while they are handed over.
    completions: Vec<Completion>,
}

impl<P: Probe> SimulatedArray<P> {
    /// An array over these new drives, which keep no fingerprints themselves; or over the NVM sets of the
    /// only one.
    pub fn new(config: &ArrayConfig, drives: Vec<Ssd<P>>) -> SimulatedArray<P> {
        SimulatedArray {
            volume: Volume::new(config, &drives),
            events: EventLoop::new(drives.len() + 2),
            drives,
            incidents: None,
            completions: Vec::new(),
        }
    }

    /// The same array, with incidents at these times; see [`incidents::parse`]. Its members are whole drives.
    #[must_use]
    pub fn with_incidents(mut self, schedule: Vec<(Nanos, Incident)>) -> SimulatedArray<P> {
        if !schedule.is_empty() {
            self.incidents = Some(Box::new(Incidents::new(schedule, self.drives.len())));
        }
        self
    }

    /// The incidents of the run, if it has a schedule.
    pub fn incidents(&self) -> Option<&Incidents> {
        self.incidents.as_deref()
    }

    /// The array machine over the drives.
    pub fn array(&self) -> &Array<Fingerprint> {
        self.volume.array()
    }

    /// The drives below the array, in the order of their numbers.
    pub fn drives(&self) -> &[Ssd<P>] {
        &self.drives
    }

    /// Sends the array's initial commands to the drives, which have been prepared.
    pub fn start(&mut self) {
        self.pump(Time::ZERO);
    }

    /// The drives, without the array.
    pub fn into_drives(self) -> Vec<Ssd<P>> {
        self.drives
    }

    /// The array and its drives, each by itself, before it has been started.
    pub fn into_parts(self) -> (Volume, Vec<Ssd<P>>) {
        (self.volume, self.drives)
    }

    /// Hands on what the array has come up with.
    #[inline]
    fn pump(&mut self, now: Time) {
        loop {
            while let Some((drive, command)) = self.volume.next_command() {
                let mut incidents = self.incidents.as_mut();
                if incidents.as_mut().is_none_or(|them| !them.holds(now, DriveId::at(drive), &command)) {
                    self.fetch(now, drive, &command);
                }
            }
            self.volume.take_answers(now, self.events.completions());
            let events = &mut self.events;
            let mut called = |drive: usize, ssd: &Ssd<P>| events.set(drive, ssd.next_event());
            if !self.volume.make_calls(now, &mut self.drives, &mut called) {
                break;
            }
        }
        self.events.set(self.drives.len(), self.volume.array().next_event());
        if let Some(incidents) = &mut self.incidents {
            incidents.look_at(now, self.volume.array());
            self.events.set(self.drives.len() + 1, incidents.next_event());
        }
    }

    /// A drive gets a command.
    #[inline]
    fn fetch(&mut self, now: Time, drive: usize, command: &Command) {
        let answer = self.drives[drive].submit(now, command);
        assert_eq!(answer, Submit::Accepted, "the array keeps to what its drives say of themselves");
        self.events.set(drive, self.drives[drive].next_event());
    }

    /// Carries out the incidents that are due.
    #[cold]
    fn serve_incidents(&mut self, now: Time) {
        while let Some(due) = self.incidents.as_mut().and_then(|incidents| incidents.due(now)) {
            match due {
                Due::Fetch(drive, command) => self.fetch(now, drive.index(), &command),
                Due::Complete(drive, completion) => self.volume.answered(now, drive.index(), &completion),
                Due::Lose(drive) => self.volume.array_mut().remove(now, drive),
                Due::GiveBack(drive) => self.volume.give_back(now, drive),
                Due::Scrub => self.volume.array_mut().scrub(now),
            }
            self.pump(now);
        }
    }

    /// Serves the next event, which is due at `now`; of a drive also those up to `until` that follow before
    /// any other machine has one.
    fn serve(&mut self, now: Time, until: Time, slot: usize) {
        let reached = match slot.checked_sub(self.drives.len()) {
            None => self.serve_drive(now, until, slot),
            Some(array_or_incidents) => {
                match array_or_incidents {
                    0 => self.volume.array_mut().advance(now),
                    _ => self.serve_incidents(now),
                }
                Some(now)
            }
        };
        if let Some(now) = reached {
            self.pump(now);
        }
    }

    /// Serves the events of a drive that come before those of all other machines, up to the first that ends
    /// commands. Returns the time at which the array may have something to do, if it does: most events of a
    /// drive concern only the drive.
    fn serve_drive(&mut self, now: Time, until: Time, drive: usize) -> Option<Time> {
        let mut completions = std::mem::take(&mut self.completions);
        // Incidents may follow any event of a drive.
        let mut now = if self.incidents.is_some() { now } else { self.events.lead(drive).min(until) };
        while !self.drives[drive].advance(now, &mut completions) {
            now = completions[0].at;
        }
        let has_answered = !completions.is_empty();
        for completion in &mut completions {
            if let Some(incidents) = &mut self.incidents {
                incidents.completed(DriveId::at(drive), completion);
            }
            self.volume.answered(now, drive, completion);
        }
        completions.clear();
        self.completions = completions;
        self.events.set(drive, self.drives[drive].next_event());
        if self.incidents.is_some() {
            self.serve_incidents(now);
        }
        (has_answered || self.incidents.is_some()).then_some(now)
    }
}

impl<P: Probe> Device for SimulatedArray<P> {
    fn identify(&self) -> Identify {
        self.volume.identify()
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        match self.volume.submit(now, command) {
            Admission::Accepted => self.pump(now),
            Admission::Done => self.events.complete(Volume::nothing_to_do(now, command)),
            Admission::Busy => return Submit::Busy,
        }
        Submit::Accepted
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.events.next_event()
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        while let Some((now, slot)) = self.events.due(until) {
            self.serve(now, until, slot);
        }
        self.events.report(completions)
    }

    fn expect(&self, _: &[Command]) -> u64 {
        0
    }

    fn begin_counting(&mut self, now: Time) {
        self.volume.array_mut().count_epochs_anew();
        if let Some(incidents) = &mut self.incidents {
            incidents.begin(now);
            self.events.set(self.drives.len() + 1, incidents.next_event());
        }
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}
