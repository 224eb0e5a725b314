//! Fail-fast reads: which of them fail, when they complete, and whether the busy time that they report is
//! accurate.

use crate::drives;
use crate::script::{self, Played, Sent, failing_fast, play_in_windows, read, write};
use tailcut_base::control::Windows;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Nanos, Status, Time};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::{ChipPolicy, CommitPolicy, FailFast, Handling};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;

/// Firmware and link time of the command: the latency of a read that fails.
const ANSWER: Nanos = Nanos(1_531 + 419);
/// Bus time of a 512-byte page at 333 MB/s with its command, for reads and programs.
const BUS: u64 = 7 * 25 + 1538;
const GC_READ: u64 = BUS + 20_000;
const GC_COPY: u64 = GC_READ + BUS + 100_000;

/// Start of collection.
const OPENS: Time = Time(50_000_000);

/// One plane that collects from [`OPENS`] on: three blocks of five valid pages each.
fn drive() -> SsdConfig {
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 400_000;
    (config.gc.low, config.gc.high) = (2, 6);
    config.queue.firmware = Nanos(1_531);
    config.link.command = Nanos(419);
    config
}

fn play(config: &SsdConfig, script: &[Sent]) -> Played {
    let windows = Windows { from: OPENS, period: Nanos::millis(100), length: Nanos::millis(100) };
    let pages = (0..4).flat_map(|block| (0..3).map(move |page| block * 8 + page));
    let garbage = pages.zip(0..).map(|(page, n)| write(Time(200_000 * n), page));
    let all: Vec<Sent> = garbage.chain(script.iter().copied()).collect();
    play_in_windows(config, PreparedState::Sequential, Some(windows), &all)
}

/// Outcome of a fail-fast read of page 70, sent `after` ns into collection: its status, the time until which
/// it reports the chip as busy, and the time at which an equal read that waits gets the chip.
fn probe(config: &SsdConfig, after: u64, class: u8) -> (Status, Time, Time) {
    let at = OPENS + Nanos(after);
    let failing = play(config, &[failing_fast(read(at, 70, class))]);
    let number = failing.number(at);
    let done = failing.done(number);
    if done.status == Status::Contended {
        assert_eq!(done.at, at + ANSWER);
        assert_eq!(done.spans.of(Cause::Controller) + done.spans.of(Cause::Link), ANSWER);
        assert!(failing.of(number).is_empty(), "nothing of it came to a chip");
        assert_eq!(failing.counts().contended_reads, 1);
    }
    let waiting = play(config, &[read(at, 70, class)]);
    (done.status, done.at + done.busy_for, waiting.of(number)[0].start)
}

#[test]
fn a_read_that_meets_collection_fails_at_once_and_knows_for_how_long() {
    for (after, end) in [
        (1, GC_READ),
        (GC_READ - ANSWER.0, GC_READ),
        (GC_READ, GC_COPY),
        (50_000, GC_COPY),
        (GC_COPY - 5_000, GC_COPY),
        (5 * GC_COPY + 1, 5 * GC_COPY + 125 + 300_000),
    ] {
        let (status, told, real) = probe(&drive(), after, 3);
        assert_eq!(
            (status, told, real),
            (Status::Contended, OPENS + Nanos(end), OPENS + Nanos(end)),
            "{after}"
        );
    }
}

#[test]
fn the_remaining_time_is_counted_from_the_answer_on() {
    // The chip is free again before the host receives the completion.
    let at = OPENS + Nanos(GC_COPY - 100);
    let played = play(&drive(), &[failing_fast(read(at, 70, 3))]);
    let done = played.done(played.number(at));
    assert_eq!((done.status, done.at, done.busy_for), (Status::Contended, at + ANSWER, Nanos::ZERO));
}

#[test]
fn a_read_that_meets_no_collection_does_not_fail() {
    // Long before collection, while the chip is idle; and after all three blocks have been collected.
    for at in [Time(40_000_000), OPENS + Nanos::millis(10)] {
        let played = play(&drive(), &[failing_fast(read(at, 70, 3))]);
        assert_eq!(played.done(played.number(at)).status, Status::Success);
    }
}

