//! The parts of software-based out-of-order scheduling, each switched on and off (Hahn, Lee and Kim, MSST
//! 2013; PAReset, sections 2.1 and 2.2).

use crate::content::Swarm;
use crate::preemption::{LINK, READ_ON_CHIP, drive};
use crate::script::{Mix, Played, Sent, play, read, write};
use tailcut_base::{Cause, Nanos, Time};
use tailcut_ssd::config::{Allocation, CommitPolicy, Handling, MappingLevel, VictimPolicy};
use tailcut_ssd::flash::LunId;
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, SsdConfig};

const NOW: Time = Time(1_000_000);

fn programs(played: &Played) -> usize {
    played.records().iter().filter(|r| r.kind == Kind::UserWrite).count()
}

/// A drive with write-through or buffered writes, with or without a hit manager.
fn hitting(hit_manager: bool, buffer: u64) -> SsdConfig {
    let mut config = drive(Handling::None);
    config.schedule.hit_manager = hit_manager;
    config.buffer.size = buffer * config.geometry.page_bytes;
    config
}

#[test]
fn a_read_of_what_is_queued_is_a_hit_or_waits_for_its_program() {
    for buffer in [0, 8] {
        // Its program is the second one, behind that of another page.
        let script = [write(NOW, 1), write(NOW + Nanos(10), 2), read(NOW + Nanos(30_000), 2, 3)];
        let hit = play(&hitting(true, buffer), PreparedState::Sequential, &script);
        assert_eq!(hit.latency(2), LINK);
        let missed = play(&hitting(false, buffer), PreparedState::Sequential, &script);
        let programmed =
            missed.records().iter().filter(|r| r.kind == Kind::UserWrite).nth(1).expect("two").end;
        assert_eq!(missed.ended(2), programmed + READ_ON_CHIP + LINK);
        assert_eq!(missed.span(2, Cause::Hazard), programmed.since(script[2].at));
        assert_eq!(missed.span(2, Cause::Cell), Nanos::micros(20));
    }
}

#[test]
fn a_later_write_replaces_what_is_queued_or_is_programmed_as_well() {
    for buffer in [0, 8] {
        let mut script = vec![write(NOW, 1), write(NOW + Nanos(10), 2), write(NOW + Nanos(20_000), 2)];
        script.push(read(NOW + Nanos::millis(5), 2, 3));
        for (hit_manager, expected) in [(true, 2), (false, 3)] {
            let played = play(&hitting(hit_manager, buffer), PreparedState::Sequential, &script);
            assert_eq!(programs(&played), expected, "hit manager: {hit_manager}, buffer: {buffer}");
        }
    }
}

/// Four chips with a buffer, whose erases take as long as a hundred programs.
fn levelling(levels: bool) -> SsdConfig {
    let mut config = drive(Handling::None);
    let g = &mut config.geometry;
    (g.channels, g.chips) = (2, 2);
    config.timing.erase = Nanos::millis(10);
    config.buffer.size = 16 * g.page_bytes;
    config.schedule.level_queues = levels;
    config
}

#[test]
fn programs_behind_a_long_erase_move_to_chips_that_are_idle() {
    // Bad blocks make the chips differ, so they do not all collect at the same time.
    let drive = |levels| {
        let mut config = levelling(levels);
        config.geometry.blocks = 32;
        config.faults.factory_bad = 0.1;
        config
    };
    let mut writes: Vec<Sent> = (0..400).map(|n| write(NOW + Nanos::millis(15) * n, n % 200)).collect();
    let undisturbed = play(&drive(false), PreparedState::Sequential, &writes);
    let erase = undisturbed.first(Kind::Erase, NOW).clone();
    let burst = (0..12).map(|n| write(erase.start + Nanos(1_000), 210 + n));
    writes.extend(burst);
    let programmed_meanwhile = |levels| {
        let played = play(&drive(levels), PreparedState::Sequential, &writes);
        assert_eq!(played.counts().levelled_queues > 0, levels);
        let is_of_burst = |r: &&ChipRecord| {
            r.kind == Kind::UserWrite
                && r.start > erase.start
                && r.end < erase.end
                && r.members[0].logical.get() >= 210
        };
        played.records().iter().filter(is_of_burst).count()
    };
    assert_eq!((programmed_meanwhile(true), programmed_meanwhile(false)), (12, 9));
}

#[test]
fn no_chip_rests_while_a_program_that_could_move_waits_at_another() {
    // Reads keep chip 0 busy, so that a burst of writes can only proceed on the other chips.
    let config = levelling(true);
    let reads = (0..60).map(|n| read(NOW, n * 4, 3));
    let writes = (0..12).map(|n| write(NOW + Nanos(1_000), 100 + n));
    let script: Vec<Sent> = reads.chain(writes).collect();
    let played = play(&config, PreparedState::Sequential, &script);
    let reader = played.of(0)[0].lun;
    let user_writes = || played.records().iter().filter(|r| r.kind == Kind::UserWrite);
    assert_eq!(user_writes().filter(|r| r.lun == reader).count(), 0, "all have moved");
    let at = |lun| user_writes().filter(|r| r.lun == lun).count();
    let others: Vec<usize> = (0..4).map(LunId::new).filter(|&lun| lun != reader).map(at).collect();
    assert_eq!(others, [4, 4, 4], "their queues are level");
    let still = play(&levelling(false), PreparedState::Sequential, &script);
    let at_reader = |r: &&ChipRecord| r.kind == Kind::UserWrite && r.lun == reader;
    assert_eq!(still.records().iter().filter(at_reader).count(), 3, "without the leveler in turn");
}

