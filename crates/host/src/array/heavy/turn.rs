//! The token: which group has it, and when it may pass on.

use crate::array::DriveId;
use tailcut_base::{Nanos, Time};

/// The token.
#[derive(Debug)]
pub struct Turn {
    /// The drives of each group.
    members: Vec<Vec<DriveId>>,
    /// Who has it.
    holder: Option<usize>,
    /// Who had it last.
    last: usize,
    /// Drives of the holder that are not done, and whoever keeps it from passing on.
    working: u32,
    /// When the epoch began.
    began: Time,
    /// When somebody may next have to get it, if nobody has.
    due: Time,
    /// When drives are asked again how they are.
    poll: Time,
    /// What it takes to write a block of the host wherever it belongs, as far as is known.
    interval: Nanos,
    /// Blocks written in this epoch.
    settled: u64,
}

impl Turn {
    /// Nobody has it, of groups with these drives.
    pub fn new(members: Vec<Vec<DriveId>>) -> Turn {
        Turn {
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

    /// The drives that have it.
    pub fn holders(&self) -> &[DriveId] {
        self.holder.map_or(&[], |group| &self.members[group])
    }

    /// The drives of a group.
    pub fn members(&self, group: usize) -> &[DriveId] {
        &self.members[group]
    }

    /// The drives that have it or had it last.
    pub fn last_members(&self) -> &[DriveId] {
        &self.members[self.last]
    }

    /// True when a group has it.
    #[inline]
    pub fn is_held_by(&self, group: usize) -> bool {
        self.holder == Some(group)
    }

    /// True when nobody has it and somebody may be due.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.holder.is_none() && self.due <= now
    }

    /// The next group in turn that `is_due`.
    pub fn next(&self, is_due: impl Fn(usize) -> bool) -> Option<usize> {
        let groups = self.members.len();
        (1..=groups).map(|step| (self.last + step) % groups).find(|&group| is_due(group))
    }

    /// Until when the group that has it may keep it at most, so that each of the others gets it within
    /// `deadline` of the moment from which on something waits there (`since`, by group), if those in between
    /// keep it for a `share` each.
    pub fn limit(&self, since: impl Fn(usize) -> Option<Time>, deadline: Nanos, share: Nanos) -> Time {
        let groups = self.members.len();
        let limits = (1..groups).filter_map(|step| {
            let since = since((self.last + step) % groups)?;
            Some(Time((since + deadline).0.saturating_sub(share.0 * (step as u64 - 1))))
        });
        limits.min().unwrap_or(Time::NEVER)
    }

    /// A group gets it. It does not pass on before [`Turn::less`] has been called.
    pub fn begin(&mut self, now: Time, group: usize) {
        (self.holder, self.last, self.began, self.working) = (Some(group), group, now, 1);
        self.settled = 0;
    }

    /// When the epoch began.
    pub fn began(&self) -> Time {
        self.began
    }

    /// One drive more works.
    pub fn more(&mut self) {
        self.working += 1;
    }

    /// One works less; true when the token is free.
    pub fn less(&mut self, now: Time) -> bool {
        self.working -= 1;
        let is_free = self.working == 0;
        if is_free {
            (self.holder, self.due, self.poll) = (None, now, Time::NEVER);
        }
        is_free
    }

    /// So many blocks have been written.
    pub fn settle(&mut self, blocks: u64) {
        self.settled += blocks;
    }

    /// An epoch has lasted for `took`: learns from it, where each block of the host is `copies.0 / copies.1`
    /// blocks of drives.
    pub fn learn(&mut self, took: Nanos, copies: (u64, u64)) {
        if let Some(per_copy) = took.0.checked_div(self.settled) {
            let interval = Nanos(per_copy * copies.0 / copies.1);
            let is_first = self.interval == Nanos::ZERO;
            self.interval = if is_first { interval } else { (self.interval * 3 + interval) / 4 };
        }
    }

    /// What it takes to write a block of the host wherever it belongs, as far as is known.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// When an epoch may have to begin.
    pub fn next_due(&self) -> Time {
        if self.holder.is_none() { self.due } else { Time::NEVER }
    }

    /// Nobody is due before `at`.
    pub fn set_due(&mut self, at: Time) {
        self.due = at;
    }

    /// There will be something to do at `at`.
    pub fn expect(&mut self, at: Time) {
        self.due = self.due.min(at);
    }

    /// When drives are to be asked again.
    pub fn next_poll(&self) -> Time {
        self.poll
    }

    /// Drives are asked again at `at`, or earlier.
    pub fn poll_at(&mut self, at: Time) {
        self.poll = self.poll.min(at);
    }

    /// True, once, when drives are to be asked again now.
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
        let mut turn = Turn::new(DriveId::first(4).map(|drive| vec![drive]).collect());
        turn.begin(Time(0), 2);
        let (deadline, share) = (Nanos(100), Nanos(25));
        assert_eq!(turn.limit(|_| None, deadline, share), Time::NEVER);
        // 3 is next, then 0, then 1.
        assert_eq!(turn.limit(|group| (group == 3).then_some(Time(7)), deadline, share), Time(107));
        assert_eq!(turn.limit(|group| (group == 1).then_some(Time(7)), deadline, share), Time(57));
        assert_eq!(turn.limit(|_| Some(Time(7)), deadline, share), Time(57));
    }
}