/// Reads of other pages of the chip; one of them has started.
#[test]
fn other_reads_contend_only_where_anything_does() {
    let (begun, at) = (Time(30_000_000), Time(30_010_000));
    for what in [FailFast::Collection, FailFast::Writes, FailFast::Anything] {
        for queued in [0, 1, 3] {
            let mut config = drive();
            config.schedule.fail_fast = what;
            (config.schedule.commit, config.schedule.chip) = (CommitPolicy::Sos, ChipPolicy::ReadsFirst);
            let mut script: Vec<Sent> = (0..=queued).map(|n| read(begun, 60 + n, 3)).collect();
            script.push(failing_fast(read(at, 70, 3)));
            let played = play(&config, &script);
            let done = played.done(played.number(at));
            if what != FailFast::Anything {
                assert_eq!(done.status, Status::Success, "{what}, {queued} queued");
                continue;
            }
            assert_eq!(done.status, Status::Contended, "{queued} queued");
            *script.last_mut().expect("there is one") = read(at, 70, 3);
            let waiting = play(&config, &script);
            let real = waiting.of(waiting.number(at))[0].start;
            // The next read's command is transferred while the previous read's data is ready.
            assert_eq!(done.at + done.busy_for, real, "{queued} queued");
        }
    }
}

/// A program that a read of class 1 can reset within 30 µs is no reason to fail, except under
/// [`FailFast::Anything`].
#[test]
fn a_preemption_contends_only_where_anything_does() {
    let (begun, at) = (Time(30_000_000), Time(30_020_000));
    for (what, status) in [(FailFast::Writes, Status::Success), (FailFast::Anything, Status::Contended)] {
        let mut config = drive();
        config.schedule.fail_fast = what;
        (config.schedule.commit, config.schedule.chip) = (CommitPolicy::Sos, ChipPolicy::ReadsFirst);
        config.preempt.program = Handling::Reset;
        let mut script = vec![write(begun, 60), failing_fast(read(at, 70, 1))];
        let played = play(&config, &script);
        let done = played.done(played.number(at));
        assert_eq!(done.status, status, "{what}");
        if status == Status::Contended {
            script[1] = read(at, 70, 1);
            let waiting = play(&config, &script);
            assert_eq!(done.at + done.busy_for, waiting.of(waiting.number(at))[0].start);
            assert_eq!(waiting.of(waiting.number(at))[0].start, at + Nanos(30_000));
        }
    }
}

#[test]
fn a_read_that_does_not_ask_for_it_waits() {
    let at = OPENS + Nanos(1);
    let played = play(&drive(), &[read(at, 70, 3)]);
    assert_eq!(played.done(played.number(at)).status, Status::Success);
    assert_eq!(played.counts().contended_reads, 0);
}

#[test]
fn programs_of_the_host_contend_only_where_that_is_asked_for() {
    let (begun, at) = (Time(30_000_000), Time(30_010_000));
    for (what, status) in [(FailFast::Collection, Status::Success), (FailFast::Writes, Status::Contended)] {
        for queued in [0, 2] {
            let mut config = drive();
            config.schedule.fail_fast = what;
            // All writes are committed as they arrive.
            config.schedule.commit = CommitPolicy::Sos;
            let mut script: Vec<Sent> = (0..=queued).map(|n| write(begun, 60 + n)).collect();
            script.push(failing_fast(read(at, 70, 3)));
            let played = play(&config, &script);
            let number = played.number(at);
            assert_eq!(played.done(number).status, status, "{what}, {queued} queued");
            if status == Status::Contended {
                *script.last_mut().expect("there is one") = read(at, 70, 3);
                let waiting = play(&config, &script);
                let told = played.ended(number) + played.done(number).busy_for;
                assert_eq!(told, waiting.of(number)[0].start, "{queued} queued");
            }
        }
    }
}

#[test]
fn a_collection_that_is_not_preemptible_is_waited_for_to_its_end() {
    let mut config = drive();
    config.gc.preemptible = false;
    // The third block is the last; nothing follows it.
    let third = 2 * (5 * GC_COPY + 125 + 300_000);
    for chip in [ChipPolicy::Fifo, ChipPolicy::ReadsFirst] {
        config.schedule.chip = chip;
        for after in [1, GC_READ + 1, GC_COPY + 7, 4 * GC_COPY + GC_READ, 5 * GC_COPY + 9] {
            let (status, told, real) = probe(&config, third + after, 3);
            assert_eq!((status, told), (Status::Contended, real), "{chip}, {after}");
        }
    }
}

#[test]
fn a_read_that_may_preempt_does_not_fail_for_what_it_preempts() {
    let mut config = drive();
    config.schedule.chip = ChipPolicy::ReadsFirst;
    config.preempt.program = Handling::Suspend;
    config.timing.program_suspend = Nanos(3_000);
    let status = |class| probe(&config, 50_000, class).0;
    assert_eq!((status(1), status(2), status(3)), (Status::Success, Status::Success, Status::Contended));
}

