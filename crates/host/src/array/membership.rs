//! Selects the members of an array from some drives: those whose superblocks belong to one history of it.
//!
//! Every change of a member state is a new *generation* of the superblock, written to all members in sync
//! before any write without the others is acknowledged. So a member that the newest superblock counts as in
//! sync is at most one generation behind it, and one that a superblock excludes never returns under the same
//! identity: a returning drive is rebuilt under a new one. Staleness and divergence follow from these two
//! rules.

use super::DriveId;
use super::drives::Presence;
use super::epoch::{Declustering, copies_of};
use super::mutation::{Invariant, holds};
use super::opening::OpenError;
use super::superblock::MemberSuperblock;
use std::fmt;

/// A drive of the array that is left out: the array has continued without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Index in the list of given drives, from 0.
    pub drive: usize,
    /// Member number of the drive when it belonged to the array.
    pub member: DriveId,
    /// Why the array continued without the drive.
    pub cause: StaleCause,
}

/// Why a drive is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleCause {
    /// It was removed, failed, or was absent when the array was opened.
    LeftOut,
    /// Another drive has taken its place.
    Replaced,
    /// Its superblock is older than that of any member: it is an old copy, or has lost flushed data.
    Outdated,
}

impl fmt::Display for StaleCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StaleCause::LeftOut => "the array has gone on without it",
            StaleCause::Replaced => "it was replaced by another drive",
            StaleCause::Outdated => "its superblock is older than those of the other drives",
        })
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stale { drive, member, cause } = self;
        write!(f, "drive {drive} is a stale member {member}: {cause}")
    }
}

/// A drive and its latest superblock.
pub(super) type Own<'r> = (usize, &'r MemberSuperblock);

/// The newest superblock of the history to continue.
///
/// # Errors
/// [`OpenError::Diverged`] if two histories may both hold acknowledged writes.
pub(super) fn newest<'r>(all: &[Own<'r>]) -> Result<Option<Own<'r>>, OpenError> {
    let latest =
        |some: &mut dyn Iterator<Item = Own<'r>>| some.max_by_key(|(_, superblock)| superblock.generation);
    let Some(first) = latest(&mut all.iter().copied()) else { return Ok(None) };
    let is_forked = all.iter().any(|&(_, superblock)| contradict(superblock, first.1));
    if !is_forked {
        return Ok(Some(first));
    }
    // A superblock that did not reach all members it counts on has acknowledged no write: the power was lost,
    // and its drive was absent at the next opening.
    let in_force: Vec<Own<'r>> = all.iter().copied().filter(|&own| is_in_force(own, all)).collect();
    let Some(newest) = latest(&mut in_force.iter().copied()) else { return Ok(Some(first)) };
    let has_gone_elsewhere = |&(_, superblock): &Own<'r>| contradict(superblock, newest.1);
    match in_force.iter().find(|own| has_gone_elsewhere(own)) {
        Some(&other) if holds(Invariant::DivergedIsRefused) => Err(diverged(newest, other, all)),
        _ => Ok(Some(newest)),
    }
}

/// True when neither superblock can be an ancestor of the other.
fn contradict(a: &MemberSuperblock, b: &MemberSuperblock) -> bool {
    if a.generation == b.generation {
        return (&a.presence, &a.ids) != (&b.presence, &b.ids);
    }
    let (older, newer) = if a.generation < b.generation { (a, b) } else { (b, a) };
    let comes_back = |member: DriveId| {
        !counts_on(older, member) && counts_on(newer, member) && older.ids[member] == newer.ids[member]
    };
    older.ids.len() != newer.ids.len() || older.ids.ids().any(comes_back)
}

/// True unless a drive that a superblock counts on is known to lack it.
fn is_in_force((drive, superblock): Own<'_>, all: &[Own<'_>]) -> bool {
    let lacks = |&(other, own): &Own<'_>| {
        let member = own.member;
        let is_counted =
            other != drive && counts_on(superblock, member) && superblock.ids[member] == own.own_id();
        is_counted && (own.generation < superblock.generation || contradict(own, superblock))
    };
    !all.iter().any(lacks)
}

fn counts_on(superblock: &MemberSuperblock, member: DriveId) -> bool {
    superblock.presence.get(member).is_some_and(|&presence| presence != Presence::Missing)
}

