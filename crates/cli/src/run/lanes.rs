//! What chips did while the slowest requests waited, for the page of a run: a probe keeps the latest
//! transactions of each chip, and an observer copies those of a slow request's chips when it completes. Both
//! are there only for a run of one drive that is recorded over time; what an array's drives did,
//! `tailcut explain` shows.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Spans, Status, Time};
use tailcut_sim::world::{Finished, Observer};
use tailcut_ssd::{ChipRecord, Probe};

/// Requests of each kind whose lanes are kept: somewhat more than pages show, for those as slow as others.
const KEPT: usize = 16;
/// Transactions of all chips that are remembered at most, and of one chip.
const REMEMBERED: usize = 1 << 14;
const OF_ONE: usize = WORKS + 32;
/// Chips of one request that are kept: those that were ready last.
const LANES: usize = 4;
/// Transactions of one chip during a request that are kept: the latest.
const WORKS: usize = 96;

/// What one chip did while a request waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lane {
    /// Number of the chip (LUN).
    chip: u32,
    /// Its transactions in the order of their starts.
    work: Vec<Work>,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    /// As `tailcut explain --request` names it: `user read`, `gc program`.
    kind: String,
    /// Whether it was a part of the request.
    own: bool,
    /// When it began, its command ended, its cells were done, its data got the bus and it ended: ns since the
    /// request was due, negative before.
    at_ns: [i64; 5],
}

/// The latest transactions of each chip of a drive: a [`Probe`], and for [`SlowLanes`] to look at. Clones
/// share them.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestWork(Rc<RefCell<Vec<VecDeque<ChipRecord>>>>);

impl Probe for LatestWork {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        let mut chips = self.0.borrow_mut();
        let number = record.lun.get() as usize;
        if number >= chips.len() {
            chips.resize_with(number + 1, VecDeque::new);
        }
        let most = (REMEMBERED / chips.len()).clamp(1, OF_ONE);
        let chip = &mut chips[number];
        while chip.len() >= most {
            chip.pop_front();
        }
        chip.push_back(record);
    }
}

/// The lanes of the slowest requests of each kind.
#[derive(Debug, Default)]
pub(super) struct SlowLanes {
    latest: LatestWork,
    /// Of each kind of request the slowest so far, the slowest first: latency, number and lanes.
    slowest: [Vec<(Nanos, u64, Vec<Lane>)>; 4],
}

impl SlowLanes {
    /// Those of a drive with this probe.
    pub(super) fn new(latest: LatestWork) -> SlowLanes {
        SlowLanes { latest, slowest: Default::default() }
    }

    /// The lanes by the number of the request.
    pub(super) fn by_number(self) -> BTreeMap<u64, Vec<Lane>> {
        self.slowest.into_iter().flatten().map(|(_, number, lanes)| (number, lanes)).collect()
    }

    #[cold]
    fn keep(&mut self, request: &Finished<&Spans>) {
        let lanes = lanes(&self.latest.0.borrow(), request);
        let slowest = &mut self.slowest[request.op.index()];
        let place = slowest.partition_point(|&(latency, ..)| latency >= request.latency);
        slowest.insert(place, (request.latency, request.number, lanes));
        slowest.truncate(KEPT);
    }
}

impl<D> Observer<D> for SlowLanes {
    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if !request.counts || request.status != Status::Success {
            return;
        }
        let slowest = &self.slowest[request.op.index()];
        if slowest.len() < KEPT || slowest.last().is_some_and(|&(latency, ..)| request.latency > latency) {
            self.keep(request);
        }
    }
}

/// The chips that worked for a request, the one that was ready last first.
fn lanes(chips: &[VecDeque<ChipRecord>], request: &Finished<&Spans>) -> Vec<Lane> {
    let is_own = |record: &ChipRecord| {
        let within = record.start >= request.submitted && record.end <= request.completed;
        within && record.members.iter().any(|member| member.command == Some(request.id))
    };
    let ready = |records: &VecDeque<ChipRecord>| {
        records.iter().filter(|record| is_own(record)).map(|record| record.end).max()
    };
    let mut own: Vec<(Time, u32)> =
        (0..).zip(chips).filter_map(|(chip, records)| Some((ready(records)?, chip))).collect();
    own.sort_by_key(|&(ready, chip)| (std::cmp::Reverse(ready), chip));
    let since = |at: Time| at.0 as i64 - request.due.0 as i64;
    let work = |record: &ChipRecord| Work {
        kind: record.kind.label().to_owned(),
        own: is_own(record),
        at_ns: [record.start, record.command_end, record.cell_end, record.out_start, record.end].map(since),
    };
    let lane = |&(_, chip): &(Time, u32)| {
        let meanwhile = chips[chip as usize]
            .iter()
            .filter(|record| record.end > request.submitted && record.start < request.completed);
        let mut work: Vec<Work> = meanwhile.map(work).collect();
        work.sort_by_key(|work| work.at_ns);
        work.drain(..work.len().saturating_sub(WORKS));
        Lane { chip, work }
    };
    own.iter().take(LANES).map(lane).collect()
}
