//! Wear: who is erased how often.

use crate::drives;
use crate::writer::{Writer, hot_and_cold};
use tailcut_ssd::precondition::PreparedState;

/// Most minus fewest erases of a block after `rounds` overwrites by a load that leaves 60 % of the
/// pages alone.
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
    // The spread is looked at once per 64 erases of the plane, in which the hottest of the blocks
    // can be erased a few times, and one block is moved at a time.
    assert!(with <= 3 * 10, "the spread is {with} with levelling");
    assert!(without > 100, "the spread is {without} without levelling");
    assert!(moved > 0 && unmoved == 0);
    assert!(spread(true, 200).0 <= 3 * 10, "the spread does not grow");
}

#[test]
fn a_drive_without_anything_to_gain_does_not_collect() {
    // Every block is full of valid pages, and there are free ones enough: writing over the same
    // page again and again must clean the blocks of its old versions, never a full one.
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 400_000;
    let mut writer = Writer::new(&config, PreparedState::Sequential, 1);
    let figures = writer.write(2000, |_| (0, 0));
    assert!(figures.write_amplification() < 1.02, "{}", figures.write_amplification());
}
