//! Read classes: under every scheduler, an urgent read overtakes less urgent operations at its chip.

use crate::drives;
use crate::preemption::{LINK, PROGRAM_RESET, READ_ON_CHIP, drive};
use crate::script::{Mix, Played, Sent, play, read, write};
use tailcut_base::config::Choice;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Device, Nanos, Time};
use tailcut_ssd::config::{ChipPolicy, Classes, CommitPolicy, Handling};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, SsdConfig};

const NOW: Time = Time(1_000_000);

/// A queue of regular reads, followed by one read of `class`.
fn behind_a_queue(config: &SsdConfig, class: u8) -> Played {
    let queue = (0..40).map(|n| read(NOW, n, 3));
    play(
        config,
        PreparedState::Sequential,
        &queue.chain([read(NOW + Nanos(5), 50, class)]).collect::<Vec<_>>(),
    )
}

fn with(policy: CommitPolicy) -> SsdConfig {
    let mut config = drive(Handling::Reset);
    config.schedule.commit = policy;
    config
}

#[test]
fn an_urgent_read_waits_for_no_more_than_the_read_that_has_its_chip() {
    for &policy in CommitPolicy::all() {
        for class in [1, 2, 3] {
            let played = behind_a_queue(&with(policy), class);
            let latency = played.latency(40);
            let passes = (READ_ON_CHIP + LINK) * 2;
            assert_eq!(latency <= passes, class < 3, "class {class} under {policy}: {latency}");
        }
    }
}

#[test]
fn on_several_chips_too_an_urgent_read_waits_for_one_transaction() {
    for &policy in CommitPolicy::all() {
        let mut config = with(policy);
        let g = &mut config.geometry;
        (g.channels, g.chips, g.dies, g.planes, g.ready_busy) = (2, 2, 2, 2, ReadyBusy::Chip);
        // Four die/plane slots share a transaction, and two chips share a bus.
        let transaction = Nanos(175 + 20_000) + Nanos(175 + 1_538) * 4;
        let bound = transaction * 2 + Nanos(175 + 1_538) * 8 + LINK * 32;
        for page in 0..16 {
            let queue = (0..400).map(|n| read(NOW, n * 7 % 500, 3));
            let script: Vec<Sent> = queue.chain([read(NOW + Nanos(7_001), 600 + page, 1)]).collect();
            let latency = play(&config, PreparedState::Sequential, &script).latency(400);
            assert!(latency <= bound, "page {page} under {policy}: {latency} > {bound}");
        }
    }
}

#[test]
fn all_reads_are_equal_where_classes_are_not_told() {
    for &policy in CommitPolicy::all() {
        let mut config = with(policy);
        config.schedule.classes = Classes::Equal;
        let latency = |class| behind_a_queue(&config, class).latency(40);
        assert_eq!(latency(1), latency(3), "{policy}");
    }
}

#[test]
fn a_read_costs_the_same_whatever_its_class_when_its_chip_is_idle() {
    for &policy in CommitPolicy::all() {
        for chip in [ChipPolicy::Fifo, ChipPolicy::ReadsFirst] {
            for class in [1, 2, 3] {
                let mut config = with(policy);
                config.schedule.chip = chip;
                if chip == ChipPolicy::Fifo {
                    (config.preempt.program, config.preempt.erase) = (Handling::None, Handling::None);
                }
                let played = play(&config, PreparedState::Sequential, &[read(NOW, 11, class)]);
                assert_eq!(played.latency(0), READ_ON_CHIP + LINK, "class {class} under {policy}, {chip}");
            }
        }
    }
}

/// Everything that the chips did under random reads of `class` and writes.
fn all_done(config: &SsdConfig, class: u8, reads_in_flight: u32) -> Vec<ChipRecord> {
    let load = Mix { reads_in_flight, writes_in_flight: 1, class, writes: 60 };
    load.play(config).records().to_vec()
}

#[test]
fn a_class_changes_nothing_where_no_other_read_waits_and_nothing_is_preempted() {
    for &policy in CommitPolicy::all() {
        let mut config = with(policy);
        (config.preempt.program, config.preempt.erase) = (Handling::None, Handling::None);
        if policy == CommitPolicy::Sos {
            assert_eq!(all_done(&config, 1, 1), all_done(&config, 3, 1));
        }
        // Other schedulers may hold a read back behind a write, which an urgent read overtakes.
        let script = |class| -> Vec<Sent> {
            let at = |n| NOW + Nanos::millis(1) * n;
            (0..200)
                .map(|n| if n % 2 == 0 { write(at(n), n % 50) } else { read(at(n), n * 7 % 50, class) })
                .collect()
        };
        let done = |class| play(&config, PreparedState::Sequential, &script(class)).records().to_vec();
        assert_eq!(done(1), done(3), "{policy}");
        assert!(done(1).iter().any(|r| r.kind == Kind::Erase), "there is collection");
    }
}

