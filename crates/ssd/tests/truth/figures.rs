//! Metrics of drives that serve one or two commands, where each value follows from arithmetic.

use crate::drives;
use crate::host::{command, prepared, serve};
use tailcut_base::{Command, Device, Nanos, Op, Time};
use tailcut_ssd::config::{Allocation, CommitPolicy, Order};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Breakdown, Figures, SsdConfig};

const COMMAND: u64 = 7 * 250;
const CELL: u64 = 20_000;
const TRANSFER: u64 = 5_120; // 512 B at 100 MB/s
const LINK: u64 = 1; // 512 B at 1 TB/s are half a ns, rounded up
const READ: u64 = COMMAND + CELL + TRANSFER;

/// A drive with one-sector pages, striped over planes first, then dies, channels and chips.
fn drive(channels: u32, chips: u32, dies: u32, planes: u32) -> SsdConfig {
    let mut config = drives::plane(64, 16);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (channels, chips, dies, planes);
    g.ready_busy = ReadyBusy::Chip;
    config.timing.bus = 100_000_000;
    config.timing.cycle = Nanos(250);
    config.link.rate = 1_000_000_000_000;
    config.ftl.allocation = Allocation::Static;
    config.ftl.order = Order::Pdcw;
    config.ftl.spare = 200_000;
    config.schedule.commit = CommitPolicy::Pas;
    (config.schedule.plane_sharing, config.schedule.die_interleaving) = (true, true);
    config
}

fn read(first: u64, sectors: u32) -> Command {
    command(Op::Read, first, sectors)
}

/// Metrics of a drive after serving these commands, all sent at once, and the total time.
fn serving<const N: usize>(config: &SsdConfig, commands: [Command; N]) -> (Figures, u64) {
    let mut ssd = prepared(config, PreparedState::Sequential);
    let done = serve(&mut ssd, N, commands);
    let end = done.last().expect("there were commands").at;
    (ssd.figures(end), end.0)
}

fn equal(measured: f64, part: u64, whole: u64) {
    let expected = part as f64 / whole as f64;
    assert!((measured - expected).abs() < 1e-12, "{measured} for {part} of {whole}");
}

/// Times in ns, summed over lines: bus active, bus contention, cell active; the rest is idle.
fn breakdown(b: Breakdown, [active, contention, cell]: [u64; 3], lines: u64, time: u64) {
    let whole = lines * time;
    equal(b.bus_active, active, whole);
    equal(b.bus_contention, contention, whole);
    equal(b.cell_active, cell, whole);
    equal(b.idle, whole - active - contention - cell, whole);
}

