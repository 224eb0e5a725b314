//! The real drives that presets were fitted to.

use tailcut_base::config::Choice;
use tailcut_ssd::Preset;

/// A drive that can be bought, and its preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealDrive {
    /// Its short name in files of rows.
    pub id: &'static str,
    /// The name of its preset.
    pub preset_name: &'static str,
    /// Offered rates of SSD-iq's random writes that its preset was fitted to, in ascending order: there, agreement with
    /// the measurement is none of the model's merit.
    pub fitted_rates: &'static [u64],
}

/// Every drive with rows of random writes.
pub const DRIVES: &[RealDrive] = &[
    RealDrive { id: "s0", preset_name: "pm9a3-960", fitted_rates: &[10_000, 40_000, 70_000, 200_000] },
    RealDrive { id: "h0", preset_name: "pe8110-960", fitted_rates: &[10_000, 40_000, 70_000, 200_000] },
    RealDrive { id: "i0", preset_name: "p5520-1920", fitted_rates: &[10_000, 60_000, 110_000, 200_000] },
    RealDrive { id: "m0", preset_name: "7450pro-960", fitted_rates: &[10_000, 40_000, 60_000, 200_000] },
    RealDrive { id: "mp0", preset_name: "7450max-800", fitted_rates: &[10_000, 60_000, 100_000, 200_000] },
    RealDrive { id: "k4", preset_name: "cm7r-3840", fitted_rates: &[10_000, 100_000, 250_000, 500_000] },
];

impl RealDrive {
    /// The drive of that short name or preset.
    pub fn by_name(name: &str) -> Option<&'static RealDrive> {
        DRIVES.iter().find(|drive| drive.id == name || drive.preset_name == name)
    }

    /// Its preset; [`Preset::TlcNvme`], a drive of the same class, while it has none of its own.
    pub fn preset(&self) -> Preset {
        Preset::by_name(self.preset_name).unwrap_or(Preset::TlcNvme)
    }
}

/// The preset of a drive by its short name or the name of any preset; of an empty name, as rows of mixes have, that of
/// a drive of today.
pub fn preset_of(name: &str) -> Option<Preset> {
    match name {
        "" => Some(Preset::TlcNvme),
        name => RealDrive::by_name(name).map(RealDrive::preset).or_else(|| Preset::by_name(name)),
    }
}
