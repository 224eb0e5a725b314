//! The real drives that presets were fitted to.

use super::{Amplification, Load, Mix, RandomWrites, RequestRate, WritePattern};
use tailcut_base::config::Choice;
use tailcut_ssd::Preset;

/// A drive that can be bought, and its preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealDrive {
    /// Its short name in files of rows; empty for the drive of files that do not name theirs.
    pub id: &'static str,
    /// Name of the drive's preset.
    pub preset_name: &'static str,
    /// Loads with a measured row that its preset was fitted to: there, agreement with the measurement is none
    /// of the model's merit.
    pub fitted: &'static [Load],
}

/// Every drive with measured rows: six of SSD-iq's, and the conventional drive of Doekemeijer et al.
pub const DRIVES: &[RealDrive] = &[
    RealDrive {
        id: "s0",
        preset_name: "pm9a3-960",
        fitted: &[writes(10_000), writes(40_000), writes(70_000), writes(200_000)],
    },
    RealDrive {
        id: "h0",
        preset_name: "pe8110-960",
        fitted: &[writes(10_000), writes(40_000), writes(70_000), writes(200_000)],
    },
    RealDrive {
        id: "i0",
        preset_name: "p5520-1920",
        fitted: &[writes(10_000), writes(60_000), writes(110_000), writes(200_000), uniform(100.0)],
    },
    RealDrive {
        id: "m0",
        preset_name: "7450pro-960",
        fitted: &[writes(10_000), writes(40_000), writes(60_000), writes(200_000)],
    },
    RealDrive {
        id: "mp0",
        preset_name: "7450max-800",
        fitted: &[writes(10_000), writes(60_000), writes(100_000), writes(200_000), uniform(100.0)],
    },
    RealDrive {
        id: "k4",
        preset_name: "cm7r-3840",
        fitted: &[writes(10_000), writes(100_000), writes(250_000), writes(500_000)],
    },
    RealDrive {
        id: "",
        preset_name: "tlc-nvme",
        fitted: &[mix(100, 1), mix(100, 16), mix(90, 1), mix(90, 16), mix(50, 1), mix(50, 16)],
    },
];

const fn writes(rate: u64) -> Load {
    Load::RandomWrites(RandomWrites { offered: RequestRate(rate) })
}

const fn uniform(fill_percent: f64) -> Load {
    Load::Amplification(Amplification { pattern: WritePattern::Uniform, fill_percent })
}

const fn mix(reads_percent: u8, depth: u32) -> Load {
    Load::Mix(Mix { reads_percent: reads_percent as u32, depth })
}

impl RealDrive {
    /// The drive of that short name or preset. An empty name is that of the drive that files do not name.
    pub fn by_name(name: &str) -> Option<&'static RealDrive> {
        DRIVES.iter().find(|drive| drive.id == name || (drive.preset_name == name && !drive.id.is_empty()))
    }

    /// Its preset; [`Preset::TlcNvme`], a drive of the same class, while it has none of its own.
    pub fn preset(&self) -> Preset {
        Preset::by_name(self.preset_name).unwrap_or(Preset::TlcNvme)
    }
}

/// The preset of a drive by its short name or the name of any preset.
pub fn preset_of(name: &str) -> Option<Preset> {
    RealDrive::by_name(name).map(RealDrive::preset).or_else(|| Preset::by_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_found_by_id_and_preset_and_other_presets_by_name() {
        assert_eq!(RealDrive::by_name("pm9a3-960").map(|drive| drive.id), Some("s0"));
        assert_eq!(RealDrive::by_name("").map(|drive| drive.fitted.len()), Some(6));
        assert_eq!(RealDrive::by_name("tlc-nvme"), None, "the preset itself is no measured drive");
        assert_eq!(preset_of("qlc-nvme"), Some(Preset::QlcNvme));
        assert_eq!(preset_of("s9"), None);
    }
}