#[test]
fn one_read_of_one_chip_is_command_cell_and_transfer() {
    let (figures, time) = serving(&drive(1, 1, 1, 1), [read(0, 1)]);
    assert_eq!(time, READ + LINK);
    breakdown(figures.breakdown(), [COMMAND + TRANSFER, 0, CELL], 1, time);
    equal(figures.inter_chip_idleness(), LINK, time);
    equal(figures.intra_chip_idleness(), COMMAND + TRANSFER, READ);
    assert_eq!(figures.parallelism_shares(), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(figures.transaction_reduction(), 0.0);
}

#[test]
fn a_read_of_one_of_two_chips_leaves_half_of_them_idle() {
    let (figures, time) = serving(&drive(2, 1, 1, 1), [read(0, 1)]);
    equal(figures.inter_chip_idleness(), READ + 2 * LINK, 2 * time);
    equal(figures.intra_chip_idleness(), COMMAND + TRANSFER, READ);
    breakdown(figures.breakdown(), [COMMAND + TRANSFER, 0, CELL], 2, time);
}

#[test]
fn two_reads_of_one_plane_are_two_transactions() {
    let (figures, time) = serving(&drive(1, 1, 1, 1), [read(0, 1), read(1, 1)]);
    assert_eq!(time, 2 * READ + LINK);
    assert_eq!(figures.parallelism_shares(), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(figures.transaction_reduction(), 0.0);
    breakdown(figures.breakdown(), [2 * (COMMAND + TRANSFER), 0, 2 * CELL], 1, time);
}

#[test]
fn pages_of_two_planes_are_one_transaction_of_pal1() {
    let (figures, time) = serving(&drive(1, 1, 1, 2), [read(0, 2)]);
    let held = 2 * COMMAND + CELL + 2 * TRANSFER;
    assert_eq!(figures.parallelism_shares(), [0.0, 1.0, 0.0, 0.0]);
    equal(figures.transaction_reduction(), 1, 2);
    equal(figures.intra_chip_idleness(), 2 * held - 2 * CELL, 2 * held);
    equal(figures.inter_chip_idleness(), time - held, time);
    breakdown(figures.breakdown(), [2 * (COMMAND + TRANSFER), 0, CELL], 1, time);
}

#[test]
fn reads_of_two_dies_are_one_transaction_of_pal2() {
    let (figures, time) = serving(&drive(1, 1, 2, 1), [read(0, 2)]);
    let held = 2 * COMMAND + CELL + 2 * TRANSFER;
    assert_eq!(figures.parallelism_shares(), [0.0, 0.0, 1.0, 0.0]);
    equal(figures.transaction_reduction(), 1, 2);
    equal(figures.intra_chip_idleness(), 2 * held - 2 * CELL, 2 * held);
    breakdown(figures.breakdown(), [2 * (COMMAND + TRANSFER), 0, CELL], 1, time);
}

#[test]
fn shares_count_memory_requests_and_not_transactions() {
    // Two dies of two planes: pages 0 to 3 fill the chip, and page 4 is alone.
    let (figures, _) = serving(&drive(1, 1, 2, 2), [read(0, 4), read(4, 1)]);
    assert_eq!(figures.parallelism, [1, 0, 0, 1]);
    assert_eq!(figures.parallelism_shares(), [0.2, 0.0, 0.0, 0.8]);
    equal(figures.transaction_reduction(), 3, 5);
    let held = READ + 4 * COMMAND + CELL + 4 * TRANSFER;
    equal(figures.intra_chip_idleness(), 4 * held - 5 * CELL, 4 * held);
}

#[test]
fn two_chips_of_one_bus_contend_for_commands_and_for_transfers() {
    let (figures, time) = serving(&drive(1, 2, 1, 1), [read(0, 1), read(1, 1)]);
    assert_eq!(time, COMMAND + CELL + 2 * TRANSFER + LINK);
    // The second chip waits for the first one's command and, with its data, for the first one's data.
    let contention = COMMAND + (TRANSFER - COMMAND);
    breakdown(figures.breakdown(), [2 * (COMMAND + TRANSFER), contention, 2 * CELL], 2, time);
    let held = 2 * READ + (TRANSFER - COMMAND);
    equal(figures.inter_chip_idleness(), 2 * time - held, 2 * time);
    equal(figures.intra_chip_idleness(), held - 2 * CELL, held);
}

#[test]
fn programs_behind_buffered_writes_do_not_count_as_chips_held_for_a_command() {
    let mut config = drive(1, 1, 1, 1);
    config.buffer.size = 8 * 512;
    config.buffer.flush_above = 0;
    let mut ssd = prepared(&config, PreparedState::Empty);
    let done = serve(&mut ssd, 1, [command(Op::Write, 0, 1)]);
    assert_eq!(done[0].at.0, LINK);
    let mut end = done[0].at;
    while ssd.next_event() != Time::NEVER {
        end = ssd.next_event();
        ssd.advance(end, &mut Vec::new());
    }
    let figures = ssd.figures(end);
    let program = COMMAND + TRANSFER + 100_000;
    equal(figures.lun_utilisation(), program, program + LINK);
    assert_eq!((figures.active.0, figures.inter_chip_idleness()), (LINK, 1.0));
    // A read that waits for a program of another page finds its chip busy.
    let mut ssd = prepared(&config, PreparedState::Sequential);
    serve(&mut ssd, 1, [command(Op::Write, 0, 1)]);
    let began = Time(10_000);
    assert_eq!(ssd.submit(began, &read(1, 1)), tailcut_base::Submit::Accepted);
    let mut done = Vec::new();
    while done.is_empty() {
        ssd.advance(ssd.next_event(), &mut done);
    }
    let figures = ssd.figures(done[0].at);
    let active = LINK + (LINK + program - began.0) + READ + LINK;
    assert_eq!(figures.active.0, active);
    equal(figures.inter_chip_idleness(), 2 * LINK, active);
}
