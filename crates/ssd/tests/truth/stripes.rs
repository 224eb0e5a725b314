//! Drives with block mapping and stripes: content, copies, parallelism.

use crate::content::Swarm;
use crate::drives;
use crate::naive::Pair;
use std::collections::VecDeque;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::{Allocation, Handling, MappingLevel, Order};

const PAGES: u32 = 8;

/// Four dies of two planes behind two channels, with stripes of `width` planes, planes first.
fn striped(width: u32) -> SsdConfig {
    let mut config = drives::plane(12, PAGES);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (2, 2, 1, 2);
    config.ftl.mapping = MappingLevel::Block;
    (config.ftl.order, config.ftl.stripe) = (Order::Pcwd, width);
    config.ftl.spare = drives::least_spare(&config);
    config.buffer.size = 4 * u64::from(PAGES) * config.geometry.page_bytes;
    config.queue.depth = 8;
    config
}

/// Writes a stripe page by page.
fn fill(pair: &mut Pair, stripe: u64, width: u32) {
    let pages = u64::from(width * PAGES);
    for page in stripe * pages..(stripe + 1) * pages {
        pair.submit(Op::Write, page, 1, false, 0);
    }
}

/// Trims and rewrites a stripe, `times` times: any stripe except the recent ones, which may be in the buffer.
/// Returns the total time, the copies and the erases.
fn rewrite(config: &SsdConfig, times: u32) -> (Nanos, u64, u64) {
    let (width, mut pair) = (config.ftl.stripe, Pair::new(config, 1));
    let pages = u64::from(width * PAGES);
    let stripes = pair.pages() / pages;
    for stripe in 0..stripes {
        fill(&mut pair, stripe, width);
    }
    pair.pass(Nanos::secs(1));
    let (begin, mut random) = (pair.now, Stream::new(1, "test.rewrite"));
    let mut recent = VecDeque::from(vec![stripes; stripes as usize / 2]);
    for _ in 0..times {
        let stripe = std::iter::repeat_with(|| random.below(stripes)).find(|s| !recent.contains(s));
        let stripe = stripe.expect("half of the stripes are not recent");
        recent.push_back(stripe);
        recent.pop_front();
        pair.submit(Op::Trim, stripe * pages, pages as u32, false, 0);
        fill(&mut pair, stripe, width);
    }
    pair.drain();
    let took = pair.now.since(begin);
    let counts = pair.finish().counts();
    (took, counts.programmed_gc, counts.erases)
}

#[test]
fn striped_drives_return_what_was_written_last() {
    Swarm { name: "stripes", cases: 700, length: 300, reads: false, controls: false }.run(|drive, seed| {
        let planes = drive.geometry.plane_count();
        drive.ftl.mapping = MappingLevel::Block;
        drive.ftl.stripe = (1 + (seed % u64::from(planes)) as u32..=planes)
            .find(|&width| planes.is_multiple_of(width))
            .unwrap_or(1);
        drive.gc.ideal = false;
        if drive.preempt.program == Handling::Reset {
            drive.preempt.program = Handling::Suspend;
        }
        // Leaves even the smallest drive a block for the host.
        (drive.ftl.streams, drive.gc.low, drive.gc.high) = (1, 2, 3);
        drive.ftl.spare = drives::least_spare(drive);
    });
}

#[test]
fn stripes_that_are_written_in_order_and_trimmed_whole_cost_no_copies() {
    for allocation in [Allocation::Static, Allocation::Dynamic] {
        for width in [1, 2, 4, 8] {
            let mut config = striped(width);
            config.ftl.allocation = allocation;
            let (_, copies, erases) = rewrite(&config, 200);
            assert_eq!(copies, 0, "{allocation}, stripes of {width}");
            // Blocks were erased before they were rewritten, except for the spare ones.
            let (written, spare) = (200 * u64::from(width), 8 * 12);
            assert!(erases <= written && erases + spare >= written, "{erases} erases for {written} blocks");
        }
    }
}

#[test]
fn a_stream_in_order_keeps_the_planes_of_a_stripe_at_work() {
    // Average number of busy planes: a program takes slightly more than 100 µs.
    let at_work = |width| {
        let mut config = striped(width);
        config.buffer.size = u64::from(2 * width) * config.geometry.page_bytes;
        let mut pair = Pair::new(&config, 1);
        for page in 0..pair.pages() {
            pair.submit(Op::Write, page, 1, false, 0);
        }
        pair.drain();
        pair.pages() as f64 * 100_000.0 / pair.now.0 as f64
    };
    for width in [1, 2, 4, 8] {
        let planes = at_work(width);
        println!("stripes of {width}: {planes:.2} planes at work");
        assert!(planes > 0.8 * f64::from(width), "stripes of {width}: {planes} planes at work");
    }
}

#[test]
fn stripes_in_any_order_are_spread_under_dynamic_allocation() {
    let time = |allocation| {
        let mut config = striped(2);
        config.ftl.allocation = allocation;
        rewrite(&config, 400).0.0 as f64
    };
    let (by_number, in_turn) = (time(Allocation::Static), time(Allocation::Dynamic));
    println!("{by_number} ns by number, {in_turn} ns in turn");
    assert!(in_turn < 0.9 * by_number, "{in_turn} ns against {by_number} ns");
}

#[test]
fn stripes_that_do_not_fit_are_refused() {
    let mut config = striped(3);
    assert!(config.check_stripe().is_err());
    config.ftl.stripe = 4;
    assert_eq!(config.check_stripe(), Ok(()));
    config.ftl.mapping = MappingLevel::Page;
    assert!(config.check_stripe().is_err());
}
