//! Who may open which row, which group is written, and how fast.
//!
//! The front-end stays until its rows are used up, but for those that only collection may open; then
//! the next group in turn that has some takes its place (SWAN, section 3.3). The groups behind the
//! front-end are collected one after the other in the order of their turns, each until it has its share of
//! free rows, and not before they are needed (figure 6): what is collected later has less that is
//! valid. When collection cannot keep up, writes are let in by credits that it earns, the fewer the less room
//! there is: they become slower and do not stop.

use super::Log;
use super::config::LogConfig;
use super::geometry::{Geometry, RESERVE, Row, kept_rows};
use super::stream::{HOST, MOVED};
use crate::Block;
use crate::array::GroupId;
use crate::array::core::Core;
use std::collections::{BTreeMap, VecDeque};
use tailcut_base::Time;

/// Room, and who waits for it.
#[derive(Debug)]
pub struct Space {
    /// The group that is written.
    pub front: GroupId,
    /// The group that is collected.
    pub collecting: Option<GroupId>,
    /// The group that is to be written next, and is left alone until it is.
    next_front: Option<GroupId>,
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
    /// A group is collected until it has so many rows.
    collect_below: u32,
    /// A group is not collected any more when the front-end has only so many rows left before its turn:
    /// victims must be done with by then.
    leave_below: u32,
    /// Rows beside the reserve that the host leaves to collection, so that several victims can be moved at
    /// once from the beginning.
    kept: u32,
}

/// Parts of a block in which credits are counted.
pub(super) const PARTS: u64 = 1 << 16;

impl Space {
    /// Room of a log of this shape.
    pub fn new(geometry: &Geometry, config: &LogConfig) -> Space {
        let rows = geometry.rows;
        let share = (u64::from(rows) * u64::from(config.collect_below) / 1_000_000) as u32;
        let collect_below = share.max(2);
        Space {
            front: GroupId::new(0),
            collecting: None,
            next_front: None,
            credit: 0,
            waiting: VecDeque::new(),
            begun: 0,
            queued: BTreeMap::new(),
            queued_trims: VecDeque::new(),
            arrivals: 0,
            // Of many groups that each have their share there is that share to lose without haste.
            scarce: if geometry.groups > 1 { collect_below } else { collect_below / 2 },
            collect_below,
            leave_below: config.collect_victims.min(collect_below / 4),
            kept: kept_rows(config, rows),
        }
    }
}

/// Rows of the host that may wait to be wholly on the drives, before writes wait for them.
const CLOSING_MAX: usize = 4;

impl<B: Block> Log<B> {
    /// Rows of a group that the host may open.
    pub(super) fn available(&self, group: GroupId) -> u32 {
        let claimed = if self.space.collecting == Some(group) { self.claimed_rows() } else { 0 };
        self.rows.free(group).saturating_sub(RESERVE + claimed.max(self.space.kept))
    }

    /// Rows that the host may open.
    fn room(&self) -> u32 {
        self.geometry.group_ids().map(|group| self.available(group)).sum()
    }

    /// True when the host may write one more block now.
    pub(super) fn admits(&self) -> bool {
        let most = if self.has_tokens { self.admission.rows } else { CLOSING_MAX };
        if self.streams[HOST].closing.len() >= most || self.is_overdue() {
            return false;
        }
        self.room() >= self.space.scarce || self.space.credit >= PARTS || !self.is_collecting()
    }

    /// The host has written a block.
    pub(super) fn spend(&mut self) {
        self.space.credit = self.space.credit.saturating_sub(PARTS);
    }

    /// Collection has gained so many [`PARTS`] of blocks. With half of the scarce room left, the host may
    /// write as much as is freed.
    pub(super) fn earn(&mut self, earned: u64) {
        let (room, scarce) = (u64::from(self.room()), u64::from(self.space.scarce));
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
        self.choose_next_front();
        if let Some(group) = self.space.next_front {
            let is_done_with = !self.is_busy(group);
            if is_done_with {
                self.become_front(now, core, group);
            }
            return is_done_with;
        }
        let nobody_has_room = self.geometry.group_ids().all(|group| self.available(group) == 0);
        let nothing_to_gain = (self.geometry.group_ids())
            .all(|group| group == self.space.front || !self.is_busy(group) && self.is_clean(group));
        if groups > 1 && nobody_has_room && nothing_to_gain {
            // What is out of date is in the front-end: it has to be collected, so another group is the
            // front-end for so long.
            self.space.front = self.geometry.group_after(self.space.front);
        }
        false
    }