#[test]
fn what_has_its_place_does_not_move_and_what_the_host_waits_for_does() {
    let load = Mix { reads_in_flight: 0, writes_in_flight: 4, class: 3, writes: 300 };
    let mut fixed = levelling(true);
    fixed.ftl.allocation = Allocation::Static;
    assert_eq!(load.play(&fixed).counts().levelled_queues, 0);
    let mut through = levelling(true);
    through.buffer.size = 0;
    assert!(load.play(&through).counts().levelled_queues > 0);
}

/// A drive whose victims hold valid data, and the writes that trigger collection.
fn collecting() -> (SsdConfig, Vec<Sent>) {
    let mut config = drive(Handling::None);
    config.gc.victim = VictimPolicy::Fifo;
    (config, (0..80).map(|n| write(NOW + Nanos::millis(3) * n, n * 2 % 64)).collect())
}

#[test]
fn a_read_of_the_host_serves_collection_too() {
    let (mut config, writes) = collecting();
    let undisturbed = play(&config, PreparedState::Sequential, &writes);
    let copied = undisturbed.first(Kind::GcRead, NOW).clone();
    let page = copied.members[0].logical;
    let mut script = writes;
    // Once during the program after which collection begins, and once after everything has moved.
    script.push(read(Time(copied.start.0 - 50_000), page.get(), 3));
    script.push(read(NOW + Nanos::millis(500), page.get(), 3));
    for merge in [false, true] {
        config.gc.merge = merge;
        let played = play(&config, PreparedState::Sequential, &script);
        let reads_of_page = |r: &&ChipRecord| r.kind == Kind::GcRead && r.members[0] == copied.members[0];
        assert_eq!(played.records().iter().filter(reads_of_page).count(), usize::from(!merge));
        assert_eq!(played.counts().merged_reads, u64::from(merge));
        assert_eq!(
            played.counts().programmed_gc,
            undisturbed.counts().programmed_gc,
            "it moves all the same"
        );
        let program = played.first(Kind::GcWrite, copied.start);
        assert_eq!(program.members[0].logical, page);
    }
}

#[test]
fn a_read_goes_between_the_pages_of_a_collection_or_waits_for_its_end() {
    let (mut config, writes) = collecting();
    let undisturbed = play(&config, PreparedState::Sequential, &writes);
    let begins = undisturbed.first(Kind::GcRead, NOW).clone();
    // Collections may follow each other until enough blocks are free.
    let (mut end_of_collection, mut steps) = (begins.start, 0);
    for record in undisturbed.records() {
        if record.start == end_of_collection {
            (end_of_collection, steps) = (record.end, steps + 1);
        }
    }
    assert!(steps > 6, "a read and a program for each page, and the erase");
    let at = begins.start + Nanos(1);
    let mut script = writes;
    script.push(read(at, 63, 3));
    let ended = |config: &SsdConfig| {
        let played = play(config, PreparedState::Sequential, &script);
        played.ended(played.number(at))
    };
    assert_eq!(ended(&config), begins.end + READ_ON_CHIP + LINK);
    config.gc.preemptible = false;
    assert_eq!(ended(&config), end_of_collection + READ_ON_CHIP + LINK);
}

#[test]
fn nothing_is_held_back_from_its_chip() {
    // An idle chip gets its read, whatever precedes it at another chip.
    let mut config = levelling(true);
    config.schedule.commit = CommitPolicy::Sos;
    let queue = (0..40).map(|n| read(NOW, n * 4, 3));
    let script: Vec<Sent> = queue.chain([read(NOW + Nanos(2_000), 1, 3)]).collect();
    let played = play(&config, PreparedState::Sequential, &script);
    assert_ne!(played.of(40)[0].lun, played.of(0)[0].lun);
    assert!(played.latency(40) <= READ_ON_CHIP + LINK * 3, "{}", played.latency(40));
}

/// Drives of several chips whose leveler has programs to move, under schedulers that track the work committed
/// to each chip.
#[test]
fn a_program_that_moves_leaves_nothing_behind_that_waits_for_ever() {
    let policies = [CommitPolicy::Rios, CommitPolicy::Sprinkler];
    // Writes that the host waits for do not move. The others that move are pages rewritten while being
    // programmed; without a hit manager, nothing else arrives for a queued page.
    let counts = Swarm { name: "levelling", cases: 1000, length: 150, reads: false, controls: false }.counts(
        |drive, seed| {
            drive.schedule.commit = policies[(seed % 2) as usize];
            (drive.schedule.level_queues, drive.schedule.hit_manager) = (true, false);
            (drive.ftl.mapping, drive.ftl.allocation) = (MappingLevel::Page, Allocation::Dynamic);
            (drive.buffer.size, drive.geometry.page_bytes) = (0, 32_768);
            let g = &mut drive.geometry;
            (g.channels, g.chips, g.planes, g.ready_busy) = (1, 2, 1, ReadyBusy::Die);
        },
    );
    assert!(counts.iter().filter(|c| c.levelled_queues > 0).count() > counts.len() / 20);
}
