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
    preset_name: &'static str,
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
        preset_name: "doekemeijer-nvme",
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
        DRIVES.iter().find(|drive| drive.id == name || drive.preset_name == name)
    }

    /// Its preset.
    ///
    /// # Panics
    /// Never: each drive of the list has one.
    pub fn preset(&self) -> Preset {
        Preset::by_name(self.preset_name).expect("a drive of the list has a preset")
    }

    /// Share of the drive that holds data under a load, in parts per million. All were full, but for the one
    /// of mixes: the runs with more writes came later, and each left more of it written. The rows of reads
    /// alone have two humps, of which the fast one holds [`UNWRITTEN`] of all; its share falls with that of
    /// reads as the means at depth 1 do.
    pub fn filled_ppm(&self, load: &Load) -> u32 {
        let Load::Mix(mix) = load else { return 1_000_000 };
        if self.preset() != Preset::Doekemeijer {
            return 1_000_000;
        }
        let writes_percent = f64::from(100 - mix.reads_percent.min(100));
        ((1.0 - UNWRITTEN * libm::exp(-writes_percent / WRITES_THAT_FILL)) * 1e6) as u32
    }
}

/// Pages without data at reads alone: at depth 1 the mean of 38 µs lies so between 26 µs and 75 µs.
const UNWRITTEN: f64 = 0.75;
/// Per cent of writes after which a 2.7th of these pages is left: 0.49 of all with 10 % of writes, where less
/// would make depth 16 faster than it is and more the median at depth 1; 0.09 with 50 %.
const WRITES_THAT_FILL: f64 = 23.5;

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
        assert_eq!(RealDrive::by_name("tlc-nvme"), None, "a preset that is no measured drive");
        assert_eq!(preset_of("qlc-nvme"), Some(Preset::QlcNvme));
        assert_eq!(preset_of("s9"), None);
        assert!(DRIVES.iter().all(|drive| drive.preset().to_string() == drive.preset_name));
    }

    #[test]
    fn only_the_drive_of_mixes_holds_less_than_all_data() {
        let of = |name: &str, load: Load| RealDrive::by_name(name).expect("a drive").filled_ppm(&load);
        assert_eq!(of("s0", mix(100, 1)), 1_000_000);
        assert_eq!(of("", mix(100, 1)), 250_000);
        assert!((500_000..520_000).contains(&of("", mix(90, 16))), "{}", of("", mix(90, 16)));
        assert!(of("", mix(0, 16)) > 985_000);
    }
}
