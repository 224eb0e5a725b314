//! A token: the group that holds it, and when it may pass on.

use crate::array::DriveId;
use tailcut_base::{Nanos, Time};

/// The token of a set of groups.
#[derive(Debug)]
pub struct TokenRotation {
    /// The drives of each group.
    members: Vec<Vec<DriveId>>,
    /// Group that holds the token.
    holder: Option<usize>,
    /// Group that held it last.
    last: usize,
    /// Number of the holder's drives that are still working, plus one while the epoch is being started.
    working: u32,
    /// Start of the epoch.
    began: Time,
    /// Earliest time at which a group may be due, while the token is free.
    due: Time,
    /// When to poll drives again.
    poll: Time,
    /// Estimated time to write a block of the host to all its places.
    interval: Nanos,
    /// Blocks written in this epoch.
    settled: u64,
}

impl TokenRotation {
    /// A free token for groups of these drives.
    pub fn new(members: Vec<Vec<DriveId>>) -> TokenRotation {
        TokenRotation {
            last: members.len() - 1,
            members,
            holder: None,
            working: 0,
            began: Time::ZERO,
            due: Time::NEVER,
            poll: Time::NEVER,
            interval: Nanos::ZERO,
            settled: 0,
        }
    }

    /// The drives that hold the token; none while it is free.
    pub fn holders(&self) -> &[DriveId] {
        self.holder.map_or(&[], |group| &self.members[group])
    }

    /// The drives of a group.
    pub fn members(&self, group: usize) -> &[DriveId] {
        &self.members[group]
    }

    /// The drives that hold the token or held it last.
    pub fn last_members(&self) -> &[DriveId] {
        &self.members[self.last]
    }

    /// True if the token is with `group`.
    #[inline]
    pub fn is_held_by(&self, group: usize) -> bool {
        self.holder == Some(group)
    }

    /// True if the token is free and a group may be due.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.holder.is_none() && self.due <= now
    }

    /// The next group in turn for which `is_due` returns true.
    pub fn next(&self, is_due: impl Fn(usize) -> bool) -> Option<usize> {
        let groups = self.members.len();
        (1..=groups).map(|step| (self.last + step) % groups).find(|&group| is_due(group))
    }

    /// Latest time until which the holder may keep the token, so that each other group gets it within
    /// `deadline` of its first waiting request (`since`, by group), if the groups in between keep it for a
    /// `share` each.
    pub fn limit(&self, since: impl Fn(usize) -> Option<Time>, deadline: Nanos, share: Nanos) -> Time {
        let groups = self.members.len();
        let limits = (1..groups).filter_map(|step| {
            let since = since((self.last + step) % groups)?;
            Some(Time((since + deadline).0.saturating_sub(share.0 * (step as u64 - 1))))
        });
        limits.min().unwrap_or(Time::NEVER)
    }

    /// Gives the token to a group. It does not pass on before [`TokenRotation::less`] has been called.
    pub fn begin(&mut self, now: Time, group: usize) {
        (self.holder, self.last, self.began, self.working) = (Some(group), group, now, 1);
        self.settled = 0;
    }

    /// When the epoch under way began, or the last one.
    pub fn began(&self) -> Time {
        self.began
    }

    /// Counts one more drive that works in the epoch.
    pub fn more(&mut self) {
        self.working += 1;
    }

    /// Counts one drive less that works in the epoch; true if the token is free then.
    pub fn less(&mut self, now: Time) -> bool {
        self.working -= 1;
        let is_free = self.working == 0;
        if is_free {
            (self.holder, self.due, self.poll) = (None, now, Time::NEVER);
        }
        is_free
    }

    /// `blocks` blocks have been written.
    pub fn settle(&mut self, blocks: u64) {
        self.settled += blocks;
    }

    /// Updates the estimate from an epoch that lasted for `took`. Each block of the host is `copies.0 /
    /// copies.1` blocks on drives.
    pub fn learn(&mut self, took: Nanos, copies: (u64, u64)) {
        if let Some(per_copy) = took.0.checked_div(self.settled) {
            let interval = Nanos(per_copy * copies.0 / copies.1);
            let is_first = self.interval == Nanos::ZERO;
            self.interval = if is_first { interval } else { (self.interval * 3 + interval) / 4 };
        }
    }

    /// Estimated time to write a block of the host to all its places.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// When an epoch may have to start.
    pub fn next_due(&self) -> Time {
        if self.holder.is_none() { self.due } else { Time::NEVER }
    }

    /// No group is due before `at`.
    pub fn set_due(&mut self, at: Time) {
        self.due = at;
    }

    /// A group may be due at `at`.
    pub fn expect(&mut self, at: Time) {
        self.due = self.due.min(at);
    }

    /// When to poll drives again.
    pub fn next_poll(&self) -> Time {
        self.poll
    }

    /// Schedules a poll at `at` or earlier.
    pub fn poll_at(&mut self, at: Time) {
        self.poll = self.poll.min(at);
    }

    /// True, once, if drives must be polled now.
    pub fn take_poll(&mut self, now: Time) -> bool {
        let is_now = self.poll <= now;
        if is_now {
            self.poll = Time::NEVER;
        }
        is_now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::ids::Id;

    #[test]
    fn who_comes_later_in_turn_leaves_time_for_those_before() {
        let mut turn = TokenRotation::new(DriveId::first(4).map(|drive| vec![drive]).collect());
        turn.begin(Time(0), 2);
        let (deadline, share) = (Nanos(100), Nanos(25));
        assert_eq!(turn.limit(|_| None, deadline, share), Time::NEVER);
        // Group 3 is next, then 0, then 1.
        assert_eq!(turn.limit(|group| (group == 3).then_some(Time(7)), deadline, share), Time(107));
        assert_eq!(turn.limit(|group| (group == 1).then_some(Time(7)), deadline, share), Time(57));
        assert_eq!(turn.limit(|_| Some(Time(7)), deadline, share), Time(57));
    }
}
