//! Which drives the array is opened from: a drive that was replaced may be back in the place of its
//! successor, and an array may be opened in two parts, one after the other and each without the drives of the
//! other.

use super::{End, Harness};
use crate::drive::{Drive, Health};
use crate::fault::{Fault, FaultKind};
use crate::history::History;
use crate::seeds::is_possible;
use crate::subject::{Subject, SubjectHealth};
use crate::tally::Reached;
use crate::wrong::{Violation, ViolationKind};
use tailcut_host::array::epoch::Declustering;

/// Drives that are not where the array was made with them, and what is to become of them.
#[derive(Default)]
pub(crate) struct Members {
    /// Drives that were taken out, in the order in which they were.
    removed: Vec<Removed>,
    /// `return`: what happens with the next power.
    returning: Vec<Fault>,
    returned: Vec<Returned>,
    /// `halves`: what happens with the next power.
    next_halves: Option<Fault>,
    halves: Option<Box<Halves>>,
    /// Drives of the part that was not kept: they are not there until others have taken their places.
    apart: Vec<usize>,
    /// The array was opened in parts once. A drive that was in it then never returns: where no drive of its
    /// part is left, it cannot be told from one of a part that has gone on.
    were_parted: bool,
}

/// A drive that was taken out.
struct Removed {
    place: usize,
    drive: Drive,
    is_scarred: bool,
    /// The array has been ready without it: it must never be taken for a member again.
    is_succeeded: bool,
    may_return: bool,
}

/// A drive that is back in the place of its successor.
struct Returned {
    place: usize,
    is_succeeded: bool,
}

/// An array in two parts.
struct Halves {
    parts: [Vec<usize>; 2],
    stage: Stage,
    ends: [PartEnd; 2],
    /// The content of each part that the host may see.
    lines: [History; 2],
    /// The part that is kept if the other one cannot be kept as well.
    kept: usize,
}

/// The drives that are opened.
#[derive(Clone, Copy)]
enum Stage {
    Part(usize),
    Whole,
    Kept,
}

/// How far a part has got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartEnd {
    /// Nothing of it was acknowledged; it may have written superblocks.
    Begun,
    /// Nothing was written to its drives.
    Refused,
    /// The part has accepted requests.
    Served,
}

impl Members {
    /// The drives that were taken out.
    pub(super) fn removed(&self) -> impl Iterator<Item = &Drive> {
        self.removed.iter().map(|removed| &removed.drive)
    }

    /// A drive comes back to this place with the next power.
    pub(super) fn is_returning(&self, place: usize) -> bool {
        self.returning.iter().any(|fault| fault.drive as usize == place)
    }

    /// One part of the array knows nothing of the other.
    pub(super) fn are_parted(&self) -> bool {
        self.halves.is_some()
    }

    /// The array has been whole without the drives that were taken out.
    pub(super) fn are_succeeded(&mut self) {
        self.removed.iter_mut().for_each(|removed| removed.is_succeeded = true);
    }

    /// Cancels the member faults planned for the next power-on.
    pub(crate) fn disarm(&mut self) {
        self.returning.clear();
        self.next_halves = None;
    }
}

impl Halves {
    /// Drives that are there now.
    fn opened(&self) -> Vec<usize> {
        match self.stage {
            Stage::Part(part) => self.parts[part].clone(),
            Stage::Whole => self.parts.concat(),
            Stage::Kept => self.parts[self.kept].clone(),
        }
    }

    /// Both parts have taken requests.
    fn have_diverged(&self) -> bool {
        self.ends == [PartEnd::Served; 2]
    }
}

impl<'r, S: Subject> Harness<'r, S> {
    /// A fault that strikes with the next power.
    pub(super) fn will_change_members(&mut self, fault: &Fault) {
        if !self.concerns_subject(fault.kind)
            || !is_possible(fault.kind, self.config.layout)
            || self.is_resynced()
        {
            return;
        }
        if fault.kind == FaultKind::Halves {
            self.members.next_halves = Some(*fault);
        } else if self.may_return(fault.drive as usize) {
            self.suspect[fault.drive as usize] = true;
            self.members.returning.push(*fault);
        } else {
            return;
        }
        self.trace(|| format!("fault with the next power: {fault}"));
    }

    /// There is a drive to come back, and what else is wrong in its group is that drives are gone: then the
    /// array is opened without all of these, or refused.
    fn may_return(&self, place: usize) -> bool {
        let members = &self.members;
        let has_one = members.removed.iter().any(|removed| removed.place == place && removed.may_return);
        let width = self.config.width();
        let mut others =
            (place / width * width..place / width * width + width).filter(|&other| other != place);
        let is_known = others.all(|other| !self.suspect[other] || !self.drives[other].is_there());
        // By itself a drive cannot know that it was replaced.
        let mut rest = (0..self.drives.len()).filter(|&other| other != place);
        let has_request_observer = rest.any(|other| self.drives[other].is_there());
        let is_free = !members.is_returning(place) && !members.are_parted() && !self.is_beyond_repair;
        has_one && is_known && has_request_observer && is_free
    }