    /// When the turn of the front-end ends soon, says whose is next.
    fn choose_next_front(&mut self) {
        if self.space.next_front.is_none() && self.available(self.space.front) <= self.space.leave_below {
            self.space.next_front = self.behind_front().find(|&group| self.is_ready_to_front(group));
        }
    }

    /// The groups behind the front-end, in the order of their turns.
    fn behind_front(&self) -> impl Iterator<Item = GroupId> + use<B> {
        self.geometry.groups_after(self.space.front)
    }

    fn is_ready_to_front(&self, group: GroupId) -> bool {
        let available = self.available(group);
        available > 0 && (available >= self.space.collect_below.div_ceil(8) || self.is_clean(group))
    }

    fn become_front(&mut self, now: Time, core: &mut Core<B>, group: GroupId) {
        self.space.front = group;
        self.space.next_front = None;
        if self.space.collecting == Some(group) {
            self.space.collecting = None;
        }
        self.figures.rotations += 1;
        if self.geometry.group_of(self.open_row(MOVED).here.row) == group {
            self.hop(now, core, self.geometry.group_after(group));
        }
    }

    /// The stream of moved blocks goes on in another group; false when that has no row for it.
    pub(super) fn hop(&mut self, now: Time, core: &mut Core<B>, group: GroupId) -> bool {
        let Some(next) = self.rows.open(group) else { return false };
        self.roll(now, core, MOVED, next);
        self.send(now, core, MOVED);
        true
    }

    /// The group that is to be collected now.
    pub(super) fn group_to_collect(&mut self) -> Option<GroupId> {
        let groups = self.geometry.groups;
        if groups == 1 {
            let only = self.space.front;
            self.space.collecting = Some(only);
            let wants = self.available(only) < self.space.collect_below && self.worthwhile(only);
            return wants.then_some(only);
        }
        self.choose_next_front();
        let is_done_with = |group| !self.wants_collection(group);
        // Only one group is collected at a time.
        if !self.collection.is_moving() && self.space.collecting.is_none_or(is_done_with) {
            self.space.collecting = self.next_to_collect();
        }
        self.space.collecting.filter(|&group| self.wants_collection(group) && self.worthwhile(group))
    }

    /// The first group in turn that has not its share of free rows yet, unless those before it have
    /// plenty.
    fn next_to_collect(&self) -> Option<GroupId> {
        let plenty = (self.geometry.groups - 1) * self.space.collect_below;
        let mut ahead = 0;
        for group in self.behind_front() {
            if ahead > plenty {
                return None;
            }
            if self.wants_collection(group) && (self.rows.valid(group) > 0 || self.worthwhile(group)) {
                return Some(group);
            }
            ahead += self.available(group);
        }
        None
    }

    fn wants_collection(&self, group: GroupId) -> bool {
        group != self.space.front
            && Some(group) != self.space.next_front
            && self.available(group) < self.space.collect_below
            && !self.is_clean(group)
    }

    /// True when collection of the group would free more than it takes: with a victim that does so by itself
    /// where the stream of moved blocks is in the group already, else with as many as make up for its change
    /// of groups. Without that a few blocks that each change leaves behind would be collected by the next,
    /// for ever.
    pub(super) fn worthwhile(&self, group: GroupId) -> bool {
        let here = self.geometry.group_of(self.open_row(MOVED).here.row);
        let needed = if here == group { 1 } else { self.geometry.cost_of_hop() };
        self.rows.gains(group, needed, |valid| self.geometry.gain(valid))
    }

    /// True when a group has most of the room that collection can give it.
    pub(super) fn is_clean(&self, group: GroupId) -> bool {
        let held = self.rows.valid(group).div_ceil(u64::from(self.geometry.user_positions())) as u32;
        let reachable = self.geometry.rows.saturating_sub(held + 2);
        let is_covered = self.rows.closed() == 0;
        self.rows.free(group) >= reachable - reachable / 8 || !self.worthwhile(group) && is_covered
    }

    /// True when the log has little room and something to gain is not covered by a checkpoint.
    pub(super) fn needs_cover(&self) -> bool {
        let group = self.space.collecting.unwrap_or(self.geometry.group_after(self.space.front));
        self.rows.closed() > 0 && self.room() < self.space.collect_below && !self.worthwhile(group)
    }
}
