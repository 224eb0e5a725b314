//! What an array did, layout by layout.

use super::heavy::{EpochFigures, StageTimes, Tokens};
use super::log::{Collected, LogFigures, RecoveryReport, ScrubReport};
use super::{Array, DriveId, Kind};
use crate::Block;
use tailcut_base::Time;

impl<B: Block> Array<B> {
    /// What its log did, if it writes one.
    pub fn log_figures(&self) -> Option<LogFigures> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.figures()),
        }
    }

    /// The rows of its log that were collected, in order, to be emptied by whoever draws a curve of
    /// them; of more than 4096 the later ones are left out.
    pub fn log_collected(&mut self) -> Option<&mut Vec<Collected>> {
        match &mut self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.recent()),
        }
    }

    /// What the recovery of its log did, if it writes one and was opened.
    pub fn recovery_report(&self) -> Option<RecoveryReport> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => log.recovery_report(),
        }
    }

    /// What scrubbing of its log has found, if it writes one.
    pub fn log_scrub(&self) -> Option<ScrubReport> {
        match &self.layout {
            Kind::Raid(_) | Kind::Epochs(_) => None,
            Kind::Log(log) => Some(log.scrub_report()),
        }
    }

    /// What its epochs did, if it has any.
    pub fn epoch_figures(&self) -> Option<EpochFigures> {
        self.all_epoch_figures().map(|figures| figures.since(&self.epochs_before))
    }

    /// What epochs did counts from now on: until now the array was prepared.
    pub fn count_epochs_anew(&mut self) {
        let Some(figures) = self.all_epoch_figures() else { return };
        self.epochs_before = figures;
        match &mut self.layout {
            Kind::Epochs(epochs) => epochs.forget_longest(),
            Kind::Log(_) => self.core.tokens.iter_mut().for_each(Tokens::forget_longest),
            Kind::Raid(_) => {}
        }
    }

    /// What a drive did with its token until `now`, for timelines; none where drives have no tokens.
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
