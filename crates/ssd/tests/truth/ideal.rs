//! Zero-cost collection: the same copies and erases as ordinary collection, without occupying chips.

use crate::content::Swarm;
use crate::drives;
use crate::writer::{Writer, hot_and_cold, uniform};
use tailcut_ssd::Figures;
use tailcut_ssd::config::{MappingLevel, VictimPolicy};
use tailcut_ssd::holder::Holder;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;

fn measure(policy: VictimPolicy, ideal: bool) -> Figures {
    let mut config = drives::plane(2048, 32);
    (config.gc.victim, config.gc.ideal) = (policy, ideal);
    config.ftl.spare = 150_000;
    let mut writer = Writer::new(&config, PreparedState::Steady, 1);
    let pages = writer.pages();
    writer.write(pages, uniform(pages));
    let figures = writer.write(2 * pages, uniform(pages));
    writer.ssd.check();
    figures
}

#[test]
fn ideal_collection_amplifies_as_ordinary_collection_does() {
    for policy in [VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::CostBenefit] {
        let (ideal, real) = (measure(policy, true), measure(policy, false));
        let (a, b) = (ideal.write_amplification(), real.write_amplification());
        println!("{policy}: ideal {a:.4}, ordinary {b:.4}");
        // Ordinary collection lags by up to a block, which counts as spare space: one block in 300.
        assert!((a / b - 1.0).abs() < 0.01, "{policy}: {a} against {b}");
        let (erases, erases_real) = (ideal.counts.erases as f64, real.counts.erases as f64);
        assert!((erases / erases_real - 1.0).abs() < 0.02, "{erases} erases against {erases_real}");
    }
}

#[test]
fn ideal_collection_holds_no_chip() {
    let figures = measure(VictimPolicy::Greedy, true);
    assert!(figures.counts.programmed_gc > 0 && figures.counts.erases > 0);
    for holder in [Holder::GcRead, Holder::GcWrite, Holder::Erase, Holder::Space] {
        assert_eq!(figures.holders[holder as usize], 0, "{holder:?}");
    }
    for kind in [Kind::GcRead, Kind::GcWrite, Kind::Erase] {
        assert_eq!(figures.served[kind as usize], 0, "{kind:?}");
    }
    // Writes meet no contention: the chips do nothing else.
    let user = figures.holders[Holder::UserWrite as usize];
    assert_eq!(user, figures.counts.programmed_user * (7 * 25 + 1538 + 100_000));
}

#[test]
fn ideal_collection_levels_wear() {
    let spread = |levelling: bool| {
        let mut config = drives::plane(64, 16);
        config.ftl.spare = 200_000;
        config.gc.ideal = true;
        (config.wear.levelling, config.wear.spread) = (levelling, 10);
        let mut writer = Writer::new(&config, PreparedState::Sequential, 1);
        let pages = writer.pages();
        writer.write(100 * pages, hot_and_cold(pages * 2 / 5, 0.5, 0.5, false));
        writer.ssd.check();
        let (least, _, most) = writer.ssd.wear();
        most - least
    };
    let (with, without) = (spread(true), spread(false));
    assert!(with <= 3 * 10 && without > 100, "{with} with levelling, {without} without");
}

#[test]
fn drives_that_collect_at_once_return_what_was_written_last() {
    let swarm = Swarm { name: "ideal", cases: 800, length: 300, reads: true, controls: false };
    let counts = swarm.counts(|drive, seed| {
        drive.gc.ideal = true;
        drive.ftl.mapping = MappingLevel::Page;
        if seed % 2 == 0 {
            (drive.faults.program_fail, drive.faults.erase_fail) = (0.05, 0.05);
        }
    });
    let failed = counts.iter().filter(|c| c.program_failures.min(c.programmed_gc) > 0).count();
    let levelled = counts.iter().filter(|c| c.levelled > 0).count();
    println!("a failed program in {failed}, wear levelled in {levelled} of {} drives", counts.len());
    assert!(failed > 0 && levelled > 0);
}
