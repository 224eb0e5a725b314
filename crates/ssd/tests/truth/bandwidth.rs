//! Bandwidth saturates at the bound set by cells and buses, at every level of parallelism.

use crate::drives;
use crate::host::{command, prepared, serve};
use tailcut_base::random::Stream;
use tailcut_base::{Device, Nanos, Op, Submit, Time};
use tailcut_ssd::config::{Allocation, Arbitration, CommitPolicy, Order};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::flash::timing::{CellKind, PROGRAM_CYCLES, Phases, READ_CYCLES};
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Preset, SsdConfig};

/// Rounds of requests that each cover one chip, chip after chip.
const ROUNDS: u64 = 300;

/// A drive with 512 B pages on a 100 MB/s bus (5.12 µs per page, 1.75 µs per command), and a link that is
/// never the bottleneck. Writes are buffered, except with [`write_through`].
fn drive(channels: u32, chips: u32, dies: u32, planes: u32) -> SsdConfig {
    let mut config = drives::plane(64, 16);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (channels, chips, dies, planes);
    config.timing.cell = CellKind::Slc;
    config.buffer.size = u64::from(8 * channels * chips * dies * planes) * 512;
    config.timing.bus = 100_000_000;
    config.timing.cycle = Nanos(250);
    config.link.rate = 1_000_000_000_000;
    config.ftl.allocation = Allocation::Static;
    config.ftl.order = Order::Pdcw;
    config.ftl.spare = 100_000;
    config.schedule.commit = CommitPolicy::Pas;
    config
}

/// Upper bound in pages per second: each ready/busy line carries one transaction of `members` pages at a time
/// through command, cells and transfer; each bus carries one command or page at a time.
fn bound(config: &SsdConfig, op: Op) -> f64 {
    let g = &config.geometry;
    let (cell, cycles) = match op {
        Op::Read => (config.timing.read[0], READ_CYCLES),
        _ => (config.timing.program[0], PROGRAM_CYCLES),
    };
    let planes = if config.schedule.plane_sharing { g.planes } else { 1 };
    let dies = if config.schedule.die_interleaving { g.dies_per_lun() } else { 1 };
    let members = f64::from(planes * dies);
    let bus = (config.timing.cycle * cycles + Nanos::for_bytes(g.page_bytes, config.timing.bus)).0 as f64;
    let transaction = members * bus + cell.0 as f64;
    let cells = f64::from(g.luns_per_channel()) * members / transaction;
    let ratio = cells * bus;
    // Where the two bounds are close, neither is reached: lines wait for a bus that other lines occupy.
    let one_line = g.luns_per_channel() == 1;
    assert!(one_line || !(0.6..1.5).contains(&ratio), "the case shows neither bound: {ratio}");
    f64::from(g.channels) * cells.min(1.0 / bus) * 1e9
}

fn measure(config: &SsdConfig, op: Op) -> f64 {
    let g = &config.geometry;
    let state = if op == Op::Read { PreparedState::Sequential } else { PreparedState::Empty };
    let mut ssd = prepared(config, state);
    let chip = g.dies * g.planes * g.page_sectors();
    let chips = u64::from(g.channels * g.chips);
    let commands = (0..ROUNDS * chips).map(|n| command(op, n * u64::from(chip), chip));
    let done = serve(&mut ssd, 6 * chips as usize, commands);
    let pages = ROUNDS * chips * u64::from(g.dies * g.planes);
    let mut end = done.last().expect("there were commands").at;
    while ssd.next_event() != Time::NEVER {
        end = ssd.next_event();
        ssd.advance(end, &mut Vec::new());
    }
    pages as f64 / end.as_secs_f64()
}

fn saturates(config: &SsdConfig, op: Op) {
    let (measured, bound) = (measure(config, op), bound(config, op));
    let share = measured / bound;
    assert!(
        (0.99..1.0 + 1e-9).contains(&share),
        "{op} at {share:.4} of the bound of {bound:.0} pages/s: {:?} {:?}",
        config.geometry,
        config.schedule
    );
}

/// 300 µs cells and a bus so fast that lines in lockstep, which wait for each other's transfers, lose less
/// than one per cent.
fn slow_cells(config: &mut SsdConfig) {
    config.timing.bus = 2_000_000_000;
    config.timing.cycle = Nanos(10);
    (config.timing.read, config.timing.program) = (vec![Nanos::micros(300)], vec![Nanos::micros(300)]);
}

/// 6 µs cells: two lines keep a bus busy.
fn fast_cells(config: &mut SsdConfig) {
    (config.timing.read, config.timing.program) = (vec![Nanos::micros(6)], vec![Nanos::micros(6)]);
}

/// Without a buffer, the pages of a write reach their chip one by one.
fn write_through(config: &mut SsdConfig) {
    slow_cells(config);
    config.buffer.size = 0;
}

/// All levels of parallelism, with each way to use dies and planes.
fn everywhere(chips: &[u32], op: Op, cells: impl Fn(&mut SsdConfig)) {
    for channels in [1, 2] {
        for &chips in chips {
            for (dies, planes) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                for flags in 0..8 {
                    let mut config = drive(channels, chips, dies, planes);
                    config.geometry.ready_busy =
                        if flags & 1 == 0 { ReadyBusy::Chip } else { ReadyBusy::Die };
                    config.schedule.plane_sharing = flags & 2 != 0;
                    config.schedule.die_interleaving = flags & 4 != 0;
                    cells(&mut config);
                    saturates(&config, op);
                }
            }
        }
    }
}

