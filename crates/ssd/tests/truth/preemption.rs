//! Preemption of programs and erases by reads: its exact duration in nanoseconds, how often it can happen,
//! and the fate of the data.

use crate::drives;
use crate::script::{Played, Sent, play, read, write};
use tailcut_base::{Cause, Nanos, Time};
use tailcut_ssd::config::{ChipPolicy, Classes, CommitPolicy, Handling};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, SsdConfig};

pub(crate) const PROGRAM_SUSPEND: Nanos = Nanos(13_003);
pub(crate) const PROGRAM_RESUME: Nanos = Nanos(1_009);
pub(crate) const PROGRAM_RESET: Nanos = Nanos(5_021);
pub(crate) const ERASE_SUSPEND: Nanos = Nanos(41_017);
pub(crate) const ERASE_RESUME: Nanos = Nanos(2_011);
pub(crate) const ERASE_RESET: Nanos = Nanos(17_041);

/// Command, cells and data transfer of a read: 7 cycles of 25 ns, 20 µs, 512 B at 333 MB/s.
pub(crate) const READ_ON_CHIP: Nanos = Nanos(175 + 20_000 + 1_538);
/// Link time of 512 B at 3.938 GB/s.
pub(crate) const LINK: Nanos = Nanos(131);

/// One plane whose times all differ.
pub(crate) fn drive(handling: Handling) -> SsdConfig {
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 500_000;
    config.schedule.commit = CommitPolicy::Sos;
    config.schedule.chip = ChipPolicy::ReadsFirst;
    config.preempt.program = handling;
    config.preempt.erase = handling;
    let t = &mut config.timing;
    (t.program_suspend, t.program_resume, t.program_reset) = (PROGRAM_SUSPEND, PROGRAM_RESUME, PROGRAM_RESET);
    (t.erase_suspend, t.erase_resume, t.erase_reset) = (ERASE_SUSPEND, ERASE_RESUME, ERASE_RESET);
    config
}

/// Time to take a chip from an operation, and the cost of resuming.
pub(crate) fn costs(kind: Kind, handling: Handling) -> (Nanos, Nanos) {
    match (kind, handling) {
        (Kind::Erase, Handling::Suspend) => (ERASE_SUSPEND, ERASE_RESUME),
        (Kind::Erase, _) => (ERASE_RESET, Nanos::ZERO),
        (_, Handling::Suspend) => (PROGRAM_SUSPEND, PROGRAM_RESUME),
        _ => (PROGRAM_RESET, Nanos::ZERO),
    }
}

/// Writes with long pauses from `from` on, until collection has erased a block.
fn writes(from: Time) -> Vec<Sent> {
    (0..80).map(|n| write(from + Nanos::millis(2) * n, n % 40)).collect()
}

/// Runs the writes without reads; returns the first operation of `kind`.
fn undisturbed(config: &SsdConfig, kind: Kind, from: Time) -> (Played, ChipRecord) {
    let played = play(config, PreparedState::Sequential, &writes(from));
    let record = played.first(kind, from).clone();
    (played, record)
}

/// Runs the writes together with `reads` of a page that they do not touch.
fn disturbed(config: &SsdConfig, from: Time, reads: &[(Time, u8)]) -> Played {
    let reads = reads.iter().map(|&(at, class)| read(at, 50, class));
    play(config, PreparedState::Sequential, &writes(from).into_iter().chain(reads).collect::<Vec<_>>())
}

/// Times at which a read may arrive during an operation: in the command phase, at its end, in the middle of
/// the cell time, and when less time is left than preemption takes.
fn moments(operation: &ChipRecord) -> [Time; 5] {
    let (start, cells, end) = (operation.start, operation.command_end, operation.end);
    [start + Nanos(1), cells, cells + Nanos(7_777), Time(end.0 - 50_000), Time(end.0 - 3_001)]
}

/// The class of reads that may use exactly this handling.
pub(crate) fn class_for(handling: Handling) -> u8 {
    3 - handling as u8
}

/// The time from which the operation can be stopped, and whether it is stopped.
fn is_taken(config: &SsdConfig, operation: &ChipRecord, at: Time, takes: Nanos) -> (Time, bool) {
    let begin = at.max(operation.command_end);
    let is_quicker = operation.end.since(begin) > takes;
    (begin, is_quicker || !config.preempt.when_quicker)
}

fn check_read(played: &Played, kind: Kind, handling: Handling, at: Time, waits: Nanos, is_taken: bool) {
    let number = played.number(at);
    let label = format!("{kind:?} {handling} at {at}");
    assert_eq!(played.latency(number), waits + READ_ON_CHIP + LINK, "{label}");
    let cause = match (is_taken, handling, kind) {
        (true, Handling::Suspend, _) => Cause::ChipSuspend,
        (true, Handling::Reset, _) => Cause::ChipReset,
        (_, _, Kind::Erase) => Cause::ChipErase,
        _ => Cause::ChipUserWrite,
    };
    assert_eq!(played.span(number, cause), waits, "{label}");
}

