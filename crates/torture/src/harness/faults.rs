//! What goes wrong with drives, what may, and what is done about it.

use super::{End, Harness};
use crate::drive::{Drive, Health};
use crate::fault::{Fault, FaultKind};
use crate::plan::SubjectKind;
use crate::seeds::is_possible;
use crate::subject::{Subject, SubjectHealth};
use crate::tally::Reached;
use tailcut_host::array::raid::WriteHole;

impl<'r, S: Subject> Harness<'r, S> {
    /// Something goes wrong with a drive, if the fault model allows it now.
    pub(crate) fn fault(&mut self, fault: &Fault) {
        use FaultKind::*;
        self.judge();
        let drive = fault.drive as usize % self.drives.len();
        let fault = Fault { drive: drive as u32, ..*fault };
        let fault = match fault.kind {
            // The other one is all that a store has left.
            CorruptSuperblock => Fault { pick: self.plan.seed as u32, ..fault },
            _ => fault,
        };
        if matches!(fault.kind, Return | Halves) {
            return self.will_change_members(&fault);
        }
        let struck = self.drives[drive].target(&fault);
        if !self.allows(&fault)
            || !self.damages_another_segment(&fault)
            || !self.drives[drive].fault(&fault, &mut self.tally)
        {
            return;
        }
        if fault.kind == Twin {
            self.strike_twin(&fault);
        }
        if fault.kind == Full {
            self.strike_full(&fault);
        }
        if let Some(block) = struck.filter(|_| self.is_damage_to_store(&fault)) {
            // What else of its segment is struck is known by the head as it is now.
            let segment = self.segment_of(&self.drives[drive], block);
            self.damaged_segments.push(segment);
        }
        self.trace(|| match struck {
            Some(block) if matches!(fault.kind, Flip | Unreadable | Corrupt) => {
                format!("fault: {fault} (block {block})")
            }
            _ => format!("fault: {fault}"),
        });
        self.tally.fault(fault.kind);
        if fault.kind == Pull {
            self.pulled.push(drive);
        }
        self.suspect[drive] |= !matches!(fault.kind, Slow | SlowSuperblock | Grow | Shrink | Full);
        self.scarred[drive] |=
            matches!(fault.kind, Flip | Twin | Unreadable | FailWrite | FailFlush | Misdirect | Corrupt);
        // A scrub may have seen the block already.
        self.armed_at_scrub[drive] |= self.is_scrubbing && self.scarred[drive];
        self.is_scrub_in_vain &= !self.scarred[drive];
        if fault.kind == Misdirect && !self.config.layout.has_parity() {
            self.history.let_be_stale();
        }
        if !self.config.layout.is_redundant() {
            self.reads_may_fail |=
                matches!(fault.kind, Kill | Pull | Flip | Unreadable | FailWrite | Misdirect | Corrupt);
            self.writes_may_fail |= matches!(fault.kind, Kill | Pull | FailWrite | FailFlush | ReadOnly);
            self.is_lost |= matches!(fault.kind, Kill | Pull);
            if self.writes_may_fail {
                self.history.let_writes_fail();
            }
            self.note_damage_above(fault.kind);
        }
    }

    /// True when two copies cannot be told apart by checksums: a scrub leaves them as they are, and only
    /// the store above them makes them equal.
    pub(crate) fn keeps_damage(&self) -> bool {
        let has_checksums = self.plan.sealed || self.config.has_checksums_in_place();
        self.config.layout.is_mirrored() && !has_checksums && self.scarred.contains(&true)
    }

    /// A drive with such damage.
    pub(crate) fn damaged_for_good(&self) -> Option<usize> {
        self.scarred.iter().position(|&is_scarred| is_scarred).filter(|_| self.keeps_damage())
    }

    /// Another drive of the group has a fault, too. From now on errors are right, other data is not.
    fn strike_twin(&mut self, fault: &Fault) {
        let (drive, width) = (fault.drive as usize, self.config.width());
        let other = drive / width * width + (drive % width + 1 + fault.pick as usize % (width - 1)) % width;
        let twin = Fault { drive: other as u32, pick: fault.pick.rotate_left(7), ..*fault };
        self.drives[other].fault(&twin, &mut self.tally);
        (self.suspect[other], self.scarred[other], self.is_beyond_repair) = (true, true, true);
        (self.reads_may_fail, self.writes_may_fail) = (true, true);
        self.history.let_writes_fail();
    }

    /// The file system of this drive is full, or that of all of them.
    fn strike_full(&mut self, fault: &Fault) {
        self.history.let_writes_fail();
        if fault.pick.is_multiple_of(2) {
            for drive in &mut self.drives {
                drive.fault(fault, &mut self.tally);
            }
        }
    }

