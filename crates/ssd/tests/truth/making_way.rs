//! Random loads on random drives with preemption: whatever is suspended or reset, a read returns the last
//! data written.

use crate::content::Swarm;
use crate::drives;
use tailcut_base::Nanos;
use tailcut_base::random::Stream;
use tailcut_ssd::config::{ChipPolicy, Classes, Handling, MappingLevel};
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::{Counters, SsdConfig};

/// Handling of programs and erases: reset, suspend, and one of each.
const HANDLINGS: [(Handling, Handling); 4] = [
    (Handling::Reset, Handling::Reset),
    (Handling::Suspend, Handling::Suspend),
    (Handling::Reset, Handling::Suspend),
    (Handling::Suspend, Handling::Reset),
];

const SWARM: Swarm = Swarm { name: "making way", cases: 900, length: 250, reads: true, controls: false };

/// Enables preemption on every drive, in different ways and with short times. All else stays random:
/// schedulers, buffers, faults, parts of SOS.
fn tune(drive: &mut SsdConfig, seed: u64) {
    let mut r = Stream::new(seed, "test.making-way");
    drive.schedule.chip = ChipPolicy::ReadsFirst;
    drive.gc.preemptible = true;
    (drive.preempt.program, drive.preempt.erase) = HANDLINGS[(seed % 4) as usize];
    if drive.ftl.mapping == MappingLevel::Block && drive.preempt.program == Handling::Reset {
        drive.preempt.program = Handling::Suspend;
    }
    (drive.preempt.suspensions, drive.preempt.resets) =
        ([1, 16][r.below(2) as usize], [1, 3, 255][r.below(3) as usize]);
    drive.schedule.write_patience = Nanos::micros([200, 1000, 10_000][r.below(3) as usize]);
    let t = &mut drive.timing;
    let short = |r: &mut Stream| Nanos([0, 1, 900, 4000][r.below(4) as usize]);
    (t.program_suspend, t.program_resume, t.program_reset) = (short(&mut r), short(&mut r), short(&mut r));
    (t.erase_suspend, t.erase_resume, t.erase_reset) = (short(&mut r), short(&mut r), short(&mut r));
    drive.check_preemption().expect("a drive that can preempt");
}

/// Number of drives for which `count` is nonzero.
fn met(counts: &[Counters], count: impl Fn(&Counters) -> u64) -> usize {
    counts.iter().filter(|counts| count(counts) > 0).count()
}

#[test]
fn a_drive_that_makes_way_for_reads_returns_what_was_written_last() {
    let counts = SWARM.counts(tune);
    // A swarm that meets none of these proves nothing.
    for (name, met) in [
        ("program suspended", met(&counts, |c| c.program_suspends)),
        ("erase suspended", met(&counts, |c| c.erase_suspends)),
        ("program reset", met(&counts, |c| c.program_resets)),
        ("erase reset", met(&counts, |c| c.erase_resets)),
        ("page restored", met(&counts, |c| c.pages_restored)),
        ("more spoiled than reset", met(&counts, |c| c.pages_spoiled.saturating_sub(c.program_resets))),
        ("reset beside collection", met(&counts, |c| c.pages_restored.min(c.programmed_gc))),
        ("reset and a failed program", met(&counts, |c| c.program_resets.min(c.program_failures))),
        ("reset and a failed erase", met(&counts, |c| c.erase_resets.min(c.erase_failures))),
        ("program moved to an idle chip", met(&counts, |c| c.levelled_queues)),
        ("read shared with collection", met(&counts, |c| c.merged_reads)),
        ("moved and reset", met(&counts, |c| c.levelled_queues.min(c.program_resets))),
    ] {
        println!("{name}: {met} of {} drives", counts.len());
        assert!(met > 0, "no drive has met this: {name}");
    }
}

#[test]
fn a_worn_drive_that_makes_way_for_reads_returns_what_was_written_last() {
    let swarm = Swarm { name: "making way, worn", cases: 300, length: 400, reads: true, controls: false };
    for (capacitor, pages_buffered) in [(false, 0), (true, 0), (false, 4), (true, 4)] {
        let counts = Swarm { cases: swarm.cases / 4, ..swarm }.counts(|drive, seed| {
            tune(drive, seed);
            drive.buffer.capacitor = capacitor;
            drive.buffer.size = drive.geometry.page_bytes * pages_buffered;
            (drive.faults.program_fail, drive.faults.erase_fail) = (0.05, 0.05);
        });
        assert!(met(&counts, |c| c.program_resets.min(c.program_failures)) > 0);
        assert!(met(&counts, |c| c.erase_resets) > 0);
        // Without a capacitor, acknowledged data stays on flash, so only collection's copies and
        // unacknowledged data can be restored.
        assert!(!capacitor || met(&counts, |c| c.pages_restored) > 0);
    }
}

/// With random drives that reset programs of several bits per cell, checks detect a broken word-line rule,
/// and report nothing otherwise.
fn swarm_notices(rule: Invariant) {
    let tune = |drive: &mut SsdConfig, seed: u64| {
        tune(drive, seed);
        drive.ftl.mapping = MappingLevel::Page;
        drive.timing.cell = [CellKind::Mlc, CellKind::Tlc][(seed % 2) as usize];
        (drive.timing.program, drive.timing.read) = drives::times(drive.timing.cell);
        drive.preempt.program = Handling::Reset;
        drive.schedule.classes = Classes::Equal;
        drive.buffer.capacitor = true;
        drive.ftl.spare = drives::least_spare(drive);
    };
    let swarm = Swarm { name: "word lines", cases: 200, length: 200, reads: true, controls: false };
    assert_eq!(swarm.fails(tune), None);
    let failure = broken(rule, || swarm.fails(tune));
    assert!(failure.is_some(), "no load noticed that {rule:?} does not hold");
}

#[test]
fn what_a_reset_has_spoiled_is_taken_back() {
    swarm_notices(Invariant::RestoreWordLine);
}

#[test]
fn reads_that_wait_for_a_spoiled_page_get_the_copy() {
    swarm_notices(Invariant::KeepForReads);
}

#[test]
fn no_page_of_a_spoiled_word_line_is_programmed() {
    swarm_notices(Invariant::LeaveWordLine);
}
