//! How a run went over time: requests, drives, chips and the array in slots of equal length, in constant
//! memory.
//!
//! A run that is asked for a timeline is observed by [`Requests`] and [`Devices`]; one that is not is
//! observed by neither, and pays nothing. Counts of all slots add up to those of the report.

mod devices;
mod requests;
mod slots;

pub use devices::{DeviceSlot, Devices, DriveCounts, ROWS_MOST, Roles, Row};
pub use requests::{RequestSlot, Requests, SlotTotals};
pub use slots::{FIRST_WIDTH, MOST, Slot, Slots};

use serde::{Deserialize, Serialize};
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::token_scheduling::StageTimes;
use tailcut_ssd::holder::{HOLDERS, Holder};

/// A timeline as plain data. Every list has a value for each slot, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// When the first slot begins, which is when the measurement does: ns since the start of the run.
    pub from_ns: u64,
    /// When the measurement ends, somewhere in the last slot.
    pub until_ns: u64,
    /// Length of a slot in ns.
    pub slot_ns: u64,
    /// Number of slots of the timeline.
    pub slots: usize,
    /// Requests of each kind that occurred, by the moment at which they ended.
    pub kinds: Vec<KindTimeline>,
    /// The counters of each drive, in the order of their numbers.
    pub drives: Vec<DriveTimeline>,
    /// What held the ready/busy lines of chips, by row and column.
    pub chips: ChipMap,
    /// Members of an array with tokens, by what they did with theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberTimeline>,
    /// Number of epochs that began in each slot, of an array with tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<u64>,
    /// Blocks that collection of an array's log moved, of an array that writes one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<u64>,
    /// R-groups of an array that has several and writes a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupTimeline>,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindTimeline {
    /// The kind of request: read, write, trim or flush.
    pub kind: String,
    /// Requests that succeeded, by the slot in which they ended.
    pub requests: Vec<u64>,
    /// Bytes that the requests moved.
    pub bytes: Vec<u64>,
    /// Requests that failed, by the slot in which they ended.
    pub errors: Vec<u64>,
    /// The sum of the latencies of the requests, in ns.
    pub latency_ns: Vec<u64>,
    /// The latency that half of the requests did not exceed, at most 1/16 too high; `None` where they are
    /// fewer than 2.
    pub p50_ns: Vec<Option<u64>>,
    /// The latency that 99 % of them did not exceed, at most 1/16 too high; `None` where they are fewer
    /// than 100.
    pub p99_ns: Vec<Option<u64>>,
    /// The latency that 99.9 % of them did not exceed, at most 1/16 too high; `None` where they are fewer
    /// than 1000.
    pub p999_ns: Vec<Option<u64>>,
    /// The longest latency of a slot in ns; 0 where no request succeeded.
    pub max_ns: Vec<u64>,
}

/// The counters of one drive over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveTimeline {
    /// Read commands completed in each slot.
    pub reads: Vec<u64>,
    /// Write commands completed in each slot.
    pub writes: Vec<u64>,
    /// Pages programmed with data of the host.
    pub programmed_user: Vec<u64>,
    /// Pages programmed by garbage collection and wear levelling.
    pub programmed_gc: Vec<u64>,
    /// Blocks erased in each slot.
    pub erases: Vec<u64>,
}

/// What held the ready/busy lines of chips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChipMap {
    /// Number of slots that share a column of the map; the last column may have fewer.
    pub slots_per_column: usize,
    /// The rows, by drive and chip.
    pub rows: Vec<ChipRow>,
    /// By what they were held: see [`HELD_BY`]; of each the rows, and of each row the columns, in parts per
    /// thousand of the column's time.
    pub held: Vec<HeldBy>,
}

/// A row of the map of chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChipRow {
    /// Number of the drive, from 0, that the chips are in.
    pub drive: usize,
    /// Its first chip in this row (or die, where dies have lines of their own).
    pub first: usize,
    /// Number of chips that share the row.
    pub chips: usize,
}

/// Time of chips by one kind of holder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldBy {
    /// What held the chips, in the words of [`HELD_BY`].
    pub holder: String,
    /// Parts per thousand by row and column.
    pub rows: Vec<Vec<u16>>,
}

/// The times of a member of an array by token stage: parts per thousand of the slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberTimeline {
    /// Parts per thousand of each slot in which the member answered reads that it had received before the
    /// token.
    pub draining: Vec<u16>,
    /// Parts per thousand of each slot in which the member was written to or flushed.
    pub writing: Vec<u16>,
    /// Parts per thousand of each slot in which the member collected or quiesced.
    pub collecting: Vec<u16>,
}

/// How an R-group was seen when it was looked at, four times in each slot: parts per thousand of the looks.
/// In the rest it was idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupTimeline {
    /// Parts per thousand of the looks at which the group was the front end.
    pub front: Vec<u16>,
    /// Parts per thousand of the looks at which the group was being collected.
    pub collecting: Vec<u16>,
}

/// The kinds of holders in a map of chips, with what they stand for.
pub const HELD_BY: [(&str, &[Holder]); 6] = [
    ("user read", &[Holder::UserRead]),
    ("user write", &[Holder::UserWrite]),
    ("gc read", &[Holder::GcRead]),
    ("gc program", &[Holder::GcWrite]),
    ("erase", &[Holder::Erase]),
    ("other", &[Holder::Suspend, Holder::Reset, Holder::ReadAhead]),
];

/// The most columns of a map of chips.
const COLUMNS_MOST: usize = 256;

