//! Drives by name for tests: which drive it is, in which state, and how its controller stalls.

use super::stalls::Stalls;
use crate::config::{MappingLevel, Preset, SsdConfig};
use crate::precondition::{Precondition, PreparedState};
use tailcut_base::cast::{to_u32, to_u64};
use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// A drive by name, in a state that tests want, scaled to any capacity; its times are those of the real
    /// one.
    ///
    /// The first four are the drive that MQSim describes: MLC flash on four channels behind PCIe 3.0, reads
    /// of 75 µs, programs of 750 µs, erases of 3.8 ms (preset `g-1g`). The others are drives for data
    /// centres, fitted to published measurements (`docs/results/real-drives.md`), full and in steady state,
    /// whose buffer survives a power cut.
    pub enum Personality {
        /// Erased: nothing is ever waited for but flash and link, until it has been written once.
        Fresh = "fresh",
        /// As after endless random writes: garbage collection runs beside all writes.
        Collecting = "collecting",
        /// As `collecting`, near the end of its life: sensing takes four times as long, programs and erases
        /// fail now and then, and the drive becomes write protected when it has no good blocks left.
        Worn = "worn",
        /// As `collecting`, and every half to one and a half seconds the controller stops for 10 to 100 ms.
        ThermalStall = "thermal-stall",
        /// Samsung PM9A3, 960 GB.
        Pm9a3 = "pm9a3-960",
        /// SK hynix PE8110, 960 GB.
        Pe8110 = "pe8110-960",
        /// Solidigm D7-P5520, 1.92 TB.
        P5520 = "p5520-1920",
        /// Micron 7450 PRO, 960 GB.
        Micron7450Pro = "7450pro-960",
        /// Micron 7450 MAX, 800 GB.
        Micron7450Max = "7450max-800",
        /// Kioxia CM7-R, 3.84 TB.
        Cm7R = "cm7r-3840",
    }
}

impl Personality {
    /// A drive just large enough for `bytes`. A small one has short blocks, down to a word line, so that
    /// collection has something to choose from.
    pub fn drive(self, bytes: u64) -> SsdConfig {
        let mut drive = self.preset().config();
        let mut spare_blocks = 1;
        if self == Personality::Worn {
            wear_out(&mut drive);
            spare_blocks += WORN_SPARE_BLOCKS;
        }
        scale(&mut drive, bytes, spare_blocks);
        drive
    }

    /// The state of the drive when it is first used.
    pub fn precondition(self) -> Precondition {
        let state = if self == Personality::Fresh { PreparedState::Empty } else { PreparedState::Steady };
        Precondition { state, fill: 1_000_000 }
    }

    /// When its controller stalls; `None` if it never does.
    pub fn stalls(self, seed: u64) -> Option<Stalls> {
        (self == Personality::ThermalStall).then(|| Stalls::new(seed))
    }

    fn preset(self) -> Preset {
        match self {
            Personality::Fresh | Personality::Collecting | Personality::Worn | Personality::ThermalStall => {
                Preset::G
            }
            named => Preset::by_name(named.name()).expect("drives have the names of their presets"),
        }
    }
}

impl std::str::FromStr for Personality {
    type Err = String;

    /// # Errors
    /// A sentence with the names that there are.
    fn from_str(name: &str) -> Result<Personality, String> {
        Personality::by_name(name).ok_or_else(|| {
            format!("no drive is named {name:?}; use one of {}", Personality::NAMES.join(", "))
        })
    }
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
    fn names_are_read_back() {
        assert_eq!("worn".parse(), Ok(Personality::Worn));
        assert_eq!("cm7r-3840".parse(), Ok(Personality::Cm7R));
        assert!("tired".parse::<Personality>().unwrap_err().contains("thermal-stall"));
    }
}
