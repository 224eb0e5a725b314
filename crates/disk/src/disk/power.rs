//! Power cuts.

use super::Disk;
use crate::contents::UnflushedPiece;
use crate::operation::Ticket;
use tailcut_base::random::Stream;
use tailcut_base::{Device, Time};

/// What a power cut has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PowerCut {
    aborted: Vec<Ticket>,
    survived: u64,
    lost: u64,
    torn: u64,
}

impl PowerCut {
    /// That of several disks which together had these operations in flight.
    pub(crate) fn of_many(aborted: Vec<Ticket>, cuts: &[PowerCut]) -> PowerCut {
        let sum = |count: fn(&PowerCut) -> u64| cuts.iter().map(count).sum();
        PowerCut {
            aborted,
            survived: sum(PowerCut::survived),
            lost: sum(PowerCut::lost),
            torn: sum(PowerCut::torn),
        }
    }

    /// The operations that never complete: those in flight, and those whose completion had not been returned
    /// yet; in order of submission.
    pub fn aborted(&self) -> &[Ticket] {
        &self.aborted
    }

    /// Pieces of unflushed writes that have survived. A write has a piece in each atomic unit that it
    /// touches.
    pub fn survived(&self) -> u64 {
        self.survived
    }

    /// Pieces of unflushed writes that are lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes of which some pieces have survived and others not.
    pub fn torn(&self) -> u64 {
        self.torn
    }
}

/// Which unflushed pieces survive.
enum Survivors {
    /// Each of them with this probability, in parts per million.
    Chance(u32),
    /// The oldest, up to this number.
    Oldest(u64),
}

impl Disk {
    /// The power is cut at `now`, and is back at once. Operations in flight never complete. Of the unflushed
    /// writes a random legal subset survives, each write cut at the boundaries of the atomic unit: all or
    /// none in one of eight cuts each, the oldest ones in one of four, and otherwise any, with a probability
    /// that is drawn for the whole cut. Faults in effect stay, except that a stall ends.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn power_cut(&mut self, now: Time, random: &mut Stream) -> PowerCut {
        self.run_to(now);
        let pieces = self.contents.pieces(self.config.atomic_sectors()).count() as u64;
        let survivors = match random.below(8) {
            0 => Survivors::Chance(0),
            1 => Survivors::Chance(1_000_000),
            2 | 3 => Survivors::Oldest(random.below(pieces + 1)),
            _ => Survivors::Chance(random.below_u32(1_000_001)),
        };
        let mut seen = 0;
        self.cut(now, |_| {
            seen += 1;
            match survivors {
                Survivors::Chance(ppm) => random.chance_ppm(ppm),
                Survivors::Oldest(count) => seen <= count,
            }
        })
    }

    /// [`Disk::power_cut`] in which the caller chooses what survives: `survives` is called with each
    /// unflushed piece in the order of submission. For exhaustive search, and for shrinking a failure.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn power_cut_with(&mut self, now: Time, survives: impl FnMut(&UnflushedPiece) -> bool) -> PowerCut {
        self.run_to(now);
        self.cut(now, survives)
    }

    /// The pieces of unflushed writes, in the order of submission: what a power cut could undo now.
    pub fn unflushed(&self) -> impl Iterator<Item = UnflushedPiece> + '_ {
        self.contents.pieces(self.config.atomic_sectors())
    }

    fn cut(&mut self, now: Time, survives: impl FnMut(&UnflushedPiece) -> bool) -> PowerCut {
        let survival = self.contents.power_cut(self.config.atomic_sectors(), survives);
        let in_flight = std::mem::take(&mut self.in_flight);
        let mut aborted: Vec<Ticket> = in_flight.iter().map(|(_, operation)| operation.ticket).collect();
        aborted.extend(self.ready.drain(..).map(|completion| completion.ticket()));
        aborted.sort_unstable();
        self.restart_drive(now);
        PowerCut { aborted, survived: survival.survived(), lost: survival.lost(), torn: survival.torn() }
    }

    /// The drive finishes what it was doing ahead of the test's time, and reports nothing of it: it begins
    /// again at rest.
    fn restart_drive(&mut self, now: Time) {
        let mut at = self.clock.drive_time(now);
        if let Some(drive) = &mut self.drive {
            while drive.next_event() != Time::NEVER {
                at = drive.next_event();
                drive.advance(at, &mut self.completions);
            }
            self.completions.clear();
        }
        self.clock.restart(now, at);
    }
}
