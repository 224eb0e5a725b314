//! Write amplification compared with the published closed forms.

use crate::theory::{self, effective_blocks};
use crate::writer::{Writer, hot_and_cold, uniform};
use crate::{drives, writer};
use tailcut_base::random::Stream;
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::VictimPolicy;
use tailcut_ssd::precondition::PreparedState;

/// Enough blocks to approximate the theory's limit of many blocks.
const BLOCKS: u32 = 1024;
const PAGES: u32 = 32;

fn drive(policy: VictimPolicy, choices: u32, spare_ppm: u32) -> SsdConfig {
    let mut config = drives::plane(BLOCKS, PAGES);
    config.gc.victim = policy;
    config.gc.choices = choices;
    config.ftl.spare = spare_ppm;
    config
}

/// Steady-state write amplification. From the prepared state, one full overwrite lets the drive settle, and
/// two more are measured.
fn measure(config: &SsdConfig, place: impl Fn(u64) -> Box<dyn Fn(&mut Stream) -> (u64, u8)>) -> (f64, f64) {
    let mut writer = Writer::new(config, PreparedState::Steady, 1);
    let pages = writer.pages();
    writer.write(pages, place(pages));
    (writer.write(2 * pages, place(pages)).write_amplification(), pages as f64)
}

fn compare(policy: VictimPolicy, choices: u32, theory: impl Fn(u32, f64, f64) -> f64) {
    for spare_ppm in [80_000, 150_000, 280_000] {
        let config = drive(policy, choices, spare_ppm);
        let (measured, valid) = measure(&config, |pages| Box::new(uniform(pages)));
        let expected = theory(PAGES, effective_blocks(BLOCKS, config.gc.low), valid);
        let deviation = measured / expected - 1.0;
        println!(
            "{policy} {choices}, spare {spare_ppm} ppm: {measured:.4}, theory {expected:.4}, {:+.2} %",
            100.0 * deviation
        );
        assert!(
            deviation.abs() < 0.03,
            "{policy} {choices} at {spare_ppm} ppm: {measured} against {expected}"
        );
    }
}

#[test]
fn greedy_cleaning_amplifies_as_in_the_mean_field_limit() {
    compare(VictimPolicy::Greedy, 1, theory::greedy);
}

#[test]
fn fifo_cleaning_amplifies_as_desnoyers_has_it_for_lru() {
    compare(VictimPolicy::Fifo, 1, theory::fifo);
}

#[test]
fn random_cleaning_takes_an_average_block() {
    compare(VictimPolicy::Random, 1, theory::random);
}

#[test]
fn a_few_choices_amplify_as_van_houdt_has_it() {
    for d in [2, 5] {
        compare(VictimPolicy::DChoices, d, |n, blocks, valid| theory::choices(n, blocks, valid, d as i32));
    }
}

#[test]
fn cost_benefit_is_no_better_than_greedy_under_uniform_writes() {
    // Greedy is optimal for this load (Van Houdt, SIGMETRICS 2013, conclusion; Hu et al., SYSTOR 2009).
    let of = |policy| measure(&drive(policy, 1, 150_000), |pages| Box::new(uniform(pages))).0;
    let (greedy, cost_benefit) = (of(VictimPolicy::Greedy), of(VictimPolicy::CostBenefit));
    assert!(cost_benefit > 0.99 * greedy && cost_benefit < 1.3 * greedy, "{cost_benefit} against {greedy}");
}

/// Four fifths of the writes go to one fifth of the space.
fn skewed(policy: VictimPolicy, streams: bool) -> (f64, f64) {
    let mut config = drive(policy, 1, 150_000);
    config.ftl.streams = 1 + u32::from(streams);
    let mut writer = Writer::new(&config, PreparedState::Steady, 1);
    let pages = writer.pages();
    let place = writer::hot_and_cold(pages, 0.2, 0.8, streams);
    // The cold pages must also be written before the drive is in steady state.
    writer.write(4 * pages, &place);
    (writer.write(2 * pages, &place).write_amplification(), pages as f64)
}

#[test]
fn fifo_cleaning_of_hot_and_cold_data_amplifies_as_desnoyers_has_it() {
    let (measured, valid) = skewed(VictimPolicy::Fifo, false);
    let classes = [(0.2, 0.8), (0.8, 0.2)];
    let blocks = effective_blocks(BLOCKS, 2);
    let expected = theory::fifo_of_classes(PAGES, blocks, valid, &classes);
    println!("fifo, hot and cold: {measured:.4}, theory {expected:.4}");
    assert!((measured / expected - 1.0).abs() < 0.03, "{measured} against {expected}");
    assert!(expected > theory::fifo(PAGES, blocks, valid), "skew is bad for LRU cleaning");
}

#[test]
fn random_cleaning_does_not_care_for_hot_and_cold() {
    let (measured, valid) = skewed(VictimPolicy::Random, false);
    let expected = theory::random(PAGES, effective_blocks(BLOCKS, 2), valid);
    println!("random, hot and cold: {measured:.4}, theory {expected:.4}");
    assert!((measured / expected - 1.0).abs() < 0.03, "{measured} against {expected}");
}

#[test]
fn streams_that_keep_hot_and_cold_apart_write_less() {
    // Desnoyers, SYSTOR 2012, section 5; Van Houdt, Performance Evaluation 2013.
    for policy in [VictimPolicy::Greedy, VictimPolicy::CostBenefit] {
        let (mixed, apart) = (skewed(policy, false).0, skewed(policy, true).0);
        println!("{policy}: mixed {mixed:.4}, apart {apart:.4}");
        assert!(apart < 0.97 * mixed, "{policy}: {apart} apart, {mixed} mixed");
    }
}

#[test]
fn cost_benefit_beats_greedy_on_hot_and_cold_data() {
    // Rosenblum and Ousterhout, SOSP 1991, section 3.5; Kawaguchi et al., USENIX 1995.
    let (greedy, cost_benefit) =
        (skewed(VictimPolicy::Greedy, false).0, skewed(VictimPolicy::CostBenefit, false).0);
    println!("hot and cold: greedy {greedy:.4}, cost-benefit {cost_benefit:.4}");
    assert!(cost_benefit < greedy, "{cost_benefit} against {greedy}");
}

#[test]
fn trim_lowers_write_amplification_to_that_of_the_smaller_data_set() {
    let config = drive(VictimPolicy::Greedy, 1, 100_000);
    let mut writer = Writer::new(&config, PreparedState::Steady, 1);
    let pages = writer.pages();
    let full = writer.write(pages, uniform(pages)).write_amplification();
    let kept = pages * 4 / 5;
    for page in kept..pages {
        writer.trim(page);
    }
    writer.write(2 * pages, hot_and_cold(kept, 0.5, 0.5, false));
    let trimmed = writer.write(2 * pages, uniform(kept)).write_amplification();
    let expected = theory::greedy(PAGES, effective_blocks(BLOCKS, config.gc.low), kept as f64);
    println!("trim: {full:.4} before, {trimmed:.4} after, theory {expected:.4}");
    assert!((trimmed / expected - 1.0).abs() < 0.03, "{trimmed} against {expected}");
    assert!(trimmed < 0.6 * full, "{trimmed} after {full}");
}