impl Timeline {
    /// The timeline of a run that has ended.
    pub fn new(requests: Requests, devices: &Devices) -> Timeline {
        let slots = devices.slots();
        let requests = requests.matched(slots);
        let seen = slots.all();
        Timeline {
            from_ns: slots.origin().0,
            until_ns: devices.until().0,
            slot_ns: slots.width().0,
            slots: seen.len(),
            kinds: requests::ops().filter_map(|(op, name)| kind(requests.all(), op, name)).collect(),
            drives: (0..seen[0].drives.len()).map(|drive| drive_line(seen, drive)).collect(),
            chips: ChipMap::new(devices),
            members: (0..seen[0].stages.len()).map(|member| member_line(devices, member)).collect(),
            epochs: if_any(seen, |slot| slot.epochs),
            moved: if_any(seen, |slot| slot.moved),
            groups: (0..seen[0].roles.len()).map(|group| group_line(seen, group)).collect(),
        }
    }
}

/// A count of each slot; nothing where it is always zero.
fn if_any(slots: &[DeviceSlot], count: fn(&DeviceSlot) -> u64) -> Vec<u64> {
    let counts: Vec<u64> = slots.iter().map(count).collect();
    if counts.iter().all(|&count| count == 0) { Vec::new() } else { counts }
}

fn kind(slots: &[RequestSlot], op: usize, name: Op) -> Option<KindTimeline> {
    let ended = || slots.iter().map(|slot| &slot.ops[op]);
    if ended().all(|ended| ended.requests == 0) {
        return None;
    }
    let percentile = |p: f64| ended().map(|ended| ended.percentile(p).map(|latency| latency.0)).collect();
    Some(KindTimeline {
        kind: name.name().to_string(),
        requests: ended().map(|ended| ended.requests).collect(),
        bytes: ended().map(|ended| ended.bytes).collect(),
        errors: ended().map(|ended| ended.errors).collect(),
        latency_ns: ended().map(|ended| ended.latency_ns).collect(),
        p50_ns: percentile(50.0),
        p99_ns: percentile(99.0),
        p999_ns: percentile(99.9),
        max_ns: ended().map(|ended| ended.longest.0).collect(),
    })
}

fn drive_line(slots: &[DeviceSlot], drive: usize) -> DriveTimeline {
    let counts = |of: fn(&DriveCounts) -> u64| -> Vec<u64> {
        slots.iter().map(|slot| slot.drives.get(drive).map_or(0, of)).collect()
    };
    DriveTimeline {
        reads: counts(|c| c.reads),
        writes: counts(|c| c.writes),
        programmed_user: counts(|c| c.programmed_user),
        programmed_gc: counts(|c| c.programmed_gc),
        erases: counts(|c| c.erases),
    }
}

fn member_line(devices: &Devices, member: usize) -> MemberTimeline {
    let shares = |time: fn(&StageTimes) -> Nanos| -> Vec<u16> {
        let slots = devices.slots().all().iter().enumerate();
        let of_slot = |(index, slot): (usize, &DeviceSlot)| {
            let time = slot.stages.get(member).map_or(Nanos::ZERO, time);
            parts(time.0, lengths(devices, index, 1))
        };
        slots.map(of_slot).collect()
    };
    MemberTimeline {
        draining: shares(|t| t.draining),
        writing: shares(|t| t.writing + t.flushing),
        collecting: shares(|t| t.collecting + t.settling),
    }
}

fn group_line(slots: &[DeviceSlot], group: usize) -> GroupTimeline {
    let shares = |times: fn(&Roles) -> u32| -> Vec<u16> {
        let of_slot = |slot: &DeviceSlot| {
            let seen = slot.roles.get(group).map_or(0, times);
            parts(u64::from(seen), u64::from(slot.looks))
        };
        slots.iter().map(of_slot).collect()
    };
    GroupTimeline { front: shares(|roles| roles.front), collecting: shares(|roles| roles.collecting) }
}

impl ChipMap {
    fn new(devices: &Devices) -> ChipMap {
        let slots = devices.slots().all();
        let slots_per_column = slots.len().div_ceil(COLUMNS_MOST).max(1);
        let rows = devices.rows();
        let row = |row: &Row| ChipRow { drive: row.drive, first: row.first, chips: row.chips };
        let held = |&(name, holders): &(&str, &[Holder])| {
            let of_row = |(index, row): (usize, &Row)| {
                let column = |(column, slots): (usize, &[DeviceSlot])| {
                    let times = slots.iter().filter_map(|slot| slot.rows.get(index));
                    let time = times.map(|times: &[u64; HOLDERS]| {
                        holders.iter().map(|&holder| times[holder as usize]).sum::<u64>()
                    });
                    let whole = lengths(devices, column * slots_per_column, slots.len()) * row.chips as u64;
                    parts(time.sum(), whole)
                };
                slots.chunks(slots_per_column).enumerate().map(column).collect()
            };
            HeldBy { holder: name.into(), rows: rows.iter().enumerate().map(of_row).collect() }
        };
        ChipMap {
            slots_per_column,
            rows: rows.iter().map(row).collect(),
            held: HELD_BY.iter().map(held).collect(),
        }
    }
}

/// The length in ns of `count` slots from `first` on, up to the end of the measurement.
fn lengths(devices: &Devices, first: usize, count: usize) -> u64 {
    let slots = devices.slots();
    let from = slots.origin() + slots.width() * first as u64;
    let until = from + slots.width() * count as u64;
    until.min(devices.until().max(from + Nanos(1))).since(from).0
}

/// Parts per thousand, rounded to the nearest.
fn parts(part: u64, whole: u64) -> u16 {
    if whole == 0 {
        0
    } else {
        ((u128::from(part) * 1_000 + u128::from(whole) / 2) / u128::from(whole)) as u16
    }
}
