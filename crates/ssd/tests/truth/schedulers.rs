//! The commit schedulers compared with each other and with the paper's statements about each.

use crate::drives;
use crate::host::{command, prepared, serve};
use tailcut_base::random::Stream;
use tailcut_base::{Command, Nanos, Op, Time};
use tailcut_ssd::config::{Allocation, CommitPolicy, Order};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{Figures, SsdConfig};

/// Four channels of four chips of two dies and two planes; the logical page determines the physical location,
/// channels first.
fn drive(policy: CommitPolicy) -> SsdConfig {
    let mut config = drives::plane(16, 16);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (4, 4, 2, 2);
    g.ready_busy = ReadyBusy::Chip;
    config.ftl.allocation = Allocation::Static;
    config.ftl.order = Order::Cwdp;
    config.ftl.spare = 500_000;
    config.schedule.commit = policy;
    config
}

/// Throughput in pages per second, and the drive's metrics, for `count` commands of `pages` pages at random
/// addresses, 32 in flight.
fn random(policy: CommitPolicy, op: Op, pages: u32, count: u32) -> (f64, Figures) {
    let config = drive(policy);
    let mut ssd = prepared(&config, PreparedState::Sequential);
    let mut r = Stream::new(5, "test.schedulers");
    let all = config.ftl.logical_pages(&config.geometry) / u64::from(pages);
    let commands: Vec<Command> =
        (0..count).map(|_| command(op, r.below(all) * u64::from(pages), pages)).collect();
    let end = serve(&mut ssd, 32, commands).last().expect("there were commands").at;
    (f64::from(count * pages) / end.as_secs_f64(), ssd.figures(end))
}

#[test]
fn each_step_from_vas_to_sprinkler_serves_more() {
    use CommitPolicy::{Faro, Pas, Rios, Sprinkler, Vas};
    for op in [Op::Read, Op::Write] {
        let rate = |policy| random(policy, op, 4, 2000).0;
        assert!(rate(Pas) > 1.2 * rate(Vas), "{op}: PAS does not wait for busy chips");
        assert!(rate(Faro) > 1.1 * rate(Vas), "{op}: FARO commits to busy chips");
        assert!(rate(Rios) > rate(Pas), "{op}: RIOS reorders memory requests, PAS I/O requests");
        assert!(rate(Sprinkler) > rate(Rios), "{op}: FARO shares transactions");
        assert!(rate(Sprinkler) > rate(Faro), "{op}: RIOS finds requests for FARO");
    }
}

#[test]
fn over_commitment_halves_the_transactions_of_large_requests_and_rios_alone_cannot() {
    let reduction = |policy| random(policy, Op::Write, 64, 100).1.transaction_reduction();
    assert!(reduction(CommitPolicy::Rios) < 0.1, "{}", reduction(CommitPolicy::Rios));
    assert!(reduction(CommitPolicy::Faro) > 0.7, "{}", reduction(CommitPolicy::Faro));
    assert!(reduction(CommitPolicy::Sprinkler) > 0.7, "{}", reduction(CommitPolicy::Sprinkler));
}

/// Page offsets at which two planes of a die are read together, for pages at `first` and `second` of the
/// die's planes.
fn reads_together(first: u64, second: u64) -> [u64; 4] {
    let mut config = drives::plane(16, 64);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (1, 1, 1, 2);
    config.ftl.allocation = Allocation::Static;
    config.ftl.spare = 500_000;
    config.schedule.commit = CommitPolicy::Sprinkler;
    let mut ssd = prepared(&config, PreparedState::Sequential);
    // The chip is busy with the first read while the others arrive; the third is older than its partner.
    let pages = [0, 2 * first, 2 * 7, 2 * 9, 2 * second + 1];
    let end = serve(&mut ssd, 8, pages.map(|page| command(Op::Read, page, 1))).last().expect("five").at;
    ssd.figures(end).parallelism
}