#[test]
fn a_read_waits_for_the_handover_of_its_chip_and_no_longer() {
    // Long after the start and right at it: how long the chip was idle before must not delay the read.
    for from in [Time(1_000_000), Time(500_000_000)] {
        for handling in [Handling::None, Handling::Suspend, Handling::Reset] {
            for (kind, when_quicker) in
                [Kind::UserWrite, Kind::Erase].map(|k| [(k, true), (k, false)]).concat()
            {
                let mut config = drive(handling);
                config.preempt.when_quicker = when_quicker;
                let (_, operation) = undisturbed(&config, kind, from);
                for at in moments(&operation) {
                    let played = disturbed(&config, from, &[(at, class_for(handling))]);
                    let takes = costs(kind, handling).0;
                    let (begin, is_quicker) = is_taken(&config, &operation, at, takes);
                    let is_taken = handling != Handling::None && is_quicker;
                    let waits = if is_taken { begin.since(at) + takes } else { operation.end.since(at) };
                    check_read(&played, kind, handling, at, waits, is_taken);
                }
            }
        }
    }
}

#[test]
fn what_was_suspended_ends_later_by_what_it_stood_still_and_its_resumption() {
    for kind in [Kind::UserWrite, Kind::Erase] {
        let config = drive(Handling::Suspend);
        let (_, whole) = undisturbed(&config, kind, Time(1_000_000));
        let (takes, resume) = costs(kind, Handling::Suspend);
        for at in &moments(&whole)[..4] {
            let played = disturbed(&config, Time(1_000_000), &[(*at, 2)]);
            let stood = takes + READ_ON_CHIP + resume;
            let record = played.first(kind, whole.start);
            assert_eq!((record.suspensions, record.suspended), (1, stood), "{kind:?} at {at}");
            assert_eq!((record.start, record.end), (whole.start, whole.end + stood), "{kind:?} at {at}");
            if let Some(write) = record.members[0].command {
                assert_eq!(played.span(write.0, Cause::Suspended), stood);
                assert_eq!(played.span(write.0, Cause::Cell), Nanos::micros(100));
            }
        }
    }
}

#[test]
fn what_was_reset_is_done_again_behind_the_read() {
    for kind in [Kind::UserWrite, Kind::Erase] {
        let config = drive(Handling::Reset);
        let (_, whole) = undisturbed(&config, kind, Time(1_000_000));
        for at in &moments(&whole)[..4] {
            let played = disturbed(&config, Time(1_000_000), &[(*at, 1)]);
            let taken = (*at).max(whole.command_end) + costs(kind, Handling::Reset).0;
            let reset = played.records().iter().find(|r| r.outcome == Outcome::Reset).expect("it was reset");
            assert_eq!((reset.kind, reset.start, reset.end), (kind, whole.start, taken), "at {at}");
            assert!(reset.cell_end <= reset.end && reset.out_start <= reset.end, "{reset:?}");
            let again = played.first(kind, whole.start);
            assert_eq!(again.start, taken + READ_ON_CHIP, "at {at}");
            assert_eq!(again.end.since(again.start), whole.end.since(whole.start));
            let Some(write) = again.members[0].command else { continue };
            // Only the failed attempt counts, not the wait before it.
            assert_eq!(played.span(write.0, Cause::Retry), taken.since(whole.start));
            assert_eq!(played.span(write.0, Cause::Link), LINK);
            assert_eq!(played.span(write.0, Cause::ChipUserRead), READ_ON_CHIP);
            assert_eq!(played.span(write.0, Cause::Cell), Nanos::micros(100));
        }
    }
}

#[test]
fn reads_that_come_while_a_chip_is_suspended_go_before_it_is_resumed() {
    let config = drive(Handling::Suspend);
    for kind in [Kind::UserWrite, Kind::Erase] {
        let (_, whole) = undisturbed(&config, kind, Time(1_000_000));
        let (takes, resume) = costs(kind, Handling::Suspend);
        let at = whole.command_end + Nanos(20_000);
        // One read arrives during the suspension, and two more during the first read; the more urgent of
        // those goes first.
        let reading = at + takes + Nanos(9);
        let times = [at, at + (takes - Nanos(3)), reading, reading + Nanos(1)];
        let played = disturbed(
            &config,
            Time(1_000_000),
            &[(times[0], 2), (times[1], 3), (times[2], 3), (times[3], 1)],
        );
        let ends = times.map(|at| played.ended(played.number(at)));
        let slot = |n: u64| at + takes + READ_ON_CHIP * n + LINK;
        assert_eq!(ends, [slot(1), slot(3), slot(4), slot(2)], "{kind:?}");
        let record = played.first(kind, whole.start);
        assert_eq!((record.suspensions, record.suspended), (1, takes + READ_ON_CHIP * 4 + resume));
    }
}

#[test]
fn a_read_of_a_class_does_what_the_class_allows() {
    let config = drive(Handling::Reset);
    let (_, whole) = undisturbed(&config, Kind::Erase, Time(1_000_000));
    let at = whole.command_end + Nanos(20_000);
    let latency = |class: u8, classes: Classes| {
        let mut config = config.clone();
        config.schedule.classes = classes;
        let played = disturbed(&config, Time(1_000_000), &[(at, class)]);
        played.latency(played.number(at)) - READ_ON_CHIP - LINK
    };
    let wait = whole.end.since(at);
    for (class, waits) in [(1, ERASE_RESET), (2, ERASE_SUSPEND), (3, wait)] {
        assert_eq!(latency(class, Classes::Told), waits, "class {class}");
        assert_eq!(latency(class, Classes::Equal), ERASE_RESET, "class {class}, all equal");
    }
}