#[test]
fn a_limit_of_no_suspensions_and_resets_is_as_good_as_no_preemption() {
    let records = |handling, limit| {
        let mut config = drive(handling);
        (config.preempt.suspensions, config.preempt.resets) = (limit, limit);
        all_done(&config, 1, 1)
    };
    let never = records(Handling::None, 16);
    for handling in [Handling::Suspend, Handling::Reset] {
        assert_eq!(records(handling, 0), never);
        assert_ne!(records(handling, 1), never);
    }
}

#[test]
fn behind_force_unit_access_an_urgent_read_keeps_its_place() {
    for &policy in CommitPolicy::all() {
        let queue = (0..20).map(|n| read(NOW, n, 3));
        let mut forced = read(NOW, 30, 3);
        forced.command.fua = true;
        let mut script: Vec<Sent> = queue.chain([forced]).collect();
        script.push(read(NOW + Nanos(5), 50, 1));
        let mut config = with(policy);
        (config.preempt.program, config.preempt.erase) = (Handling::None, Handling::None);
        let played = play(&config, PreparedState::Sequential, &script);
        let start = |number| played.of(number)[0].start;
        assert!(start(20) >= (0..20).map(start).max().expect("there are some"), "{policy}");
        assert!(start(21) > start(20), "{policy}");
        // Submitted before the FUA read, the urgent read goes first.
        script[21].at = NOW;
        script.swap(20, 21);
        let played = play(&config, PreparedState::Sequential, &script);
        let start = |number| played.of(number)[0].start;
        assert!(start(20) < start(2), "{policy}");
    }
}

#[test]
fn collection_goes_before_writes_only_where_blocks_are_short() {
    let mut config = drives::plane(24, 8);
    config.schedule.commit = CommitPolicy::Sos;
    config.schedule.chip = ChipPolicy::ReadsFirst;
    // Collection has work long before free blocks run short.
    (config.gc.low, config.gc.high) = (7, 7);
    config.ftl.spare = 450_000;
    let burst: Vec<Sent> = (0..150).map(|n| write(NOW, n * 37 % 100)).collect();
    let mut played = play(&config, PreparedState::Sequential, &burst);
    let ControlReply::Blocks(at_the_end) = played.ssd.control(NOW, Control::FreeBlocks) else {
        panic!("the drive knows how many blocks are free")
    };
    let opens = |r: &ChipRecord| {
        !r.kind.is_read() && r.kind != Kind::Erase && r.members[0].physical.get().is_multiple_of(8)
    };
    let last_write = played.last(Kind::UserWrite).start;
    let (mut free, mut ahead, mut later) = (at_the_end, 0, 0);
    for record in played.records().iter().rev() {
        // The number of free blocks when this transaction was chosen.
        free = free + u64::from(opens(record)) - u64::from(record.kind == Kind::Erase);
        let is_collection = !matches!(record.kind, Kind::UserRead | Kind::UserWrite);
        if is_collection && record.start < last_write {
            assert!(free <= 1, "{record:?} went before a write with {free} free blocks");
            ahead += 1;
        }
        later += usize::from(is_collection && record.start > last_write);
    }
    assert!(ahead > 0 && later > 0, "{ahead} ahead of writes, {later} after them");
}

#[test]
fn a_read_that_was_held_back_behind_a_write_preempts_it_when_it_begins() {
    for &policy in CommitPolicy::all() {
        let mut config = with(policy);
        config.schedule.classes = Classes::Equal;
        // The first read occupies the chip, the write is committed behind it, and the second read is not
        // committed until the write has left the queue.
        let script = [read(NOW, 1, 3), write(NOW + Nanos(100), 2), read(NOW + Nanos(10_000), 3, 3)];
        let played = play(&config, PreparedState::Sequential, &script);
        let command_of_write = Nanos(175 + 1_538);
        let bound = READ_ON_CHIP * 2 + command_of_write + PROGRAM_RESET + LINK;
        assert!(played.latency(2) <= bound, "{policy}: {} > {bound}", played.latency(2));
    }
}
