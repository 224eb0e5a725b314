//! What does not fit together in a scenario.

use super::Scenario;
use crate::array::Members;
use crate::array::incidents::{self, Incident};
use crate::path::ControllerKind;
use tailcut_base::{Nanos, Problem};
use tailcut_host::array;
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::path::{Strategy, ahci};

/// The request size of a key-value server's clients in the workload.
const ITEM: &str = "4KiB";

impl Scenario {
    /// What does not fit together of a key-value server, its clients and its storage: the key to blame, what
    /// is wrong and what would be right.
    pub(super) fn check_server(&self) -> Option<Problem> {
        if !self.kv.enabled {
            return None;
        }
        if !self.is_synthetic() {
            let message = "clients of a server do what [workload] says: run no trace, job file, data-centre \
                           workload or store, or set kv.enabled = false";
            return Some(Problem::new("kv.enabled", message));
        }
        if [&self.workload.read_size, &self.workload.write_size].iter().any(|size| *size != ITEM) {
            let message = format!(
                "each request is for one item, of {ITEM}: set workload.read_size and workload.write_size so; \
                 kv.value is the size of items"
            );
            return Some(Problem::new("kv.enabled", message));
        }
        if self.host.is_on() && self.array.drives == 0 && self.host.drives > 1 {
            let message = "a server (kv.enabled) keeps its items on one disk: set host.drives = 1, or make \
                           an array of the drives (array.drives)";
            return Some(Problem::new("host.drives", message));
        }
        None
    }

    /// What does not fit together of a drive's sets and its array: the key to blame, what is wrong and what
    /// would be right.
    pub fn check_sets(&self) -> Option<Problem> {
        let (sets, drives) = (self.device.sets.count, self.array.drives);
        // Two members are too few for the parity that an array has by default.
        let comma = if sets == 2 { "," } else { "" };
        let layout = if sets == 2 { " and array.layout = \"raid0\" (two carry no parity)" } else { "" };
        match self.array.members {
            array::Members::Sets if sets == 1 => Some(Problem::new(
                "array.members",
                "the drive is one set: raise device.sets.count and set array.drives to the same number, or \
                 set array.members = \"drives\"",
            )),
            array::Members::Sets if drives == 0 => Some(Problem::new(
                "array.members",
                format!(
                    "sets without an array: set array.drives = {sets}, the number of sets{comma}{layout}, or \
                     array.members = \"drives\""
                ),
            )),
            array::Members::Sets if drives != sets => Some(Problem::new(
                "array.drives",
                format!(
                    "the members are the sets of one drive, of which there are {sets} (device.sets.count): \
                     set array.drives = {sets}{layout}, or array.members = \"drives\""
                ),
            )),
            array::Members::Drives if sets > 1 => Some(Problem::new(
                "device.sets.count",
                format!(
                    "the sets of a drive are used as the members of an array: set array.members = \"sets\" \
                     and array.drives = {sets}{layout}, or device.sets.count = 1"
                ),
            )),
            _ => None,
        }
    }

    /// What does not fit together of a host and its array: the key to blame, what is wrong and what would be
    /// right.
    pub fn check_host_of_array(&self) -> Option<Problem> {
        let strategy = self.host.is_on().then(|| Strategy::parse(&self.host.strategy).ok()).flatten()?;
        if self.array.drives == 0 {
            return None;
        }
        if self.host.drives > 1 {
            let message =
                "array.drives says how many drives there are: set host.drives = 1, or array.drives = 0";
            return Some(Problem::new("host.drives", message));
        }
        if !strategy.interrupts && !strategy.has_poll_thread {
            let message = format!(
                "an array has requests of its own, for which no thread of \"{}\" looks: add \"poll\" or use \
                 a strategy with interrupts, or set array.drives = 0",
                self.host.strategy
            );
            return Some(Problem::new("host.strategy", message));
        }
        let drives = Members::drives(&self.array);
        if self.host.controller == ControllerKind::Ahci && drives > ahci::PORTS {
            let message = format!(
                "an AHCI controller has {} ports, and array.drives = {drives}: use fewer drives, or \
                 host.controller = \"nvme\"",
                ahci::PORTS
            );
            return Some(Problem::new("host.controller", message));
        }
        None
    }

    /// What keeps the incidents of an array from happening: the key to blame, what is wrong and what would be
    /// right.
    pub(super) fn check_incidents(&self) -> Option<Problem> {
        let schedule = incidents::parse(&self.incidents, self.array.drives).ok()?;
        if schedule.is_empty() {
            return None;
        }
        let problem = |message: &str| Some(Problem::new("array.incidents", message));
        if self.host.is_on() || self.kv.enabled {
            return problem(
                "they happen to an array that the workload uses directly: leave host.strategy and kv.enabled \
                 at their defaults, or array.incidents empty",
            );
        }
        if self.array.members == array::Members::Sets {
            return problem(
                "they happen to whole drives, and the members are sets of one: set array.members = \"drives\"",
            );
        }
        let loses = |&(_, incident): &(Nanos, Incident)| matches!(incident, Incident::Remove(_));
        if !self.array.layout.is_redundant() && schedule.iter().any(loses) {
            return Some(Problem::new(
                "array.incidents",
                format!(
                    "{} cannot do without a drive: choose a layout with parity or copies (array.layout), or \
                     remove none",
                    self.array.layout
                ),
            ));
        }
        None
    }

    /// What does not fit together of epochs that control collection and drives that cannot be told.
    pub(super) fn check_control(&self) -> Option<Problem> {
        let has_tokens = self.array.layout.is_mirrored() || self.array.log.tokens;
        let is_controlled =
            self.array.drives > 0 && has_tokens && self.array.epoch.mode == EpochMode::GcControl;
        (is_controlled && !self.device.control_api).then(|| {
            let message = "drives without the control interface (device.control_api = false) cannot be told \
                           when to collect: set array.epoch.mode = \"epoch\", or device.control_api = true";
            Problem::new("array.epoch.mode", message)
        })
    }
}