#[test]
fn reads_from_the_buffer_and_of_nothing_do_not_fail() {
    let mut config = drive();
    config.buffer.size = 64 * 512;
    config.buffer.flush_above = 500_000;
    let at = OPENS + Nanos(50_000);
    // Page 70 is in the buffer, page 71 on flash.
    let script = [write(OPENS, 70), failing_fast(read(at, 70, 3))];
    let windows = Windows { from: OPENS, period: Nanos::millis(100), length: Nanos::millis(100) };
    let pages = (0..4).flat_map(|block| (0..12).map(move |page| block * 8 + page % 3));
    let garbage = pages.zip(0..).map(|(page, n)| write(Time(200_000 * n), page));
    let all: Vec<Sent> = garbage.chain(script).chain([failing_fast(read(at + Nanos(1), 71, 3))]).collect();
    let played = play_in_windows(&config, PreparedState::Sequential, Some(windows), &all);
    assert_eq!(played.done(played.number(at)).status, Status::Success);
    // An unwritten page needs no wait, either.
    let empty = play_in_windows(&config, PreparedState::Empty, None, &[failing_fast(read(Time(5), 3, 3))]);
    assert_eq!(empty.done(0).status, Status::Success);
}

#[test]
fn a_read_of_several_pages_fails_as_a_whole() {
    let mut config = drive();
    config.geometry.channels = 2;
    config.ftl.allocation = tailcut_ssd::config::Allocation::Static;
    let windows = Windows { from: OPENS, period: Nanos::millis(100), length: Nanos::millis(100) };
    // Even pages are in the first plane, the only one with garbage.
    let pages = (0..4).flat_map(|block| (0..3).map(move |page| (block * 8 + page) * 2));
    let garbage: Vec<Sent> = pages.zip(0..).map(|(page, n)| write(Time(200_000 * n), page)).collect();
    let at = OPENS + Nanos(50_000);
    let several = |first: u64, sectors: u32| {
        let mut sent = failing_fast(read(at, first, 3));
        sent.command.sectors = sectors;
        sent
    };
    for (first, sectors, status) in [
        (101, 1, Status::Success),
        (100, 1, Status::Contended),
        (100, 2, Status::Contended),
        (101, 2, Status::Contended),
        (101, 8, Status::Contended),
    ] {
        let script: Vec<Sent> = garbage.iter().copied().chain([several(first, sectors)]).collect();
        let played = play_in_windows(&config, PreparedState::Sequential, Some(windows), &script);
        let number = played.number(at);
        let done = played.done(number);
        assert_eq!(done.status, status, "{sectors} pages from {first}");
        if status == Status::Contended {
            assert_eq!((done.at, done.at + done.busy_for), (at + ANSWER, OPENS + Nanos(GC_COPY)));
            assert!(played.of(number).is_empty(), "no page of it came to a chip");
            assert!(played.first(Kind::GcRead, OPENS).start == OPENS);
        }
    }
}

/// A read also waits for those pages of a program that wait for the bus behind commands of another chip.
#[test]
fn a_read_may_come_while_a_program_waits_for_the_bus() {
    let mut waited = 0;
    for seed in 0..200 {
        let mut config = drives::plane(16, 8);
        (config.geometry.chips, config.geometry.planes) = (8, 4);
        // A busy bus: transferring a page takes as long as reading the cells.
        config.timing.bus /= 10;
        config.timing.program = vec![Nanos::micros(20)];
        config.ftl.spare = 400_000;
        config.schedule.commit = CommitPolicy::Sos;
        config.schedule.chip = ChipPolicy::ReadsFirst;
        config.schedule.fail_fast = FailFast::Anything;
        (config.preempt.program, config.preempt.when_quicker) = (Handling::Suspend, true);
        config.timing.program_suspend = Nanos(3_000);
        let mut random = Stream::new(seed, "test.bus");
        let page = |random: &mut Stream| random.below(2000);
        let mut script = Vec::new();
        for burst in 0..10 {
            let at = Time(1_000_000 + 2_000_000 * burst);
            script.extend((0..80).map(|_| write(at, page(&mut random))));
            for number in 0..80 {
                let (at, page) = (at + Nanos(random.below(1_500_000)), page(&mut random));
                script.push(if number % 2 == 0 {
                    failing_fast(read(at, page, 2))
                } else {
                    read(at, page, 1)
                });
            }
        }
        let played = script::play(&config, PreparedState::Sequential, &script);
        waited += played.counts().contended_reads;
    }
    assert!(waited > 0, "no read met a program");
}
