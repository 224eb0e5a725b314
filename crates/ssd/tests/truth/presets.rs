//! A read of 4 KiB of each preset that nothing is in the way of: worked out by hand from the figures' sources, to the nanosecond.

use crate::host::{command, prepared, serve};
use tailcut_base::{Nanos, Op};
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;

/// The time of a read of 4 KiB, on as few blocks as the drive can be made of.
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
    // Cells, command cycles, bus, link, firmware; divisions by rates round up.
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
        // A whole page of 16 KiB moves on the bus.
        (Preset::QlcNvme, [110_000, 175, 13_654, 569, 0]),
    ] {
        assert_eq!(read_of(preset), Nanos(parts.iter().sum()), "{preset}");
    }
}

/// Of these drives it is known how many reads of 512 B the link lets through, 134,200 a second.
#[test]
fn commands_of_the_sata_drive_occupy_its_link_for_what_is_known_of_it() {
    let link = Preset::ShinSata.config().link;
    let read = link.command + Nanos::for_bytes(512, link.rate);
    assert_eq!(1_000_000_000 / read.0, 134_210, "134,200 with its time rounded down to whole nanoseconds");
}
