//! Wear: erase counts of blocks.

use crate::drives;
use crate::writer::{Writer, hot_and_cold};
use tailcut_ssd::precondition::PreparedState;

/// Largest minus smallest erase count of a block after `rounds` overwrites by a load that leaves 60 % of the
/// pages untouched.
fn spread(levelling: bool, rounds: u64) -> (u32, u64) {
    let mut config = drives::plane(64, 16);
    config.ftl.spare = 200_000;
    (config.wear.levelling, config.wear.spread) = (levelling, 10);
    let mut writer = Writer::new(&config, PreparedState::Sequential, 1);
    let pages = writer.pages();
    let figures = writer.write(rounds * pages, hot_and_cold(pages * 2 / 5, 0.5, 0.5, false));
    let (least, _, most) = writer.ssd.wear();
    writer.ssd.check();
    (most - least, figures.counts.levelled)
}

#[test]
fn levelling_bounds_the_spread_of_erases_and_without_it_the_spread_grows() {
    let (with, moved) = spread(true, 100);
    let (without, unmoved) = spread(false, 100);
    println!("spread {with} with levelling ({moved} blocks moved), {without} without");
    // The spread is checked once per 64 erases of the plane, during which the hottest blocks can be erased
    // several times, and one block is moved at a time.
    assert!(with <= 3 * 10, "the spread is {with} with levelling");
    assert!(without > 100, "the spread is {without} without levelling");
    assert!(moved > 0 && unmoved == 0);
    assert!(spread(true, 200).0 <= 3 * 10, "the spread does not grow");
}

#[test]
fn a_drive_without_anything_to_gain_does_not_collect() {
    // All blocks are full of valid pages, and enough are free: overwriting the same page repeatedly must
    // clean the blocks with its old versions, never a block of valid pages.
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 400_000;
    let mut writer = Writer::new(&config, PreparedState::Sequential, 1);
    let figures = writer.write(2000, |_| (0, 0));
    assert!(figures.write_amplification() < 1.02, "{}", figures.write_amplification());
}
