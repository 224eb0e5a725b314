//! Crash and fault search in the layers above arrays and drives: the key-value engine, the block server's
//! connections, and a single drive. The tests of torture of arrays are in `arrays.rs`.

use crate::{all_hold, reaches};
use tailcut_base::config::Choice;
use tailcut_torture::{Mutant, Plan, Reached, Tally, attempt, seeds};

fn holds(subject: &str, count: u64) -> Tally {
    let target = seeds::target(subject).expect("it is there");
    all_hold(subject, count, |seed| target.plan(seed))
}

const CUTS: [Reached; 3] = [Reached::CutUnderLoad, Reached::TornWrite, Reached::LostCached];

#[test]
fn the_key_value_engine_keeps_its_promises() {
    let tally = holds("kv", 60);
    reaches(&tally, &CUTS);
    reaches(&tally, &[Reached::CutInRecovery, Reached::Collected, Reached::Missed]);
}

#[test]
fn the_block_server_keeps_its_promises() {
    let tally = holds("block", 60);
    reaches(&tally, &CUTS);
    reaches(&tally, &[Reached::CutInRecovery]);
}

#[test]
fn an_ssd_keeps_its_promises() {
    let tally = holds("ssd", 60);
    reaches(&tally, &[Reached::CutUnderLoad, Reached::LostCached, Reached::CollectedByDrive]);
}

/// The first seed that shows a bug, and shows nothing without the bug.
fn first(subject: &str, with_bug: impl Fn(&Plan) -> bool) -> Option<u64> {
    let target = seeds::target(subject).expect("it is there");
    let is_found = |&seed: &u64| {
        let plan = target.plan(seed);
        with_bug(&plan) && attempt(&plan, None).wrong.is_none()
    };
    (1..=20).chain(RARE).chain(21..=300).find(is_found)
}

/// First seeds of bugs that few seeds find: tried early, to save time.
const RARE: [u64; 9] = [45, 101, 109, 130, 155, 165, 171, 297, 351];

/// The table is in the documentation of `torture`.
fn finds_mutants(subject: &str, promised: impl Fn(Mutant) -> bool) {
    for &mutant in Mutant::all().iter().filter(|&&mutant| promised(mutant)) {
        let seed = first(subject, |plan| attempt(plan, Some(mutant)).wrong.is_some());
        println!("{subject}: {mutant} is found by seed {seed:?}");
        assert!(seed.is_some(), "{mutant} was not found in {subject} within 300 seeds");
    }
}

/// The log has checksums: a torn block is a write that did not happen. Torn blocks of an array below the log
/// are different.
#[test]
fn the_key_value_log_withstands_torn_blocks() {
    let target = seeds::target("kv").expect("it is there");
    let on_a_drive = (1..=300).map(|seed| target.plan(seed)).filter(|plan| !plan.has_array);
    let plans: Vec<Plan> = on_a_drive.collect();
    assert!(plans.len() > 50, "{} plans", plans.len());
    for plan in &plans {
        assert_eq!(attempt(plan, Some(Mutant::TearsBlocks)).wrong, None, "seed {}", plan.seed);
    }
}

/// Except for torn blocks, which the log survives.
#[test]
fn planted_bugs_are_found_in_the_key_value_engine() {
    finds_mutants("kv", |mutant| mutant != Mutant::TearsBlocks);
}

#[test]
fn planted_bugs_are_found_in_the_block_server() {
    finds_mutants("block", |_| true);
}

/// The behaviour of an SSD with its content is determined by the SSD itself, not by the drive model.
#[test]
fn planted_bugs_are_found_in_an_ssd() {
    let of_drives = [Mutant::LiesAboutFlush, Mutant::TearsBlocks, Mutant::DropsWrites];
    finds_mutants("ssd", |mutant| !of_drives.contains(&mutant));
}

