//! What drives, chips and the array did in each slot.
//!
//! Nothing is counted while they do it: the known figures are cumulative, and the difference between the
//! two ends of a slot is what happened in it.

use super::slots::{Slot, Slots};
use crate::storage::Storage;
use crate::world::Observer;
use tailcut_base::{Nanos, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::Array;
use tailcut_host::array::token_scheduling::StageTimes;
use tailcut_ssd::Figures;
use tailcut_ssd::holder::HOLDERS;

/// Rows of the map of chips at most, but for one of each drive.
pub const ROWS_MOST: usize = 64;

/// How often in each slot R-groups are asked for their role.
const LOOKS: u64 = 4;

/// Chips next to each other in a drive that share a row of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the drive, from 0, that the chips are in.
    pub drive: usize,
    /// Number of the first of the chips in its drive.
    pub first: usize,
    /// Number of chips that share the row.
    pub chips: usize,
}

/// The counters of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveCounts {
    /// Read commands that the drive completed.
    pub reads: u64,
    /// Write commands that the drive completed.
    pub writes: u64,
    /// Pages programmed with data of the host.
    pub programmed_user: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub programmed_gc: u64,
    /// Blocks of the drive that were erased.
    pub erases: u64,
}

impl DriveCounts {
    fn of(figures: &Figures) -> DriveCounts {
        let counts = &figures.counts;
        DriveCounts {
            reads: counts.host_reads,
            writes: counts.host_writes,
            programmed_user: counts.programmed_user,
            programmed_gc: counts.programmed_gc,
            erases: counts.erases,
        }
    }

    /// Adds what lies between two moments.
    fn add(&mut self, before: &DriveCounts, after: &DriveCounts) {
        self.reads += after.reads - before.reads;
        self.writes += after.writes - before.writes;
        self.programmed_user += after.programmed_user - before.programmed_user;
        self.programmed_gc += after.programmed_gc - before.programmed_gc;
        self.erases += after.erases - before.erases;
    }
}

/// How often an R-group was seen in each role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Number of looks at which the group was the front end.
    pub front: u32,
    /// Number of looks at which the group was being collected.
    pub collecting: u32,
}

/// All that is known of storage, cumulative or within a slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSlot {
    /// The counters of each drive, in the order of their numbers.
    pub drives: Vec<DriveCounts>,
    /// Time by holder, in ns, summed over the chips of each row.
    pub rows: Vec<[u64; HOLDERS]>,
    /// The times of each member of an array by token stage.
    pub stages: Vec<StageTimes>,
    /// Number of epochs that began, of an array with tokens.
    pub epochs: u64,
    /// Blocks that collection of an array's log moved.
    pub moved: u64,
    /// Number of times in the slot that R-groups were asked for their role.
    pub looks: u32,
    /// How often each R-group reported each role at these times.
    pub roles: Vec<Roles>,
}

impl DeviceSlot {
    /// Adds what lies between two moments.
    fn add(&mut self, before: &DeviceSlot, after: &DeviceSlot) {
        self.fit(after);
        for ((sum, before), after) in self.drives.iter_mut().zip(&before.drives).zip(&after.drives) {
            sum.add(before, after);
        }
        for ((sum, before), after) in self.rows.iter_mut().zip(&before.rows).zip(&after.rows) {
            (0..HOLDERS).for_each(|holder| sum[holder] += after[holder] - before[holder]);
        }
        for ((sum, before), after) in self.stages.iter_mut().zip(&before.stages).zip(&after.stages) {
            *sum = sum.plus(&after.since(before));
        }
        self.epochs += after.epochs - before.epochs;
        self.moved += after.moved - before.moved;
    }

    /// Has room for as much as another.
    fn fit(&mut self, other: &DeviceSlot) {
        self.drives.resize(other.drives.len(), DriveCounts::default());
        self.rows.resize(other.rows.len(), [0; HOLDERS]);
        self.stages.resize(other.stages.len(), StageTimes::default());
    }
}

impl Slot for DeviceSlot {
    fn merge(&mut self, later: &DeviceSlot) {
        let nothing = DeviceSlot {
            drives: vec![DriveCounts::default(); later.drives.len()],
            rows: vec![[0; HOLDERS]; later.rows.len()],
            stages: vec![StageTimes::default(); later.stages.len()],
            ..DeviceSlot::default()
        };
        if !later.drives.is_empty() {
            self.add(&nothing, later);
        }
        self.looks += later.looks;
        self.roles.resize(self.roles.len().max(later.roles.len()), Roles::default());
        for (sum, later) in self.roles.iter_mut().zip(&later.roles) {
            sum.front += later.front;
            sum.collecting += later.collecting;
        }
    }
}

/// Looks at storage at the end of each slot.
#[derive(Clone, Debug)]
pub struct Devices {
    slots: Slots<DeviceSlot>,
    rows: Vec<Row>,
    /// The cumulative figures at the end of the last slot.
    known: DeviceSlot,
    due: Time,
    /// The end of the present slot.
    slot_end: Time,
    /// R-groups have roles.
    has_roles: bool,
    until: Time,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices::new()
    }
}

impl Devices {
    /// Nothing observed yet; begins with the measurement.
    pub fn new() -> Devices {
        Devices {
            slots: Slots::new(Time::ZERO),
            rows: Vec::new(),
            known: DeviceSlot::default(),
            due: Time::NEVER,
            slot_end: Time::NEVER,
            has_roles: false,
            until: Time::ZERO,
        }
    }

