//! The state that preparation constructs is the one that writing leads to.

use crate::drives;
use crate::writer::{Writer, uniform};
use tailcut_base::config::Choice;
use tailcut_ssd::controller::ftl::closed::VictimPolicy;
use tailcut_ssd::precondition::PreparedState;

/// The largest distance between two cumulative distributions (Kolmogorov and Smirnov).
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
        // Two samples of a thousand blocks of one distribution are further apart than 0.073 in one
        // of a hundred cases.
        assert!(apart < 0.073, "{policy}: the distributions of valid pages are {apart} apart");
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
