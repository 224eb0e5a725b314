//! Preparation constructs the same state as sustained writing.

use crate::drives;
use crate::writer::{Writer, uniform};
use tailcut_base::config::Choice;
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;
use tailcut_ssd::config::{Allocation, MappingLevel, VictimPolicy};
use tailcut_ssd::flash::{LogicalPage, PlaneId};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Ssd, SsdConfig};

/// The Kolmogorov-Smirnov distance of two samples with values up to `most`.
fn distance(a: &[u32], b: &[u32], most: u32) -> f64 {
    let share =
        |all: &[u32], limit: u32| all.iter().filter(|&&x| x <= limit).count() as f64 / all.len() as f64;
    (0..=most).map(|limit| (share(a, limit) - share(b, limit)).abs()).fold(0.0, f64::max)
}

#[test]
fn a_constructed_steady_state_is_that_of_endless_writing() {
    for &policy in VictimPolicy::all() {
        let mut config = drives::plane(1024, 32);
        config.gc.victim = policy;
        config.gc.choices = 3;
        config.ftl.spare = 150_000;
        let mut built = Writer::new(&config, PreparedState::Steady, 1);
        let mut written = Writer::new(&config, PreparedState::Sequential, 2);
        let pages = written.pages();
        written.write(6 * pages, uniform(pages));
        let counts = [&built, &written].map(|writer| writer.ssd.valid_pages_of_closed_blocks());
        let apart = distance(&counts[0], &counts[1], 32);
        let amplification = [&mut built, &mut written]
            .map(|writer| writer.write(pages, uniform(pages)).write_amplification());
        let ratio = amplification[0] / amplification[1];
        println!(
            "{policy}: built {:.4}, written {:.4}, distance {apart:.4}",
            amplification[0], amplification[1]
        );
        assert!((ratio - 1.0).abs() < 0.03, "{policy}: {amplification:?}");
        // Two samples of a thousand blocks from one distribution differ by more than 0.073 in one of a
        // hundred cases. Cost-benefit is prepared as greedy, which is only an approximation.
        let limit = if policy == VictimPolicy::CostBenefit { 0.1 } else { 0.073 };
        assert!(apart < limit, "{policy}: the distributions of valid pages are {apart} apart");
        built.ssd.check();
        written.ssd.check();
    }
}

#[test]
fn the_first_writes_to_a_prepared_drive_cost_as_much_as_later_ones() {
    let mut config = drives::plane(1024, 32);
    config.ftl.spare = 150_000;
    let mut writer = Writer::new(&config, PreparedState::Steady, 3);
    let pages = writer.pages();
    let first = writer.write(pages / 10, uniform(pages)).write_amplification();
    writer.write(3 * pages, uniform(pages));
    let later = writer.write(pages, uniform(pages)).write_amplification();
    assert!((first / later - 1.0).abs() < 0.05, "{first} at first, {later} later");
}

/// Pages of a request of 1 MiB on these drives.
const MIB: u64 = (1 << 20) / 512;

/// Pages of a drive in the order of writing: in requests of 1 MiB at random, until these and the pages that
/// are not among them, which come first, are `all`.
fn random_requests(drive: &Writer, all: u64) -> Vec<u64> {
    let pages = drive.pages();
    let mut random = Stream::new(7, "test.random-requests");
    let (mut drawn, mut others) = (Vec::new(), (0..pages).collect::<std::collections::BTreeSet<u64>>());
    while ((drawn.len() + others.len()) as u64) < all {
        let first = random.below(pages / MIB) * MIB;
        for page in first..first + MIB {
            others.remove(&page);
            drawn.push(page);
        }
    }
    others.into_iter().chain(drawn).take(all as usize).collect()
}

