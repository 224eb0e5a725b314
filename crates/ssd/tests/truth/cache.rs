//! The read cache and read-ahead: exact to the nanosecond, never delaying other requests, and never returning
//! stale data.

use crate::content::Swarm;
use crate::drives;
use crate::host::{command, prepared, serve};
use crate::script::{Played, play, read, write};
use tailcut_base::{Cause, Command, Completion, Nanos, Op, Time};
use tailcut_ssd::config::ChipPolicy;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{CacheConfig, CacheCounts, SetsBy, SetsConfig, SsdConfig};

/// Four channels of one plane with one-sector pages and 20 µs reads; a cache of `pages` pages.
fn drive(pages: u64, ahead: u32) -> SsdConfig {
    let mut config = drives::plane(16, 8);
    config.geometry.channels = 4;
    config.ftl.spare = 400_000;
    config.queue.firmware = Nanos(1_531);
    config.link.command = Nanos(419);
    config.cache = CacheConfig { size: pages * 512, ahead, streams: 16 };
    config
}

/// Latency of a read that needs no chip.
fn bare(config: &SsdConfig) -> Nanos {
    config.queue.firmware + config.link.command + Nanos::for_bytes(512, config.link.rate)
}

/// Additional latency of a read on an idle chip: command, cells, data.
fn flash(config: &SsdConfig) -> Nanos {
    config.timing.cycle * 7 + config.timing.read[0] + transfer(config)
}

fn transfer(config: &SsdConfig) -> Nanos {
    let geometry = &config.geometry;
    Nanos::for_bytes(geometry.page_bytes + geometry.spare_bytes, config.timing.bus)
}

fn at(us: u64) -> Time {
    Time(us * 1000)
}

#[test]
fn a_page_that_was_read_takes_firmware_and_link() {
    let config = drive(8, 0);
    let script = [read(at(0), 5, 3), read(at(100), 5, 3), read(at(200), 6, 3)];
    let played = play(&config, PreparedState::Sequential, &script);
    assert_eq!(played.latency(0), flash(&config) + bare(&config));
    assert_eq!(played.latency(1), bare(&config));
    assert_eq!(played.span(1, Cause::Controller), config.queue.firmware);
    assert_eq!(played.latency(2), flash(&config) + bare(&config), "nothing is read ahead");
    assert_eq!(played.figures().cache, CacheCounts { hits: 1, ..CacheCounts::default() });
}

#[test]
fn a_page_that_was_read_ahead_takes_firmware_and_link() {
    let config = drive(8, 2);
    let script: Vec<_> = (0..5).map(|page| read(at(100 * page), page, 3)).collect();
    let played = play(&config, PreparedState::Sequential, &script);
    for page in 0..5 {
        let chip = if page < 3 { flash(&config) } else { Nanos::ZERO };
        assert_eq!(played.latency(page), chip + bare(&config), "page {page}");
    }
    // Read-ahead fetches pages 3 to 6, one step ahead of each read; the last two are not requested yet.
    assert_eq!(played.figures().cache, CacheCounts { hits: 2, begun: 4, used: 2, met: 0, in_vain: 0 });
    assert_eq!(played.figures().served[Kind::ReadAhead as usize], 4);
}

/// The third read of a stream arrives at 200 µs, and another channel immediately reads page 3 ahead. The host
/// requests page 3 `after` ns later.
fn meets(after: u64) -> (SsdConfig, Played) {
    let config = drive(8, 1);
    let mut script: Vec<_> = (0..3).map(|page| read(at(100 * page), page, 3)).collect();
    script.push(read(Time(200_000 + after), 3, 3));
    let played = play(&config, PreparedState::Sequential, &script);
    (config, played)
}

/// Page 2, read at the same time, is transferred over the link first.
fn link_wait(config: &SsdConfig) -> Nanos {
    bare(config) - config.queue.firmware
}

