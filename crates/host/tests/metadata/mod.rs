//! Invalid array metadata with valid checksums: superblocks, checkpoints, descriptors, summaries, journals,
//! bitmaps. Some of their bytes are changed and the checksums recomputed; then the array is opened, read and
//! written. The array may refuse to open and requests may fail; but nothing may panic, and everything must
//! terminate.
//!
//! Reads are compared with the data written. Wrong data is ruled out where metadata is only a hint
//! (summaries, bitmaps), and counted elsewhere: a map or descriptor that names another, valid block is
//! trusted, because it is the only record of its information.

mod edits;
mod machine;

use self::edits::{Edit, rewrite};
use self::machine::{Image, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::random::Stream;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{Condition, LayoutKind};

fn never_panics(layout: LayoutKind, hole: WriteHole, kinds: &str) {
    let cases = std::env::var("TAILCUT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let image = Image::new(layout, hole);
    let mut missing: Vec<char> = kinds.chars().collect();
    let mut panics = Vec::new();
    for (kind, places) in &image.metadata() {
        let letter = char::from(*kind);
        missing.retain(|&other| other != letter);
        let mut outcome = Outcome::default();
        for case in 0..cases {
            let mut random = Stream::new(case, &format!("{layout} {kind}"));
            let place = places[random.below(places.len() as u64) as usize];
            let mut machine = image.copy();
            if !rewrite(&mut machine, place, &Edit::draw(&mut random), random.below(2) == 0) {
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| image.use_again(&mut machine))) {
                Ok(one) => outcome.add(one),
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                    panics.push(format!("{layout} {letter} case {case}: {text:?}"));
                }
            }
        }
        println!("{layout} {hole} tailcut{letter}: {outcome:?}");
        // Summaries and bitmaps are hints: whatever they contain, reads return correct data.
        if "SI".contains(letter) {
            assert_eq!(outcome.wrong, 0, "{layout} tailcut{letter}");
        }
    }
    assert!(panics.is_empty(), "{}", panics.join("\n"));
    assert!(missing.is_empty(), "{layout}: nothing of {missing:?} was on the drives");
}

#[test]
fn wrong_records_and_journals_of_arrays_in_place() {
    never_panics(LayoutKind::Raid0, WriteHole::Journal, "A");
    never_panics(LayoutKind::Raid5, WriteHole::Journal, "A");
    never_panics(LayoutKind::Raid4, WriteHole::Resync, "AI");
}

#[test]
fn wrong_records_and_descriptors_of_copies() {
    never_panics(LayoutKind::Epochs, WriteHole::Journal, "A");
}

#[test]
fn wrong_records_checkpoints_descriptors_and_summaries_of_logs() {
    for layout in [LayoutKind::LogRaid0, LayoutKind::LogRaid5, LayoutKind::Swan4] {
        never_panics(layout, WriteHole::Journal, "ACMLS");
    }
}

/// Drives have headers of the same checkpoint that differ, each with a valid checksum: nothing shows which of
/// them is right.
#[test]
fn headers_of_one_checkpoint_that_differ_are_refused() {
    /// Offset of the number of rows opened, from the first byte that an edit may change.
    const OPENED: usize = 32;
    for layout in [LayoutKind::LogRaid0, LayoutKind::LogRaid5, LayoutKind::Swan4] {
        let image = Image::new(layout, WriteHole::Journal);
        let metadata = image.metadata();
        let (_, headers) = metadata.iter().find(|(kind, _)| *kind == b'C').expect("a log has checkpoints");
        let drive = headers[0].0;
        let is_refused = |&place: &(usize, usize)| {
            let mut machine = image.copy();
            assert!(rewrite(&mut machine, place, &[Edit::Flip(OPENED, 0)], false));
            let array = machine.open().expect("its superblocks are right");
            matches!(array.condition(), Condition::Failed { why } if why.contains("contradicts itself, or \
                others"))
        };
        let of_drive = headers.iter().filter(|header| header.0 == drive);
        // Only the latest checkpoint counts.
        assert_eq!(of_drive.filter(|place| is_refused(place)).count(), 1, "{layout}");
    }
}
