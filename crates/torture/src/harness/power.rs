//! The power: how it goes, what is opened when it is back, and when that is ready.

use super::{End, Harness};
use crate::history::History;
use crate::mutated::Mutated;
use crate::plan::{KvKeep, SubjectKind};
use crate::subject::{Subject, SubjectHealth};
use crate::tally::Reached;
use crate::wrong::{Violation, ViolationKind};
use tailcut_base::Nanos;
use tailcut_host::Disk;

impl<'r, S: Subject> Harness<'r, S> {
    /// The power goes and comes back.
    pub(crate) fn cut(&mut self) {
        self.count_cut();
        let is_sound = self.is_sound();
        self.power_off();
        self.change_members(is_sound);
        self.open(self.there());
    }

    fn count_cut(&mut self) {
        self.tally.cuts += 1;
        let (is_loaded, is_at_rest) = (!self.pending.is_empty(), self.is_at_rest());
        self.has_unchecked |= !is_at_rest;
        self.tally.reach(Reached::CutUnderLoad, u64::from(is_loaded));
        self.tally.reach(Reached::CutAtRest, u64::from(is_at_rest));
        self.tally.reach(Reached::CutInRecovery, u64::from(!self.is_ready));
        if self.is_ready
            && let SubjectHealth::Degraded { missing, rebuilding } = self.subject.inner().health()
        {
            self.tally.reach(Reached::CutDegraded, u64::from(!missing.is_empty()));
            self.tally.reach(Reached::CutInRebuild, u64::from(!rebuilding.is_empty()));
        }
        self.count_findings();
    }

    pub(crate) fn power_off(&mut self) {
        let cut = self.tally.cuts;
        self.trace(|| format!("power cut {cut}"));
        self.digest_counts();
        self.fuse.pop_front();
        self.events_before = self.events;
        self.due.clear();
        self.pending.clear();
        self.history.power_cut();
        let back = self.now + POWER_AWAY;
        for drive in &mut self.drives {
            drive.power_off(&mut self.tally);
            drive.power_on(back);
        }
        (self.is_ready, self.is_scrubbing, self.read_in_recovery) = (false, false, 0);
    }

    /// Opens from these drives, which are found in some order.
    pub(crate) fn open(&mut self, mut there: Vec<usize>) {
        self.opened.clone_from(&there);
        let turn = self.random.below(there.len().max(1) as u64) as usize;
        there.rotate_left(turn);
        let disks: Vec<(usize, Disk)> =
            there.iter().map(|&drive| (drive, self.drives[drive].disk())).collect();
        self.trace(|| format!("power on with drives {there:?}"));
        self.now += POWER_AWAY;
        self.subject = Mutated::new(S::open(self.now, self.plan, &disks), self.mutant);
    }

    /// What becomes of an opening; true if another one has begun.
    pub(super) fn note_state(&mut self) -> Result<bool, End> {
        if let Some(why) = self.subject.inner().refused() {
            if self.is_lost {
                return Err(End::Over);
            }
            if self.restore_sizes() || self.refused_as_promised() || self.retry_after_failed_write() {
                return Ok(true);
            }
            return Err(End::Wrong(Violation { kind: ViolationKind::NotOpened, message: why }));
        }
        if !self.is_ready && self.subject.inner().is_ready() {
            self.is_ready = true;
            self.ready()?;
        }
        Ok(false)
    }

    /// Drives that have shrunk get their size back, and what they are part of is opened again; false if none
    /// has.
    fn restore_sizes(&mut self) -> bool {
        let shrunk: Vec<usize> =
            (0..self.drives.len()).filter(|&drive| self.drives[drive].restore_size()).collect();
        if shrunk.is_empty() {
            return false;
        }
        self.trace(|| format!("refused: drives {shrunk:?} get their size back"));
        self.tally.reach(Reached::ShrunkRefused, 1);
        let there = self.opened.clone();
        self.open(there);
        true
    }

    /// A store may refuse to open when a write of the opening finds no room, or on a drive by itself fails:
    /// the power is cut, and the next opening has to succeed. False if no write has failed since the power
    /// came on.
    fn retry_after_failed_write(&mut self) -> bool {
        let has_failed = match self.plan.has_array {
            true => self.now <= self.full_until,
            false => self.drives[0].has_failed_write(),
        };
        if self.plan.subject != SubjectKind::Kv || !has_failed {
            return false;
        }
        self.trace(|| "refused: a write of the opening has failed".into());
        self.cut();
        true
    }

    fn ready(&mut self) -> Result<(), End> {
        let blocks = self.subject.inner().disk().blocks;
        let health = self.subject.inner().health();
        self.trace(|| format!("ready: {blocks} blocks, {health}"));
        if self.tally.cuts == 0 {
            let history = History::new(blocks);
            self.history = if S::KEEPS_ORDER { history.in_order() } else { history };
            if self.plan.subject == SubjectKind::Kv && self.plan.keep != KvKeep::Store {
                self.history.let_misses();
            }
            return Ok(());
        }
        self.tally.longest_recovery = self.tally.longest_recovery.max(self.read_in_recovery);
        self.tally.reach(Reached::Recovered, 1);
        self.tally.reach(Reached::RecoveredDegraded, u64::from(health != SubjectHealth::Whole));
        let stale = self.subject.inner().stale();
        let refused = self.pulled.iter().filter(|drive| stale.contains(drive)).count();
        let taken = self.pulled.len() - refused;
        self.tally.reach(Reached::StaleRefused, refused as u64);
        self.tally.reach(Reached::ReturnTaken, taken as u64);
        self.pulled.clear();
        self.members_ready()
    }
}

/// How long the power is away.
const POWER_AWAY: Nanos = Nanos::millis(1);