    /// Another drive takes a place. Of an array in parts this chooses the part that is open: the other one is
    /// gone for good.
    pub(super) fn take_out(&mut self, place: usize, successor: Drive) {
        let drive = std::mem::replace(&mut self.drives[place], successor);
        let members = &mut self.members;
        if let Some(halves) = members.halves.take() {
            let open = halves.opened();
            members.apart = halves.parts.concat().into_iter().filter(|drive| !open.contains(drive)).collect();
        }
        members.apart.retain(|&apart| apart != place);
        members.returned.retain(|returned| returned.place != place);
        let may_return = !members.were_parted;
        let is_scarred = self.scarred[place];
        members.removed.push(Removed { place, drive, is_scarred, is_succeeded: false, may_return });
    }

    /// Nothing is wrong with the array or with any drive, so that it may be opened in parts.
    pub(super) fn is_sound(&mut self) -> bool {
        if self.members.next_halves.is_none() {
            return false;
        }
        self.judge();
        let members = &self.members;
        let is_whole = self.is_ready && self.subject.inner().health() == SubjectHealth::Whole;
        let may_fail = self.reads_may_fail || self.writes_may_fail || self.is_lost || self.is_beyond_repair;
        let are_members_here =
            members.returning.is_empty() && members.returned.is_empty() && members.apart.is_empty();
        let are_well = self.drives.iter().all(|drive| drive.health() == Health::Well);
        is_whole && !may_fail && are_members_here && are_well && !self.suspect.contains(&true)
    }

    /// Drives come and go while the power is away.
    pub(super) fn change_members(&mut self, is_sound: bool) {
        let next_halves = self.members.next_halves.take();
        if self.members.are_parted() {
            self.next_part();
        } else if let Some(fault) = next_halves.filter(|_| is_sound) {
            self.part(&fault);
        }
        for fault in std::mem::take(&mut self.members.returning) {
            self.put_back(&fault);
        }
    }

    /// The drives that the array is opened from.
    pub(super) fn there(&self) -> Vec<usize> {
        let members = &self.members;
        let all = (0..self.drives.len()).filter(|drive| !members.apart.contains(drive)).collect();
        let mut there = members.halves.as_ref().map_or(all, |halves| halves.opened());
        there.sort_unstable();
        there.retain(|&drive| self.drives[drive].is_there());
        there
    }

    /// A drive that was replaced is in its place again.
    fn put_back(&mut self, fault: &Fault) {
        let place = fault.drive as usize;
        let removed = &mut self.members.removed;
        let may_come = |index: &usize| removed[*index].place == place && removed[*index].may_return;
        let candidates: Vec<usize> = (0..removed.len()).filter(may_come).collect();
        let mut back = removed.remove(candidates[fault.pick as usize % candidates.len()]);
        back.drive.put_back(self.now, &mut self.tally);
        let drive = std::mem::replace(&mut self.drives[place], back.drive);
        let is_scarred = std::mem::replace(&mut self.scarred[place], back.is_scarred);
        removed.push(Removed { place, drive, is_scarred, is_succeeded: false, may_return: true });
        self.members.returned.push(Returned { place, is_succeeded: back.is_succeeded });
        self.pulled.retain(|&pulled| pulled != place);
        self.suspect[place] = true;
        self.tally.fault(FaultKind::Return);
        self.trace(|| format!("the drive that was replaced is back in place {place}"));
    }

    /// Drives that were replaced go again, and their successors are back.
    fn reattach(&mut self) {
        for Returned { place, .. } in std::mem::take(&mut self.members.returned) {
            let removed = &mut self.members.removed;
            let last = removed.iter().rposition(|removed| removed.place == place);
            let successor = removed.remove(last.expect("it was taken out when the other came back"));
            let drive = std::mem::replace(&mut self.drives[place], successor.drive);
            let is_scarred = std::mem::replace(&mut self.scarred[place], successor.is_scarred);
            removed.push(Removed { place, drive, is_scarred, is_succeeded: true, may_return: false });
            self.trace(|| format!("refused: the successor is back in place {place}"));
        }
    }

    /// The array is in two parts from now on: of the drives that hold the copies of a block some are in the
    /// first one.
    fn part(&mut self, fault: &Fault) {
        let count = self.drives.len();
        let copies = if self.config.layout.is_mirrored() { self.plan.copies as usize } else { 2 };
        let first = 1 + (fault.pick / 2) as usize % (copies - 1);
        let is_first = |&drive: &usize| (drive + count - fault.drive as usize) % count % copies < first;
        let (one, other): (Vec<usize>, Vec<usize>) = (0..count).partition(is_first);
        self.trace(|| format!("the array is in two parts: drives {one:?}, and drives {other:?}"));
        self.members.halves = Some(Box::new(Halves {
            parts: [one, other],
            stage: Stage::Part(0),
            ends: [PartEnd::Begun; 2],
            lines: [self.history.clone(), self.history.clone()],
            kept: fault.pick as usize % 2,
        }));
        self.members.were_parted = true;
        self.suspect.fill(true);
        self.tally.fault(FaultKind::Halves);
    }

