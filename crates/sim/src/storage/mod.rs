//! The storage that a world runs on and a report covers: one drive, or an array of drives.

mod host_figures;
mod kv_figures;

pub use host_figures::{Handlers, HostFigures, PredictionFigures};
pub use kv_figures::KvFigures;

use crate::array::SimulatedArray;
use crate::array::incidents::{Begun, Incidents};
use tailcut_base::{Device, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::Array;
use tailcut_ssd::{Figures, Probe, Ssd};

/// A device that is made of simulated drives.
pub trait Storage: Device {
    /// What watches each of its drives.
    type Probe: Probe;

    /// Its drives.
    fn drives(&self) -> &[Ssd<Self::Probe>];

    /// The array that they form; none for a single drive.
    fn array(&self) -> Option<&Array<Fingerprint>> {
        None
    }

    /// The incidents of that array until now, in order of time.
    fn incidents(&self) -> &[Begun] {
        &[]
    }

    /// The counters of each of its drives up to now.
    fn figures(&self, now: Time) -> Vec<Figures> {
        self.drives().iter().map(|drive| drive.figures(now)).collect()
    }

    /// True while it checks by itself what each of its drives returns.
    fn checks_content(&self) -> bool {
        false
    }

    /// The counters of the host in front of it, if one is modelled.
    fn host_figures(&self) -> Option<HostFigures> {
        None
    }

    /// The counters of the key-value server in front of it, if there is one.
    fn kv_figures(&self) -> Option<KvFigures> {
        None
    }

    /// Drives that the host took to be gone, because one of their commands exceeded `host.timeout`.
    fn timed_out(&self) -> Vec<usize> {
        Vec::new()
    }

    /// What keeps it from going on without an event left.
    fn why_stuck(&self) -> String;

    /// Why it takes no more writes, once it does not.
    fn read_only(&self) -> Option<String>;
}

impl<P: Probe> Storage for Ssd<P> {
    type Probe = P;

    fn drives(&self) -> &[Ssd<P>] {
        std::slice::from_ref(self)
    }

    fn why_stuck(&self) -> String {
        Ssd::why_stuck(self)
    }

    fn read_only(&self) -> Option<String> {
        Ssd::read_only(self).map(str::to_string)
    }
}

impl<P: Probe> Storage for SimulatedArray<P> {
    type Probe = P;

    fn drives(&self) -> &[Ssd<P>] {
        SimulatedArray::drives(self)
    }

    fn array(&self) -> Option<&Array<Fingerprint>> {
        Some(SimulatedArray::array(self))
    }

    fn incidents(&self) -> &[Begun] {
        SimulatedArray::incidents(self).map_or(&[], Incidents::begun)
    }

    fn why_stuck(&self) -> String {
        let drives = SimulatedArray::drives(self);
        let busy = drives.iter().position(|drive| drive.next_event() != Time::NEVER);
        match busy {
            Some(drive) => format!("drive {drive} still has work"),
            None => format!("the array waits for no drive: {}", SimulatedArray::array(self).condition()),
        }
    }

    fn read_only(&self) -> Option<String> {
        let read_only = |(number, drive): (usize, &Ssd<P>)| {
            Ssd::read_only(drive).map(|why| format!("drive {number}: {why}"))
        };
        SimulatedArray::drives(self).iter().enumerate().find_map(read_only)
    }
}
