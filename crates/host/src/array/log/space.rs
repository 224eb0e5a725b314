//! Space management: which stream may open a row, which group is written, and throttling of the host.
//!
//! The front-end keeps its role until its rows are used up, except for those that only collection may open;
//! then the next group in turn with free rows replaces it (SWAN, section 3.3). The groups behind the
//! front-end are collected one by one in the order of their turns, each until it has its share of free rows,
//! and not before they are needed (figure 6): the later a row is collected, the fewer blocks are valid. If
//! collection cannot keep up, writes are admitted by credits that it earns, the fewer the less room there is:
//! they slow down but do not stop.

use super::Log;
use super::config::LogConfig;
use super::geometry::{Geometry, RESERVE, Row, kept_rows};
use super::stream::{HOST, MOVED};
use crate::Block;
use crate::array::GroupId;
use crate::array::core::Core;
use crate::array::requests::RequestSlot;
use std::collections::{BTreeMap, VecDeque};
use tailcut_base::Time;
use tailcut_base::cast::to_u32;

/// Free space, and the requests that wait for it.
#[derive(Debug)]
pub(super) struct Space {
    /// The group being written.
    pub front: GroupId,
    /// The group being collected.
    pub collecting: Option<GroupId>,
    /// The group to be written next, which is not collected until then.
    next_front: Option<GroupId>,
    /// Credit for writes while space is scarce, in parts of a block.
    credit: u64,
    /// Host requests that wait for space, in order of arrival.
    pub waiting: VecDeque<RequestSlot>,
    /// Blocks of the first waiting request that have been written.
    pub begun: u32,
    /// For each block of waiting writes: request, index, and arrival number.
    pub queued: BTreeMap<u64, (RequestSlot, u32, u64)>,
    /// For each waiting trim: request, arrival number, first block and end.
    pub queued_trims: VecDeque<(RequestSlot, u64, u64, u64)>,
    /// Number of requests that have had to wait.
    pub arrivals: u64,
    /// Number of available rows below which writes need credits.
    scarce: u32,
    /// Number of free rows at which the collection of a group stops.
    collect_below: u32,
    /// Number of rows left in the front-end at which the collection of the next group stops: victims must be
    /// finished by its turn.
    leave_below: u32,
    /// Rows beyond the reserve that the host leaves to collection, so that several victims can be moved
    /// concurrently from the start.
    kept: u32,
}

/// Parts of a block in which credits are counted.
pub(super) const PARTS: u64 = 1 << 16;

impl Space {
    /// Space of a log with this geometry.
    pub(super) fn new(geometry: &Geometry, config: &LogConfig) -> Space {
        let rows = geometry.rows;
        let share = to_u32(u64::from(rows) * u64::from(config.collect_below) / 1_000_000);
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
            // If each of many groups has its share, that share can be used up without urgency.
            scarce: if geometry.groups > 1 { collect_below } else { collect_below / 2 },
            collect_below,
            leave_below: config.collect_victims.min(collect_below / 4),
            kept: kept_rows(config, rows),
        }
    }
}

/// Rows of the host that may wait to be completely written before writes wait for them.
const CLOSING_MAX: usize = 4;

impl<B: Block> Log<B> {
    /// Number of rows of a group that the host may open.
    pub(super) fn available(&self, group: GroupId) -> u32 {
        let claimed = if self.space.collecting == Some(group) { self.claimed_rows() } else { 0 };
        self.rows.free(group).saturating_sub(RESERVE + claimed.max(self.space.kept))
    }

    /// Number of rows that the host may open.
    fn room(&self) -> u32 {
        self.geometry.group_ids().map(|group| self.available(group)).sum()
    }

    /// True if the host may write another block now.
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

    /// Collection has gained `earned` [`PARTS`] of blocks. With half of the scarce room left, the host may
    /// write as much as is freed.
    pub(super) fn earn(&mut self, earned: u64) {
        let (room, scarce) = (u64::from(self.room()), u64::from(self.space.scarce));
        let ramped = earned * (scarce + 2 * room) / (2 * scarce);
        let most = u64::from(self.geometry.positions()) * PARTS;
        self.space.credit = (self.space.credit + ramped).min(most);
        self.is_short = room == 0;
    }

    /// The row in which a stream continues.
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

    /// Makes the next group with free rows the front-end; false if there is none yet.
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
            // The invalid blocks are in the front-end: it must be collected, so another group becomes the
            // front-end meanwhile.
            self.space.front = self.geometry.group_after(self.space.front);
        }
        false
    }

    /// Chooses the next front-end if the turn of the current one ends soon.
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

    /// Moves the stream of moved blocks to another group; false if that has no free row for it.
    pub(super) fn hop(&mut self, now: Time, core: &mut Core<B>, group: GroupId) -> bool {
        let Some(next) = self.rows.open(group) else { return false };
        self.roll(now, core, MOVED, next);
        self.send(now, core, MOVED);
        true
    }

    /// The group to collect now.
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
        // Groups are collected one at a time.
        if !self.collection.is_moving() && self.space.collecting.is_none_or(is_done_with) {
            self.space.collecting = self.next_to_collect();
        }
        self.space.collecting.filter(|&group| self.wants_collection(group) && self.worthwhile(group))
    }

    /// The first group in turn that lacks its share of free rows, unless those before it have plenty.
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

    /// True if collection of the group would free more than it takes: with a single victim if the stream of
    /// moved blocks is in the group already, else with as many as offset a change of groups. Otherwise the
    /// few blocks left by each change would be collected by the next, without end.
    pub(super) fn worthwhile(&self, group: GroupId) -> bool {
        let here = self.geometry.group_of(self.open_row(MOVED).here.row);
        let needed = if here == group { 1 } else { self.geometry.cost_of_hop() };
        self.rows.gains(group, needed, |valid| self.geometry.gain(valid))
    }

    /// True if a group has most of the free rows that collection can produce.
    pub(super) fn is_clean(&self, group: GroupId) -> bool {
        let held = to_u32(self.rows.valid(group).div_ceil(u64::from(self.geometry.user_positions())));
        let reachable = self.geometry.rows.saturating_sub(held + 2);
        let is_covered = self.rows.closed() == 0;
        self.rows.free(group) >= reachable - reachable / 8 || !self.worthwhile(group) && is_covered
    }

    /// True if the log has little room and a checkpoint would make rows with gain collectable.
    pub(super) fn needs_cover(&self) -> bool {
        let group = self.space.collecting.unwrap_or(self.geometry.group_after(self.space.front));
        self.rows.closed() > 0 && self.room() < self.space.collect_below && !self.worthwhile(group)
    }
}
