//! Commands that AHCI does not queue have exclusive use of the drive.

use crate::drives;
use crate::script::{Played, Sent, play, read, write};
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Command, Nanos, Op, Time};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::Protocol;
use tailcut_ssd::precondition::PreparedState;

const TRIM: Nanos = Nanos(4_000_000);

fn drive(protocol: Protocol) -> SsdConfig {
    let mut config = drives::with_high(3);
    config.queue.protocol = protocol;
    if protocol == Protocol::Ahci {
        (config.queue.depth, config.queue.trim) = (32, TRIM);
    }
    config
}

fn other(at: u64, op: Op, page: u64) -> Sent {
    let sent = write(Time(at), page);
    Sent { command: Command { op, ..sent.command }, ..sent }
}

/// From the time at which the drive starts a command to its completion.
fn span(played: &Played, number: u32) -> (u64, u64) {
    let waited = played.span(number, Cause::QueueDrain);
    ((played.sent[number as usize].at + waited).0, played.ended(number).0)
}

#[test]
fn a_trim_waits_for_what_came_before_and_has_the_drive_to_itself() {
    let script = [read(Time(0), 1, 3), other(10, Op::Trim, 2), read(Time(20), 3, 3), read(Time(30), 9, 3)];
    let played = play(&drive(Protocol::Ahci), PreparedState::Sequential, &script);
    let [first, trim, second, third] = [0, 1, 2, 3].map(|number| span(&played, number));
    assert_eq!(first.0, 0);
    assert_eq!((trim.0, second.0, third.0), (first.1, trim.1, trim.1));
    assert!(trim.1 - trim.0 >= TRIM.0 && trim.1 - trim.0 < TRIM.0 + 10_000);
    // Both reads behind it wait for one plane, so they are serialised.
    assert!(second.1 < third.1 && third.1 - second.0 < 2 * 40_000);
}

#[test]
fn over_nvme_nobody_waits_for_a_trim() {
    let script = [read(Time(0), 1, 3), other(10, Op::Trim, 2), read(Time(20), 3, 3)];
    let played = play(&drive(Protocol::Nvme), PreparedState::Sequential, &script);
    assert!(played.ended(1) < played.ended(0));
    assert!((0..3).all(|number| played.span(number, Cause::QueueDrain) == Nanos::ZERO));
}

/// Whatever is sent and when: while the drive executes a trim or flush it executes nothing else, commands
/// start in arrival order, and all complete.
#[test]
fn nothing_overlaps_a_command_that_is_not_queued() {
    let mut overlapping = 0;
    for seed in 0..200 {
        let mut random = Stream::new(seed, "test.unqueued");
        let mut config = drive(Protocol::Ahci);
        config.buffer.size = 512 * random.below(8);
        config.buffer.capacitor = random.below(2) == 0;
        config.queue.trim = Nanos(random.below(3) * 100_000);
        let mut at = 0;
        let script: Vec<Sent> = (0..30)
            .map(|_| {
                at += random.below(60_000);
                let op =
                    [Op::Read, Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][random.below(6) as usize];
                other(at, op, random.below(76))
            })
            .collect();
        let played = play(&config, PreparedState::Sequential, &script);
        let spans: Vec<(u64, u64)> = (0..30).map(|number| span(&played, number)).collect();
        assert!(spans.is_sorted_by_key(|span| span.0), "seed {seed}: {spans:?}");
        for (a, one) in spans.iter().enumerate() {
            for (b, two) in spans.iter().enumerate().skip(a + 1) {
                let overlaps = two.0 < one.1;
                let is_alone = |number: usize| matches!(script[number].command.op, Op::Trim | Op::Flush);
                assert!(!overlaps || !is_alone(a) && !is_alone(b), "seed {seed}: {a} and {b} of {spans:?}");
                overlapping += u32::from(overlaps);
            }
        }
    }
    assert!(overlapping > 200, "what is queued is worked on side by side");
}
