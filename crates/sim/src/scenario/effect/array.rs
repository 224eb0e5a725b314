//! Keys of an array that have no effect, because of other keys of it, and keys of drives that only arrays
//! use.

use super::{Ineffective, add};
use crate::array::incidents::{self, Incident};
use crate::scenario::Scenario;
use tailcut_base::Nanos;
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{InPlaceChecksums, LayoutKind, ReadPolicy};

impl Scenario {
    /// Keys of layouts that the array does not have.
    pub(super) fn add_idle_layouts(&self, found: &mut Vec<Ineffective>) {
        self.add_idle_control(found);
        let array = &self.array;
        if array.drives == 0 {
            return;
        }
        self.add_idle_redundancy(found);
        let layout = array.layout;
        let is_raid = matches!(layout, LayoutKind::Raid0 | LayoutKind::Raid4 | LayoutKind::Raid5);
        let sections = [
            (is_raid, "array.raid", "raid0, raid4 and raid5"),
            (!is_raid && !layout.is_mirrored(), "array.log", "layouts that write a log"),
            (layout.is_mirrored(), "array.epoch", "epochs"),
        ];
        for (is_there, path, whose) in sections {
            if !is_there {
                let because = format!("the array is {layout} (array.layout), and these are keys of {whose}");
                found.push(Ineffective { path: path.into(), except: &[], because });
            }
        }
    }

    /// Keys of redundancy, of checksums and of work in the background that the array does not have.
    fn add_idle_redundancy(&self, found: &mut Vec<Ineffective>) {
        let array = &self.array;
        let layout = array.layout;
        let works =
            |&(_, incident): &(Nanos, Incident)| matches!(incident, Incident::Return(_) | Incident::Scrub);
        let schedule = incidents::parse(&self.incidents, array.drives).unwrap_or_default();
        if !schedule.iter().any(works) {
            let because = "nothing is rebuilt or scrubbed: let a drive return, or a scrub begin \
                           (array.incidents)";
            add(found, "array", &["background_rate"], because);
        }
        if !layout.is_redundant() {
            let because = format!("{layout} cannot do without a drive (array.layout)");
            add(found, "array", &["reads", "slow_after"], &because);
        }
        let is_raid = matches!(layout, LayoutKind::Raid4 | LayoutKind::Raid5);
        if is_raid && array.reads == ReadPolicy::AroundCollection && array.turns == Nanos::ZERO {
            let because = "the array does not know when its drives collect: set array.turns";
            add(found, "array", &["reads"], because);
        }
        if layout.is_mirrored() && array.reads == ReadPolicy::AroundCollection {
            let because =
                "reads of epochs go to a copy whose drive does not have the token, whatever this is";
            add(found, "array", &["reads"], because);
        }
        if array.turns == Nanos::ZERO {
            add(found, "array", &["turn_pause"], "drives do not take turns (array.turns)");
        }
        if layout == LayoutKind::Raid0 {
            let because = "raid0 has no parity to keep in step (array.layout)";
            add(found, "array.raid", &["write_hole", "journal", "journal_always"], because);
        }
        if array.checksums == InPlaceChecksums::Off {
            let because = "array.checksums is \"off\": set it to \"on\"";
            add(found, "array", &["checksums_idle"], because);
        }
    }

    /// The control interface of drives, where nothing calls it.
    fn add_idle_control(&self, found: &mut Vec<Ineffective>) {
        let array = &self.array;
        let has_tokens = array.layout.is_mirrored() || array.log.tokens;
        let is_told = has_tokens && array.epoch.mode == EpochMode::GcControl;
        if has_tokens && !is_told {
            let because = "drives are polled only under array.epoch.mode = \"gc-control\"";
            add(found, "array.epoch", &["poll"], because);
        }
        if array.drives == 0 || !(is_told || array.turns > Nanos::ZERO) {
            let because = "nothing calls the control interface: set array.turns, or array.epoch.mode = \
                           \"gc-control\" with array.layout = \"epochs\" or array.log.tokens = true";
            add(found, "device", &["control_api"], because);
            let gc = &self.device.gc;
            // A mark that is as low as it can be was raised with the other one.
            if !gc.background && gc.high > gc.low {
                let because = "nothing collects up to the high mark: set device.gc.background = true";
                add(found, "device.gc", &["high"], because);
            }
        }
    }

    /// True if reads ask a drive to fail rather than wait: those of an array that can do without the drive.
    pub(super) fn asks_to_fail_fast(&self) -> bool {
        let array = &self.array;
        array.drives > 0 && array.reads == ReadPolicy::FailFast && array.layout.is_redundant()
    }
}
