//! The storage of a server's items: one drive, or an array, by itself or behind a host whose threads carry
//! out the server's requests.

use crate::array::SimulatedArray;
use crate::path::SimulatedHost;
use crate::storage::{HostFigures, Storage};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Command, Completion, Device, Submit, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::Array;
use tailcut_ssd::{Probe, Ssd};

/// A drive or an array, or a host with either.
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub enum Backing<P: Probe = ()> {
    /// A single drive.
    Drive(Ssd<P>),
    /// An array of drives.
    Array(SimulatedArray<P>),
    /// A host: each request is the work of one of its threads.
    Host(SimulatedHost<P>),
}

impl<P: Probe> Backing<P> {
    /// The drives, without the array or host in front of them.
    pub fn into_drives(self) -> Vec<Ssd<P>> {
        match self {
            Backing::Drive(drive) => vec![drive],
            Backing::Array(array) => array.into_drives(),
            Backing::Host(host) => host.into_drives(),
        }
    }
}

/// Asks whichever it is.
macro_rules! ask {
    ($backing:expr, $one:ident => $what:expr) => {
        match $backing {
            Backing::Drive($one) => $what,
            Backing::Array($one) => $what,
            Backing::Host($one) => $what,
        }
    };
}

impl<P: Probe> Device for Backing<P> {
    fn identify(&self) -> Identify {
        ask!(self, one => one.identify())
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        ask!(self, one => one.submit(now, command))
    }

    fn next_event(&self) -> Time {
        ask!(self, one => one.next_event())
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        ask!(self, one => one.advance(until, completions))
    }

    fn expect(&self, commands: &[Command]) -> u64 {
        ask!(self, one => one.expect(commands))
    }

    fn begin_counting(&mut self, now: Time) {
        ask!(self, one => one.begin_counting(now));
    }

    fn control(&mut self, now: Time, call: Control) -> ControlReply {
        ask!(self, one => one.control(now, call))
    }
}

impl<P: Probe> Storage for Backing<P> {
    type Probe = P;

    fn drives(&self) -> &[Ssd<P>] {
        ask!(self, one => Storage::drives(one))
    }

    fn array(&self) -> Option<&Array<Fingerprint>> {
        ask!(self, one => Storage::array(one))
    }

    fn checks_content(&self) -> bool {
        ask!(self, one => Storage::checks_content(one))
    }

    fn host_figures(&self) -> Option<HostFigures> {
        ask!(self, one => Storage::host_figures(one))
    }

    fn why_stuck(&self) -> String {
        ask!(self, one => Storage::why_stuck(one))
    }

    fn read_only(&self) -> Option<String> {
        ask!(self, one => Storage::read_only(one))
    }
}
