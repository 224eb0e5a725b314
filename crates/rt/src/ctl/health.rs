//! Health of a drive in service, for its operator.

use crate::{AnyDrive, Drive, ServedArray};
use std::fmt::Write;
use tailcut_host::array::drives::Presence;
use tailcut_host::array::reads::{DriveFaults, ReadCounts};
use tailcut_host::array::{Condition, Scrub};
use tailcut_host::wire::memcached::reply::{stat, stat_number};

/// Health of a drive: whether it accepts writes, and the state of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// None if the drive is not an array.
    pub array: Option<ArrayHealth>,
    /// Why the drive accepts no more writes; `None` if it does. See [`Drive::failure`].
    pub failure: Option<String>,
}

/// Health of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayHealth {
    /// Condition of the array as a whole.
    pub condition: Condition,
    /// Progress of a rebuild in parts per million, if the layout reports it.
    rebuilt: Option<u32>,
    /// The last scrub, with its number from 1; `None` before the first, and while one is running.
    scrubbed: Option<(u64, Scrub)>,
    /// Members whose new drives are being erased, before they are rebuilt.
    erasing: Vec<usize>,
    /// State of each member, and the faults of its reads.
    pub members: Vec<(Presence, DriveFaults)>,
    /// Reads of blocks of drives, by how they were served, since the array was opened.
    pub reads: ReadCounts,
}

impl Health {
    /// The health of any drive, with that of its members if it is an array.
    pub fn of(drive: &AnyDrive) -> Health {
        let array = match drive {
            AnyDrive::Array(array, _) => Some(ArrayHealth::of(array)),
            _ => None,
        };
        Health { array, ..Health::of_single(drive) }
    }

    /// Health of a drive that is not an array.
    pub fn of_single(drive: &impl Drive) -> Health {
        Health { array: None, failure: drive.failure().map(String::from) }
    }

    /// Appends lines of memcached's `stats`, under our own names.
    pub fn write(&self, out: &mut Vec<u8>) {
        stat_number(out, "drive_failed", u64::from(self.failure.is_some()));
        if let Some(why) = &self.failure {
            stat(out, "drive_failed_because", why);
        }
        if let Some(array) = &self.array {
            array.write(out);
        }
    }
}

impl ArrayHealth {
    /// Health of an array that is not being rebuilt, without reads.
    #[cfg(test)]
    pub(crate) fn at_rest(condition: Condition, members: Vec<(Presence, DriveFaults)>) -> ArrayHealth {
        let (erasing, reads) = (Vec::new(), ReadCounts::default());
        ArrayHealth { condition, rebuilt: None, scrubbed: None, erasing, members, reads }
    }

    /// The same after this many scrubs.
    #[cfg(test)]
    pub(crate) fn after_scrubs(self, count: u64) -> ArrayHealth {
        ArrayHealth { scrubbed: Some((count, Scrub::default())), ..self }
    }

    /// The condition of an array, its members and its maintenance.
    pub fn of<D: Drive>(array: &ServedArray<D>) -> ArrayHealth {
        let status = array.status();
        let core = array.array().core();
        let member = |member| (core.drives.presence(member), core.reads.faults(member));
        ArrayHealth {
            condition: status.condition,
            rebuilt: status.rebuilt,
            scrubbed: status.scrub.filter(|(_, scrub)| !scrub.is_running()),
            erasing: array.erasing().map(|(member, _)| member).collect(),
            members: core.drives.ids().map(member).collect(),
            reads: *core.reads.counts(),
        }
    }

    /// The result of the last scrub, if it has ended since `before`.
    pub fn new_scrub(&self, before: &ArrayHealth) -> Option<Scrub> {
        let number = |health: &ArrayHealth| health.scrubbed.map(|(number, _)| number);
        self.scrubbed.filter(|_| number(self) != number(before)).map(|(_, scrub)| scrub)
    }

    fn write(&self, out: &mut Vec<u8>) {
        stat(out, "array_condition", condition_name(&self.condition));
        if let Condition::Failed { why } = &self.condition {
            stat(out, "array_failed_because", why);
        }
        if let Some(ppm) = self.rebuilt {
            let mut percent = String::new();
            write!(percent, "{}.{}", ppm / 10_000, ppm / 1000 % 10).expect("a text takes all");
            stat(out, "array_rebuild_percent", &percent);
        }
        let reads = &self.reads;
        for (name, count) in [
            ("array_reads", reads.begun),
            ("array_reads_reconstructed", reads.degraded),
            ("array_reads_steered", reads.steered + reads.contended),
            ("array_reads_slow", reads.hedged),
            ("array_reads_corrupt", reads.corrupt),
            ("array_reads_lost", reads.lost),
            ("array_blocks_repaired", reads.repaired),
        ] {
            stat_number(out, name, count);
        }
        for (number, (presence, faults)) in self.members.iter().enumerate() {
            let is_erased = self.erasing.contains(&number);
            let state = if is_erased { "erasing" } else { presence_name(*presence) };
            stat(out, &format!("drive_{number}_state"), state);
            for (what, count) in [
                ("read_errors", faults.errors),
                ("corrupt_reads", faults.corrupt),
                ("slow_reads", faults.slow),
            ] {
                stat_number(out, &format!("drive_{number}_{what}"), count);
            }
        }
    }
}

/// The condition as one word.
pub(super) fn condition_name(condition: &Condition) -> &'static str {
    match condition {
        Condition::Optimal => "optimal",
        Condition::Degraded { .. } => "degraded",
        Condition::Failed { .. } => "failed",
    }
}

/// The state of a member as one word.
pub fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::InSync => "serves",
        Presence::Rebuilding => "rebuilding",
        Presence::Missing => "missing",
    }
}