#[test]
fn a_read_that_meets_its_page_under_way_takes_the_rest_of_it() {
    let (config, _) = meets(0);
    let [command, cell, data] = [config.timing.cycle * 7, config.timing.read[0], transfer(&config)];
    for after in [1, command.0 - 1, command.0, 5_000, (command + cell).0, flash(&config).0 - 1] {
        let (_, played) = meets(after);
        let rest = flash(&config) - Nanos(after);
        assert_eq!(played.latency(3), rest + link_wait(&config) + bare(&config), "{after} ns later");
        assert_eq!(played.span(3, Cause::BusCommand), Nanos(command.0.saturating_sub(after)));
        let cells = rest.0.saturating_sub(data.0).min(cell.0);
        assert_eq!(played.span(3, Cause::Cell), Nanos(cells));
        assert_eq!(played.span(3, Cause::BusTransfer), Nanos(rest.0.min(data.0)));
        let counts = played.figures().cache;
        assert_eq!((counts.met, counts.used, counts.hits), (1, 0, 0));
    }
    let (config, played) = meets(flash(&config).0);
    assert_eq!(played.latency(3), link_wait(&config) + bare(&config), "it has just arrived");
}

/// A single chip: the planned read-ahead of page 3 queues behind the reads of pages 60 and 2.
fn one_chip(script: &[crate::script::Sent]) -> (SsdConfig, Played) {
    let mut config = drive(8, 1);
    config.geometry.channels = 1;
    let played = play(&config, PreparedState::Sequential, script);
    (config, played)
}

#[test]
fn user_reads_go_before_what_is_only_planned() {
    let stream = [read(at(0), 0, 3), read(at(100), 1, 3), read(at(200), 2, 3)];
    // A read that arrives while page 2 is being read goes before the planned read-ahead of page 3.
    let (config, played) = one_chip(&[stream[0], stream[1], stream[2], read(at(205), 60, 3)]);
    let end = at(200) + flash(&config) * 2;
    assert_eq!(played.ended(3), end + bare(&config));
    let ahead = played.first(Kind::ReadAhead, at(0));
    assert_eq!(ahead.start, end, "the chip has nothing else to do");
    // The host requests page 3 before its read-ahead starts: it is read once, as a user read.
    let (config, played) = one_chip(&[stream[0], stream[1], stream[2], read(at(205), 3, 3)]);
    assert_eq!(played.ended(3), at(200) + flash(&config) * 2 + bare(&config));
    // This read plans a read-ahead of page 4.
    assert_eq!(played.figures().cache, CacheCounts { begun: 1, ..CacheCounts::default() });
    assert_eq!(played.first(Kind::ReadAhead, at(0)).members[0].logical.get(), 4);
}

#[test]
fn a_read_that_meets_a_chip_at_reading_ahead_says_so() {
    let stream = [read(at(0), 0, 3), read(at(100), 1, 3), read(at(200), 2, 3)];
    let begun = at(200) + flash(&one_chip(&stream).0);
    let late = Time(begun.0 + 4_000);
    let (config, played) = one_chip(&[stream[0], stream[1], stream[2], read(late, 60, 3)]);
    assert_eq!(played.span(3, Cause::ChipReadAhead), flash(&config) - Nanos(4_000));
    assert_eq!(played.latency(3), flash(&config) * 2 - Nanos(4_000) + bare(&config));
}

#[test]
fn a_write_or_a_trim_takes_a_page_out_of_the_cache() {
    let config = drive(8, 0);
    let mut trim = write(at(600), 6);
    trim.command.op = Op::Trim;
    let script = [
        read(at(0), 5, 3),
        write(at(100), 5),
        read(at(500), 5, 3),
        read(at(550), 6, 3),
        trim,
        read(at(700), 6, 3),
    ];
    let played = play(&config, PreparedState::Sequential, &script);
    assert_eq!(played.latency(2), flash(&config) + bare(&config), "what was written is read from flash");
    assert_eq!(played.figures().cache.hits, 0);
}

#[test]
fn a_forced_read_comes_from_flash() {
    let config = drive(8, 0);
    let mut forced = read(at(100), 5, 3);
    forced.command.fua = true;
    let played = play(&config, PreparedState::Sequential, &[read(at(0), 5, 3), forced]);
    assert_eq!(played.latency(1), flash(&config) + bare(&config));
}

