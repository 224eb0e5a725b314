//! Who may open which row, which group is written, and how fast.
//!
//! The front-end stays until its rows are used up, but for those that only collection may open; then
//! the next group in turn that has been collected takes its place (SWAN, section 3.3). Collection of the
//! next group begins only when it is not ready yet, and ends when it is (figure 6). When collection cannot
//! keep up, writes are let in by credits that it earns, the fewer the less room there is: they become
//! slower and do not stop.

use super::Log;
use super::geometry::{RESERVE, Row};
use super::stream::{HOST, MOVED};
use crate::Block;
use crate::array::core::Core;
use std::collections::{BTreeMap, VecDeque};
use tailcut_base::Time;

/// Room, and who waits for it.
#[derive(Debug)]
pub struct Space {
    /// The group that is written.
    pub front: u32,
    /// The group that is collected.
    pub collecting: Option<u32>,
    /// The group that is to be written next, and is left alone until it is.
    pub next_front: Option<u32>,
    /// What may be written while there is little room, in parts of a block.
    credit: u64,
    /// Requests of the host that wait for room, in the order in which they came.
    pub waiting: VecDeque<u32>,
    /// Blocks of the first of them that have been written.
    pub begun: u32,
    /// What waiting writes will write: request, index, and the number of its arrival.
    pub queued: BTreeMap<u64, (u32, u32, u64)>,
    /// What waiting trims will trim: request, number of its arrival, first block and end.
    pub queued_trims: VecDeque<(u32, u64, u64, u64)>,
    /// Requests that have had to wait.
    pub arrivals: u64,
    /// Below so many rows of room writes need credits.
    scarce: u32,
    /// A Log-RAID collects while it has less room than so many rows.
    collect_below: u32,
}

/// Parts of a block in which credits are counted.
const PARTS: u64 = 1 << 16;

impl Space {
    /// Room of a log of `rows` rows in each group, of which the share `collect_below` is to be free.
    pub fn new(rows: u32, collect_below: u32) -> Space {
        let share = (u64::from(rows) * u64::from(collect_below) / 1_000_000) as u32;
        let collect_below = share.max(2);
        Space {
            front: 0,
            collecting: None,
            next_front: None,
            credit: 0,
            waiting: VecDeque::new(),
            begun: 0,
            queued: BTreeMap::new(),
            queued_trims: VecDeque::new(),
            arrivals: 0,
            scarce: (collect_below / 2).max(1),
            collect_below,
        }
    }
}

/// Rows of the host that may wait to be wholly on the drives, before writes wait for them.
const CLOSING_MAX: usize = 4;

impl<B: Block> Log<B> {
    /// Rows of a group that the host may open.
    pub(super) fn available(&self, group: u32) -> u32 {
        self.rows.free(group).saturating_sub(RESERVE)
    }

    /// Rows that the host may open.
    fn room(&self) -> u32 {
        (0..self.geometry.groups).map(|group| self.available(group)).sum()
    }

    /// True when the host may write one more block now.
    pub(super) fn admits(&self) -> bool {
        if self.streams[HOST].closing.len() >= CLOSING_MAX || self.is_overdue() {
            return false;
        }
        self.room() >= self.space.scarce || self.space.credit >= PARTS || !self.is_collecting()
    }

    /// The host has written a block.
    pub(super) fn spend(&mut self) {
        self.space.credit = self.space.credit.saturating_sub(PARTS);
    }

    /// Collection has done `done` of `all` steps of a victim that frees `gain` blocks. With half of the
    /// scarce room left, the host may write as much as is freed.
    pub(super) fn earn(&mut self, gain: u64, done: u64, all: u64) {
        let (room, scarce) = (u64::from(self.room()), u64::from(self.space.scarce));
        let earned = gain * done * PARTS / all.max(1);
        let ramped = earned * (scarce + 2 * room) / (2 * scarce);
        let most = u64::from(self.geometry.positions()) * PARTS;
        self.space.credit = (self.space.credit + ramped).min(most);
        self.is_short = room == 0;
    }

