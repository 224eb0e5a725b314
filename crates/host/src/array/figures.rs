//! Figures of an array, by layout.

use super::log::{Collected, LogFigures, RecoveryReport, ScrubReport};
use super::token_scheduling::{EpochFigures, StageTimes, Tokens};
use super::{Array, DriveId, Kind};
use crate::Block;
use tailcut_base::Time;

impl<B: Block> Array<B> {
    /// Figures of the log; `None` for layouts without one.
    pub fn log_figures(&self) -> Option<LogFigures> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.figures()),
        }
    }

    /// Rows of the log collected since the caller last drained the list, in order of collection; at most 4096,
    /// later ones are dropped. `None` for layouts without a log.
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
