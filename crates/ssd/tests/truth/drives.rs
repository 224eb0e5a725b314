//! Drives for tests: the smallest ones with all features, and random ones.

use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_ssd::config::{
    Allocation, Arbitration, ChipPolicy, Classes, CommitPolicy, FailFast, Handling, MappingLevel, Order,
    PacingMode, QueueArbitration, VictimPolicy,
};
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::{Preset, SsdConfig};

/// One plane of `blocks` blocks of `pages` one-sector pages, write-through, with 20 µs reads, 100 µs programs
/// and 300 µs erases, without wear levelling and faults.
pub(crate) fn plane(blocks: u32, pages: u32) -> SsdConfig {
    let mut config = Preset::M.config();
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (1, 1, 1, 1);
    (g.blocks, g.pages, g.page_bytes) = (blocks, pages, 512);
    config.timing.read = vec![Nanos::micros(20)];
    config.timing.program = vec![Nanos::micros(100)];
    config.timing.erase = Nanos::micros(300);
    config.buffer.size = 0;
    config.gc.low = 2;
    config.gc.high = 3;
    config.wear.levelling = false;
    config
}

/// One plane of 16 blocks of 8 pages, 76 of which are visible to the host. After a sequential fill, 6 blocks
/// are free; collection is forced below 2 free blocks, and runs ahead up to `high`.
pub(crate) fn with_high(high: u32) -> SsdConfig {
    let mut config = plane(16, 8);
    config.ftl.spare = 400_000;
    (config.gc.low, config.gc.high) = (2, high);
    config
}

/// The smallest spare space, in parts per million, that the configuration accepts.
pub(crate) fn least_spare(config: &SsdConfig) -> u32 {
    let mut config = config.clone();
    let fits = |config: &mut SsdConfig, spare: u32| {
        config.ftl.spare = spare;
        config.check_space().is_ok()
    };
    (0..900).map(|step| step * 1000).find(|&spare| fits(&mut config, spare)).unwrap_or(900_000)
}

/// A random tiny drive in the manner of swarm testing (Groce et al., ISSTA 2012): each feature is disabled in
/// about half of the drives, because features can hide each other's bugs.
pub(crate) fn random(seed: u64) -> SsdConfig {
    let mut r = Stream::new(seed, "test.drive");
    loop {
        let config = draw(&mut r);
        // A drive without any logical page is rejected before it is built.
        if config.check_space().is_ok() {
            return config;
        }
    }
}