    fn allows(&self, fault: &Fault) -> bool {
        let drive = fault.drive as usize;
        if !self.concerns_subject(fault.kind) {
            return false;
        }
        if matches!(fault.kind, FaultKind::Slow | FaultKind::SlowSuperblock) {
            return true;
        }
        if !self.config.layout.is_redundant() && self.fails_refused_writes(fault.kind) {
            return false;
        }
        if fault.kind == FaultKind::Full {
            return true;
        }
        if self.members.are_parted() && !matches!(fault.kind, FaultKind::Grow | FaultKind::Shrink) {
            return false;
        }
        if matches!(fault.kind, FaultKind::Grow | FaultKind::Shrink) {
            return true;
        }
        // No block has two copies that are damaged.
        let is_same = self.scarred[drive] && matches!(fault.kind, FaultKind::Flip | FaultKind::Corrupt);
        if self.keeps_damage() && !is_same && !matches!(fault.kind, FaultKind::Kill | FaultKind::Pull) {
            return false;
        }
        if self.is_beyond_repair {
            return false;
        }
        if self.is_resynced() && self.plan.cuts() > 0 {
            return false;
        }
        if self.is_unchecked(fault.kind) {
            return false;
        }
        if !is_possible(fault.kind, self.config.layout) || self.drives[drive].health() != Health::Well {
            return false;
        }
        let width = self.config.width();
        let group = drive / width * width..drive / width * width + width;
        let others = group.into_iter().filter(|&other| other != drive).any(|other| self.suspect[other]);
        !self.config.layout.is_redundant() || !others
    }

    /// Without redundancy, a write that has found no room and is refused for good afterwards shows its
    /// content before and not after.
    fn fails_refused_writes(&self, kind: FaultKind) -> bool {
        use FaultKind::*;
        match kind {
            Full => self.writes_may_fail || self.drives.iter().any(Drive::is_weak),
            Kill | Pull | FailWrite | FailFlush | ReadOnly => self.tally.faults(Full) > 0,
            _ => false,
        }
    }

    /// Checksums in place are only known for what was idle when the power went, or was written or scrubbed
    /// since: damage that nothing else shows comes after the last power cut, if that found everything idle.
    /// Without redundancy nothing mends it, and another fault could take the checksum. A write that lands
    /// elsewhere may land on a block that has never been written.
    fn is_unchecked(&self, kind: FaultKind) -> bool {
        let is_silent = matches!(kind, FaultKind::Flip | FaultKind::Twin);
        let has_cuts_left = self.tally.cuts < self.plan.cuts() as u64;
        let is_second = !self.config.layout.is_redundant() && self.scarred.contains(&true);
        let is_unchecked = is_silent && (self.has_unchecked || has_cuts_left);
        let is_misdirected = kind == FaultKind::Misdirect;
        self.config.has_checksums_in_place() && (is_second || is_unchecked || is_misdirected)
    }

    /// False if the segment of a store was damaged before. No single damaged block makes a store accept
    /// older data; two in one segment may, if they are its two ends, or the last durable data and the
    /// record of it.
    fn damages_another_segment(&mut self, fault: &Fault) -> bool {
        if !self.is_damage_to_store(fault) {
            return true;
        }
        if !self.subject.inner().can_write() {
            return false;
        }
        let Some(block) = self.drives[fault.drive as usize].target(fault) else { return false };
        let segment = self.segment_of(&self.drives[fault.drive as usize], block);
        let is_another = !self.damaged_segments.contains(&segment);
        self.damaged_segments.push(segment);
        is_another
    }

    /// Whether the fault strikes one block of a store on a drive by itself.
    fn is_damage_to_store(&self, fault: &Fault) -> bool {
        let is_of_block = matches!(fault.kind, FaultKind::Flip | FaultKind::Corrupt | FaultKind::Unreadable);
        self.plan.subject == SubjectKind::Kv && !self.plan.has_array && is_of_block
    }

    /// The segment of a store that a block is in: its number, and where its head has its sequence. An opening
    /// repairs the ends of a segment, and nothing else: damage lasts as long as the use of a segment.
    fn segment_of(&self, drive: &Drive, block: u64) -> (u64, u64) {
        let segment = block / u64::from(self.plan.kv_segment);
        let head = drive.content(segment * u64::from(self.plan.kv_segment));
        let sequence = head.and_then(|head| head.as_slice()[8..].first_chunk().copied());
        (segment, sequence.map_or(0, u64::from_le_bytes))
    }