#[test]
fn reads_saturate_the_cells() {
    everywhere(&[1, 2, 3], Op::Read, slow_cells);
}

#[test]
fn writes_saturate_the_cells() {
    everywhere(&[1, 2, 3], Op::Write, slow_cells);
}

#[test]
fn writes_that_come_page_by_page_saturate_the_cells_too() {
    everywhere(&[1, 2], Op::Write, write_through);
    let mut config = drive(1, 1, 2, 2);
    write_through(&mut config);
    config.geometry.ready_busy = ReadyBusy::Chip;
    let hasty = broken(Invariant::HoldForData, || measure(&config, Op::Write));
    let share = hasty / bound(&config, Op::Write);
    assert!(share < 0.6, "a chip that does not wait for its data reaches {share} of the bound");
}

#[test]
fn reads_saturate_the_bus() {
    everywhere(&[4, 8], Op::Read, fast_cells);
}

#[test]
fn writes_saturate_the_bus() {
    everywhere(&[4, 8], Op::Write, fast_cells);
}

#[test]
fn the_link_bounds_what_the_flash_could_do() {
    let mut config = drive(2, 4, 1, 1);
    config.timing.read = vec![Nanos::micros(6)];
    // 512 B at 50 MB/s take 10.24 µs, and the command another 2: slower than two buses.
    config.link.rate = 50_000_000;
    config.link.command = Nanos::micros(2);
    let share = measure(&config, Op::Read) * 12.24e-6;
    assert!((0.99..=1.0).contains(&share), "{share} of the link");
}

/// Random page reads, `depth` at a time, on a drive in steady state. Returns reads per second.
fn random_reads(config: &SsdConfig, depth: usize, count: u64) -> f64 {
    let mut ssd = prepared(config, PreparedState::Steady);
    let identity = ssd.identify();
    let pages = identity.sectors / u64::from(identity.page_sectors);
    let mut random = Stream::new(7, "test.reads");
    let commands = (0..count).map(|_| {
        let page = random.below(pages);
        command(Op::Read, page * u64::from(identity.page_sectors), identity.page_sectors)
    });
    let done = serve(&mut ssd, depth, commands);
    // Excludes the first and the last quarter of the run, so that the queue is full throughout.
    let (from, to) = (done.len() / 4, done.len() * 3 / 4);
    (to - from) as f64 / done[to].at.since(done[from].at).as_secs_f64()
}

/// Upper bound set by a drive's buses, in reads per second.
fn bus_bound(config: &SsdConfig) -> f64 {
    let phases = Phases::new(&config.timing, &config.geometry);
    f64::from(config.geometry.channels) * 1e9 / (phases.read_command + phases.transfer).0 as f64
}

#[test]
fn random_reads_saturate_the_buses_of_a_drive_as_shipped() {
    let config = Preset::M.config();
    let share = random_reads(&config, config.queue.depth as usize, 60_000) / bus_bound(&config);
    assert!((0.98..1.0 + 1e-9).contains(&share), "{share:.4} of what the buses carry");
    // If commands wait behind the data of other chips, the chips of a channel fall into lockstep: all of them
    // read their cells while the bus is idle.
    let mut fifo = config.clone();
    fifo.bus.arbitration = Arbitration::Fifo;
    let share = random_reads(&fifo, config.queue.depth as usize, 60_000) / bus_bound(&config);
    assert!(share < 0.9, "{share:.4} of what the buses carry, first come first served");
}

#[test]
fn a_command_goes_between_two_pages_of_another_chip() {
    // Two chips on a bus: one reads two pages in one transaction, the other starts while they are
    // transferred.
    let mut config = drive(1, 2, 1, 2);
    config.schedule.plane_sharing = true;
    config.geometry.page_bytes = 4096;
    let latency = |arbitration| {
        let mut config = config.clone();
        config.bus.arbitration = arbitration;
        let mut ssd = prepared(&config, PreparedState::Sequential);
        let mut done = Vec::new();
        assert_eq!(ssd.submit(Time::ZERO, &command(Op::Read, 0, 16)), Submit::Accepted);
        let out = config.timing.cycle * (2 * READ_CYCLES) + config.timing.read[0] + Nanos(100);
        ssd.advance(Time::ZERO + out, &mut done);
        assert_eq!(ssd.submit(Time::ZERO + out, &command(Op::Read, 16, 8)), Submit::Accepted);
        while ssd.next_event() != Time::NEVER {
            ssd.advance(ssd.next_event(), &mut done);
        }
        done.iter().map(|completion| completion.at.since(Time::ZERO)).collect::<Vec<_>>()
    };
    let [fifo, commands_first] = [Arbitration::Fifo, Arbitration::CommandsFirst].map(latency);
    // The second page leaves one command later; the other chip's cells are read meanwhile.
    assert_eq!(commands_first[0] - fifo[0], config.timing.cycle * READ_CYCLES);
    assert_eq!(fifo[1] - commands_first[1], config.timing.read[0]);
}
