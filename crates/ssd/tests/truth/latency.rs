//! With one request at a time, a latency is the sum of its phases, to the nanosecond.

use crate::drives;
use crate::host::{command, prepared, serve};
use tailcut_base::{Cause, Completion, Device, Nanos, Op};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::precondition::PreparedState;

/// A drive whose times all differ, so that no phase can be mistaken for another.
fn drive() -> SsdConfig {
    let mut config = drives::plane(16, 9);
    config.geometry.page_bytes = 4096;
    config.geometry.spare_bytes = 224;
    config.timing.cell = CellKind::Tlc;
    config.timing.read = [61_001, 72_003, 83_007].map(Nanos).to_vec();
    config.timing.program = [500_011, 900_013, 1_700_017].map(Nanos).to_vec();
    config.timing.bus = 333_000_000;
    config.timing.cycle = Nanos(23);
    config.link.rate = 1_234_000_000;
    config.link.command = Nanos(419);
    config.queue.firmware = Nanos(1_531);
    config.ftl.spare = 400_000;
    config
}

const TRANSFER: Nanos = Nanos(12_973); // 4320 B at 333 MB/s are 12 972.97 ns, rounded up
const PAGE_ON_LINK: Nanos = Nanos(3_320); // 4096 B at 1234 MB/s are 3319.3 ns
const SECTOR_ON_LINK: Nanos = Nanos(415); // 512 B are 414.9 ns
const COMMAND: Nanos = Nanos(7 * 23);

fn spans(completion: &Completion) -> Vec<(Cause, Nanos)> {
    let mut sums: Vec<(Cause, Nanos)> = Vec::new();
    for (cause, time) in completion.spans.iter() {
        match sums.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += time,
            None => sums.push((cause, time)),
        }
    }
    sums.sort_unstable_by_key(|(cause, _)| *cause);
    sums
}

/// Sends the commands one by one and checks each latency, span by span.
fn check(
    config: &SsdConfig,
    state: PreparedState,
    op: Op,
    expected: impl Fn(u64) -> Vec<(Cause, Nanos)>,
    sectors: u32,
) {
    let mut ssd = prepared(config, state);
    let done = serve(&mut ssd, 1, (0..27).map(|page| command(op, page * 8, sectors)));
    let mut before = Nanos::ZERO;
    for (page, completion) in (0u64..).zip(&done) {
        let mut spans_expected = expected(page);
        spans_expected.sort_unstable_by_key(|(cause, _)| *cause);
        assert_eq!(spans(completion), spans_expected, "{op} of page {page}");
        let latency: Nanos = spans_expected.iter().map(|(_, time)| *time).sum();
        assert_eq!(completion.at.0 - before.0, latency.0, "{op} of page {page}");
        before = Nanos(completion.at.0);
    }
}

#[test]
fn a_read_takes_command_cell_transfer_firmware_and_link() {
    let config = drive();
    for (sectors, data) in [(8, PAGE_ON_LINK), (1, SECTOR_ON_LINK)] {
        // A page is read from flash as a whole, whichever part the host requests.
        let phases = |page: u64| {
            vec![
                (Cause::BusCommand, COMMAND),
                (Cause::Cell, config.timing.read[page as usize % 9 % 3]),
                (Cause::BusTransfer, TRANSFER),
                (Cause::Controller, config.queue.firmware),
                (Cause::Link, data + config.link.command),
            ]
        };
        check(&config, PreparedState::Sequential, Op::Read, phases, sectors);
    }
}

#[test]
fn a_read_of_nothing_takes_firmware_and_link() {
    let config = drive();
    let phases = |_| {
        vec![(Cause::Controller, config.queue.firmware), (Cause::Link, PAGE_ON_LINK + config.link.command)]
    };
    check(&config, PreparedState::Empty, Op::Read, phases, 8);
}