fn draw(r: &mut Stream) -> SsdConfig {
    let mut config = plane(0, 0);
    let upto = |r: &mut Stream, most: u64| 1 + r.below(most) as u32;
    let coin = |r: &mut Stream| r.below(2) == 1;
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (upto(r, 2), upto(r, 2), upto(r, 2), upto(r, 2));
    (g.blocks, g.pages) = (6 + upto(r, 8), [1, 2, 3, 4, 7, 8][r.below(6) as usize]);
    g.page_bytes = [512, 1024, 4096, 32_768][r.below(4) as usize];
    g.ready_busy = pick::<ReadyBusy>(r);
    config.timing.cell = [CellKind::Slc, CellKind::Mlc, CellKind::Tlc][r.below(3) as usize];
    if coin(r) {
        (config.timing.program, config.timing.read) = times(config.timing.cell);
    }
    config.bus.arbitration = pick::<Arbitration>(r);
    config.link.rate = [2_000_000, 100_000_000, 4_000_000_000][r.below(3) as usize];
    config.link.command = Nanos([0, 700][r.below(2) as usize]);
    config.link.half_duplex = coin(r);
    config.queue.depth = [1, 2, 7, 32][r.below(4) as usize];
    config.queue.firmware = Nanos([0, 0, 1300][r.below(3) as usize]);
    config.schedule.commit = pick::<CommitPolicy>(r);
    config.schedule.chip = pick::<ChipPolicy>(r);
    config.schedule.classes = pick::<Classes>(r);
    (config.schedule.level_queues, config.schedule.hit_manager) = (coin(r), coin(r));
    config.schedule.write_patience = Nanos::micros([0, 200, 10_000][r.below(3) as usize]);
    config.schedule.passes = [0, 1, 16][r.below(3) as usize];
    config.schedule.readdressing = coin(r);
    (config.schedule.level_frontiers, config.schedule.match_cell_times) = (coin(r), coin(r));
    (config.schedule.plane_sharing, config.schedule.die_interleaving) = (coin(r), coin(r));
    if r.below(6) == 0 {
        config.ftl.mapping = MappingLevel::Block;
        config.ftl.stripe = stripe(r, config.geometry.plane_count());
    }
    config.ftl.allocation = pick::<Allocation>(r);
    config.ftl.order = pick::<Order>(r);
    config.ftl.streams = upto(r, 3);
    config.gc.victim = pick::<VictimPolicy>(r);
    config.gc.choices = upto(r, 3);
    config.gc.low = 1 + upto(r, 2);
    config.gc.high = config.gc.low + r.below(3) as u32;
    (config.gc.background, config.gc.preemptible) = (coin(r), coin(r));
    config.gc.copies = upto(r, 3);
    config.gc.merge = coin(r);
    preempt(r, &mut config);
    (config.wear.levelling, config.wear.spread) = (coin(r), 1 + upto(r, 4));
    config.buffer.size = config.geometry.page_bytes * [0, 0, 1, 2, 8][r.below(5) as usize];
    config.buffer.flush_above = [0, 500_000][r.below(2) as usize];
    config.buffer.capacitor = coin(r);
    if coin(r) {
        let rate = |r: &mut Stream| [0.0, 0.003, 0.03][r.below(3) as usize];
        config.faults.factory_bad = rate(r);
        config.faults.program_fail = rate(r);
        config.faults.erase_fail = rate(r);
    }
    config.schedule.fail_fast = pick::<FailFast>(r);
    config.gc.ideal = r.below(4) == 0;
    config.queue.commands = [0, 0, 1, 3][r.below(4) as usize];
    config.queue.arbitration = pick::<QueueArbitration>(r);
    config.preempt.safe_point = Nanos([0, 20_000][r.below(2) as usize]);
    config.preempt.progress = Nanos([0, 30_000][r.below(2) as usize]);
    config.preempt.under_backlog = coin(r);
    if config.buffer.size > 0 && !config.preempt.time_programs {
        config.pacing.mode = pick::<PacingMode>(r);
        config.pacing.window = Nanos([100_000, 3_000_000][r.below(2) as usize]);
        (config.pacing.most, config.pacing.growth) = (30_000, [20_000, 1_000_000][r.below(2) as usize]);
        config.pacing.burst = upto(r, 4);
    }
    // From the tightest drive that is accepted to one with a lot of spare space.
    config.ftl.spare = (least_spare(&config) + [0, 0, 60_000, 200_000][r.below(4) as usize]).min(900_000);
    config.schedule.whole_requests = coin(r);
    config
}

/// A stripe width that divides the number of planes.
fn stripe(r: &mut Stream, planes: u32) -> u32 {
    let fits: Vec<u32> = (1..=planes).filter(|&width| planes.is_multiple_of(width)).collect();
    fits[r.below(fits.len() as u64) as usize]
}

/// Program and read times that differ for each page of a word line.
pub(crate) fn times(cell: CellKind) -> (Vec<Nanos>, Vec<Nanos>) {
    let each = |time: u64| (1..=u64::from(cell.bits())).map(|n| Nanos::micros(time * n)).collect();
    (each(60), each(15))
}

/// Preemption with short times, so that it occurs in every phase of an operation.
fn preempt(r: &mut Stream, config: &mut SsdConfig) {
    config.preempt.program = pick::<Handling>(r);
    config.preempt.erase = pick::<Handling>(r);
    config.preempt.suspensions = [0, 1, 16][r.below(3) as usize];
    config.preempt.resets = [0, 1, 16][r.below(3) as usize];
    config.preempt.when_quicker = r.below(2) == 1;
    config.preempt.wear_budget = [0, 0, 300_000][r.below(3) as usize];
    (config.preempt.place_programs, config.preempt.time_erases) = (r.below(2) == 1, r.below(2) == 1);
    config.preempt.time_programs = r.below(2) == 1;
    let times = &mut config.timing;
    for time in [
        &mut times.program_suspend,
        &mut times.program_resume,
        &mut times.erase_suspend,
        &mut times.erase_resume,
        &mut times.program_reset,
        &mut times.erase_reset,
    ] {
        *time = Nanos([0, 1, 3000, 40_000][r.below(4) as usize]);
    }
    if config.check_preemption().is_err() {
        (config.preempt.program, config.preempt.erase) = (Handling::None, Handling::None);
    }
}

/// A random variant of a choice.
pub(crate) fn pick<C: Choice>(r: &mut Stream) -> C {
    C::all()[r.below(C::all().len() as u64) as usize]
}