    /// Whether the fault model of the subject knows this fault. Blocks of a drive by itself have no
    /// protection information: a key-value engine has checksums of its own, a block server nothing.
    pub(super) fn concerns_subject(&self, kind: FaultKind) -> bool {
        use FaultKind::*;
        match (self.plan.subject, self.plan.has_array) {
            (SubjectKind::Arrays, _) => !matches!(kind, Corrupt | CorruptSuperblock),
            (SubjectKind::Ssd, _) => matches!(kind, Slow | SlowSuperblock),
            (SubjectKind::Kv, true) if kind == Corrupt => {
                self.config.layout.is_mirrored() && !self.plan.sealed
            }
            (_, true) if matches!(kind, Corrupt | CorruptSuperblock) => false,
            (_, true) => {
                let is_misplaced = kind == Misdirect && !self.config.layout.is_redundant();
                !matches!(kind, Grow | Shrink | Twin | Halves) && !is_misplaced
            }
            (SubjectKind::Kv, false) if matches!(kind, Flip | Corrupt | CorruptSuperblock) => true,
            (_, false) => matches!(kind, Slow | SlowSuperblock | Kill | Unreadable | FailWrite | ReadOnly),
        }
    }

    /// What the only copy of a store's items loses is missed, or the store is not opened: a drive by itself
    /// keeps a flipped bit out of the store's superblocks, an array does not know which of its blocks they
    /// are. A write of a part of a block reads the rest.
    fn note_damage_above(&mut self, kind: FaultKind) {
        match self.plan.subject {
            SubjectKind::Kv
                if !matches!(kind, FaultKind::Slow | FaultKind::SlowSuperblock | FaultKind::Full) =>
            {
                self.history.let_misses();
                self.has_superblock_damage |= kind == FaultKind::CorruptSuperblock;
                let is_withstood = matches!(
                    kind,
                    FaultKind::Flip
                        | FaultKind::Corrupt
                        | FaultKind::CorruptSuperblock
                        | FaultKind::FailWrite
                );
                // A write that fails may be that of the other superblock.
                self.is_lost |= !is_withstood
                    || self.plan.has_array
                    || self.has_superblock_damage && self.writes_may_fail;
            }
            SubjectKind::Block if matches!(kind, FaultKind::Flip | FaultKind::Unreadable) => {
                self.writes_may_fail = true;
                self.history.let_writes_fail();
            }
            _ => {}
        }
    }

    /// A fault or a power cut can be borne, not both.
    pub(crate) fn is_resynced(&self) -> bool {
        let layout = self.config.layout;
        layout.has_parity() && layout.is_in_place() && self.config.raid.write_hole == WriteHole::Resync
    }

    /// Clears drives of suspicion, when the subject reports that it is whole and no damage is known that it
    /// cannot know.
    pub(crate) fn judge(&mut self) {
        if !self.is_ready || self.subject.inner().health() != SubjectHealth::Whole {
            return;
        }
        if std::mem::take(&mut self.is_rebuilding) {
            self.tally.reach(Reached::Rebuilt, 1);
        }
        self.members.are_succeeded();
        for (index, suspect) in self.suspect.iter_mut().enumerate() {
            let drive = &self.drives[index];
            let is_unsound = drive.is_armed() || drive.is_weak() || drive.health() != Health::Well;
            *suspect &= self.scarred[index] || is_unsound || self.members.is_returning(index);
        }
    }

    /// Blank drives take the places of those that the subject calls missing.
    pub(crate) fn replace(&mut self) -> Result<(), End> {
        while self.is_ready
            && let SubjectHealth::Degraded { missing, .. } = self.subject.inner().health()
            && let Some(&drive) = missing.first()
        {
            let life = self.tally.cuts;
            // What the old drive still has to answer is answered before it is taken out.
            self.until("rid of the old drive", |harness| {
                !harness.drives[drive].is_busy() || harness.tally.cuts != life
            })?;
            if self.tally.cuts != life {
                return Ok(());
            }
            let blank = self.blank(0);
            self.take_out(drive, blank);
            (self.suspect[drive], self.scarred[drive], self.is_rebuilding) = (true, false, true);
            self.pulled.retain(|&pulled| pulled != drive);
            self.tally.reach(Reached::Replaced, 1);
            self.trace(|| format!("drive {drive} is replaced"));
            self.subject.inner_mut().replace(self.now, drive, self.model.disk());
            self.hand_over()?;
        }
        Ok(())
    }

    /// Everything is to be compared, unless the subject has other worries.
    pub(crate) fn scrub(&mut self) -> Result<(), End> {
        if self.is_ready && self.subject.inner().health() == SubjectHealth::Whole {
            self.trace(|| String::from("scrub"));
            self.is_scrubbing = true;
            let may_hold_damage = self.drives.iter().any(|drive| drive.is_armed() || drive.is_weak());
            self.is_scrub_in_vain = !self.scarred.contains(&true) && !may_hold_damage;
            self.armed_at_scrub = self.drives.iter().map(Drive::is_armed).collect();
            self.subject.inner_mut().scrub(self.now);
            self.hand_over()?;
        }
        Ok(())
    }
}
