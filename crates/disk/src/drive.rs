//! The drive inside a disk: a drive of the crate `ssd`, scaled to the capacity of the disk.

use crate::config::DiskConfig;
use crate::personality::Personality;
use tailcut_base::cast::{to_u32, to_u64};
use tailcut_base::config::Choice;
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Ssd, SsdConfig};

/// A new drive for a disk, prepared as the personality wants it.
pub(crate) fn make(disk: &DiskConfig, seed: u64) -> Ssd {
    let mut drive = Ssd::new(&drive_config(disk), seed, false);
    drive.precondition(&precondition(disk.personality()), seed);
    drive
}

/// How the drive is prepared.
fn precondition(personality: Personality) -> Precondition {
    let state = if personality == Personality::Fresh { PreparedState::Empty } else { PreparedState::Steady };
    Precondition { state, fill: 1_000_000 }
}

fn preset(personality: Personality) -> Preset {
    match personality {
        Personality::Fresh | Personality::Collecting | Personality::Worn | Personality::ThermalStall => {
            Preset::G
        }
        named => Preset::by_name(named.name()).expect("drives have the names of their presets"),
    }
}

/// The configuration of the drive inside a disk.
fn drive_config(disk: &DiskConfig) -> SsdConfig {
    let mut drive = preset(disk.personality()).config();
    drive.control_api = false;
    drive.queue.depth = disk.depth();
    drive.queue.commands = drive.queue.commands.min(disk.depth());
    drive.buffer.capacitor = disk.volatile_cache_bytes() == 0;
    let mut spare_blocks = 1;
    if disk.personality() == Personality::Worn {
        wear_out(&mut drive);
        spare_blocks += WORN_SPARE_BLOCKS;
    }
    scale(&mut drive, disk.capacity_bytes(), spare_blocks);
    drive
}

/// Flash near the end of its life. Reads are repeated with other reference voltages: Park et al. (ASPLOS
/// 2021, "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry") found more than three repeats
/// for data of three months even without wear; here three on average, two to four. The probabilities of
/// failure are assumed: no source states them.
fn wear_out(drive: &mut SsdConfig) {
    let sensing = drive.timing.read[0];
    drive.timing.read = drive.timing.read.iter().map(|&read| read * (1 + READ_REPEATS)).collect();
    drive.timing.read_jitter = sensing;
    drive.faults.program_fail = 3e-4;
    drive.faults.erase_fail = 1e-3;
}

/// Makes a drive just large enough for `bytes`: blocks become shorter, down to a word line, until each plane
/// has [`DATA_BLOCKS`] of them for data, so that collection has something to choose from. A drive that is
/// then still too large for `bytes` holds other data beside it. The spare share stays, or grows to what
/// collection needs and `spare_blocks` per plane.
fn scale(drive: &mut SsdConfig, bytes: u64, spare_blocks: u32) {
    let planes = u64::from(drive.geometry.plane_count());
    let by_superblock = drive.ftl.mapping == MappingLevel::Superblock;
    let word_line = if by_superblock { drive.superblock.program } else { drive.timing.cell.bits() };
    let pages = bytes.div_ceil(drive.geometry.page_bytes);
    let per_plane = pages.div_ceil(planes).max(DATA_BLOCKS * u64::from(word_line));
    let mut word_lines = drive.geometry.pages / word_line;
    while word_lines > 1 && per_plane < DATA_BLOCKS * u64::from(word_lines * word_line) {
        word_lines /= 2;
    }
    drive.geometry.pages = word_lines * word_line;
    let pages = u64::from(drive.geometry.pages);
    let data_blocks = per_plane.div_ceil(pages);
    let with_spare = (data_blocks * 1_000_000).div_ceil(1_000_000 - u64::from(drive.ftl.spare));
    let least = data_blocks + u64::from(drive.blocks_kept() + spare_blocks);
    drive.geometry.blocks = to_u32(with_spare.max(least));
    let raw = planes * pages * u64::from(drive.geometry.blocks);
    let offered = to_u64((u128::from(per_plane * planes) * 1_000_000).div_ceil(u128::from(raw)));
    drive.ftl.spare = to_u32(1_000_000 - offered);
}

/// Blocks per plane that hold data, at least.
const DATA_BLOCKS: u64 = 24;

/// Sensings beside the first one of a read of worn flash.
const READ_REPEATS: u64 = 3;

/// Blocks per plane that a worn drive has to replace bad ones.
const WORN_SPARE_BLOCKS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disk_has_a_drive_with_room_to_work() {
        for &personality in Personality::all() {
            for (capacity, cache) in [(64 << 10, 0), (1 << 20, 1 << 20), (64 << 20, 0), (300 << 20, 1 << 20)]
            {
                let disk = DiskConfig::new(personality).capacity(capacity).volatile_cache(cache);
                let drive = drive_config(&disk);
                let name = format!("{personality} of {capacity}: {drive:?}");
                assert_eq!(drive.check_space(), Ok(()), "{name}");
                assert_eq!(drive.check_superblocks(), Ok(()), "{name}");
                assert!(drive.user_bytes() >= capacity, "{name}");
                assert!(drive.user_bytes() <= capacity + (145 << 20), "{name}");
                assert_eq!(
                    Ssd::new(&drive, 1, false).has_room_for(&precondition(personality)),
                    Ok(()),
                    "{name}"
                );
                (1..4).for_each(|seed| make(&disk, seed).check());
            }
        }
    }
}