#[test]
fn a_drive_prepared_at_random_is_one_that_was_written_at_random() {
    for &allocation in Allocation::all() {
        let mut config = small(MappingLevel::Page, allocation, VictimPolicy::Greedy);
        config.geometry.blocks = 512;
        let mut built = Writer::new(&config, PreparedState::Random, 1);
        let pages = built.pages();
        let planes = u64::from(config.geometry.plane_count());
        if allocation == Allocation::Dynamic {
            let mut written = Writer::new(&config, PreparedState::Empty, 2);
            let used = u64::from((config.geometry.blocks - config.gc.low) * config.geometry.pages);
            let mut order = random_requests(&written, used * planes).into_iter();
            let figures = written.write(used * planes, |_| (order.next().expect("as many as that"), 0));
            assert_eq!(figures.counts.programmed_gc, 0, "collection is about to begin");
            let counts = [&built, &written].map(|writer| writer.ssd.valid_pages_of_full_blocks());
            assert_eq!(counts[0].len(), counts[1].len());
            let apart = distance(&counts[0], &counts[1], config.geometry.pages);
            // Fifty requests decide each of these, so what two drives have in common is rough.
            assert!(apart < 0.2, "the distributions of valid pages are {apart} apart");
        }
        let has_data = |page| built.ssd.plane_of_page(LogicalPage::new(page)).is_some();
        assert!((0..pages).all(has_data), "{allocation}: a page was never written");
        built.ssd.check();
        let next = built.write(u64::from(config.geometry.pages) * planes, uniform(pages));
        assert!(next.counts.erases > 0, "{allocation}: collection had not been about to begin");
    }
}

#[test]
fn the_random_state_is_refused_where_pages_are_not_mapped_one_by_one() {
    let how = Precondition { state: PreparedState::Random, fill: 1_000_000 };
    let by_block = small(MappingLevel::Block, Allocation::Dynamic, VictimPolicy::Greedy);
    for config in [by_block, Preset::Pm9a3.config()] {
        let refused = Ssd::new(&config, 1, false).has_room_for(&how).expect_err("it has no such state");
        assert!(refused.message.contains("set it to \"steady\""), "{refused}");
    }
}

/// The layout that a host finds on a drive: how the pages of its requests are spread, and how full its blocks
/// are.
struct Layout {
    /// For requests of eight pages: the largest number of pages that one plane has to read.
    most_in_plane: Vec<u32>,
    /// Number of valid pages in each full block.
    valid: Vec<u32>,
    /// Free pages left in a plane's open blocks, the host's and the collector's.
    left: Vec<u32>,
    /// Latencies in ns of reads of eight pages, one at a time.
    latencies: Vec<u64>,
}

impl Layout {
    fn of(writer: &mut Writer) -> Layout {
        let pages = writer.pages() as u32;
        let planes = writer.ssd.planes();
        let mut random = Stream::new(5, "test.requests");
        let (mut most_in_plane, mut latencies) = (Vec::new(), Vec::new());
        for _ in 0..REQUESTS {
            let first = random.below(u64::from(pages / REQUEST)) as u32 * REQUEST;
            let mut counts = vec![0; planes as usize];
            for page in first..first + REQUEST {
                counts[writer
                    .ssd
                    .plane_of_page(LogicalPage::new(u64::from(page)))
                    .expect("it was written")
                    .index()] += 1;
            }
            most_in_plane.push(counts.into_iter().max().expect("there are planes"));
            latencies.push(writer.read(u64::from(first), REQUEST));
        }
        let left =
            (0..planes).flat_map(|plane| writer.ssd.pages_left_in_open_blocks(PlaneId::new(plane))).collect();
        Layout { most_in_plane, valid: writer.ssd.valid_pages_of_full_blocks(), left, latencies }
    }
}

/// Pages per request.
const REQUEST: u32 = 8;
const REQUESTS: u32 = 1000;

/// Two channels of two chips of two planes, which seldom wait long for each other's data.
fn small(mapping: MappingLevel, allocation: Allocation, victim: VictimPolicy) -> SsdConfig {
    let mut config = drives::plane(64, 32);
    (config.geometry.channels, config.geometry.chips, config.geometry.planes) = (2, 2, 2);
    config.ftl.spare = 250_000;
    (config.ftl.mapping, config.ftl.allocation) = (mapping, allocation);
    (config.gc.victim, config.gc.choices) = (victim, 3);
    config
}