    /// The other part comes after the first, and then both.
    fn next_part(&mut self) {
        let halves = self.members.halves.as_mut().expect("it is in parts");
        match halves.stage {
            Stage::Part(0) => {
                let other = halves.lines[1].apart_from(&self.history);
                halves.lines[0] = std::mem::replace(&mut self.history, other);
                halves.stage = Stage::Part(1);
            }
            Stage::Part(_) => {
                halves.lines[1].clone_from(&self.history);
                halves.stage = Stage::Whole;
                if halves.ends[1] != PartEnd::Served {
                    self.history = halves.lines[0].apart_from(&self.history);
                }
            }
            Stage::Whole | Stage::Kept => {}
        }
    }

    /// An opening was refused, and that was promised: the next one has begun.
    pub(super) fn refused_as_promised(&mut self) -> bool {
        let is_promised = match &self.members.halves {
            Some(halves) => match halves.stage {
                Stage::Part(part) => !self.can_serve(|drive| halves.parts[part].contains(&drive)),
                Stage::Whole => !halves.ends.contains(&PartEnd::Refused),
                Stage::Kept => false,
            },
            None => !self.members.returned.is_empty() && !self.can_serve(|drive| !self.suspect[drive]),
        };
        if !is_promised {
            return false;
        }
        if self.members.are_parted() {
            self.part_refused();
        } else {
            self.tally.reach(Reached::PredecessorRefused, 1);
            self.reattach();
        }
        self.open(self.there());
        true
    }

    fn part_refused(&mut self) {
        let halves = self.members.halves.as_mut().expect("it is in parts");
        let Stage::Part(part) = halves.stage else {
            let (kept, other) = (halves.kept, 1 - halves.kept);
            halves.stage = Stage::Kept;
            self.history = halves.lines[kept].apart_from(&halves.lines[other]);
            self.tally.reach(Reached::DivergedRefused, 1);
            return self.trace(|| format!("refused: part {kept} is chosen"));
        };
        halves.ends[part] = PartEnd::Refused;
        self.tally.reach(Reached::PartRefused, 1);
        self.trace(|| format!("refused: part {part} is not enough"));
        self.next_part();
    }

    /// True when these drives hold everything, by the layout's promise.
    fn can_serve(&self, is_there: impl Fn(usize) -> bool) -> bool {
        let serves: Vec<bool> = (0..self.drives.len()).map(is_there).collect();
        let layout = self.config.layout;
        if layout.is_mirrored() {
            let (groups, copies) = (self.config.groups as usize, self.plan.copies as usize);
            return !Declustering { drives: serves.len(), groups, copies }.has_lost_all(&serves);
        }
        let spare = usize::from(layout.is_redundant());
        let is_enough = |group: &[bool]| group.iter().filter(|&&serves| !serves).count() <= spare;
        serves.chunks(self.config.width()).all(is_enough)
    }

    /// An opening has succeeded; whether it may have, and whose drives go on.
    pub(super) fn members_ready(&mut self) -> Result<(), End> {
        let stale = self.subject.inner().stale().to_vec();
        for Returned { place, is_succeeded } in std::mem::take(&mut self.members.returned) {
            if !self.opened.contains(&place) {
                continue;
            }
            let is_left_out = stale.contains(&place);
            if !is_left_out && is_succeeded {
                return not_refused(format!("drive {place} was replaced, and is taken for its successor"));
            }
            self.tally.reach(Reached::PredecessorLeftOut, u64::from(is_left_out));
            self.tally.reach(Reached::ReturnTaken, u64::from(!is_left_out));
            if is_left_out {
                self.members.returned.push(Returned { place, is_succeeded });
            }
        }
        self.members.are_succeeded();
        self.part_ready()
    }

    fn part_ready(&mut self) -> Result<(), End> {
        let Some(mut halves) = self.members.halves.take() else { return Ok(()) };
        match halves.stage {
            Stage::Part(part) if !self.can_serve(|drive| halves.parts[part].contains(&drive)) => {
                return not_refused(format!("drives {:?} lack some of the data", halves.parts[part]));
            }
            Stage::Part(part) => {
                halves.ends[part] = PartEnd::Served;
                self.tally.reach(Reached::PartServed, 1);
                self.members.halves = Some(halves);
            }
            Stage::Whole if halves.have_diverged() => {
                let [one, other] = &halves.parts;
                let message = format!(
                    "drives {one:?} and drives {other:?} have both served without the others, and are taken \
                        for one array"
                );
                return not_refused(message);
            }
            Stage::Whole => {}
            Stage::Kept => {
                self.members.apart.clone_from(&halves.parts[1 - halves.kept]);
                self.tally.reach(Reached::PartKept, 1);
            }
        }
        Ok(())
    }
}

fn not_refused(message: String) -> Result<(), End> {
    Err(End::Wrong(Violation { kind: ViolationKind::NotRefused, message }))
}
