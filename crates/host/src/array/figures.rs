//! Figures of an array, by layout.

use super::log::{Collected, LogFigures, RecoveryReport, ScrubReport};
use super::raid::{MismatchPlace, MismatchPlaces};
use super::token_scheduling::{EpochFigures, StageTimes, Tokens};
use super::{Array, DriveId, Kind, epoch, raid};
use crate::Block;
use std::fmt;
use tailcut_base::Time;

/// Progress and findings of the current or the last scrub. Shown as
/// `3 damaged blocks rewritten, 0 beyond repair, 1 mismatches`: damaged blocks are wrong or unreadable;
/// mismatches are stripes whose parity, or blocks whose copies differed although no block of them is known to
/// be damaged. They have been made to agree, except two copies on drives without protection information. The
/// first of them are named by one block that takes part, which need not be the wrong one. What could not be
/// compared because a member is missing is reported as not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrub {
    is_running: bool,
    progress: Option<u32>,
    repaired: u64,
    unrepairable: u64,
    mismatches: u64,
    places: MismatchPlaces,
    compared: u64,
    not_compared: u64,
}

impl Scrub {
    /// True while a scrub is in progress.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Progress in parts per million while it runs; `None` if the layout does not report it.
    pub fn progress(&self) -> Option<u32> {
        self.progress
    }
}

impl fmt::Display for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scrub { repaired, unrepairable, mismatches, .. } = self;
        write!(f, "{repaired} damaged blocks rewritten, {unrepairable} beyond repair, ")?;
        if self.compared == 0 && self.not_compared > 0 {
            return f.write_str("mismatches not checked: a member is missing");
        }
        write!(f, "{mismatches} mismatches")?;
        for (number, MismatchPlace { member, block }) in self.places.iter().enumerate() {
            let before = match number {
                0 => "; which member is wrong is not known (first seen with",
                _ => ",",
            };
            write!(f, "{before} block {block} of member {member}")?;
        }
        f.write_str(if self.places.iter().next().is_some() { ")" } else { "" })?;
        if self.not_compared > 0 {
            let of = self.compared + self.not_compared;
            write!(f, "; {} of {of} rows not checked: a member is missing", self.not_compared)?;
        }
        Ok(())
    }
}

impl<B: Block> Array<B> {
    /// The current or the last scrub; without findings before the first.
    pub fn scrub_status(&self) -> Scrub {
        let (progress, report) = match &self.layout {
            Kind::Raid(raid) => (raid.progress(raid::Task::Scrub), raid.scrub_report()),
            Kind::Epochs(epochs) => (epochs.progress(epoch::Task::Scrub), epochs.scrub_report()),
            Kind::Log(log) => {
                let ScrubReport { repaired, parities, unreadable, .. } = log.scrub_report();
                let (is_running, progress) = (log.is_scrubbing(), None);
                return Scrub {
                    is_running,
                    progress,
                    repaired,
                    unrepairable: unreadable,
                    mismatches: parities,
                    ..Scrub::default()
                };
            }
        };
        Scrub {
            is_running: progress.is_some(),
            progress,
            repaired: report.repaired,
            unrepairable: report.unrepairable,
            mismatches: report.parity_mismatches,
            places: report.mismatch_places,
            compared: report.compared,
            not_compared: report.not_compared,
        }
    }

    /// Figures of the log; `None` for layouts without one.
    pub fn log_figures(&self) -> Option<LogFigures> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.figures()),
        }
    }

    /// Rows of the log collected since the caller last drained the list, in order of collection; at most
    /// 4096, later ones are dropped. `None` for layouts without a log.
    pub fn log_collected(&mut self) -> Option<&mut Vec<Collected>> {
        match &mut self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.recent()),
        }
    }

    /// Result of the log's recovery; `None` for layouts without a log and for new arrays.
    pub fn recovery_report(&self) -> Option<RecoveryReport> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => log.recovery_report(),
        }
    }

    /// Findings of the log's scrub so far; `None` for layouts without a log.
    pub fn log_scrub(&self) -> Option<ScrubReport> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.scrub_report()),
        }
    }

    /// Figures of the epochs since they were last reset; `None` for layouts without tokens.
    pub fn epoch_figures(&self) -> Option<EpochFigures> {
        self.all_epoch_figures().map(|figures| figures.since(&self.epochs_before))
    }

    /// Resets the figures of the epochs at the end of preparation.
    pub fn count_epochs_anew(&mut self) {
        let Some(figures) = self.all_epoch_figures() else { return };
        self.epochs_before = figures;
        match &mut self.layout {
            Kind::Epochs(epochs) => epochs.forget_longest(),
            Kind::Log(_) => self.core.tokens.iter_mut().for_each(Tokens::forget_longest),
            Kind::Raid(_) => {}
        }
    }

    /// Time that a drive has spent in each stage of its epochs until `now`; `None` without tokens.
    pub fn stage_times(&self, now: Time, drive: DriveId) -> Option<StageTimes> {
        match &self.layout {
            Kind::Epochs(epochs) => Some(epochs.stage_times(now, drive)),
            Kind::Log(_) | Kind::Raid(_) => {
                self.core.tokens.as_ref().map(|_| self.core.drives.gate(drive).progress.times_until(now))
            }
        }
    }

    fn all_epoch_figures(&self) -> Option<EpochFigures> {
        match &self.layout {
            Kind::Epochs(epochs) => Some(epochs.figures()),
            Kind::Log(log) => log.epoch_figures(&self.core),
            Kind::Raid(_) => None,
        }
    }
}
