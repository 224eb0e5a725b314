//! An uncontended 4 KiB read on each preset: worked out by hand from the sources' figures, to the nanosecond.

use crate::host::{command, prepared, serve};
use tailcut_base::{Nanos, Op};
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;

/// Latency of a 4 KiB read, on the smallest drive that can be built.
fn read_of(preset: Preset) -> Nanos {
    let mut config = preset.config();
    config.timing.read_jitter = Nanos(0);
    (config.geometry.blocks, config.geometry.pages) = (12, 12);
    config.ftl.spare = 800_000;
    let mut ssd = prepared(&config, PreparedState::Sequential);
    let done = serve(&mut ssd, 1, [command(Op::Read, 8, 8)]);
    done[0].spans.iter().map(|(_, time)| time).sum()
}

#[test]
fn one_read_takes_the_sum_of_its_parts() {
    // Cells, command cycles, bus, link, firmware; divisions by rates are rounded up.
    for (preset, parts) in [
        (Preset::M, [75_000, 175, 12_301, 1041, 0]),
        (Preset::Femu, [40_000, 175, 12_301, 1041, 0]),
        (Preset::SwanSata, [100_000, 175, 24_675, 6827, 0]),
        (Preset::Cosmos, [339_524, 175, 12_301, 9001, 0]),
        (Preset::ShinEmulated, [79_000, 0, 1000, 1041, 0]),
        (Preset::Zssd, [3000, 175, 5120, 1280, 2425]),
        (Preset::XlFlash, [4000, 175, 7685, 569, 0]),
        (Preset::TlcNvme, [45_000, 175, 3414, 569, 0]),
        (Preset::TlcSata, [45_000, 175, 3414, 6827, 0]),
        // A whole page of 16 KiB is transferred over the bus.
        (Preset::QlcNvme, [110_000, 175, 13_654, 569, 0]),
    ] {
        assert_eq!(read_of(preset), Nanos(parts.iter().sum()), "{preset}");
    }
}

/// For these drives, the number of 512 B reads that the link can carry is known: 134,200 per second.
#[test]
fn commands_of_the_sata_drive_occupy_its_link_for_what_is_known_of_it() {
    let link = Preset::ShinSata.config().link;
    let read = link.command + Nanos::for_bytes(512, link.rate);
    assert_eq!(1_000_000_000 / read.0, 134_210, "134,200 with its time rounded down to whole nanoseconds");
}

#[test]
fn the_spare_that_is_asked_for_is_enough_and_no_more_than_needed() {
    for (blocks, preset) in [(16, Preset::M), (64, Preset::G), (257, Preset::M), (33, Preset::TlcNvme)] {
        let mut config = preset.config();
        (config.geometry.blocks, config.ftl.spare) = (blocks, 0);
        let message = config.check_space().expect_err("a drive without spare has no room to work").message;
        let (_, after) = message.split_once("at least ").expect("it names the least spare");
        let tenths: String = after.chars().take_while(|&c| c != '%').filter(|&c| c != '.').collect();
        let spare = tenths.parse::<u32>().expect("a number with one place") * 1000;
        config.ftl.spare = spare;
        assert_eq!(config.check_space(), Ok(()), "{message}");
        config.ftl.spare = spare - 1000;
        assert!(config.check_space().is_err(), "{message}");
    }
    let mut config = Preset::M.config();
    (config.geometry.blocks, config.gc.low) = (6, 5);
    let message = config.check_space().expect_err("all of its blocks are kept free").message;
    assert!(message.ends_with(": use more blocks"), "{message}");
}