#[test]
fn rules_that_are_broken_are_missed() {
    use tailcut_host::mutation::{Invariant, broken};
    let rules = [
        ("block", Invariant::OverlapsKeepOrder),
        ("block", Invariant::RestsOfBlocksStay),
        ("block", Invariant::TrimsAreFlushed),
        ("kv", Invariant::TombstonesAreWritten),
        ("kv", Invariant::CopiesAreDurable),
        ("kv", Invariant::DeferredKeepOrder),
        ("kv", Invariant::RepliesGoToTheirThread),
        ("kv-damage", Invariant::DamagedHeadsAreNotFree),
        ("kv-damage", Invariant::DamagedRecordsCount),
        ("kv-damage", Invariant::HolesCastDoubt),
        ("kv-damage", Invariant::DurableIsMarked),
        ("kv-damage", Invariant::WritesAreFlushedInTime),
        ("kv-damage", Invariant::OtherCopiesAreRead),
        ("kv-damage", Invariant::SuperblocksAreTwo),
        ("kv-damage", Invariant::DurableSuperblockStays),
    ];
    for (subject, rule) in rules {
        let seed = first(subject, |plan| broken(rule, || attempt(plan, None).wrong.is_some()));
        println!("{subject}: {rule:?} is found by seed {seed:?}");
        assert!(seed.is_some(), "{rule:?} was not found in {subject} within 300 seeds");
    }
}

/// Plans that once showed a bug.
#[test]
fn what_was_mended_stays_so() {
    let texts = [
        include_str!("plans/store-on-failed-disk.txt"),
        include_str!("plans/item-evicts-itself.txt"),
        include_str!("plans/full-below-a-store.txt"),
        include_str!("plans/replaced-without-room.txt"),
    ];
    for text in texts {
        assert_eq!(attempt(&text.parse().expect("a plan"), None).wrong, None);
    }
}

#[test]
fn a_plan_comes_back_from_its_text() {
    for subject in ["kv", "block", "ssd"] {
        let target = seeds::target(subject).expect("it is there");
        for seed in 1..200 {
            let plan = target.plan(seed);
            assert_eq!(plan.in_line().parse::<Plan>(), Ok(plan));
        }
    }
}

/// Found by `kv`, seed 105286: the only drive fails a write while a store opens, and the store reports it.
#[test]
fn a_write_that_fails_while_a_store_opens_loses_nothing() {
    let plan: Plan = include_str!("plans/kv-opening-write.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv`, seed 3627.
#[test]
fn a_deferred_get_does_not_return_a_later_set_of_its_client() {
    let plan: Plan = include_str!("plans/kv-get-during-recovery.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv-damage`, seed 605.
#[test]
fn damage_to_a_segment_that_an_opening_ended_is_not_a_write_cut_off() {
    let plan: Plan = include_str!("plans/kv-sealed-damaged.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `block`, seed 252363: one copy of a block is damaged while the other is still to be written.
#[test]
fn a_scrub_reads_copies_of_blocks_in_the_cache() {
    let plan: Plan = include_str!("plans/scrub-of-cached.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv`, seed 200236.
#[test]
fn a_summary_that_was_not_written_is_not_called_durable() {
    let plan: Plan = include_str!("plans/kv-summary-not-written.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv-damage`, seed 209412.
#[test]
fn a_copy_that_is_right_for_one_record_replaces_no_other() {
    let plan: Plan = include_str!("plans/kv-copy-shared.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `arrays`, seed 405374: the read of a scrub overlaps the write of a copy.
#[test]
fn a_scrub_that_reads_a_copy_while_it_is_written_finds_no_damage() {
    let plan: Plan = include_str!("plans/scrub-beside-write.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv`, seed 403801: of a transaction of the journal that a power cut has torn, the old content of
/// one block had the same block checksum as the new one, a CRC-32C, because both end with a CRC-32C of their
/// own.
#[test]
fn a_torn_transaction_of_superblocks_is_not_replayed() {
    let plan: Plan = include_str!("plans/kv-torn-journal.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv-damage`, seed 503691: a descriptor in an old slot lists a block that was written again since,
/// so recovery knows neither of its copies, one of which is damaged.
#[test]
fn recovery_does_not_choose_between_copies_that_it_does_not_know() {
    let plan: Plan = include_str!("plans/kv-copies-damaged.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}

/// Found by `kv`, seed 907427.
#[test]
fn a_delete_does_not_wait_for_a_recovery_that_a_read_only_drive_holds_up() {
    let plan: Plan = include_str!("plans/kv-read-only-in-recovery.txt").parse().expect("a plan");
    assert_eq!(attempt(&plan, None).wrong, None);
}
