//! Windows for garbage collection: of a group at most one drive collects at a time, so that its blocks can be
//! reconstructed from the others meanwhile (IODA, SOSP 2021, section 3.3: PL_Win; Harmonia, MSST 2011, lets
//! all collect at once instead).

use crate::array::{DriveId, RGroups};
use tailcut_base::cast::to_usize;
use tailcut_base::control::Windows;
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Time};

/// The windows of all drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    length: Nanos,
    pause: Nanos,
    groups: RGroups,
}

impl Turns {
    /// Windows of `length` in groups of `width` drives; None if `length` is zero. In the last `pause` of its
    /// window, which is shorter than the window, a drive starts no collection, so that the current one ends
    /// within the window.
    pub fn new(length: Nanos, pause: Nanos, width: usize) -> Option<Turns> {
        (length > Nanos::ZERO).then_some(Turns { length, pause, groups: RGroups::new(width) })
    }

    /// The windows of a drive. Those of a group follow one another, separated by the pause.
    pub fn of(&self, drive: DriveId) -> Windows {
        let place = self.groups.column_of(drive).index() as u64;
        let period = self.length * self.groups.width() as u64;
        Windows { from: Time::ZERO + self.length * place, period, length: self.length - self.pause }
    }

    /// True during the drive's window, including its pause.
    pub fn is_on(&self, now: Time, drive: DriveId) -> bool {
        to_usize(now.0 / self.length.0) % self.groups.width() == self.groups.column_of(drive).index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_group_one_drive_is_on_at_any_moment() {
        let turns = Turns::new(Nanos(10), Nanos(2), 3).expect("it is not zero");
        for now in (0..100).map(Time) {
            let on: Vec<DriveId> = DriveId::first(6).filter(|&drive| turns.is_on(now, drive)).collect();
            assert_eq!(on.len(), 2);
            assert_eq!(on[0].get() + 3, on[1].get());
            let begins = |drive: DriveId| turns.of(drive).is_open(now);
            assert!(DriveId::first(6).all(|drive| begins(drive) == (on.contains(&drive) && now.0 % 10 < 8)));
        }
    }
}