#[test]
fn planes_share_a_transaction_at_equal_page_offsets_only() {
    assert_eq!(reads_together(5, 5), [3, 1, 0, 0]);
    assert_eq!(reads_together(5, 6), [5, 0, 0, 0]);
}

#[test]
fn shares_of_time_and_of_requests_add_up() {
    for &policy in <CommitPolicy as tailcut_base::config::Choice>::all() {
        for op in [Op::Read, Op::Write] {
            let (_, figures) = random(policy, op, 9, 500);
            let b = figures.breakdown();
            let sum = b.bus_active + b.bus_contention + b.cell_active + b.idle;
            assert!((sum - 1.0).abs() < 1e-9, "{policy:?}: {b:?}");
            assert!((figures.parallelism_shares().iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let busy = b.bus_active + b.cell_active + b.bus_contention;
            assert!(figures.lun_utilisation() <= busy + 1e-9, "{policy:?}");
            // The drive always had a command.
            let idle = 1.0 - figures.lun_utilisation();
            assert!((figures.inter_chip_idleness() - idle).abs() < 1e-3, "{policy:?}");
            assert!((0.0..1.0).contains(&figures.intra_chip_idleness()), "{policy:?}");
        }
    }
}

/// A load that keeps garbage collection busy while reads wait in a deep queue.
fn collected(readdressing: bool) -> (f64, Figures) {
    let mut config = drive(CommitPolicy::Sprinkler);
    config.ftl.spare = 350_000;
    config.queue.depth = 256;
    config.schedule.readdressing = readdressing;
    let mut ssd = prepared(&config, PreparedState::Steady);
    let mut r = Stream::new(6, "test.collected");
    let all = config.ftl.logical_pages(&config.geometry) - 4;
    let draw = |n| command(if n % 2 == 0 { Op::Write } else { Op::Read }, r.below(all), 4);
    let done = serve(&mut ssd, 256, (0..20_000).map(draw).collect::<Vec<Command>>());
    let end: Time = done.last().expect("there were commands").at;
    (20_000.0 / end.as_secs_f64(), ssd.figures(end))
}

#[test]
fn waiting_reads_follow_pages_that_are_moved() {
    let (_, with) = collected(true);
    assert!(with.counts.readdressed > 100, "{}", with.counts.readdressed);
    let (_, without) = collected(false);
    assert_eq!(without.counts.readdressed, 0);
}

/// Random one-page writes, 256 in flight, on fast and slow pages: returns programs per second, and the
/// fraction whose transaction includes a sibling plane.
fn random_programs(tune: impl Fn(&mut SsdConfig)) -> (f64, f64) {
    let mut config = drive(CommitPolicy::Sprinkler);
    config.geometry.blocks = 64;
    config.queue.depth = 256;
    config.timing.cell = CellKind::Mlc;
    config.timing.program = vec![Nanos::micros(200), Nanos::micros(2200)];
    tune(&mut config);
    let mut ssd = prepared(&config, PreparedState::Empty);
    let mut r = Stream::new(8, "test.programs");
    let all = config.ftl.logical_pages(&config.geometry);
    let commands: Vec<Command> = (0..20_000).map(|_| command(Op::Write, r.below(all), 1)).collect();
    let end = serve(&mut ssd, 256, commands).last().expect("there were commands").at;
    let figures = ssd.figures(end);
    let shares = figures.parallelism_shares();
    (figures.served[Kind::UserWrite as usize] as f64 / end.as_secs_f64(), shares[1] + shares[3])
}

#[test]
fn level_frontiers_let_planes_share_programs() {
    let (_, drifting) = random_programs(|_| {});
    let (_, level) = random_programs(|config| config.schedule.level_frontiers = true);
    assert!(level > 2.0 * drifting, "{level} of the programs share planes, {drifting} without");
}

#[test]
fn matched_cell_times_keep_fast_pages_from_waiting_for_slow_ones() {
    let (mixed, _) = random_programs(|_| {});
    let (matched, _) = random_programs(|config| config.schedule.match_cell_times = true);
    assert!(matched > 1.05 * mixed, "{matched} programs a second, {mixed} without");
}