/// A reader that requests each page after receiving the previous one.
fn one_by_one(ahead: u32, pages: u64) -> (Vec<Completion>, SsdConfig) {
    let config = drive(64, ahead);
    let mut ssd = prepared(&config, PreparedState::Sequential);
    let commands: Vec<Command> = (0..pages).map(|page| command(Op::Read, page, 1)).collect();
    (serve(&mut ssd, 1, commands), config)
}

#[test]
fn a_sequential_reader_goes_as_fast_as_the_chips() {
    let (done, config) = one_by_one(0, 200);
    assert_eq!(done[199].at, Time(((flash(&config) + bare(&config)) * 200).0));
    let (done, config) = one_by_one(8, 200);
    // Four chips read ahead in parallel, a quarter of the pages each.
    let least = flash(&config) * 200 / 4;
    assert!(Nanos(done[199].at.0) < least + flash(&config) * 6, "{:?} {least:?}", done[199].at);
}

/// Gives a random drive a cache of 1 to 32 pages per set, with or without read-ahead.
fn cached(config: &mut SsdConfig, seed: u64) {
    let pages = [1, 2, 3, 8, 32][(seed % 5) as usize];
    let ahead = [0, 1, 3, 16][(seed / 5 % 4) as usize];
    let streams = [1, 2, 64][(seed / 20 % 3) as usize];
    let size = pages * config.geometry.page_bytes * u64::from(config.sets.count);
    config.cache = CacheConfig { size, ahead, streams };
}

fn swarm(name: &'static str, cases: u32, controls: bool) -> Swarm {
    Swarm { name, cases, length: 300, reads: true, controls }
}

#[test]
fn a_drive_with_a_cache_returns_what_was_written_last() {
    swarm("cache", 1000, false).run(cached);
    swarm("cache-steered", 700, true).run(cached);
}

#[test]
fn a_divided_drive_with_a_cache_returns_what_was_written_last() {
    swarm("cache-sets", 500, true).run(|config, seed| {
        config.geometry.channels *= 2;
        config.geometry.planes = 1;
        config.queue.depth = config.queue.depth.max(2);
        config.buffer.size *= 2;
        (config.ftl.mapping, config.ftl.stripe) = (tailcut_ssd::config::MappingLevel::Page, 1);
        config.sets = SetsConfig { count: 2, by: SetsBy::Channels };
        config.ftl.spare = drives::least_spare(config);
        while config.check_space().is_err() {
            config.geometry.blocks += 1;
        }
        cached(config, seed);
    });
}

#[test]
fn a_drive_with_a_cache_that_wears_out_returns_what_was_written_last() {
    swarm("cache-faults", 700, false).run(|config, seed| {
        cached(config, seed);
        (config.faults.program_fail, config.faults.erase_fail) = (0.05, 0.05);
    });
}

#[test]
fn a_write_that_leaves_the_cache_alone_is_noticed() {
    let search = || swarm("cache-planted", 100, false).fails(cached);
    assert_eq!(search(), None);
    let failure = broken(Invariant::WriteInvalidates, search);
    assert!(failure.is_some_and(|text| text.contains("content of")), "a stale page was returned");
}

/// Every read-ahead that started has exactly one outcome.
#[test]
fn pages_read_ahead_are_used_met_in_vain_or_still_there() {
    let config = {
        let mut config = drive(12, 4);
        config.schedule.chip = ChipPolicy::ReadsFirst;
        config
    };
    let mut script = Vec::new();
    let mut random = tailcut_base::random::Stream::new(11, "test.fates");
    let (mut now, mut next) = (0, [0u64, 90, 180]);
    for _ in 0..3000 {
        now += random.below(40_000);
        let row = random.below(3) as usize;
        match random.below(20) {
            0 => script.push(write(Time(now), next[row] + random.below(4))),
            1 => next[row] = random.below(200),
            _ => {
                script.push(read(Time(now), next[row], 3));
                next[row] = (next[row] + 1) % 240;
            }
        }
    }
    let played = play(&config, PreparedState::Sequential, &script);
    let counts = played.figures().cache;
    assert_eq!(counts.used + counts.met + counts.in_vain + played.ssd.unasked(), counts.begun, "{counts:?}");
    assert!(counts.used > 100 && counts.met > 30 && counts.in_vain > 30, "{counts:?}");
    assert_eq!(counts.begun, played.figures().served[Kind::ReadAhead as usize]);
}
