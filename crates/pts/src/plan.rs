//! The tests as lists of stages. Sections are those of PTS 2.0; `docs/decisions/drive-tests.md` lists the
//! parts for which its text was not available.

use crate::cell::Cell;
use crate::figures::Metric;
use crate::load::{Order, Sizes};
use crate::settings::Settings;
use crate::stage::{Limits, Rounds, Stage, Work};
use crate::test::Test;
use tailcut_base::Nanos;

const KIB: u64 = 1024;

/// I/O sizes of the IOPS matrix in bytes.
pub const IOPS_SIZES: [u64; 8] = [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512];
/// Percentages of reads of the IOPS matrix.
pub const IOPS_MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];

/// I/O sizes of the latency matrix in bytes.
pub const LATENCY_SIZES: [u64; 3] = [8 * KIB, 4 * KIB, 512];
/// Percentages of reads of the latency matrix.
pub const LATENCY_MIXES: [u8; 3] = [100, 65, 0];

/// Idle times of host idle recovery, in seconds.
pub const WAITS: [u64; 5] = [5, 10, 15, 25, 50];

/// Numbers of threads, and of I/Os per thread, of demand intensity; the composite workload omits 6.
pub const DEMANDS: [u32; 7] = [32, 16, 8, 6, 4, 2, 1];

/// Largest demand of a matrix: 32 threads with 32 I/Os each.
const FULL: (u32, u32) = (32, 32);

/// Demand of sequential loads: one thread with 32 I/Os.
const STREAM: (u32, u32) = (1, 32);