#[test]
fn a_prepared_drive_is_laid_out_as_one_that_was_written_for_long() {
    for mapping in [MappingLevel::Page, MappingLevel::Block] {
        for &allocation in Allocation::all() {
            for &victim in VictimPolicy::all() {
                // A drive that maps by block has no victims.
                if mapping == MappingLevel::Block && victim != VictimPolicy::Greedy {
                    continue;
                }
                compare_layouts(&small(mapping, allocation, victim));
            }
        }
    }
}

fn compare_layouts(config: &SsdConfig) {
    let what = format!("{} {} {}", config.ftl.mapping, config.ftl.allocation, config.gc.victim);
    let mut aged = Writer::new(config, PreparedState::Empty, 2);
    let pages = aged.pages();
    let mut order = shuffled(pages).into_iter();
    aged.write(pages, |_| (order.next().expect("one for each"), 0));
    // A drive with block mapping copies half a block for each page.
    let rounds = if config.ftl.mapping == MappingLevel::Block { 1 } else { 6 };
    aged.write(rounds * pages, uniform(pages));
    let aged: Vec<Layout> = (0..SAMPLES)
        .map(|_| {
            aged.write(pages / 7, uniform(pages));
            Layout::of(&mut aged)
        })
        .collect();
    // A prepared drive starts with the host's blocks half full, so it is sampled over the time in which they
    // fill once.
    let period = u64::from(config.geometry.pages * config.geometry.plane_count());
    let built: Vec<Layout> = (0..SAMPLES)
        .map(|sample| {
            let mut built = Writer::new(config, PreparedState::Steady, sample);
            if config.ftl.allocation == Allocation::Dynamic {
                built.write(sample * period / SAMPLES, uniform(pages));
            }
            Layout::of(&mut built)
        })
        .collect();
    let apart = |part: fn(&Layout) -> &Vec<u32>, most: u32| {
        let [built, aged] =
            [&built, &aged].map(|layouts| layouts.iter().flat_map(part).copied().collect::<Vec<_>>());
        distance(&built, &aged, most)
    };
    let pages = config.geometry.pages;
    let (valid, in_plane) = (apart(|layout| &layout.valid, pages), apart(|layout| &layout.most_in_plane, 8));
    let left = apart(|layout| &layout.left, pages);
    let [built, aged] = [&built, &aged].map(|layouts| {
        let mut all: Vec<u64> = layouts.iter().flat_map(|layout| &layout.latencies).copied().collect();
        all.sort_unstable();
        move |share: f64| all[(all.len() as f64 * share) as usize]
    });
    println!("{what}: valid {valid:.3}, in a plane {in_plane:.3}, left {left:.3}, p99 {}", built(0.99));
    assert!(valid < 0.1, "{what}: the distributions of valid pages are {valid} apart");
    assert!(in_plane < 0.03, "{what}: the distributions of pages in one plane are {in_plane} apart");
    // The planes of a drive written page by page open their blocks together, so there are few independent
    // samples.
    assert!(left < 0.3, "{what}: the distributions of pages left in open blocks are {left} apart");
    // Latencies come in steps: one for each additional page in one plane.
    for (share, around) in [(0.5, 0.48..=0.52), (0.99, 0.985..=0.994)] {
        let range = aged(*around.start())..=aged(*around.end());
        assert!(range.contains(&built(share)), "{what}: {share} at {} ns, aged {range:?}", built(share));
    }
}

/// The numbers below `count` in random order.
fn shuffled(count: u64) -> Vec<u64> {
    let mut random = Stream::new(3, "test.order");
    let mut order = Vec::from_iter(0..count);
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
}

/// Number of drives, or of points in a drive's life, that are compared.
const SAMPLES: u64 = 6;