    /// The counters of drives, chips and array, slot by slot.
    pub fn slots(&self) -> &Slots<DeviceSlot> {
        &self.slots
    }

    /// The rows of the map of chips.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The end of the measurement: the last slot counts up to then.
    pub fn until(&self) -> Time {
        self.until
    }

    fn cumulative<S: Storage>(&self, storage: &S, now: Time) -> DeviceSlot {
        let array = storage.array();
        DeviceSlot {
            drives: storage.figures(now).iter().map(DriveCounts::of).collect(),
            rows: self.row_times(storage, now),
            stages: array.map_or_else(Vec::new, |array| stages(array, now)),
            epochs: array.and_then(Array::epoch_figures).map_or(0, |figures| figures.epochs),
            moved: array.and_then(Array::log_figures).map_or(0, |figures| figures.moved_blocks),
            ..DeviceSlot::default()
        }
    }

    fn row_times<S: Storage>(&self, storage: &S, now: Time) -> Vec<[u64; HOLDERS]> {
        let mut times = storage.drives().iter().map(|drive| drive.lun_times(now));
        let mut of_drive = times.next();
        let mut drive = 0;
        let sum_row = |row: &Row| {
            while drive < row.drive {
                of_drive = times.next();
                drive += 1;
            }
            let mut sum = [0; HOLDERS];
            for chip in of_drive.as_mut().expect("the drive is there").take(row.chips) {
                sum.iter_mut().zip(chip).for_each(|(sum, time)| *sum += time);
            }
            sum
        };
        self.rows.iter().map(sum_row).collect()
    }

    /// Counts the events up to `now` in the slot of the moment `at`.
    fn count<S: Storage>(&mut self, storage: &S, now: Time, at: Time) {
        let known = self.cumulative(storage, now);
        self.slots.at(at).add(&self.known, &known);
        self.known = known;
    }

    fn ask_roles<S: Storage>(&mut self, storage: &S, now: Time) {
        let Some(figures) = storage.array().and_then(Array::log_figures) else { return };
        let slot = self.slots.at(Time(now.0 - 1));
        slot.looks += 1;
        slot.roles.resize(figures.free_rows.len(), Roles::default());
        slot.roles[figures.front as usize].front += 1;
        if let Some(group) = figures.collecting {
            slot.roles[group as usize].collecting += 1;
        }
    }

    /// The next moment at which there is something to see, after `now`.
    fn plan(&mut self, now: Time) {
        let width = self.slots.width();
        let whole = |step: Nanos| Time(now.0 + step.0 - now.since(self.slots.origin()).0 % step.0);
        self.slot_end = whole(width);
        self.due = if self.has_roles { whole(width / LOOKS) } else { self.slot_end };
    }
}

impl<S: Storage> Observer<S> for Devices {
    fn begin(&mut self, storage: &S, now: Time) {
        self.slots = Slots::new(now);
        self.rows =
            rows(&storage.drives().iter().map(|drive| drive.lun_times(now).count()).collect::<Vec<_>>());
        self.has_roles =
            storage.array().and_then(Array::log_figures).is_some_and(|log| log.free_rows.len() > 1);
        self.known = self.cumulative(storage, now);
        self.plan(now);
    }

    #[inline]
    fn due(&self) -> Time {
        self.due
    }

    fn observe(&mut self, storage: &S, now: Time) {
        if self.has_roles {
            self.ask_roles(storage, now);
        }
        if now == self.slot_end {
            self.count(storage, now, Time(now.0 - 1));
            // The next slot may be one too many: then two have become one, and the ends are further apart.
            self.slots.at(now);
        }
        self.plan(now);
    }

    fn end(&mut self, storage: &S, now: Time) {
        self.until = now;
        self.due = Time::NEVER;
        self.count(storage, now, now);
    }
}

fn stages(array: &Array<Fingerprint>, now: Time) -> Vec<StageTimes> {
    let members = array.core().drives.ids();
    members.filter_map(|member| array.stage_times(now, member)).collect()
}

/// The rows of drives with these numbers of chips: a row for each chip while there is room for that.
fn rows(chips: &[usize]) -> Vec<Row> {
    let room = (ROWS_MOST / chips.len().max(1)).max(1);
    let of_drive = |(drive, &chips): (usize, &usize)| {
        let share = chips.div_ceil(room).max(1);
        (0..chips)
            .step_by(share)
            .map(move |first| Row { drive, first, chips: share.min(chips - first) })
            .collect::<Vec<_>>()
    };
    chips.iter().enumerate().flat_map(of_drive).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_every_chip_once_and_are_few() {
        for chips in [vec![1], vec![64], vec![65], vec![4096], vec![8; 6], vec![100; 12], vec![3; 100]] {
            let rows = rows(&chips);
            assert!(rows.len() <= ROWS_MOST.max(chips.len()), "{chips:?}");
            for (drive, &count) in chips.iter().enumerate() {
                let of_drive: Vec<&Row> = rows.iter().filter(|row| row.drive == drive).collect();
                assert_eq!(of_drive.iter().map(|row| row.chips).sum::<usize>(), count);
                assert!(of_drive.windows(2).all(|pair| pair[0].first + pair[0].chips == pair[1].first));
            }
        }
    }
}
