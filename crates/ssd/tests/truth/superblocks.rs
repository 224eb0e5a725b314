//! Mapping by superblock: whatever is written and collected together, a read returns the last data written.

use crate::content::Swarm;
use crate::drives;
use crate::writer::{Writer, uniform};
use tailcut_base::Nanos;
use tailcut_base::fdp::Isolation;
use tailcut_base::random::Stream;
use tailcut_ssd::config::{FdpConfig, Handling, MappingLevel};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{CollectionPace, SetsConfig, SsdConfig};

/// Makes a random drive one that maps by superblock.
fn by_superblock(config: &mut SsdConfig, seed: u64) {
    let mut r = Stream::new(seed, "test.superblock");
    config.ftl.mapping = MappingLevel::Superblock;
    config.ftl.streams = 1;
    config.sets = SetsConfig::ONE;
    let g = &mut config.geometry;
    (g.planes, g.ready_busy) = (1, ReadyBusy::Die);
    g.page_bytes = g.page_bytes.min(4096);
    let superblock = &mut config.superblock;
    superblock.sense = 1 << r.below(3);
    superblock.program = superblock.sense * config.timing.cell.bits();
    superblock.pace = [CollectionPace::Eager, CollectionPace::Proportional][r.below(2) as usize];
    superblock.erases = 1 + r.below(3) as u32;
    superblock.firmware = Nanos(r.below(3) * r.below(40_000));
    g.pages = superblock.program * (1 + r.below(4) as u32);
    g.blocks = 10 + r.below(8) as u32;
    config.timing.program.truncate(1);
    config.buffer.size = u64::from(superblock.program) * g.page_bytes * (2 + r.below(3));
    (config.gc.ideal, config.gc.background, config.gc.merge) = (false, false, false);
    config.gc.preemptible = true;
    config.control_api = false;
    (config.schedule.readdressing, config.schedule.hit_manager) = (false, true);
    config.schedule.level_queues = false;
    let preempt = &mut config.preempt;
    (preempt.place_programs, preempt.time_programs, preempt.time_erases) = (false, false, false);
    if preempt.program == Handling::Reset {
        preempt.program = Handling::Suspend;
    }
    (config.faults.factory_bad, config.faults.program_fail, config.faults.erase_fail) = (0.0, 0.0, 0.0);
    (config.fdp.handles, config.fdp.groups) = (1, 1);
    if r.below(2) == 0 {
        (config.fdp.handles, config.geometry.blocks) = (2 + r.below(3) as u32, 20 + r.below(8) as u32);
        config.fdp.isolation = [Isolation::Initially, Isolation::Persistently][r.below(2) as usize];
        let groups = [1, 1, 2, 4][r.below(4) as usize];
        if config.geometry.luns().is_multiple_of(groups) {
            config.fdp.groups = groups;
        }
        config.buffer.size +=
            u64::from(config.fdp.streams() * config.superblock.program) * config.geometry.page_bytes;
    }
    config.ftl.spare = drives::least_spare(config) + [0, 60_000, 200_000][r.below(3) as usize];
    assert_eq!(config.check_superblocks(), Ok(()));
    assert_eq!(config.check_fdp(), Ok(()));
}

#[test]
fn a_read_returns_what_was_written_last() {
    let swarm = Swarm { name: "superblocks", cases: 300, length: 300, reads: false, controls: false };
    let counts = swarm.counts(by_superblock);
    assert!(counts.iter().filter(|counts| counts.erases > 0).count() > 20, "superblocks are collected");
    assert!(counts.iter().any(|counts| counts.program_suspends > 0), "programs are suspended");
}

/// Four dies; word lines of TLC in two planes of 16 KiB under a map of 4 KiB.
pub(crate) fn drive() -> SsdConfig {
    let mut config = drives::plane(256, 24 * 8);
    by_superblock(&mut config, 1);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.blocks, g.pages) = (2, 2, 1, 256, 24 * 8);
    config.timing.cell = tailcut_ssd::flash::timing::CellKind::Tlc;
    (config.superblock.sense, config.superblock.program) = (8, 24);
    config.buffer.size = 24 * 4 * g.page_bytes;
    (config.gc.copies, config.ftl.spare) = (4, 150_000);
    (config.gc.low, config.gc.high) = (4, 8);
    config.fdp = FdpConfig::OFF;
    assert_eq!(config.check_superblocks(), Ok(()));
    config
}

#[test]
fn a_constructed_steady_state_is_that_of_endless_writing() {
    let config = drive();
    let mut built = Writer::new(&config, PreparedState::Steady, 1);
    let mut written = Writer::new(&config, PreparedState::Sequential, 2);
    let pages = written.pages();
    written.write(5 * pages, uniform(pages));
    let [built, written] =
        [&mut built, &mut written].map(|w| w.write(pages, uniform(pages)).write_amplification());
    assert!((built / written - 1.0).abs() < 0.03, "{built} prepared, {written} written");
}

/// A program of 24 pages takes one program time, so four dies write 24 × 4 pages in it.
#[test]
fn a_word_line_is_programmed_in_one_operation() {
    let mut config = drive();
    config.ftl.spare = 800_000;
    config.timing.program = vec![Nanos::micros(700)];
    let mut writer = Writer::new(&config, PreparedState::Empty, 1);
    let figures = writer.write(24 * 400, uniform(writer.pages()));
    let programs = figures.transactions[tailcut_ssd::request::Kind::UserWrite as usize];
    assert!((395..=400).contains(&programs), "{programs} programs of 24 pages");
}
