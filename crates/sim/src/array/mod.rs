//! An array of simulated drives, as one device in virtual time.
//!
//! The array is the machine of `tailcut_host`, which also serves in real time; here its drives are
//! simulated SSDs. Data are fingerprints, kept beside each drive: a drive carries requests for one
//! block out in the order in which it is given them, so the content is known at that moment.

mod contents;
mod members;
mod preparation;
mod volume;

pub use members::{Member, Members};
pub use preparation::Fill;
pub use volume::{Admission, Volume};

use crate::event_loop::EventLoop;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Command, Completion, Device, Submit, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::{Array, ArrayConfig};
use tailcut_ssd::{Probe, Ssd};

/// An array and its drives.
#[derive(Debug)]
pub struct SimulatedArray<P: Probe = ()> {
    volume: Volume,
    drives: Vec<Ssd<P>>,
    /// Of each drive, and behind them of the array.
    events: EventLoop,
    /// Of a drive, while they are handed over.
    completions: Vec<Completion>,
}

impl<P: Probe> SimulatedArray<P> {
    /// An array over these new drives, which keep no fingerprints themselves; or over the NVM sets of the
    /// only one.
    pub fn new(config: &ArrayConfig, drives: Vec<Ssd<P>>) -> SimulatedArray<P> {
        SimulatedArray {
            volume: Volume::new(config, &drives),
            events: EventLoop::new(drives.len() + 1),
            drives,
            completions: Vec::new(),
        }
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
                let answer = self.drives[drive].submit(now, &command);
                assert_eq!(answer, Submit::Accepted, "the array keeps to what its drives say of themselves");
                self.events.set(drive, self.drives[drive].next_event());
            }
            self.volume.take_answers(now, self.events.completions());
            let events = &mut self.events;
            let mut called = |drive: usize, ssd: &Ssd<P>| events.set(drive, ssd.next_event());
            if !self.volume.make_calls(now, &mut self.drives, &mut called) {
                break;
            }
        }
        self.events.set(self.drives.len(), self.volume.array().next_event());
    }

    /// Serves the next event, which is due at `now`.
    fn serve(&mut self, now: Time, slot: usize) {
        if slot == self.drives.len() {
            self.volume.array_mut().advance(now);
        } else {
            self.serve_drive(now, slot);
        }
        self.pump(now);
    }

    fn serve_drive(&mut self, now: Time, drive: usize) {
        let mut completions = std::mem::take(&mut self.completions);
        while !self.drives[drive].advance(now, &mut completions) {}
        for completion in completions.drain(..) {
            self.volume.answered(now, drive, &completion);
        }
        self.completions = completions;
        self.events.set(drive, self.drives[drive].next_event());
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
            self.serve(now, slot);
        }
        self.events.report(completions)
    }

    fn expect(&self, _: &[Command]) -> u64 {
        0
    }

    fn begin_counting(&mut self) {
        self.volume.array_mut().count_epochs_anew();
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}