    /// The row in which a stream goes on.
    pub(super) fn next_row(&mut self, now: Time, core: &mut Core<B>, stream: usize) -> Option<Row> {
        if stream == MOVED {
            let group = self.geometry.group_of(self.open_row(MOVED).here.row);
            return self.rows.open(group);
        }
        if self.available(self.space.front) == 0 && !self.rotate(now, core) {
            return None;
        }
        self.rows.open(self.space.front)
    }

    /// Makes the next group that has room the front-end; false when there is none yet.
    fn rotate(&mut self, now: Time, core: &mut Core<B>) -> bool {
        let groups = self.geometry.groups;
        for turn in 1..groups {
            let group = (self.space.front + turn) % groups;
            if self.is_ready_to_front(group) {
                self.space.next_front = Some(group);
                if self.is_busy(group) {
                    return false;
                }
                self.become_front(now, core, group);
                return true;
            }
        }
        let nobody_has_room = (0..groups).all(|group| self.available(group) == 0);
        let nothing_to_gain = (0..groups)
            .all(|group| group == self.space.front || !self.is_busy(group) && self.is_clean(group));
        if groups > 1 && nobody_has_room && nothing_to_gain {
            // What is out of date is in the front-end: it has to be collected, so another group is the
            // front-end for so long.
            self.space.front = (self.space.front + 1) % groups;
        }
        false
    }

    fn is_ready_to_front(&self, group: u32) -> bool {
        let available = self.available(group);
        available > 0 && (available >= 2 * self.space.scarce || self.is_clean(group))
    }

    fn become_front(&mut self, now: Time, core: &mut Core<B>, group: u32) {
        self.space.front = group;
        self.space.next_front = None;
        if self.space.collecting == Some(group) {
            self.space.collecting = None;
        }
        self.figures.rotations += 1;
        if self.geometry.group_of(self.open_row(MOVED).here.row) == group {
            self.hop(now, core, (group + 1) % self.geometry.groups);
        }
    }

    /// The stream of moved blocks goes on in another group; false when that has no row for it.
    pub(super) fn hop(&mut self, now: Time, core: &mut Core<B>, group: u32) -> bool {
        let Some(next) = self.rows.open(group) else { return false };
        self.roll(now, core, MOVED, next);
        self.send(now, core, MOVED);
        true
    }

    /// The group that is to be collected now.
    pub(super) fn group_to_collect(&mut self) -> Option<u32> {
        let groups = self.geometry.groups;
        if groups == 1 {
            let wants = self.available(0) < self.space.collect_below && self.worthwhile(0);
            self.space.collecting = wants.then_some(0);
            return self.space.collecting;
        }
        if let Some(group) = self.space.collecting
            && (group == self.space.front || self.is_clean(group))
            && !self.is_busy(group)
        {
            self.space.collecting = None;
        }
        if self.space.collecting.is_none() {
            let in_turn = (1..groups).map(|turn| (self.space.front + turn) % groups);
            self.space.collecting = in_turn
                .take_while(|&group| !self.is_ready_to_front(group))
                .filter(|&group| !self.is_clean(group))
                .find(|&group| self.rows.valid(group) > 0 || self.worthwhile(group));
        }
        let is_left_alone = |group: &u32| {
            Some(*group) != self.space.next_front && *group != self.space.front && self.worthwhile(*group)
        };
        self.space.collecting.filter(is_left_alone)
    }

    /// True when collection of the group would free more than it takes.
    pub(super) fn worthwhile(&self, group: u32) -> bool {
        let gains = |row: Row| self.rows.get(row).valid < self.geometry.user_positions();
        self.rows.candidate(group).is_some_and(gains)
    }

    /// True when a group has most of the room that collection can give it.
    pub(super) fn is_clean(&self, group: u32) -> bool {
        let held = self.rows.valid(group).div_ceil(u64::from(self.geometry.user_positions())) as u32;
        let reachable = self.geometry.rows.saturating_sub(held + 2);
        let is_covered = self.rows.closed() == 0;
        self.rows.free(group) >= reachable - reachable / 8 || !self.worthwhile(group) && is_covered
    }

    /// True when the log has little room and something to gain is not covered by a checkpoint.
    pub(super) fn needs_cover(&self) -> bool {
        let group = self.space.collecting.unwrap_or((self.space.front + 1) % self.geometry.groups);
        self.rows.closed() > 0 && self.room() < self.space.collect_below && !self.worthwhile(group)
    }
}