#[test]
fn a_write_through_takes_link_transfer_command_cell_and_firmware() {
    let config = drive();
    let phases = |page: u64| {
        vec![
            (Cause::Link, PAGE_ON_LINK + config.link.command),
            (Cause::BusCommand, COMMAND),
            (Cause::BusTransfer, TRANSFER),
            (Cause::Cell, config.timing.program[page as usize % 9 % 3]),
            (Cause::Controller, config.queue.firmware),
        ]
    };
    check(&config, PreparedState::Empty, Op::Write, phases, 8);
}

#[test]
fn a_buffered_write_takes_firmware_and_link() {
    let mut config = drive();
    config.buffer.size = 1 << 20;
    let phases = |_| {
        vec![(Cause::Controller, config.queue.firmware), (Cause::Link, PAGE_ON_LINK + config.link.command)]
    };
    check(&config, PreparedState::Empty, Op::Write, phases, 8);
}

#[test]
fn a_flush_or_trim_of_an_idle_drive_takes_firmware_and_the_command_on_the_link() {
    let config = drive();
    let phases = |_| vec![(Cause::Controller, config.queue.firmware), (Cause::Link, config.link.command)];
    check(&config, PreparedState::Sequential, Op::Trim, phases, 8);
    check(&config, PreparedState::Sequential, Op::Flush, phases, 8);
}

#[test]
fn a_command_takes_the_time_of_its_completion_at_least() {
    let mut config = drives::plane(64, 16);
    config.ftl.spare = 200_000;
    (config.queue.firmware, config.queue.trim, config.link.command) = (Nanos(0), Nanos(0), Nanos(0));
    for op in [Op::Trim, Op::Flush] {
        let mut ssd = prepared(&config, PreparedState::Sequential);
        let done = serve(&mut ssd, 1, (0..100).map(|_| command(op, 0, 1)));
        assert!(done.windows(2).all(|pair| pair[0].at < pair[1].at), "{op}");
    }
}

/// The spans of a read of `pages` pages of an idle drive that has been written in order.
fn spans_of_read(config: &SsdConfig, pages: u32) -> Vec<(Cause, Nanos)> {
    let mut ssd = prepared(config, PreparedState::Sequential);
    let done = serve(&mut ssd, 1, [command(Op::Read, 0, 8 * pages)]);
    spans(&done[0])
}

#[test]
fn a_read_of_several_pages_waits_for_its_own_pages_and_nobody_else() {
    let mut config = drive();
    config.timing.read = vec![Nanos(61_001)];
    let one = COMMAND + config.timing.read[0] + TRANSFER;
    let link = PAGE_ON_LINK + config.link.command;
    let rest = |own: Nanos| {
        vec![
            (Cause::Link, link),
            (Cause::Controller, config.queue.firmware),
            (Cause::BusCommand, COMMAND),
            (Cause::Cell, config.timing.read[0]),
            (Cause::BusTransfer, TRANSFER),
            (Cause::OwnPages, own),
        ]
    };
    // One chip serves the pages in turn.
    assert_eq!(spans_of_read(&config, 3), rest(one * 2));
    // Two chips on one bus: the second one waits for the command of the first, then for its data.
    config.geometry.chips = 2;
    assert_eq!(spans_of_read(&config, 2), rest(TRANSFER));
    // Two buses: the pages do not meet.
    (config.geometry.channels, config.geometry.chips) = (2, 1);
    assert!(spans_of_read(&config, 2).iter().all(|(cause, _)| *cause != Cause::OwnPages));
}

#[test]
fn one_read_at_a_time_meets_nobody_else() {
    for seed in 0..40 {
        let config = drives::random(seed);
        let mut ssd = prepared(&config, PreparedState::Sequential);
        let pages = ssd.identify().sectors / u64::from(ssd.identify().page_sectors);
        let sectors = ssd.identify().page_sectors;
        let most = pages.min(12) as u32;
        let reads = (0..20).map(|at| {
            let first = at * 7 % (pages - u64::from(most) + 1);
            command(Op::Read, first * u64::from(sectors), sectors * (1 + at as u32 % most))
        });
        for done in serve(&mut ssd, 1, reads) {
            for (cause, time) in done.spans.iter() {
                assert!(cause != Cause::ChipUserRead, "seed {seed}: {time} behind another request");
            }
        }
    }
}