fn diverged(newest: Own<'_>, other: Own<'_>, all: &[Own<'_>]) -> OpenError {
    let of = |history: &MemberSuperblock| -> Vec<usize> {
        let is_of_it = |&&(_, own): &&Own<'_>| !contradict(own, history) && is_member(history, own);
        all.iter().filter(is_of_it).map(|&(drive, _)| drive).collect()
    };
    let (kept, others) = (of(newest.1), of(other.1));
    OpenError::Diverged { kept, others }
}

fn is_member(newest: &MemberSuperblock, own: &MemberSuperblock) -> bool {
    stale_cause(newest, own).is_none()
}

/// Why the drive with the superblock `own` is no member according to `newest`; None if it is one.
pub(super) fn stale_cause(newest: &MemberSuperblock, own: &MemberSuperblock) -> Option<StaleCause> {
    let member = own.member;
    if newest.presence[member] == Presence::Missing {
        return Some(StaleCause::LeftOut);
    }
    if !holds(Invariant::StaleIsLeftOut) {
        return None;
    }
    if newest.ids[member] != own.own_id() {
        return Some(StaleCause::Replaced);
    }
    // Without redundancy a drive stays a member even if it no longer accepts superblock writes.
    let is_behind = own.generation + 1 < newest.generation || contradict(own, newest);
    (is_behind && newest.layout.is_redundant()).then_some(StaleCause::Outdated)
}

/// True if the drives in sync according to this superblock hold every block: each group can do without the
/// rest.
pub(super) fn holds_all(superblock: &MemberSuperblock) -> bool {
    let serves = |presence: &Presence| *presence == Presence::InSync;
    if superblock.layout.is_mirrored() {
        let serving: Vec<bool> = superblock.presence.iter().map(serves).collect();
        let (drives, groups) = (serving.len(), superblock.groups as usize);
        let over = Declustering { drives, groups, copies: copies_of(superblock) };
        return !over.has_lost_all(&serving);
    }
    let spare = usize::from(superblock.layout.is_redundant());
    let width = superblock.presence.len() / superblock.groups as usize;
    let is_enough = |group: &[Presence]| group.iter().filter(|presence| !serves(presence)).count() <= spare;
    superblock.presence.as_slice().chunks(width).all(is_enough)
}

/// True if the members `absent`, which the newest superblock counts on, could be opened elsewhere as the
/// array.
///
/// Otherwise any array opened elsewhere includes one of the drives here and will detect that the array has
/// continued.
pub(super) fn could_serve(newest: &MemberSuperblock, absent: &[DriveId]) -> bool {
    let mut elsewhere = newest.clone();
    for member in elsewhere.presence.ids() {
        if !absent.contains(&member) {
            elsewhere.presence[member] = Presence::Missing;
        }
    }
    holds_all(&elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{LayoutKind, MemberId};
    use Presence::{InSync, Missing, Rebuilding};
    use tailcut_base::ids::Id;

    /// A member's superblock: its generation, the member states, and which members have been replaced.
    fn own(member: u32, generation: u64, presence: [Presence; 4], replaced: &[u32]) -> MemberSuperblock {
        let id =
            |member: DriveId| MemberId::first(if replaced.contains(&member.get()) { 78 } else { 77 }, member);
        MemberSuperblock {
            array: 77,
            generation,
            drive_blocks: 1000,
            layout: LayoutKind::Raid5,
            groups: 1,
            member: DriveId::new(member),
            presence: presence.into_iter().collect(),
            ids: DriveId::first(4).map(id).collect(),
            shape: [0; 8],
            state: [0; 8],
        }
    }

    const ALL: [Presence; 4] = [InSync; 4];
    const WITHOUT_0: [Presence; 4] = [Missing, InSync, InSync, InSync];
    const WITHOUT_1: [Presence; 4] = [InSync, Missing, InSync, InSync];
    const ONLY_0_2: [Presence; 4] = [InSync, Missing, InSync, Missing];
    const ONLY_1_3: [Presence; 4] = [Missing, InSync, Missing, InSync];

    fn drives<const N: usize>(numbers: [u32; N]) -> [DriveId; N] {
        numbers.map(DriveId::new)
    }

    fn judge(superblocks: &[MemberSuperblock]) -> Result<u64, OpenError> {
        let all: Vec<Own<'_>> = superblocks.iter().enumerate().collect();
        newest(&all).map(|found| found.expect("there is one").1.generation)
    }

    #[test]
    fn a_replaced_drive_is_stale_whatever_its_generation() {
        let newest = own(0, 9, ALL, &[1]);
        for generation in [5, 8, 9] {
            assert_eq!(stale_cause(&newest, &own(1, generation, ALL, &[])), Some(StaleCause::Replaced));
        }
        assert_eq!(stale_cause(&newest, &own(1, 9, ALL, &[1])), None);
    }

    #[test]
    fn a_member_is_at_most_one_generation_behind() {
        let newest = own(0, 9, ALL, &[]);
        assert_eq!(stale_cause(&newest, &own(1, 8, ALL, &[])), None);
        assert_eq!(stale_cause(&newest, &own(1, 7, ALL, &[])), Some(StaleCause::Outdated));
        assert_eq!(stale_cause(&own(0, 9, WITHOUT_1, &[]), &own(1, 8, ALL, &[])), Some(StaleCause::LeftOut));
    }

    #[test]
    fn a_history_in_one_line_has_a_newest_superblock() {
        let rebuilt = [InSync, Rebuilding, InSync, InSync];
        let line = [own(0, 7, rebuilt, &[1]), own(1, 4, ALL, &[]), own(2, 6, WITHOUT_1, &[])];
        assert_eq!(judge(&line), Ok(7));
    }

    #[test]
    fn halves_that_went_on_alone_have_diverged() {
        for (one, other) in [(6, 6), (6, 9), (9, 6)] {
            let mut halves = vec![own(0, one, ONLY_0_2, &[]), own(1, other, ONLY_1_3, &[])];
            halves.extend([own(2, one, ONLY_0_2, &[]), own(3, other, ONLY_1_3, &[])]);
            let why = judge(&halves).expect_err("both may hold writes");
            let OpenError::Diverged { kept, others } = why else { panic!("{why}") };
            let mut sides = [kept, others];
            sides.sort();
            assert_eq!(sides, [vec![0, 2], vec![1, 3]]);
        }
    }

    #[test]
    fn a_drive_that_was_replaced_belongs_to_neither_half() {
        let mut superblocks = vec![own(0, 6, ONLY_0_2, &[3]), own(1, 9, ONLY_1_3, &[3])];
        superblocks.extend([own(2, 6, ONLY_0_2, &[3]), own(3, 9, ONLY_1_3, &[3]), own(3, 2, ALL, &[])]);
        let OpenError::Diverged { kept, others } = judge(&superblocks).expect_err("both may hold writes")
        else {
            panic!("they have diverged")
        };
        let mut sides = [kept, others];
        sides.sort();
        assert_eq!(sides, [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn a_half_that_replaced_the_other_has_diverged_from_it() {
        let line = [own(0, 12, ALL, &[1, 3]), own(2, 12, ALL, &[1, 3]), own(1, 8, ONLY_1_3, &[])];
        assert!(matches!(judge(&line), Err(OpenError::Diverged { .. })));
    }

    #[test]
    fn a_superblock_that_did_not_reach_its_members_counts_for_nothing() {
        // Drive 1 failed and drive 0 recorded the failure; then power was lost, and the others were opened
        // without drive 0.
        let line = [
            own(0, 6, WITHOUT_1, &[]),
            own(1, 6, WITHOUT_0, &[]),
            own(2, 6, WITHOUT_0, &[]),
            own(3, 6, WITHOUT_0, &[]),
        ];
        assert_eq!(judge(&line), Ok(6));
        let all: Vec<Own<'_>> = line.iter().enumerate().collect();
        let (_, found) = newest(&all).expect("they agree").expect("there is one");
        assert_eq!(found.presence.as_slice(), WITHOUT_0);
        assert_eq!(stale_cause(found, &line[0]), Some(StaleCause::LeftOut));
    }

    #[test]
    fn one_drive_of_a_parity_group_cannot_serve_elsewhere() {
        assert!(!could_serve(&own(0, 9, ALL, &[]), &drives([1])));
        assert!(could_serve(&own(0, 9, ALL, &[]), &drives([1, 2, 3])));
        let swan = MemberSuperblock { layout: LayoutKind::Swan5, groups: 2, ..own(0, 9, ALL, &[]) };
        assert!(!could_serve(&swan, &drives([0, 1])), "a whole group, but none of the other");
        assert!(could_serve(&swan, &drives([0, 2])));
    }

    #[test]
    fn half_of_the_copies_can() {
        let mut epochs = MemberSuperblock { layout: LayoutKind::Epochs, groups: 2, ..own(0, 9, ALL, &[]) };
        epochs.shape[2] = 2;
        assert!(could_serve(&epochs, &drives([1, 3])) || could_serve(&epochs, &drives([0, 1])));
        assert!(!could_serve(&epochs, &drives([3])));
        assert!(!could_serve(
            &MemberSuperblock { presence: ONLY_0_2.into_iter().collect(), ..epochs.clone() },
            &drives([2])
        ));
    }
}