/// I/O sizes of the composite workload, those of JEDEC's enterprise workload (JESD219): percentage, and size
/// in sectors.
pub const COMPOSITE_SIZES: &[(u8, u32)] =
    &[(4, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (67, 8), (10, 16), (7, 32), (3, 64), (3, 128)];

/// Zones of the composite workload: percentage of I/Os, and percentage of the address range.
pub const COMPOSITE_ZONES: &[(u8, u8)] = &[(50, 5), (30, 15), (20, 80)];

/// Percentage of reads of the composite workload, as in JESD219.
const COMPOSITE_READS: u8 = 40;

/// Percentage of reads and I/O size in bytes of demand intensity: those of transaction processing.
const DEMAND: (u8, u64) = (65, 8 * KIB);

/// The stages of a test.
pub fn stages(test: Test, settings: &Settings) -> Vec<Stage> {
    match test {
        Test::Iops => iops(settings),
        Test::Throughput => throughput(settings),
        Test::Latency => latency(settings),
        Test::WriteSaturation => write_saturation(settings),
        Test::HostIdleRecovery => host_idle_recovery(settings),
        Test::CrossStimulusRecovery => cross_stimulus_recovery(settings),
        Test::CompositeBlockSize => composite(settings),
        Test::DemandIntensity => demand_intensity(settings),
    }
}

fn stage(name: impl Into<String>, work: Work) -> Stage {
    Stage { name: name.into(), work }
}

fn purge() -> Stage {
    stage("purge", Work::Purge)
}

/// Workload-independent preconditioning: twice the user capacity in sequence (section 3.3).
fn in_order(bytes: u64, demand: (u32, u32), settings: &Settings) -> Stage {
    stage(
        format!("precondition SEQ {}KiB", bytes / KIB),
        Work::Write { cell: Cell::in_order(0, bytes, demand), bytes: 2 * settings.capacity },
    )
}

/// The matrix of all sizes for each mix.
fn matrix(mixes: &[u8], sizes: &[u64], demand: (u32, u32)) -> Vec<Cell> {
    let row = |&mix: &u8| sizes.iter().map(move |&bytes| Cell::random(mix, bytes, demand));
    mixes.iter().flat_map(row).collect()
}

fn place(cells: &[Cell], reads: u8, bytes: u64) -> usize {
    let sizes = Cell::random(reads, bytes, (1, 1)).sizes;
    let is_it = |cell: &Cell| (cell.reads, cell.sizes) == (reads, sizes);
    cells.iter().position(is_it).expect("what is tracked is measured")
}

/// IOPS test (section 7).
fn iops(settings: &Settings) -> Vec<Stage> {
    let cells = matrix(&IOPS_MIXES, &IOPS_SIZES, settings.form.demand());
    let tracked = [(0, 4 * KIB), (65, 64 * KIB), (100, 1024 * KIB)];
    let tracked = tracked.map(|(reads, bytes)| (place(&cells, reads, bytes), Metric::Iops)).to_vec();
    let rounds = rounds(cells, tracked, None, settings);
    vec![purge(), in_order(128 * KIB, settings.form.demand(), settings), stage("rounds", rounds)]
}

fn rounds(
    cells: Vec<Cell>,
    tracked: Vec<(usize, Metric)>,
    before: Option<(Cell, Nanos)>,
    settings: &Settings,
) -> Work {
    let limits = Limits::rounds(settings.rounds);
    Work::Rounds(Rounds { before, cells, each: settings.minute, tracked, limits })
}

/// Throughput test (section 8): each size begins with its own purge.
fn throughput(settings: &Settings) -> Vec<Stage> {
    let of = |bytes: u64| {
        let cells = vec![Cell::in_order(100, bytes, STREAM), Cell::in_order(0, bytes, STREAM)];
        let rounds = rounds(cells, vec![(1, Metric::Throughput)], None, settings);
        let name = |what: &str| format!("{what} {}KiB", bytes / KIB);
        let fill = in_order(bytes, STREAM, settings).work;
        [
            stage(name("purge"), Work::Purge),
            stage(name("precondition SEQ"), fill),
            stage(name("rounds SEQ"), rounds),
        ]
    };
    [1024 * KIB, 128 * KIB].into_iter().flat_map(of).collect()
}

/// Latency test (section 9): one I/O at a time.
fn latency(settings: &Settings) -> Vec<Stage> {
    let cells = matrix(&LATENCY_MIXES, &LATENCY_SIZES, (1, 1));
    let tracked = vec![(place(&cells, 0, 4 * KIB), Metric::MeanLatency)];
    let rounds = rounds(cells, tracked, None, settings);
    let histogram = histogram(Cell::random(0, 4 * KIB, (1, 1)), settings);
    vec![purge(), in_order(128 * KIB, settings.form.demand(), settings), stage("rounds", rounds), histogram]
}

fn histogram(cell: Cell, settings: &Settings) -> Stage {
    let time = settings.minute * u64::from(settings.samples(20));
    stage("histogram", Work::Histogram { cell, time })
}

/// Samples of one minute; the last of thirty is the result of a round.
fn saturating(cell: Cell, limits: Limits, settings: &Settings) -> Work {
    let samples = settings.samples(30);
    let least = if settings.is_conforming() { 0 } else { settings.capacity };
    Work::Rounds(Rounds {
        before: None,
        cells: vec![cell; samples as usize],
        each: settings.minute,
        tracked: vec![(samples as usize - 1, Metric::Iops)],
        limits: Limits { least, ..limits },
    })
}

/// Write saturation (section 10): until four times the user capacity is written, for six hours, or until five
/// rounds are steady.
fn write_saturation(settings: &Settings) -> Vec<Stage> {
    let cell = Cell::random(0, 4 * KIB, settings.form.demand());
    let limits =
        Limits { bytes: 4 * settings.capacity, time: settings.minute * 360, ..Limits::rounds(u32::MAX) };
    let write = stage("saturation", saturating(cell, limits, settings));
    vec![purge(), write, histogram(cell, settings)]
}

/// Preconditioning of other tests: the load's own writes until they are steady.
fn precondition(cell: Cell, settings: &Settings) -> Stage {
    stage("precondition", saturating(cell, Limits::rounds(settings.rounds), settings))
}

/// Host idle recovery (section 11): writes of five seconds alternate with idle times, then writes without
/// pauses lead back.
fn host_idle_recovery(settings: &Settings) -> Vec<Stage> {
    let cell = Cell::random(0, 4 * KIB, settings.form.demand());
    let series = |each, count, rest| Work::Series { cell, each, count: settings.samples(count), rest };
    let of = |&wait: &u64| {
        let rest = settings.seconds(wait);
        [
            stage(format!("wait {wait} s"), series(settings.seconds(5), 360, rest)),
            stage(format!("baseline after wait {wait} s"), series(settings.minute, 30, Nanos::ZERO)),
        ]
    };
    let begin = [purge(), precondition(cell, settings)];
    begin.into_iter().chain(WAITS.iter().flat_map(of)).collect()
}

/// Cross stimulus recovery (section 12): eight hours of large sequential writes, six of small random ones,
/// eight of the first again.
fn cross_stimulus_recovery(settings: &Settings) -> Vec<Stage> {
    let (each, rest) = (settings.minute, Nanos::ZERO);
    let hours = |cell, hours: u32| Work::Series { cell, each, count: settings.samples(60 * hours), rest };
    let large = Cell { order: Order::Onward, ..Cell::in_order(0, 1024 * KIB, STREAM) };
    let small = Cell::random(0, 8 * KIB, STREAM);
    vec![
        purge(),
        stage("group 1 SEQ 1024KiB", hours(large, 8)),
        stage("group 2 RND 8KiB", hours(small, 6)),
        stage("group 3 SEQ 1024KiB", hours(large, 8)),
    ]
}

/// All combinations of threads and queue depths, in descending order.
fn demands(of: Cell, demands: &[u32]) -> Vec<Cell> {
    let row =
        |&threads: &u32| demands.iter().map(move |&queue| Cell { threads, queue, ..of }).collect::<Vec<_>>();
    demands.iter().flat_map(row).collect()
}

/// Composite block size workload (section 13).
fn composite(settings: &Settings) -> Vec<Stage> {
    let (sizes, order) = (Sizes::Mixed(COMPOSITE_SIZES), Order::Zones(COMPOSITE_ZONES));
    let writes = Cell { reads: 0, sizes, order, threads: FULL.0, queue: FULL.1 };
    let demanded: Vec<u32> = DEMANDS.into_iter().filter(|&demand| demand != 6).collect();
    let cells = demands(Cell { reads: COMPOSITE_READS, ..writes }, &demanded);
    let before = (writes, settings.minute * u64::from(settings.samples(10)));
    let rounds = rounds(cells, vec![(0, Metric::Iops)], Some(before), settings);
    vec![purge(), precondition(writes, settings), stage("rounds", rounds)]
}

/// Demand intensity (section 14).
fn demand_intensity(settings: &Settings) -> Vec<Stage> {
    let (reads, bytes) = DEMAND;
    let writes = Cell::random(0, bytes, FULL);
    let cells = demands(Cell { reads, ..writes }, &DEMANDS);
    let minutes = |minutes| settings.minute * u64::from(settings.samples(minutes));
    let rounds = rounds(cells, vec![(0, Metric::Iops)], Some((writes, minutes(5))), settings);
    let points = Work::Points { settle: settings.samples(60), each: settings.minute, time: minutes(10) };
    vec![purge(), precondition(writes, settings), stage("rounds", rounds), stage("points", points)]
}
