//! Drives of today under published tests: a drive at a part of its size.

use tailcut_base::Nanos;
use tailcut_ssd::{Preset, SsdConfig};
use tailcut_study::drives::{Measurement, RandomWrites, RequestRate, TestRun};

/// A whole drive of 1,820 superblocks, each of an eighth of its word lines.
fn whole() -> SsdConfig {
    let mut drive = Preset::Pm9a3.config();
    (drive.geometry.blocks, drive.geometry.pages) = (1820, 48 * 24);
    drive.ftl.spare = 130_000;
    // A superblock is erased eight times as often as that of the real drive: block by block, not at once.
    drive.superblock.erases = 1;
    drive
}

fn measured(device: &SsdConfig) -> Measurement {
    let test = TestRun { warm_up: Nanos::secs(1), measured: Nanos::secs(12), ..TestRun::default() };
    let load = RandomWrites { offered: RequestRate(45_000) };
    load.run(device, &test, &|| false).expect("the test runs")
}

#[test]
fn an_eighth_of_a_drive_is_as_quick_as_the_whole_and_amplifies_as_much() {
    let whole = whole();
    let [whole, eighth] = [&whole, &whole.at_scale(8)].map(measured);
    let [a, b] = [&whole, &eighth].map(|found| found.write_amplification.expect("there were writes"));
    assert!((a / b - 1.0).abs() < 0.03, "amplification {a} and {b}");
    // p50, p90, p95 and p99 of 60,000 reads.
    for (index, (a, b)) in whole.reads.micros.iter().zip(eighth.reads.micros).enumerate().skip(1).take(4) {
        assert!((a / b - 1.0).abs() < 0.03, "percentile {index} of reads: {a} and {b} µs");
    }
    for (index, (a, b)) in whole.writes.micros.iter().zip(eighth.writes.micros).enumerate().skip(1).take(4) {
        assert!((a - b).abs() < 0.03 * a.max(10.0), "percentile {index} of writes: {a} and {b} µs");
    }
}
